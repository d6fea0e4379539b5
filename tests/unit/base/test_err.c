/*
 * Errors: texts that fit, keep their cause and stay UTF-8.
 */
#include "base/err.h"

#include <check.h>

#include "base/utf8.h"
#include "tests/unit/suite.h"

#define TEXT_MAX (sizeof(((struct err *)0)->text) - 1)

START_TEST(setting_fills_everything_anew)
{
	struct err err = { .kind = ERR_DB_DATA,
		.code = 5,
		.sqlstate = "22P05",
		.text = "old" };

	ck_assert_int_eq(err_set(&err, ERR_INPUT, "line %d: %s", 3, "bad"), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_int_eq(err.code, 0);
	ck_assert_str_eq(err.sqlstate, "");
	ck_assert_str_eq(err.text, "line 3: bad");
}
END_TEST

START_TEST(nobody_need_listen)
{
	errno = ENOENT;
	ck_assert_int_eq(err_set(NULL, ERR_INPUT, "x"), -1);
	ck_assert_int_eq(err_errno(NULL, "x"), -1);
	ck_assert_int_eq(err_wrap(NULL, "x"), -1);
}
END_TEST

START_TEST(errno_is_named_and_kept)
{
	struct err err = { .sqlstate = "22P05" };

	errno = ENOENT;
	ck_assert_int_eq(err_errno(&err, "open %s", "a.yaml"), -1);
	ck_assert_int_eq(err.kind, ERR_SYSTEM);
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(err.sqlstate, "");
	ck_assert_str_eq(err.text, "open a.yaml: No such file or directory");
}
END_TEST

START_TEST(wrapping_puts_the_context_before_and_keeps_the_kind)
{
	struct err err;

	err_set(&err, ERR_DB_RETRY, "deadlock");
	err.code = 4;
	memcpy(err.sqlstate, "40P01", 6);
	ck_assert_int_eq(err_wrap(&err, "claim for %s", "m3"), -1);
	ck_assert_int_eq(err.kind, ERR_DB_RETRY);
	ck_assert_int_eq(err.code, 4);
	ck_assert_str_eq(err.sqlstate, "40P01");
	ck_assert_str_eq(err.text, "claim for m3: deadlock");
}
END_TEST

START_TEST(wrapping_an_empty_text_adds_no_colon)
{
	struct err err = { 0 };

	err_wrap(&err, "start");
	ck_assert_str_eq(err.text, "start");
}
END_TEST

START_TEST(arguments_may_be_the_error_itself)
{
	struct err err;

	err_set(&err, ERR_INPUT, "cause");
	err_set(&err, ERR_LIMIT, "set(%s)", err.text);
	ck_assert_str_eq(err.text, "set(cause)");
	err_wrap(&err, "wrap(%s)", err.text);
	ck_assert_str_eq(err.text, "wrap(set(cause)): set(cause)");
	errno = EPERM;
	err_errno(&err, "errno(%s)", "x");
	err_errno(&err, "again(%s)", err.text);
	ck_assert_str_eq(err.text, "again(errno(x): Operation not permitted): "
				   "Operation not permitted");
}
END_TEST

static const char *const letters[] = { "a", "\xc3\xa9", "\xe6\x97\xa5",
	"\xf0\x9f\x98\x80" };

/* Fills text with `pad` bytes and then the letter until it is full. */
static void
fill(char *text, size_t size, size_t pad, const char *letter)
{
	size_t len = 0;

	while (len < pad)
		text[len++] = '.';
	while (len + strlen(letter) < size) {
		memcpy(text + len, letter, strlen(letter));
		len += strlen(letter);
	}
	text[len] = '\0';
}

START_TEST(long_texts_are_cut_at_a_character)
{
	char text[3000];
	struct err err;

	for (size_t pad = 0; pad < 8; pad++) {
		fill(text, sizeof(text), pad, letters[_i]);
		err_set(&err, ERR_INPUT, "%s", text);
		size_t len = strlen(err.text);

		ck_assert_uint_le(len, TEXT_MAX);
		ck_assert_uint_gt(len + strlen(letters[_i]), TEXT_MAX);
		ck_assert_uint_eq(utf8_valid(slice_string(err.text)), len);
		ck_assert_mem_eq(err.text, text, len);
	}
}
END_TEST

START_TEST(a_text_that_just_fits_is_whole)
{
	char text[TEXT_MAX + 1];
	struct err err;

	fill(text, sizeof(text), TEXT_MAX % strlen(letters[_i]), letters[_i]);
	ck_assert_uint_eq(strlen(text), TEXT_MAX);
	err_set(&err, ERR_INPUT, "%s", text);
	ck_assert_str_eq(err.text, text);
}
END_TEST

static bool
ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Every length of context and cause around the limit. */
START_TEST(wrapping_keeps_the_end_of_the_cause)
{
	char context[700], cause[480];
	struct err err;

	for (size_t pad = 0; pad < 4; pad++) {
		for (size_t size = 10; size <= sizeof(context); size += 3) {
			fill(context, size, pad, letters[_i]);
			fill(cause, sizeof(cause), pad, letters[_i]);
			err_set(&err, ERR_INPUT, "%s: refused", cause);
			err_wrap(&err, "%s", context);
			ck_assert(ends_with(err.text, ": refused"));
			size_t kept = strlen(context);

			ck_assert_mem_eq(
			    err.text, context, kept > 100 ? 100 : kept);
			ck_assert_uint_le(strlen(err.text), TEXT_MAX);
			ck_assert_uint_eq(utf8_valid(slice_string(err.text)),
			    strlen(err.text));
		}
	}
}
END_TEST

START_TEST(a_hundred_contexts_do_not_hide_the_cause)
{
	struct err err;

	errno = ECONNREFUSED;
	err_errno(&err, "connect");
	for (int i = 0; i < 100; i++)
		err_wrap(&err, "level %d", i);
	ck_assert(ends_with(err.text, "connect: Connection refused"));
	ck_assert_int_eq(strncmp(err.text, "level 99: ", 10), 0);
	ck_assert_int_eq(err.code, ECONNREFUSED);
}
END_TEST

START_TEST(a_long_context_leaves_errno_readable)
{
	char context[2000];
	struct err err;

	fill(context, sizeof(context), 0, letters[_i]);
	errno = EACCES;
	err_errno(&err, "%s", context);
	ck_assert(ends_with(err.text, ": Permission denied"));
	ck_assert_uint_eq(utf8_valid(slice_string(err.text)), strlen(err.text));
}
END_TEST

START_TEST(every_kind_has_a_name_of_its_own)
{
	for (int a = ERR_NONE; a <= ERR_DB_SCHEMA; a++) {
		const char *name = err_kind_name((enum err_kind)a);

		ck_assert_uint_gt(strlen(name), 0);
		ck_assert_str_ne(name, "unknown");
		for (int b = ERR_NONE; b < a; b++)
			ck_assert_str_ne(name, err_kind_name((enum err_kind)b));
	}
	ck_assert_str_eq(err_kind_name((enum err_kind)999), "unknown");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/err");
	TCase *text = tcase_create("text");
	TCase *cut = tcase_create("cut");
	int n = COUNT(letters);

	tcase_add_test(text, setting_fills_everything_anew);
	tcase_add_test(text, nobody_need_listen);
	tcase_add_test(text, errno_is_named_and_kept);
	tcase_add_test(
	    text, wrapping_puts_the_context_before_and_keeps_the_kind);
	tcase_add_test(text, wrapping_an_empty_text_adds_no_colon);
	tcase_add_test(text, arguments_may_be_the_error_itself);
	tcase_add_test(text, every_kind_has_a_name_of_its_own);
	suite_add_tcase(suite, text);
	tcase_add_loop_test(cut, long_texts_are_cut_at_a_character, 0, n);
	tcase_add_loop_test(cut, a_text_that_just_fits_is_whole, 0, n);
	tcase_add_loop_test(cut, wrapping_keeps_the_end_of_the_cause, 0, n);
	tcase_add_test(cut, a_hundred_contexts_do_not_hide_the_cause);
	tcase_add_loop_test(cut, a_long_context_leaves_errno_readable, 0, n);
	suite_add_tcase(suite, cut);
	return run_suite(suite);
}
