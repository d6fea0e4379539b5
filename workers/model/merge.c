/*
 * Makes the output of a response whole at its end. Changes only what the rules
 * in merge.h name; every other byte of an item stays as it was received.
 */
#include "workers/model/merge.h"

#include "base/alloc.h"

#define CALL_ID_MAX 64u /* longest that providers take back */
#define FILL_MAX    64u /* members of a terminal item that are looked at */

/* ---- the terminal list ---- */

/* One item of the terminal list, and the slot that it tells about. */
struct final {
	struct json item, id, call_id;
	enum output_type type;
	size_t slot; /* SIZE_MAX = none yet */
};

static bool
id_matches(const struct slot *slot, const struct final *final)
{
	return (!value_is_empty(final->id) &&
		   slice_eq(slot->id.raw, final->id.raw)) ||
	       (!value_is_empty(final->call_id) &&
		   slice_eq(slot->call_id.raw, final->call_id.raw));
}

static void
pair(struct output *out, struct final *finals, size_t final, size_t slot)
{
	finals[final].slot = slot;
	out->slots[slot].final = final;
}

static void
pair_by_position(struct output *out, struct final *finals, size_t count)
{
	size_t *order;

	if (out->count != count)
		return;
	order = mem_array(count, sizeof(*order));
	output_order(out, order);
	for (size_t i = 0; i < count; i++) {
		if (out->slots[order[i]].type == finals[i].type)
			pair(out, finals, i, order[i]);
	}
	mem_free(order);
}

static void
pair_by_id(struct output *out, struct final *finals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < out->count; k++) {
			if (finals[i].slot == SIZE_MAX &&
			    out->slots[k].final == SIZE_MAX &&
			    out->slots[k].type == finals[i].type &&
			    id_matches(&out->slots[k], &finals[i]))
				pair(out, finals, i, k);
		}
	}
}

/* Two calls of one type are told apart by their ids only. */
static bool
may_pair_by_type(const struct slot *slot)
{
	return slot->final == SIZE_MAX &&
	       !(slot->done && output_waits(slot->type) == OUTPUT_WAITS_CALL);
}

static void
pair_by_type(struct output *out, struct final *finals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < out->count; k++) {
			if (finals[i].slot == SIZE_MAX &&
			    may_pair_by_type(&out->slots[k]) &&
			    out->slots[k].type == finals[i].type)
				pair(out, finals, i, k);
		}
	}
}

/* Members that the item lacks or has empty, from the terminal list. */
static void
fill(struct output *out, struct slot *slot, struct json item)
{
	struct json_iter it = json_iter(item);
	struct json key, value;
	struct patch patches[PATCHES_MAX];
	char *names[PATCHES_MAX];
	size_t n = 0;

	for (size_t seen = 0;
	     seen < FILL_MAX && n < PATCHES_MAX && json_next(&it, &key, &value);
	     seen++) {
		if (value_is_empty(value))
			continue;
		names[n] = json_string_new(key, LIMIT_NAME);
		if (names[n] == NULL)
			continue;
		patches[n] = (struct patch){ names[n], value.raw };
		if (value_is_empty(json_get(slot_item(slot), names[n])))
			n++;
		else
			mem_free(names[n]);
	}
	if (n > 0)
		slot_patch(out, slot, patches, n);
	while (n > 0)
		mem_free(names[--n]);
}

static void
add_missing(struct output *out, const struct final *final, size_t position)
{
	struct address at = {
		.type = final->type,
		.has_index = true,
		.index = position,
	};
	struct slot *slot = output_open(out, &at);

	if (slot == NULL)
		return;
	slot->final = position;
	slot_settle(out, slot, final->item);
}

static struct final
final_of(struct json item)
{
	return (struct final){
		.item = item,
		.id = json_get(item, "id"),
		.call_id = json_get(item, "call_id"),
		.type = output_type_of(item),
		.slot = SIZE_MAX,
	};
}

void
merge_final(struct output *out, struct json list)
{
	size_t count = json_count(list), n = 0;
	struct json_iter it = json_iter(list);
	struct final *finals;
	struct json item;

	if (list.type != JSON_ARRAY || count == 0)
		return;
	if (count > OUTPUT_ITEMS_MAX) {
		out->overflow = true;
		return;
	}
	finals = mem_array(count, sizeof(*finals));
	while (json_next(&it, NULL, &item)) {
		if (item.type == JSON_OBJECT)
			finals[n++] = final_of(item);
	}
	pair_by_position(out, finals, n);
	pair_by_id(out, finals, n);
	pair_by_type(out, finals, n);
	for (size_t i = 0; i < n; i++) {
		if (finals[i].slot == SIZE_MAX)
			add_missing(out, &finals[i], i);
		else if (out->slots[finals[i].slot].done)
			fill(out, &out->slots[finals[i].slot], finals[i].item);
		else
			slot_settle(
			    out, &out->slots[finals[i].slot], finals[i].item);
	}
	mem_free(finals);
}

/* ---- calls ---- */

/* Only white space between the quotes, escaped or not? */
static bool
is_blank(struct json text)
{
	struct slice s = text.raw;

	for (size_t i = 1; i + 1 < s.len; i++) {
		if (s.ptr[i] == '\\' && memchr("ntr", s.ptr[i + 1], 3) != NULL)
			i++;
		else if (s.ptr[i] != ' ')
			return false;
	}
	return true;
}

static void
repair_text(
    struct output *out, struct slot *slot, const char *name, const char *blank)
{
	struct json value = json_get(slot_item(slot), name);
	struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);

	if (value.type == JSON_STRING &&
	    (slot->type != OUTPUT_function_call || !is_blank(value)))
		return;
	if (value_is_empty(value) || value.type == JSON_STRING)
		json_put_string(&text, slice_string(blank));
	else
		json_put_string(&text, value.raw);
	slot_patch(out, slot, &(struct patch){ name, buf_slice(&text) }, 1);
	buf_release(&text);
}

static void
repair_id(struct output *out, struct slot *slot, size_t position)
{
	struct buf text = BUF_INIT(64);
	struct slice id = slot->id.raw;

	if (slot->call_id.type == JSON_STRING && slot->call_id.raw.len > 2)
		return;
	if (slot->id.type != JSON_STRING || slot->id.raw.len <= 2) {
		id = slice_string(slot->item_id);
		if (id.len == 0) {
			buf_printf(&text, "\"__idx_%zu\"", position);
			id = buf_slice(&text);
		}
	}
	slot_patch(out, slot, &(struct patch){ "call_id", id }, 1);
	buf_release(&text);
}

static bool
id_taken(const struct output *out, const size_t *order, size_t before,
    struct slice id)
{
	for (size_t i = 0; i < before; i++) {
		const struct slot *slot = &out->slots[order[i]];

		if (output_waits(slot->type) == OUTPUT_WAITS_CALL &&
		    slice_eq(slot->call_id.raw, id))
			return true;
	}
	return false;
}

/* An id of ours may be cut, but not inside an escape. */
static struct slice
id_stem(struct slice raw)
{
	struct slice stem = slice_of(raw.ptr + 1, raw.len - 2);

	if (stem.len > CALL_ID_MAX - 8 &&
	    memchr(stem.ptr, '\\', stem.len) == NULL)
		stem.len = CALL_ID_MAX - 8;
	return stem;
}

static void
repair_twin(struct output *out, const size_t *order, size_t at)
{
	struct slot *slot = &out->slots[order[at]];
	struct slice stem;
	struct buf text = BUF_INIT(OUTPUT_BYTES_MAX);

	if (!id_taken(out, order, at, slot->call_id.raw))
		return;
	stem = id_stem(slot->call_id.raw);
	for (unsigned n = 2; n <= OUTPUT_ITEMS_MAX + 1; n++) {
		buf_clear(&text);
		buf_putc(&text, '"');
		buf_put_slice(&text, stem);
		buf_printf(&text, "_%u\"", n);
		if (!id_taken(out, order, out->count, buf_slice(&text)))
			break;
	}
	slot_patch(
	    out, slot, &(struct patch){ "call_id", buf_slice(&text) }, 1);
	buf_release(&text);
}

static void
repair_calls(struct output *out, const size_t *order)
{
	size_t calls = 0;

	for (size_t i = 0; i < out->count; i++) {
		struct slot *slot = &out->slots[order[i]];

		if (output_waits(slot->type) != OUTPUT_WAITS_CALL)
			continue;
		if (++calls > LIMIT_TURN_CALLS) {
			out->overflow = true;
			return;
		}
		if (slot->type == OUTPUT_function_call)
			repair_text(out, slot, "arguments", "{}");
		else
			repair_text(out, slot, "input", "");
		repair_id(out, slot, i);
		repair_twin(out, order, i);
	}
}

void
merge_close(struct output *out, const char *status)
{
	size_t *order;

	for (size_t i = 0; i < out->count; i++) {
		if (!out->slots[i].done)
			slot_build(out, &out->slots[i], status);
	}
	order = mem_array(out->count, sizeof(*order));
	output_order(out, order);
	repair_calls(out, order);
	mem_free(order);
}

/* ---- messages sent twice ---- */

static void
message_text(const struct slot *slot, struct buf *text)
{
	struct json_iter it = json_iter(json_get(slot_item(slot), "content"));
	struct json part;

	while (json_next(&it, NULL, &part))
		json_decode(json_get(part, "text"), text);
}

static bool
begins_with(const struct slot *later, const struct slot *earlier)
{
	struct buf a = BUF_INIT(OUTPUT_BYTES_MAX);
	struct buf b = BUF_INIT(OUTPUT_BYTES_MAX);
	bool yes;

	message_text(earlier, &a);
	message_text(later, &b);
	yes = a.len > 0 && a.len <= b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
	buf_release(&a);
	buf_release(&b);
	return yes;
}

void
merge_repeats(struct output *out)
{
	for (size_t i = 0; i + 1 < out->count;) {
		if (out->slots[i].type == OUTPUT_message &&
		    out->slots[i + 1].type == OUTPUT_message &&
		    begins_with(&out->slots[i + 1], &out->slots[i]))
			output_remove(out, i);
		else
			i++;
	}
}
