/*
 * A response as one JSON object, for checks against recorded streams: status,
 * text, calls, reasoning, usage, finish_reason, error, items and what is only
 * there at times. Reads the finished items, as whoever stores them would.
 */
#ifndef TESTS_RESPONSES_RESULT_H
#define TESTS_RESPONSES_RESULT_H

#include "base/alloc.h"
#include "workers/model/body.h"

#define RESULT_MAX (256u << 20)

static inline void
result_member(struct json_writer *w, const char *name, struct json value)
{
	json_key(w, name);
	json_raw(w, value.raw);
}

/* Texts of the parts of this type, decoded and joined. */
static inline void
result_join(struct json list, const char *type, const char *member,
    const char *between, struct buf *out)
{
	struct json_iter it = json_iter(list);
	struct json part;
	bool first = true;

	while (json_next(&it, NULL, &part)) {
		if (!json_is(json_get(part, "type"), type))
			continue;
		if (!first)
			buf_puts(out, between);
		first = false;
		json_decode(json_get(part, member), out);
	}
}

static inline void
result_joined(struct json_writer *w, const char *key, struct json list,
    const char *type, const char *member, const char *between)
{
	struct buf text = BUF_INIT(RESULT_MAX);

	result_join(list, type, member, between, &text);
	json_key(w, key);
	json_str(w, buf_slice(&text));
	buf_release(&text);
}

/* The parts of all messages. */
static inline void
result_text(
    struct json items, const char *type, const char *member, struct buf *out)
{
	struct json_iter it = json_iter(items);
	struct json item;

	while (json_next(&it, NULL, &item)) {
		if (json_is(json_get(item, "type"), "message"))
			result_join(
			    json_get(item, "content"), type, member, "", out);
	}
}

static inline struct json
result_arguments(struct json item)
{
	return json_is(json_get(item, "type"), "custom_tool_call")
		   ? json_get(item, "input")
		   : json_get(item, "arguments");
}

static inline bool
result_is_call(struct json item)
{
	return output_waits(output_type_of(item)) == OUTPUT_WAITS_CALL;
}

static inline void
result_calls(struct json_writer *w, const struct responses *r,
    struct json items, bool declared)
{
	struct json_iter it = json_iter(items);
	struct json item;

	json_open(w, '[');
	while (json_next(&it, NULL, &item)) {
		if (!result_is_call(item) ||
		    responses_declares(r, json_get(item, "name")) != declared)
			continue;
		json_open(w, '{');
		result_member(w, "call_id", json_get(item, "call_id"));
		result_member(w, "name", json_get(item, "name"));
		result_member(w, "arguments", result_arguments(item));
		json_close(w);
	}
	json_close(w);
}

/* Call ids whose arguments are no JSON. */
static inline void
result_bad_arguments(struct json_writer *w, struct json items)
{
	struct json_iter it = json_iter(items);
	struct json item, value;

	json_open(w, '[');
	while (json_next(&it, NULL, &item)) {
		struct buf text = BUF_INIT(RESULT_MAX);

		json_decode(json_get(item, "arguments"), &text);
		if (json_is(json_get(item, "type"), "function_call") &&
		    json_parse(buf_slice(&text), &value, NULL, NULL) == -1)
			json_raw(w, json_get(item, "call_id").raw);
		buf_release(&text);
	}
	json_close(w);
}

static inline void
result_reasoning(struct json_writer *w, struct json items)
{
	struct json_iter it = json_iter(items);
	struct json item, content;

	json_open(w, '[');
	while (json_next(&it, NULL, &item)) {
		if (!json_is(json_get(item, "type"), "reasoning"))
			continue;
		content = json_get(item, "content");
		json_open(w, '{');
		result_member(w, "id", json_get(item, "id"));
		json_key(w, "has_encrypted");
		json_bool(
		    w, !value_is_empty(json_get(item, "encrypted_content")));
		result_joined(w, "summary_text", json_get(item, "summary"),
		    "summary_text", "text", "\n\n");
		if (json_count(content) > 0)
			result_joined(w, "content_text", content,
			    "reasoning_text", "text", "");
		json_close(w);
	}
	json_close(w);
}

static inline void
result_items(struct json_writer *w, struct json items)
{
	struct json_iter it = json_iter(items);
	struct json item;

	json_open(w, '[');
	while (json_next(&it, NULL, &item)) {
		json_open(w, '{');
		result_member(w, "type", json_get(item, "type"));
		result_member(w, "id", json_get(item, "id"));
		result_member(w, "status", json_get(item, "status"));
		json_close(w);
	}
	json_close(w);
}

/* Calls of other kinds that wait for the client. */
static inline size_t
result_other_calls(struct json_writer *w, const struct responses *r)
{
	static const char *const details[] = { "operation", "action",
		"arguments" };
	size_t *order = mem_array(r->output.count, sizeof(*order)), n = 0;

	output_order(&r->output, order);
	for (size_t i = 0; i < r->output.count; i++) {
		const struct slot *slot = &r->output.slots[order[i]];
		struct json item = slot_item(slot);

		if (output_waits(slot->type) == OUTPUT_WAITS_CALL ||
		    !responses_waits(r, slot))
			continue;
		if (n++ == 0) {
			json_key(w, "other_calls");
			json_open(w, '[');
		}
		json_open(w, '{');
		result_member(w, "type", json_get(item, "type"));
		result_member(w, "id", json_get(item, "id"));
		result_member(w, "call_id", json_get(item, "call_id"));
		for (size_t k = 0; k < COUNT(details); k++) {
			struct json value = json_get(item, details[k]);

			if (value.type != JSON_NONE)
				result_member(w, details[k], value);
		}
		json_close(w);
	}
	if (n > 0)
		json_close(w);
	mem_free(order);
	return n;
}

#endif
