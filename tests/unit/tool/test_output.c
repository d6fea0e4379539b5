/*
 * Output of tools: what is kept, and the text that a model gets.
 */
#include "workers/tool/output.h"

#include <check.h>

#include "base/utf8.h"
#include "tests/unit/suite.h"

static void
check_text(const struct buf *text, const char *want, size_t len)
{
	ck_assert_msg(slice_eq(buf_slice(text), slice_of(want, len)),
	    "got \"%.*s\"", SLICE_ARGS(buf_slice(text)));
}

#define T(text)                                                                \
	{                                                                      \
		"" text, sizeof(text) - 1                                      \
	} /* a slice, constant */

static const struct {
	struct slice printed, text;
} cleaned[] = {
	{ T("plain\ttext\r\n"), T("plain\ttext\r\n") },
	{ T(""), T("") },
	{ T("a\0b"), T("ab") },
	{ T("\xff\xfe\033[31m\0x"), T("\xef\xbf\xbd\xef\xbf\xbdx") },
	{ T("\033[1;31mred\033[0m"), T("red") },
	{ T("\033]0;title\007after"), T("after") },
	{ T("\033]8;;http://x\033\\link\033]8;;\033\\"), T("link") },
	{ T("\033Pq#0\033\\six"), T("six") },
	{ T("\033(Bx\033=y\033c"), T("xy") },
	{ T("\033[?25lhidden"), T("hidden") },
	/* Sequences without an end do not swallow what follows. */
	{ T("\033]no end"), T("no end") },
	{ T("\033[12"), T("") },
	{ T("x\033"), T("x") },
	{ T("\033[12\nnext"), T("\nnext") },
	{ T("bell\007 back\b del\177"), T("bell back del") },
	/* U+009B and others: controls in eight bits. */
	{ T("a\xc2\x9b"
	    "b\xc2\x85"),
	    T("ab") },
	/* Taking a sequence out makes no new character of its neighbours. */
	{ T("\xc2\033[m\x9b"
	    "31m"),
	    T("\xef\xbf\xbd\xef\xbf\xbd"
	      "31m") },
	{ T("\xe2\x82\xac \xf0\x9f\x98\x80"),
	    T("\xe2\x82\xac \xf0\x9f\x98\x80") },
	{ T("cut \xe2\x82"), T("cut \xef\xbf\xbd") },
	{ T("\xed\xa0\x80"), T("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") },
};

START_TEST(a_model_gets_clean_text)
{
	struct output output;
	struct buf text = BUF_INIT(OUTPUT_TEXT_BYTES);

	output_init(&output);
	output_add(&output, cleaned[_i].printed.ptr, cleaned[_i].printed.len);
	output_text(&output, OUTPUT_TEXT_MAX, &text);
	check_text(&text, cleaned[_i].text.ptr, cleaned[_i].text.len);
	output_release(&output);
	buf_release(&text);
}
END_TEST

static void
clean_random_bytes(uint32_t random)
{
	struct buf text = BUF_INIT(OUTPUT_TEXT_BYTES);
	size_t bad = 0;
	char bytes[300];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		random = random * 1664525u + 1013904223u;
		bytes[i] = (char)(random >> 24);
		if ((random >> 16 & 7) == 0)
			bytes[i] = 033;
	}
	output_clean(slice_of(bytes, sizeof(bytes)), 200, &text);
	ck_assert_uint_eq(utf8_valid(buf_slice(&text)), text.len);
	for (size_t i = 0; i < text.len; i++)
		bad += (unsigned char)text.ptr[i] < 0x20 &&
		       strchr("\t\n\r", text.ptr[i]) == NULL;
	ck_assert_uint_eq(bad, 0);
	buf_release(&text);
}

START_TEST(random_bytes_become_valid_text_without_controls)
{
	for (uint32_t seed = 0; seed < 500; seed++)
		clean_random_bytes(4711 + seed);
}
END_TEST

/* What head, marker and tail must be for text that is too long. */
START_TEST(a_long_text_loses_its_middle_at_sixty_percent)
{
	struct buf text = BUF_INIT(4096);
	const char *want = "abcdef\n[... 16 bytes left out ...]\nwxyz";

	output_clean(SLICE("abcdefghijklmnopqrstuvwxyz"), 10, &text);
	check_text(&text, want, strlen(want));
	buf_release(&text);
}
END_TEST

START_TEST(a_text_that_fits_exactly_stays_whole)
{
	struct buf text = BUF_INIT(4096);

	output_clean(SLICE("\xe2\x82\xac"
			   "23456789\xe2\x82\xac"),
	    10, &text);
	check_text(&text,
	    "\xe2\x82\xac"
	    "23456789\xe2\x82\xac",
	    14);
	buf_release(&text);
}
END_TEST

START_TEST(limits_count_characters_and_cut_between_them)
{
	struct buf text = BUF_INIT(4096);
	/* 10 characters of 3 bytes, at most 5: three, and two. */
	const char *want = "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\n"
			   "[... 15 bytes left out ...]\n"
			   "\xe2\x82\xac\xe2\x82\xac";

	output_clean(SLICE("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			   "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			   "\xe2\x82\xac\xe2\x82\xac"),
	    5, &text);
	check_text(&text, want, strlen(want));
	buf_release(&text);
}
END_TEST

START_TEST(a_marker_stands_on_a_line_of_its_own)
{
	struct buf text = BUF_INIT(4096);
	const char *want = "abcde\n[... 16 bytes left out ...]\nwxyz";

	output_clean(SLICE("abcde\nghijklmnopqrstuvwxyz"), 10, &text);
	check_text(&text, want, strlen(want));
	buf_release(&text);
}
END_TEST

/* The k-th byte of a stream that never repeats soon. */
static char
byte_at(uint64_t k)
{
	return (char)('a' + (k * 7 + k / 26) % 26);
}

static void
print(struct output *output, uint64_t total, size_t piece)
{
	char bytes[8192];

	for (uint64_t done = 0; done < total;) {
		size_t n =
		    piece < total - done ? piece : (size_t)(total - done);

		for (size_t i = 0; i < n; i++)
			bytes[i] = byte_at(done + i);
		output_add(output, bytes, n);
		done += n;
	}
}

/* Are these bytes the k-th and following of the stream? Asked once: Check notes
 * down every assertion. */
static bool
is_stream(const char *bytes, size_t len, uint64_t k)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != byte_at(k + i))
			return false;
	}
	return true;
}

static const struct {
	uint64_t total;
	size_t piece;
} printed[] = {
	{ 0, 1 },
	{ 1000, 7 },
	{ OUTPUT_HEAD_MAX - 1, 4096 },
	{ OUTPUT_HEAD_MAX, 4096 },
	{ OUTPUT_HEAD_MAX + 1, 1000 },
	{ OUTPUT_HEAD_MAX + OUTPUT_TAIL_MAX, 8192 },
	{ OUTPUT_HEAD_MAX + OUTPUT_TAIL_MAX + 1, 8192 },
	{ 3 * OUTPUT_HEAD_MAX + 77, 8191 },
	{ 5000000, 8192 },
};

START_TEST(head_and_tail_are_kept_and_the_rest_is_counted)
{
	uint64_t total = printed[_i].total;
	uint64_t most = OUTPUT_HEAD_MAX + OUTPUT_TAIL_MAX;
	uint64_t dropped = total > most ? total - most : 0;
	struct output output;

	output_init(&output);
	print(&output, total, printed[_i].piece);
	ck_assert_uint_eq(output.total, total);
	ck_assert_uint_eq(output_dropped(&output), dropped);
	ck_assert(is_stream(output.head.ptr, output.head.len, 0));
	ck_assert(is_stream(output.tail.ptr + output.tail_start,
	    output.tail.len - output.tail_start, total - output.tail.len));
	ck_assert(is_stream(
	    output.tail.ptr, output.tail_start, total - output.tail_start));
	output_release(&output);
}
END_TEST

START_TEST(a_flood_shows_its_start_and_its_end)
{
	struct buf text = BUF_INIT(OUTPUT_TEXT_BYTES);
	struct output output;
	uint64_t total = 5000000;
	size_t head = OUTPUT_TEXT_MAX * 6 / 10;
	char marker[64];
	int len = snprintf(marker, sizeof(marker),
	    "\n[... %llu bytes left out ...]\n",
	    (unsigned long long)(total - OUTPUT_TEXT_MAX));

	output_init(&output);
	print(&output, total, 8192);
	output_text(&output, OUTPUT_TEXT_MAX, &text);
	ck_assert_uint_eq(text.len, OUTPUT_TEXT_MAX + (size_t)len);
	ck_assert(is_stream(text.ptr, head, 0));
	ck_assert_int_eq(memcmp(text.ptr + head, marker, (size_t)len), 0);
	ck_assert(is_stream(text.ptr + head + len, OUTPUT_TEXT_MAX - head,
	    total - (OUTPUT_TEXT_MAX - head)));
	output_release(&output);
	buf_release(&text);
}
END_TEST

/* A character lies across each of the places where bytes were dropped. */
START_TEST(what_was_dropped_breaks_no_character)
{
	struct buf text = BUF_INIT(OUTPUT_HEAD_MAX + OUTPUT_TAIL_MAX + 99);
	struct buf bad = BUF_INIT(8);
	struct output output;

	utf8_put(&bad, 0xfffd);
	output_init(&output);
	for (size_t i = 0; i < 500000; i++)
		output_add(&output, "\xe2\x82\xac", 3);
	output_add(&output, "xx", (size_t)_i);
	output_text(&output, 400000, &text); /* all of both */
	ck_assert_ptr_null(memmem(text.ptr, text.len, bad.ptr, bad.len));
	ck_assert_uint_eq(utf8_valid(buf_slice(&text)), text.len);
	output_release(&output);
	buf_release(&bad);
	buf_release(&text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tool/output");
	TCase *clean = tcase_create("clean");
	TCase *cut = tcase_create("cut");
	TCase *keep = tcase_create("keep");

	tcase_add_loop_test(clean, a_model_gets_clean_text, 0, COUNT(cleaned));
	tcase_add_test(clean, random_bytes_become_valid_text_without_controls);
	suite_add_tcase(suite, clean);
	tcase_add_test(cut, a_long_text_loses_its_middle_at_sixty_percent);
	tcase_add_test(cut, a_text_that_fits_exactly_stays_whole);
	tcase_add_test(cut, limits_count_characters_and_cut_between_them);
	tcase_add_test(cut, a_marker_stands_on_a_line_of_its_own);
	suite_add_tcase(suite, cut);
	tcase_add_loop_test(keep,
	    head_and_tail_are_kept_and_the_rest_is_counted, 0, COUNT(printed));
	tcase_add_test(keep, a_flood_shows_its_start_and_its_end);
	tcase_add_loop_test(keep, what_was_dropped_breaks_no_character, 0, 3);
	suite_add_tcase(suite, keep);
	return run_suite(suite);
}
