/*
 * Reads a request body in one pass: top-level fields, then each input item's
 * fields, then what depends on their order. Judges nothing (that is
 * responses_check.c) and owns only the array of items.
 */
#include "tests/support/lib/responses_request.h"

#include "base/alloc.h"

#define ITEMS_FIRST 16

static const struct slice request_names[REQUEST_FIELDS] = {
	[REQUEST_MODEL] = FIELD("model"),
	[REQUEST_INPUT] = FIELD("input"),
	[REQUEST_INSTRUCTIONS] = FIELD("instructions"),
	[REQUEST_TOOLS] = FIELD("tools"),
	[REQUEST_TOOL_CHOICE] = FIELD("tool_choice"),
	[REQUEST_STREAM] = FIELD("stream"),
	[REQUEST_STORE] = FIELD("store"),
	[REQUEST_INCLUDE] = FIELD("include"),
	[REQUEST_PREVIOUS] = FIELD("previous_response_id"),
	[REQUEST_CONVERSATION] = FIELD("conversation"),
	[REQUEST_MAX_OUTPUT] = FIELD("max_output_tokens"),
	[REQUEST_METADATA] = FIELD("metadata"),
	[REQUEST_PARALLEL] = FIELD("parallel_tool_calls"),
	[REQUEST_REASONING] = FIELD("reasoning"),
	[REQUEST_TEMPERATURE] = FIELD("temperature"),
	[REQUEST_TEXT] = FIELD("text"),
	[REQUEST_TOP_P] = FIELD("top_p"),
};

static const struct slice item_names[ITEM_FIELDS] = {
	[ITEM_TYPE] = FIELD("type"),
	[ITEM_ID] = FIELD("id"),
	[ITEM_ROLE] = FIELD("role"),
	[ITEM_CONTENT] = FIELD("content"),
	[ITEM_CALL_ID] = FIELD("call_id"),
	[ITEM_NAME] = FIELD("name"),
	[ITEM_ARGUMENTS] = FIELD("arguments"),
	[ITEM_INPUT] = FIELD("input"),
	[ITEM_OUTPUT] = FIELD("output"),
	[ITEM_ENCRYPTED] = FIELD("encrypted_content"),
	[ITEM_SUMMARY] = FIELD("summary"),
};

static const struct {
	const char *type;
	enum item_kind kind;
	bool custom;
} item_types[] = {
	{ "function_call", ITEM_IS_CALL, false },
	{ "function_call_output", ITEM_IS_OUTPUT, false },
	{ "custom_tool_call", ITEM_IS_CALL, true },
	{ "custom_tool_call_output", ITEM_IS_OUTPUT, true },
	{ "reasoning", ITEM_IS_REASONING, false },
	{ "item_reference", ITEM_IS_REFERENCE, false },
};

struct slice
request_plain(struct json string, struct buf *scratch)
{
	struct slice inside;

	if (string.type != JSON_STRING)
		return (struct slice){ 0 };
	inside = slice_of(string.raw.ptr + 1, string.raw.len - 2);
	if (memchr(inside.ptr, '\\', inside.len) == NULL)
		return inside;
	buf_clear(scratch);
	scratch->max = string.raw.len;
	json_decode(string, scratch);
	return buf_slice(scratch);
}

static bool
key_is(struct json key, struct slice name)
{
	if (key.raw.len == name.len + 2)
		return memcmp(key.raw.ptr + 1, name.ptr, name.len) == 0;
	return memchr(key.raw.ptr, '\\', key.raw.len) != NULL &&
	       json_is(key, name.ptr);
}

void
request_fields(struct json object, const struct slice names[], size_t n,
    struct json ret_fields[])
{
	struct json_iter it = json_iter(object);
	struct json key, value;

	for (size_t i = 0; i < n; i++)
		ret_fields[i] = (struct json){ 0 };
	while (object.type == JSON_OBJECT && json_next(&it, &key, &value))
		for (size_t i = 0; i < n; i++)
			if (key_is(key, names[i])) {
				ret_fields[i] = value;
				break;
			}
}

static void
classify(struct request_item *item)
{
	struct json type = item->field[ITEM_TYPE];
	struct json role = item->field[ITEM_ROLE];

	item->custom = item->user = false;
	if (json_is(type, "message") ||
	    (type.type == JSON_NONE && role.type == JSON_STRING)) {
		item->user = json_is(role, "user");
		item->kind = json_is(role, "assistant") ? ITEM_IS_ASSISTANT
							: ITEM_IS_USER;
		return;
	}
	item->kind = type.type == JSON_STRING ? ITEM_IS_OTHER : ITEM_IS_NOTHING;
	for (size_t i = 0; i < COUNT(item_types); i++)
		if (json_is(type, item_types[i].type)) {
			item->kind = item_types[i].kind;
			item->custom = item_types[i].custom;
		}
}

static struct request_item *
next_item(struct request *request)
{
	if (request->count == request->cap) {
		request->cap =
		    request->cap == 0 ? ITEMS_FIRST : request->cap * 2;
		request->items = mem_grow(
		    request->items, request->cap * sizeof(*request->items));
	}
	return &request->items[request->count++];
}

static int
read_items(struct request *request, struct err *err)
{
	struct json input = request->field[REQUEST_INPUT];
	struct json_iter it = json_iter(input);
	struct json key, value;

	request->count = 0;
	while (input.type == JSON_ARRAY && json_next(&it, &key, &value)) {
		struct request_item *item;

		if (request->count == REQUEST_ITEMS_MAX)
			return err_set(err, ERR_LIMIT,
			    "more than %u input items", REQUEST_ITEMS_MAX);
		item = next_item(request);
		request_fields(value, item_names, ITEM_FIELDS, item->field);
		classify(item);
	}
	return 0;
}

/* A round is a run of outputs with nothing between them. */
static void
read_rounds(struct request *request)
{
	enum item_kind before = ITEM_IS_NOTHING;

	request->rounds = 0;
	request->outputs = 0;
	request->after_user = 0;
	request->last_user = (struct json){ 0 };
	request->last_output = (struct json){ 0 };
	if (request->field[REQUEST_INPUT].type == JSON_STRING)
		request->last_user = request->field[REQUEST_INPUT];
	for (size_t i = request->count; i-- > 0;)
		if (request->items[i].user) {
			request->last_user =
			    request->items[i].field[ITEM_CONTENT];
			request->after_user = i + 1;
			break;
		}
	for (size_t i = request->after_user; i < request->count; i++) {
		const struct request_item *item = &request->items[i];

		if (item->kind == ITEM_IS_OUTPUT) {
			request->outputs++;
			request->rounds += before != ITEM_IS_OUTPUT;
			request->last_output = item->field[ITEM_OUTPUT];
		}
		before = item->kind;
	}
}

int
request_read(struct request *request, struct json root, struct err *err)
{
	request->root = root;
	request_fields(root, request_names, REQUEST_FIELDS, request->field);
	if (read_items(request, err) == -1)
		return -1;
	read_rounds(request);
	return 0;
}

void
request_release(struct request *request)
{
	request->items = mem_free(request->items);
	request->count = request->cap = 0;
}

void
request_text(struct json content, struct buf *out)
{
	static const struct slice names[] = { FIELD("text"), FIELD("refusal") };
	struct json_iter it = json_iter(content);
	struct json key, part, words[COUNT(names)];

	if (content.type == JSON_STRING)
		json_decode(content, out);
	while (content.type == JSON_ARRAY && json_next(&it, &key, &part)) {
		request_fields(part, names, COUNT(names), words);
		json_decode(words[0], out);
		json_decode(words[1], out);
	}
}

void
request_outputs(const struct request *request, struct buf *out)
{
	bool first = true;

	for (size_t i = request->after_user; i < request->count; i++) {
		if (request->items[i].kind != ITEM_IS_OUTPUT)
			continue;
		if (!first)
			buf_putc(out, '\n');
		first = false;
		request_text(request->items[i].field[ITEM_OUTPUT], out);
	}
}

/* The next offered tool's name; NONE at the end. */
static struct json
next_tool(struct json_iter *it)
{
	static const struct slice names[] = { FIELD("name") };
	struct json key, tool, name;

	while (json_next(it, &key, &tool)) {
		request_fields(tool, names, 1, &name);
		if (name.type == JSON_STRING)
			return name;
	}
	return (struct json){ 0 };
}

struct json
request_first_tool(const struct request *request)
{
	struct json_iter it = json_iter(request->field[REQUEST_TOOLS]);

	return next_tool(&it);
}

bool
request_has_tool(const struct request *request, struct slice name)
{
	struct json_iter it = json_iter(request->field[REQUEST_TOOLS]);
	struct buf scratch = BUF_INIT(0);
	struct json tool;
	bool found = false;

	while (!found && (tool = next_tool(&it)).type != JSON_NONE)
		found = slice_eq(request_plain(tool, &scratch), name);
	buf_release(&scratch);
	return found;
}

const struct request_item *
request_call_of(
    const struct request *request, const struct request_item *output)
{
	size_t i = (size_t)(output - request->items);

	while (i-- > 0)
		if (request->items[i].kind == ITEM_IS_CALL &&
		    slice_eq(request->items[i].field[ITEM_CALL_ID].raw,
			output->field[ITEM_CALL_ID].raw))
			return &request->items[i];
	return NULL;
}
