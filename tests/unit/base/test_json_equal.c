/*
 * base/json_equal.c: equal values, their hashes, counted work. Texts are
 * written with ' for ".
 */
#include "base/json_equal.h"

#include "tests/unit/base/json_text.h"
#include "tests/unit/suite.h"

static const struct {
	const char *a, *b;
	bool equal;
} rows[] = {
	{ "null", "null", true },
	{ "null", "false", false },
	{ "true", "true", true },
	{ "true", "false", false },
	{ "0", "false", false },
	{ "0", "''", false },
	{ "1", "1.0", true },
	{ "1", "10e-1", true },
	{ "1000", "1e3", true },
	{ "-0", "0.0", true },
	{ "1", "-1", false },
	{ "9007199254740993", "9007199254740992", false },
	{ "1.0000000000000000000001", "1", false },
	{ "'a'", "'a'", true },
	{ "'a'", "'A'", false },
	{ "'a'", "'\\u0061'", true },
	{ "'\\u00e9'", "'\xc3\xa9'", true },
	{ "'\\ud83d\\ude00'", "'\\uD83D\\uDE00'", true },
	{ "'a\\/b'", "'a/b'", true },
	{ "'\\n'", "'\\u000a'", true },
	{ "'a'", "'a\\u0000'", false },
	{ "'1'", "1", false },
	{ "[]", "[]", true },
	{ "[]", "{}", false },
	{ "[1,2]", "[1, 2.0]", true },
	{ "[1,2]", "[2,1]", false },
	{ "[1,2]", "[1]", false },
	{ "[1]", "[1,2]", false },
	{ "[[1],[]]", "[[1],[]]", true },
	{ "[[],[1]]", "[[1],[]]", false },
	{ "{}", "{ }", true },
	{ "{'a':1,'b':2}", "{'b':2,'a':1}", true },
	{ "{'a':1,'b':2}", "{'b':1,'a':2}", false },
	{ "{'a':1}", "{'a':1,'b':2}", false },
	{ "{'a':1,'b':2}", "{'a':1}", false },
	{ "{'\\u0061':1}", "{'a':1}", true },
	{ "{'a':null}", "{'b':null}", false },
	{ "{'a':{'b':[1,{'c':2}]}}", "{'a':{'b':[1.0,{'c':2e0}]}}", true },
	{ "{'a':'b'}", "{'b':'a'}", false },
};

START_TEST(tells_equal_from_different)
{
	char *x, *y;
	struct json a = parse(rows[_i].a, &x);
	struct json b = parse(rows[_i].b, &y);
	size_t work = 10000;

	ck_assert_int_eq(json_equal(a, b, &work), rows[_i].equal);
	ck_assert_int_eq(json_equal(b, a, &work), rows[_i].equal);
	ck_assert(json_equal(a, a, &work));
	ck_assert_int_eq(
	    json_hash(a, &work) == json_hash(b, &work), rows[_i].equal);
	ck_assert_uint_gt(work, 0);
	mem_free(x);
	mem_free(y);
}
END_TEST

START_TEST(stops_when_the_work_is_used_up)
{
	char *x;
	struct json a = parse("{'a':[1,2,3],'b':{'c':'0123456789'}}", &x);

	for (size_t n = 1; n < 60; n++) {
		size_t work = n;

		ck_assert(!json_equal(a, a, &work));
		ck_assert_uint_eq(work, 0);
	}
	for (size_t n = 1; n < 30; n++) {
		size_t work = n;

		json_hash(a, &work);
		ck_assert_uint_eq(work, 0);
	}
	mem_free(x);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("json_equal");
	TCase *meaning = tcase_create("what means the same is equal");

	tcase_add_loop_test(
	    meaning, tells_equal_from_different, 0, (int)COUNT(rows));
	tcase_add_test(meaning, stops_when_the_work_is_used_up);
	suite_add_tcase(s, meaning);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
