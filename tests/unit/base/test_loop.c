/*
 * base/loop.c with ZeroMQ sockets over inproc in one thread. The stall that the
 * loop must not have: a message that arrives while another call on the socket
 * eats its edge is not seen until the next one.
 */
#include "base/loop.h"

#include <check.h>
#include <sys/resource.h>
#include <zmq.h>

#include "tests/unit/suite.h"

#define GUARD_MS 3000
#define PAIRS    3

static struct loop loop;
static void *zmq;
static uv_timer_t guard;

/* One end that the loop reads, one end that the test writes. */
static struct end {
	struct loop_socket in_loop;
	void *inside, *outside;
	size_t heard;
	size_t heard_in_pass, most_in_pass;
	bool remove; /* at the next message */
	bool closed;
} ends[PAIRS];

static size_t wanted; /* messages in all, then the loop stops */
static size_t echo;   /* messages that the handler sends on to the next end */

static size_t
heard_in_all(void)
{
	size_t n = 0;

	for (size_t i = 0; i < PAIRS; i++)
		n += ends[i].heard;
	return n;
}

static void
on_closed(void *arg)
{
	struct end *end = arg;

	end->closed = true;
}

static bool
on_ready(void *arg)
{
	struct end *end = arg;
	char byte;

	if (zmq_recv(end->inside, &byte, 1, ZMQ_DONTWAIT) == -1)
		return false;
	end->heard++;
	end->heard_in_pass++;
	if (end->heard_in_pass > end->most_in_pass)
		end->most_in_pass = end->heard_in_pass;
	if (echo > 0) {
		struct end *next = &ends[(end - ends + 1) % PAIRS];

		echo--;
		ck_assert_int_eq(zmq_send(next->outside, "e", 1, 0), 1);
	}
	if (end->remove)
		loop_remove_socket(&end->in_loop, on_closed);
	if (heard_in_all() >= wanted)
		loop_stop(&loop);
	return true;
}

static struct loop_pass pass;
static size_t passes;

static void
on_pass(void *arg)
{
	(void)arg;
	passes++;
	for (size_t i = 0; i < PAIRS; i++)
		ends[i].heard_in_pass = 0;
}

static void
on_guard(uv_timer_t *timer)
{
	(void)timer;
	ck_abort_msg("the loop stalled");
}

static void
open_end(struct end *end, int i)
{
	struct err err = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "inproc://end-%d", i);
	end->inside = zmq_socket(zmq, ZMQ_PAIR);
	end->outside = zmq_socket(zmq, ZMQ_PAIR);
	ck_assert_int_eq(zmq_bind(end->inside, name), 0);
	ck_assert_int_eq(zmq_connect(end->outside, name), 0);
	ck_assert_int_eq(loop_add_socket(&loop, &end->in_loop, end->inside,
			     on_ready, end, &err),
	    0);
}

static void
set_up(void)
{
	struct err err = { 0 };

	memset(ends, 0, sizeof(ends));
	passes = wanted = echo = 0;
	zmq = zmq_ctx_new();
	ck_assert_int_eq(loop_init(&loop, &err), 0);
	uv_timer_init(&loop.uv, &guard);
	uv_timer_start(&guard, on_guard, GUARD_MS, 0);
	pass = (struct loop_pass){ 0 };
	loop_add_pass(&loop, &pass, on_pass, NULL);
	for (int i = 0; i < PAIRS; i++)
		open_end(&ends[i], i);
}

static void
tear_down(void)
{
	loop_release(&loop);
	for (size_t i = 0; i < PAIRS; i++) {
		zmq_close(ends[i].inside);
		zmq_close(ends[i].outside);
	}
	zmq_ctx_term(zmq);
}

static void
say(struct end *end, size_t n)
{
	while (n-- > 0)
		ck_assert_int_eq(zmq_send(end->outside, "s", 1, 0), 1);
}

START_TEST(every_message_is_read)
{
	for (size_t i = 0; i < PAIRS; i++)
		say(&ends[i], 300);
	wanted = 3 * 300;
	loop_run(&loop);
	ck_assert_uint_eq(heard_in_all(), 900);
}
END_TEST

/* No event comes after the first: what is left must be read all the same. */
START_TEST(one_socket_takes_a_bounded_part_of_a_pass)
{
	say(&ends[0], 1000);
	wanted = 1000;
	loop_run(&loop);
	ck_assert_uint_eq(ends[0].most_in_pass, LOOP_DRAIN);
	ck_assert_uint_ge(passes, 1000 / LOOP_DRAIN);
}
END_TEST

/* Handlers write to sockets of the same loop, also to those already drained in
 * this pass. */
START_TEST(messages_sent_by_handlers_are_not_left_lying)
{
	say(&ends[0], 1);
	echo = 10000;
	wanted = 10001;
	loop_run(&loop);
	ck_assert_uint_eq(heard_in_all(), 10001);
}
END_TEST

/* A call on the socket outside of the loop eats the edge. */
START_TEST(an_eaten_edge_does_not_stall)
{
	for (size_t i = 0; i < 200; i++) {
		int events;
		size_t len = sizeof(events);

		say(&ends[0], 1);
		zmq_getsockopt(ends[0].inside, ZMQ_EVENTS, &events, &len);
		wanted = heard_in_all() + 1;
		loop_run(&loop);
	}
	ck_assert_uint_eq(ends[0].heard, 200);
}
END_TEST

START_TEST(a_removed_socket_is_not_read_again)
{
	ends[0].remove = true;
	say(&ends[0], 10);
	say(&ends[1], 10);
	wanted = 11;
	loop_run(&loop);
	ck_assert_uint_eq(ends[0].heard, 1);
	ck_assert_uint_eq(ends[1].heard, 10);
}
END_TEST

START_TEST(what_waits_for_closing_runs_at_release)
{
	loop_remove_socket(&ends[0].in_loop, on_closed);
	ck_assert(!ends[0].closed);
	loop_release(&loop);
	ck_assert(ends[0].closed);
	/* For tear_down. */
	ck_assert_int_eq(loop_init(&loop, &(struct err){ 0 }), 0);
}
END_TEST

/* ---- passes ---- */

static size_t seen_by_pass;

static void
on_pass_look(void *arg)
{
	(void)arg;
	seen_by_pass = heard_in_all();
}

START_TEST(a_pass_follows_the_last_message)
{
	pass.on_pass = on_pass_look;
	say(&ends[0], 5);
	wanted = 5;
	loop_run(&loop);
	ck_assert_uint_eq(seen_by_pass, 5);
}
END_TEST

static bool timer_ran;

static void
on_timer(uv_timer_t *timer)
{
	(void)timer;
	timer_ran = true;
}

static void
on_pass_after_timer(void *arg)
{
	(void)arg;
	if (timer_ran)
		loop_stop(&loop);
}

/* What a timer changed must not wait for the next event: there is none. */
START_TEST(a_pass_follows_a_timer_before_the_loop_waits)
{
	uv_timer_t timer;

	timer_ran = false;
	pass.on_pass = on_pass_after_timer;
	uv_timer_init(&loop.uv, &timer);
	uv_timer_start(&timer, on_timer, 1, 0);
	loop_run(&loop);
	ck_assert(timer_ran);
	loop_release(&loop); /* the timer lives on this stack */
	ck_assert_int_eq(loop_init(&loop, &(struct err){ 0 }), 0);
}
END_TEST

static void
on_pass_remove(void *arg)
{
	passes++;
	loop_remove_pass(arg);
	loop_stop(&loop);
}

START_TEST(a_removed_pass_does_not_run)
{
	struct loop_pass never = { 0 }, once = { 0 };

	loop_remove_pass(&never);
	loop_remove_pass(&pass);
	loop_add_pass(&loop, &once, on_pass_remove, &once);
	loop_run(&loop);
	loop_stop(&loop);
	loop_run(&loop);
	ck_assert_uint_eq(passes, 1);
}
END_TEST

START_TEST(a_stop_before_the_run_counts)
{
	loop_stop(&loop);
	loop_run(&loop);
	ck_assert_uint_ge(passes, 1);
}
END_TEST

START_TEST(the_loop_runs_again_after_a_stop)
{
	for (size_t i = 1; i < 5; i++) {
		say(&ends[0], 1);
		wanted = i;
		loop_run(&loop);
		ck_assert_uint_eq(ends[0].heard, i);
	}
}
END_TEST

START_TEST(the_limit_of_open_files_is_raised_to_the_hard_one)
{
	struct rlimit limit;
	rlim_t hard;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	hard = limit.rlim_max;
	limit.rlim_cur = 256;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(loop_raise_limits(), hard);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(limit.rlim_cur, hard);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("loop");
	TCase *sockets = tcase_create("sockets do not stall");
	TCase *turns = tcase_create("a pass ends each turn of the loop");

	tcase_add_checked_fixture(sockets, set_up, tear_down);
	tcase_add_checked_fixture(turns, set_up, tear_down);
	suite_add_tcase(s, sockets);
	suite_add_tcase(s, turns);
	tcase_add_test(sockets, every_message_is_read);
	tcase_add_test(sockets, one_socket_takes_a_bounded_part_of_a_pass);
	tcase_add_test(sockets, messages_sent_by_handlers_are_not_left_lying);
	tcase_add_test(sockets, an_eaten_edge_does_not_stall);
	tcase_add_test(sockets, a_removed_socket_is_not_read_again);
	tcase_add_test(sockets, what_waits_for_closing_runs_at_release);
	tcase_add_test(
	    sockets, the_limit_of_open_files_is_raised_to_the_hard_one);
	tcase_add_test(turns, a_pass_follows_the_last_message);
	tcase_add_test(turns, a_pass_follows_a_timer_before_the_loop_waits);
	tcase_add_test(turns, a_removed_pass_does_not_run);
	tcase_add_test(turns, a_stop_before_the_run_counts);
	tcase_add_test(turns, the_loop_runs_again_after_a_stop);
	return run_suite(s);
}
