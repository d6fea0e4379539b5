/*
 * The scripted model server refuses what the real service refuses: a table of
 * requests with one fault each, and of requests that have none.
 */
#include <check.h>

#include "base/json.h"
#include "tests/unit/model/model_reply.h"
#include "tests/unit/suite.h"

#define USER          "{\"role\":\"user\",\"content\":\"x\"}"
#define SAID          "{\"role\":\"assistant\",\"content\":\"x\"}"
#define FIXED         "\"store\":false,\"stream\":true,"
#define SEALED        "\"include\":[\"reasoning.encrypted_content\"],"
#define BODY(members) "{\"model\":\"bench-text-1\"," FIXED SEALED members "}"
#define INPUT(items)  BODY("\"input\":[" items "]")
#define CALL(id)                                                               \
	"{\"type\":\"function_call\",\"call_id\":\"" id                        \
	"\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUTPUT(id)                                                             \
	"{\"type\":\"function_call_output\",\"call_id\":\"" id                 \
	"\",\"output\":\"o\"}"
#define CUSTOM(id)                                                             \
	"{\"type\":\"custom_tool_call\",\"call_id\":\"" id                     \
	"\",\"name\":\"f\",\"input\":\"free\"}"
#define CUSTOM_OUTPUT(id)                                                      \
	"{\"type\":\"custom_tool_call_output\",\"call_id\":\"" id              \
	"\",\"output\":\"o\"}"
#define REASONING                                                              \
	"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],"              \
	"\"encrypted_content\":\"sealed\"}"
#define ID_64         "0123456789012345678901234567890123456789012345678901234567890123"
#define E8            "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
#define E64           E8 E8 E8 E8 E8 E8 E8 E8 /* 128 bytes, 64 characters */
#define TOOL(members) BODY("\"input\":\"x\",\"tools\":[" members "]")
#define FUNCTION(name)                                                         \
	"{\"type\":\"function\",\"name\":\"" name "\",\"parameters\":{}}"

static const struct {
	const char *body;
	long status;
	const char *says; /* part of the error */
} faults[] = {
	/* no JSON */
	{ "", 400, "no JSON" },
	{ "{\"model\":\"m\"", 400, "no JSON" },
	{ BODY("\"input\":\"x\"") "x", 400, "no JSON" },
	{ "[]", 400, "no JSON object" },
	{ BODY("\"input\":\"\xff\""), 400, "UTF-8" },
	{ BODY("\"input\":\"\\ud800\""), 400, "surrogate" },
	/* top level */
	{ "{" FIXED SEALED "\"input\":\"x\"}", 400, "'model'" },
	{ "{\"model\":\"\"," FIXED SEALED "\"input\":\"x\"}", 400, "model" },
	{ "{\"model\":1," FIXED SEALED "\"input\":\"x\"}", 400, "model" },
	{ "{\"model\":\"m\",\"stream\":true," SEALED "\"input\":\"x\"}", 400,
	    "store" },
	{ "{\"model\":\"m\",\"store\":true,\"stream\":true," SEALED
	  "\"input\":\"x\"}",
	    400, "store" },
	{ "{\"model\":\"m\",\"store\":null,\"stream\":true," SEALED
	  "\"input\":\"x\"}",
	    400, "store" },
	{ "{\"model\":\"m\",\"store\":false,\"stream\":1," SEALED
	  "\"input\":\"x\"}",
	    400, "stream" },
	{ "{\"model\":\"m\"," FIXED "\"input\":\"x\"}", 400, "include" },
	{ "{\"model\":\"m\"," FIXED "\"include\":[],\"input\":\"x\"}", 400,
	    "include" },
	{ "{\"model\":\"m\"," FIXED
	  "\"include\":\"reasoning.encrypted_content\",\"input\":\"x\"}",
	    400, "include" },
	{ BODY("\"input\":\"x\",\"previous_response_id\":\"resp_1\""), 400,
	    "previous_response_id" },
	{ BODY("\"input\":\"x\",\"conversation\":\"conv_1\""), 400,
	    "conversation" },
	{ BODY("\"input\":\"x\",\"max_output_tokens\":15"), 400,
	    "max_output_tokens" },
	{ BODY("\"input\":\"x\",\"max_output_tokens\":\"99\""), 400,
	    "max_output_tokens" },
	/* tools */
	{ BODY("\"input\":\"x\",\"tools\":{}"), 400, "tools" },
	{ TOOL("{\"name\":\"a\"}"), 400, "no type" },
	{ TOOL("{\"type\":\"function\"}"), 400, "no name" },
	{ TOOL(FUNCTION("")), 400, "tools[0].name" },
	{ TOOL(FUNCTION("a b")), 400, "tools[0].name" },
	{ TOOL(FUNCTION(ID_64 ID_64 "x")), 400, "tools[0].name" },
	{ TOOL(FUNCTION("a") "," FUNCTION("b") "," FUNCTION("a")), 400,
	    "Two tools are named 'a'" },
	{ TOOL("{\"type\":\"function\",\"name\":\"a\",\"parameters\":[]}"), 400,
	    "parameters" },
	/* input and messages */
	{ BODY("\"x\":1"), 400, "input" },
	{ BODY("\"input\":null"), 400, "input" },
	{ BODY("\"input\":{}"), 400, "input" },
	{ INPUT(""), 400, "input" },
	{ INPUT(USER ",1"), 400, "input[1].type" },
	{ INPUT("{\"content\":\"x\"}"), 400, "input[0].type" },
	{ INPUT("{\"role\":\"tool\",\"content\":\"x\"}"), 400,
	    "unknown role 'tool'" },
	{ INPUT("{\"role\":\"user\"}"), 400, "input[0].content" },
	{ INPUT("{\"role\":\"user\",\"content\":[{\"type\":\"output_text\","
		"\"text\":\"x\"}]}"),
	    400, "part" },
	{ INPUT("{\"role\":\"assistant\",\"content\":[{\"type\":"
		"\"input_text\",\"text\":\"x\"}]}"),
	    400, "part" },
	{ INPUT("{\"role\":\"assistant\",\"id\":\"" ID_64 "x\","
		"\"content\":\"x\"}"),
	    400, "input[0].id" },
	/* pairs */
	{ INPUT(USER "," CALL("a")), 400, "function call 'a'" },
	{ INPUT(USER "," CALL("a") "," CALL("b") "," OUTPUT("a")), 400,
	    "function call 'b'" },
	{ INPUT(USER "," OUTPUT("a")), 400, "No tool call found" },
	{ INPUT(USER "," OUTPUT("a") "," CALL("a")), 400,
	    "No tool call found" },
	{ INPUT(USER "," CALL("a") "," OUTPUT("a") "," OUTPUT("a")), 400,
	    "second output" },
	{ INPUT(CALL("a") "," CALL("a") "," OUTPUT("a")), 400, "two calls" },
	{ INPUT(CALL("a") "," OUTPUT("a") "," CALL("a") "," OUTPUT("a")), 400,
	    "two calls" },
	{ INPUT(CALL("a") "," CUSTOM_OUTPUT("a")), 400, "another type" },
	{ INPUT(CUSTOM("a") "," OUTPUT("a")), 400, "another type" },
	/* order */
	{ INPUT(CALL("a") "," USER "," OUTPUT("a")), 400, "function call 'a'" },
	{ INPUT(CALL("a") "," SAID "," OUTPUT("a")), 400, "input[1]" },
	{ INPUT(CALL("a") "," REASONING
			  "," CALL("b") "," OUTPUT("a") "," OUTPUT("b")),
	    400, "function call 'a'" },
	/* fields of calls and outputs */
	{ INPUT(CALL("") "," OUTPUT("")), 400, "call_id is empty" },
	{ INPUT(CALL(ID_64 "x") "," OUTPUT(ID_64 "x")), 400, "64 characters" },
	{ INPUT("{\"type\":\"function_call\",\"name\":\"f\","
		"\"arguments\":\"{}\"}"),
	    400, "call_id is missing" },
	{ INPUT("{\"type\":\"function_call\",\"call_id\":\"a\","
		"\"arguments\":\"{}\"}," OUTPUT("a")),
	    400, "no name" },
	{ INPUT("{\"type\":\"function_call\",\"call_id\":\"a\","
		"\"name\":\"f\",\"arguments\":{}}," OUTPUT("a")),
	    400, "arguments" },
	{ INPUT(CALL("a") ",{\"type\":\"function_call_output\","
			  "\"output\":\"o\"}"),
	    400, "call_id is missing" },
	{ INPUT(CALL("a") ",{\"type\":\"function_call_output\","
			  "\"call_id\":\"a\"}"),
	    400, "input[1].output" },
	{ INPUT(CALL("a") ",{\"type\":\"function_call_output\","
			  "\"call_id\":\"a\",\"output\":{}}"),
	    400, "input[1].output" },
	/* reasoning and references */
	{ INPUT(USER "," REASONING), 400, "required following" },
	{ INPUT(REASONING "," USER), 400, "required following" },
	{ INPUT(REASONING "," REASONING "," SAID), 400, "required following" },
	{ INPUT(
	      "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}," SAID),
	    404, "Item with id 'rs_1' not found" },
	{ INPUT("{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],"
		"\"encrypted_content\":\"\"}," SAID),
	    404, "Item with id 'rs_1' not found" },
	{ INPUT("{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],"
		"\"encrypted_content\":null}," SAID),
	    404, "Item with id 'rs_1' not found" },
	{ INPUT("{\"type\":\"reasoning\",\"id\":\"rs_1\","
		"\"encrypted_content\":\"s\"}," SAID),
	    400, "input[0].summary" },
	{ INPUT("{\"type\":\"item_reference\",\"id\":\"msg_1\"}"), 404,
	    "Item with id 'msg_1' not found" },
};

static const char *const rights[] = {
	BODY("\"input\":\"x\""),
	INPUT(USER),
	INPUT("{\"type\":\"message\",\"role\":\"developer\",\"content\":"
	      "[{\"type\":\"input_text\",\"text\":\"x\"}]}," USER),
	INPUT(USER "," SAID "," USER),
	INPUT(USER "," CALL("a") "," OUTPUT("a")),
	INPUT(USER "," CALL("a") "," CALL("b") "," OUTPUT("b") "," OUTPUT("a")),
	INPUT(USER "," CALL("a") "," OUTPUT("a") "," CALL("b") "," OUTPUT("b")),
	INPUT(USER "," CALL(ID_64) "," OUTPUT(ID_64)),
	/* the same id, written otherwise */
	INPUT(CALL("\xc3\xa9") "," OUTPUT("\\u00e9")),
	INPUT(CALL(E64) "," OUTPUT(E64)),
	INPUT(CUSTOM("a") "," CUSTOM_OUTPUT("a")),
	INPUT(USER "," REASONING "," SAID),
	INPUT(USER "," REASONING "," CALL("a") "," OUTPUT("a")),
	INPUT(USER "," REASONING "," CALL("a") "," OUTPUT(
	    "a") "," REASONING "," CALL("b") "," OUTPUT("b")),
	INPUT(USER "," REASONING ",{\"type\":\"web_search_call\","
		   "\"id\":\"ws_1\",\"status\":\"completed\"}," SAID),
	INPUT(CALL("a") ",{\"type\":\"function_call_output\",\"call_id\":"
			"\"a\",\"output\":[{\"type\":\"input_text\","
			"\"text\":\"x\"}]}"),
	TOOL(FUNCTION("a-1") "," FUNCTION("b_2")),
	TOOL("{\"type\":\"web_search\"}"),
	BODY("\"input\":\"x\",\"previous_response_id\":null,"
	     "\"max_output_tokens\":16,\"unknown\":[1]"),
	BODY("\"input\":\"\\u0000 \\ud83d\\ude00\""),
	/* a probe, which is not streamed, has nothing to unseal */
	"{\"model\":\"bench\",\"store\":false,\"include\":[],\"input\":\"x\"}",
};

START_TEST(refuses_each_fault_and_names_it)
{
	struct reply reply = REPLY_INIT;
	struct json body, error;

	server_ask(&server, "/v1/responses", faults[_i].body, &reply);
	ck_assert_msg(reply.status == faults[_i].status,
	    "status %ld for %s\n%.*s", reply.status, faults[_i].body,
	    (int)reply.body.len, reply.body.ptr);
	ck_assert_msg(reply_has(&reply, faults[_i].says), "%s\n%.*s",
	    faults[_i].body, (int)reply.body.len, reply.body.ptr);
	ck_assert_int_eq(
	    json_parse(buf_slice(&reply.body), &body, NULL, NULL), 0);
	error = json_get(body, "error");
	ck_assert(json_get(error, "message").type == JSON_STRING);
	ck_assert(json_is(json_get(error, "type"), "invalid_request_error"));
	ck_assert(json_get(error, "code").type == JSON_STRING);
	ck_assert(json_get(error, "param").type != JSON_NONE);
	reply_release(&reply);
}
END_TEST

START_TEST(takes_what_has_no_fault)
{
	struct reply reply = REPLY_INIT;

	server_ask(&server, "/v1/responses", rights[_i], &reply);
	ck_assert_msg(reply.status == 200, "%s\n%.*s", rights[_i],
	    (int)reply.body.len, reply.body.ptr);
	reply_release(&reply);
}
END_TEST

static const struct {
	const char *headers[4];
	long status;
} heads[] = {
	{ { "Content-Type: application/json", NULL }, 401 },
	{ { "Content-Type: application/json", "Authorization: Bearer ", NULL },
	    401 },
	{ { "Content-Type: application/json", "Authorization: Basic eDp5",
	      NULL },
	    401 },
	{ { "Content-Type: text/plain", "Authorization: Bearer k", NULL },
	    415 },
	{ { "Content-Type:", "Authorization: Bearer k", NULL }, 415 },
	{ { "content-type: application/json; charset=utf-8",
	      "authorization: bearer k", NULL },
	    200 },
};

START_TEST(looks_at_authorization_and_content_type)
{
	CURL *curl = curl_easy_init();
	struct reply reply = REPLY_INIT;

	server_ask_on(curl, &server, "/v1/responses", heads[_i].headers,
	    rights[0], &reply);
	ck_assert_int_eq(reply.status, heads[_i].status);
	curl_easy_cleanup(curl);
	reply_release(&reply);
}
END_TEST

START_TEST(options_switch_the_checks_off)
{
	static const char *const none[] = { "Content-Type: x", NULL };
	CURL *curl = curl_easy_init();
	struct reply reply = REPLY_INIT;
	struct server lax;

	server_start(
	    &lax, (const char *const[]){ "--no-auth", "--no-check", NULL });
	server_ask_on(curl, &lax, "/v1/responses", none,
	    "{\"model\":\"bench\",\"input\":[" CALL("a") "]}", &reply);
	ck_assert_int_eq(reply.status, 200);
	server_ask_on(curl, &lax, "/v1/responses", none, "{}", &reply);
	ck_assert_int_eq(reply.status, 200);
	server_ask_on(curl, &lax, "/v1/responses", none, "nothing", &reply);
	ck_assert_int_eq(reply.status, 400);
	curl_easy_cleanup(curl);
	ck_assert_int_eq(server_stop(&lax), 0);
	reply_release(&reply);
}
END_TEST

static int64_t
stat_of(const char *name)
{
	struct reply reply = REPLY_INIT;
	struct json stats;
	int64_t number = -1;

	server_ask(&server, "/stats", NULL, &reply);
	ck_assert_int_eq(
	    json_parse(buf_slice(&reply.body), &stats, NULL, NULL), 0);
	ck_assert(json_i64(json_get(stats, name), &number));
	reply_release(&reply);
	return number;
}

START_TEST(counts_what_it_refused_and_says_why)
{
	struct reply reply = REPLY_INIT;

	server_ask(&server, "/reset", "", &reply);
	server_ask(&server, "/v1/responses", rights[0], &reply);
	server_ask(&server, "/v1/responses", INPUT(CALL("lost")), &reply);
	ck_assert_int_eq(stat_of("requests"), 2);
	ck_assert_int_eq(stat_of("answered"), 1);
	ck_assert_int_eq(stat_of("refused"), 1);
	server_ask(&server, "/stats", NULL, &reply);
	ck_assert(reply_has(&reply, "function call 'lost'"));
	server_ask(&server, "/reset", "", &reply);
	ck_assert_int_eq(stat_of("refused"), 0);
	server_ask(&server, "/stats", NULL, &reply);
	ck_assert(reply_has(&reply, "\"last_refusal\":null"));
	reply_release(&reply);
}
END_TEST

START_TEST(remembers_requests_line_by_line_without_secrets)
{
	static const char *const headers[] = { "Authorization: Bearer hidden",
		"Content-Type: application/json", "Accept: text/event-stream",
		"Expect:", NULL };
	CURL *curl = curl_easy_init();
	struct reply reply = REPLY_INIT;
	struct json line;
	int64_t number;

	server_ask(&server, "/reset", "", &reply);
	server_ask_on(curl, &server, "/v1/responses", headers,
	    "{\n\"model\"\r\n:\"bench\"," FIXED SEALED "\"input\":\"a\\nb\"}",
	    &reply);
	server_ask_on(
	    curl, &server, "/v1/responses", headers, "not\nJSON", &reply);
	server_ask(&server, "/requests", NULL, &reply);
	ck_assert(!reply_has(&reply, "hidden"));
	ck_assert(reply_has(&reply, "\"body_text\":\"not\\nJSON\"}\n"));
	reply.body.len =
	    (size_t)((char *)memchr(reply.body.ptr, '\n', reply.body.len) -
		     reply.body.ptr);
	ck_assert_int_eq(
	    json_parse(buf_slice(&reply.body), &line, NULL, NULL), 0);
	ck_assert(json_i64(json_get(line, "number"), &number) && number == 1);
	ck_assert(json_i64(json_get(line, "status"), &number) && number == 200);
	ck_assert(json_is(json_get(line, "authorization"), "present"));
	ck_assert(json_is(json_get(line, "accept"), "text/event-stream"));
	ck_assert(json_is(json_get(json_get(line, "body"), "input"), "a\nb"));
	curl_easy_cleanup(curl);
	reply_release(&reply);
}
END_TEST

/* A long history must not take quadratic time to check. */
START_TEST(checks_a_history_of_thousands_of_calls)
{
	struct buf body = BUF_INIT(REPLY_MAX);
	struct reply reply = REPLY_INIT;

	buf_puts(&body, "{\"model\":\"bench\"," FIXED SEALED "\"input\":[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&body,
		    "{\"type\":\"function_call\",\"call_id\":\"c%d\","
		    "\"name\":\"f\",\"arguments\":\"{}\"},"
		    "{\"type\":\"function_call_output\",\"call_id\":\"c%d\","
		    "\"output\":\"o\"},",
		    i, i);
	buf_puts(&body, USER "]}");
	buf_putc(&body, '\0');
	server_ask(&server, "/v1/responses", body.ptr, &reply);
	ck_assert_int_eq(reply.status, 200);
	buf_release(&body);
	reply_release(&reply);
}
END_TEST

START_TEST(refuses_more_items_than_it_takes)
{
	struct buf body = BUF_INIT(REPLY_MAX);
	struct reply reply = REPLY_INIT;

	buf_puts(&body, "{\"model\":\"bench\"," FIXED SEALED "\"input\":[1");
	for (int i = 0; i < 100000; i++)
		buf_puts(&body, ",1");
	buf_puts(&body, "]}");
	buf_putc(&body, '\0');
	server_ask(&server, "/v1/responses", body.ptr, &reply);
	ck_assert_int_eq(reply.status, 400);
	ck_assert(reply_has(&reply, "100000 input items"));
	buf_release(&body);
	reply_release(&reply);
}
END_TEST

static Suite *
model_server_checks(void)
{
	Suite *suite = suite_create("model server checks");
	TCase *body = server_case(suite, "body", 30);
	TCase *head = server_case(suite, "head", 30);
	TCase *memory = server_case(suite, "memory", 30);

	tcase_add_loop_test(
	    body, refuses_each_fault_and_names_it, 0, COUNT(faults));
	tcase_add_loop_test(body, takes_what_has_no_fault, 0, COUNT(rights));
	tcase_add_test(body, checks_a_history_of_thousands_of_calls);
	tcase_add_test(body, refuses_more_items_than_it_takes);
	tcase_add_loop_test(
	    head, looks_at_authorization_and_content_type, 0, COUNT(heads));
	tcase_add_test(head, options_switch_the_checks_off);
	tcase_add_test(memory, counts_what_it_refused_and_says_why);
	tcase_add_test(memory, remembers_requests_line_by_line_without_secrets);
	return suite;
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return run_suite(model_server_checks());
}
