/*
 * Texts inside a slot: what deltas appended and `done` events replaced, and the
 * JSON of an item's members made from them. Owns the bytes of the parts.
 */
#include "base/alloc.h"
#include "workers/model/output.h"

static struct part *
part_find(
    struct slot *slot, enum part_kind kind, bool has_index, uint64_t index)
{
	for (size_t i = slot->part_count; i-- > 0;) {
		struct part *part = &slot->parts[i];

		if (part->kind == kind &&
		    (!has_index || !part->has_index || part->index == index))
			return part;
	}
	return NULL;
}

struct part *
slot_part(struct output *out, struct slot *slot, enum part_kind kind,
    bool has_index, uint64_t index)
{
	struct part *part = part_find(slot, kind, has_index, index);
	size_t n = slot->part_count;

	if (part != NULL)
		return part;
	if (n == OUTPUT_PARTS_MAX) {
		out->overflow = true;
		return NULL;
	}
	if ((n & (n - 1)) == 0)
		slot->parts = mem_grow(
		    slot->parts, (n == 0 ? 1 : n * 2) * sizeof(*slot->parts));
	part = &slot->parts[slot->part_count++];
	*part = (struct part){
		.kind = kind,
		.has_index = has_index,
		.index = index,
		.text = BUF_INIT(OUTPUT_BYTES_MAX),
	};
	return part;
}

static struct slice
inside(struct json raw)
{
	if (raw.type != JSON_STRING)
		return (struct slice){ 0 };
	return slice_of(raw.raw.ptr + 1, raw.raw.len - 2);
}

void
part_append(struct output *out, struct slot *slot, struct part *part,
    struct json raw, unsigned marks)
{
	struct slice text = inside(raw);

	if (part->closed || text.len == 0)
		return;
	if (out->bytes + text.len > OUTPUT_BYTES_MAX) {
		out->overflow = true;
		return;
	}
	buf_put_slice(&part->text, text);
	out->bytes += text.len;
	part->marks |= marks;
	slot->news = true;
}

void
part_replace(struct output *out, struct slot *slot, struct part *part,
    struct json raw, unsigned marks)
{
	struct slice text = inside(raw);

	part->closed = true;
	if (text.len == 0 || slice_eq(text, buf_slice(&part->text)))
		return;
	if (out->bytes + text.len > OUTPUT_BYTES_MAX) {
		out->overflow = true;
		return;
	}
	/* Who watches has the deltas: the rest can only be appended to them. */
	if (part->told > text.len ||
	    (part->told > 0 &&
		memcmp(part->text.ptr, text.ptr, part->told) != 0))
		part->told = text.len;
	out->bytes += text.len - part->text.len;
	buf_clear(&part->text);
	buf_put_slice(&part->text, text);
	part->marks = marks;
	slot->news = true;
}

void
slot_drop_parts(struct output *out, struct slot *slot)
{
	for (size_t i = 0; i < slot->part_count; i++) {
		out->bytes -= slot->parts[i].text.len;
		buf_release(&slot->parts[i].text);
	}
	slot->parts = mem_free(slot->parts);
	slot->part_count = 0;
}

/* ---- members made from parts ---- */

/* In a damaged stream a delta may be missing: only whole texts count. */
static bool
part_counts(struct output *out, const struct part *part)
{
	if (part->text.len == 0)
		return false;
	if (out->damaged && !part->closed) {
		out->left_out = true;
		return false;
	}
	return true;
}

static void
put_text(struct buf *text, const struct part *part)
{
	buf_putc(text, '"');
	buf_put_slice(text, buf_slice(&part->text));
	buf_putc(text, '"');
}

static int
compare_parts(const void *a, const void *b)
{
	const struct part *x = *(const struct part *const *)a;
	const struct part *y = *(const struct part *const *)b;

	if (x->has_index && y->has_index && x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The parts of these two kinds that count, by their index. */
static size_t
parts_sorted(struct output *out, const struct slot *slot, enum part_kind kind,
    enum part_kind other, const struct part **ret_parts)
{
	size_t n = 0;

	for (size_t i = 0; i < slot->part_count; i++) {
		const struct part *part = &slot->parts[i];

		if ((part->kind == kind || part->kind == other) &&
		    part_counts(out, part))
			ret_parts[n++] = part;
	}
	qsort(ret_parts, n, sizeof(*ret_parts), compare_parts);
	return n;
}

static const struct {
	const char *before, *after;
} shapes[] = {
	[PART_NONE] = { "", "" },
	[PART_TEXT] = { "{\"type\":\"output_text\",\"text\":",
	    ",\"annotations\":[]}" },
	[PART_REFUSAL] = { "{\"type\":\"refusal\",\"refusal\":", "}" },
	[PART_REASONING] = { "{\"type\":\"reasoning_text\",\"text\":", "}" },
	[PART_SUMMARY] = { "{\"type\":\"summary_text\",\"text\":", "}" },
	[PART_FIELD] = { "", "" },
};

bool
slot_put_parts(struct output *out, const struct slot *slot, enum part_kind kind,
    enum part_kind other, struct buf *text)
{
	const struct part **parts;
	size_t n;

	parts = mem_array(slot->part_count, sizeof(struct part *));
	n = parts_sorted(out, slot, kind, other, parts);
	buf_putc(text, '[');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_putc(text, ',');
		buf_puts(text, shapes[parts[i]->kind].before);
		put_text(text, parts[i]);
		buf_puts(text, shapes[parts[i]->kind].after);
	}
	buf_putc(text, ']');
	mem_free(parts);
	return n > 0;
}

bool
slot_put_field(struct output *out, const struct slot *slot, struct buf *text)
{
	for (size_t i = slot->part_count; i-- > 0;) {
		const struct part *part = &slot->parts[i];

		if (part->kind == PART_FIELD && part_counts(out, part)) {
			put_text(text, part);
			return true;
		}
	}
	return false;
}
