/*
 * workers/model/merge.c: what the terminal list adds, how calls are repaired,
 * and which messages are repeats.
 */
#include "tests/unit/model/play.h"
#include "tests/unit/suite.h"
#include "workers/model/merge.h"

/* A terminal event with this output. */
#define FINAL(...)                                                             \
	EVENT({                                                                \
		"type" : "response.completed",                                 \
		"response" :                                                   \
		    { "status" : "completed", "output" : [__VA_ARGS__] }       \
	})
#define TEXT_ITEM(id, text)                                                    \
	{                                                                      \
		"type" : "message",                                            \
			 "id" : id,                                            \
				"role" : "assistant",                          \
					 "content"                             \
		    : [ { "type" : "output_text", "text" : text } ]            \
	}
#define CALL_ITEM(id, call, name, arguments)                                   \
	{                                                                      \
		"type" : "function_call",                                      \
			 "id" : id,                                            \
				"call_id" : call,                              \
					    "name" : name,                     \
						     "arguments" : arguments   \
	}

/* clang-format off */
static const struct {
	const char *rule, *body, *result;
	struct play play;
} rules[] = {
	{ "S6: an empty terminal list leaves the items as they are",
	    CALL_DONE(0, "i", "c", "f", "{}") FINAL(),
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c","name":"f","arguments":"{}"}]}), { 0 } },
	{ "A4: without any item before it the terminal list is the output",
	    FINAL(TEXT_ITEM("m", "all"), CALL_ITEM("i", "c", "f", "{}")),
	    JSON_TEXT({"text":"all","tool_calls":[
		{"call_id":"c","name":"f","arguments":"{}"}],
		"finish_reason":"tool_calls"}), { 0 } },
	{ "A4: an item that is done stands against the terminal list",
	    MESSAGE_DONE(0, "m", "done") FINAL(TEXT_ITEM("m", "other")),
	    JSON_TEXT({"text":"done"}), { 0 } },
	{ "A4: an item that is open becomes that of the list",
	    ADDED(0, "m") DELTA(0, "dra") FINAL(TEXT_ITEM("m", "final")),
	    JSON_TEXT({"text":"final"}), { 0 } },
	{ "A4: an open item keeps its deltas when the list has no text",
	    ADDED(0, "m") DELTA(0, "kept") FINAL(TEXT_ITEM("m", "")),
	    JSON_TEXT({"text":"kept"}), { 0 } },
	{ "A6: a ciphertext that was missing comes from the list",
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"reasoning","id":"r","summary":[],
		"encrypted_content":null}})
	    FINAL({"type":"reasoning","id":"r","summary":[],
		"encrypted_content":"late"}),
	    JSON_TEXT({"reasoning":[{"id":"r","has_encrypted":true,
		"summary_text":""}]}), { 0 } },
	{ "A4: members that are missing or empty are filled, others are not",
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"mcp_list_tools","id":"l","tools":[],"server_label":"a"}})
	    FINAL({"type":"mcp_list_tools","id":"l","tools":[{"name":"t"}],
		"server_label":"b","status":"completed"}),
	    JSON_TEXT({"items":[{"type":"mcp_list_tools","id":"l",
		"status":"completed"}]}), { 0 } },
	{ "A4: by position and type, though every id differs",
	    ADDED(0, "x1") DELTA(0, "one") ADDED(1, "x2") DELTA(1, "two")
	    FINAL(TEXT_ITEM("y1", "ONE"), TEXT_ITEM("y2", "TWO")),
	    JSON_TEXT({"text":"ONETWO"}), { 0 } },
	{ "A4: but never onto another type",
	    ADDED(0, "m") DELTA(0, "dra") CALL_DONE(1, "i", "c", "f", "{}")
	    FINAL(CALL_ITEM("i", "c", "f", "{}"), TEXT_ITEM("m", "final")),
	    JSON_TEXT({"text":"final","tool_calls":[
		{"call_id":"c","name":"f","arguments":"{}"}]}), { 0 } },
	{ "A4: by id when the lists differ in length",
	    ADDED(1, "b") DELTA(1, "x")
	    FINAL(TEXT_ITEM("a", "A"), TEXT_ITEM("b", "B")),
	    JSON_TEXT({"text":"AB","items":[
		{"type":"message","id":"a","status":null},
		{"type":"message","id":"b","status":null}]}), { 0 } },
	{ "A4: a call that the stream missed is added beside the others",
	    CALL_DONE(0, "i1", "c1", "f", "1")
	    FINAL(CALL_ITEM("i1", "c1", "f", "1"), CALL_ITEM("i2", "c2", "g",
		"2")),
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"1"},
		{"call_id":"c2","name":"g","arguments":"2"}]}), { 0 } },
	{ "A4: never by type onto a finished call",
	    CALL_DONE(0, "i1", "c1", "f", "1") MESSAGE_DONE(1, "m", "t")
	    FINAL(CALL_ITEM("i9", "c9", "g", "9")),
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c1","name":"f","arguments":"1"},
		{"call_id":"c9","name":"g","arguments":"9"}]}), { 0 } },
	{ "A4: a call that the list lost is kept",
	    CALL_DONE(0, "i1", "c1", "f", "1") MESSAGE_DONE(1, "m", "t")
	    FINAL(TEXT_ITEM("m", "t")),
	    JSON_TEXT({"text":"t","tool_calls":[
		{"call_id":"c1","name":"f","arguments":"1"}]}), { 0 } },
	{ "A4: what the stream missed at the start comes before the rest",
	    CALL_DONE(1, "i1", "c1", "f", "1")
	    FINAL({"type":"reasoning","id":"r","summary":[],
		"encrypted_content":"e"}, CALL_ITEM("i1", "c1", "f", "1")),
	    JSON_TEXT({"items":[{"type":"reasoning","id":"r","status":null},
		{"type":"function_call","id":"i1","status":"completed"}]}),
	    { 0 } },
	{ "A4: and without indices as well",
	    EVENT({"type":"response.output_item.done","item":
		{"type":"function_call","id":"i","call_id":"c","name":"f",
		"arguments":"{}"}})
	    FINAL({"type":"reasoning","id":"r","summary":[]},
		CALL_ITEM("i", "c", "f", "{}")),
	    JSON_TEXT({"items":[{"type":"reasoning","id":"r","status":null},
		{"type":"function_call","id":"i","status":null}]}), { 0 } },
	{ "A7: arguments blank, null, missing, an object, a list",
	    CALL_DONE(0, "i0", "c0", "f", "") CALL_DONE(1, "i1", "c1", "f",
		" \n\t") CALL_DONE(2, "i2", "c2", "f", null)
	    CALL_DONE(3, "i3", "c3", "f", {"a":[1,"x"]})
	    EVENT({"type":"response.output_item.done","output_index":4,"item":
		{"type":"function_call","id":"i4","call_id":"c4","name":"f"}})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c0","name":"f","arguments":"{}"},
		{"call_id":"c1","name":"f","arguments":"{}"},
		{"call_id":"c2","name":"f","arguments":"{}"},
		{"call_id":"c3","name":"f","arguments":"{\"a\":[1,\"x\"]}"},
		{"call_id":"c4","name":"f","arguments":"{}"}],
		"bad_args":[]}), { 0 } },
	{ "A7: text that is no JSON stays as it is and is flagged",
	    CALL_DONE(0, "i0", "c0", "f", "{\"a\":\"int ma")
	    CALL_DONE(1, "i1", "c1", "f", "{}") COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c0","name":"f","arguments":"{\"a\":\"int ma"},
		{"call_id":"c1","name":"f","arguments":"{}"}],
		"bad_args":["c0"]}), { 0 } },
	{ "A7: digits of large integers survive",
	    CALL_DONE(0, "i0", "c0", "f",
		"{\"n\":12345678901234567890123}") COMPLETED,
	    JSON_TEXT({"tool_calls":[{"call_id":"c0","name":"f",
		"arguments":"{\"n\":12345678901234567890123}"}]}), { 0 } },
	{ "The input of a custom tool is free text, blank or not",
	    EVENT({"type":"response.output_item.done","output_index":0,"item":
		{"type":"custom_tool_call","call_id":"c0","name":"f",
		"input":" "}})
	    EVENT({"type":"response.output_item.done","output_index":1,"item":
		{"type":"custom_tool_call","call_id":"c1","name":"f"}})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c0","name":"f","arguments":" "},
		{"call_id":"c1","name":"f","arguments":""}]}), { 0 } },
	{ "A10: without call_id the item id counts, else the position",
	    CALL_DONE(0, "i0", "", "f", "{}")
	    EVENT({"type":"response.output_item.done","output_index":1,"item":
		{"type":"function_call","name":"f","arguments":"{}"}})
	    COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"i0","name":"f","arguments":"{}"},
		{"call_id":"__idx_1","name":"f","arguments":"{}"}]}), { 0 } },
	{ "A10: the later of two equal call ids is renamed",
	    CALL_DONE(0, "i0", "c", "f", "0") CALL_DONE(1, "i1", "c", "f", "1")
	    CALL_DONE(2, "i2", "c_2", "f", "2") CALL_DONE(3, "i3", "c", "f",
		"3") COMPLETED,
	    JSON_TEXT({"tool_calls":[
		{"call_id":"c","name":"f","arguments":"0"},
		{"call_id":"c_3","name":"f","arguments":"1"},
		{"call_id":"c_2","name":"f","arguments":"2"},
		{"call_id":"c_4","name":"f","arguments":"3"}]}), { 0 } },
	{ "A10: a long call id that is renamed stays within 64 bytes",
	    CALL_DONE(0, "i0",
	"0123456789012345678901234567890123456789012345678901234567890123",
		"f", "0")
	    CALL_DONE(1, "i1",
	"0123456789012345678901234567890123456789012345678901234567890123",
		"f", "1") COMPLETED,
	    JSON_TEXT({"tool_calls":[{"call_id":
	"0123456789012345678901234567890123456789012345678901234567890123",
		"name":"f","arguments":"0"},
		{"call_id":
	"01234567890123456789012345678901234567890123456789012345_2",
		"name":"f","arguments":"1"}]}), { 0 } },
	{ "A message sent again, longer, is one when the endpoint does so",
	    MESSAGE_DONE(0, "a", "Hello") MESSAGE_DONE(1, "b", "Hello world")
	    COMPLETED,
	    JSON_TEXT({"text":"Hello world"}),
	    { .quirks = { .repeats = true } } },
	{ "And two messages when it does not",
	    MESSAGE_DONE(0, "a", "Hello") MESSAGE_DONE(1, "b", "Hello world")
	    COMPLETED,
	    JSON_TEXT({"text":"HelloHello world"}), { 0 } },
	{ "Another message is never a repeat",
	    MESSAGE_DONE(0, "a", "Hello") MESSAGE_DONE(1, "b", "Help") COMPLETED,
	    JSON_TEXT({"text":"HelloHelp"}), { .quirks = { .repeats = true } } },
};
/* clang-format on */

START_TEST(the_end_makes_the_output_whole)
{
	play_check(
	    &rules[_i].play, slice_string(rules[_i].body), rules[_i].result);
}
END_TEST

/* ---- hostile lists ---- */

static void
put_call(struct buf *text, size_t index, const char *id)
{
	buf_printf(text,
	    "data: {\"type\":\"response.output_item.done\","
	    "\"output_index\":%zu,\"item\":{\"type\":\"function_call\","
	    "\"call_id\":\"%s\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\n",
	    index, id);
}

static enum response_state
play_calls(size_t count)
{
	struct body body;
	struct buf text = BUF_INIT(PLAY_MAX);
	bool overflow;

	for (size_t i = 0; i < count; i++)
		put_call(&text, i, "same");
	buf_puts(&text, COMPLETED);
	body_init(&body, 0, (struct body_quirks){ 0 });
	play_feed(&body, buf_slice(&text), PLAY_MAX);
	body_end(&body, true);
	responses_close(&body.response);
	overflow = body.response.output.overflow;
	body_release(&body);
	buf_release(&text);
	return overflow ? RESPONSE_FAILED : RESPONSE_COMPLETED;
}

START_TEST(takes_as_many_calls_as_a_turn_may_have_and_no_more)
{
	ck_assert_int_eq(play_calls(LIMIT_TURN_CALLS), RESPONSE_COMPLETED);
	ck_assert_int_eq(play_calls(LIMIT_TURN_CALLS + 1), RESPONSE_FAILED);
	ck_assert_int_eq(play_calls(OUTPUT_ITEMS_MAX), RESPONSE_FAILED);
}
END_TEST

START_TEST(a_huge_terminal_item_is_filled_in_within_bounds)
{
	struct buf text = BUF_INIT(PLAY_MAX), out = BUF_INIT(PLAY_MAX);
	struct play play = { 0 };

	buf_puts(&text,
	    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,"
	    "\"item\":{\"type\":\"message\",\"id\":\"m\"");
	for (size_t i = 0; i < 50000; i++)
		buf_printf(&text, ",\"a%zu\":1", i);
	buf_puts(&text,
	    "}}\n\ndata: {\"type\":\"response.completed\",\"response\":{"
	    "\"output\":[{\"type\":\"message\",\"id\":\"m\"");
	for (size_t i = 0; i < 50000; i++)
		buf_printf(&text, ",\"b%zu\":1", i);
	buf_puts(&text, "}]}}\n\n");
	play_report(&play, buf_slice(&text), 0, PLAY_MAX, &out);
	play_compare(
	    buf_slice(&out), "{\"status\":\"completed\"}", "huge items");
	buf_release(&text);
	buf_release(&out);
}
END_TEST

START_TEST(too_many_terminal_items_end_the_response)
{
	struct buf text = BUF_INIT(PLAY_MAX), out = BUF_INIT(PLAY_MAX);
	struct play play = { 0 };

	buf_puts(&text, "data: {\"type\":\"response.completed\","
			"\"response\":{\"output\":[{}");
	for (size_t i = 0; i < OUTPUT_ITEMS_MAX; i++)
		buf_puts(&text, ",{\"type\":\"message\"}");
	buf_puts(&text, "]}}\n\n");
	play_report(&play, buf_slice(&text), 0, PLAY_MAX, &out);
	play_compare(buf_slice(&out),
	    "{\"status\":\"failed\",\"class\":\"config\"}", "many items");
	buf_release(&text);
	buf_release(&out);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("merge");
	TCase *meaning = tcase_create("meaning");
	TCase *limits = tcase_create("limits");

	tcase_set_timeout(meaning, 60);
	tcase_add_loop_test(
	    meaning, the_end_makes_the_output_whole, 0, (int)COUNT(rules));
	suite_add_tcase(s, meaning);
	tcase_set_timeout(limits, 60);
	tcase_add_test(
	    limits, takes_as_many_calls_as_a_turn_may_have_and_no_more);
	tcase_add_test(limits, a_huge_terminal_item_is_filled_in_within_bounds);
	tcase_add_test(limits, too_many_terminal_items_end_the_response);
	suite_add_tcase(s, limits);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
