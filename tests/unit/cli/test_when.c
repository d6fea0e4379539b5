/* Promises of cli/when.c: what is a time, and which one. */
#include "cli/when.h"

#include <check.h>

#include "tests/unit/suite.h"

#define DAY UINT64_C(86400000)

static const struct {
	const char *text;
	uint64_t ms;
} times[] = {
	{ "1970-01-01T00:00:00Z", 0 },
	{ "1970-01-02T00:00:00z", DAY },
	{ "1970-01-01T00:00:00.5Z", 500 },
	{ "1970-01-01T00:00:00.123456Z", 123 },
	{ "2000-02-29T12:00:00Z", 951825600000 },
	{ "2024-02-29T00:00:00Z", 1709164800000 },
	{ "2026-01-02T03:04:05.678Z", 1767323045678 },
	{ "2026-01-02T04:04:05.678+01:00", 1767323045678 },
	{ "2026-01-01T22:04:05.678-05:00", 1767323045678 },
	{ "2026-01-02 04:04:05.678+01", 1767323045678 },
	{ "2016-12-31T23:59:60Z", 1483228800000 },
	{ "9999-12-31T23:59:59Z", 253402300799000 },
};

static const char *const no_times[] = { "", "2026", "2026-01-02", "tomorrow",
	"2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-30T00:00:00Z",
	"2025-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-01-00T00:00:00Z",
	"2026-01-02T24:00:00Z", "2026-01-02T00:60:00Z", "2026-01-02T00:00:61Z",
	"2026-01-02T03:04:05", "2026-01-02T03:04:05Zx", "2026-01-02T03:04:05.Z",
	"2026-01-02T03:04:05+1", "2026-01-02T03:04:05+24:00",
	"1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00",
	"2026-1-02T03:04:05Z", " 2026-01-02T03:04:05Z", "2026-01-02T3:04:05Z" };

static const struct {
	const char *text;
	uint64_t ms;
} spans[] = {
	{ "+0s", 0 },
	{ "+90s", 90000 },
	{ "+10m", 600000 },
	{ "+2h", 7200000 },
	{ "+1d", DAY },
	{ "+3650d", 3650 * DAY },
};

static const char *const no_spans[] = { "", "+", "+s", "10m", "+10", "+10x",
	"+-1s", "+1.5h", "+3651d", "+99999999999999999999s", "+ 1s", "+1h30m" };

START_TEST(reads_a_time)
{
	uint64_t ms = 1;

	ck_assert(when_rfc3339(slice_string(times[_i].text), &ms));
	ck_assert_uint_eq(ms, times[_i].ms);
}
END_TEST

START_TEST(refuses_what_is_no_time)
{
	uint64_t ms = 1;

	ck_assert(!when_rfc3339(slice_string(no_times[_i]), &ms));
	ck_assert_uint_eq(ms, 1);
}
END_TEST

START_TEST(refuses_a_time_cut_short)
{
	static const char text[] = "2026-01-02T03:04:05.678+01:00";
	uint64_t ms;

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		if (n != sizeof("2026-01-02T03:04:05.678+01") - 1)
			ck_assert_msg(
			    !when_rfc3339(slice_of(text, n), &ms), "%zu", n);
	}
}
END_TEST

START_TEST(reads_a_span)
{
	uint64_t ms = 1;

	ck_assert(when_relative(slice_string(spans[_i].text), &ms));
	ck_assert_uint_eq(ms, spans[_i].ms);
}
END_TEST

START_TEST(refuses_what_is_no_span)
{
	uint64_t ms = 1;

	ck_assert(!when_relative(slice_string(no_spans[_i]), &ms));
	ck_assert_uint_eq(ms, 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/when");
	TCase *time = tcase_create("times"), *span = tcase_create("spans");

	tcase_add_loop_test(time, reads_a_time, 0, COUNT(times));
	tcase_add_loop_test(time, refuses_what_is_no_time, 0, COUNT(no_times));
	tcase_add_test(time, refuses_a_time_cut_short);
	tcase_add_loop_test(span, reads_a_span, 0, COUNT(spans));
	tcase_add_loop_test(span, refuses_what_is_no_span, 0, COUNT(no_spans));
	suite_add_tcase(suite, time);
	suite_add_tcase(suite, span);
	return run_suite(suite);
}
