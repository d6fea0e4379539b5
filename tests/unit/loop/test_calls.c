/*
 * Promises about tool calls: each is answered exactly once, outputs stand in
 * call order, nothing is dispatched that cannot be, losses are told.
 */
#include "tests/unit/loop/loop_case.h"
#include "tests/unit/suite.h"

static void
case_request(const struct loop_case *c, struct buf *out)
{
	buf_clear(out);
	run_request(c->run, SLICE("[]"), out);
}

static const char three[] = "[" CALL("c1", "t", "{}") "," CALL(
    "c2", "u", "{\\\"id\\\":2512292042121000001}") "," CALL("c3", "v", "") "]";

static const uint32_t orders[][3] = {
	{ 1, 2, 3 },
	{ 1, 3, 2 },
	{ 2, 1, 3 },
	{ 2, 3, 1 },
	{ 3, 1, 2 },
	{ 3, 2, 1 },
};

START_TEST(outputs_stand_in_call_order_whatever_comes_first)
{
	static const char *const texts[] = { NULL, "one", "two", "three" };
	struct buf request = BUF_INIT(65536);
	struct loop_case c;
	const char *at = NULL;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", three);
	ck_assert_uint_eq(c.fx.start_count, 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(c.run->state, RUN_tools);
		ck_assert_int_eq(
		    case_output(&c, orders[_i][i], texts[orders[_i][i]]),
		    RUN_TAKEN);
	}
	ck_assert_int_eq(c.run->state, RUN_model);
	ck_assert_uint_eq(c.run->turn, 2);
	case_request(&c, &request);
	buf_putc(&request, '\0');
	at = request.ptr;
	for (int i = 1; i <= 3; i++) {
		at = strstr(at, texts[i]);
		ck_assert_ptr_nonnull(at);
	}
	buf_release(&request);
	case_end(&c);
}
END_TEST

START_TEST(the_request_holds_every_item_byte_for_byte)
{
	struct buf request = BUF_INIT(65536);
	struct loop_case c;

	case_begin(&c, CASE_AGENT(",\"settings\":{\"temperature\":0.10}"));
	case_start(&c);
	case_response(&c, "completed", three);
	for (uint32_t i = 1; i <= 3; i++)
		case_output(&c, i, "x");
	case_request(&c, &request);
	ck_assert(slice_is(buf_slice(&request),
	    "{\"instructions\":\"be kind\",\"tools\":[],"
	    "\"settings\":{\"temperature\":0.10},\"input\":["
	    "{\"type\":\"message\",\"role\":\"user\",\"content\":\"hi\"}," CALL(
		"c1", "t", "{}") "," CALL("c2", "u",
		"{\\\"id\\\":2512292042121000001}") "," CALL("c3", "v",
		"") ","
		    "{\"type\":\"function_call_output\",\"call_id\":\"c1\","
		    "\"output\":\"x\"},"
		    "{\"type\":\"function_call_output\",\"call_id\":\"c2\","
		    "\"output\":\"x\"},"
		    "{\"type\":\"function_call_output\",\"call_id\":\"c3\","
		    "\"output\":\"x\"}]}"));
	buf_release(&request);
	case_end(&c);
}
END_TEST

START_TEST(arguments_reach_the_tool_with_their_digits)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", three);
	ck_assert(slice_is(run_find_call(c.run, 2)->arguments,
	    "{\"id\":2512292042121000001}"));
	ck_assert_uint_eq(run_find_call(c.run, 3)->arguments.len, 0);
	case_end(&c);
}
END_TEST

static const char *const bad_arguments[] = { "{", "[]", "1", "nope",
	"{\\\"a\\\":1} x" };

START_TEST(bad_arguments_are_answered_without_running_anything)
{
	struct loop_case c;
	struct buf items = BUF_INIT(4096);

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	buf_printf(&items,
	    "[{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"t\","
	    "\"arguments\":\"%s\"}]",
	    bad_arguments[_i]);
	buf_putc(&items, '\0');
	case_response(&c, "completed", items.ptr);
	/* Answered and asked again in one step. */
	ck_assert_int_eq(c.run->state, RUN_model);
	ck_assert_uint_eq(c.run->turn, 2);
	ck_assert_uint_eq(c.step.call_count, 1);
	ck_assert_str_eq(c.step.calls[0].state, "done");
	ck_assert(slice_is(c.step.calls[0].outcome, "rejected"));
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_uint_eq(c.fx.starts[0].call, 0);
	buf_release(&items);
	case_end(&c);
}
END_TEST

START_TEST(an_unknown_tool_is_told_when_the_agent_says_so)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(",\"unknown_tool\":\"tell\""));
	case_start(&c);
	case_response(&c, "completed",
	    "[" CALL("c1", "nope", "{}") "," CALL("c2", "t", "{}") "]");
	ck_assert_int_eq(c.run->state, RUN_tools);
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_uint_eq(c.fx.starts[0].call, 2);
	ck_assert(slice_is(c.step.calls[0].outcome, "unknown_tool"));
	case_output(&c, 2, "fine");
	ck_assert_int_eq(c.run->state, RUN_model);
	case_end(&c);
}
END_TEST

START_TEST(a_limit_of_n_turns_permits_n_model_calls)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(",\"max_turns\":2"));
	case_start(&c);
	case_response(&c, "completed", "[" CALL("c1", "t", "{}") "]");
	case_output(&c, 1, "x");
	ck_assert_uint_eq(c.run->turn, 2);
	case_response(&c, "completed", "[" CALL("c2", "t", "{}") "]");
	ck_assert_int_eq(c.run->state, RUN_tools);
	case_output(&c, 1, "y");
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "max_turns"));
	ck_assert_uint_eq(c.step.item_count, 1); /* the output is kept */
	case_end(&c);
}
END_TEST

START_TEST(cancel_answers_every_open_call_and_keeps_what_came)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.tools = 2;
	case_start(&c);
	case_response(&c, "completed", three);
	ck_assert_uint_eq(c.fx.start_count, 2);
	case_output(&c, 1, "kept");
	case_input(&c, (struct input){ .kind = INPUT_CANCEL });
	ck_assert_int_eq(c.run->state, RUN_cancelled);
	ck_assert_uint_eq(c.fx.cancel_count, 1);
	ck_assert_uint_eq(c.step.item_count, 2);
	ck_assert_uint_eq(c.step.call_count, 2);
	for (size_t i = 0; i < 2; i++)
		ck_assert(slice_is(c.step.calls[i].outcome, "cancelled"));
	case_end(&c);
}
END_TEST

static enum run_answer
lose(struct loop_case *c, enum input_kind kind)
{
	return case_input(
	    c, (struct input){ .kind = kind,
		   .turn = c->run->turn,
		   .call = 1,
		   .attempt = run_find_call(c->run, 1)->attempt });
}

START_TEST(a_lost_call_is_told_unless_it_is_idempotent)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.idempotent = _i == 1;
	case_start(&c);
	case_response(&c, "completed", "[" CALL("c1", "t", "{}") "]");
	lose(&c, INPUT_TOOL_LOST);
	if (_i == 0) {
		ck_assert_int_eq(c.run->state, RUN_model);
		ck_assert(slice_is(c.step.calls[0].outcome, "lost"));
	} else {
		ck_assert_int_eq(c.run->state, RUN_tools);
		ck_assert_uint_eq(c.fx.start_count, 1);
		ck_assert_uint_eq(c.fx.starts[0].attempt, 2);
	}
	case_end(&c);
}
END_TEST

START_TEST(an_idempotent_call_is_not_lost_for_ever)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.idempotent = true;
	case_start(&c);
	case_response(&c, "completed", "[" CALL("c1", "t", "{}") "]");
	for (unsigned i = 1; i <= RUN_CALL_ATTEMPTS; i++) {
		ck_assert_int_eq(c.run->state, RUN_tools);
		lose(&c, INPUT_TOOL_LOST);
	}
	ck_assert_int_eq(c.run->state, RUN_model);
	case_end(&c);
}
END_TEST

START_TEST(an_unknown_outcome_fails_the_run_when_the_agent_says_so)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(",\"on_unknown_outcome\":\"fail\""));
	case_start(&c);
	case_response(&c, "completed", three);
	lose(&c, INPUT_TOOL_LOST);
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "unknown_outcome"));
	ck_assert_uint_eq(c.fx.cancel_count, 2);
	ck_assert_uint_eq(c.step.item_count, 3);
	case_end(&c);
}
END_TEST

START_TEST(a_refused_call_is_placed_again)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", "[" CALL("c1", "t", "{}") "]");
	lose(&c, INPUT_TOOL_REFUSED);
	ck_assert_int_eq(c.run->state, RUN_tools);
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_uint_eq(c.step.call_count, 1);
	ck_assert_str_eq(c.step.calls[0].state, "dispatched");
	c.tools = 0;
	lose(&c, INPUT_TOOL_REFUSED);
	ck_assert_uint_eq(c.fx.start_count, 0);
	ck_assert_str_eq(c.step.calls[0].state, "queued");
	ck_assert_uint_gt(c.fx.timer_ms, 0);
	case_end(&c);
}
END_TEST

START_TEST(without_a_free_place_a_call_stays_queued)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.tools = 1;
	case_start(&c);
	case_response(&c, "completed", three);
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_str_eq(c.step.calls[1].state, "queued");
	ck_assert_uint_eq(c.step.calls[1].attempt, 0);
	c.tools = 1;
	case_output(&c, 1, "x");
	/* The place that came free goes to the next call in the same step. */
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_uint_eq(c.fx.starts[0].call, 2);
	case_end(&c);
}
END_TEST

START_TEST(the_same_result_twice_is_stale)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", three);
	ck_assert_int_eq(case_output(&c, 1, "x"), RUN_TAKEN);
	ck_assert_int_eq(case_output(&c, 1, "x"), RUN_STALE);
	ck_assert_int_eq(case_output(&c, 9, "x"), RUN_STALE);
	case_end(&c);
}
END_TEST

START_TEST(calls_with_one_id_are_answered_each)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed",
	    "[" CALL("t:0", "t", "{}") "," CALL("t:0", "u", "{}") "]");
	ck_assert_uint_eq(c.fx.start_count, 2);
	case_output(&c, 1, "x");
	case_output(&c, 2, "y");
	ck_assert_int_eq(c.run->state, RUN_model);
	ck_assert_uint_eq(c.run->item_count, 5);
	case_end(&c);
}
END_TEST

START_TEST(bad_bytes_of_an_output_are_scrubbed)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", "[" CALL("c1", "t", "{}") "]");
	case_output(&c, 1,
	    "ok\xf0\xe4"
	    "end");
	ck_assert(slice_is(c.step.items[0].item,
	    "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":"
	    "\"ok\xef\xbf\xbd\xef\xbf\xbd"
	    "end\"}"));
	case_end(&c);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("loop/calls");
	TCase *calls = tcase_create("calls");

	tcase_add_loop_test(calls,
	    outputs_stand_in_call_order_whatever_comes_first, 0, COUNT(orders));
	tcase_add_test(calls, the_request_holds_every_item_byte_for_byte);
	tcase_add_test(calls, arguments_reach_the_tool_with_their_digits);
	tcase_add_loop_test(calls,
	    bad_arguments_are_answered_without_running_anything, 0,
	    COUNT(bad_arguments));
	tcase_add_test(calls, an_unknown_tool_is_told_when_the_agent_says_so);
	tcase_add_test(calls, a_limit_of_n_turns_permits_n_model_calls);
	tcase_add_test(
	    calls, cancel_answers_every_open_call_and_keeps_what_came);
	tcase_add_loop_test(
	    calls, a_lost_call_is_told_unless_it_is_idempotent, 0, 2);
	tcase_add_test(calls, an_idempotent_call_is_not_lost_for_ever);
	tcase_add_test(
	    calls, an_unknown_outcome_fails_the_run_when_the_agent_says_so);
	tcase_add_test(calls, a_refused_call_is_placed_again);
	tcase_add_test(calls, without_a_free_place_a_call_stays_queued);
	tcase_add_test(calls, the_same_result_twice_is_stale);
	tcase_add_test(calls, calls_with_one_id_are_answered_each);
	tcase_add_test(calls, bad_bytes_of_an_output_are_scrubbed);
	suite_add_tcase(suite, calls);
	return run_suite(suite);
}
