/*
 * Scripts of the scripted model server: which rule is played, what it fills
 * in, how it ends a stream, and recorded bodies byte for byte.
 */
#include <check.h>

#include "tests/unit/model/model_reply.h"
#include "tests/unit/model/model_wire.h"
#include "tests/unit/suite.h"

#define FIXED                                                                  \
	"\"store\":false,\"stream\":true,"                                     \
	"\"include\":[\"reasoning.encrypted_content\"],"
#define BODY(input) "{\"model\":\"m\"," FIXED "\"input\":" input "}"
#define USER(text)  "{\"role\":\"user\",\"content\":\"" text "\"}"
#define CALL(id)                                                               \
	"{\"type\":\"function_call\",\"call_id\":\"" id                        \
	"\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUTPUT(id, text)                                                       \
	"{\"type\":\"function_call_output\",\"call_id\":\"" id                 \
	"\",\"output\":\"" text "\"}"

static void
script(const char *text)
{
	struct reply reply = REPLY_INIT;

	server_ask(&server, "/script", text, &reply);
	ck_assert_msg(
	    reply.status == 200, "%.*s", (int)reply.body.len, reply.body.ptr);
	reply_release(&reply);
}

/* ---- which rule ---- */

#define TURNS                                                                  \
	"- when: {turn: 0}\n"                                                  \
	"  respond: [{text: zero}]\n"                                          \
	"- when: {turn: 1}\n"                                                  \
	"  respond: [{text: one}]\n"                                           \
	"- when: {turn: 2}\n"                                                  \
	"  respond: [{text: two}]\n"
#define WHEN(condition)                                                        \
	"- when: " condition "\n"                                              \
	"  respond: [{text: fits}]\n"                                          \
	"- respond: [{text: otherwise}]\n"

static const struct {
	const char *script;
	const char *body;
	const char *says;
} choices[] = {
	{ TURNS, BODY("\"x\""), "zero" },
	{ TURNS, BODY("[" USER("a") "," CALL("1") "," OUTPUT("1", "o") "]"),
	    "one" },
	{ TURNS,
	    BODY("[" USER("a") "," CALL("1") "," CALL("2") "," OUTPUT(
		"1", "o") "," OUTPUT("2", "o") "]"),
	    "one" },
	{ TURNS,
	    BODY("[" USER("a") "," CALL("1") "," OUTPUT("1", "o") "," CALL(
		"2") "," OUTPUT("2", "o") "]"),
	    "two" },
	{ TURNS,
	    BODY("[" USER("a") "," CALL("1") "," OUTPUT("1", "o") "," USER(
		"b") "]"),
	    "zero" },
	{ WHEN("{model: m}"), BODY("\"x\""), "fits" },
	{ WHEN("{model: other}"), BODY("\"x\""), "otherwise" },
	{ WHEN("{stream: true}"), BODY("\"x\""), "fits" },
	{ WHEN("{stream: false}"), BODY("\"x\""), "otherwise" },
	{ WHEN("{last_user_contains: is a}"), BODY("\"this is a word\""),
	    "fits" },
	{ WHEN("{last_user_contains: is a}"),
	    BODY("[" USER("this is a") "," USER("word") "]"), "otherwise" },
	{ WHEN("{last_output_contains: \"4\\\"2\"}"),
	    BODY("[" USER("a") "," CALL("1") "," OUTPUT("1", "is 4\\\"2") "]"),
	    "fits" },
	{ WHEN("{last_output_contains: x}"), BODY("\"x\""), "otherwise" },
	{ WHEN("{instructions_contain: brief}"),
	    "{\"model\":\"m\",\"instructions\":\"be brief\"," FIXED
	    "\"input\":\"x\"}",
	    "fits" },
	{ WHEN("{has_tool: b}"),
	    "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"name\":\"a\"}"
	    ",{\"type\":\"function\",\"name\":\"b\"}]," FIXED
	    "\"input\":\"x\"}",
	    "fits" },
	{ WHEN("{has_tool: [a, b]}"),
	    "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"name\":\"a\"}"
	    "]," FIXED "\"input\":\"x\"}",
	    "otherwise" },
	{ WHEN("{model: m, turn: 1}"), BODY("\"x\""), "otherwise" },
};

START_TEST(plays_the_first_rule_that_fits)
{
	struct reply reply = REPLY_INIT;
	char want[64];

	script(choices[_i].script);
	server_ask(&server, "/v1/responses", choices[_i].body, &reply);
	snprintf(want, sizeof(want), "\"text\":\"%s\"", choices[_i].says);
	ck_assert_msg(reply_has(&reply, want), "%s not in %.*s", want,
	    (int)reply.body.len, reply.body.ptr);
	reply_release(&reply);
}
END_TEST

START_TEST(a_rule_is_played_as_often_as_it_says)
{
	static const char *const want[] = { "\"text\":\"first\"",
		"\"text\":\"second\"", "\"text\":\"third\"",
		"\"text\":\"other\"" };
	struct reply reply = REPLY_INIT;

	script("- {times: 1, respond: [{text: first}]}\n"
	       "- {when: {request_count: 2}, respond: [{text: third}]}\n"
	       "- {times: 1, respond: [{text: second}]}\n"
	       "- {respond: [{text: other}]}\n");
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < COUNT(want); i++) {
			server_ask(
			    &server, "/v1/responses", BODY("\"x\""), &reply);
			ck_assert_msg(
			    reply_has(&reply, want[i]), "%s", want[i]);
		}
		server_ask(&server, "/reset", "", &reply);
	}
	reply_release(&reply);
}
END_TEST

START_TEST(a_request_that_no_rule_fits_is_refused)
{
	struct reply reply = REPLY_INIT;

	script("- when: {turn: 7}\n");
	server_ask(&server, "/v1/responses", BODY("\"x\""), &reply);
	ck_assert_int_eq(reply.status, 400);
	ck_assert(reply_has(&reply, "no_rule"));
	script("");
	server_ask(&server, "/v1/responses", BODY("\"x\""), &reply);
	ck_assert_int_eq(reply.status, 200);
	reply_release(&reply);
}
END_TEST

/* ---- what is answered ---- */

static const struct {
	const char *script;
	const char *body;
	const char *has[3];
} answers[] = {
	{ "- respond: [{text: 'you: {{last_user}}, {{model}}'}]",
	    BODY("\"a\\\"b\""), { "\"text\":\"you: a\\\"b, m\"" } },
	{ "- respond: [{text: '{{last_output}}|{{outputs}}'}]",
	    BODY("[" USER("a") "," CALL("1") "," CALL("2") "," OUTPUT(
		"1", "p") "," OUTPUT("2", "q") "]"),
	    { "\"text\":\"q|p\\nq\"" } },
	{ "- respond: [{text: '{{ }} {x} {{'}]", BODY("\"x\""),
	    { "\"text\":\"{{ }} {x} {{\"" } },
	{ "- respond: [{call: {name: f, call_id: c1, arguments: "
	  "{q: '{{last_user}}', n: [1, null]}}}]",
	    BODY("\"a\\\"b\""),
	    { "\"arguments\":\"{\\\"q\\\":\\\"a\\\\\\\"b\\\",\\\"n\\\":[1,"
	      "null]}\"",
		"\"call_id\":\"c1\"", "\"name\":\"f\"" } },
	{ "- respond: [{call: {name: f, arguments: '{broken'}}]", BODY("\"x\""),
	    { "\"arguments\":\"{broken\"" } },
	{ "- respond: [{call: {name: f}}]", BODY("\"x\""),
	    { "\"arguments\":\"{}\"", "\"call_id\":\"call_" } },
	{ "- respond: [{refusal: no}]", BODY("\"x\""),
	    { "response.refusal.delta", "\"refusal\":\"no\"",
		"\"type\":\"refusal\"" } },
	{ "- respond: [{reasoning: {summary: [one, two], encrypted: abcdef}}, "
	  "{text: x}]",
	    BODY("\"x\""),
	    { "\"summary_index\":1,\"part\":{\"type\":\"summary_text\","
	      "\"text\":\"two\"}",
		"\"summary\":[{\"type\":\"summary_text\",\"text\":\"one\"},"
		"{\"type\":\"summary_text\",\"text\":\"two\"}],"
		"\"encrypted_content\":\"abcdef\"",
		"\"encrypted_content\":\"abc\"" } },
	{ "- respond: [{reasoning: {summary: s, encrypted: null}}]",
	    BODY("\"x\""),
	    { "\"summary\":[{\"type\":\"summary_text\",\"text\":\"s\"}]}" } },
	{ "- respond: [{raw_item: {type: web_search_call, id: w, more: [1.50, "
	  "'{{model}}']}}]",
	    BODY("\"x\""),
	    { "\"item\":{\"type\":\"web_search_call\",\"id\":\"w\",\"more\":["
	      "1.50,\"m\"]}" } },
	{ "- respond: [{raw_event: {type: keepalive, sequence_number: 3}}, "
	  "{comment: still here}]",
	    BODY("\"x\""),
	    { "event: keepalive\ndata: {\"type\":\"keepalive\","
	      "\"sequence_number\":3}\n\n",
		"\n\n: still here\n\n" } },
	{ "- {respond: [{text: x}], incomplete: max_output_tokens}",
	    BODY("\"x\""),
	    { "event: response.incomplete",
		"\"incomplete_details\":{\"reason\":\"max_output_tokens\"}",
		"\"status\":\"incomplete\",\"content\"" } },
	{ "- failed: {code: server_error, message: oh}", BODY("\"x\""),
	    { "event: response.failed", "\"status\":\"failed\"",
		"\"error\":{\"code\":\"server_error\",\"message\":\"oh\"}" } },
	{ "- error_event: {code: c, message: oh}", BODY("\"x\""),
	    { "event: error\ndata: {\"type\":\"error\",\"sequence_number\":2,"
	      "\"error\":{\"code\":\"c\",\"message\":\"oh\"}}\n\n" } },
	{ "- {respond: [{text: x}], usage: {input_tokens: 7, cost: 0.10}}",
	    BODY("\"x\""),
	    { "\"usage\":{\"input_tokens\":7,\"cost\":0.10}}}" } },
	{ "- {respond: [{text: x}], usage: null}", BODY("\"x\""),
	    { "\"usage\":null}}\n\n" } },
	{ "- {respond: [{text: \"h\\xe9llo\"}], delta_bytes: 2}", BODY("\"x\""),
	    { "\"delta\":\"h\"", "\"delta\":\"\xc3\xa9\"",
		"\"delta\":\"ll\"" } },
	{ "- {respond: [{text: \"\\xe9\\u20ac\"}], delta_bytes: 1}",
	    BODY("\"x\""),
	    { "\"delta\":\"\xc3\xa9\"", "\"delta\":\"\xe2\x82\xac\"" } },
	{ "- {respond: [{text: abcdef}], deltas: 3}", BODY("\"x\""),
	    { "\"delta\":\"ab\"", "\"delta\":\"cd\"", "\"delta\":\"ef\"" } },
	{ "- {respond: [{text: x}, {comment: c}], incomplete: content_filter}",
	    BODY("\"x\""), { "\"status\":\"incomplete\",\"content\":[{" } },
	/* line ends of the request must not end lines of the stream */
	{ "- respond: [{text: x}]",
	    "{\n\"model\":\"m\",\"tools\":[{\r\n\"type\":\"x\"\n}]," FIXED
	    "\"input\":\"x\"}",
	    { "\"tools\":[{  \"type\":\"x\" }]" } },
	/* JSON, with what YAML readers refuse */
	{ "[{\"respond\":[{\"text\":\"\\ud83d\\ude00\"}]}]", BODY("\"x\""),
	    { "\"delta\":\"\xf0\x9f\x98\x80\"" } },
};

START_TEST(answers_what_the_rule_says)
{
	struct reply reply = REPLY_INIT;

	script(answers[_i].script);
	server_ask(&server, "/v1/responses", answers[_i].body, &reply);
	ck_assert_int_eq(reply.status, 200);
	for (size_t i = 0; i < COUNT(answers[_i].has); i++)
		ck_assert_msg(answers[_i].has[i] == NULL ||
				  reply_has(&reply, answers[_i].has[i]),
		    "%s\nnot in %.*s", answers[_i].has[i], (int)reply.body.len,
		    reply.body.ptr);
	reply_release(&reply);
}
END_TEST

static const struct {
	const char *script;
	long status;
	const char *head;
	const char *body;
} errors[] = {
	{ "- {status: 429, headers: {retry-after: 2}}", 429,
	    "retry-after: 2\r\n", "rate_limit_exceeded" },
	{ "- {status: 500}", 500, "application/json", "server_error" },
	{ "- {status: 400, body: {error: {message: bad, code: context_length_"
	  "exceeded}}}",
	    400, "Content-Type: application/json\r\n",
	    "{\"error\":{\"message\":\"bad\",\"code\":\"context_length_"
	    "exceeded\"}}" },
	{ "- {status: 502, headers: {Content-Type: text/html}, body: <html>}",
	    502, "Content-Type: text/html\r\n", "<html>" },
	{ "- {body: plain words}", 200, "text/plain", "plain words" },
	{ "- {headers: {x-one: \"1\\nx-two: 2\"}, body: b}", 200,
	    "x-one: 1\r\n", "b" },
};

START_TEST(answers_errors_and_bodies_as_told)
{
	struct reply reply = REPLY_INIT;

	script(errors[_i].script);
	server_ask(&server, "/v1/responses", BODY("\"x\""), &reply);
	ck_assert_int_eq(reply.code, CURLE_OK);
	ck_assert_int_eq(reply.status, errors[_i].status);
	ck_assert_msg(memmem(reply.head.ptr, reply.head.len, errors[_i].head,
			  strlen(errors[_i].head)) != NULL,
	    "%.*s", (int)reply.head.len, reply.head.ptr);
	ck_assert(memmem(reply.head.ptr, reply.head.len, "x-two", 5) == NULL);
	ck_assert(reply_has(&reply, errors[_i].body));
	reply_release(&reply);
}
END_TEST

/* ---- scripts that are refused ---- */

static const struct {
	const char *script;
	const char *says;
} wrongs[] = {
	{ "- respond: [{txt: x}]", "script:1: /0/respond/0" },
	{ "- respond: [{text: x}]\n- when: {turns: 1}", "script:2: /1/when" },
	{ "- respond: [{text: x, refusal: y}]", "/0/respond/0" },
	{ "- respond: [{}]", "/0/respond/0" },
	{ "- respond: [{call: {arguments: {}}}]", "/0/respond/0/call" },
	{ "- {when: {turn: -1}}", "/0/when/turn" },
	{ "- {status: 99}", "/0/status" },
	{ "- {cut: sideways}", "/0/cut" },
	{ "- {hold: maybe}", "/0/hold" },
	{ "- respond: [{text: '{{last_word}}'}]", "{{last_word}} is unknown" },
	{ "respond: []", "script:1" },
	{ "- a\n- b: [", "script:" },
	{ "[{\"respond\":}]", "script" },
};

START_TEST(refuses_a_script_and_keeps_the_old_one)
{
	struct reply reply = REPLY_INIT;

	script("- respond: [{text: old}]");
	server_ask(&server, "/script", wrongs[_i].script, &reply);
	ck_assert_int_eq(reply.status, 400);
	ck_assert_msg(reply_has(&reply, wrongs[_i].says), "%s not in %.*s",
	    wrongs[_i].says, (int)reply.body.len, reply.body.ptr);
	server_ask(&server, "/v1/responses", BODY("\"x\""), &reply);
	ck_assert(reply_has(&reply, "\"text\":\"old\""));
	reply_release(&reply);
}
END_TEST

/* ---- endings ---- */

/* Events of `respond: [{text: abc}]`: created, in_progress, item added, part
 * added, delta, text done, part done, item done, completed. */
static const struct {
	const char *rule;
	CURLcode code;
	const char *last; /* the end of what came */
	int events;       /* whole ones */
} cuts[] = {
	{ "cut: 0", CURLE_PARTIAL_FILE, "", 0 },
	{ "cut: 3", CURLE_PARTIAL_FILE, "}}\n\n", 3 },
	{ "cut: {after: 5}", CURLE_PARTIAL_FILE, "\"logprobs\":[]}\n\n", 5 },
	{ "cut: {after: 4, mid_event: true}", CURLE_PARTIAL_FILE, NULL, 4 },
	{ "cut: mid_event", CURLE_PARTIAL_FILE, NULL, 8 },
	{ "cut: 99", CURLE_PARTIAL_FILE, "}}\n\n", 9 },
	{ "cut: {after: 3}, reset: true", CURLE_RECV_ERROR, "}}\n\n", 3 },
	{ "reset: true", CURLE_RECV_ERROR, "", 0 },
	{ "chunk_bytes: 1", CURLE_OK, "}}\n\n", 9 },
	{ "pause_ms: 1, delta_bytes: 1", CURLE_OK, "}}\n\n", 11 },
	{ "delay_ms: 1", CURLE_OK, "}}\n\n", 9 },
	{ "delay_ms: 1, cut: 2", CURLE_PARTIAL_FILE, "}}\n\n", 2 },
};

static int
count_ends(const struct buf *body)
{
	int n = 0;

	for (size_t i = 0; i + 1 < body->len; i++)
		n += body->ptr[i] == '\n' && body->ptr[i + 1] == '\n';
	return n;
}

START_TEST(ends_a_stream_as_told)
{
	struct reply reply = REPLY_INIT;
	const char *last = cuts[_i].last;
	char text[200];

	snprintf(text, sizeof(text), "- {respond: [{text: abc}], %s}",
	    cuts[_i].rule);
	script(text);
	server_ask(&server, "/v1/responses", BODY("\"x\""), &reply);
	ck_assert_msg(reply.code == cuts[_i].code, "%s: %s", cuts[_i].rule,
	    curl_easy_strerror(reply.code));
	ck_assert_int_eq(count_ends(&reply.body), cuts[_i].events);
	if (last == NULL)
		ck_assert(reply.body.ptr[reply.body.len - 1] != '\n');
	else
		ck_assert(
		    reply.body.len >= strlen(last) &&
		    (last[0] == '\0' ||
			memcmp(reply.body.ptr + reply.body.len - strlen(last),
			    last, strlen(last)) == 0));
	reply_release(&reply);
}
END_TEST

static const struct {
	const char *rule;
	const char *until; /* what comes before the silence; NULL: nothing */
	const char *never;
} holds[] = {
	{ "hold: true", "response.output_item.done", "response.completed" },
	{ "hold: true, cut: 2", "event: response.in_progress",
	    "output_item.added" },
	{ "hold: true, cut: 0", "\r\n\r\n", "event:" },
	{ "hold: head", NULL, "HTTP" },
	{ "hold: true, delay_ms: 1", "response.output_item.done",
	    "response.completed" },
};

START_TEST(holds_a_stream_open_in_silence)
{
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	struct pollfd silent = { .events = POLLIN };
	struct reply reply = REPLY_INIT;
	char text[200];

	snprintf(text, sizeof(text), "- {respond: [{text: abc}], %s}",
	    holds[_i].rule);
	script(text);
	server_put_request(&request, BODY("\"x\""));
	silent.fd = server_connect(&server);
	server_send(silent.fd, buf_slice(&request));
	if (holds[_i].until != NULL)
		ck_assert(server_read(silent.fd, holds[_i].until, &got));
	/* The rest of what was put, then nothing for a while. */
	while (poll(&silent, 1, 100) == 1) {
		char bytes[4096];
		ssize_t n = recv(silent.fd, bytes, sizeof(bytes), 0);

		ck_assert_int_gt(n, 0);
		buf_put(&got, bytes, (size_t)n);
	}
	ck_assert(got.len == 0 || memmem(got.ptr, got.len, holds[_i].never,
				      strlen(holds[_i].never)) == NULL);
	server_ask(&server, "/stats", NULL, &reply);
	ck_assert(reply_has(&reply, "\"playing\":1"));
	close(silent.fd);
	for (int i = 0; i < 500 && !reply_has(&reply, "\"playing\":0"); i++)
		server_ask(&server, "/stats", NULL, &reply);
	ck_assert(reply_has(&reply, "\"playing\":0"));
	reply_release(&reply);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

START_TEST(pauses_between_deltas)
{
	struct reply reply = REPLY_INIT;
	CURL *curl = curl_easy_init();
	double seconds = 0;

	script("- {respond: [{text: abcde}], delta_bytes: 1, pause_ms: 20, "
	       "delay_ms: 50}");
	server_ask_on(curl, &server, "/v1/responses", server_headers,
	    BODY("\"x\""), &reply);
	curl_easy_getinfo(curl, CURLINFO_STARTTRANSFER_TIME, &seconds);
	ck_assert(seconds >= 0.045);
	curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME, &seconds);
	ck_assert(seconds >= 0.140);
	curl_easy_cleanup(curl);
	reply_release(&reply);
}
END_TEST

/* ---- replay ---- */

static const char *const chunks[] = { "0", "1", "7", "1000000" };

START_TEST(replays_a_body_byte_for_byte)
{
	static const char odd[] =
	    "\xef\xbb\xbf: c\r\n\r\ndata:{\"type\":\"x\0y\"}\r\rdata: [DONE]"
	    "\n\n\xff tail";
	char path[TEMP_PATH];
	struct reply reply = REPLY_INIT;
	struct server own;
	int fd = temp_file(path);

	ck_assert_int_eq(write(fd, odd, sizeof(odd)), sizeof(odd));
	close(fd);
	server_start(&own, (const char *const[]){
			       "--replay", path, "--chunk", chunks[_i], NULL });
	for (int i = 0; i < 2; i++) {
		server_ask(&own, "/v1/responses", BODY("\"x\""), &reply);
		ck_assert_int_eq(reply.code, CURLE_OK);
		ck_assert(slice_eq(
		    buf_slice(&reply.body), slice_of(odd, sizeof(odd))));
		ck_assert(memmem(
		    reply.head.ptr, reply.head.len, "text/event-stream", 17));
	}
	ck_assert_int_eq(server_stop(&own), 0);
	reply_release(&reply);
}
END_TEST

START_TEST(a_chunk_size_is_kept_on_the_wire)
{
	char path[TEMP_PATH];
	struct buf request = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	struct server own;
	int fd;

	temp_file_of("abcde", path);
	server_start(&own,
	    (const char *const[]){ "--replay", path, "--chunk", "2", NULL });
	fd = server_connect(&own);
	server_put_request(&request, BODY("\"x\""));
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(
	    fd, "\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n", &got));
	close(fd);
	ck_assert_int_eq(server_stop(&own), 0);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

START_TEST(a_script_from_a_file_is_played)
{
	static const char text[] = "- respond: [{text: from a file}]\n";
	char path[TEMP_PATH];
	struct reply reply = REPLY_INIT;
	struct server own;

	temp_file_of(text, path);
	server_start(&own, (const char *const[]){ "--script", path, NULL });
	server_ask(&own, "/v1/responses", BODY("\"x\""), &reply);
	ck_assert(reply_has(&reply, "\"text\":\"from a file\""));
	ck_assert_int_eq(server_stop(&own), 0);
	reply_release(&reply);
}
END_TEST

static Suite *
model_server_script(void)
{
	Suite *suite = suite_create("model server script");
	TCase *rules = server_case(suite, "rules", 30);
	TCase *reading = server_case(suite, "reading", 30);
	TCase *endings = server_case(suite, "endings", 30);
	TCase *replay = server_case(suite, "replay", 30);

	tcase_add_loop_test(
	    rules, plays_the_first_rule_that_fits, 0, COUNT(choices));
	tcase_add_test(rules, a_rule_is_played_as_often_as_it_says);
	tcase_add_test(rules, a_request_that_no_rule_fits_is_refused);
	tcase_add_loop_test(
	    rules, answers_what_the_rule_says, 0, COUNT(answers));
	tcase_add_loop_test(
	    rules, answers_errors_and_bodies_as_told, 0, COUNT(errors));
	tcase_add_loop_test(
	    reading, refuses_a_script_and_keeps_the_old_one, 0, COUNT(wrongs));
	tcase_add_test(reading, a_script_from_a_file_is_played);
	tcase_add_loop_test(endings, ends_a_stream_as_told, 0, COUNT(cuts));
	tcase_add_loop_test(
	    endings, holds_a_stream_open_in_silence, 0, COUNT(holds));
	tcase_add_test(endings, pauses_between_deltas);
	tcase_add_loop_test(
	    replay, replays_a_body_byte_for_byte, 0, COUNT(chunks));
	tcase_add_test(replay, a_chunk_size_is_kept_on_the_wire);
	return suite;
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return run_suite(model_server_script());
}
