/*
 * Reads events: finds the row of the table and the members, in one walk over
 * the data each. Owns nothing.
 */
#include "workers/model/event.h"

static const struct rule rules[] = {
#define EVENT(type, action, item, part, value)                                 \
	{ { type, sizeof(type) - 1 }, ACTION_##action, OUTPUT_##item,          \
		PART_##part, value },
#include "workers/model/events.def"
#undef EVENT
};

/* Where a member goes that has this key. */
struct member {
	struct slice key; /* with its quotes, as it stands in the data */
	size_t offset;
};

#define MEMBER(type, name, field)                                              \
	{                                                                      \
		{ "\"" name "\"", sizeof(name) + 1 },                          \
		    offsetof(struct type, field)                               \
	}

static const struct member event_members[] = {
	MEMBER(event, "type", type),
	MEMBER(event, "output_index", index),
	MEMBER(event, "item_id", item_id),
	MEMBER(event, "content_index", content_index),
	MEMBER(event, "delta", delta),
	MEMBER(event, "sequence_number", sequence),
	MEMBER(event, "item", item),
	MEMBER(event, "response", response),
	MEMBER(event, "summary_index", summary_index),
	MEMBER(event, "error", error),
	MEMBER(event, "object", object),
};

static const struct member answer_members[] = {
	MEMBER(answer, "id", id),
	MEMBER(answer, "model", model),
	MEMBER(answer, "status", status),
	MEMBER(answer, "incomplete_details", incomplete),
	MEMBER(answer, "usage", usage),
	MEMBER(answer, "tools", tools),
	MEMBER(answer, "output", output),
};

/* The last member of a name counts, as for most readers. */
static void
read_members(
    struct json object, const struct member *members, size_t count, void *ret)
{
	struct json_iter it = json_iter(object);
	struct json key, value;

	if (object.type != JSON_OBJECT)
		return;
	while (json_next(&it, &key, &value)) {
		for (size_t i = 0; i < count; i++) {
			if (!slice_eq(key.raw, members[i].key))
				continue;
			memcpy((char *)ret + members[i].offset, &value,
			    sizeof(value));
			break;
		}
	}
}

struct answer
answer_read(struct json response)
{
	struct answer answer = { .whole = response };

	read_members(response, answer_members, COUNT(answer_members), &answer);
	return answer;
}

static const struct rule *
rule_of(struct slice type)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		if (slice_eq(type, rules[i].type))
			return &rules[i];
	}
	return NULL;
}

/* Either side, the event line or the data, may say what it is; an error on
 * either side is an error. */
static const struct rule *
rule_for(const struct event *event, struct slice name)
{
	static const struct rule bare = { { "error", 5 }, ACTION_FAILED,
		OUTPUT_other, PART_NONE, "error" };
	const struct rule *named = rule_of(name), *typed;

	if (named != NULL && named->action == ACTION_FAILED)
		return named;
	if (event->type.type == JSON_STRING && event->type.raw.len > 2) {
		typed = rule_of(
		    slice_of(event->type.raw.ptr + 1, event->type.raw.len - 2));
		return typed;
	}
	if (named == NULL && !value_is_empty(event->error))
		return &bare;
	return named;
}

struct event
event_read(struct slice name, struct json whole, unsigned marks)
{
	struct event event = { .whole = whole, .marks = marks };

	read_members(whole, event_members, COUNT(event_members), &event);
	event.rule = rule_for(&event, name);
	return event;
}

#define WHOLE_MAX 9007199254740992.0 /* doubles are exact up to here */

/* Whole numbers however they are written: 5, 5.0, 5e0. */
bool
whole_number(struct json value, uint64_t *ret)
{
	double number;

	if (json_u64(value, ret))
		return true;
	if (!json_double(value, &number) || !(number >= 0) ||
	    number > WHOLE_MAX || number != (double)(uint64_t)number)
		return false;
	*ret = (uint64_t)number;
	return true;
}
