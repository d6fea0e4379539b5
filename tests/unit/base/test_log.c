/*
 * Log lines as they leave: each is written by a child whose stderr keeps the
 * write(2) calls apart, at a clock that stands.
 */
#include "base/log.h"

#include <check.h>
#include <limits.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tests/unit/base/apart.h"
#include "tests/unit/suite.h"

#define NOW_MS   UINT64_C(1735787045678) /* 2025-01-02T03:04:05.678Z */
#define TEXT_MAX 500

#define FFFD "\xef\xbf\xbd"
#define DOTS "\xe2\x80\xa6"

static const struct uuid run_id = { { 0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80, 0,
    0, 0, 0, 0, 0, 0x01 } };

static struct log_field field; /* what a child logs */
static bool json;

static void
write_one(void)
{
	clock_set(1, NOW_MS);
	log_setup("reeved", LOG_INFO, json);
	log_info("e", field);
}

/* The part of the line behind the event's. */
static const char *
line_of(struct apart *apart)
{
	static const char logfmt[] =
	    "t=2025-01-02T03:04:05.678Z level=info program=reeved event=e ";
	static const char object[] =
	    "{\"t\":\"2025-01-02T03:04:05.678Z\",\"level\":\"info\","
	    "\"program\":\"reeved\",\"event\":\"e\",";
	const char *head = json ? object : logfmt;

	apart_run(apart, write_one);
	ck_assert_int_eq(apart->status, 0);
	ck_assert_uint_eq(apart->writes, 1);
	ck_assert_uint_ge(apart->len, strlen(head));
	ck_assert_mem_eq(apart->text, head, strlen(head));
	return apart->text + strlen(head);
}

static const struct {
	const char *text, *logfmt, *json;
} texts[] = {
	{ "m3", "k=m3\n", "\"k\":\"m3\"}\n" },
	{ "", "k=\"\"\n", "\"k\":\"\"}\n" },
	{ NULL, "k=\"\"\n", "\"k\":\"\"}\n" },
	{ "two words", "k=\"two words\"\n", "\"k\":\"two words\"}\n" },
	{ "a=b", "k=\"a=b\"\n", "\"k\":\"a=b\"}\n" },
	{ "ipc:///run/x@y#1", "k=ipc:///run/x@y#1\n",
	    "\"k\":\"ipc:///run/x@y#1\"}\n" },
	{ "say \"hi\"", "k=\"say \\\"hi\\\"\"\n",
	    "\"k\":\"say \\\"hi\\\"\"}\n" },
	{ "a\\b", "k=\"a\\\\b\"\n", "\"k\":\"a\\\\b\"}\n" },
	{ "a\nb\r\t", "k=\"a\\nb\\r\\t\"\n", "\"k\":\"a\\nb\\r\\t\"}\n" },
	{ "\x1b[31m\x01", "k=\"\\u001b[31m\\u0001\"\n",
	    "\"k\":\"\\u001b[31m\\u0001\"}\n" },
	{ "\x7f", "k=\"\\u007f\"\n", "\"k\":\"\\u007f\"}\n" },
	{ "\xc2\x9b", "k=\"\\u009b\"\n", "\"k\":\"\\u009b\"}\n" },
	{ "caf\xc3\xa9", "k=\"caf\xc3\xa9\"\n", "\"k\":\"caf\xc3\xa9\"}\n" },
	{ "a\xff\xe6\x97z", "k=\"a" FFFD FFFD "z\"\n",
	    "\"k\":\"a" FFFD FFFD "z\"}\n" },
};

START_TEST(texts_are_quoted_where_they_must)
{
	struct apart apart;

	field = log_str("k", texts[_i].text);
	json = false;
	ck_assert_str_eq(line_of(&apart), texts[_i].logfmt);
	json = true;
	ck_assert_str_eq(line_of(&apart), texts[_i].json);
}
END_TEST

START_TEST(a_nul_byte_is_escaped)
{
	struct apart apart;

	field = log_slice("k", SLICE("a\0b"));
	json = false;
	ck_assert_str_eq(line_of(&apart), "k=\"a\\u0000b\"\n");
}
END_TEST

static const struct {
	int64_t num;
	const char *logfmt, *json;
} numbers[] = {
	{ 0, "k=0\n", "\"k\":0}\n" },
	{ -5, "k=-5\n", "\"k\":-5}\n" },
	{ INT64_MAX, "k=9223372036854775807\n",
	    "\"k\":9223372036854775807}\n" },
	{ INT64_MIN, "k=-9223372036854775808\n",
	    "\"k\":-9223372036854775808}\n" },
};

START_TEST(numbers_are_digits)
{
	struct apart apart;

	field = log_num("k", numbers[_i].num);
	json = false;
	ck_assert_str_eq(line_of(&apart), numbers[_i].logfmt);
	json = true;
	ck_assert_str_eq(line_of(&apart), numbers[_i].json);
}
END_TEST

START_TEST(ids_and_errors_are_fields)
{
	struct apart apart;
	struct err err;

	field = log_uuid("run", &run_id);
	json = false;
	ck_assert_str_eq(
	    line_of(&apart), "run=01900000-0000-7000-8000-000000000001\n");
	json = true;
	ck_assert_str_eq(line_of(&apart),
	    "\"run\":\"01900000-0000-7000-8000-000000000001\"}\n");
	err_set(&err, ERR_INPUT, "line 3: bad");
	field = log_err(&err);
	json = false;
	ck_assert_str_eq(line_of(&apart), "error=\"line 3: bad\"\n");
}
END_TEST

static void
write_several(void)
{
	clock_set(1, NOW_MS);
	log_setup("reeved", LOG_INFO, false);
	log_info("turn sent", log_uuid("run", &run_id), log_num("turn", 3),
	    log_str("worker", "m3"));
	log_info("ready");
}

START_TEST(each_event_is_one_write)
{
	struct apart apart;

	apart_run(&apart, write_several);
	ck_assert_uint_eq(apart.writes, 2);
	ck_assert_str_eq(apart.text,
	    "t=2025-01-02T03:04:05.678Z level=info program=reeved "
	    "event=\"turn sent\" run=01900000-0000-7000-8000-000000000001 "
	    "turn=3 worker=m3\n"
	    "t=2025-01-02T03:04:05.678Z level=info program=reeved "
	    "event=ready\n");
}
END_TEST

static enum log_level least;

static void
write_levels(void)
{
	log_setup("reeved", least, false);
	log_debug("a");
	log_info("b");
	log_warn("c");
	log_error("d");
}

START_TEST(lines_below_the_level_are_not_written)
{
	static const char *const names[] = { "level=debug", "level=info",
		"level=warn", "level=error" };
	struct apart apart;

	least = (enum log_level)_i;
	apart_run(&apart, write_levels);
	ck_assert_uint_eq(apart.writes, COUNT(names) - (size_t)_i);
	for (int i = 0; i < (int)COUNT(names); i++)
		ck_assert((strstr(apart.text, names[i]) != NULL) == (i >= _i));
}
END_TEST

START_TEST(a_text_of_the_limit_is_whole)
{
	char text[TEXT_MAX + 1], want[TEXT_MAX + 10];
	struct apart apart;

	memset(text, 'x', TEXT_MAX);
	text[TEXT_MAX] = '\0';
	snprintf(want, sizeof(want), "k=%s\n", text);
	field = log_str("k", text);
	json = false;
	ck_assert_str_eq(line_of(&apart), want);
}
END_TEST

static const struct {
	const char *letter, *logged;
} letters[] = {
	{ "x", "x" },
	{ "\"", "\\\"" },
	{ "\n", "\\n" },
	{ "\x01", "\\u0001" },
	{ "\xc3\xa9", "\xc3\xa9" },
	{ "\xe6\x97\xa5", "\xe6\x97\xa5" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
};

/* A thousand times one letter: as many as fit 500 bytes, whole, then dots. */
START_TEST(a_longer_text_is_cut_between_characters)
{
	const char *letter = letters[_i].letter, *logged = letters[_i].logged;
	size_t count = TEXT_MAX / strlen(letter);
	char text[4001] = "", want[4001] = "k=\"";
	struct apart apart;

	for (size_t i = 0; i < 1000; i++)
		memcpy(text + i * strlen(letter), letter, strlen(letter) + 1);
	for (size_t i = 0; i < count; i++)
		memcpy(
		    want + 3 + i * strlen(logged), logged, strlen(logged) + 1);
	memcpy(want + 3 + count * strlen(logged), DOTS "\"\n", 6);
	field = log_str("k", text);
	json = false;
	ck_assert_str_eq(line_of(&apart), want);
}
END_TEST

static size_t wide;

static char wide_text[TEXT_MAX];

/* More fields than a line holds; the texts of `wide` bytes must be escaped. */
static void
write_wide(void)
{
	struct log_field fields[1001] = { 0 };

	for (size_t i = 0; i < COUNT(fields) - 1; i++) {
		fields[i] = i % 3 == 0 ? log_num("num", INT64_MIN)
			    : i % 3 == 1
				? log_uuid("run", &run_id)
				: log_slice("key", slice_of(wide_text, wide));
	}
	clock_set(1, NOW_MS);
	log_setup("reeved", LOG_INFO, json);
	log_write(LOG_INFO, "wide", fields);
}

static void
fill_wide_text(void)
{
	for (size_t i = 0; i < sizeof(wide_text); i++)
		wide_text[i] = "x\"\x01y"[i % 4];
}

START_TEST(a_line_that_is_too_long_ends_well)
{
	struct buf last = BUF_INIT(TEXT_MAX);
	struct apart apart;
	struct json value;

	json = true;
	fill_wide_text();
	for (wide = 1; wide <= TEXT_MAX; wide += 1 + wide / 8) {
		apart_run(&apart, write_wide);
		ck_assert_uint_eq(apart.writes, 1);
		ck_assert_uint_le(apart.len, PIPE_BUF);
		ck_assert_int_eq(apart.text[apart.len - 1], '\n');
		ck_assert_int_eq(json_parse(slice_of(apart.text, apart.len),
				     &value, NULL, NULL),
		    0);
		ck_assert(json_true(json_get(value, "cut")));
		buf_clear(&last);
		json_decode(json_get(value, "key"), &last);
		ck_assert_uint_le(last.len, wide);
		if (last.len > 0)
			ck_assert_mem_eq(last.ptr, wide_text, last.len);
	}
	buf_release(&last);
}
END_TEST

START_TEST(a_long_logfmt_line_says_that_it_was_cut)
{
	static const char end[] = " cut=true\n";
	struct apart apart;

	json = false;
	fill_wide_text();
	for (wide = 1; wide <= TEXT_MAX; wide += 1 + wide / 8) {
		apart_run(&apart, write_wide);
		ck_assert_uint_eq(apart.writes, 1);
		ck_assert_uint_le(apart.len, PIPE_BUF);
		ck_assert_str_eq(
		    apart.text + apart.len - (sizeof(end) - 1), end);
	}
}
END_TEST

static void
write_without_stderr(void)
{
	log_setup("reeved", LOG_INFO, false);
	close(STDERR_FILENO);
	errno = ENOENT;
	log_info("lost");
	if (errno != ENOENT)
		_exit(1);
}

START_TEST(errno_survives_and_a_closed_stderr_harms_nobody)
{
	struct apart apart;

	apart_run(&apart, write_without_stderr);
	ck_assert_int_eq(apart.status, 0);
	ck_assert_uint_eq(apart.writes, 0);
}
END_TEST

static void
warn_slowly(void)
{
	log_setup("reeved", LOG_INFO, false);
	for (uint64_t ms = 5000; ms < 7500; ms += 100) {
		clock_set(ms, NOW_MS);
		log_warn_slow("busy", log_num("at", (int64_t)ms));
	}
}

START_TEST(a_slow_warning_comes_once_a_second_and_counts_the_rest)
{
	static const char head[] =
	    "t=2025-01-02T03:04:05.678Z level=warn program=reeved event=busy ";
	char want[1000];
	struct apart apart;

	apart_run(&apart, warn_slowly);
	snprintf(want, sizeof(want),
	    "%sat=5000\n%sat=6000 left_out=9\n%sat=7000 left_out=9\n", head,
	    head, head);
	ck_assert_str_eq(apart.text, want);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/log");
	TCase *fields = tcase_create("fields");
	TCase *line = tcase_create("line");
	TCase *cut = tcase_create("cut");

	tcase_add_loop_test(
	    fields, texts_are_quoted_where_they_must, 0, COUNT(texts));
	tcase_add_test(fields, a_nul_byte_is_escaped);
	tcase_add_loop_test(fields, numbers_are_digits, 0, COUNT(numbers));
	tcase_add_test(fields, ids_and_errors_are_fields);
	suite_add_tcase(suite, fields);
	tcase_add_test(line, each_event_is_one_write);
	tcase_add_loop_test(line, lines_below_the_level_are_not_written, 0, 4);
	tcase_add_test(line, errno_survives_and_a_closed_stderr_harms_nobody);
	tcase_add_test(
	    line, a_slow_warning_comes_once_a_second_and_counts_the_rest);
	suite_add_tcase(suite, line);
	tcase_add_test(cut, a_text_of_the_limit_is_whole);
	tcase_add_loop_test(
	    cut, a_longer_text_is_cut_between_characters, 0, COUNT(letters));
	tcase_add_test(cut, a_line_that_is_too_long_ends_well);
	tcase_add_test(cut, a_long_logfmt_line_says_that_it_was_cut);
	suite_add_tcase(suite, cut);
	return run_suite(suite);
}
