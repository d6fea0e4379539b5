/*
 * workers/model/sse.c: which bytes make which events, however they are cut,
 * and what a stream without end may cost.
 */
#include <check.h>

#include "base/alloc.h"
#include "tests/unit/suite.h"
#include "workers/model/sse.h"

#define LOG_MAX (1u << 20)

/* Events as text: "name|data;" and "name|data~" for one that was cut. */
static bool
note(void *arg, const struct sse_event *event)
{
	struct buf *log = arg;

	buf_put_slice(log, event->name);
	buf_putc(log, '|');
	buf_put_slice(log, event->data);
	buf_putc(log, event->cut ? '~' : ';');
	return !slice_is(event->data, "STOP");
}

static void
feed(struct sse *sse, struct slice bytes, struct buf *log)
{
	/* A copy of its own length: reading past it is seen. */
	char *copy = mem_copy(bytes.ptr, bytes.len);
	struct err err = { 0 };

	ck_assert_msg(
	    sse_feed(sse, slice_of(copy, bytes.len), note, log, &err) == 0,
	    "%s", err.text);
	memset(copy, '#', bytes.len);
	mem_free(copy);
}

/* Cut at these two places. */
static void
check_cut(struct slice text, size_t a, size_t b, struct slice expected)
{
	struct sse sse;
	struct buf log = BUF_INIT(LOG_MAX);

	sse_init(&sse, 0);
	feed(&sse, slice_of(text.ptr, a), &log);
	feed(&sse, slice_of(text.ptr + a, b - a), &log);
	feed(&sse, slice_of(text.ptr + b, text.len - b), &log);
	sse_end(&sse, note, &log);
	ck_assert_msg(slice_eq(buf_slice(&log), expected),
	    "cut at %zu and %zu: \"%.*s\", not \"%.*s\"", a, b,
	    SLICE_ARGS(buf_slice(&log)), SLICE_ARGS(expected));
	buf_release(&log);
	sse_release(&sse);
}

static const struct {
	struct slice text;
	struct slice events;
} cases[] = {
#define CASE(text, events)                                                     \
	{                                                                      \
		{ text, sizeof(text) - 1 },                                    \
		{                                                              \
			events, sizeof(events) - 1                             \
		}                                                              \
	}
	CASE("data: a\n\n", "|a;"),
	CASE("data: a\r\n\r\n", "|a;"),
	CASE("data: a\r\r", "|a;"),
	CASE("data: a\r\rdata: b\n\ndata: c\r\n\r\n", "|a;|b;|c;"),
	CASE("event: x\ndata: a\n\n", "x|a;"),
	CASE("data: a\nevent: x\n\n", "x|a;"),
	/* the last name counts; none is left for the next event */
	CASE("event: x\nevent: y\ndata: a\n\ndata: b\n\n", "y|a;|b;"),
	CASE("event: x\n\ndata: b\n\n", "|b;"),
	/* one space is cut, not two; a tab is none */
	CASE("data:a\n\ndata:  b\n\ndata:\tc\n\n", "|a;| b;|\tc;"),
	CASE("data: a:b\n\n", "|a:b;"),
	/* lines join; a field without a colon has an empty value */
	CASE("data: a\ndata\ndata: b\n\n", "|a\n\nb;"),
	CASE("data\ndata: b\n\n", "|\nb;"),
	CASE("data: a\n: between\nid: 1\ndata: b\n\n", "|a\nb;"),
	/* no event without data, or with nothing in it */
	CASE("\n\n\ndata:\n\ndata: \n\ndata\n\nevent: x\n\n", ""),
	/* what is skipped */
	CASE(": hi\n\n:\nretry: 10\nid: 7\nfoo: bar\nbar\ndata: a\n\n", "|a;"),
	CASE("dat: a\ndatax: b\nDATA: c\n data: d\n\n", ""),
	CASE("da\ndata: a\n\n", "|a;"),
	/* a byte order mark only at the very start */
	CASE("\xEF\xBB\xBF"
	     "data: a\n\n",
	    "|a;"),
	CASE("\xEF\xBB\xBF: hi\ndata: a\n\n", "|a;"),
	CASE("data: a\n\n\xEF\xBB\xBF"
	     "data: b\n\n",
	    "|a;"),
	/* bytes are bytes */
	CASE("data: \xF0\x9F\x98\x80\xFF\x00\x01 x\n\n",
	    "|\xF0\x9F\x98\x80\xFF\x00\x01 x;"),
	/* the end inside an event hands on what is there */
	CASE("data: a\n", "|a~"),
	CASE("data: a", "|a~"),
	CASE("event: x\ndata: a", "x|a~"),
	CASE("event: x", ""),
	CASE("data: a\n\nda", "|a;"),
	/* nothing is read after the handler says stop */
	CASE("data: STOP\n\ndata: b\n\n", "|STOP;"),
#undef CASE
};

START_TEST(gives_the_same_events_wherever_the_bytes_are_cut)
{
	struct slice text = cases[_i].text;

	for (size_t a = 0; a <= text.len; a++) {
		for (size_t b = a; b <= text.len; b++) {
			check_cut(text, a, b, cases[_i].events);
		}
	}
}
END_TEST

START_TEST(gives_the_same_events_byte_by_byte)
{
	struct slice text = cases[_i].text;
	struct sse sse;
	struct buf log = BUF_INIT(LOG_MAX);

	sse_init(&sse, 0);
	for (size_t i = 0; i < text.len; i++)
		feed(&sse, slice_of(text.ptr + i, 1), &log);
	sse_end(&sse, note, &log);
	ck_assert(slice_eq(buf_slice(&log), cases[_i].events));
	buf_release(&log);
	sse_release(&sse);
}
END_TEST

START_TEST(hands_an_event_on_at_the_second_cr)
{
	struct sse sse;
	struct buf log = BUF_INIT(LOG_MAX);

	sse_init(&sse, 0);
	feed(&sse, SLICE("data: a\r\r"), &log);
	ck_assert(slice_is(buf_slice(&log), "|a;"));
	/* an LF that comes later belongs to that CR */
	feed(&sse, SLICE("\ndata: b\n\n"), &log);
	ck_assert(slice_is(buf_slice(&log), "|a;|b;"));
	buf_release(&log);
	sse_release(&sse);
}
END_TEST

/* ---- limits ---- */

static const struct {
	const char *before, *filler, *after;
} floods[] = {
	{ "data: ", "A", "\n\n" },        /* one endless line */
	{ "", "data: AAAAAAAA\n", "\n" }, /* endless lines */
	{ "", "data\n", "data: x\n\n" },  /* of nothing */
};

static int
flood(size_t chunk)
{
	struct sse sse;
	struct err err = { 0 };
	struct buf text = BUF_INIT(1u << 20), log = BUF_INIT(LOG_MAX);
	int rc = 0;

	buf_puts(&text, floods[chunk % COUNT(floods)].before);
	while (text.len < 70000)
		buf_puts(&text, floods[chunk % COUNT(floods)].filler);
	buf_puts(&text, floods[chunk % COUNT(floods)].after);
	sse_init(&sse, 10000);
	for (size_t at = 0; at < text.len && rc == 0; at += 4096) {
		size_t n = text.len - at < 4096 ? text.len - at : 4096;

		rc = sse_feed(
		    &sse, slice_of(text.ptr + at, n), note, &log, &err);
		ck_assert_uint_le(sse.line.cap + sse.data.cap, 2 * 10001);
	}
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_uint_eq(log.len, 0);
	ck_assert_int_eq(
	    sse_feed(&sse, SLICE("data: a\n\n"), note, &log, &err), -1);
	sse_end(&sse, note, &log);
	ck_assert_uint_eq(log.len, 0);
	buf_release(&text);
	buf_release(&log);
	sse_release(&sse);
	return err.kind == ERR_LIMIT ? 0 : -1;
}

START_TEST(refuses_an_event_that_is_too_large)
{
	ck_assert_int_eq(flood((size_t)_i), 0);
}
END_TEST

START_TEST(refuses_a_large_event_that_comes_in_one_piece)
{
	struct sse sse;
	struct err err = { 0 };
	struct buf log = BUF_INIT(LOG_MAX);

	sse_init(&sse, 4);
	ck_assert_int_eq(
	    sse_feed(&sse, SLICE("data:abcd\n\n"), note, &log, &err), 0);
	ck_assert_int_eq(
	    sse_feed(&sse, SLICE("data:abcde\n\n"), note, &log, &err), -1);
	ck_assert(slice_is(buf_slice(&log), "|abcd;"));
	buf_release(&log);
	sse_release(&sse);
}
END_TEST

START_TEST(keeps_no_memory_for_an_endless_comment)
{
	struct sse sse;
	struct buf log = BUF_INIT(LOG_MAX);
	char noise[1000];

	memset(noise, 'x', sizeof(noise));
	sse_init(&sse, 0);
	feed(&sse, SLICE("data: a\n\n: "), &log);
	for (size_t i = 0; i < 10000; i++) {
		feed(&sse, slice_of(noise, sizeof(noise)), &log);
		ck_assert_uint_le(sse.line.cap, 4096);
	}
	feed(&sse, SLICE("\ndata: b\n\n"), &log);
	ck_assert(slice_is(buf_slice(&log), "|a;|b;"));
	buf_release(&log);
	sse_release(&sse);
}
END_TEST

START_TEST(gives_the_memory_of_a_large_event_back)
{
	struct sse sse;
	struct buf text = BUF_INIT(4u << 20), log = BUF_INIT(4u << 20);

	buf_puts(&text, "data: ");
	while (text.len < (2u << 20))
		buf_puts(&text, "0123456789abcdef");
	sse_init(&sse, 0);
	for (size_t at = 0; at < text.len; at += 16384)
		feed(&sse,
		    slice_of(text.ptr + at,
			text.len - at < 16384 ? text.len - at : 16384),
		    &log);
	feed(&sse, SLICE("\n\n"), &log);
	ck_assert_uint_eq(log.len, text.len - 6 + 2);
	ck_assert_uint_le(sse.line.cap + sse.data.cap, 8192);
	buf_release(&text);
	buf_release(&log);
	sse_release(&sse);
}
END_TEST

/* Millions of line ends in one chunk: each byte is searched once. */
START_TEST(reads_a_chunk_of_line_ends_in_linear_time)
{
	struct sse sse;
	struct buf log = BUF_INIT(LOG_MAX);
	size_t n = 4u << 20;
	char *ends = mem_new(n);
	struct err err = { 0 };

	memset(ends, '\r', n);
	sse_init(&sse, 0);
	ck_assert_int_eq(
	    sse_feed(&sse, slice_of(ends, n), note, &log, &err), 0);
	ck_assert_uint_eq(log.len, 0);
	mem_free(ends);
	buf_release(&log);
	sse_release(&sse);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("sse");
	TCase *events = tcase_create("events");
	TCase *limits = tcase_create("limits");

	tcase_add_loop_test(events,
	    gives_the_same_events_wherever_the_bytes_are_cut, 0,
	    (int)COUNT(cases));
	tcase_add_loop_test(
	    events, gives_the_same_events_byte_by_byte, 0, (int)COUNT(cases));
	tcase_add_test(events, hands_an_event_on_at_the_second_cr);
	suite_add_tcase(s, events);
	tcase_add_loop_test(
	    limits, refuses_an_event_that_is_too_large, 0, (int)COUNT(floods));
	tcase_add_test(limits, refuses_a_large_event_that_comes_in_one_piece);
	tcase_add_test(limits, keeps_no_memory_for_an_endless_comment);
	tcase_add_test(limits, gives_the_memory_of_a_large_event_back);
	tcase_add_test(limits, reads_a_chunk_of_line_ends_in_linear_time);
	suite_add_tcase(s, limits);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
