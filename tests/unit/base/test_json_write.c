/*
 * Writing JSON: strings that any reader takes, commas where they belong, the
 * scrubbed and the indented copy.
 */
#include "base/json.h"

#include <check.h>
#include <signal.h>

#include "tests/unit/base/apart.h"
#include "tests/unit/suite.h"

#define S(text)                                                                \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}
#define FFFD "\xef\xbf\xbd"

static const struct {
	struct slice text;
	const char *json;
} strings[] = {
	{ { NULL, 0 }, "\"\"" },
	{ S("plain"), "\"plain\"" },
	{ S("\"\\/"), "\"\\\"\\\\/\"" },
	{ S("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
	{ S("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\"" },
	{ S("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80"),
	    "\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\"" },
	{ S("a\xff\xe6\x97z"), "\"a" FFFD FFFD "z\"" },
	{ S("\xc3\"\xa9"), "\"" FFFD "\\\"" FFFD "\"" },
	{ S("\xed\xa0\x80"), "\"" FFFD FFFD FFFD "\"" },
};

START_TEST(text_becomes_a_string)
{
	struct buf buf = BUF_INIT(200);

	json_put_string(&buf, strings[_i].text);
	ck_assert(slice_is(buf_slice(&buf), strings[_i].json));
	buf_release(&buf);
}
END_TEST

/* Each byte at each place of words of all lengths. */
START_TEST(every_byte_comes_back)
{
	struct buf json = BUF_INIT(1000), back = BUF_INIT(1000);
	char text[20];

	for (size_t len = 1; len <= sizeof(text); len++) {
		for (unsigned c = 0; c < 0x80; c++) {
			struct json value;

			memset(text, 'a', sizeof(text));
			text[(len + c) % len] = (char)c;
			buf_clear(&json);
			buf_clear(&back);
			json_put_string(&json, slice_of(text, len));
			ck_assert_int_eq(
			    json_parse(buf_slice(&json), &value, NULL, NULL),
			    0);
			json_decode(value, &back);
			ck_assert(
			    slice_eq(buf_slice(&back), slice_of(text, len)));
		}
	}
	buf_release(&json);
	buf_release(&back);
}
END_TEST

START_TEST(commas_stand_where_they_belong)
{
	struct buf buf = BUF_INIT(1000);
	struct json_writer w = json_writer(&buf);
	struct json value;

	json_open(&w, '{');
	json_key(&w, "empty");
	json_open(&w, '[');
	json_close(&w);
	json_key_slice(&w, SLICE("a\nb"));
	json_open(&w, '[');
	json_str(&w, SLICE("x"));
	json_text(&w, "y");
	json_text(&w, NULL);
	json_raw(&w, SLICE("{\"z\": 1}"));
	json_raw(&w, (struct slice){ 0 });
	json_num(&w, INT64_MIN);
	json_unum(&w, UINT64_MAX);
	json_bool(&w, true);
	json_bool(&w, false);
	json_null(&w);
	json_open(&w, '{');
	json_close(&w);
	json_open(&w, '[');
	json_num(&w, 1);
	json_close(&w);
	json_close(&w);
	json_key(&w, "last");
	json_null(&w);
	json_close(&w);
	ck_assert(slice_is(buf_slice(&buf),
	    "{\"empty\":[],\"a\\nb\":[\"x\",\"y\",null,{\"z\": 1},null,"
	    "-9223372036854775808,18446744073709551615,true,false,null,{},[1]],"
	    "\"last\":null}"));
	ck_assert_int_eq(json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	buf_release(&buf);
}
END_TEST

#define WRITER_DEPTH 60

static void
write_deep(struct buf *buf, unsigned depth)
{
	struct json_writer w = json_writer(buf);

	for (unsigned i = 0; i < depth; i++) {
		json_open(&w, i % 3 == 0 ? '[' : '{');
		if (i % 3 != 0)
			json_key(&w, "k");
	}
	json_num(&w, 1);
	for (unsigned i = 0; i < depth; i++)
		json_close(&w);
}

START_TEST(every_bracket_is_closed_by_its_own)
{
	struct buf buf = BUF_INIT(10000);
	struct json value;

	for (unsigned depth = 0; depth <= WRITER_DEPTH; depth++) {
		buf_clear(&buf);
		write_deep(&buf, depth);
		ck_assert_int_eq(
		    json_parse(buf_slice(&buf), &value, NULL, NULL), 0);
	}
	buf_release(&buf);
}
END_TEST

static void
write_too_deep(void)
{
	struct buf buf = BUF_INIT(10000);

	write_deep(&buf, WRITER_DEPTH + 1);
}

static void
close_too_often(void)
{
	struct buf buf = BUF_INIT(10000);
	struct json_writer w = json_writer(&buf);

	json_open(&w, '[');
	json_close(&w);
	json_close(&w);
}

static void
open_something_else(void)
{
	struct buf buf = BUF_INIT(10000);
	struct json_writer w = json_writer(&buf);

	json_open(&w, '(');
}

static void (*const misuses[])(
    void) = { write_too_deep, close_too_often, open_something_else };

START_TEST(misuse_of_the_writer_is_a_bug)
{
	struct apart apart;

	apart_run(&apart, misuses[_i]);
	ck_assert(apart_aborted(&apart));
}
END_TEST

START_TEST(a_full_buffer_is_found_at_the_end)
{
	struct buf buf = BUF_INIT(10);
	struct json_writer w = json_writer(&buf);

	json_open(&w, '[');
	for (int i = 0; i < 100; i++)
		json_text(&w, "text");
	json_close(&w);
	ck_assert_int_eq(buf_check(&buf, "list", NULL), -1);
	ck_assert_uint_le(buf.len, 10);
	buf_release(&buf);
}
END_TEST

static const struct {
	const char *text, *scrubbed;
} scrubs[] = {
	{ "null", "null" },
	{ "{ \"a\" : [ 1.50 , -0 , 1e+05 ] }",
	    "{ \"a\" : [ 1.50 , -0 , 1e+05 ] }" },
	{ "\"\\u0041\\/\\n\\u00e9\"", "\"\\u0041\\/\\n\\u00e9\"" },
	{ "\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"" },
	{ "\"a\\u0000b\"", "\"a\\ufffdb\"" },
	{ "\"\\\\u0000\"", "\"\\\\u0000\"" },
	{ "\"\\ud800\"", "\"\\ufffd\"" },
	{ "\"\\udc00x\"", "\"\\ufffdx\"" },
	{ "\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"" },
	{ "\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\"" },
	{ "\"\\ud83d\\n\"", "\"\\ufffd\\n\"" },
	{ "\"a\xff\xe6\x97z\"", "\"a" FFFD FFFD "z\"" },
	{ "\"\xc3\\n\xa9\"", "\"" FFFD "\\n" FFFD "\"" },
	{ "\"\xe6\x97\xa5\"", "\"\xe6\x97\xa5\"" },
	{ "{\"\\u0000\":{\"\xff\":[\"\\ud800\"]}}",
	    "{\"\\ufffd\":{\"" FFFD "\":[\"\\ufffd\"]}}" },
};

START_TEST(scrubbing_changes_only_what_was_marked)
{
	struct buf out = BUF_INIT(200);
	struct json value, again;
	unsigned marks = 0, marks_left = 99;

	ck_assert_int_eq(
	    json_parse(slice_string(scrubs[_i].text), &value, &marks, NULL), 0);
	json_scrub(value, &out);
	ck_assert(slice_is(buf_slice(&out), scrubs[_i].scrubbed));
	ck_assert((marks == 0) == slice_eq(value.raw, buf_slice(&out)));
	ck_assert_int_eq(
	    json_parse(buf_slice(&out), &again, &marks_left, NULL), 0);
	ck_assert_uint_eq(marks_left, 0);
	buf_release(&out);
}
END_TEST

static const struct {
	const char *text, *pretty;
} pretties[] = {
	{ "null", "null" },
	{ "\"a \\n b\"", "\"a \\n b\"" },
	{ "[]", "[]" },
	{ "[ ]", "[]" },
	{ "{\n}", "{}" },
	{ "[\r\n\t1\r,\n\t2\t]", "[\n  1,\n  2\n]" },
	{ "[[],{}]", "[\n  [],\n  {}\n]" },
	{ "[1,2.50,\"a,b\"]", "[\n  1,\n  2.50,\n  \"a,b\"\n]" },
	{ "{\"a\":1,\"b\":{\"c\":[true,{\"d\":null}]}}",
	    "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      true,\n"
	    "      {\n        \"d\": null\n      }\n    ]\n  }\n}" },
	{ "{ \"{[,:]}\" : \"\\\"{\" }", "{\n  \"{[,:]}\": \"\\\"{\"\n}" },
	{ "{\n  \"a\": [\n    1\n  ]\n}", "{\n  \"a\": [\n    1\n  ]\n}" },
};

START_TEST(the_indented_copy_is_for_people)
{
	struct buf out = BUF_INIT(500);
	struct json value;

	ck_assert_int_eq(
	    json_parse(slice_string(pretties[_i].text), &value, NULL, NULL), 0);
	json_pretty(value, &out);
	ck_assert(slice_is(buf_slice(&out), pretties[_i].pretty));
	buf_release(&out);
}
END_TEST

START_TEST(the_indented_copy_of_the_deepest_text_is_json)
{
	struct buf in = BUF_INIT(1000), out = BUF_INIT(1000000);
	struct json value;

	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_putc(&in, '[');
	buf_putc(&in, '1');
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_putc(&in, ']');
	ck_assert_int_eq(json_parse(buf_slice(&in), &value, NULL, NULL), 0);
	json_pretty(value, &out);
	ck_assert_int_eq(json_parse(buf_slice(&out), &value, NULL, NULL), 0);
	/* Each line but the first is indented by two for each level. */
	ck_assert_uint_eq(
	    out.len, (size_t)JSON_DEPTH_MAX * (JSON_DEPTH_MAX - 1) * 2 +
			 4 * JSON_DEPTH_MAX + 2 * JSON_DEPTH_MAX + 1);
	buf_release(&in);
	buf_release(&out);
}
END_TEST

static void
add_copies(Suite *suite)
{
	TCase *scrub = tcase_create("scrub");
	TCase *pretty = tcase_create("pretty");

	tcase_add_loop_test(
	    scrub, scrubbing_changes_only_what_was_marked, 0, COUNT(scrubs));
	suite_add_tcase(suite, scrub);
	tcase_add_loop_test(
	    pretty, the_indented_copy_is_for_people, 0, COUNT(pretties));
	tcase_add_test(pretty, the_indented_copy_of_the_deepest_text_is_json);
	suite_add_tcase(suite, pretty);
}

int
main(void)
{
	Suite *suite = suite_create("base/json_write");
	TCase *string = tcase_create("string");
	TCase *writer = tcase_create("writer");

	tcase_add_loop_test(string, text_becomes_a_string, 0, COUNT(strings));
	tcase_add_test(string, every_byte_comes_back);
	suite_add_tcase(suite, string);
	tcase_add_test(writer, commas_stand_where_they_belong);
	tcase_add_test(writer, every_bracket_is_closed_by_its_own);
	tcase_add_loop_test(
	    writer, misuse_of_the_writer_is_a_bug, 0, COUNT(misuses));
	tcase_add_test(writer, a_full_buffer_is_found_at_the_end);
	suite_add_tcase(suite, writer);
	add_copies(suite);
	return run_suite(suite);
}
