/*
 * For tests of response streams: plays a body, cut in many ways, and compares
 * what it means with what is expected, member by member.
 */
#ifndef TESTS_MODEL_PLAY_H
#define TESTS_MODEL_PLAY_H

#include <check.h>

#include "base/json_equal.h"
#include "tests/support/responses_report.h"

#define PLAY_MAX (16u << 20)

/* JSON as it stands: EVENT({"type":"…"}) is one event of a stream. */
#define JSON_TEXT(...) #__VA_ARGS__
#define EVENT(...)     "data: " JSON_TEXT(__VA_ARGS__) "\n\n"

#define CREATED                                                                \
	EVENT({ "type" : "response.created", "response" : { "id" : "resp_1" } })
#define COMPLETED                                                              \
	EVENT({                                                                \
		"type" : "response.completed",                                 \
		"response" : { "status" : "completed" }                        \
	})
#define INCOMPLETE(reason)                                                     \
	EVENT({                                                                \
		"type" : "response.incomplete",                                \
		"response" : {                                                 \
			"status" : "incomplete",                               \
			"incomplete_details" : { "reason" : reason }           \
		}                                                              \
	})
#define ADDED(index, id)                                                       \
	EVENT({                                                                \
		"type" : "response.output_item.added",                         \
		"output_index" : index,                                        \
		"item" : {                                                     \
			"type" : "message",                                    \
			"id" : id,                                             \
			"role" : "assistant",                                  \
			"status" : "in_progress",                              \
			"content" : []                                         \
		}                                                              \
	})
#define DELTA(index, text)                                                     \
	EVENT({                                                                \
		"type" : "response.output_text.delta",                         \
		"output_index" : index,                                        \
		"content_index" : 0,                                           \
		"delta" : text                                                 \
	})
#define MESSAGE_DONE(index, id, text)                                          \
	EVENT({                                                                \
		"type" : "response.output_item.done",                          \
		"output_index" : index,                                        \
		"item" : {                                                     \
			"type" : "message",                                    \
			"id" : id,                                             \
			"role" : "assistant",                                  \
			"status" : "completed",                                \
			"content" :                                            \
			    [ { "type" : "output_text", "text" : text } ]      \
		}                                                              \
	})
#define CALL(index, id, call, name)                                            \
	EVENT({                                                                \
		"type" : "response.output_item.added",                         \
		"output_index" : index,                                        \
		"item" : {                                                     \
			"type" : "function_call",                              \
			"id" : id,                                             \
			"call_id" : call,                                      \
			"name" : name,                                         \
			"arguments" : "",                                      \
			"status" : "in_progress"                               \
		}                                                              \
	})
#define ARGUMENTS(index, id, text)                                             \
	EVENT({                                                                \
		"type" : "response.function_call_arguments.delta",             \
		"output_index" : index,                                        \
		"item_id" : id,                                                \
		"delta" : text                                                 \
	})
#define CALL_DONE(index, id, call, name, ...)                                  \
	EVENT({                                                                \
		"type" : "response.output_item.done",                          \
		"output_index" : index,                                        \
		"item" : {                                                     \
			"type" : "function_call",                              \
			"id" : id,                                             \
			"call_id" : call,                                      \
			"name" : name,                                         \
			"arguments" : __VA_ARGS__,                             \
			"status" : "completed"                                 \
		}                                                              \
	})

struct play {
	unsigned status; /* 0 = 200 */
	struct body_quirks quirks;
	size_t event_max;
	bool unclean;
};

static inline void
play_feed(struct body *body, struct slice text, size_t chunk)
{
	for (size_t at = 0; at < text.len && !body_is_over(body);) {
		size_t n = text.len - at < chunk ? text.len - at : chunk;
		char *piece = mem_copy(text.ptr + at, n);

		body_feed(body, slice_of(piece, n));
		memset(piece, '#', n);
		mem_free(piece);
		at += n;
	}
}

/* The result of a body that comes in pieces of `chunk` bytes; of_first: how
 * many come before that in one piece. */
static inline void
play_report(const struct play *play, struct slice text, size_t of_first,
    size_t chunk, struct buf *out)
{
	struct body body;

	body_init(&body, play->event_max, play->quirks);
	body_status(&body, play->status == 0 ? 200 : play->status);
	if (of_first > 0)
		play_feed(&body, slice_of(text.ptr, of_first), of_first);
	play_feed(
	    &body, slice_of(text.ptr + of_first, text.len - of_first), chunk);
	body_end(&body, !play->unclean);
	report(&body, out);
	body_release(&body);
}

/* Every member of `expected` is in `got` and means the same. */
static inline void
play_compare(struct slice got, const char *expected, const char *what)
{
	struct json mine, theirs, key, value;
	struct json_iter it;
	struct err err = { 0 };

	ck_assert_msg(
	    json_parse(slice_string(expected), &theirs, NULL, &err) == 0,
	    "%s: the expected JSON: %s", what, err.text);
	ck_assert_int_eq(json_parse(got, &mine, NULL, NULL), 0);
	it = json_iter(theirs);
	while (json_next(&it, &key, &value)) {
		size_t work = PLAY_MAX;
		char *name = json_string_new(key, 100);
		struct json has = json_get(mine, name);

		ck_assert_msg(json_equal(has, value, &work),
		    "%s: %s is %.*s, not %.*s", what, name, SLICE_ARGS(has.raw),
		    SLICE_ARGS(value.raw));
		mem_free(name);
	}
}

/* Whole, byte by byte, in odd pieces, and cut in two at every place. */
static inline void
play_check(const struct play *play, struct slice text, const char *expected)
{
	static const size_t chunks[] = { 1, 7, 1009, PLAY_MAX };
	struct buf out = BUF_INIT(PLAY_MAX);
	char what[60];

	for (size_t i = 0; i < COUNT(chunks); i++) {
		snprintf(what, sizeof(what), "in pieces of %zu", chunks[i]);
		buf_clear(&out);
		play_report(play, text, 0, chunks[i], &out);
		play_compare(buf_slice(&out), expected, what);
	}
	for (size_t at = 1; at < text.len; at++) {
		snprintf(what, sizeof(what), "cut at %zu", at);
		buf_clear(&out);
		play_report(play, text, at, PLAY_MAX, &out);
		play_compare(buf_slice(&out), expected, what);
	}
	buf_release(&out);
}

#endif
