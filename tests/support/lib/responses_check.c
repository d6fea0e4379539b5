/*
 * The checks, one function a subject, all run in the order of one table; the
 * input is walked once with the calls that wait for their output in a map.
 * Judges a request and changes nothing.
 */
#include "tests/support/lib/responses_check.h"

#include <stdarg.h>

#include "base/map.h"

#define SEALED              "reasoning.encrypted_content"
#define OUTPUT_TOKENS_LEAST 16

typedef int check(const struct request *request, struct fault *fault);

int
fault_set(struct fault *fault, int status, const char *code, const char *param,
    const char *fmt, ...)
{
	va_list args;

	fault->status = status;
	fault->code = code;
	fault->type =
	    status == 401 ? "authentication_error" : "invalid_request_error";
	snprintf(fault->param, sizeof(fault->param), "%s",
	    param == NULL ? "" : param);
	va_start(args, fmt);
	vsnprintf(fault->text, sizeof(fault->text), fmt, args);
	va_end(args);
	return -1;
}

void
fault_body(const struct fault *fault, struct buf *out)
{
	struct json_writer w = json_writer(out);

	json_open(&w, '{');
	json_key(&w, "error");
	json_open(&w, '{');
	json_key(&w, "message");
	json_text(&w, fault->text);
	json_key(&w, "type");
	json_text(&w, fault->type);
	json_key(&w, "param");
	json_text(&w, fault->param[0] == '\0' ? NULL : fault->param);
	json_key(&w, "code");
	json_text(&w, fault->code);
	json_close(&w);
	json_close(&w);
}

/* ---- top level ---- */

static bool
is_given(struct json value)
{
	return value.type != JSON_NONE && value.type != JSON_NULL;
}

static int
check_model(const struct request *request, struct fault *fault)
{
	struct json model = request->field[REQUEST_MODEL];

	if (model.type == JSON_NONE)
		return fault_set(fault, 400, "missing_required_parameter",
		    "model", "Missing required parameter: 'model'.");
	if (model.type != JSON_STRING || model.raw.len == 2)
		return fault_set(fault, 400, "invalid_type", "model",
		    "model must be a string with at least one character.");
	return 0;
}

static int
check_state(const struct request *request, struct fault *fault)
{
	if (request->field[REQUEST_STORE].type != JSON_FALSE)
		return fault_set(fault, 400, "invalid_value", "store",
		    "store must be false: this server keeps nothing.");
	if (is_given(request->field[REQUEST_PREVIOUS]))
		return fault_set(fault, 400, "previous_response_not_found",
		    "previous_response_id",
		    "previous_response_id needs stored responses.");
	if (is_given(request->field[REQUEST_CONVERSATION]))
		return fault_set(fault, 400, "invalid_value", "conversation",
		    "conversation needs stored responses.");
	return 0;
}

/* A request that is not streamed may leave it out: a probe has no history. */
static int
check_include(const struct request *request, struct fault *fault)
{
	struct json include = request->field[REQUEST_INCLUDE];
	struct json_iter it = json_iter(include);
	struct json key, value;

	while (include.type == JSON_ARRAY && json_next(&it, &key, &value))
		if (json_is(value, SEALED))
			return 0;
	if (!json_true(request->field[REQUEST_STREAM]))
		return 0;
	return fault_set(fault, 400, "invalid_value", "include",
	    "include must hold '" SEALED "'.");
}

static int
check_numbers(const struct request *request, struct fault *fault)
{
	struct json max = request->field[REQUEST_MAX_OUTPUT];
	int64_t tokens;

	if (!is_given(max))
		return 0;
	if (!json_i64(max, &tokens))
		return fault_set(fault, 400, "invalid_type",
		    "max_output_tokens", "max_output_tokens is no integer.");
	if (tokens < OUTPUT_TOKENS_LEAST)
		return fault_set(fault, 400, "integer_below_min_value",
		    "max_output_tokens",
		    "max_output_tokens is below its least value of %d.",
		    OUTPUT_TOKENS_LEAST);
	return 0;
}

static int
check_stream(const struct request *request, struct fault *fault)
{
	enum json_type type = request->field[REQUEST_STREAM].type;

	if (type == JSON_NONE || type == JSON_NULL || type == JSON_TRUE ||
	    type == JSON_FALSE)
		return 0;
	return fault_set(
	    fault, 400, "invalid_type", "stream", "stream is no boolean.");
}

static bool
is_name(struct slice name)
{
	if (name.len == 0 || name.len > CHECK_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '_' || c == '-'))
			return false;
	}
	return true;
}

static int
check_function_tool(
    struct json tool, size_t i, struct map *names, struct fault *fault)
{
	static const struct slice keys[] = { FIELD("type"), FIELD("name"),
		FIELD("parameters") };
	struct json field[COUNT(keys)];
	struct slice name;
	char param[64];

	snprintf(param, sizeof(param), "tools[%zu].name", i);
	request_fields(tool, keys, COUNT(keys), field);
	if (field[0].type != JSON_STRING)
		return fault_set(fault, 400, "missing_required_parameter",
		    "tools", "Tool %zu has no type.", i);
	if (!json_is(field[0], "function"))
		return 0;
	if (field[1].type != JSON_STRING)
		return fault_set(fault, 400, "missing_required_parameter",
		    param, "Tool %zu has no name.", i);
	name = slice_of(field[1].raw.ptr + 1, field[1].raw.len - 2);
	if (!is_name(name))
		return fault_set(fault, 400, "invalid_value", param,
		    "The name of tool %zu is not 1 to %u of [A-Za-z0-9_-].", i,
		    CHECK_NAME_MAX);
	if (map_set(names, name, names) != NULL)
		return fault_set(fault, 400, "invalid_value", param,
		    "Two tools are named '%.*s'.", SLICE_ARGS(name));
	if (is_given(field[2]) && field[2].type != JSON_OBJECT)
		return fault_set(fault, 400, "invalid_type", "tools",
		    "The parameters of tool %zu are no object.", i);
	return 0;
}

static int
check_tools(const struct request *request, struct fault *fault)
{
	struct json tools = request->field[REQUEST_TOOLS];
	struct json_iter it = json_iter(tools);
	struct json key, tool;
	struct map names = MAP_INIT;
	size_t i = 0;
	int rc = 0;

	if (is_given(tools) && tools.type != JSON_ARRAY)
		return fault_set(
		    fault, 400, "invalid_type", "tools", "tools is no array.");
	while (
	    rc == 0 && tools.type == JSON_ARRAY && json_next(&it, &key, &tool))
		rc = check_function_tool(tool, i++, &names, fault);
	map_release(&names);
	return rc;
}

/* ---- input items ---- */

struct walk {
	const struct request *request;
	struct map calls; /* by call_id: &is_open or &is_closed */
	char is_open, is_closed;
	struct buf scratch;
	size_t open; /* calls that wait for their output */
	struct fault *fault;
};

static int
item_fault(struct walk *walk, size_t i, int status, const char *code,
    const char *field, const char *text, struct json value)
{
	char param[64];
	struct slice name = request_plain(value, &walk->scratch);

	snprintf(param, sizeof(param), "input[%zu]%s%s", i,
	    field[0] == '\0' ? "" : ".", field);
	if (value.type != JSON_STRING)
		return fault_set(
		    walk->fault, status, code, param, "Item %zu: %s.", i, text);
	return fault_set(walk->fault, status, code, param,
	    "Item %zu: %s '%.*s'.", i, text,
	    (int)(name.len > 200 ? 200 : name.len),
	    name.len == 0 ? "" : name.ptr);
}

static int
not_found(struct walk *walk, size_t i, const char *why)
{
	struct json id = walk->request->items[i].field[ITEM_ID];
	struct slice name = request_plain(id, &walk->scratch);
	char param[64];

	snprintf(param, sizeof(param), "input[%zu].id", i);
	return fault_set(walk->fault, 404, "invalid_value", param,
	    "Item with id '%.*s' not found: %s, and store is false.",
	    (int)(name.len > 100 ? 100 : name.len),
	    name.len == 0 ? "" : name.ptr, why);
}

static size_t
characters(struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	return n;
}

static int
check_call_id(struct walk *walk, size_t i, struct slice *ret_id)
{
	struct json id = walk->request->items[i].field[ITEM_CALL_ID];
	struct json none = { 0 };
	size_t n;

	*ret_id = request_plain(id, &walk->scratch);
	n = characters(*ret_id);
	if (id.type != JSON_STRING)
		return item_fault(walk, i, 400, "missing_required_parameter",
		    "call_id", "call_id is missing", none);
	if (n == 0)
		return item_fault(walk, i, 400, "empty_string", "call_id",
		    "call_id is empty", none);
	if (n > CHECK_CALL_ID_MAX)
		return item_fault(walk, i, 400, "string_above_max_length",
		    "call_id", "call_id has more than 64 characters:", id);
	return 0;
}

static int
check_call(struct walk *walk, size_t i)
{
	const struct request_item *item = &walk->request->items[i];
	struct json words =
	    item->field[item->custom ? ITEM_INPUT : ITEM_ARGUMENTS];
	struct slice id;

	if (check_call_id(walk, i, &id) == -1)
		return -1;
	if (map_set(&walk->calls, id, &walk->is_open) != NULL)
		return item_fault(walk, i, 400, "invalid_value", "call_id",
		    "two calls have the call_id", item->field[ITEM_CALL_ID]);
	walk->open++;
	if (item->field[ITEM_NAME].type != JSON_STRING ||
	    item->field[ITEM_NAME].raw.len == 2)
		return item_fault(walk, i, 400, "missing_required_parameter",
		    "name", "the call has no name", (struct json){ 0 });
	if (words.type != JSON_STRING)
		return item_fault(walk, i, 400, "invalid_type",
		    item->custom ? "input" : "arguments",
		    "the call's arguments are no string", (struct json){ 0 });
	return 0;
}

static int
check_output(struct walk *walk, size_t i)
{
	const struct request_item *item = &walk->request->items[i];
	const struct request_item *call;
	enum json_type type = item->field[ITEM_OUTPUT].type;
	struct json id = item->field[ITEM_CALL_ID];
	struct slice name;
	void *state;

	if (check_call_id(walk, i, &name) == -1)
		return -1;
	state = map_get(&walk->calls, name);
	if (state == NULL)
		return item_fault(walk, i, 400, "invalid_value", "call_id",
		    "No tool call found for the output with call_id", id);
	if (state == &walk->is_closed)
		return item_fault(walk, i, 400, "invalid_value", "call_id",
		    "a second output for call_id", id);
	map_set(&walk->calls, name, &walk->is_closed);
	walk->open--;
	call = request_call_of(walk->request, item);
	if (call != NULL && call->custom != item->custom)
		return item_fault(walk, i, 400, "invalid_value", "type",
		    "the output is of another type than its call", id);
	if (type != JSON_STRING && type != JSON_ARRAY)
		return item_fault(walk, i, 400, "invalid_type", "output",
		    "the output is neither string nor array of call_id", id);
	return 0;
}

static int
check_reasoning(struct walk *walk, size_t i)
{
	const struct request *request = walk->request;
	const struct request_item *item = &request->items[i];
	struct json sealed = item->field[ITEM_ENCRYPTED];
	struct json id = item->field[ITEM_ID];
	enum item_kind next = i + 1 < request->count
				  ? request->items[i + 1].kind
				  : ITEM_IS_NOTHING;

	if (sealed.type != JSON_STRING || sealed.raw.len == 2)
		return not_found(walk, i,
		    "reasoning without encrypted_content names stored state");
	if (item->field[ITEM_SUMMARY].type != JSON_ARRAY)
		return item_fault(walk, i, 400, "missing_required_parameter",
		    "summary", "reasoning needs an array as summary, not",
		    item->field[ITEM_SUMMARY]);
	if (next != ITEM_IS_ASSISTANT && next != ITEM_IS_CALL &&
	    next != ITEM_IS_OTHER)
		return item_fault(walk, i, 400, "invalid_value", "",
		    "reasoning was provided without its required following "
		    "item:",
		    id);
	return 0;
}

static bool
part_fits(struct json part, bool assistant)
{
	static const struct slice keys[] = { FIELD("type") };
	struct json type;

	request_fields(part, keys, 1, &type);
	if (assistant)
		return json_is(type, "output_text") || json_is(type, "refusal");
	return json_is(type, "input_text") || json_is(type, "input_image") ||
	       json_is(type, "input_file");
}

static int
check_message(struct walk *walk, size_t i)
{
	const struct request_item *item = &walk->request->items[i];
	struct json content = item->field[ITEM_CONTENT];
	struct json role = item->field[ITEM_ROLE];
	struct json_iter it = json_iter(content);
	struct json key, part;
	bool assistant = item->kind == ITEM_IS_ASSISTANT;

	if (!assistant && !item->user && !json_is(role, "system") &&
	    !json_is(role, "developer"))
		return item_fault(walk, i, 400, "invalid_value", "role",
		    "unknown role", role);
	if (content.type != JSON_STRING && content.type != JSON_ARRAY)
		return item_fault(walk, i, 400, "missing_required_parameter",
		    "content", "content is neither string nor array",
		    (struct json){ 0 });
	while (content.type == JSON_ARRAY && json_next(&it, &key, &part))
		if (!part_fits(part, assistant))
			return item_fault(walk, i, 400, "invalid_value",
			    "content", "a part's type does not fit the role",
			    role);
	return 0;
}

/* The first call that is still open, for the error's text. */
static int
open_call_fault(struct walk *walk, size_t at, const char *text)
{
	const struct request *request = walk->request;

	for (size_t i = 0; i < request->count; i++) {
		struct json id = request->items[i].field[ITEM_CALL_ID];

		if (request->items[i].kind == ITEM_IS_CALL &&
		    map_get(&walk->calls, request_plain(id, &walk->scratch)) ==
			&walk->is_open)
			return item_fault(
			    walk, at, 400, "invalid_value", "", text, id);
	}
	return -1;
}

static int
check_item(struct walk *walk, size_t i)
{
	const struct request_item *item = &walk->request->items[i];
	struct json id = item->field[ITEM_ID];

	if (id.type == JSON_STRING &&
	    characters(request_plain(id, &walk->scratch)) > CHECK_CALL_ID_MAX)
		return item_fault(walk, i, 400, "string_above_max_length", "id",
		    "id has more than 64 characters:", id);
	if (walk->open > 0 && item->kind != ITEM_IS_CALL &&
	    item->kind != ITEM_IS_OUTPUT)
		return open_call_fault(walk, i,
		    "stands between a call and its output. No tool output "
		    "found before it for function call");
	switch (item->kind) {
	case ITEM_IS_USER:
	case ITEM_IS_ASSISTANT:
		return check_message(walk, i);
	case ITEM_IS_CALL:
		return check_call(walk, i);
	case ITEM_IS_OUTPUT:
		return check_output(walk, i);
	case ITEM_IS_REASONING:
		return check_reasoning(walk, i);
	case ITEM_IS_REFERENCE:
		return not_found(
		    walk, i, "an item_reference names stored state");
	case ITEM_IS_OTHER:
		return 0;
	case ITEM_IS_NOTHING:
		return item_fault(walk, i, 400, "invalid_value", "type",
		    "neither type nor role", (struct json){ 0 });
	}
	BUG("item kind %d", (int)item->kind);
}

static int
check_input(const struct request *request, struct fault *fault)
{
	struct walk walk = { .request = request, .fault = fault };
	enum json_type type = request->field[REQUEST_INPUT].type;
	int rc = 0;

	if (type == JSON_STRING)
		return 0;
	if (type != JSON_ARRAY || request->count == 0)
		return fault_set(fault, 400, "missing_required_parameter",
		    "input", "input is neither string nor array with items.");
	for (size_t i = 0; rc == 0 && i < request->count; i++)
		rc = check_item(&walk, i);
	if (rc == 0 && walk.open > 0)
		rc = open_call_fault(&walk, request->count,
		    "the end of the input. No tool output found for function "
		    "call");
	map_release(&walk.calls);
	buf_release(&walk.scratch);
	return rc;
}

int
check_request(const struct request *request, struct fault *fault)
{
	static check *const checks[] = {
		check_model,
		check_stream,
		check_state,
		check_include,
		check_numbers,
		check_tools,
		check_input,
	};

	fault->status = 0;
	for (size_t i = 0; i < COUNT(checks); i++)
		if (checks[i](request, fault) == -1)
			return -1;
	return 0;
}
