/*
 * Reading checked JSON: walks, members by name, strings, numbers.
 */
#include "base/json.h"

#include <check.h>
#include <math.h>

#include "base/alloc.h"
#include "tests/unit/suite.h"

#define FFFD "\xef\xbf\xbd"

/* Parses a text that lives as long as the test. */
static struct json
parse(const char *text)
{
	struct json value = { 0 };
	struct err err = { 0 };

	if (json_parse(slice_string(text), &value, NULL, &err) == -1)
		ck_abort_msg("%s: %s", text, err.text);
	return value;
}

static const struct {
	const char *text;
	const char *members[8]; /* raw, in order */
} walks[] = {
	{ "[]", { NULL } },
	{ " [ ] ", { NULL } },
	{ "[1]", { "1" } },
	{ "[ 1 , \"a,]\" , [2,[3]] , {\"b\":[]} , null,true,-1.5e3 ]",
	    { "1", "\"a,]\"", "[2,[3]]", "{\"b\":[]}", "null", "true",
		"-1.5e3" } },
	{ "[\"\\\"\",\"\\\\\",\"]\",{\"}\":\"{\"},[\"]\"],0]",
	    { "\"\\\"\"", "\"\\\\\"", "\"]\"", "{\"}\":\"{\"}", "[\"]\"]",
		"0" } },
	{ "[1\n,\t2\r]", { "1", "2" } },
};

START_TEST(a_walk_gives_the_members_of_an_array)
{
	struct json_iter it = json_iter(parse(walks[_i].text));
	struct json key, value;
	size_t n = 0;

	while (json_next(&it, &key, &value)) {
		ck_assert_int_eq(key.type, JSON_NONE);
		ck_assert_ptr_nonnull(walks[_i].members[n]);
		ck_assert(slice_is(value.raw, walks[_i].members[n++]));
	}
	ck_assert_ptr_null(walks[_i].members[n]);
	ck_assert_uint_eq(json_count(parse(walks[_i].text)), n);
	ck_assert(!json_next(&it, &key, &value));
}
END_TEST

START_TEST(a_walk_gives_names_and_values_of_an_object)
{
	static const char text[] = "{ \"a\" : 1 , \"b:,}\" : { \"c\" : [ ] } ,"
				   "\"\\\"\":\"}\",\"\":null}";
	static const char *const names[] = { "\"a\"", "\"b:,}\"", "\"\\\"\"",
		"\"\"" };
	static const char *const values[] = { "1", "{ \"c\" : [ ] }", "\"}\"",
		"null" };
	struct json_iter it = json_iter(parse(text));
	struct json key, value;
	size_t n = 0;

	for (; json_next(&it, &key, &value); n++) {
		ck_assert_uint_lt(n, COUNT(names));
		ck_assert_int_eq(key.type, JSON_STRING);
		ck_assert(slice_is(key.raw, names[n]));
		ck_assert(slice_is(value.raw, values[n]));
	}
	ck_assert_uint_eq(n, COUNT(names));
	ck_assert_uint_eq(json_count(parse(text)), COUNT(names));
}
END_TEST

START_TEST(types_are_told_apart)
{
	static const enum json_type types[] = { JSON_NULL, JSON_TRUE,
		JSON_FALSE, JSON_NUMBER, JSON_NUMBER, JSON_STRING, JSON_ARRAY,
		JSON_OBJECT };
	struct json_iter it =
	    json_iter(parse("[null,true,false,0,-1,\"\",[],{}]"));
	struct json value;

	for (size_t i = 0; i < COUNT(types); i++) {
		ck_assert(json_next(&it, NULL, &value));
		ck_assert_int_eq(value.type, types[i]);
		ck_assert(json_true(value) == (types[i] == JSON_TRUE));
	}
	ck_assert(!json_next(&it, NULL, NULL));
}
END_TEST

static const char *const scalars[] = { "null", "true", "1", "\"[1]\"" };

START_TEST(other_types_have_no_members)
{
	struct json value = parse(scalars[_i]);
	struct json_iter it = json_iter(value);

	ck_assert(!json_next(&it, NULL, NULL));
	ck_assert_uint_eq(json_count(value), 0);
	ck_assert_int_eq(json_get(value, "a").type, JSON_NONE);
}
END_TEST

START_TEST(no_value_reads_as_nothing)
{
	struct buf buf = BUF_INIT(10);
	struct json none = { 0 };
	struct json_iter it = json_iter(none);
	int64_t i64;
	uint64_t u64;
	double number;

	ck_assert(!json_next(&it, NULL, NULL));
	ck_assert_uint_eq(json_count(none), 0);
	ck_assert_int_eq(json_get(none, "a").type, JSON_NONE);
	ck_assert(!json_is(none, ""));
	ck_assert(!json_true(none));
	ck_assert(!json_i64(none, &i64));
	ck_assert(!json_u64(none, &u64));
	ck_assert(!json_double(none, &number));
	ck_assert_ptr_null(json_string_new(none, 10));
	json_decode(none, &buf);
	json_scrub(none, &buf);
	json_pretty(none, &buf);
	ck_assert_uint_eq(buf.len, 0);
	ck_assert_int_eq(json_no_duplicates(none, NULL), 0);
}
END_TEST

static const struct {
	const char *text, *name, *raw; /* raw NULL: not there */
} members[] = {
	{ "{\"a\":1}", "a", "1" },
	{ "{\"a\":1}", "b", NULL },
	{ "{\"a\":1}", "", NULL },
	{ "{\"a\":1}", "aa", NULL },
	{ "{\"aa\":1}", "a", NULL },
	{ "{\"\":1}", "", "1" },
	{ "{ \"a\" : 1 , \"b\" : [ 2 ] }", "b", "[ 2 ]" },
	{ "{\"b\":{\"a\":1},\"c\":2}", "a", NULL },
	{ "{\"b\":\"a\",\"c\":2}", "a", NULL },
	{ "[\"a\",1]", "a", NULL },
	/* the last of a name counts */
	{ "{\"a\":1,\"a\":2}", "a", "2" },
	{ "{\"a\":1,\"\\u0061\":2}", "a", "2" },
	{ "{\"\\u0061\":1,\"a\":2,\"b\":3}", "a", "2" },
	/* escapes */
	{ "{\"\\u0061\":1}", "a", "1" },
	{ "{\"a\\nb\":1}", "a\nb", "1" },
	{ "{\"a\\nb\":1}", "a\\nb", NULL },
	{ "{\"a\\\\nb\":1}", "a\\nb", "1" },
	{ "{\"\\\"\":1}", "\"", "1" },
	{ "{\"\\/\":1}", "/", "1" },
	{ "{\"\\ud83d\\ude00\":1}", "\xf0\x9f\x98\x80", "1" },
	{ "{\"\\u00e9\":1}", "\xc3\xa9", "1" },
	{ "{\"\xc3\xa9\":1}", "\xc3\xa9", "1" },
	{ "{\"\\ud800\":1}", FFFD, "1" },
	{ "{\"\xff\":1}", FFFD, "1" },
	{ "{\"\xff\":1}", "\xff", NULL },
	{ "{\"\xe6\x97\xa5\":1,\"\xc3\xa9\":2}", "\xe6\x97\xa5", "1" },
	{ "{\"a\\u0000\":1}", "a", NULL },
	{ "{\"\\u0061b\":1}", "a", NULL },
};

START_TEST(members_are_found_by_name)
{
	struct json value = json_get(parse(members[_i].text), members[_i].name);

	if (members[_i].raw == NULL) {
		ck_assert_int_eq(value.type, JSON_NONE);
		return;
	}
	ck_assert_int_ne(value.type, JSON_NONE);
	ck_assert(slice_is(value.raw, members[_i].raw));
}
END_TEST

/* Names and values of all lengths, so that every tail of a scan is seen. */
START_TEST(members_of_any_length_are_found)
{
	struct buf buf = BUF_INIT(1000);
	char name[40];

	for (int len = 0; len < (int)sizeof(name) - 1; len++) {
		memset(name, 'n', sizeof(name));
		name[len] = '\0';
		buf_clear(&buf);
		buf_printf(
		    &buf, "{\"%sx\":\"%s\",\"%s\":%d}", name, name, name, len);
		char *text = buf_detach(&buf, NULL);
		struct json object = parse(text);
		int64_t number = -1;

		ck_assert(json_i64(json_get(object, name), &number));
		ck_assert_int_eq(number, len);
		mem_free(text);
	}
}
END_TEST

static const struct {
	const char *text;
	const char *decoded;
	size_t len;
} strings[] = {
	{ "\"\"", "", 0 },
	{ "\"abc\"", "abc", 3 },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
	{ "\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac", 6 },
	{ "\"\\uFFFF\\uffff\"", "\xef\xbf\xbf\xef\xbf\xbf", 6 },
	{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4 },
	{ "\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf", 4 },
	{ "\"\\ud800\\udc00\"", "\xf0\x90\x80\x80", 4 },
	{ "\"x\\ud800y\"", "x" FFFD "y", 5 },
	{ "\"\\udc00\\ud800\"", FFFD FFFD, 6 },
	{ "\"\\ud83d\\ud83d\\ude00\"", FFFD "\xf0\x9f\x98\x80", 7 },
	{ "\"\\ud83d\\u0041\"", FFFD "A", 4 },
	{ "\"\\u0041\\udc00\"", "A" FFFD, 4 },
	{ "\"\\ud800\\ue000\"", FFFD "\xee\x80\x80", 6 },
	{ "\"\\udbff\\udbff\"", FFFD FFFD, 6 },
	{ "\"\\udfff\\udfff\"", FFFD FFFD, 6 },
	{ "\"\\ud83d\\bdc00\"",
	    FFFD "\b"
		 "dc00",
	    8 },
	{ "\"\\ud83dxudc00\"", FFFD "xudc00", 9 },
	{ "\"a\\u0000b\"", "a\0b", 3 },
	{ "\"a\xff"
	  "b\"",
	    "a" FFFD "b", 5 },
	{ "\"\xe6\x97\"", FFFD, 3 },
	{ "\"\xc3\\u00a9\"", FFFD "\xc2\xa9", 5 },
	{ "\"\xe6\x97\xa5\xc3\xa9\"", "\xe6\x97\xa5\xc3\xa9", 5 },
};

START_TEST(strings_are_decoded)
{
	struct json value = parse(strings[_i].text);
	struct slice want = slice_of(strings[_i].decoded, strings[_i].len);
	bool has_nul = memchr(want.ptr, '\0', want.len) != NULL;
	struct buf buf = BUF_INIT(100);
	char *text = json_string_new(value, strings[_i].len);

	json_decode(value, &buf);
	ck_assert(slice_eq(buf_slice(&buf), want));
	ck_assert(json_is(value, strings[_i].decoded) == !has_nul);
	if (has_nul)
		ck_assert_ptr_null(text);
	else
		ck_assert_str_eq(text, strings[_i].decoded);
	if (strings[_i].len > 0)
		ck_assert_ptr_null(json_string_new(value, strings[_i].len - 1));
	mem_free(text);
	buf_release(&buf);
}
END_TEST

START_TEST(only_strings_are_decoded)
{
	struct json value = parse(scalars[_i]);
	struct buf buf = BUF_INIT(100);

	if (value.type == JSON_STRING)
		return;
	json_decode(value, &buf);
	ck_assert_uint_eq(buf.len, 0);
	ck_assert_ptr_null(json_string_new(value, 100));
	ck_assert(!json_is(value, scalars[_i]));
	ck_assert(!json_is(value, ""));
}
END_TEST

static const struct {
	const char *json, *text;
} unequal[] = {
	{ "\"a\"", "" },
	{ "\"\"", "a" },
	{ "\"a\"", "A" },
	{ "\"a\"", "ab" },
	{ "\"ab\"", "a" },
	{ "\"\\n\"", "\\n" },
	{ "\"\\u0061b\"", "a" },
	{ "\"\\u0061\"", "ab" },
	{ "\"\xff\"", "\xff" },
};

START_TEST(a_string_is_only_what_it_decodes_to)
{
	ck_assert(!json_is(parse(unequal[_i].json), unequal[_i].text));
}
END_TEST

static const struct {
	const char *text;
	bool is_i64, is_u64;
	int64_t i64;
	uint64_t u64;
} integers[] = {
	{ "0", true, true, 0, 0 },
	{ "-0", true, true, 0, 0 },
	{ "7", true, true, 7, 7 },
	{ "-7", true, false, -7, 0 },
	{ "9007199254740993", true, true, 9007199254740993, 9007199254740993 },
	{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
	{ "9223372036854775808", false, true, 0,
	    UINT64_C(9223372036854775808) },
	{ "-9223372036854775808", true, false, INT64_MIN, 0 },
	{ "-9223372036854775809", false, false, 0, 0 },
	{ "18446744073709551615", false, true, 0, UINT64_MAX },
	{ "18446744073709551616", false, false, 0, 0 },
	{ "99999999999999999999", false, false, 0, 0 },
	{ "184467440737095516150", false, false, 0, 0 },
	{ "1.0", false, false, 0, 0 },
	{ "1e2", false, false, 0, 0 },
	{ "1E2", false, false, 0, 0 },
	{ "0.0", false, false, 0, 0 },
	{ "-0.0", false, false, 0, 0 },
	{ "\"1\"", false, false, 0, 0 },
	{ "null", false, false, 0, 0 },
	{ "[1]", false, false, 0, 0 },
};

START_TEST(integers_are_read_by_their_digits)
{
	struct json value = parse(integers[_i].text);
	uint64_t u64 = 99;
	int64_t i64 = 99;

	ck_assert(json_i64(value, &i64) == integers[_i].is_i64);
	ck_assert(json_u64(value, &u64) == integers[_i].is_u64);
	ck_assert_int_eq(i64, integers[_i].is_i64 ? integers[_i].i64 : 99);
	ck_assert_uint_eq(u64, integers[_i].is_u64 ? integers[_i].u64 : 99);
}
END_TEST

static const struct {
	const char *text;
	bool fits;
	double number;
} doubles[] = {
	{ "0", true, 0 },
	{ "-1.5", true, -1.5 },
	{ "1e2", true, 100 },
	{ "1.7976931348623157e308", true, 0x1.fffffffffffffp1023 },
	{ "1e400", false, 0 },
	{ "-1e400", false, 0 },
	{ "1e-400", true, 0 },
	{ "0.1000000000000000055511151231257827021181583404541015625", true,
	    0.1 },
	{ "0.10000000000000000555111512312578270211815834045410156250000000000",
	    true, 0.1 },
	{ "9007199254740993", true, 9007199254740992 },
	{ "\"1\"", false, 0 },
	{ "true", false, 0 },
};

START_TEST(numbers_are_read_as_doubles)
{
	double number = 99;

	ck_assert(
	    json_double(parse(doubles[_i].text), &number) == doubles[_i].fits);
	ck_assert_double_eq(number, doubles[_i].fits ? doubles[_i].number : 99);
}
END_TEST

/* 1 with n zeros and e-n: longer than any place on the stack. */
START_TEST(a_number_of_any_length_is_read)
{
	struct buf buf = BUF_INIT(5000);
	double number = 0;

	for (size_t zeros = 0; zeros <= 2000; zeros += zeros < 150 ? 1 : 50) {
		buf_clear(&buf);
		buf_putc(&buf, '1');
		for (size_t i = 0; i < zeros; i++)
			buf_putc(&buf, '0');
		buf_printf(&buf, "e-%zu", zeros);
		char *text = buf_detach(&buf, NULL);

		ck_assert(json_double(parse(text), &number));
		ck_assert_double_eq(number, 1);
		mem_free(text);
	}
}
END_TEST

static void
add_reading(Suite *suite)
{
	TCase *walk = tcase_create("walk");

	tcase_add_loop_test(
	    walk, a_walk_gives_the_members_of_an_array, 0, COUNT(walks));
	tcase_add_test(walk, a_walk_gives_names_and_values_of_an_object);
	tcase_add_test(walk, types_are_told_apart);
	tcase_add_loop_test(
	    walk, other_types_have_no_members, 0, COUNT(scalars));
	tcase_add_test(walk, no_value_reads_as_nothing);
	tcase_add_loop_test(walk, members_are_found_by_name, 0, COUNT(members));
	tcase_add_test(walk, members_of_any_length_are_found);
	suite_add_tcase(suite, walk);
}

int
main(void)
{
	Suite *suite = suite_create("base/json");
	TCase *string = tcase_create("string");
	TCase *number = tcase_create("number");

	add_reading(suite);
	tcase_add_loop_test(string, strings_are_decoded, 0, COUNT(strings));
	tcase_add_loop_test(
	    string, only_strings_are_decoded, 0, COUNT(scalars));
	tcase_add_loop_test(
	    string, a_string_is_only_what_it_decodes_to, 0, COUNT(unequal));
	suite_add_tcase(suite, string);
	tcase_add_loop_test(
	    number, integers_are_read_by_their_digits, 0, COUNT(integers));
	tcase_add_loop_test(
	    number, numbers_are_read_as_doubles, 0, COUNT(doubles));
	tcase_add_test(number, a_number_of_any_length_is_read);
	suite_add_tcase(suite, number);
	return run_suite(suite);
}
