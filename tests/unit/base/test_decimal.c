/*
 * base/decimal.c: numbers by their digits. Expected values are worked out by
 * hand.
 */
#include <check.h>

#include "base/decimal.h"
#include "tests/unit/suite.h"

static const struct {
	const char *a, *b;
	int order;
} orders[] = {
	{ "0", "0", 0 },
	{ "0", "-0", 0 },
	{ "0", "0.000e99", 0 },
	{ "1", "1.0", 0 },
	{ "1", "10e-1", 0 },
	{ "100", "1e2", 0 },
	{ "100", "1E+2", 0 },
	{ "0.01", "1e-2", 0 },
	{ "-1.50", "-15e-1", 0 },
	{ "1", "2", -1 },
	{ "-1", "1", -1 },
	{ "-2", "-1", -1 },
	{ "-1", "0", -1 },
	{ "0", "1e-999", -1 },
	{ "9", "10", -1 },
	{ "99", "100", -1 },
	{ "0.9", "1", -1 },
	{ "0.09", "0.1", -1 },
	{ "1.5", "1.50001", -1 },
	{ "-1.50001", "-1.5", -1 },
	{ "9007199254740992", "9007199254740993", -1 },
	{ "9223372036854775807", "9223372036854775808", -1 },
	{ "18446744073709551615", "18446744073709551616", -1 },
	{ "99999999999999999999999999999999", "1e32", -1 },
	{ "1e400", "1e401", -1 },
	{ "1e-401", "1e-400", -1 },
	{ "1.0000000000000000000000000000001",
	    "1.0000000000000000000000000000002", -1 },
	{ "123e99999999999999999999", "1e5", 1 },
	{ "123e-99999999999999999999", "1e-5", -1 },
};

START_TEST(compares_by_digits)
{
	struct decimal a = decimal_read(slice_string(orders[_i].a));
	struct decimal b = decimal_read(slice_string(orders[_i].b));

	ck_assert_int_eq(decimal_compare(&a, &b), orders[_i].order);
	ck_assert_int_eq(decimal_compare(&b, &a), -orders[_i].order);
	ck_assert_int_eq(decimal_compare(&a, &a), 0);
}
END_TEST

static const struct {
	const char *text;
	bool integer, fits;
	int64_t value;
} integers[] = {
	{ "0", true, true, 0 },
	{ "-0", true, true, 0 },
	{ "0.0e-5", true, true, 0 },
	{ "7", true, true, 7 },
	{ "-7", true, true, -7 },
	{ "70", true, true, 70 },
	{ "7e1", true, true, 70 },
	{ "7.00", true, true, 7 },
	{ "700e-2", true, true, 7 },
	{ "12.5e1", true, true, 125 },
	{ "1.5", false, false, 0 },
	{ "1e-1", false, false, 0 },
	{ "1000000000000000000", true, true, INT64_C(1000000000000000000) },
	{ "9223372036854775807", true, true, INT64_MAX },
	{ "9223372036854775808", true, false, 0 },
	{ "-9223372036854775808", true, true, INT64_MIN },
	{ "-9223372036854775809", true, false, 0 },
	{ "9.223372036854775807e18", true, true, INT64_MAX },
	{ "10000000000000000000", true, false, 0 },
	{ "1e19", true, false, 0 },
	{ "1e999999999999999999999", true, false, 0 },
};

START_TEST(knows_integers)
{
	struct decimal d = decimal_read(slice_string(integers[_i].text));
	int64_t value = 42;

	ck_assert_int_eq(decimal_is_integer(&d), integers[_i].integer);
	ck_assert_int_eq(decimal_i64(&d, &value), integers[_i].fits);
	ck_assert_int_eq(value, integers[_i].fits ? integers[_i].value : 42);
}
END_TEST

static const struct {
	const char *number, *divisor;
	bool multiple;
} multiples[] = {
	{ "10", "2", true },
	{ "10", "3", false },
	{ "0", "3", true },
	{ "-9", "3", true },
	{ "0.3", "0.1", true },
	{ "0.35", "0.1", false },
	{ "1e300", "7", false },
	{ "7e300", "7", true },
	{ "1e300", "1e-300", true },
	{ "1e-300", "1e300", false },
	{ "4e5", "1.6e4", true },
	{ "4e5", "1.7e4", false },
	{ "123456789123456789123456789", "3", true },
	{ "123456789123456789123456788", "3", false },
	{ "5", "0", false },
	{ "5", "1.2345678901234567891", false },
	/* 10^6 leaves 1 when divided by 999999 */
	{ "1e6", "999999", false },
	{ "999999e6", "999999", true },
	{ "1e999999999999", "8", true },
	{ "1e999999999999", "3", false },
};

START_TEST(divides_exactly)
{
	struct decimal n = decimal_read(slice_string(multiples[_i].number));
	struct decimal d = decimal_read(slice_string(multiples[_i].divisor));

	ck_assert_int_eq(decimal_is_multiple(&n, &d), multiples[_i].multiple);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("decimal");
	TCase *exact = tcase_create("nothing is rounded");

	tcase_add_loop_test(exact, compares_by_digits, 0, (int)COUNT(orders));
	tcase_add_loop_test(exact, knows_integers, 0, (int)COUNT(integers));
	tcase_add_loop_test(exact, divides_exactly, 0, (int)COUNT(multiples));
	suite_add_tcase(s, exact);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
