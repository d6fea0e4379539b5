/*
 * Duplicate names: found in any object, told apart by what they decode to.
 */
#include "base/json.h"

#include <check.h>

#include "tests/unit/suite.h"

static const struct {
	const char *text;
	const char *name; /* NULL: nothing stands twice */
} texts[] = {
	{ "1", NULL },
	{ "\"a\"", NULL },
	{ "{}", NULL },
	{ "{\"a\":1}", NULL },
	{ "{\"a\":1,\"b\":2,\"A\":3,\"aa\":4,\"\":5}", NULL },
	{ "[{\"a\":1},{\"a\":1}]", NULL },
	{ "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}", NULL },
	{ "{\"a\":\"b\",\"b\":\"a\",\"c\":[\"c\",\"c\"]}", NULL },
	{ "{\"a:\":1,\"a\":\"a:\"}", NULL },
	{ "{\"a\":1,\"a\":1}", "a" },
	{ "{\"a\" :1,\"b\":2,\"a\"\n:3}", "a" },
	{ "{\"\":1,\"\":2}", "" },
	{ "{\"a\":1,\"\\u0061\":2}", "a" },
	{ "{\"\\n\":1,\"b\":0,\"\\u000a\":2}", "\n" },
	{ "{\"\\u00e9\":1,\"\xc3\xa9\":2}", "\xc3\xa9" },
	{ "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", "\xf0\x9f\x98\x80" },
	{ "{\"\\\\n\":1,\"\\n\":2}", NULL },
	{ "{\"a\":1,\"b\":{\"x\":1,\"y\":2,\"x\":3}}", "x" },
	{ "[1,[2,{\"c\":[{\"d\":1,\"d\":2}]}]]", "d" },
	{ "{\"a\":{\"x\":1},\"b\":1,\"a\":{\"x\":1}}", "a" },
	/* the first in the text: its second place counts */
	{ "{\"a\":1,\"b\":2,\"b\":3,\"a\":4}", "b" },
	{ "{\"z\":1,\"z\":2,\"b\":{\"c\":1,\"c\":2}}", "z" },
	{ "{\"z\":1,\"b\":{\"c\":1,\"c\":2},\"z\":2}", "c" },
	{ "[{\"q\":1,\"q\":1},{\"a\":1,\"a\":1}]", "q" },
};

START_TEST(the_first_name_that_stands_twice_is_named)
{
	struct err err = { 0 };
	struct json value;
	char want[100];

	ck_assert_int_eq(
	    json_parse(slice_string(texts[_i].text), &value, NULL, NULL), 0);
	if (texts[_i].name == NULL) {
		ck_assert_int_eq(json_no_duplicates(value, &err), 0);
		return;
	}
	ck_assert_int_eq(json_no_duplicates(value, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	snprintf(want, sizeof(want),
	    "the name \"%s\" stands twice in one object", texts[_i].name);
	ck_assert_str_eq(err.text, want);
}
END_TEST

/* An object of many names, at full depth, with the last one there before. */
START_TEST(many_names_at_any_depth_are_compared)
{
	struct buf buf = BUF_INIT(1000000);
	struct json value;

	for (int i = 0; i < JSON_DEPTH_MAX - 1; i++)
		buf_puts(&buf, i % 2 == 0 ? "{\"same\":" : "[");
	buf_putc(&buf, '{');
	for (int i = 0; i < 10000; i++)
		buf_printf(&buf, "\"key %d\":%d,", i * 7919 % 10000, i);
	size_t last = buf.len;

	buf_puts(&buf, "\"key x\":0}");
	for (int i = JSON_DEPTH_MAX - 2; i >= 0; i--)
		buf_putc(&buf, i % 2 == 0 ? '}' : ']');
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	ck_assert_int_eq(json_no_duplicates(value, NULL), 0);
	memcpy(buf.ptr + last, "\"key 7\"", 7);
	ck_assert_int_eq(json_no_duplicates(value, NULL), -1);
	buf_release(&buf);
}
END_TEST

START_TEST(a_long_name_is_cut_in_the_message)
{
	struct buf buf = BUF_INIT(10000);
	struct err err = { 0 };
	struct json value;

	buf_putc(&buf, '{');
	for (int twice = 0; twice < 2; twice++) {
		buf_puts(&buf, twice == 0 ? "\"" : ",\"");
		for (int i = 0; i < 1000; i++)
			buf_puts(&buf, "\xe6\x97\xa5");
		buf_puts(&buf, "\":1");
	}
	buf_putc(&buf, '}');
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	ck_assert_int_eq(json_no_duplicates(value, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "\" stands twice"));
	buf_release(&buf);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/json_names");
	TCase *tcase = tcase_create("names");

	tcase_add_loop_test(
	    tcase, the_first_name_that_stands_twice_is_named, 0, COUNT(texts));
	tcase_add_test(tcase, many_names_at_any_depth_are_compared);
	tcase_add_test(tcase, a_long_name_is_cut_in_the_message);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
