/*
 * workers/session.c: the lease as arithmetic. Times are made up; what must hold
 * is rule W1 of the commit protocol.
 */
#include "workers/session.h"

#include "proto/limits.h"
#include "tests/unit/suite.h"

#include <check.h>

#define T0 1000000u

static struct session session;

static void
set_up(void)
{
	session_init(&session, T0);
	session_connected(&session, T0);
	session_hello(&session, T0, true);
}

START_TEST(a_welcome_opens_what_was_greeted_last)
{
	ck_assert(!session_welcome(&session, 0, LEASE_WORKER_MS, T0));
	ck_assert(!session_welcome(&session, 2, LEASE_WORKER_MS, T0));
	ck_assert(session_welcome(&session, 1, LEASE_WORKER_MS, T0));
	ck_assert(session.open);
	ck_assert(!session_welcome(&session, 1, LEASE_WORKER_MS, T0));
}
END_TEST

/* The hello is the first heartbeat: the lease runs from when it left. */
START_TEST(a_welcome_that_comes_too_late_opens_nothing)
{
	ck_assert(!session_welcome(
	    &session, 1, LEASE_WORKER_MS, T0 + LEASE_WORKER_MS));
	ck_assert(session_welcome(
	    &session, 1, LEASE_WORKER_MS, T0 + LEASE_WORKER_MS - 1));
	session_alive(&session, T0 + LEASE_WORKER_MS);
	ck_assert_ptr_nonnull(session_check(&session, T0 + LEASE_WORKER_MS));
	ck_assert(!session.open);
}
END_TEST

START_TEST(a_session_that_ended_never_comes_back)
{
	ck_assert(session_welcome(&session, 1, LEASE_WORKER_MS, T0));
	session_beat(&session, T0 + 1000);
	session_end(&session, T0 + 1100);
	session_echo(&session, 1, T0 + 1000);
	ck_assert(!session_welcome(&session, 1, LEASE_WORKER_MS, T0 + 1200));
	ck_assert(!session.open);
	session_hello(&session, T0 + 1300, true);
	ck_assert(session_welcome(&session, 2, LEASE_WORKER_MS, T0 + 1400));
}
END_TEST

START_TEST(echoes_keep_it_open_as_long_as_the_loop_goes_round)
{
	uint64_t now = T0;

	ck_assert(session_welcome(&session, 1, LEASE_WORKER_MS, now));
	for (int i = 0; i < 100; i++) {
		now += 1000;
		ck_assert_ptr_null(session_check(&session, now));
		session_alive(&session, now);
		ck_assert(session_beat_is_due(&session, now));
		session_beat(&session, now);
		ck_assert(!session_beat_is_due(&session, now + 999));
		session_echo(&session, 1, now);
	}
	ck_assert_ptr_null(session_check(&session, now + LEASE_WORKER_MS - 1));
	ck_assert_str_eq(session_check(&session, now + LEASE_WORKER_MS),
	    "this process stood still");
}
END_TEST

START_TEST(an_older_echo_takes_nothing_away)
{
	ck_assert(session_welcome(&session, 1, LEASE_WORKER_MS, T0));
	session_beat(&session, T0 + 2000);
	session_echo(&session, 1, T0 + 2000);
	session_echo(&session, 1, T0 + 1000);
	session_alive(&session, T0 + 6000);
	ck_assert_ptr_null(session_check(&session, T0 + 6999));
	ck_assert_str_eq(session_check(&session, T0 + 7000),
	    "no heartbeat came back in time");
}
END_TEST

/* Seconds after the first hello at which the next ones are due. */
static const uint64_t pauses[] = { 1000, 2000, 4000, 4000, 4000 };

START_TEST(an_unanswered_hello_is_repeated_in_growing_pauses)
{
	uint64_t now = T0;

	for (size_t i = 0; i < COUNT(pauses); i++) {
		ck_assert(!session_hello_is_due(&session, now + pauses[i] - 1));
		now += pauses[i];
		ck_assert(session_hello_is_due(&session, now));
		session_hello(&session, now, true);
		ck_assert_uint_eq(session.number, i + 2);
	}
}
END_TEST

START_TEST(a_hello_that_was_not_sent_has_no_number)
{
	session_hello(&session, T0 + 1000, false);
	ck_assert_uint_eq(session.number, 1);
}
END_TEST

START_TEST(no_hello_is_due_without_connection)
{
	session_disconnected(&session, T0);
	ck_assert(!session_hello_is_due(&session, T0 + 100000));
	session_connected(&session, T0 + 100000);
	ck_assert(session_hello_is_due(&session, T0 + 100000));
}
END_TEST

START_TEST(a_lost_connection_ends_the_session)
{
	ck_assert(session_welcome(&session, 1, LEASE_WORKER_MS, T0));
	session_disconnected(&session, T0 + 10);
	ck_assert(!session.open);
	ck_assert_uint_eq(session.alone_ms, T0 + 10);
}
END_TEST

/* A supervisor that ends every session at once is not flooded. */
START_TEST(two_hellos_are_a_second_apart)
{
	ck_assert(session_welcome(&session, 1, LEASE_WORKER_MS, T0));
	session_end(&session, T0 + 10);
	ck_assert(!session_hello_is_due(&session, T0 + 999));
	ck_assert(session_hello_is_due(&session, T0 + 1000));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("session");
	TCase *lease = tcase_create("the lease runs from what left here");
	TCase *hello = tcase_create("hello until welcomed");

	tcase_add_checked_fixture(lease, set_up, NULL);
	tcase_add_checked_fixture(hello, set_up, NULL);
	suite_add_tcase(s, lease);
	suite_add_tcase(s, hello);
	tcase_add_test(lease, a_welcome_opens_what_was_greeted_last);
	tcase_add_test(lease, a_welcome_that_comes_too_late_opens_nothing);
	tcase_add_test(lease, a_session_that_ended_never_comes_back);
	tcase_add_test(
	    lease, echoes_keep_it_open_as_long_as_the_loop_goes_round);
	tcase_add_test(lease, an_older_echo_takes_nothing_away);
	tcase_add_test(lease, a_lost_connection_ends_the_session);
	tcase_add_test(
	    hello, an_unanswered_hello_is_repeated_in_growing_pauses);
	tcase_add_test(hello, a_hello_that_was_not_sent_has_no_number);
	tcase_add_test(hello, no_hello_is_due_without_connection);
	tcase_add_test(hello, two_hellos_are_a_second_apart);
	return run_suite(s);
}
