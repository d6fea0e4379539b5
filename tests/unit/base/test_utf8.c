/*
 * UTF-8: every code point, the examples of the Unicode standard (tables 3-7 to
 * 3-11 of version 15), cuts and repairs.
 */
#include "base/utf8.h"

#include <check.h>

#include "tests/unit/suite.h"

#define FFFD "\xef\xbf\xbd"

START_TEST(every_code_point_is_written_and_read_back)
{
	struct buf buf = BUF_INIT(8);

	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		uint32_t back;

		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		buf_clear(&buf);
		utf8_put(&buf, code);
		size_t len = utf8_step(buf_slice(&buf), &back);

		if (len != buf.len || back != code ||
		    utf8_valid(buf_slice(&buf)) != len ||
		    len != (code < 0x80         ? 1u
			       : code < 0x800   ? 2u
			       : code < 0x10000 ? 3u
						: 4u))
			ck_abort_msg("code point %x", code);
	}
	buf_release(&buf);
}
END_TEST

static const struct {
	uint32_t code;
	const char *bytes;
} written[] = {
	{ 0x24, "$" },
	{ 0xa3, "\xc2\xa3" },
	{ 0x418, "\xd0\x98" },
	{ 0x20ac, "\xe2\x82\xac" },
	{ 0xffff, "\xef\xbf\xbf" },
	{ 0x10348, "\xf0\x90\x8d\x88" },
	{ 0x10ffff, "\xf4\x8f\xbf\xbf" },
	{ 0x110000, FFFD },
	{ 0xd800, FFFD },
	{ 0xdfff, FFFD },
	{ UTF8_BAD, FFFD },
};

START_TEST(code_points_are_written_by_the_book)
{
	struct buf buf = BUF_INIT(8);

	utf8_put(&buf, written[_i].code);
	ck_assert(slice_is(buf_slice(&buf), written[_i].bytes));
	buf_release(&buf);
}
END_TEST

/* Is it one character of three bytes, by RFC 3629's arithmetic? */
static bool
is_three(const unsigned char b[3])
{
	unsigned code =
	    (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);

	return (b[0] & 0xf0) == 0xe0 && (b[1] & 0xc0) == 0x80 &&
	       (b[2] & 0xc0) == 0x80 && code >= 0x800 &&
	       (code < 0xd800 || code > 0xdfff);
}

START_TEST(every_three_bytes_are_judged_right)
{
	unsigned char b[3];

	for (unsigned n = 0xe00000; n <= 0xefffff; n++) {
		b[0] = (unsigned char)(n >> 16);
		b[1] = (unsigned char)(n >> 8);
		b[2] = (unsigned char)n;
		size_t want = is_three(b) ? 3 : 0;

		if (utf8_valid(slice_of(b, 3)) != want)
			ck_abort_msg("bytes %x", n);
	}
}
END_TEST

START_TEST(every_two_bytes_are_judged_right)
{
	unsigned char b[2];

	for (unsigned n = 0; n <= 0xffff; n++) {
		b[0] = (unsigned char)(n >> 8);
		b[1] = (unsigned char)n;
		size_t want =
		    b[0] < 0x80 ? (b[1] < 0x80 ? 2 : 1)
		    : b[0] >= 0xc2 && b[0] <= 0xdf && (b[1] & 0xc0) == 0x80 ? 2
									    : 0;

		if (utf8_valid(slice_of(b, 2)) != want)
			ck_abort_msg("bytes %x", n);
	}
}
END_TEST

static const struct {
	const char *bytes, *cleaned;
	size_t valid, bad;
} repaired[] = {
	{ "", "", 0, 0 },
	{ "plain", "plain", 5, 0 },
	{ "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80",
	    "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", 9, 0 },
	/* Overlong forms (table 3-8). */
	{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
	    FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A", 0, 8 },
	/* Surrogates (table 3-9). */
	{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
	    FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A", 0, 8 },
	/* Other ill-formed sequences (table 3-10). */
	{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
	    FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B", 0, 7 },
	/* Characters broken off (table 3-11). */
	{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", FFFD FFFD FFFD FFFD "A", 0,
	    4 },
	{ "abc\xf0\x9f\x98", "abc" FFFD, 3, 1 },
	{ "abc\xe6\x97", "abc" FFFD, 3, 1 },
	{ "\xc3"
	  "abcdef",
	    FFFD "abcdef", 0, 1 },
	{ "\xe6\x97"
	  "abcdef",
	    FFFD "abcdef", 0, 1 },
	{ "abc\xc3", "abc" FFFD, 3, 1 },
	{ "\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD, 0, 4 },
	{ "\xf5\x80\x80\x80", FFFD FFFD FFFD FFFD, 0, 4 },
	{ "\xf7\xbf\xbf\xbf", FFFD FFFD FFFD FFFD, 0, 4 },
	{ "\xf8\x88\x80\x80\x80", FFFD FFFD FFFD FFFD FFFD, 0, 5 },
	{ "a\xfe\xff"
	  "b",
	    "a" FFFD FFFD "b", 1, 2 },
};

START_TEST(bad_parts_become_the_replacement_character)
{
	struct buf buf = BUF_INIT(100);
	struct slice text = slice_string(repaired[_i].bytes);

	ck_assert_uint_eq(utf8_valid(text), repaired[_i].valid);
	ck_assert_uint_eq(utf8_clean(text, &buf), repaired[_i].bad);
	ck_assert(slice_is(buf_slice(&buf), repaired[_i].cleaned));
	ck_assert_uint_eq(utf8_valid(buf_slice(&buf)), buf.len);
	buf_release(&buf);
}
END_TEST

START_TEST(a_bad_byte_is_found_wherever_it_stands)
{
	char text[48];

	for (size_t len = 1; len <= sizeof(text); len++) {
		for (size_t at = 0; at < len; at++) {
			memset(text, 'a', sizeof(text));
			text[at] = (char)0x80;
			ck_assert_uint_eq(utf8_valid(slice_of(text, len)), at);
		}
	}
}
END_TEST

START_TEST(nothing_is_valid_and_clean)
{
	struct buf buf = BUF_INIT(1);

	ck_assert_uint_eq(utf8_valid((struct slice){ 0 }), 0);
	ck_assert_uint_eq(utf8_clean((struct slice){ 0 }, &buf), 0);
	ck_assert_uint_eq(utf8_cut((struct slice){ 0 }, 5), 0);
	ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(cuts_fall_between_characters)
{
	/* Characters of 1, 2, 3, 4 and 1 bytes: edges at 0 1 3 6 10 11. */
	static const char text[] = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80z";
	static const size_t edge[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11,
		11 };

	for (size_t max = 0; max < COUNT(edge); max++)
		ck_assert_uint_eq(utf8_cut(slice_string(text), max), edge[max]);
}
END_TEST

START_TEST(bad_bytes_are_cut_where_asked)
{
	/* No character reaches over these edges. */
	static const char *const texts[] = { "\x80\x80\x80\x80\x80\x80\x80",
		"\xff\xff\xff\xff\xff\xff\xff", "\xc3\xc3\xc3\xc3\xc3\xc3\xc3",
		"\xc3\xa9\xa9\xa9\xa9\xa9\xa9" };

	for (size_t t = 0; t < COUNT(texts); t++)
		for (size_t max = 2; max < 7; max++)
			ck_assert_uint_eq(
			    utf8_cut(slice_string(texts[t]), max), max);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/utf8");
	TCase *code = tcase_create("code");
	TCase *check = tcase_create("check");
	TCase *cut = tcase_create("cut");

	tcase_set_timeout(code, 60);
	tcase_add_test(code, every_code_point_is_written_and_read_back);
	tcase_add_loop_test(
	    code, code_points_are_written_by_the_book, 0, COUNT(written));
	suite_add_tcase(suite, code);
	tcase_set_timeout(check, 60);
	tcase_add_test(check, every_two_bytes_are_judged_right);
	tcase_add_test(check, every_three_bytes_are_judged_right);
	tcase_add_loop_test(check, bad_parts_become_the_replacement_character,
	    0, COUNT(repaired));
	tcase_add_test(check, a_bad_byte_is_found_wherever_it_stands);
	tcase_add_test(check, nothing_is_valid_and_clean);
	suite_add_tcase(suite, check);
	tcase_add_test(cut, cuts_fall_between_characters);
	tcase_add_test(cut, bad_bytes_are_cut_where_asked);
	suite_add_tcase(suite, cut);
	return run_suite(suite);
}
