/*
 * workers/model/report.c: how an attempt's end is told, what a person learns
 * from a failure, and that no secret is in it.
 */
#include "tests/unit/model/entry.h"
#include "tests/unit/model/play.h"
#include "tests/unit/suite.h"
#include "workers/model/report.h"

struct ended {
	struct models models;
	struct body body;
	struct times times;
	struct report report;
	struct msg msg;
	struct buf items;
	struct attempt attempt;
};

static void
play_end(struct ended *e, unsigned status, const char *bytes, bool clean)
{
	*e = (struct ended){ .items = BUF_INIT(LIMIT_BODY),
		.attempt = { .turn = 3, .attempt = 2 },
		.times = { .start_ms = 1000,
		    .connected_ms = 1001,
		    .headers_ms = 1020,
		    .first_ms = 1100 } };
	entry_load(&e->models, "    headers: {X-One: other-secret}\n",
	    "    model: gpt-9\n");
	body_init(&e->body, 0, (struct body_quirks){ 0 });
	body_status(&e->body, status);
	play_feed(&e->body, slice_string(bytes), PLAY_MAX);
	body_end(&e->body, clean);
	e->report = (struct report){
		.attempt = &e->attempt,
		.model = &e->models.models[0],
		.body = &e->body,
		.times = &e->times,
		.request_id = "req_1",
		.now_ms = 1500,
	};
}

static void
make(struct ended *e)
{
	struct buf wire = BUF_INIT(LIMIT_MESSAGE);
	struct err err = { 0 };

	report_make(&e->report, &e->msg, &e->items);
	/* whatever it is, it can be sent */
	ck_assert_msg(msg_encode(&e->msg, &wire, &err) == 0, "%s", err.text);
	buf_release(&wire);
}

static void
release(struct ended *e)
{
	body_release(&e->body);
	buf_release(&e->items);
	models_release(&e->models);
}

START_TEST(a_turn_that_is_done_brings_items_usage_and_times)
{
	struct ended e;
	const struct msg_turn_done *done = &e.msg.turn_done;

	play_end(&e, 200, EVENT({
		"type" : "response.created",
		"response" : { "id" : "resp_7", "model" : "gpt-9-x" }
	}) MESSAGE_DONE(0, "m", "hi") EVENT({
		"type" : "response.completed",
		"response" : {
			"usage" : {
				"input_tokens" : 5,
				"output_tokens" : 3,
				"total_tokens" : 8,
				"input_tokens_details" :
				    { "cached_tokens" : 4 },
				"output_tokens_details" :
				    { "reasoning_tokens" : 2 }
			}
		}
	}),
	    true);
	make(&e);
	ck_assert_int_eq(e.msg.id, MSG_turn_done);
	ck_assert_uint_eq(done->turn, 3);
	ck_assert_uint_eq(done->attempt, 2);
	ck_assert(slice_is(done->status, "completed"));
	ck_assert(slice_is(done->finish, "stop"));
	ck_assert(slice_is(done->model, "gpt-9-x"));
	ck_assert(slice_is(done->response_id, "resp_7"));
	ck_assert(slice_is(done->request_id, "req_1"));
	ck_assert_uint_eq(done->http_status, 200);
	ck_assert(done->usage_known);
	ck_assert_uint_eq(done->input_tokens, 5);
	ck_assert_uint_eq(done->output_tokens, 3);
	ck_assert_uint_eq(done->total_tokens, 8);
	ck_assert_uint_eq(done->cached_tokens, 4);
	ck_assert_uint_eq(done->reasoning_tokens, 2);
	ck_assert_uint_eq(done->headers_ms, 20);
	ck_assert_uint_eq(done->first_ms, 100);
	ck_assert_uint_eq(done->total_ms, 500);
	ck_assert_uint_eq(done->size, e.items.len);
	ck_assert(memmem(e.items.ptr, e.items.len, "\"hi\"", 4) != NULL);
	release(&e);
}
END_TEST

static const struct {
	const char *bytes, *status, *finish;
} dones[] = {
	{ CALL_DONE(0, "i", "c", "f", "{}") COMPLETED, "completed",
	    "tool_calls" },
	{ CALL(0, "i", "c", "f") INCOMPLETE("max_output_tokens"), "incomplete",
	    "length" },
	{ DELTA(0, "x") INCOMPLETE("content_filter"), "incomplete",
	    "content_filter" },
	/* a function that nobody declared must be answered as well */
	{ EVENT({
		 "type" : "response.created",
		 "response" :
		     { "tools" : [ { "type" : "function", "name" : "g" } ] }
	 }) CALL_DONE(0, "i", "c", "f", "{}") COMPLETED,
	    "completed", "tool_calls" },
};

START_TEST(a_turn_that_is_done_says_how)
{
	struct ended e;

	play_end(&e, 200, dones[_i].bytes, true);
	make(&e);
	ck_assert_int_eq(e.msg.id, MSG_turn_done);
	ck_assert(slice_is(e.msg.turn_done.status, dones[_i].status));
	ck_assert(slice_is(e.msg.turn_done.finish, dones[_i].finish));
	release(&e);
}
END_TEST

#define WHERE " (provider p, http://127.0.0.1:9/v1/responses, model gpt-9"

static const struct {
	unsigned status;
	const char *bytes, *class, *message;
	bool output;
} failures[] = {
	{ 401,
	    "{\"error\":{\"message\":\"bad key " ENTRY_KEY
	    " or other-secret\",\"code\":\"invalid_api_key\"}}",
	    "auth",
	    "bad key [hidden] or [hidden]" WHERE
	    ", HTTP 401); look at the key in environment variable K1",
	    false },
	{ 404, "{\"error\":{\"message\":\"no such model\"}}", "invalid_request",
	    "no such model" WHERE
	    ", HTTP 404); look at base_url of provider p and model of default",
	    false },
	{ 400,
	    "{\"error\":{\"message\":\"not supported\",\"param\":"
	    "\"reasoning.effort\",\"type\":\"invalid_request_error\"}}",
	    "invalid_request",
	    "not supported" WHERE
	    ", HTTP 400); look at reasoning.effort in the agent's settings or "
	    "the model's entry",
	    false },
	{ 400, "{\"error\":{\"message\":\"what is this\"}}", "invalid_request",
	    "what is this" WHERE
	    ", HTTP 400); look at model of default and the agent's settings",
	    false },
	{ 429, "{\"error\":{\"message\":\"slow\",\"type\":\"requests\"}}",
	    "rate_limited", "slow" WHERE ", HTTP 429)", false },
	{ 302, "", "protocol",
	    "the endpoint redirects, which is not followed" WHERE
	    ", HTTP 302); look at base_url of provider p",
	    false },
	{ 200, CREATED DELTA(0, "x"), "cut",
	    "stream ended before response.completed" WHERE ")", true },
	{ 200, "", "cut", "stream ended before response.completed" WHERE ")",
	    false },
	{ 200, CREATED CALL(0, "i", "c", "f"), "cut",
	    "stream ended before response.completed" WHERE ")", true },
	{ 200, CREATED DELTA(0, "x") "data: {\"ty\n\n" COMPLETED, "cut",
	    "part of the stream could not be read, and its items never came "
	    "whole" WHERE ")",
	    true },
	{ 200, EVENT({ "type" : "response.cancelled" }), "server",
	    "the provider cancelled the response" WHERE ")", false },
};

START_TEST(a_failure_says_what_where_and_what_to_look_at)
{
	struct ended e;

	play_end(&e, failures[_i].status, failures[_i].bytes, true);
	make(&e);
	ck_assert_int_eq(e.msg.id, MSG_turn_failed);
	ck_assert_msg(slice_is(e.msg.turn_failed.message, failures[_i].message),
	    "%.*s", SLICE_ARGS(e.msg.turn_failed.message));
	ck_assert(slice_is(e.msg.turn_failed.class, failures[_i].class));
	ck_assert(e.msg.turn_failed.output == failures[_i].output);
	release(&e);
}
END_TEST

START_TEST(a_failure_brings_the_wait_and_what_was_paid)
{
	struct ended e;

	play_end(&e, 200, EVENT({
		"type" : "response.failed",
		"response" : {
			"error" : { "code" : "slow_down", "message" : "wait" },
			"usage" : { "input_tokens" : 9, "output_tokens" : 1 }
		}
	}),
	    true);
	e.report.wait_ms = 1250;
	make(&e);
	ck_assert_uint_eq(e.msg.turn_failed.wait_ms, 1250);
	ck_assert(slice_is(e.msg.turn_failed.code, "slow_down"));
	ck_assert(e.msg.turn_failed.usage_known);
	ck_assert_uint_eq(e.msg.turn_failed.input_tokens, 9);
	ck_assert_uint_eq(e.msg.turn_failed.output_tokens, 1);
	release(&e);
}
END_TEST

START_TEST(a_very_long_message_still_says_where)
{
	struct buf text = BUF_INIT(100000);
	struct ended e;

	buf_puts(&text, "{\"error\":{\"message\":\"");
	for (size_t i = 0; i < 3000; i++)
		buf_puts(&text, "\xE2\x82\xAC");
	buf_puts(&text, "\"}}");
	buf_putc(&text, '\0');
	play_end(&e, 404, text.ptr, true);
	make(&e);
	ck_assert_uint_le(e.msg.turn_failed.message.len, LIMIT_TEXT);
	ck_assert_ptr_nonnull(memmem(e.msg.turn_failed.message.ptr,
	    e.msg.turn_failed.message.len, "base_url of provider p", 22));
	release(&e);
	buf_release(&text);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("report");
	TCase *done = tcase_create("done");
	TCase *failed = tcase_create("failed");

	tcase_add_test(done, a_turn_that_is_done_brings_items_usage_and_times);
	tcase_add_loop_test(
	    done, a_turn_that_is_done_says_how, 0, (int)COUNT(dones));
	suite_add_tcase(s, done);
	tcase_add_loop_test(failed,
	    a_failure_says_what_where_and_what_to_look_at, 0,
	    (int)COUNT(failures));
	tcase_add_test(failed, a_failure_brings_the_wait_and_what_was_paid);
	tcase_add_test(failed, a_very_long_message_still_says_where);
	suite_add_tcase(s, failed);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
