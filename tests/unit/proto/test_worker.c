/*
 * workers/worker.c: sessions, starts, cancels and watches. Expected behaviour
 * is written from the commit protocol (rules W1, W4 and W6).
 */
#include "tests/unit/proto/worker_side.h"

/* ---- W1: sessions ---- */

START_TEST(hello_says_who_it_is_and_what_it_takes)
{
	const struct heard *hello = hear(MSG_hello, 1);

	ck_assert_str_eq(hello->text, "tester");
	ck_assert_uint_eq(hello->session, 1);
	ck_assert_uint_eq(hello->credit, SLOTS);
	ck_assert_uint_eq(hello->slots, SLOTS);
	ck_assert_str_eq(hello->body, "{\"labels\":{},\"in_flight\":[]}");
	ck_assert(!uuid_is_zero(&sup.process));
}
END_TEST

START_TEST(heartbeats_go_out_every_second)
{
	size_t before = count_of(MSG_heartbeat);

	for (size_t i = 1; i <= 20; i++) {
		move_clock(HEARTBEAT_MS);
		ck_assert_uint_eq(
		    hear(MSG_heartbeat, before + i)->sent_ms, now);
	}
	ck_assert(worker_is_connected(worker));
	ck_assert_uint_eq(count_of(MSG_hello), 1);
}
END_TEST

START_TEST(a_session_without_echo_lapses)
{
	sup.echo = sup.welcome = false;
	for (uint64_t ms = 1000; ms < LEASE_WORKER_MS; ms += 1000) {
		move_clock(1000);
		sync_worker();
		ck_assert(worker_is_connected(worker));
	}
	move_clock(1000);
	wait_for(is_not_connected);
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
}
END_TEST

/* The echo comes late: what counts is when the heartbeat had left. */
START_TEST(a_late_echo_does_not_stretch_the_lease)
{
	struct msg beat = { .id = MSG_heartbeat };

	sup.echo = sup.welcome = false;
	move_clock(1000);
	beat.heartbeat.session = 1;
	beat.heartbeat.sent_ms = hear(MSG_heartbeat, 1)->sent_ms;
	move_clock(3000);
	answer(&beat);
	sync_worker();
	move_clock(1999);
	sync_worker();
	ck_assert(worker_is_connected(worker));
	move_clock(1);
	wait_for(is_not_connected);
}
END_TEST

/* offset from what was really sent; session from the real one */
static const struct {
	int64_t offset;
	uint64_t session;
} wrong_echoes[] = { { 100000, 1 }, { 0, 2 }, { 0, 0 } };

START_TEST(an_echo_of_what_was_never_sent_is_ignored)
{
	struct msg beat = { .id = MSG_heartbeat };

	sup.echo = sup.welcome = false;
	move_clock(1000);
	hear(MSG_heartbeat, 1);
	beat.heartbeat.session = wrong_echoes[_i].session;
	beat.heartbeat.sent_ms = now + (uint64_t)wrong_echoes[_i].offset;
	answer(&beat);
	sync_worker();
	move_clock(3999);
	sync_worker();
	ck_assert(worker_is_connected(worker));
	move_clock(1);
	wait_for(is_not_connected);
}
END_TEST

START_TEST(a_process_that_stood_still_opens_a_new_session)
{
	move_clock(LEASE_WORKER_MS);
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
	wait_for(is_connected);
}
END_TEST

/* The second start waited in the socket while the first was handled for long.
 */
START_TEST(a_start_from_before_standing_still_is_stale)
{
	struct msg first = tool_start(1, 1), second = tool_start(1, 2);

	work.slow_ms = LEASE_WORKER_MS;
	answer(&first);
	answer(&second);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	ck_assert_uint_eq(work.starts, 1);
}
END_TEST

START_TEST(a_shorter_lease_is_obeyed)
{
	sup.lease_ms = 3000;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	wait_for(is_connected);
	sup.echo = sup.welcome = false;
	move_clock(2999);
	sync_worker();
	ck_assert(worker_is_connected(worker));
	move_clock(1);
	wait_for(is_not_connected);
}
END_TEST

START_TEST(a_longer_lease_is_not_believed)
{
	sup.lease_ms = 60000;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	wait_for(is_connected);
	sup.echo = sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	wait_for(is_not_connected);
}
END_TEST

START_TEST(hello_is_repeated_with_a_higher_number)
{
	sup.welcome = false;
	open_supervisor();
	open_worker(0);
	hear(MSG_hello, 1);
	for (uint64_t i = 2; i < 10; i++) {
		move_clock(4000);
		ck_assert_uint_eq(hear(MSG_hello, i)->session, i);
	}
	ck_assert(!worker_is_connected(worker));
}
END_TEST

START_TEST(an_old_welcome_opens_nothing)
{
	sup.welcome = false;
	open_supervisor();
	open_worker(0);
	hear(MSG_hello, 1);
	move_clock(1000);
	hear(MSG_hello, 2);
	send_welcome(1);
	sync_worker();
	ck_assert(!worker_is_connected(worker));
	send_welcome(2);
	wait_for(is_connected);
}
END_TEST

START_TEST(a_supervisor_that_says_bye_is_greeted_again)
{
	struct msg bye = { .id = MSG_bye };

	answer(&bye);
	wait_for(is_not_connected);
	move_clock(1000);
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
	wait_for(is_connected);
}
END_TEST

START_TEST(a_restarted_supervisor_is_greeted_without_waiting_for_the_lease)
{
	sup.link = link_free(sup.link, 0);
	wait_for(is_not_connected);
	open_supervisor();
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
	wait_for(is_connected);
}
END_TEST

/* ---- starts ---- */

START_TEST(a_start_reaches_the_work)
{
	struct attempt a = call_attempt(1);

	start(1);
	ck_assert_int_eq(memcmp(&work.last, &a, sizeof(a)), 0);
	ck_assert_str_eq(work.body, "{\"x\":1}");
}
END_TEST

START_TEST(a_turn_start_reaches_the_work)
{
	struct attempt a = turn_attempt(1);
	struct msg msg = { .id = MSG_turn_start };

	msg.turn_start.session = 1;
	msg.turn_start.run = a.run;
	msg.turn_start.turn = a.turn;
	msg.turn_start.attempt = a.attempt;
	msg.turn_start.model = SLICE("small");
	want_starts = 1;
	answer(&msg);
	wait_for(has_started);
	ck_assert_int_eq(memcmp(&work.last, &a, sizeof(a)), 0);
	ck_assert_str_eq(work.model, "small");
}
END_TEST

START_TEST(a_start_of_another_session_is_stale)
{
	struct msg msg = tool_start((uint64_t)_i * 2, 1);

	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	ck_assert_uint_eq(sup.heard[sup.count - 1].attempt, 1);
	ck_assert_uint_eq(work.starts, 0);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_start_without_session_is_stale)
{
	struct msg msg = tool_start(1, 1);

	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	msg = tool_start(2, 1);
	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 2)->text, "stale");
	ck_assert_uint_eq(work.starts, 0);
}
END_TEST

/* Refusing it would say that it never began. */
START_TEST(a_start_of_what_is_held_is_ignored)
{
	struct msg stale = tool_start(99, 1), again = tool_start(1, 1);

	start(1);
	answer(&stale);
	answer(&again);
	start(2);
	ck_assert_uint_eq(work.starts, 2);
	ck_assert_uint_eq(count_of(MSG_refused), 0);
}
END_TEST

START_TEST(a_start_beyond_the_slots_is_refused)
{
	struct msg msg = tool_start(1, SLOTS + 1);

	for (uint64_t i = 1; i <= SLOTS; i++)
		start(i);
	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "no credit");
	ck_assert_uint_eq(work.starts, SLOTS);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_refused_start_gives_its_credit_back)
{
	work.refuse = true;
	start(1);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "unknown tool");
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
}
END_TEST

START_TEST(a_start_may_end_at_once)
{
	work.finish = true;
	start(1);
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body, "f");
}
END_TEST

/* ---- cancels and watches ---- */

START_TEST(a_cancelled_attempt_still_reports)
{
	struct attempt a = call_attempt(1);

	start(1);
	send_about(MSG_cancel, &a);
	send_about(MSG_cancel, &a);
	start(2);
	ck_assert_uint_eq(work.cancels, 1);
	ck_assert_int_eq(memcmp(&work.cancelled, &a, sizeof(a)), 0);
	finish(&a, "c", 1);
	ck_assert_uint_eq(hear(MSG_tool_done, 1)->attempt, 1);
}
END_TEST

START_TEST(a_cancel_of_what_does_not_run_is_ignored)
{
	struct attempt unknown = call_attempt(9), finished = call_attempt(1);

	start(1);
	finish(&finished, "f", 1);
	send_about(MSG_cancel, &unknown);
	send_about(MSG_cancel, &finished);
	start(2);
	ck_assert_uint_eq(work.cancels, 0);
}
END_TEST

START_TEST(a_watch_reaches_a_running_turn_only)
{
	struct attempt a = turn_attempt(1);
	struct msg msg = { .id = MSG_turn_start };
	struct msg watch = { .id = MSG_watch_turn };

	msg.turn_start.session = 1;
	msg.turn_start.run = watch.watch_turn.run = a.run;
	msg.turn_start.turn = watch.watch_turn.turn = a.turn;
	msg.turn_start.attempt = watch.watch_turn.attempt = 1;
	watch.watch_turn.on = true;
	want_starts = 1;
	answer(&watch); /* nothing runs yet */
	answer(&msg);
	wait_for(has_started);
	ck_assert_uint_eq(work.watches, 0);
	answer(&watch);
	start(2);
	ck_assert_uint_eq(work.watches, 1);
	ck_assert(work.watched);
	finish(&a, "d", 1);
	answer(&watch);
	start(3);
	ck_assert_uint_eq(work.watches, 1);
}
END_TEST

START_TEST(a_delta_is_sent_in_a_session_only)
{
	struct msg msg = { .id = MSG_turn_delta };

	worker_delta(worker, &msg, SLICE("[1]"));
	ck_assert_str_eq(hear(MSG_turn_delta, 1)->body, "[1]");
	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	worker_delta(worker, &msg, SLICE("[2]"));
	hear(MSG_hello, 2);
	ck_assert_uint_eq(count_of(MSG_turn_delta), 1);
}
END_TEST

/* ---- configuration ---- */

START_TEST(what_no_hello_can_say_is_refused_at_once)
{
	struct worker_config config = worker_config();
	struct err err = { 0 };
	char name[LIMIT_NAME + 2];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	config.name = name;
	ck_assert_int_eq(worker_new(&worker, &config, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	config.name = "tester";
	config.slots = 0;
	ck_assert_int_eq(worker_new(&worker, &config, &err), -1);
	config.slots = LIMIT_CREDIT + 1;
	ck_assert_int_eq(worker_new(&worker, &config, &err), -1);
	ck_assert_ptr_null(worker);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("worker");
	TCase *session = add_case(
	    s, "a session is valid by what was echoed", set_up_connected);
	TCase *fresh = add_case(s, "hello until welcomed", set_up);
	TCase *starts =
	    add_case(s, "a start begins once or is refused", set_up_connected);
	TCase *asides =
	    add_case(s, "cancel and watch concern what runs", set_up_connected);

	tcase_add_test(session, hello_says_who_it_is_and_what_it_takes);
	tcase_add_test(session, heartbeats_go_out_every_second);
	tcase_add_test(session, a_session_without_echo_lapses);
	tcase_add_test(session, a_late_echo_does_not_stretch_the_lease);
	tcase_add_loop_test(session, an_echo_of_what_was_never_sent_is_ignored,
	    0, COUNT(wrong_echoes));
	tcase_add_test(session, a_process_that_stood_still_opens_a_new_session);
	tcase_add_test(session, a_start_from_before_standing_still_is_stale);
	tcase_add_test(session, a_shorter_lease_is_obeyed);
	tcase_add_test(session, a_longer_lease_is_not_believed);
	tcase_add_test(session, a_supervisor_that_says_bye_is_greeted_again);
	tcase_add_test(session,
	    a_restarted_supervisor_is_greeted_without_waiting_for_the_lease);
	tcase_add_test(fresh, hello_is_repeated_with_a_higher_number);
	tcase_add_test(fresh, an_old_welcome_opens_nothing);
	tcase_add_test(fresh, what_no_hello_can_say_is_refused_at_once);
	tcase_add_test(starts, a_start_reaches_the_work);
	tcase_add_test(starts, a_turn_start_reaches_the_work);
	tcase_add_loop_test(starts, a_start_of_another_session_is_stale, 0, 2);
	tcase_add_test(starts, a_start_without_session_is_stale);
	tcase_add_test(starts, a_start_of_what_is_held_is_ignored);
	tcase_add_test(starts, a_start_beyond_the_slots_is_refused);
	tcase_add_test(starts, a_refused_start_gives_its_credit_back);
	tcase_add_test(starts, a_start_may_end_at_once);
	tcase_add_test(asides, a_cancelled_attempt_still_reports);
	tcase_add_test(asides, a_cancel_of_what_does_not_run_is_ignored);
	tcase_add_test(asides, a_watch_reaches_a_running_turn_only);
	tcase_add_test(asides, a_delta_is_sent_in_a_session_only);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
