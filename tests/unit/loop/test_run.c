/*
 * Promises of the loop: what a run does with answers, failures and losses, and
 * what its table always holds.
 */
#include "tests/unit/loop/loop_case.h"
#include "tests/unit/suite.h"

/* ---- the table ---- */

START_TEST(final_states_have_no_exit)
{
	struct run run = { .state = (enum run_state)_i };
	enum run_state next;

	if (!run_is_final(&run))
		return;
	for (int e = 0; e < RUN_EVENTS; e++)
		ck_assert(!run_table_next(run.state, (enum run_event)e, &next));
}
END_TEST

START_TEST(every_state_that_is_not_final_can_be_cancelled)
{
	struct run run = { .state = (enum run_state)_i };
	enum run_state next;

	if (run_is_final(&run))
		return;
	ck_assert(run_table_next(run.state, RUN_ON_cancel, &next));
	ck_assert_int_eq(next, RUN_cancelled);
	ck_assert(run_table_next(run.state, RUN_ON_start, &next));
}
END_TEST

START_TEST(active_states_end_at_their_deadline)
{
	static const enum run_state active[] = { RUN_model, RUN_tools,
		RUN_waiting_approval };
	enum run_state next;

	ck_assert(run_table_next(active[_i], RUN_ON_deadline, &next));
	ck_assert_int_eq(next, RUN_failed);
}
END_TEST

START_TEST(states_that_a_worker_holds_survive_its_loss)
{
	enum run_state next;

	ck_assert(run_table_next(RUN_model, RUN_ON_retry, &next));
	ck_assert(run_table_next(RUN_model, RUN_ON_again, &next));
	ck_assert(run_table_next(RUN_tools, RUN_ON_call_again, &next));
}
END_TEST

/* waiting_approval is reached by the approval rules, which bring its row. */
START_TEST(every_other_state_is_reached)
{
	bool reached[RUN_STATES] = {
		[RUN_queued] = true, [RUN_waiting_approval] = true
	};
	enum run_state next;

	for (int round = 0; round < RUN_STATES; round++) {
		for (int s = 0; s < RUN_STATES; s++) {
			for (int e = 0; reached[s] && e < RUN_EVENTS; e++) {
				if (run_table_next((enum run_state)s,
					(enum run_event)e, &next))
					reached[next] = true;
			}
		}
	}
	for (int s = 0; s < RUN_STATES; s++)
		ck_assert_msg(
		    reached[s], "%s", run_state_name((enum run_state)s));
}
END_TEST

START_TEST(names_of_states_are_read_back)
{
	enum run_state state;

	ck_assert(run_state_by_name(
	    slice_string(run_state_name((enum run_state)_i)), &state));
	ck_assert_int_eq((int)state, _i);
}
END_TEST

/* ---- answers ---- */

START_TEST(text_is_final)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_int_eq(
	    case_response(&c, "completed", "[" MESSAGE("ok") "]"), RUN_TAKEN);
	ck_assert_int_eq(c.run->state, RUN_completed);
	ck_assert(c.step.run.final);
	ck_assert_str_eq(c.step.turn_end->state, "done");
	ck_assert_uint_eq(c.step.item_count, 1);
	ck_assert_uint_eq(c.run->usage.total, 8);
	case_end(&c);
}
END_TEST

START_TEST(a_response_without_a_message_is_a_final_empty_output)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", "[]");
	ck_assert_int_eq(c.run->state, RUN_completed);
	case_end(&c);
}
END_TEST

START_TEST(text_beside_a_call_is_never_final)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(
	    &c, "completed", "[" MESSAGE("wait") "," CALL("c1", "t", "{}") "]");
	ck_assert_int_eq(c.run->state, RUN_tools);
	ck_assert_uint_eq(c.fx.start_count, 1);
	ck_assert_uint_eq(c.fx.starts[0].call, 1);
	case_end(&c);
}
END_TEST

START_TEST(a_refusal_fails_the_run_with_its_text)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed",
	    "[{\"type\":\"message\",\"content\":[{\"type\":\"refusal\","
	    "\"refusal\":\"not this\"}]}]");
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "refusal"));
	ck_assert(slice_is(c.step.run.error, "not this"));
	case_end(&c);
}
END_TEST

static const struct {
	const char *items;
	size_t calls;
} cut_rows[] = {
	{ "[" MESSAGE("half") "]", 0 },
	{ "[" CALL("c1", "t", "{}") "]", 1 },
	{ "[" CALL("c1", "t", "{}") "," CALL(
	      "c2", "unheard", "{\\\"a\\\":") "]",
	    2 },
};

START_TEST(a_call_of_an_incomplete_response_is_answered_and_never_executed)
{
	struct loop_case c;
	size_t items;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "incomplete", cut_rows[_i].items);
	ck_assert_int_eq(c.run->state, RUN_incomplete);
	ck_assert(slice_is(c.step.run.reason, "max_output_tokens"));
	ck_assert_uint_eq(c.fx.start_count, 0);
	ck_assert_uint_eq(c.step.call_count, cut_rows[_i].calls);
	items = cut_rows[_i].calls == 0 ? 1 : 2 * cut_rows[_i].calls;
	ck_assert_uint_eq(c.step.item_count, items);
	for (size_t i = 0; i < c.step.call_count; i++) {
		const struct item_row *item =
		    &c.step.items[c.step.call_count + i];

		ck_assert_str_eq(c.step.calls[i].state, "done");
		ck_assert(slice_is(c.step.calls[i].outcome, "cancelled"));
		ck_assert_int_eq(item->category, ITEM_FUNCTION_OUTPUT);
		ck_assert_uint_eq(item->idx, i + 1);
	}
	case_end(&c);
}
END_TEST

static const char *const unfit_rows[] = {
	"[1]",
	"[" CALL("", "t", "{}") "]",
	"[" MESSAGE("hi") ",{\"type\":\"function_call\",\"name\":\"t\"}]",
	"[" CALL("c1", "zzz", "{}") "," CALL("", "t", "{}") "]",
};

START_TEST(what_no_model_could_be_told_again_is_not_kept_of_a_cut_response)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "incomplete", unfit_rows[_i]);
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert_uint_eq(c.step.item_count, 0);
	case_end(&c);
}
END_TEST

/* Bytes that the run has; the last output brings 2 more. */
static const struct {
	size_t bytes;
	enum run_state state;
} long_rows[] = {
	{ LIMIT_HISTORY - 2, RUN_model },
	{ LIMIT_HISTORY - 1, RUN_failed },
};

START_TEST(a_run_too_long_for_a_request_fails_with_its_last_output)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed",
	    "[" CALL("c1", "t", "{}") "," CALL("c2", "t", "{}") "]");
	c.run->item_bytes = 2 * LIMIT_HISTORY;
	case_output(&c, 2, "ok");
	ck_assert_int_eq(c.run->state, RUN_tools);
	c.run->item_bytes = long_rows[_i].bytes;
	case_output(&c, 1, "ok");
	ck_assert_int_eq(c.run->state, long_rows[_i].state);
	ck_assert_uint_eq(c.step.item_count, 1);
	ck_assert_uint_eq(c.fx.start_count, long_rows[_i].state == RUN_model);
	if (long_rows[_i].state == RUN_failed)
		ck_assert(slice_is(c.step.run.reason, "history_limit"));
	case_end(&c);
}
END_TEST

START_TEST(a_session_too_long_for_a_request_fails_its_next_run)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.run->item_bytes = LIMIT_HISTORY + 1;
	case_start(&c);
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "history_limit"));
	ck_assert_uint_eq(c.fx.start_count, 0);
	case_end(&c);
}
END_TEST

static const struct {
	const char *items, *reason;
} invalid_rows[] = {
	{ "no json", "invalid_response" },
	{ "{}", "invalid_response" },
	{ "[1]", "invalid_response" },
	{ "[" CALL("", "t", "{}") "]", "invalid_response" },
	{ "[{\"type\":\"function_call\",\"name\":\"t\"}]", "invalid_response" },
	{ "[" CALL("c1", "t", "{}") "," CALL("c2", "zzz", "{}") "]",
	    "unknown_tool" },
};

START_TEST(a_response_that_cannot_be_followed_fails_and_executes_nothing)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed", invalid_rows[_i].items);
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, invalid_rows[_i].reason));
	ck_assert_uint_gt(c.step.run.error.len, 0);
	ck_assert_uint_eq(c.fx.start_count, 0);
	ck_assert_uint_eq(c.step.item_count, 0);
	case_end(&c);
}
END_TEST

START_TEST(an_item_is_stored_as_it_came_and_scrubbed_once)
{
	struct loop_case c;
	struct json value;
	unsigned marks;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_response(&c, "completed",
	    "[{ \"type\":\"message\" , \"n\":12345678901234567890,"
	    "\"content\":[]},{\"type\":\"message\",\"x\":\"a\\u0000b\","
	    "\"content\":[]}]");
	ck_assert(slice_is(c.step.items[0].item,
	    "{ \"type\":\"message\" , \"n\":12345678901234567890,"
	    "\"content\":[]}"));
	ck_assert_uint_eq(c.step.items[0].marks, 0);
	ck_assert_int_eq(
	    json_parse(c.step.items[1].item, &value, &marks, NULL), 0);
	ck_assert_uint_eq(marks, 0);
	ck_assert(json_is(json_get(value, "x"), "a\xef\xbf\xbd"
						"b"));
	ck_assert_uint_eq(c.step.items[1].marks, JSON_MARK_NUL);
	case_end(&c);
}
END_TEST

/* ---- attempts ---- */

static const struct {
	const char *class;
	bool output;
	uint64_t wait_ms;
	enum run_state state;
} failure_rows[] = {
	{ "rate_limited", false, 2000, RUN_model },
	{ "server", false, 0, RUN_model },
	{ "cut", false, 0, RUN_model },
	{ "cut", true, 0, RUN_failed },
	{ "timeout", true, 0, RUN_failed },
	{ "invalid_request", false, 0, RUN_failed },
	{ "auth", false, 0, RUN_failed },
	{ "quota", false, 0, RUN_failed },
	{ "unheard_of", false, 0, RUN_failed },
	{ "rate_limited", false, RUN_WAIT_MAX_MS + 1, RUN_failed },
};

START_TEST(only_a_retryable_failure_without_output_is_tried_again)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_failure(&c, failure_rows[_i].class, failure_rows[_i].output,
	    failure_rows[_i].wait_ms);
	ck_assert_int_eq(c.run->state, failure_rows[_i].state);
	ck_assert_str_eq(c.step.turn_end->state, "failed");
	ck_assert_uint_eq(c.fx.start_count, 0);
	if (failure_rows[_i].state == RUN_model) {
		ck_assert_uint_gt(c.fx.timer_ms, 0);
		if (failure_rows[_i].wait_ms > 0)
			ck_assert_uint_eq(
			    c.fx.timer_ms, failure_rows[_i].wait_ms);
	}
	case_end(&c);
}
END_TEST

START_TEST(attempts_of_a_turn_are_bounded)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	for (unsigned i = 1; i < RUN_TURN_ATTEMPTS; i++) {
		case_failure(&c, "server", false, 0);
		c.now_ms += c.fx.timer_ms;
		case_input(&c, (struct input){ .kind = INPUT_PLACE });
		ck_assert_uint_eq(c.fx.start_count, 1);
		ck_assert_uint_eq(c.fx.starts[0].attempt, i + 1);
	}
	case_failure(&c, "server", false, 0);
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "model_error"));
	case_end(&c);
}
END_TEST

START_TEST(a_cut_after_output_is_tried_again_when_the_agent_says_so)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(",\"on_cut\":\"retry\""));
	case_start(&c);
	case_failure(&c, "cut", true, 0);
	ck_assert_int_eq(c.run->state, RUN_model);
	case_end(&c);
}
END_TEST

START_TEST(a_long_wait_gives_the_run_back)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_failure(&c, "rate_limited", false, RUN_PARK_MS);
	ck_assert(c.step.run.park);
	ck_assert(c.step.run.wake);
	ck_assert_uint_eq(c.step.run.wake_ms, RUN_PARK_MS);
	ck_assert_uint_eq(c.step.run.needs.len, 0);
	case_end(&c);
}
END_TEST

START_TEST(a_lost_turn_is_tried_again_and_bounded)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	for (unsigned i = 1; i <= RUN_TURN_LOSSES; i++) {
		ck_assert_int_eq(c.run->state, RUN_model);
		case_input(&c, (struct input){ .kind = INPUT_TURN_LOST,
				   .turn = c.run->turn,
				   .attempt = c.run->attempt });
		ck_assert_str_eq(c.step.turn_end->state, "lost");
	}
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "lost"));
	case_end(&c);
}
END_TEST

START_TEST(a_start_that_never_began_spends_nothing)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	for (int i = 0; i < 20; i++) {
		case_input(&c, (struct input){ .kind = INPUT_TURN_REFUSED,
				   .turn = c.run->turn,
				   .attempt = c.run->attempt });
		ck_assert_int_eq(c.run->state, RUN_model);
		c.models = 1;
		c.now_ms += 10000;
		case_input(&c, (struct input){ .kind = INPUT_PLACE });
	}
	ck_assert_uint_eq(c.run->failures + c.run->losses, 0);
	case_end(&c);
}
END_TEST

START_TEST(without_credit_nothing_leaves_and_the_row_says_why)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.models = 0;
	case_start(&c);
	ck_assert_int_eq(c.run->state, RUN_model);
	ck_assert_uint_eq(c.fx.start_count, 0);
	ck_assert_ptr_null(c.step.turn_start);
	ck_assert(c.fx.starved);
	ck_assert(slice_is(c.step.run.waits_for, "a free worker"));
	case_input(&c, (struct input){ .kind = INPUT_PLACE });
	ck_assert(!c.fx.changed);
	c.models = 1;
	case_input(&c, (struct input){ .kind = INPUT_PLACE });
	ck_assert_uint_eq(c.fx.start_count, 1);
	case_end(&c);
}
END_TEST

START_TEST(what_nobody_here_offers_is_handed_back_with_its_need)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	c.models = 0;
	case_start(&c);
	case_input(&c, (struct input){ .kind = INPUT_HAND_BACK });
	ck_assert(c.step.run.park);
	ck_assert(slice_is(c.step.run.needs, "model:m"));
	case_end(&c);
}
END_TEST

START_TEST(a_result_of_another_attempt_is_stale)
{
	struct loop_case c;
	struct msg msg = { .id = MSG_turn_done,
		.turn_done.status = SLICE("completed") };

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	for (uint32_t turn = 0; turn < 3; turn++) {
		for (uint32_t attempt = 0; attempt < 3; attempt++) {
			struct input in = { .kind = INPUT_TURN_DONE,
				.turn = turn,
				.attempt = attempt,
				.msg = &msg,
				.body = SLICE("[]") };

			if (turn == 1 && attempt == 1)
				continue;
			ck_assert_int_eq(case_input(&c, in), RUN_STALE);
			ck_assert(!c.fx.changed);
		}
	}
	ck_assert_int_eq(c.run->state, RUN_model);
	case_end(&c);
}
END_TEST

/* ---- ends from outside ---- */

START_TEST(cancel_stops_the_turn_in_flight)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_input(&c,
	    (struct input){ .kind = INPUT_CANCEL, .text = SLICE("enough") });
	ck_assert_int_eq(c.run->state, RUN_cancelled);
	ck_assert_uint_eq(c.fx.cancel_count, 1);
	ck_assert_str_eq(c.step.turn_end->state, "cancelled");
	ck_assert(slice_is(c.step.run.error, "enough"));
	case_end(&c);
}
END_TEST

START_TEST(the_deadline_ends_an_active_run)
{
	struct loop_case c;

	case_begin(&c, CASE_AGENT(""));
	case_start(&c);
	case_input(&c, (struct input){ .kind = INPUT_DEADLINE });
	ck_assert_int_eq(c.run->state, RUN_failed);
	ck_assert(slice_is(c.step.run.reason, "deadline"));
	case_end(&c);
}
END_TEST

static void
add_answers(Suite *suite)
{
	TCase *answers = tcase_create("answers");
	TCase *attempts = tcase_create("attempts");

	tcase_add_test(answers, text_is_final);
	tcase_add_test(
	    answers, a_response_without_a_message_is_a_final_empty_output);
	tcase_add_test(answers, text_beside_a_call_is_never_final);
	tcase_add_test(answers, a_refusal_fails_the_run_with_its_text);
	tcase_add_loop_test(answers,
	    a_call_of_an_incomplete_response_is_answered_and_never_executed, 0,
	    COUNT(cut_rows));
	tcase_add_loop_test(answers,
	    what_no_model_could_be_told_again_is_not_kept_of_a_cut_response, 0,
	    COUNT(unfit_rows));
	tcase_add_loop_test(answers,
	    a_run_too_long_for_a_request_fails_with_its_last_output, 0,
	    COUNT(long_rows));
	tcase_add_test(
	    answers, a_session_too_long_for_a_request_fails_its_next_run);
	tcase_add_loop_test(answers,
	    a_response_that_cannot_be_followed_fails_and_executes_nothing, 0,
	    COUNT(invalid_rows));
	tcase_add_test(answers, an_item_is_stored_as_it_came_and_scrubbed_once);
	tcase_add_loop_test(attempts,
	    only_a_retryable_failure_without_output_is_tried_again, 0,
	    COUNT(failure_rows));
	tcase_add_test(attempts, attempts_of_a_turn_are_bounded);
	tcase_add_test(
	    attempts, a_cut_after_output_is_tried_again_when_the_agent_says_so);
	tcase_add_test(attempts, a_long_wait_gives_the_run_back);
	tcase_add_test(attempts, a_lost_turn_is_tried_again_and_bounded);
	tcase_add_test(attempts, a_start_that_never_began_spends_nothing);
	tcase_add_test(
	    attempts, without_credit_nothing_leaves_and_the_row_says_why);
	tcase_add_test(
	    attempts, what_nobody_here_offers_is_handed_back_with_its_need);
	tcase_add_test(attempts, a_result_of_another_attempt_is_stale);
	tcase_add_test(attempts, cancel_stops_the_turn_in_flight);
	tcase_add_test(attempts, the_deadline_ends_an_active_run);
	suite_add_tcase(suite, answers);
	suite_add_tcase(suite, attempts);
}

int
main(void)
{
	Suite *suite = suite_create("loop/run");
	TCase *table = tcase_create("table");

	tcase_add_loop_test(table, final_states_have_no_exit, 0, RUN_STATES);
	tcase_add_loop_test(table,
	    every_state_that_is_not_final_can_be_cancelled, 0, RUN_STATES);
	tcase_add_loop_test(table, active_states_end_at_their_deadline, 0, 3);
	tcase_add_test(table, states_that_a_worker_holds_survive_its_loss);
	tcase_add_test(table, every_other_state_is_reached);
	tcase_add_loop_test(
	    table, names_of_states_are_read_back, 0, RUN_STATES);
	suite_add_tcase(suite, table);
	add_answers(suite);
	return run_suite(suite);
}
