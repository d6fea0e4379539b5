/*
 * A run's memory: its items, its calls, its strings. Owns them; decides
 * nothing.
 */
#include "base/alloc.h"
#include "supervisor/loop/internal.h"

struct run *
run_new(const struct uuid *id, const struct agent *agent)
{
	struct run *run = MEM_NEW(struct run);

	run->id = *id;
	run->agent = agent;
	run->state = RUN_queued;
	return run;
}

struct run *
run_free(struct run *run)
{
	if (run == NULL)
		return NULL;
	for (size_t i = 0; i < run->item_count; i++)
		mem_free(run->items[i].text);
	mem_free(run->items);
	mem_free(run->session);
	arena_release(&run->calls_arena);
	return mem_free(run);
}

static bool
stands_after(const struct run_item *a, uint32_t turn,
    enum item_category category, uint32_t idx)
{
	if (a->turn != turn)
		return a->turn > turn;
	if (a->category != category)
		return a->category > category;
	return a->idx > idx;
}

/* Takes the text. Outputs come in any order but stand in call order, so that
 * every request says the same: the item goes to its place from the end. */
static void
add_item(struct run *run, uint32_t turn, enum item_category category,
    uint32_t idx, char *text, size_t len)
{
	size_t at;

	if (run->item_count == run->item_cap) {
		run->item_cap = run->item_cap == 0 ? 8 : run->item_cap * 2;
		run->items =
		    mem_grow(run->items, run->item_cap * sizeof(*run->items));
	}
	at = run->item_count++;
	for (; at > run->history &&
	       stands_after(&run->items[at - 1], turn, category, idx);
	     at--)
		run->items[at] = run->items[at - 1];
	run->items[at] = (struct run_item){ turn, idx, category, text, len };
	run->item_bytes += len;
}

void
run_add_item(struct run *run, uint32_t turn, enum item_category category,
    uint32_t idx, struct slice item)
{
	add_item(run, turn, category, idx, mem_string_n(item.ptr, item.len),
	    item.len);
}

struct slice
run_store_item(struct run *run, struct effects *fx, uint32_t turn,
    enum item_category category, uint32_t idx, unsigned marks,
    struct slice type, struct buf *text)
{
	struct item_row *row = step_add_item(fx->step);
	size_t len;
	char *owned = buf_detach(text, &len);

	*row = (struct item_row){ .turn = turn,
		.category = category,
		.idx = idx,
		.marks = marks,
		.type = arena_copy(&fx->step->arena, type),
		.item = slice_of(owned, len) };
	fx->step->bytes += len;
	fx->changed = true;
	add_item(run, turn, category, idx, owned, len);
	return slice_of(owned, len);
}

/* One input item: an object, stored scrubbed. */
static int
input_item(struct run *run, struct effects *fx, uint32_t idx, struct json item,
    struct err *err)
{
	struct buf text = BUF_INIT(LIMIT_ITEM);
	struct buf type = BUF_INIT(LIMIT_NAME);
	struct json clean;
	unsigned marks = 0;
	int rc = -1;

	if (item.type != JSON_OBJECT) {
		err_set(err, ERR_INPUT,
		    "input item %u is no object: each item is an object like "
		    "{\"type\":\"message\",\"role\":\"user\",\"content\":\"…\"}",
		    (unsigned)idx);
		goto out;
	}
	json_decode(json_get(item, "type"), &type);
	if (type.len == 0)
		buf_puts(&type, "message");
	if (json_parse(item.raw, &clean, &marks, err) == -1)
		goto out;
	json_scrub(clean, &text);
	if (buf_check(&text, "an input item", err) == -1 ||
	    buf_check(&type, "the type of an input item", err) == -1)
		goto out;
	run_store_item(
	    run, fx, 0, ITEM_INPUT, idx, marks, buf_slice(&type), &text);
	rc = 0;
out:
	buf_release(&text);
	buf_release(&type);
	return rc;
}

/* A text as the item that it stands for. */
static int
input_text(
    struct run *run, struct effects *fx, struct json text, struct err *err)
{
	struct buf item = BUF_INIT(LIMIT_ITEM);
	struct json value;
	int rc = -1;

	buf_puts(&item, "{\"type\":\"message\",\"role\":\"user\",\"content\":");
	buf_put_slice(&item, text.raw);
	buf_puts(&item, "}");
	if (buf_check(&item, "the input", err) == 0 &&
	    json_parse(buf_slice(&item), &value, NULL, err) == 0)
		rc = input_item(run, fx, 0, value, err);
	buf_release(&item);
	return rc;
}

int
run_set_input(
    struct run *run, struct json input, struct step *step, struct err *err)
{
	struct effects fx = { .step = step };
	struct json_iter it = json_iter(input);
	struct json item;
	uint32_t idx = 0;

	if (input.type == JSON_STRING)
		return input_text(run, &fx, input, err);
	if (input.type != JSON_ARRAY || json_count(input) == 0)
		return err_set(err, ERR_INPUT,
		    "the input must be a text or a non-empty array of items");
	if (json_count(input) > RUN_RESPONSE_ITEMS)
		return err_set(err, ERR_LIMIT,
		    "the input has %zu items; at most %u are allowed",
		    json_count(input), RUN_RESPONSE_ITEMS);
	while (json_next(&it, NULL, &item)) {
		if (input_item(run, &fx, idx++, item, err) == -1)
			return -1;
	}
	if (run->item_bytes > LIMIT_ITEM)
		return err_set(err, ERR_LIMIT,
		    "the input has %zu bytes; at most %u are allowed",
		    run->item_bytes, LIMIT_ITEM);
	return 0;
}

struct run_call *
run_make_calls(struct run *run, size_t count)
{
	arena_release(&run->calls_arena);
	run->calls = ARENA_ARRAY(&run->calls_arena, count, struct run_call);
	run->call_count = count;
	return run->calls;
}

struct run_call *
run_find_call(struct run *run, uint32_t call)
{
	for (size_t i = 0; i < run->call_count; i++) {
		if (run->calls[i].call == call)
			return &run->calls[i];
	}
	return NULL;
}

static struct slice
decoded(struct run *run, struct json item, const char *key)
{
	struct buf text = BUF_INIT(LIMIT_ITEM);
	struct json value = json_get(item, key);
	struct slice copy;

	if (value.type == JSON_OBJECT) /* arguments as an object: serialised */
		buf_put_slice(&text, value.raw);
	else
		json_decode(value, &text);
	copy = arena_copy(&run->calls_arena, buf_slice(&text));
	buf_release(&text);
	return copy;
}

void
run_fill_call(struct run *run, struct run_call *call)
{
	for (size_t i = run->history; i < run->item_count; i++) {
		const struct run_item *item = &run->items[i];
		struct json value;

		if (item->turn != run->turn || item->idx != call->item_idx ||
		    item->category != ITEM_RESPONSE)
			continue;
		if (json_parse(slice_of(item->text, item->len), &value, NULL,
			NULL) == -1)
			BUG("a stored item is no JSON");
		call->call_id = decoded(run, value, "call_id");
		call->name = decoded(run, value, "name");
		call->arguments = decoded(run, value, "arguments");
	}
}

const struct flight *
run_flight(const struct run *run, size_t n)
{
	if (run->turn_open && n-- == 0)
		return &run->turn_at;
	for (size_t i = 0; i < run->call_count; i++) {
		if (run->calls[i].state == CALL_DISPATCHED && n-- == 0)
			return &run->calls[i].at;
	}
	return NULL;
}
