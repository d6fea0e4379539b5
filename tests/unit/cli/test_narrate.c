/*
 * Promises of cli/narrate.c: events become text once, whatever the order in
 * which deltas, snapshots and stored items come.
 */
#include "cli/narrate.h"

#include <check.h>

#include "tests/unit/suite.h"

#define EVENTS_MAX 12

struct event {
	const char *type;
	const char *body;
};

#define DELTA(offset, deltas)                                                  \
	{                                                                      \
		"delta", "{\"turn\":1,\"attempt\":1,\"offset\":" #offset       \
			 ",\"deltas\":" deltas "}"                             \
	}
#define SNAPSHOT(offset, deltas)                                               \
	{                                                                      \
		"snapshot", "{\"turn\":1,\"attempt\":1,\"offset\":" #offset    \
			    ",\"deltas\":" deltas "}"                          \
	}
#define MESSAGE_ITEM(text)                                                     \
	{                                                                      \
		"message_output_created",                                      \
		    "{\"turn\":1,\"item\":{\"type\":\"message\",\"content\":"  \
		    "[{\"type\":\"output_text\",\"text\":\"" text "\"}]}}"     \
	}
#define REASONING_ITEM(text)                                                    \
	{                                                                       \
		"reasoning_item_created",                                       \
		    "{\"turn\":1,\"item\":{\"type\":\"reasoning\",\"summary\":" \
		    "[{\"type\":\"summary_text\",\"text\":\"" text "\"}]}}"     \
	}
#define STARTED                                                                \
	{                                                                      \
		"turn_started", "{\"turn\":1,\"attempt\":1}"                   \
	}
#define DONE                                                                   \
	{                                                                      \
		"turn_completed", "{\"turn\":1,\"attempt\":1}"                 \
	}

static const struct {
	const char *what;
	struct event events[EVENTS_MAX];
	const char *text;
} stories[] = {
	{ "streams text and does not repeat the stored item",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		DELTA(1, "[[\"text\",0,\"lo \"],[\"text\",0,\"you\"]]"),
		MESSAGE_ITEM("Hello you"), DONE },
	    "Hello you\n" },
	{ "prints a stored item of which nothing streamed",
	    { STARTED, MESSAGE_ITEM("Hello"), DONE }, "Hello\n" },
	{ "prints only the end that did not stream",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		MESSAGE_ITEM("Hello"), DONE },
	    "Hello\n" },
	{ "is silent after a missed delta until the item tells the rest",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		DELTA(2, "[[\"text\",0,\"yo\"]]"),
		DELTA(3, "[[\"text\",0,\"u\"]]"), MESSAGE_ITEM("Hello you"),
		DONE },
	    "Hello you\n" },
	{ "ends the line of a turn only when its items are told",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"), DONE,
		MESSAGE_ITEM("Hello"),
		{ "turn_started", "{\"turn\":2,\"attempt\":1}" },
		{ "delta", "{\"turn\":2,\"attempt\":1,\"offset\":0,"
			   "\"deltas\":[[\"text\",0,\"you\"]]}" } },
	    "Hello\nyou\n" },
	{ "prints the whole text again when another one was stored",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Helyou\"]]"),
		MESSAGE_ITEM("Hello you"), DONE },
	    "Helyou\nHello you\n" },
	{ "adds only what a snapshot has more",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		SNAPSHOT(5, "[[\"text\",0,\"Hello \"]]"),
		DELTA(5, "[[\"text\",0,\"you\"]]"), MESSAGE_ITEM("Hello you") },
	    "Hello you\n" },
	{ "skips deltas that a snapshot stands for",
	    { STARTED, SNAPSHOT(3, "[[\"text\",0,\"Hello \"]]"),
		DELTA(1, "[[\"text\",0,\"llo\"],[\"text\",0,\" \"]]"),
		DELTA(2, "[[\"text\",0,\" \"],[\"text\",0,\"you\"]]"),
		MESSAGE_ITEM("Hello you") },
	    "Hello you\n" },
	{ "takes a repeated snapshot for what it is",
	    { STARTED, SNAPSHOT(1, "[[\"text\",0,\"Hello\"]]"),
		SNAPSHOT(1, "[[\"text\",0,\"Hello\"]]"),
		MESSAGE_ITEM("Hello") },
	    "Hello\n" },
	{ "goes on by a snapshot after a missed delta",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		DELTA(2, "[[\"text\",0,\"you\"]]"),
		SNAPSHOT(3, "[[\"text\",0,\"Hello you\"]]"),
		DELTA(3, "[[\"text\",0,\"!\"]]") },
	    "Hello you!\n" },
	{ "corrects itself by a snapshot that says otherwise, once",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Helyou\"]]"),
		SNAPSHOT(3, "[[\"text\",0,\"Hello you\"]]"),
		DELTA(3, "[[\"text\",0,\"!\"]]"), MESSAGE_ITEM("Hello you!") },
	    "Helyou\nHello you!\n" },
	{ "keeps two messages of one turn apart",
	    { STARTED, DELTA(0, "[[\"text\",0,\"one\"],[\"text\",1,\"two\"]]"),
		MESSAGE_ITEM("one"), MESSAGE_ITEM("two"), DONE },
	    "one\ntwo\n" },
	{ "shows reasoning and text as lines of their own",
	    { STARTED,
		DELTA(0, "[[\"reasoning\",0,\"hm\"],[\"text\",1,\"yes\"]]"),
		REASONING_ITEM("hm"), MESSAGE_ITEM("yes"), DONE },
	    "hm\nyes\n" },
	{ "shows a refusal as text",
	    { STARTED, DELTA(0, "[[\"refusal\",0,\"No.\"]]"), DONE }, "No.\n" },
	{ "does not show arguments as they stream",
	    { STARTED,
		DELTA(0, "[[\"call\",0,\"f\"],[\"arguments\",0,\"{}\"]]"),
		DONE },
	    "" },
	{ "adds no empty line after text that ends in one",
	    { STARTED, DELTA(0, "[[\"text\",0,\"a\\n\"]]"), DONE,
		{ "tool_called", "{\"name\":\"f\",\"arguments\":\"{}\"}" } },
	    "a\n→ f {}\n" },
	{ "says that a dropped attempt is void and begins again",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		{ "turn_reset",
		    "{\"turn\":1,\"attempt\":1,\"reason\":\"worker gone\"}" },
		{ "turn_started", "{\"turn\":1,\"attempt\":2}" },
		{ "delta", "{\"turn\":1,\"attempt\":2,\"offset\":0,"
			   "\"deltas\":[[\"text\",0,\"Hello\"]]}" },
		MESSAGE_ITEM("Hello") },
	    "Hel\n(what was printed of this turn is void: worker gone)\n"
	    "Hello\n" },
	{ "takes a reset that names the next attempt as well",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		{ "turn_reset",
		    "{\"turn\":1,\"attempt\":2,\"reason\":\"again\"}" },
		{ "turn_started", "{\"turn\":1,\"attempt\":2}" },
		MESSAGE_ITEM("Hello") },
	    "Hel\n(what was printed of this turn is void: again)\nHello\n" },
	{ "needs no reset to see that another attempt began",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"),
		{ "turn_started", "{\"turn\":1,\"attempt\":2}" },
		MESSAGE_ITEM("Hello") },
	    "Hel\n(what was printed of this turn is void)\nHello\n" },
	{ "says how an attempt ended that did not fail",
	    { STARTED,
		{ "turn_failed", "{\"turn\":1,\"attempt\":1,"
				 "\"state\":\"lost\",\"class\":null}" } },
	    "turn 1, attempt 1 lost\n" },
	{ "shows items of other kinds by their type",
	    { { "item_created",
		  "{\"turn\":1,\"item\":{\"type\":\"function_call\","
		  "\"name\":\"f\",\"arguments\":\"{}\"}}" },
		{ "item_created",
		    "{\"turn\":1,\"item\":{\"type\":\"web_search_call\"}}" } },
	    "→ f {}\n→ web_search_call\n" },
	{ "ignores deltas of an older attempt",
	    { { "turn_started", "{\"turn\":1,\"attempt\":2}" },
		DELTA(0, "[[\"text\",0,\"old\"]]"),
		SNAPSHOT(1, "[[\"text\",0,\"old\"]]") },
	    "" },
	{ "waits for a snapshot after a resync",
	    { STARTED, DELTA(0, "[[\"text\",0,\"Hel\"]]"), { "resync", "{}" },
		DELTA(1, "[[\"text\",0,\"x\"]]"),
		SNAPSHOT(2, "[[\"text\",0,\"Hello\"]]"),
		MESSAGE_ITEM("Hello") },
	    "Hello\n" },
	{ "says why an attempt failed and when the next comes",
	    { STARTED,
		{ "turn_failed",
		    "{\"turn\":1,\"attempt\":1,\"class\":\"rate_limited\","
		    "\"error\":\"slow\\ndown\",\"wait_ms\":2000}" } },
	    "turn 1, attempt 1 failed: rate_limited: slow down; "
	    "again in 2.0 s\n" },
	{ "shows calls and results",
	    { { "tool_called",
		  "{\"turn\":1,\"call\":1,\"name\":\"get\\u001bweather\","
		  "\"arguments\":\"{\\\"city\\\":\\n\\\"Oslo\\\"}\"}" },
		{ "tool_started", "{\"turn\":1,\"call\":1,\"attempt\":1}" },
		{ "tool_output",
		    "{\"turn\":1,\"call\":1,\"name\":\"weather\","
		    "\"outcome\":\"ok\",\"output\":\"rain\\u001b[2J\\n3 C\","
		    "\"wall_ms\":43}" } },
	    "→ getweather {\"city\": \"Oslo\"}\n"
	    "← weather ok, 43 ms\n  rain[2J\n  3 C\n" },
	{ "says when a call is carried out again",
	    { { "tool_started", "{\"turn\":1,\"call\":2,\"attempt\":2}" } },
	    "→ call 2 again, attempt 2\n" },
	{ "closes with state, run, turns, tokens and time",
	    { { "run_ended", "{\"state\":\"completed\",\"turns\":2,"
			     "\"input_tokens\":400,\"output_tokens\":31,"
			     "\"total_tokens\":431,\"ms\":1400}" } },
	    "\ncompleted · run 01234567-89ab-7def-8123-456789abcdef · "
	    "2 turns · 431 tokens (400 in, 31 out) · 1.4 s\n" },
	{ "says why a run did not complete",
	    { { "run_ended",
		"{\"state\":\"failed\",\"reason\":\"model\","
		"\"error\":\"no \\u001bkey\",\"turns\":1,\"total_tokens\":1,"
		"\"ms\":5}" } },
	    "\nmodel: no key\n"
	    "failed · run 01234567-89ab-7def-8123-456789abcdef · 1 turn · "
	    "1 token (0 in, 0 out) · 5 ms\n" },
	{ "begins with run, agent and session",
	    { { "run_accepted", "{\"agent\":\"a\",\"session\":\"s\"}" } },
	    "run 01234567-89ab-7def-8123-456789abcdef · agent a · session s\n" },
	{ "ignores events that it does not know and bodies that make no sense",
	    { { "something_new", "{\"turn\":1}" }, { "delta", "null" },
		{ "delta", "[]" },
		DELTA(0, "[1,[],[1,2,3],[\"text\"],[\"text\",0],null]"),
		SNAPSHOT(0, "{\"a\":[\"text\",0,\"x\"]}"),
		{ "message_output_created", "{\"turn\":\"x\"}" } },
	    "x\n" },
};

static const char id[] = "01234567-89ab-7def-8123-456789abcdef";

/* Tells the events one by one, as they are when their bodies are gone again. */
static void
tell(const struct event *events, struct narrator *narrator)
{
	for (size_t i = 0; i < EVENTS_MAX && events[i].type != NULL; i++) {
		char *copy = strdup(events[i].body);
		struct json body;

		ck_assert_int_eq(
		    json_parse(slice_string(copy), &body, NULL, NULL), 0);
		narrate(narrator, slice_string(events[i].type), body);
		free(copy);
	}
}

START_TEST(tells_each_story)
{
	struct buf out = BUF_INIT(PRINT_MAX);
	struct narrator narrator;
	struct uuid run;

	ck_assert_int_eq(uuid_parse(slice_string(id), &run, NULL), 0);
	narrator_init(&narrator, &out, (struct style){ 0 }, &run);
	tell(stories[_i].events, &narrator);
	narrate_break(&narrator);
	ck_assert_msg(slice_is(buf_slice(&out), stories[_i].text),
	    "%s: <%.*s> not <%s>", stories[_i].what,
	    SLICE_ARGS(buf_slice(&out)), stories[_i].text);
	narrator_release(&narrator);
	buf_release(&out);
}
END_TEST

START_TEST(keeps_reasoning_dim_and_names_bold)
{
	static const struct event events[EVENTS_MAX] = { STARTED,
		DELTA(0, "[[\"reasoning\",0,\"hm\"]]"),
		DELTA(1, "[[\"reasoning\",0,\"m\"],[\"text\",1,\"yes\"]]"),
		{ "tool_called", "{\"name\":\"f\",\"arguments\":\"{}\"}" } };
	struct buf out = BUF_INIT(PRINT_MAX);
	struct narrator narrator;
	struct uuid run = { { 0 } };

	narrator_init(&narrator, &out, (struct style){ .colour = true }, &run);
	tell(events, &narrator);
	ck_assert_msg(slice_is(buf_slice(&out),
			  "\033[2mhmm\033[0m\nyes\n→ \033[1mf\033[0m {}\n"),
	    "%.*s", SLICE_ARGS(buf_slice(&out)));
	narrator_release(&narrator);
	buf_release(&out);
}
END_TEST

START_TEST(says_what_a_run_waits_for_only_between_lines)
{
	static const struct event events[EVENTS_MAX] = { STARTED,
		DELTA(0, "[[\"text\",0,\"Hel\"]]") };
	struct buf out = BUF_INIT(PRINT_MAX);
	struct narrator narrator;
	struct uuid run = { { 0 } };
	struct json why;

	ck_assert_int_eq(
	    json_parse(SLICE("\"a worker\""), &why, NULL, NULL), 0);
	narrator_init(&narrator, &out, (struct style){ 0 }, &run);
	narrate_aside(&narrator, why);
	tell(events, &narrator);
	narrate_aside(&narrator, why);
	ck_assert(slice_is(buf_slice(&out), "waits for a worker\nHel"));
	narrator_release(&narrator);
	buf_release(&out);
}
END_TEST

/* Text past the limit of what is held for comparing still streams whole. */
START_TEST(streams_a_text_longer_than_it_holds)
{
	enum { PIECE = 100000, PIECES = 12 };
	char *body = malloc(PIECE + 200);
	struct buf out = BUF_INIT(PRINT_MAX), item = BUF_INIT(PRINT_MAX);
	struct narrator narrator;
	struct uuid run = { { 0 } };
	struct json value;

	narrator_init(&narrator, &out, (struct style){ 0 }, &run);
	for (int i = 0; i < PIECES; i++) {
		snprintf(body, PIECE + 200,
		    "{\"turn\":1,\"attempt\":1,\"offset\":%d,\"deltas\":"
		    "[[\"text\",0,\"%0*d\"]]}",
		    i, PIECE, 7);
		ck_assert_int_eq(
		    json_parse(slice_string(body), &value, NULL, NULL), 0);
		narrate(&narrator, SLICE("delta"), value);
	}
	ck_assert_uint_eq(out.len, (size_t)PIECE * PIECES);
	buf_puts(&item, "{\"turn\":1,\"item\":{\"content\":[{\"text\":\"");
	buf_put_slice(&item, buf_slice(&out));
	buf_puts(&item, "\"}]}}");
	ck_assert_int_eq(json_parse(buf_slice(&item), &value, NULL, NULL), 0);
	narrate(&narrator, SLICE("message_output_created"), value);
	ck_assert_uint_eq(out.len, (size_t)PIECE * PIECES + 1);
	buf_release(&item);
	narrator_release(&narrator);
	buf_release(&out);
	free(body);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/narrate");
	TCase *story = tcase_create("stories"), *look = tcase_create("looks");

	tcase_add_loop_test(story, tells_each_story, 0, COUNT(stories));
	tcase_add_test(story, streams_a_text_longer_than_it_holds);
	tcase_add_test(look, keeps_reasoning_dim_and_names_bold);
	tcase_add_test(look, says_what_a_run_waits_for_only_between_lines);
	suite_add_tcase(suite, story);
	suite_add_tcase(suite, look);
	return run_suite(suite);
}
