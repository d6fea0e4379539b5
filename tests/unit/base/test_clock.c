/*
 * Clocks: which ones they are, that tests can hold them, how times are written.
 */
#include "base/clock.h"

#include <check.h>
#include <time.h>

#include "tests/unit/suite.h"

static uint64_t
kernel_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

START_TEST(clocks_are_those_of_the_kernel)
{
	uint64_t before = kernel_ms(CLOCK_BOOTTIME), ms = clock_ms();
	uint64_t us = clock_us(), after = kernel_ms(CLOCK_BOOTTIME);

	ck_assert_uint_le(before, ms);
	ck_assert_uint_le(ms, us / 1000);
	ck_assert_uint_le(us / 1000, after);
	before = kernel_ms(CLOCK_REALTIME);
	ms = clock_wall_ms();
	after = kernel_ms(CLOCK_REALTIME);
	ck_assert_uint_le(before, ms);
	ck_assert_uint_le(ms, after);
}
END_TEST

START_TEST(clocks_stand_where_a_test_sets_them)
{
	clock_set(1234, 5678);
	ck_assert_uint_eq(clock_ms(), 1234);
	ck_assert_uint_eq(clock_us(), 1234000);
	ck_assert_uint_eq(clock_wall_ms(), 5678);
	clock_set(0, 5);
	ck_assert_uint_eq(clock_ms(), 0);
	ck_assert_uint_eq(clock_wall_ms(), 5);
	clock_set(0, 0);
	ck_assert_uint_ge(clock_wall_ms(), kernel_ms(CLOCK_REALTIME) - 60000);
}
END_TEST

static const struct {
	uint64_t ms;
	const char *text;
} times[] = {
	{ 0, "1970-01-01T00:00:00.000Z" },
	{ 1, "1970-01-01T00:00:00.001Z" },
	{ UINT64_C(951782400000), "2000-02-29T00:00:00.000Z" },
	{ UINT64_C(951868799999), "2000-02-29T23:59:59.999Z" },
	{ UINT64_C(1735787045678), "2025-01-02T03:04:05.678Z" },
	{ UINT64_C(4102444799999), "2099-12-31T23:59:59.999Z" },
	{ UINT64_C(4107542400000), "2100-03-01T00:00:00.000Z" },
	{ UINT64_C(253402300799999), "9999-12-31T23:59:59.999Z" },
	{ UINT64_C(253402300800000), "9999-12-31T23:59:59.999Z" },
	{ UINT64_MAX, "9999-12-31T23:59:59.999Z" },
};

START_TEST(times_are_written_as_rfc_3339)
{
	char text[CLOCK_TEXT];

	ck_assert_ptr_eq(clock_text(times[_i].ms, text), text);
	ck_assert_str_eq(text, times[_i].text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/clock");
	TCase *tcase = tcase_create("clock");

	tcase_add_test(tcase, clocks_are_those_of_the_kernel);
	tcase_add_test(tcase, clocks_stand_where_a_test_sets_them);
	tcase_add_loop_test(
	    tcase, times_are_written_as_rfc_3339, 0, COUNT(times));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
