/*
 * What becomes of an item: it is whole, or it is built from what came, or
 * members of it are rewritten. Every other byte stays as it was received.
 */
#include "workers/model/output.h"

/* Takes the memory of `text`, one JSON object, as the slot's item. */
static void
slot_set_item(struct output *out, struct slot *slot, struct buf *text)
{
	out->bytes -= slot->item.len;
	buf_release(&slot->item);
	slot->item = *text;
	*text = BUF_INIT(0);
	out->bytes += slot->item.len;
	slot->id = json_get(slot_item(slot), "id");
	slot->call_id = json_get(slot_item(slot), "call_id");
}

void
slot_keep(struct output *out, struct slot *slot, struct json item)
{
	struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);

	if (out->bytes + item.raw.len > OUTPUT_BYTES_MAX) {
		out->overflow = true;
		return;
	}
	buf_put_slice(&text, item.raw);
	slot_set_item(out, slot, &text);
}

static size_t
patch_of(const struct patch *patches, size_t count, struct json key)
{
	for (size_t i = 0; i < count; i++) {
		if (json_is(key, patches[i].name))
			return i;
	}
	return count;
}

/* Keys go out as they came: a writer would escape their escapes again. */
static void
put_member(struct buf *text, struct slice key, struct slice value)
{
	buf_putc(text, text->len == 0 ? '{' : ',');
	buf_put_slice(text, key);
	buf_putc(text, ':');
	buf_put_slice(text, value);
}

static void
put_patched(struct buf *text, struct json item, const struct patch *patches,
    size_t count)
{
	struct json_iter it = json_iter(item);
	struct json key, value;
	bool used[PATCHES_MAX] = { false };
	size_t at;

	while (json_next(&it, &key, &value)) {
		at = patch_of(patches, count, key);
		if (at < count && (used[at] || patches[at].json.len == 0))
			continue;
		if (at < count) {
			used[at] = true;
			value.raw = patches[at].json;
		}
		put_member(text, key.raw, value.raw);
	}
	for (at = 0; at < count; at++) {
		if (used[at] || patches[at].json.len == 0)
			continue;
		buf_putc(text, text->len == 0 ? '{' : ',');
		json_put_string(text, slice_string(patches[at].name));
		buf_putc(text, ':');
		buf_put_slice(text, patches[at].json);
	}
	buf_puts(text, text->len == 0 ? "{}" : "}");
}

void
slot_patch(struct output *out, struct slot *slot, const struct patch *patches,
    size_t count)
{
	struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);

	if (count > PATCHES_MAX)
		BUG("%zu patches", count);
	put_patched(&text, slot_item(slot), patches, count);
	if (text.failed || out->bytes + text.len > OUTPUT_BYTES_MAX) {
		out->overflow = true;
		buf_release(&text);
		return;
	}
	slot_set_item(out, slot, &text);
}

/* Has a message any text or refusal, or a part of another kind? */
static bool
content_is_empty(struct json content)
{
	struct json_iter it = json_iter(content);
	struct json part;

	if (content.type != JSON_ARRAY)
		return value_is_empty(content);
	while (json_next(&it, NULL, &part)) {
		struct json text = json_get(part, "text");

		if (text.type == JSON_NONE)
			text = json_get(part, "refusal");
		if (!value_is_empty(text) ||
		    !json_is(json_get(part, "type"), "output_text"))
			return false;
	}
	return true;
}

/* What the whole item lacks and deltas gave. */
static void
settle_from_parts(struct output *out, struct slot *slot)
{
	struct json item = slot_item(slot);
	struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);
	const char *name = output_field(slot->type);
	bool lacks = false;

	if (slot->part_count == 0)
		return;
	if (slot->type == OUTPUT_message) {
		name = "content";
		lacks =
		    content_is_empty(json_get(item, name)) &&
		    slot_put_parts(out, slot, PART_TEXT, PART_REFUSAL, &text);
	} else if (name != NULL) {
		lacks = value_is_empty(json_get(item, name)) &&
			slot_put_field(out, slot, &text);
	}
	if (lacks)
		slot_patch(
		    out, slot, &(struct patch){ name, buf_slice(&text) }, 1);
	buf_release(&text);
}

void
slot_settle(struct output *out, struct slot *slot, struct json item)
{
	slot_keep(out, slot, item);
	slot->done = true;
	slot->news = true;
	settle_from_parts(out, slot);
	if (!out->watched)
		slot_drop_parts(out, slot);
}

static const char *
blank_item(enum output_type type)
{
	if (type == OUTPUT_message)
		return "{\"type\":\"message\",\"role\":\"assistant\","
		       "\"status\":\"\",\"content\":[]}";
	if (type == OUTPUT_reasoning)
		return "{\"type\":\"reasoning\",\"summary\":[]}";
	return NULL;
}

static void
begin_blank(struct output *out, struct slot *slot)
{
	const char *blank = blank_item(slot->type);
	struct buf text = BUF_INIT(LIMIT_CALL_ID + 256);

	if (blank != NULL)
		buf_puts(&text, blank);
	else
		buf_printf(&text, "{\"type\":\"%s\",\"status\":\"\"",
		    output_type_name(slot->type));
	if (output_waits(slot->type) == OUTPUT_WAITS_CALL) {
		buf_puts(&text, ",\"name\":\"\"");
		if (slot->item_id != NULL)
			buf_printf(&text, ",\"call_id\":%s", slot->item_id);
	}
	if (blank == NULL)
		buf_putc(&text, '}');
	slot_set_item(out, slot, &text);
}

void
slot_build(struct output *out, struct slot *slot, const char *status)
{
	struct buf main = BUF_INIT(OUTPUT_BYTES_MAX);
	struct buf side = BUF_INIT(OUTPUT_BYTES_MAX);
	struct buf state = BUF_INIT(64);
	struct patch patches[4];
	size_t n = 0;

	if (slot->item.len == 0)
		begin_blank(out, slot);
	if (json_get(slot_item(slot), "status").type != JSON_NONE) {
		json_put_string(&state, slice_string(status));
		patches[n++] = (struct patch){ "status", buf_slice(&state) };
	}
	if (slot->type == OUTPUT_message) {
		slot_put_parts(out, slot, PART_TEXT, PART_REFUSAL, &main);
		patches[n++] = (struct patch){ "content", buf_slice(&main) };
	} else if (slot->type == OUTPUT_reasoning) {
		slot_put_parts(out, slot, PART_SUMMARY, PART_NONE, &side);
		patches[n++] = (struct patch){ "summary", buf_slice(&side) };
		if (slot_put_parts(out, slot, PART_REASONING, PART_NONE, &main))
			patches[n++] =
			    (struct patch){ "content", buf_slice(&main) };
		/* The ciphertext of `added` is not the finished one. */
		patches[n++] = (struct patch){ "encrypted_content", { 0 } };
	} else if (slot_put_field(out, slot, &main)) {
		patches[n++] = (struct patch){ output_field(slot->type),
			buf_slice(&main) };
	}
	slot_patch(out, slot, patches, n);
	slot->done = true;
	slot->news = true;
	if (!out->watched)
		slot_drop_parts(out, slot);
	buf_release(&main);
	buf_release(&side);
	buf_release(&state);
}
