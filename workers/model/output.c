/*
 * Slots of the items being received: which slot an event means, and what
 * becomes of an item when its `added`, its `done` or nothing more comes. Owns
 * all bytes of the output. Never looks at a response's status.
 */
#include "workers/model/output.h"

#include "base/alloc.h"

static const struct {
	const char *type, *field;
	enum output_waits waits;
} items[] = {
	[OUTPUT_other] = { "", "", OUTPUT_WAITS_NOBODY },
#define ITEM(type, field, waits)                                               \
	[OUTPUT_##type] = { #type, field, OUTPUT_WAITS_##waits },
#include "workers/model/items.def"
#undef ITEM
};

enum output_type
output_type_of(struct json item)
{
	struct json type = json_get(item, "type");

	for (size_t i = OUTPUT_other + 1; i < COUNT(items); i++) {
		if (json_is(type, items[i].type))
			return (enum output_type)i;
	}
	return OUTPUT_other;
}

enum output_waits
output_waits(enum output_type type)
{
	return items[type].waits;
}

const char *
output_field(enum output_type type)
{
	return items[type].field[0] == '\0' ? NULL : items[type].field;
}

struct json
slot_item(const struct slot *slot)
{
	if (slot->item.len == 0)
		return (struct json){ JSON_NONE, { 0 } };
	return (struct json){ JSON_OBJECT, buf_slice(&slot->item) };
}

bool
value_is_empty(struct json value)
{
	switch (value.type) {
	case JSON_NONE:
	case JSON_NULL:
		return true;
	case JSON_STRING:
		return value.raw.len == 2;
	case JSON_ARRAY:
	case JSON_OBJECT:
		return json_count(value) == 0;
	case JSON_FALSE:
	case JSON_TRUE:
	case JSON_NUMBER:
		return false;
	}
	BUG("json type %d", (int)value.type);
}

static void
slot_release(struct output *out, struct slot *slot)
{
	slot_drop_parts(out, slot);
	buf_release(&slot->item);
	mem_free(slot->item_id);
}

void
output_clear(struct output *out)
{
	for (size_t i = 0; i < out->count; i++)
		slot_release(out, &out->slots[i]);
	out->count = 0;
	out->bytes = 0;
}

void
output_release(struct output *out)
{
	output_clear(out);
	out->slots = mem_free(out->slots);
	out->cap = 0;
}

void
output_remove(struct output *out, size_t at)
{
	slot_drop_parts(out, &out->slots[at]);
	out->bytes -= out->slots[at].item.len;
	slot_release(out, &out->slots[at]);
	out->count--;
	memmove(&out->slots[at], &out->slots[at + 1],
	    (out->count - at) * sizeof(*out->slots));
}

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

static void
slot_copy_item(struct output *out, struct slot *slot, struct json item)
{
	struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);

	if (out->bytes + item.raw.len > OUTPUT_BYTES_MAX) {
		out->overflow = true;
		return;
	}
	buf_put_slice(&text, item.raw);
	slot_set_item(out, slot, &text);
}

struct slot *
output_open(struct output *out, const struct address *at)
{
	struct slot *slot;

	if (out->count == OUTPUT_ITEMS_MAX) {
		out->overflow = true;
		return NULL;
	}
	if (out->count == out->cap) {
		out->cap = out->cap == 0 ? 2 : out->cap * 2;
		out->slots =
		    mem_grow(out->slots, out->cap * sizeof(*out->slots));
	}
	slot = &out->slots[out->count++];
	*slot = (struct slot){
		.type = at->type,
		.has_index = at->has_index,
		.index = at->index,
		.final = SIZE_MAX,
	};
	return slot;
}

/* ---- which slot ---- */

static bool
same_id(struct json a, struct json b)
{
	return a.type == JSON_STRING && b.type == JSON_STRING &&
	       a.raw.len > 2 && slice_eq(a.raw, b.raw);
}

/* Some servers put the call_id where the item id belongs. */
static bool
slot_has_id(const struct slot *slot, const struct address *at)
{
	struct json seen = { JSON_STRING, slice_string(slot->item_id) };

	return same_id(slot->id, at->id) || same_id(slot->call_id, at->id) ||
	       same_id(slot->call_id, at->call_id) || same_id(seen, at->id) ||
	       same_id(seen, at->call_id);
}

static bool
slot_is_nameless(const struct slot *slot)
{
	return slot->item_id == NULL && value_is_empty(slot->id) &&
	       value_is_empty(slot->call_id);
}

static bool
slot_fits(const struct slot *slot, const struct address *at)
{
	if (slot->type != at->type ||
	    (at->has_index && (!slot->has_index || slot->index != at->index)))
		return false;
	return at->type != OUTPUT_other ||
	       slice_eq(json_get(slot_item(slot), "type").raw, at->name.raw);
}

/* The newest slots that an event could mean, by how well they fit. */
struct candidates {
	struct slot *open_id, *open_nameless, *open, *whole_id, *whole;
};

static struct candidates
find(struct output *out, const struct address *at)
{
	struct candidates found = { 0 };

	for (size_t i = 0; i < out->count; i++) {
		struct slot *slot = &out->slots[i];
		bool id;

		if (!slot_fits(slot, at))
			continue;
		id = slot_has_id(slot, at);
		if (slot->done) {
			found.whole = slot;
			found.whole_id = id ? slot : found.whole_id;
			continue;
		}
		found.open = slot;
		found.open_id = id ? slot : found.open_id;
		if (slot_is_nameless(slot))
			found.open_nameless = slot;
	}
	return found;
}

struct slot *
output_slot(struct output *out, const struct address *at)
{
	struct candidates found = find(out, at);
	struct slot *slot;

	if (found.open_id != NULL)
		return found.open_id;
	if (found.whole_id != NULL)
		return NULL;
	if (found.open != NULL)
		return found.open;
	if (at->has_index && found.whole != NULL)
		return NULL;
	slot = output_open(out, at);
	if (slot != NULL && at->id.type == JSON_STRING && at->id.raw.len > 2 &&
	    at->id.raw.len <= LIMIT_CALL_ID)
		slot->item_id = mem_string_n(at->id.raw.ptr, at->id.raw.len);
	return slot;
}

void
output_added(struct output *out, const struct address *at, struct json item)
{
	struct candidates found = find(out, at);
	struct slot *slot = found.open_id;

	if (slot == NULL && found.open != NULL && found.open->item.len == 0 &&
	    (at->has_index || found.open->item_id == NULL))
		slot = found.open;
	if (slot == NULL)
		slot = output_open(out, at);
	if (slot == NULL)
		return;
	slot_copy_item(out, slot, item);
	slot->news = true;
}

void
output_done(struct output *out, const struct address *at, struct json item)
{
	struct candidates found = find(out, at);
	struct slot *slot = found.open_id;

	if (slot == NULL)
		slot = found.whole_id;
	if (slot == NULL)
		slot = found.open_nameless;
	if (slot == NULL)
		slot = found.open;
	if (slot == NULL)
		slot = output_open(out, at);
	if (slot != NULL)
		slot_settle(out, slot, item);
}

/* ---- what becomes of an item ---- */

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
	slot_copy_item(out, slot, item);
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
		    items[slot->type].type);
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

/* ---- order ---- */

struct rank {
	uint64_t index;
	size_t at;
};

static int
compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void
output_order(const struct output *out, size_t *ret_order)
{
	struct rank *ranks = mem_array(out->count, sizeof(*ranks));
	bool indexed = true, final = true;

	for (size_t i = 0; i < out->count; i++) {
		indexed = indexed && out->slots[i].has_index;
		final = final && out->slots[i].final != SIZE_MAX;
	}
	for (size_t i = 0; i < out->count; i++) {
		ranks[i] = (struct rank){ i, i };
		if (indexed)
			ranks[i].index = out->slots[i].index;
		else if (final)
			ranks[i].index = out->slots[i].final;
	}
	qsort(ranks, out->count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < out->count; i++)
		ret_order[i] = ranks[i].at;
	mem_free(ranks);
}
