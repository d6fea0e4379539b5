/*
 * base/pattern.c: the dialect, refused expressions, counted work.
 */
#include <check.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "tests/unit/suite.h"

#define PLENTY ((size_t)1 << 30)

static const struct {
	const char *pattern, *text;
	int found;
} rows[] = {
	{ "", "", 1 },
	{ "", "abc", 1 },
	{ "b", "abc", 1 },
	{ "d", "abc", 0 },
	{ "^abc$", "abc", 1 },
	{ "^abc$", "abc\n", 0 },
	{ "^b", "a\nb", 0 },
	{ "a.c", "a\nc", 0 },
	{ "a.c", "a\rc", 0 },
	{ "^.$", "\xf0\x9f\x98\x80", 1 },
	{ "^\\d$", "\xd9\xa3", 0 },
	{ "^\\w$", "\xc3\xa9", 0 },
	{ "^\\W$", "\xc3\xa9", 1 },
	{ "^\\p{L}$", "\xc3\xa9", 1 },
	{ "^\\u00e9$", "\xc3\xa9", 1 },
	{ "^\\u{e9}$", "\xc3\xa9", 1 },
	{ "^\\x41\\/$", "A/", 1 },
	{ "^[^]$", "x", 1 },
	{ "[]", "x", 0 },
	{ "^(?:(a)|b)\\1$", "b", 1 },
	{ "(?<!a)b", "ab", 0 },
	{ "(?i)B", "abc", 1 },
};

START_TEST(finds_what_matches)
{
	struct pattern *p = NULL;
	struct err err = { 0 };
	size_t work = PLENTY;

	ck_assert_msg(
	    pattern_new(&p, slice_string(rows[_i].pattern), &err) == 0,
	    "%s: %s", rows[_i].pattern, err.text);
	ck_assert_msg(pattern_match(p, slice_string(rows[_i].text), &work,
			  &err) == rows[_i].found,
	    "%s on %s", rows[_i].pattern, rows[_i].text);
	/* once more: a pattern keeps nothing of a match */
	ck_assert_int_eq(
	    pattern_match(p, slice_string(rows[_i].text), &work, &err),
	    rows[_i].found);
	pattern_free(p);
}
END_TEST

static const char *const refused[] = { "(", "[a", "*", "a{2,1}", "\\C",
	"(?<n>a)(?<n>b)", "\\p{Nothing}", "((((((a){1000}){1000}){1000})))",
	"\xff", "(?1)" };

START_TEST(refuses_what_is_no_expression)
{
	struct pattern *p = NULL;
	struct err err = { 0 };

	ck_assert_msg(pattern_new(&p, slice_string(refused[_i]), &err) == -1,
	    "%s", refused[_i]);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, " at character "));
}
END_TEST

START_TEST(says_where_an_expression_is_wrong)
{
	struct pattern *p = NULL;
	struct err err = { 0 };

	ck_assert_int_eq(pattern_new(&p, SLICE("ab)c"), &err), -1);
	ck_assert_str_eq(
	    err.text, "unmatched closing parenthesis at character 3");
}
END_TEST

START_TEST(refuses_an_expression_that_is_too_long)
{
	struct buf text = BUF_INIT(PATTERN_MAX + 1);
	struct pattern *p = NULL;
	struct err err = { 0 };

	while (text.len < PATTERN_MAX)
		buf_putc(&text, 'a');
	ck_assert_int_eq(pattern_new(&p, buf_slice(&text), &err), 0);
	ck_assert_uint_gt(pattern_size(p), PATTERN_MAX);
	p = pattern_free(p);
	buf_putc(&text, 'a');
	ck_assert_int_eq(pattern_new(&p, buf_slice(&text), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&text);
}
END_TEST

static const char *const explosive[] = {
	"^(a+)+$",
	"(a|a)*$",
	"(a?){30}a{30}[bc]",
	"^((a*)*)*$",
	"(?:a*)(?:a*)(?:a*)(?:a*)(?:a*)$",
	"(?:(?=(a+))\\1|a)+$",
	"(?R)?a+$",
	"(*LIMIT_MATCH=4000000000)^(a+)+$",
};

START_TEST(stops_when_the_work_is_used_up)
{
	struct buf text = BUF_INIT(1u << 16);
	struct pattern *p = NULL;
	struct err err = { 0 };
	size_t work = 1u << 22;

	for (int i = 0; i < 30000; i++)
		buf_putc(&text, 'a');
	buf_putc(&text, '!');
	ck_assert_int_eq(pattern_new(&p, slice_string(explosive[_i]), &err), 0);
	ck_assert_int_eq(pattern_match(p, buf_slice(&text), &work, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	pattern_free(p);
	buf_release(&text);
}
END_TEST

/* A tree of 2^60 ways; then one way that remembers each of its steps. */
static const struct {
	const char *pattern;
	size_t letters;
} boundless[] = {
	{ "^(a+)+$", 60 },
	{ "^(?:a|b)*$", 200000 },
};

START_TEST(stops_by_itself_when_the_work_is_boundless)
{
	struct buf text = BUF_INIT(1u << 20);
	struct pattern *p = NULL;
	struct err err = { 0 };
	size_t work = SIZE_MAX;

	while (text.len < boundless[_i].letters)
		buf_putc(&text, 'a');
	buf_putc(&text, '!');
	ck_assert_int_eq(
	    pattern_new(&p, slice_string(boundless[_i].pattern), &err), 0);
	ck_assert_int_eq(pattern_match(p, buf_slice(&text), &work, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	pattern_free(p);
	buf_release(&text);
}
END_TEST

START_TEST(counts_what_it_used)
{
	struct pattern *p = NULL;
	struct err err = { 0 };
	size_t work = 100000, before;

	ck_assert_int_eq(pattern_new(&p, SLICE("^[a-z]+$"), &err), 0);
	before = work;
	ck_assert_int_eq(pattern_match(p, SLICE("abcdef"), &work, &err), 1);
	ck_assert_uint_lt(work, before);
	ck_assert_uint_gt(work, before - 1000);
	work = 3;
	ck_assert_int_eq(pattern_match(p, SLICE("abcdef"), &work, &err), -1);
	ck_assert_uint_eq(work, 0);
	pattern_free(p);
	ck_assert_ptr_null(pattern_free(NULL));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("pattern");
	TCase *dialect = tcase_create("the dialect of JSON Schema");
	TCase *bounds = tcase_create("work is counted");

	tcase_add_loop_test(dialect, finds_what_matches, 0, (int)COUNT(rows));
	tcase_add_loop_test(
	    dialect, refuses_what_is_no_expression, 0, (int)COUNT(refused));
	tcase_add_test(dialect, says_where_an_expression_is_wrong);
	tcase_add_test(dialect, refuses_an_expression_that_is_too_long);
	suite_add_tcase(s, dialect);
	tcase_set_timeout(bounds, 30);
	tcase_add_loop_test(
	    bounds, stops_when_the_work_is_used_up, 0, (int)COUNT(explosive));
	tcase_add_loop_test(bounds, stops_by_itself_when_the_work_is_boundless,
	    0, (int)COUNT(boundless));
	tcase_add_test(bounds, counts_what_it_used);
	suite_add_tcase(s, bounds);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
