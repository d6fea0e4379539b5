/*
 * workers/model/body.c: what an answer is, whatever its label says: an event
 * stream, JSON, a page, something else; and errors with every status.
 */
#include "tests/unit/model/play.h"
#include "tests/unit/suite.h"

/* clang-format off */
static const struct {
	const char *rule, *body, *result;
	struct play play;
} rules[] = {
	{ "White space before the stream means nothing",
	    "\r\n\n  \n" CREATED DELTA(0, "x") COMPLETED,
	    JSON_TEXT({"status":"completed","text":"x"}), { 0 } },
	{ "A body of nothing is a cut that may be tried again", "",
	    JSON_TEXT({"status":"truncated","class":"server","retry":true,
		"error":null}), { 0 } },
	{ "A body of comments is a cut", ": ping\n\n: ping\n\n",
	    JSON_TEXT({"status":"truncated","class":"server"}), { 0 } },
	{ "A page under 200 is a failure of the server",
	    "<!DOCTYPE html>\n<html><body>Bad gateway</body></html>",
	    JSON_TEXT({"status":"failed","finish_reason":"error",
		"error":{"code":"client_html","message":"Bad gateway"},
		"class":"server","retry":true}), { 0 } },
	{ "A page under 403 is one about the key",
	    "<html>Access denied</html>",
	    JSON_TEXT({"status":"failed","class":"auth","retry":false}),
	    { .status = 403 } },
	{ "JSON with an error under 200",
	    "\n\n{\"error\":{\"message\":\"no credits\",\"code\":402}}",
	    JSON_TEXT({"status":"failed","error":{"code":"402",
		"message":"no credits"},"class":"quota","retry":false}),
	    { 0 } },
	{ "JSON that is no response is a matter of configuration",
	    "{\"hello\":\"world\"}",
	    JSON_TEXT({"status":"failed","class":"config","retry":false}),
	    { 0 } },
	{ "A JSON list is a matter of configuration", "[1,2]",
	    JSON_TEXT({"status":"failed","class":"config"}), { 0 } },
	{ "JSON that breaks off is a cut", "{\"object\":\"response\",\"outp",
	    JSON_TEXT({"status":"truncated","class":"server","retry":true}),
	    { .unclean = true } },
	{ "A whole response although a stream was asked for",
	    JSON_TEXT({"object":"response","id":"r","status":"completed",
		"output":[{"type":"message","id":"m","content":
		[{"type":"output_text","text":"hi"}]},
		{"type":"function_call","call_id":"c","name":"f",
		"arguments":"{}"}],"usage":{"input_tokens":1,
		"output_tokens":2}}),
	    JSON_TEXT({"status":"completed","text":"hi",
		"finish_reason":"tool_calls","usage":{"input":1,"output":2,
		"total":3,"cached":0,"reasoning":0}}), { 0 } },
	{ "A whole response that says little about itself",
	    JSON_TEXT({"output":[{"type":"message","content":
		[{"type":"output_text","text":"hi"}]}]}),
	    JSON_TEXT({"status":"completed","text":"hi"}), { 0 } },
	{ "A whole response that failed",
	    JSON_TEXT({"object":"response","status":"failed","output":[],
		"error":{"code":"server_error","message":"boom"}}),
	    JSON_TEXT({"status":"failed","error":{"code":"server_error",
		"message":"boom"},"class":"server"}), { 0 } },
	{ "Packed bytes are a matter of configuration", "\x1f\x8b\x08xyz",
	    JSON_TEXT({"status":"failed","error":{"code":"client_protocol",
		"message":"the answer is compressed or binary, not text"},
		"class":"config"}), { 0 } },
	{ "Plain text is no event stream", "Service is being updated\n",
	    JSON_TEXT({"status":"failed","error":{"code":"client_protocol",
		"message":"Service is being updated"},"class":"config",
		"retry":false}), { 0 } },
	{ "Chunks of Chat Completions are a matter of configuration",
	    EVENT({"object":"chat.completion.chunk","choices":[]}),
	    JSON_TEXT({"status":"failed","class":"config","retry":false}),
	    { 0 } },
	{ "An HTTP error with a JSON body",
	    "{\"code\":\"invalid-argument\",\"error\":\"no such model\"}",
	    JSON_TEXT({"status":"failed","error":{"code":"invalid-argument",
		"message":"no such model"},"class":"request"}),
	    { .status = 400 } },
	{ "An HTTP error with JSON glued to an event",
	    "{\"error\":{\"message\":\"Upstream failed\","
	    "\"type\":\"upstream_error\"}}event: response.failed\n"
	    "data: {\"type\":\"response.failed\"}\n\n",
	    JSON_TEXT({"status":"failed","error":{"code":"upstream_error",
		"message":"Upstream failed"},"class":"server","retry":true}),
	    { .status = 502 } },
	{ "An HTTP error as an event stream",
	    EVENT({"type":"error","error":{"code":"slow_down",
		"message":"slow"}}),
	    JSON_TEXT({"status":"failed","error":{"code":"slow_down",
		"message":"slow"},"class":"rate"}), { .status = 500 } },
	{ "An HTTP error's body is read to its end, whatever it says",
	    "hello\n\ndata: [DONE]\n\nmore words",
	    JSON_TEXT({"status":"failed","error":{"code":null,
		"message":"hello data: [DONE] more words"}}),
	    { .status = 500 } },
	{ "An HTTP error is one though its stream completes",
	    CREATED DELTA(0, "x") COMPLETED,
	    JSON_TEXT({"status":"failed","class":"server"}),
	    { .status = 500 } },
	{ "An HTTP error without a body", "",
	    JSON_TEXT({"status":"failed","class":"overload","retry":true}),
	    { .status = 503 } },
	{ "A flat error event",
	    CREATED EVENT({"type":"error","code":"server_is_overloaded",
		"message":"busy","param":null}),
	    JSON_TEXT({"status":"failed","error":
		{"code":"server_is_overloaded","message":"busy"},
		"class":"overload","retry":true}), { 0 } },
	{ "A12: an error, then failed, then garbage",
	    CREATED EVENT({"type":"error","error":{"type":"insufficient_quota",
		"code":"insufficient_quota","message":"quota"}})
	    EVENT({"type":"response.failed","response":{"status":"failed",
		"error":{"code":"insufficient_quota",
		"message":"longer quota text"}}})
	    "\xFF\xFE{{{\n\n",
	    JSON_TEXT({"status":"failed","error":{"code":"insufficient_quota",
		"message":"longer quota text"},"class":"quota"}),
	    { .unclean = true } },
	{ "A12: failed without detail, then an error with it",
	    CREATED EVENT({"type":"response.failed","response":
		{"status":"failed","error":null}})
	    EVENT({"type":"error","error":{"type":"too_many_requests",
		"code":"too_many_requests","message":"slow"}}),
	    JSON_TEXT({"status":"failed","error":{"code":"too_many_requests",
		"message":"slow"},"class":"rate"}), { 0 } },
	{ "A response that failed does not come back to life",
	    CREATED EVENT({"type":"error","code":"server_error",
		"message":"boom"}) DELTA(0, "x") COMPLETED,
	    JSON_TEXT({"status":"failed","text":"","retry":true}), { 0 } },
	{ "F7: a name that says error wins over the type",
	    CREATED "event: error\ndata: {\"type\":\"response.completed\","
	    "\"response\":{\"status\":\"completed\"}}\n\n",
	    JSON_TEXT({"status":"failed","class":"server"}), { 0 } },
	{ "F7: a type that says error wins over the name",
	    CREATED "event: response.completed\ndata: {\"type\":\"error\","
	    "\"error\":{\"message\":\"boom\",\"code\":\"server_error\"}}\n\n",
	    JSON_TEXT({"status":"failed","error":{"code":"server_error",
		"message":"boom"}}), { 0 } },
	{ "A bare error object is an error",
	    "data: {\"error\":{\"message\":\"boom\",\"code\":\"c\"}}\n\n",
	    JSON_TEXT({"status":"failed","error":{"code":"c",
		"message":"boom"}}), { 0 } },
	{ "Usage of a response that failed is kept",
	    CREATED DELTA(0, "x") EVENT({"type":"response.failed","response":
		{"error":{"code":"server_error","message":"boom"},
		"usage":{"input_tokens":9,"output_tokens":1}}}),
	    JSON_TEXT({"status":"failed","text":"x","retry":false,"usage":
		{"input":9,"output":1,"total":10,"cached":0,"reasoning":0}}),
	    { 0 } },
	{ "A delay that stands only in the text",
	    EVENT({"type":"response.failed","response":{"error":
		{"code":"rate_limit_exceeded",
		"message":"Please try again in 11.054s. Visit x"}}}),
	    JSON_TEXT({"class":"rate","retry":true,"retry_after_ms":11054}),
	    { 0 } },
	{ "An event over the limit ends it with what came before",
	    CREATED DELTA(0, "x") "data: {\"type\":\"keepalive\",\"pad\":\""
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    "\"}\n\n" COMPLETED,
	    JSON_TEXT({"status":"failed","text":"x","finish_reason":"error",
		"class":"config","retry":false}), { .event_max = 150 } },
};
/* clang-format on */

START_TEST(an_answer_is_what_its_bytes_say)
{
	play_check(
	    &rules[_i].play, slice_string(rules[_i].body), rules[_i].result);
}
END_TEST

START_TEST(keeps_little_of_a_page_without_end)
{
	struct body body;
	char page[10000];

	memset(page, 'x', sizeof(page));
	page[0] = '<';
	page[1] = '>';
	body_init(&body, 0, (struct body_quirks){ 0 });
	for (size_t i = 0; i < 1000; i++) {
		body_feed(&body, slice_of(page, sizeof(page)));
		ck_assert_uint_le(body.text.cap, 2 * BODY_HEAD_MAX);
	}
	body_end(&body, false);
	ck_assert_int_eq(body.response.state, RESPONSE_FAILED);
	body_release(&body);
}
END_TEST

START_TEST(gives_the_head_back_when_events_come)
{
	struct body body;

	body_init(&body, 0, (struct body_quirks){ 0 });
	body_feed(&body, slice_string(": a comment\n"));
	ck_assert_uint_gt(body.text.len, 0);
	body_feed(&body, slice_string(CREATED));
	body_feed(&body, slice_string(DELTA(0, "x")));
	ck_assert_uint_eq(body.text.cap, 0);
	body_release(&body);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("body");
	TCase *kinds = tcase_create("kinds");

	tcase_set_timeout(kinds, 60);
	tcase_add_loop_test(
	    kinds, an_answer_is_what_its_bytes_say, 0, (int)COUNT(rules));
	tcase_add_test(kinds, keeps_little_of_a_page_without_end);
	tcase_add_test(kinds, gives_the_head_back_when_events_come);
	suite_add_tcase(s, kinds);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
