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

const char *
output_type_name(enum output_type type)
{
	return items[type].type;
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
	slot_keep(out, slot, item);
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
