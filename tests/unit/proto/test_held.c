/*
 * workers/held.c and the end of a worker: results outlive sessions, nothing is
 * lost by a drain (rules W2 to W4 of the commit protocol).
 */
#include "tests/unit/proto/worker_side.h"

/* ---- W4: results ---- */

START_TEST(a_result_names_its_attempt_and_size)
{
	struct attempt a = call_attempt(5);
	const struct heard *done;

	start(5);
	finish(&a, "r", 10);
	done = hear(MSG_tool_done, 1);
	ck_assert_uint_eq(done->attempt, 5);
	ck_assert_uint_eq(done->size, 10);
	ck_assert_str_eq(done->body, "rrrrrrrrrr");
	ck_assert_str_eq(done->text, "ok");
}
END_TEST

/* Seconds after the first sending, in pauses that double up to half a minute.
 */
static const uint64_t repeats_s[] = { 3, 9, 21, 45, 75, 105 };

START_TEST(a_result_is_repeated_until_it_is_acked)
{
	struct attempt a = call_attempt(1);
	size_t heard = 1;

	start(1);
	finish(&a, "r", 3);
	hear(MSG_tool_done, 1);
	for (uint64_t s = 1; s <= 110; s++) {
		move_clock(1000);
		hear(MSG_heartbeat, count_of(MSG_heartbeat) + 1);
		sync_worker();
		if (heard <= COUNT(repeats_s) && repeats_s[heard - 1] == s)
			heard++;
		ck_assert_uint_eq(count_of(MSG_tool_done), heard);
	}
	ck_assert_str_eq(hear(MSG_tool_done, heard)->body, "rrr");
	ack(1);
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
	for (size_t i = 0; i < 60; i++) {
		move_clock(1000);
		hear(MSG_heartbeat, count_of(MSG_heartbeat) + 1);
	}
	ck_assert_uint_eq(count_of(MSG_tool_done), heard);
}
END_TEST

/* Every hello says how many slots are free: nothing is counted twice. */
START_TEST(slots_freed_between_sessions_are_told_once)
{
	struct attempt a = call_attempt(1);

	start(1);
	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	ck_assert_uint_eq(hear(MSG_hello, 2)->credit, SLOTS - 1);
	finish(&a, "o", 1);
	sync_worker();
	sup.welcome = true;
	move_clock(4000);
	ck_assert_uint_eq(hear(MSG_hello, 3)->credit, SLOTS);
	wait_for(is_connected);
	sync_worker();
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_new_session_must_take_a_large_body_anew)
{
	struct attempt a = call_attempt(1);

	start(1);
	finish(&a, "b", LIMIT_BODY_HELD + 1);
	send_about(MSG_take, &a);
	ck_assert_uint_gt(hear(MSG_tool_done, 2)->body_len, 0);
	move_clock(LEASE_WORKER_MS);
	ck_assert_uint_eq(hear(MSG_tool_done, 3)->body_len, 0);
}
END_TEST

/* 8 MiB at once, and no more before the next tenth of a second. */
START_TEST(many_results_are_offered_in_bursts)
{
	slots = 64;
	open_supervisor();
	open_worker(0);
	wait_for(is_connected);
	for (uint64_t i = 1; i <= 40; i++)
		start(i);
	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	for (uint64_t i = 1; i <= 40; i++) {
		struct attempt a = call_attempt(i);

		finish(&a, "m", LIMIT_BODY_HELD);
	}
	sup.welcome = true;
	move_clock(4000);
	hear(MSG_tool_done, 32);
	sync_worker();
	ck_assert_uint_eq(count_of(MSG_tool_done), 32);
	move_clock(100);
	hear(MSG_tool_done, 40);
}
END_TEST

START_TEST(a_result_survives_its_session)
{
	struct attempt a = call_attempt(1);
	const struct heard *hello;

	start(1);
	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	finish(&a, "s", 2);
	sync_worker();
	ck_assert_uint_eq(count_of(MSG_tool_done), 0);
	sup.welcome = true;
	move_clock(4000);
	hello = hear(MSG_hello, 3);
	ck_assert_uint_eq(hello->credit, SLOTS);
	ck_assert_ptr_nonnull(strstr(hello->body,
	    "{\"run\":\"07070707-0707-0707-0707-070707070707\",\"turn\":2,"
	    "\"call\":3,\"attempt\":1,\"finished\":true}"));
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body, "ss");
}
END_TEST

START_TEST(a_running_attempt_is_listed_and_kept)
{
	struct attempt a = call_attempt(1);

	start(1);
	move_clock(LEASE_WORKER_MS);
	ck_assert_str_eq(hear(MSG_hello, 2)->body,
	    "{\"labels\":{},\"in_flight\":[{\"run\":"
	    "\"07070707-0707-0707-0707-070707070707\",\"turn\":2,\"call\":3,"
	    "\"attempt\":1,\"finished\":false}]}");
	wait_for(is_connected);
	finish(&a, "k", 1);
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body, "k");
	ck_assert_uint_eq(work.cancels, 0);
}
END_TEST

START_TEST(a_large_body_waits_for_take)
{
	struct attempt a = call_attempt(1);
	const struct heard *done;

	start(1);
	finish(&a, "b", LIMIT_BODY_HELD + (size_t)_i);
	done = hear(MSG_tool_done, 1);
	ck_assert_uint_eq(done->size, LIMIT_BODY_HELD + (size_t)_i);
	ck_assert_uint_eq(done->body_len, _i == 0 ? LIMIT_BODY_HELD : 0);
	send_about(MSG_take, &a);
	done = hear(MSG_tool_done, 2);
	ck_assert_uint_eq(done->body_len, LIMIT_BODY_HELD + (size_t)_i);
	ck_assert_int_eq(done->body[LIMIT_BODY_HELD - 1], 'b');
	ack(1);
	hear(MSG_credit, 1);
}
END_TEST

/* A slow commit must leave no slot idle. */
START_TEST(a_slot_is_free_when_its_attempt_has_ended)
{
	struct attempt a = call_attempt(1);

	for (uint64_t i = 1; i <= SLOTS; i++)
		start(i);
	finish(&a, "x", 1);
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
	start(SLOTS + 1);
	ck_assert_uint_eq(count_of(MSG_refused), 0);
}
END_TEST

START_TEST(as_many_results_as_slots_may_wait_beside_what_runs)
{
	uint64_t credit = 0;

	for (uint64_t i = 1; i <= 2 * SLOTS; i++) {
		struct attempt a = call_attempt(i);

		start(i);
		finish(&a, "x", 1);
		hear(MSG_tool_done, i);
	}
	sync_worker();
	for (size_t i = 0; i < sup.count; i++)
		credit +=
		    sup.heard[i].id == MSG_credit ? sup.heard[i].credit : 0;
	ck_assert_uint_eq(SLOTS + credit, 2 * SLOTS);
	ack(1);
	sync_worker();
	ck_assert_uint_eq(hear(MSG_credit, count_of(MSG_credit))->credit, 1);
}
END_TEST

START_TEST(an_ack_of_the_unknown_is_ignored)
{
	ack(77);
	start(1);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(an_ack_of_what_runs_cancels_it_and_drops_its_result)
{
	struct attempt a = call_attempt(1);

	start(1);
	ack(1);
	start(2);
	ck_assert_uint_eq(work.cancels, 1);
	finish(&a, "u", 1);
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
	ck_assert_uint_eq(count_of(MSG_tool_done), 0);
}
END_TEST

START_TEST(credit_of_one_pass_is_one_message)
{
	for (uint64_t i = 1; i <= SLOTS; i++)
		start(i);
	for (uint64_t i = 1; i <= SLOTS; i++) {
		struct attempt a = call_attempt(i);

		finish(&a, "m", 1);
	}
	hear(MSG_tool_done, SLOTS);
	for (uint64_t i = 1; i <= SLOTS; i++)
		ack(i);
	hear(MSG_credit, 1);
	sync_worker();
	want_count = 0;
	for (size_t i = 0; i < sup.count; i++)
		if (sup.heard[i].id == MSG_credit)
			want_count += sup.heard[i].credit;
	ck_assert_uint_eq(want_count, SLOTS);
}
END_TEST

START_TEST(a_result_over_its_limits_becomes_a_failure)
{
	struct attempt tool = call_attempt(1), turn = turn_attempt(1);
	struct msg msg = { .id = MSG_turn_start };

	start(1);
	finish(&tool, "o", (size_t)LIMIT_BODY + 1);
	ck_assert_str_eq(hear(MSG_tool_done, 1)->text, "output_limit");
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body,
	    "the result has 67108865 bytes, allowed are at most 67108864");
	msg.turn_start.session = 1;
	msg.turn_start.run = turn.run;
	msg.turn_start.turn = turn.turn;
	msg.turn_start.attempt = 1;
	want_starts = 2;
	answer(&msg);
	wait_for(has_started);
	msg = (struct msg){ .id = MSG_turn_done };
	msg.turn_done.status = SLICE("not UTF-8: \xff");
	worker_done(worker, &turn, &msg, NULL);
	ck_assert_str_eq(hear(MSG_turn_failed, 1)->text, "protocol");
}
END_TEST

/* ---- the end ---- */

static void
send_drain(void)
{
	struct msg msg = { .id = MSG_drain };

	answer(&msg);
}

START_TEST(a_drained_worker_says_bye)
{
	send_drain();
	wait_for(is_drained);
	ck_assert_str_eq(hear(MSG_bye, 1)->text, "drained");
	ck_assert_uint_eq(work.drained, 1);
}
END_TEST

START_TEST(a_drain_waits_for_what_runs_and_for_acks)
{
	struct attempt a = call_attempt(1);

	start(1);
	worker_drain(worker);
	ck_assert_uint_eq(hear(MSG_hello, 2)->credit, 0);
	wait_for(is_connected);
	sync_worker();
	ck_assert_uint_eq(work.drained, 0);
	finish(&a, "d", 1);
	hear(MSG_tool_done, 1);
	sync_worker();
	ck_assert_uint_eq(work.drained, 0);
	ack(1);
	wait_for(is_drained);
	hear(MSG_bye, 1);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_draining_worker_refuses_starts)
{
	struct msg old = tool_start(1, 2), new = tool_start(2, 3);

	start(1);
	worker_drain(worker);
	hear(MSG_hello, 2);
	wait_for(is_connected);
	answer(&old);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	answer(&new);
	ck_assert_str_eq(hear(MSG_refused, 2)->text, "draining");
	ck_assert_uint_eq(work.starts, 1);
}
END_TEST

/* Its start was on the way when the drain began: it must not be lost. */
START_TEST(a_start_that_crosses_the_drain_is_refused)
{
	struct msg msg = tool_start(1, 1);

	answer(&msg);
	worker_drain(worker);
	wait_for(is_drained);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	hear(MSG_bye, 1);
}
END_TEST

START_TEST(a_drain_without_supervisor_ends_by_itself)
{
	open_worker(0);
	worker_drain(worker);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	move_clock(2000);
	wait_for(is_drained);
}
END_TEST

START_TEST(a_drain_gives_up_results_that_nobody_acks)
{
	struct attempt a = call_attempt(1);

	start(1);
	finish(&a, "g", 1);
	sup.link = link_free(sup.link, 0);
	wait_for(is_not_connected);
	worker_drain(worker);
	move_clock(9999);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	move_clock(1);
	wait_for(is_drained);
}
END_TEST

START_TEST(an_orphan_ends_when_nothing_runs_any_more)
{
	struct attempt a = call_attempt(1);

	open_supervisor();
	open_worker(60000);
	wait_for(is_connected);
	start(1);
	sup.link = link_free(sup.link, 0);
	wait_for(is_not_connected);
	move_clock(59999);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	move_clock(1);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	finish(&a, "o", 1);
	wait_for(is_drained);
}
END_TEST

START_TEST(a_worker_without_orphan_limit_waits_for_ever)
{
	open_worker(0);
	move_clock(1000u * 3600 * 24);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("held");
	TCase *results =
	    add_case(s, "a result is kept until its ack", set_up_connected);
	TCase *end = add_case(s, "a drain loses nothing", set_up_connected);
	TCase *alone = add_case(s, "alone, a worker ends in time", set_up);

	tcase_add_test(results, a_result_names_its_attempt_and_size);
	tcase_add_test(results, a_result_is_repeated_until_it_is_acked);
	tcase_add_test(results, slots_freed_between_sessions_are_told_once);
	tcase_add_test(results, a_new_session_must_take_a_large_body_anew);
	tcase_add_test(alone, many_results_are_offered_in_bursts);
	tcase_add_test(results, a_result_survives_its_session);
	tcase_add_test(results, a_running_attempt_is_listed_and_kept);
	tcase_add_loop_test(results, a_large_body_waits_for_take, 0, 2);
	tcase_add_test(results, a_slot_is_free_when_its_attempt_has_ended);
	tcase_add_test(
	    results, as_many_results_as_slots_may_wait_beside_what_runs);
	tcase_add_test(results, an_ack_of_the_unknown_is_ignored);
	tcase_add_test(
	    results, an_ack_of_what_runs_cancels_it_and_drops_its_result);
	tcase_add_test(results, credit_of_one_pass_is_one_message);
	tcase_add_test(results, a_result_over_its_limits_becomes_a_failure);
	tcase_add_test(end, a_drained_worker_says_bye);
	tcase_add_test(end, a_drain_waits_for_what_runs_and_for_acks);
	tcase_add_test(end, a_draining_worker_refuses_starts);
	tcase_add_test(end, a_start_that_crosses_the_drain_is_refused);
	tcase_add_test(end, a_drain_gives_up_results_that_nobody_acks);
	tcase_add_test(alone, a_drain_without_supervisor_ends_by_itself);
	tcase_add_test(alone, an_orphan_ends_when_nothing_runs_any_more);
	tcase_add_test(alone, a_worker_without_orphan_limit_waits_for_ever);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
