/* Promises of cli/print.c: no control reaches a terminal; short forms. */
#include "cli/print.h"

#include <check.h>

#include "tests/unit/suite.h"

static struct buf out;

static void
setup(void)
{
	out = BUF_INIT(PRINT_MAX);
}

static void
teardown(void)
{
	buf_release(&out);
}

/* What was printed since the last call. */
static const char *
printed(void)
{
	static char text[8192];

	ck_assert(!out.failed && out.len < sizeof(text));
	memcpy(text, out.ptr == NULL ? "" : out.ptr, out.len);
	text[out.len] = '\0';
	buf_clear(&out);
	return text;
}

static struct json
json(const char *text)
{
	struct json value;

	ck_assert_int_eq(json_parse(slice_string(text), &value, NULL, NULL), 0);
	return value;
}

/* ---- safe text ---- */

START_TEST(lets_no_control_character_through)
{
	for (unsigned c = 0; c < 0x20; c++) {
		char text[] = { 'a', (char)c, 'b' };

		print_text(&out, slice_of(text, sizeof(text)));
		if (c == '\n' || c == '\t')
			ck_assert_mem_eq(out.ptr, text, sizeof(text));
		else
			ck_assert_msg(slice_is(buf_slice(&out), "ab"), "%u", c);
		buf_clear(&out);
		print_word(&out, slice_of(text, sizeof(text)), 0);
		ck_assert_str_eq(
		    printed(), c == '\n' || c == '\t' ? "a b" : "ab");
	}
}
END_TEST

static const struct {
	const char *text, *safe;
} texts[] = {
	{ "\033[31mred\033[0m", "[31mred[0m" },
	{ "\033]0;title\007x", "]0;titlex" },
	{ "a\177b", "ab" },
	{ "a\xc2\x80z\xc2\x9bz\xc2\x9fz", "azzz" },
	{ "\xc2\xa0", "\xc2\xa0" },
	{ "a\xe2\x80\xae"
	  "b\xe2\x81\xa6"
	  "c\xe2\x80\x8e"
	  "d\xd8\x9c",
	    "abcd" },
	{ "line\xe2\x80\xa8sep\xe2\x80\xa9", "linesep" },
	{ "a\r\nb\rc", "a\nbc" },
	{ "\xff"
	  "a",
	    "\xef\xbf\xbd"
	    "a" },
	{ "\xc2", "\xef\xbf\xbd" },
	{ "\xe2\x82\xac \xf0\x9f\x98\x80 h\xc3\xa9",
	    "\xe2\x82\xac \xf0\x9f\x98\x80 h\xc3\xa9" },
	{ "", "" },
};

START_TEST(drops_what_moves_or_hides_text)
{
	print_text(&out, slice_string(texts[_i].text));
	ck_assert_str_eq(printed(), texts[_i].safe);
}
END_TEST

static const struct {
	const char *text;
	size_t max;
	const char *word;
} words[] = {
	{ "one", 3, "one" },
	{ "four", 3, "fo…" },
	{ "  a \n\t b  ", 0, "a b" },
	{ "h\xc3\xa9h\xc3\xa9", 4, "h\xc3\xa9h\xc3\xa9" },
	{ "h\xc3\xa9h\xc3\xa9h", 4, "h\xc3\xa9h…" },
	{ "a", 1, "a" },
	{ "ab", 1, "…" },
	{ "\033\033ab", 2, "ab" },
	{ "", 5, "" },
};

START_TEST(cuts_a_word_at_a_character)
{
	print_word(&out, slice_string(words[_i].text), words[_i].max);
	ck_assert_str_eq(printed(), words[_i].word);
}
END_TEST

/* ---- blocks ---- */

static const struct {
	const char *text;
	size_t lines, bytes;
	const char *block;
} blocks[] = {
	{ "", 0, 0, "" },
	{ "a", 0, 0, "> a\n" },
	{ "a\nb\n", 0, 0, "> a\n> b\n" },
	{ "a\n\nb", 0, 0, "> a\n> \n> b\n" },
	{ "a\nb\nc", 3, 0, "> a\n> b\n> c\n" },
	{ "a\nb\nc", 2, 0, "> a\n> b\n> … 1 more line, 1 bytes\n" },
	{ "a\nb\nc\n", 1, 0, "> a\n> … 2 more lines, 4 bytes\n" },
	{ "abcdef", 0, 4, "> abcd\n> … 1 more line, 2 bytes\n" },
	{ "ab\ncdef", 0, 4, "> ab\n> cd\n> … 1 more line, 2 bytes\n" },
	{ "h\xc3\xa9", 0, 2, "> h\n> … 1 more line, 2 bytes\n" },
	{ "x\033[2Jy", 0, 0, "> x[2Jy\n" },
};

START_TEST(indents_a_block_and_says_what_it_left_out)
{
	print_block(&out, slice_string(blocks[_i].text), "> ", blocks[_i].lines,
	    blocks[_i].bytes);
	ck_assert_str_eq(printed(), blocks[_i].block);
}
END_TEST

/* ---- values ---- */

START_TEST(prints_strings_decoded_and_other_json_as_it_is)
{
	print_value(&out, json("\"a\\u001b[1m\\nb\\u0000\""));
	ck_assert_str_eq(printed(), "a[1m\nb");
	print_value(&out, json("{\"a\": 12345678901234567890}"));
	ck_assert_str_eq(printed(), "{\"a\": 12345678901234567890}");
	print_value(&out, json("null"));
	ck_assert_str_eq(printed(), "");
	print_value_word(&out, json("\"a\\nb\""), 0);
	ck_assert_str_eq(printed(), "a b");
}
END_TEST

START_TEST(prints_json_on_one_line_without_touching_strings)
{
	print_json_line(&out, json("{\n\"a\":\r\n\"x\\ny\"}"));
	ck_assert_str_eq(printed(), "{ \"a\":  \"x\\ny\"}\n");
}
END_TEST

static const struct {
	uint64_t ms;
	const char *text;
} spans[] = {
	{ 0, "0 ms" },
	{ 999, "999 ms" },
	{ 1000, "1.0 s" },
	{ 1449, "1.4 s" },
	{ 1450, "1.5 s" },
	{ 1950, "2.0 s" },
	{ 59949, "59.9 s" },
	{ 59950, "1 min 0 s" },
	{ 125000, "2 min 5 s" },
	{ 3599500, "1 h 0 min" },
	{ 11400000, "3 h 10 min" },
};

START_TEST(prints_a_span_of_time)
{
	print_ms(&out, spans[_i].ms);
	ck_assert_str_eq(printed(), spans[_i].text);
}
END_TEST

START_TEST(prints_a_time_in_the_readers_zone)
{
	setenv("TZ", "UTC-2", 1);
	print_time(&out, json("\"2026-01-02T03:04:05.678+00:00\""));
	ck_assert_str_eq(printed(), "2026-01-02 05:04:05");
	print_time(&out, json("\"never\\u001b\""));
	ck_assert_str_eq(printed(), "never");
	print_time(&out, json("null"));
	ck_assert_str_eq(printed(), "");
}
END_TEST

/* ---- looks and tables ---- */

START_TEST(uses_no_escape_without_colour)
{
	struct style plain = { 0 }, colour = { .colour = true };

	print_word_as(&out, plain, PRINT_BOLD, SLICE("x"), 0);
	ck_assert_str_eq(printed(), "x");
	print_word_as(&out, colour, PRINT_BOLD, SLICE("x"), 0);
	ck_assert_str_eq(printed(), "\033[1mx\033[0m");
}
END_TEST

START_TEST(gives_a_stream_that_is_no_terminal_no_colour)
{
	FILE *file = tmpfile();

	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	ck_assert(!style_of(file).colour);
	ck_assert_uint_eq(style_of(file).width, 0);
	fclose(file);
}
END_TEST

START_TEST(makes_columns_as_wide_as_their_cells)
{
	static const char *const heads[] = { "A", "LONG", "C" };
	struct table table;

	table_init(&table, heads, COUNT(heads));
	table_value(&table, json("\"h\\u00e9llo\\n\""), 0);
	table_value(&table, json("1"), 0);
	table_cell(&table, SLICE("a\033b"), 0);
	table_value(&table, json("null"), 0);
	table_cell(&table, SLICE("abcdef"), 5);
	table_value(&table, json("null"), 0);
	table_print(&table, (struct style){ 0 }, &out);
	ck_assert_str_eq(printed(), "A      LONG   C\n"
				    "h\xc3\xa9llo  1      ab\n"
				    "       abcd…\n");
	table_print(&table, (struct style){ .width = 9 }, &out);
	ck_assert_str_eq(printed(), "A      LO\n"
				    "h\xc3\xa9llo  1\n"
				    "       ab\n");
	table_release(&table);
}
END_TEST

START_TEST(reports_a_stream_that_takes_nothing)
{
	FILE *full = fopen("/dev/full", "w");
	struct err err = { 0 };

	buf_puts(&out, "text");
	ck_assert_int_eq(print_flush(&out, full, &err), -1);
	ck_assert_int_eq(err.kind, ERR_SYSTEM);
	fclose(full);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/print");
	TCase *safe = tcase_create("safe text"),
	      *block = tcase_create("blocks");
	TCase *value = tcase_create("values"), *table = tcase_create("tables");
	TCase *all[] = { safe, block, value, table };

	tcase_add_test(safe, lets_no_control_character_through);
	tcase_add_loop_test(
	    safe, drops_what_moves_or_hides_text, 0, COUNT(texts));
	tcase_add_loop_test(safe, cuts_a_word_at_a_character, 0, COUNT(words));
	tcase_add_loop_test(
	    block, indents_a_block_and_says_what_it_left_out, 0, COUNT(blocks));
	tcase_add_test(value, prints_strings_decoded_and_other_json_as_it_is);
	tcase_add_test(value, prints_json_on_one_line_without_touching_strings);
	tcase_add_loop_test(value, prints_a_span_of_time, 0, COUNT(spans));
	tcase_add_test(value, prints_a_time_in_the_readers_zone);
	tcase_add_test(table, uses_no_escape_without_colour);
	tcase_add_test(table, gives_a_stream_that_is_no_terminal_no_colour);
	tcase_add_test(table, makes_columns_as_wide_as_their_cells);
	tcase_add_test(table, reports_a_stream_that_takes_nothing);
	for (size_t i = 0; i < COUNT(all); i++) {
		tcase_add_checked_fixture(all[i], setup, teardown);
		suite_add_tcase(suite, all[i]);
	}
	return run_suite(suite);
}
