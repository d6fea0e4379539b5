/*
 * What json_parse takes and what it refuses: the classes of RFC 8259, the
 * marks, the depth, and every way to cut or spoil a text.
 */
#include "base/json.h"

#include <check.h>

#include "tests/unit/suite.h"

#define S(text)                                                                \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}

static const struct {
	struct slice text;
	enum json_type type;
	unsigned marks;
} accepted[] = {
	/* words */
	{ S("null"), JSON_NULL, 0 },
	{ S("true"), JSON_TRUE, 0 },
	{ S("false"), JSON_FALSE, 0 },
	/* numbers */
	{ S("0"), JSON_NUMBER, 0 },
	{ S("-0"), JSON_NUMBER, 0 },
	{ S("7"), JSON_NUMBER, 0 },
	{ S("-10"), JSON_NUMBER, 0 },
	{ S("1234567890123456789012345678901234567890"), JSON_NUMBER, 0 },
	{ S("0.0"), JSON_NUMBER, 0 },
	{ S("-1.5"), JSON_NUMBER, 0 },
	{ S("0e1"), JSON_NUMBER, 0 },
	{ S("1e5"), JSON_NUMBER, 0 },
	{ S("1E5"), JSON_NUMBER, 0 },
	{ S("1e+5"), JSON_NUMBER, 0 },
	{ S("1e-5"), JSON_NUMBER, 0 },
	{ S("1.25E-007"), JSON_NUMBER, 0 },
	{ S("1e999999"), JSON_NUMBER, 0 },
	/* strings */
	{ S("\"\""), JSON_STRING, 0 },
	{ S("\"a\""), JSON_STRING, 0 },
	{ S("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), JSON_STRING, 0 },
	{ S("\"\\u0041\\u00e9\\u00E9\\uFFFF\""), JSON_STRING, 0 },
	{ S("\"\x7f\""), JSON_STRING, 0 },
	{ S("\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\""), JSON_STRING, 0 },
	{ S("\"\\ud83d\\ude00\""), JSON_STRING, 0 },
	{ S("\"\\uDBFF\\uDFFF\""), JSON_STRING, 0 },
	/* white space, of which JSON knows four kinds */
	{ S(" \t\r\n1 \t\r\n"), JSON_NUMBER, 0 },
	{ S("[ ]"), JSON_ARRAY, 0 },
	{ S("{ }"), JSON_OBJECT, 0 },
	{ S("\n[\t1\r,\n2 ]"), JSON_ARRAY, 0 },
	{ S("{ \"a\" : 1 , \"b\" : 2 }"), JSON_OBJECT, 0 },
	/* nesting */
	{ S("[]"), JSON_ARRAY, 0 },
	{ S("{}"), JSON_OBJECT, 0 },
	{ S("[[],{},[{}]]"), JSON_ARRAY, 0 },
	{ S("{\"a\":{\"b\":[1,{\"c\":null}]},\"\":\"\"}"), JSON_OBJECT, 0 },
	{ S("{\"a\":1,\"a\":2}"), JSON_OBJECT, 0 },
	/* marks */
	{ S("\"\\u0000\""), JSON_STRING, JSON_MARK_NUL },
	{ S("{\"\\u0000\":1}"), JSON_OBJECT, JSON_MARK_NUL },
	{ S("\"\\ud800\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\udc00\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\ud83dx\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\ud83d\\n\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\ud83d\\u0041\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\ud83d\\ud83d\\ude00\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\ude00\\ud83d\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\u0041\\udc00\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("\"\\ud800\\ue000\""), JSON_STRING, JSON_MARK_SURROGATE },
	{ S("[{\"\\ud800\":1}]"), JSON_ARRAY, JSON_MARK_SURROGATE },
	{ S("\"\xff\""), JSON_STRING, JSON_MARK_UTF8 },
	{ S("\"\xc3\""), JSON_STRING, JSON_MARK_UTF8 },
	{ S("\"\xc3\\n\xa9\""), JSON_STRING, JSON_MARK_UTF8 },
	{ S("\"\xc0\xaf\""), JSON_STRING, JSON_MARK_UTF8 },
	{ S("\"\xed\xa0\xbd\xed\xb8\x80\""), JSON_STRING, JSON_MARK_UTF8 },
	{ S("\"\xf4\x90\x80\x80\""), JSON_STRING, JSON_MARK_UTF8 },
	{ S("{\"\xff\":[\"\\u0000\",\"\\ud800\"]}"), JSON_OBJECT,
	    JSON_MARK_NUL | JSON_MARK_SURROGATE | JSON_MARK_UTF8 },
};

START_TEST(takes_what_the_rfc_takes)
{
	unsigned marks = 99;
	struct err err = { 0 };
	struct json value;

	if (json_parse(accepted[_i].text, &value, &marks, &err) == -1)
		ck_abort_msg("%s", err.text);
	ck_assert_int_eq(value.type, accepted[_i].type);
	ck_assert_uint_eq(marks, accepted[_i].marks);
	ck_assert_int_eq(json_parse(accepted[_i].text, &value, NULL, NULL), 0);
}
END_TEST

static const struct {
	struct slice text;
	unsigned line, column;
} refused[] = {
	/* nothing */
	{ { NULL, 0 }, 1, 1 },
	{ S(""), 1, 1 },
	{ S(" \n "), 2, 2 },
	/* byte order mark, and other text before the value */
	{ S("\xef\xbb\xbf{}"), 1, 1 },
	{ S("\xff\xfe[\0]\0"), 1, 1 },
	{ S("// c\n1"), 1, 1 },
	/* text behind the value */
	{ S("1 2"), 1, 3 },
	{ S("{} {}"), 1, 4 },
	{ S("[],"), 1, 3 },
	{ S("[]]"), 1, 3 },
	{ S("null\n\nx"), 3, 1 },
	{ S("1\0"), 1, 2 },
	{ S("\"a\"\xc2\xa0"), 1, 4 },
	{ S("1 /* c */"), 1, 3 },
	/* words */
	{ S("nul"), 1, 1 },
	{ S("True"), 1, 1 },
	{ S("TRUE"), 1, 1 },
	{ S("nulll"), 1, 5 },
	{ S("truefalse"), 1, 5 },
	{ S("undefined"), 1, 1 },
	{ S("NaN"), 1, 1 },
	{ S("Infinity"), 1, 1 },
	{ S("-Infinity"), 1, 2 },
	/* numbers */
	{ S("-"), 1, 2 },
	{ S("+1"), 1, 1 },
	{ S("00"), 1, 2 },
	{ S("01"), 1, 2 },
	{ S("-01"), 1, 3 },
	{ S(".5"), 1, 1 },
	{ S("-.5"), 1, 2 },
	{ S("1."), 1, 3 },
	{ S("1.e5"), 1, 3 },
	{ S("1e"), 1, 3 },
	{ S("1e+"), 1, 4 },
	{ S("1e5.5"), 1, 4 },
	{ S("1.5.5"), 1, 4 },
	{ S("--1"), 1, 2 },
	{ S("- 1"), 1, 2 },
	{ S("1_000"), 1, 2 },
	{ S("0x10"), 1, 2 },
	{ S("1a"), 1, 2 },
	{ S("\xef\xbc\x91"), 1, 1 },
	/* strings */
	{ S("\""), 1, 2 },
	{ S("\"abc"), 1, 5 },
	{ S("\"abc\\"), 1, 5 },
	{ S("\"abc\\\""), 1, 7 },
	{ S("'abc'"), 1, 1 },
	{ S("abc"), 1, 1 },
	{ S("\"\\x41\""), 1, 2 },
	{ S("\"\\a\""), 1, 2 },
	{ S("\"\\0\""), 1, 2 },
	{ S("\"\\U0041\""), 1, 2 },
	{ S("\"\\u\""), 1, 2 },
	{ S("\"\\u004\""), 1, 2 },
	{ S("\"\\u004g\""), 1, 2 },
	{ S("\"\\u+041\""), 1, 2 },
	{ S("\"\\u 041\""), 1, 2 },
	{ S("\"\\ud800\\u12\""), 1, 8 },
	{ S("\"\\ud800\\\""), 1, 10 },
	{ S("\"a\nb\""), 1, 3 },
	{ S("\"a\tb\""), 1, 3 },
	{ S("\"a\0b\""), 1, 3 },
	{ S("\"\x1f\""), 1, 2 },
	{ S("\"\\\n\""), 1, 2 },
	/* arrays */
	{ S("["), 1, 2 },
	{ S("[1"), 1, 3 },
	{ S("[1,"), 1, 4 },
	{ S("[1,]"), 1, 4 },
	{ S("[,1]"), 1, 2 },
	{ S("[1,,2]"), 1, 4 },
	{ S("[1 2]"), 1, 4 },
	{ S("[1:2]"), 1, 3 },
	{ S("[1}"), 1, 3 },
	{ S("]"), 1, 1 },
	{ S("[\"a\",\n 4\n,1,"), 3, 4 },
	{ S("[1\v]"), 1, 3 },
	{ S("[\f]"), 1, 2 },
	{ S("[\xc2\xa0]"), 1, 2 },
	/* objects */
	{ S("{"), 1, 2 },
	{ S("}"), 1, 1 },
	{ S("{\"a\""), 1, 5 },
	{ S("{\"a\":"), 1, 6 },
	{ S("{\"a\":1"), 1, 7 },
	{ S("{\"a\":1,"), 1, 8 },
	{ S("{\"a\":1,}"), 1, 8 },
	{ S("{,}"), 1, 2 },
	{ S("{\"a\"}"), 1, 5 },
	{ S("{\"a\" 1}"), 1, 6 },
	{ S("{\"a\"::1}"), 1, 6 },
	{ S("{\"a\",1}"), 1, 5 },
	{ S("{\"a\":}"), 1, 6 },
	{ S("{\"a\":1 \"b\":2}"), 1, 8 },
	{ S("{\"a\":1]"), 1, 7 },
	{ S("{a:1}"), 1, 2 },
	{ S("{'a':1}"), 1, 2 },
	{ S("{1:1}"), 1, 2 },
	{ S("{null:1}"), 1, 2 },
	{ S("{[]:1}"), 1, 2 },
	{ S("{\"a\":1,\"b\"}"), 1, 11 },
	/* columns count characters */
	{ S("[\"\xc3\xa9\xe6\x97\xa5\", x]"), 1, 8 },
	{ S("{\n  \"a\": 1,\n  b: 2\n}"), 3, 3 },
};

START_TEST(refuses_what_the_rfc_refuses)
{
	struct err err = { 0 };
	struct json value = { .type = JSON_NONE };
	unsigned line, column, marks = 99;

	ck_assert_int_eq(
	    json_parse(refused[_i].text, &value, &marks, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_int_eq(
	    sscanf(err.text, "JSON line %u column %u: ", &line, &column), 2);
	ck_assert_uint_eq(line, refused[_i].line);
	ck_assert_uint_eq(column, refused[_i].column);
	ck_assert_int_eq(value.type, JSON_NONE);
	ck_assert_uint_eq(marks, 99);
}
END_TEST

START_TEST(the_value_is_what_stands_between_white_space)
{
	struct json value;

	ck_assert_int_eq(
	    json_parse(SLICE(" \n{\"a\": [ ] } \t"), &value, NULL, NULL), 0);
	ck_assert(slice_is(value.raw, "{\"a\": [ ] }"));
	ck_assert_int_eq(json_parse(SLICE("\r-1.50 "), &value, NULL, NULL), 0);
	ck_assert(slice_is(value.raw, "-1.50"));
	ck_assert_int_eq(json_parse(SLICE(" \" \" "), &value, NULL, NULL), 0);
	ck_assert(slice_is(value.raw, "\" \""));
}
END_TEST

static const char sample[] =
    "{\"id\":\"resp_1\",\"n\":-12.5e+3,\"ok\":true,\"no\":false,\"nil\":null,"
    "\"list\":[1,[],{\"a\\u00e9\":\"\\ud83d\\ude00\\n\"}],\"o\":{}}";

/* Each prefix in memory of its own size, so that a sanitizer sees what reads
 * behind it. */
START_TEST(refuses_a_text_cut_short)
{
	struct json value;

	for (size_t len = 0; len < sizeof(sample) - 1; len++) {
		char *copy = malloc(len + (len == 0));

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, sample, len);
		ck_assert_int_eq(
		    json_parse(slice_of(copy, len), &value, NULL, NULL), -1);
		free(copy);
	}
	ck_assert_int_eq(
	    json_parse(slice_string(sample), &value, NULL, NULL), 0);
}
END_TEST

START_TEST(refuses_control_characters_wherever_they_stand)
{
	struct json value;
	char text[60];

	for (size_t len = 3; len <= sizeof(text); len++) {
		for (size_t at = 1; at < len - 1; at++) {
			memset(text, 'a', sizeof(text));
			text[0] = text[len - 1] = '"';
			struct slice slice = slice_of(text, len);

			ck_assert_int_eq(
			    json_parse(slice, &value, NULL, NULL), 0);
			text[at] = (char)(at % 0x20);
			ck_assert_int_eq(
			    json_parse(slice, &value, NULL, NULL), -1);
			text[at] = '"';
			ck_assert_int_eq(
			    json_parse(slice, &value, NULL, NULL), -1);
			text[at] = (char)0x80;
			ck_assert_int_eq(
			    json_parse(slice, &value, NULL, NULL), 0);
		}
	}
}
END_TEST

/* Brackets in turn as the pattern says, `depth` of them, closed again. */
static void
nest(struct buf *buf, const char *pattern, size_t depth)
{
	size_t len = strlen(pattern);

	buf_clear(buf);
	for (size_t i = 0; i < depth; i++)
		buf_puts(buf, pattern[i % len] == '[' ? "[" : "{\"a\":");
	buf_putc(buf, '1');
	for (size_t i = depth; i-- > 0;)
		buf_putc(buf, pattern[i % len] == '[' ? ']' : '}');
}

static const char *const patterns[] = { "[", "{", "[{", "{[", "[[{", "{{[[[" };

START_TEST(depth_ends_at_its_limit)
{
	struct buf buf = BUF_INIT(1000000);
	struct err err = { 0 };
	struct json value;

	for (size_t depth = 1; depth <= JSON_DEPTH_MAX; depth++) {
		nest(&buf, patterns[_i], depth);
		ck_assert_int_eq(
		    json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	}
	nest(&buf, patterns[_i], JSON_DEPTH_MAX + 1);
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	nest(&buf, patterns[_i], 100000);
	err = (struct err){ 0 };
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&buf);
}
END_TEST

START_TEST(brackets_must_fit_at_every_depth)
{
	struct buf buf = BUF_INIT(10000);
	struct json value;
	size_t depth = JSON_DEPTH_MAX;

	nest(&buf, patterns[_i], depth);
	for (size_t i = 1; i <= depth; i++) {
		char *close = &buf.ptr[buf.len - i];
		char right = *close;

		*close = right == ']' ? '}' : ']';
		ck_assert_int_eq(
		    json_parse(buf_slice(&buf), &value, NULL, NULL), -1);
		*close = right;
	}
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	buf_release(&buf);
}
END_TEST

START_TEST(many_shallow_values_are_no_depth)
{
	struct buf buf = BUF_INIT(1000000);
	struct json value;

	buf_putc(&buf, '[');
	for (int i = 0; i < 1000; i++)
		buf_puts(&buf, "[{\"a\":[]}],");
	buf_puts(&buf, "0]");
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	buf_release(&buf);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/json_parse");
	TCase *grammar = tcase_create("grammar");
	TCase *depth = tcase_create("depth");

	tcase_add_loop_test(
	    grammar, takes_what_the_rfc_takes, 0, COUNT(accepted));
	tcase_add_loop_test(
	    grammar, refuses_what_the_rfc_refuses, 0, COUNT(refused));
	tcase_add_test(grammar, the_value_is_what_stands_between_white_space);
	tcase_add_test(grammar, refuses_a_text_cut_short);
	tcase_add_test(grammar, refuses_control_characters_wherever_they_stand);
	suite_add_tcase(suite, grammar);
	tcase_add_loop_test(depth, depth_ends_at_its_limit, 0, COUNT(patterns));
	tcase_add_loop_test(
	    depth, brackets_must_fit_at_every_depth, 0, COUNT(patterns));
	tcase_add_test(depth, many_shallow_values_are_no_depth);
	suite_add_tcase(suite, depth);
	return run_suite(suite);
}
