/*
 * workers/model/deadline.c: which deadline passes first, and what is said then.
 */
#include <check.h>

#include "tests/unit/suite.h"
#include "workers/model/deadline.h"
#include "workers/model/stream.h"

static const struct timeouts limits = { .connect_ms = 10,
	.headers_ms = 100,
	.idle_ms = 1000,
	.progress_ms = 3000,
	.turn_ms = 0 };

static const struct {
	struct times times;
	uint64_t turn_ms;
	enum deadline next;
	uint64_t at_ms;
} cases[] = {
#define START .start_ms = 1000
#define HEAD  START, .connected_ms = 1005, .headers_ms = 1050
	{ { START }, 100000, DEADLINE_CONNECT, 1010 },
	{ { START }, 5, DEADLINE_TURN, 1005 },
	{ { START, .connected_ms = 1005 }, 100000, DEADLINE_HEADERS, 1105 },
	{ { START, .connected_ms = 1005 }, 50, DEADLINE_TURN, 1050 },
	{ { HEAD, .byte_ms = 1050, .progress_ms = 1050 }, 100000, DEADLINE_IDLE,
	    2050 },
	/* bytes without events: idle moves on, progress does not */
	{ { HEAD, .byte_ms = 3500, .progress_ms = 1050 }, 100000,
	    DEADLINE_PROGRESS, 4050 },
	{ { HEAD, .byte_ms = 3500, .progress_ms = 3500 }, 100000, DEADLINE_IDLE,
	    4500 },
	{ { HEAD, .byte_ms = 3500, .progress_ms = 3500 }, 3000, DEADLINE_TURN,
	    4000 },
	{ { HEAD, .byte_ms = 3500, .progress_ms = 3500, .failed_ms = 3400 },
	    100000, DEADLINE_DETAIL, 3400 + STREAM_DETAIL_MS },
#undef START
#undef HEAD
};

START_TEST(the_next_deadline_is_the_earliest)
{
	uint64_t at;

	ck_assert_int_eq(
	    deadline_next(&cases[_i].times, &limits, cases[_i].turn_ms, &at),
	    cases[_i].next);
	ck_assert_uint_eq(at, cases[_i].at_ms);
}
END_TEST

static const struct {
	enum deadline deadline;
	const char *text;
} texts[] = {
	{ DEADLINE_CONNECT, "no connection within 0.0 s" },
	{ DEADLINE_HEADERS, "no response headers within 0.1 s" },
	{ DEADLINE_IDLE, "no byte for 1.0 s" },
	{ DEADLINE_PROGRESS, "no useful event for 3.0 s" },
	{ DEADLINE_TURN, "no end of the turn within 7.5 s" },
};

START_TEST(a_deadline_says_what_did_not_come)
{
	char text[100];

	deadline_say(texts[_i].deadline, &limits, 7500, text, sizeof(text));
	ck_assert_str_eq(text, texts[_i].text);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("deadline");
	TCase *next = tcase_create("next");

	tcase_add_loop_test(
	    next, the_next_deadline_is_the_earliest, 0, (int)COUNT(cases));
	tcase_add_loop_test(
	    next, a_deadline_says_what_did_not_come, 0, (int)COUNT(texts));
	suite_add_tcase(s, next);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
