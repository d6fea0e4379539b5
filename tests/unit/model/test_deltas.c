/*
 * workers/model/deltas.c: what watchers of a turn get, in which pieces, and the
 * snapshot for those who come later.
 */
#include "tests/unit/model/play.h"
#include "tests/unit/suite.h"

struct telling {
	struct body body;
	struct buf text;
};

static void
begin(struct telling *t, bool watched)
{
	body_init(&t->body, 0, (struct body_quirks){ 0 });
	responses_watch(&t->body.response, watched);
	t->text = BUF_INIT(PLAY_MAX);
}

static void
end(struct telling *t)
{
	body_release(&t->body);
	buf_release(&t->text);
}

static void
expect(struct telling *t, const char *expected)
{
	struct json value;

	if (t->text.len > 0)
		ck_assert_int_eq(
		    json_parse(buf_slice(&t->text), &value, NULL, NULL), 0);
	ck_assert_msg(slice_is(buf_slice(&t->text), expected), "%.*s, not %s",
	    SLICE_ARGS(buf_slice(&t->text)), expected);
}

/* One read of the network, and what it tells. */
static void
read_of(
    struct telling *t, const char *bytes, size_t count, const char *expected)
{
	body_feed(&t->body, slice_string(bytes));
	buf_clear(&t->text);
	ck_assert_uint_eq(
	    responses_put_news(&t->body.response, &t->text), count);
	expect(t, expected);
}

static void
snapshot(struct telling *t, const char *expected)
{
	buf_clear(&t->text);
	responses_put_snapshot(&t->body.response, &t->text);
	expect(t, expected);
}

START_TEST(one_read_makes_one_entry_for_each_text)
{
	struct telling t;

	begin(&t, true);
	read_of(&t, CREATED ADDED(0, "m"), 0, "");
	read_of(&t, DELTA(0, "a") DELTA(0, "b") DELTA(0, "c"), 1,
	    "[[\"text\",0,\"abc\"]]");
	ck_assert_uint_eq(t.body.response.offset, 1);
	read_of(&t, ": nothing\n\n", 0, "");
	read_of(&t,
	    DELTA(0, "d") CALL(1, "i", "c", "f") ARGUMENTS(1, "i", "{\"x\"")
		ARGUMENTS(1, "i", ":1}"),
	    3,
	    "[[\"text\",0,\"d\"],[\"call\",1,\"f\"],"
	    "[\"arguments\",1,\"{\\\"x\\\":1}\"]]");
	ck_assert_uint_eq(t.body.response.offset, 4);
	end(&t);
}
END_TEST

START_TEST(a_done_item_tells_nothing_again)
{
	struct telling t;

	begin(&t, true);
	read_of(&t, ADDED(0, "m") DELTA(0, "ab"), 1, "[[\"text\",0,\"ab\"]]");
	read_of(&t, DELTA(0, "c") MESSAGE_DONE(0, "m", "abc") COMPLETED, 1,
	    "[[\"text\",0,\"c\"]]");
	read_of(&t, "", 0, "");
	end(&t);
}
END_TEST

START_TEST(an_item_without_deltas_is_told_when_it_is_done)
{
	struct telling t;

	begin(&t, true);
	read_of(&t, CALL(0, "i", "c", "f"), 1, "[[\"call\",0,\"f\"]]");
	read_of(&t, CALL_DONE(0, "i", "c", "f", "{\"a\":1}"), 1,
	    "[[\"arguments\",0,\"{\\\"a\\\":1}\"]]");
	read_of(&t, MESSAGE_DONE(1, "m", "hi"), 1, "[[\"text\",1,\"hi\"]]");
	read_of(&t, EVENT({
		"type" : "response.output_item.done",
		"output_index" : 2,
		"item" : {
			"type" : "reasoning",
			"id" : "r",
			"summary" :
			    [ { "type" : "summary_text", "text" : "why" } ]
		}
	}),
	    1, "[[\"reasoning\",2,\"why\"]]");
	read_of(&t, EVENT({
		"type" : "response.output_item.done",
		"output_index" : 3,
		"item" :
		    { "type" : "web_search_call", "id" : "w", "action" : {} }
	}),
	    0, "");
	end(&t);
}
END_TEST

START_TEST(parts_of_a_summary_are_told_apart_by_an_empty_line)
{
	struct telling t;

	begin(&t, true);
	read_of(&t, EVENT({
		"type" : "response.reasoning_summary_text.delta",
		"output_index" : 0,
		"summary_index" : 0,
		"delta" : "A"
	}),
	    1, "[[\"reasoning\",0,\"A\"]]");
	read_of(&t, EVENT({
		"type" : "response.reasoning_summary_text.delta",
		"output_index" : 0,
		"summary_index" : 1,
		"delta" : "B"
	}),
	    1, "[[\"reasoning\",0,\"\\n\\nB\"]]");
	read_of(&t, EVENT({
		"type" : "response.reasoning_summary_text.delta",
		"output_index" : 0,
		"summary_index" : 1,
		"delta" : "C"
	}),
	    1, "[[\"reasoning\",0,\"C\"]]");
	read_of(&t, EVENT({
		"type" : "response.refusal.delta",
		"output_index" : 1,
		"content_index" : 0,
		"delta" : "no"
	}),
	    1, "[[\"refusal\",1,\"no\"]]");
	end(&t);
}
END_TEST

START_TEST(a_part_without_text_tells_nothing)
{
	struct telling t;

	begin(&t, true);
	read_of(&t, EVENT({
		"type" : "response.output_text.done",
		"output_index" : 0,
		"content_index" : 0,
		"text" : ""
	}) EVENT({
		"type" : "response.output_text.delta",
		"output_index" : 0,
		"content_index" : 1,
		"delta" : "x"
	}),
	    1, "[[\"text\",0,\"x\"]]");
	end(&t);
}
END_TEST

START_TEST(half_a_pair_waits_for_its_other_half)
{
	struct telling t;

	begin(&t, true);
	read_of(&t,
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"a\\uD83D\"}\n\n",
	    1, "[[\"text\",0,\"a\"]]");
	read_of(&t,
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"\\uDE00b\"}\n\n",
	    1, "[[\"text\",0,\"\\uD83D\\uDE00b\"]]");
	/* a backslash before it makes it plain text */
	read_of(&t,
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"\\\\ud83d\"}\n\n",
	    1, "[[\"text\",0,\"\\\\ud83d\"]]");
	/* what has no other half is marked */
	read_of(&t,
	    "data: {\"type\":\"response.output_text.delta\","
	    "\"delta\":\"\\udc00\"}\n\n",
	    1, "[[\"text\",0,\"\\ufffd\"]]");
	end(&t);
}
END_TEST

START_TEST(a_snapshot_holds_all_and_deltas_go_on_from_it)
{
	struct telling t;

	begin(&t, false);
	body_feed(&t.body, slice_string(CREATED MESSAGE_DONE(0, "m", "first")
				   CALL(1, "i", "c", "f") ARGUMENTS(1, "i", "{")
				       DELTA(2, "x")));
	ck_assert_uint_eq(t.body.response.offset, 2);
	responses_watch(&t.body.response, true);
	snapshot(&t, "[[\"text\",0,\"first\"],[\"call\",1,\"f\"],"
		     "[\"arguments\",1,\"{\"],[\"text\",2,\"x\"]]");
	ck_assert_uint_eq(t.body.response.offset, 2);
	read_of(&t, ARGUMENTS(1, "i", "}") DELTA(2, "y"), 2,
	    "[[\"arguments\",1,\"}\"],[\"text\",2,\"y\"]]");
	snapshot(&t, "[[\"text\",0,\"first\"],[\"call\",1,\"f\"],"
		     "[\"arguments\",1,\"{}\"],[\"text\",2,\"xy\"]]");
	end(&t);
}
END_TEST

START_TEST(a_snapshot_of_nothing_is_empty)
{
	struct telling t;

	begin(&t, true);
	snapshot(&t, "[]");
	body_feed(&t.body, slice_string(CREATED ADDED(0, "m")));
	snapshot(&t, "[]");
	end(&t);
}
END_TEST

START_TEST(unwatched_texts_of_done_items_take_no_memory)
{
	struct telling t;

	begin(&t, false);
	body_feed(&t.body, slice_string(ADDED(0, "m") DELTA(0, "abc")));
	ck_assert_uint_eq(t.body.response.output.slots[0].part_count, 1);
	body_feed(&t.body, slice_string(MESSAGE_DONE(0, "m", "abc")));
	ck_assert_uint_eq(t.body.response.output.slots[0].part_count, 0);
	end(&t);
}
END_TEST

/* Whatever the cuts, watchers get the same texts. */
START_TEST(texts_told_do_not_depend_on_the_reads)
{
	static const char bytes[] = CREATED ADDED(0, "m") DELTA(0, "one ")
	    DELTA(0, "two") MESSAGE_DONE(0, "m", "one two")
		CALL(1, "i", "c", "f") ARGUMENTS(1, "i", "{}") COMPLETED;
	size_t chunk = (size_t)_i + 1;
	struct telling t;
	struct buf all = BUF_INIT(PLAY_MAX);

	begin(&t, true);
	for (size_t at = 0; at < sizeof(bytes) - 1; at += chunk) {
		size_t left = sizeof(bytes) - 1 - at;
		struct json news, entry;
		struct json_iter it;

		body_feed(
		    &t.body, slice_of(bytes + at, left < chunk ? left : chunk));
		buf_clear(&t.text);
		if (responses_put_news(&t.body.response, &t.text) == 0)
			continue;
		ck_assert_int_eq(
		    json_parse(buf_slice(&t.text), &news, NULL, NULL), 0);
		it = json_iter(news);
		while (json_next(&it, NULL, &entry)) {
			struct json_iter parts = json_iter(entry);
			struct json part;

			while (json_next(&parts, NULL, &part))
				json_decode(part, &all);
		}
	}
	/* kinds and texts in turn; the pieces may differ */
	ck_assert_ptr_nonnull(memmem(all.ptr, all.len, "callfarguments{}", 16));
	ck_assert_uint_ge(all.len, strlen("textone twocallfarguments{}"));
	end(&t);
	buf_release(&all);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("deltas");
	TCase *news = tcase_create("news");
	TCase *snapshots = tcase_create("snapshots");

	tcase_add_test(news, one_read_makes_one_entry_for_each_text);
	tcase_add_test(news, a_done_item_tells_nothing_again);
	tcase_add_test(news, an_item_without_deltas_is_told_when_it_is_done);
	tcase_add_test(
	    news, parts_of_a_summary_are_told_apart_by_an_empty_line);
	tcase_add_test(news, a_part_without_text_tells_nothing);
	tcase_add_test(news, half_a_pair_waits_for_its_other_half);
	tcase_add_loop_test(news, texts_told_do_not_depend_on_the_reads, 0, 64);
	suite_add_tcase(s, news);
	tcase_add_test(
	    snapshots, a_snapshot_holds_all_and_deltas_go_on_from_it);
	tcase_add_test(snapshots, a_snapshot_of_nothing_is_empty);
	tcase_add_test(snapshots, unwatched_texts_of_done_items_take_no_memory);
	suite_add_tcase(s, snapshots);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
