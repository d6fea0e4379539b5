/*
 * What watchers of a turn get: entries [kind, item, text], one for all that a
 * part gained since the last time. Texts go out as they came, except where
 * half a surrogate pair would be sent: that waits for its other half.
 */
#include "workers/model/responses.h"

/* Entries in the making. */
struct telling {
	struct buf *out;
	size_t count, item;
};

static void
begin_entry(struct telling *t, const char *kind)
{
	buf_puts(t->out, t->count++ == 0 ? "[" : ",");
	buf_printf(t->out, "[\"%s\",%zu,", kind, t->item);
}

static void
tell_value(struct telling *t, const char *kind, struct json text)
{
	if (text.type != JSON_STRING || text.raw.len <= 2)
		return;
	begin_entry(t, kind);
	json_scrub(text, t->out);
	buf_putc(t->out, ']');
}

/* Length of half a surrogate pair at the end of an escaped text. */
static size_t
half_pair(struct slice text)
{
	const char *p;
	size_t slashes = 0;

	if (text.len < 6)
		return 0;
	p = text.ptr + text.len - 6;
	if (memcmp(p, "\\u", 2) != 0 || (p[2] != 'd' && p[2] != 'D') ||
	    memchr("89abAB", p[3], 6) == NULL)
		return 0;
	while (slashes < text.len - 6 && p[-1 - (ptrdiff_t)slashes] == '\\')
		slashes++;
	return slashes % 2 == 0 ? 6 : 0;
}

static const char *
kind_name(enum part_kind kind)
{
	switch (kind) {
	case PART_TEXT:
		return "text";
	case PART_REFUSAL:
		return "refusal";
	case PART_REASONING:
	case PART_SUMMARY:
		return "reasoning";
	case PART_FIELD:
		return "arguments";
	case PART_NONE:
		break;
	}
	BUG("part kind %d", (int)kind);
}

static void
tell_part(struct telling *t, struct part *part, bool first)
{
	struct slice text = buf_slice(&part->text);
	struct buf whole = BUF_INIT(OUTPUT_BYTES_MAX);
	size_t told = part->told;
	struct json value;

	text.len -= half_pair(text);
	if (text.len <= told)
		return;
	begin_entry(t, kind_name(part->kind));
	buf_putc(&whole, '"');
	if (part->kind == PART_SUMMARY && told == 0 && !first)
		buf_puts(&whole, "\\n\\n");
	buf_put(&whole, text.ptr + told, text.len - told);
	buf_putc(&whole, '"');
	value = (struct json){ JSON_STRING, buf_slice(&whole) };
	if (part->marks != 0)
		json_scrub(value, t->out);
	else
		buf_put_slice(t->out, value.raw);
	buf_putc(t->out, ']');
	part->told = text.len;
	buf_release(&whole);
}

static void
tell_name(struct telling *t, struct slot *slot)
{
	struct json name = json_get(slot_item(slot), "name");

	if (slot->named || output_waits(slot->type) != OUTPUT_WAITS_CALL ||
	    value_is_empty(name))
		return;
	tell_value(t, "call", name);
	slot->named = true;
}

static void
tell_parts(struct telling *t, struct slot *slot)
{
	bool first = true;

	tell_name(t, slot);
	for (size_t i = 0; i < slot->part_count; i++) {
		struct part *part = &slot->parts[i];

		if (part->kind == PART_FIELD &&
		    output_waits(slot->type) != OUTPUT_WAITS_CALL)
			continue;
		tell_part(t, part, first);
		first = first && part->kind != PART_SUMMARY;
	}
}

static void
tell_list(struct telling *t, struct json list, const char *kind)
{
	struct json_iter it = json_iter(list);
	struct json part;

	if (list.type != JSON_ARRAY)
		return;
	while (json_next(&it, NULL, &part)) {
		tell_value(t, kind, json_get(part, "text"));
		tell_value(t, "refusal", json_get(part, "refusal"));
	}
}

/* A whole item of which no delta was told. */
static void
tell_item(struct telling *t, struct slot *slot)
{
	struct json item = slot_item(slot);

	tell_name(t, slot);
	if (slot->type == OUTPUT_message)
		tell_list(t, json_get(item, "content"), "text");
	if (slot->type == OUTPUT_reasoning) {
		tell_list(t, json_get(item, "summary"), "reasoning");
		tell_list(t, json_get(item, "content"), "reasoning");
	}
	if (output_waits(slot->type) == OUTPUT_WAITS_CALL)
		tell_value(
		    t, "arguments", json_get(item, output_field(slot->type)));
}

static bool
parts_were_told(const struct slot *slot)
{
	for (size_t i = 0; i < slot->part_count; i++) {
		if (slot->parts[i].told > 0)
			return true;
	}
	return false;
}

static void
tell_slot(struct output *out, struct slot *slot, struct telling *t)
{
	slot->news = false;
	if (!slot->done) {
		tell_parts(t, slot);
		return;
	}
	if (slot->told)
		return;
	if (parts_were_told(slot))
		tell_parts(t, slot);
	else
		tell_item(t, slot);
	slot->told = true;
	slot_drop_parts(out, slot);
}

void
responses_watch(struct responses *r, bool on)
{
	r->output.watched = on;
}

size_t
responses_put_news(struct responses *r, struct buf *out)
{
	struct telling t = { .out = out };

	for (t.item = 0; t.item < r->output.count; t.item++) {
		if (r->output.slots[t.item].news)
			tell_slot(&r->output, &r->output.slots[t.item], &t);
	}
	if (t.count > 0)
		buf_putc(out, ']');
	r->offset += t.count;
	return t.count;
}

void
responses_put_snapshot(struct responses *r, struct buf *out)
{
	struct telling t = { .out = out };

	for (t.item = 0; t.item < r->output.count; t.item++) {
		struct slot *slot = &r->output.slots[t.item];

		slot->named = slot->told = false;
		for (size_t i = 0; i < slot->part_count; i++)
			slot->parts[i].told = 0;
		tell_slot(&r->output, slot, &t);
	}
	buf_puts(out, t.count > 0 ? "]" : "[]");
}
