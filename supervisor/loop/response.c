/*
 * Sorting a model's response: the class of each item, and what the whole of it
 * means for the run. Looks only; stores nothing.
 */
#include "base/json.h"
#include "supervisor/loop/internal.h"

static const struct {
	const char *type;
	enum item_class class;
} item_classes[] = {
	{ "message", CLASS_MESSAGE },
	{ "reasoning", CLASS_REASONING },
	{ "function_call", CLASS_CALL },
	{ "web_search_call", CLASS_HOSTED },
	{ "file_search_call", CLASS_HOSTED },
	{ "code_interpreter_call", CLASS_HOSTED },
	{ "image_generation_call", CLASS_HOSTED },
	{ "mcp_call", CLASS_HOSTED },
	{ "mcp_list_tools", CLASS_HOSTED },
	{ "compaction", CLASS_OTHER },
};

enum item_class
response_class(struct json item)
{
	struct json type = json_get(item, "type");

	for (size_t i = 0; i < COUNT(item_classes); i++) {
		if (json_is(type, item_classes[i].type))
			return item_classes[i].class;
	}
	return CLASS_OTHER;
}

static struct finding
invalid(struct step *step, const char *reason, const char *what,
    struct slice detail)
{
	struct buf text = BUF_INIT(LIMIT_TEXT);
	struct finding found = { .event = RUN_ON_invalid, .reason = reason };

	buf_puts(&text, what);
	buf_put_slice(&text, detail);
	found.error = arena_copy(&step->arena, buf_slice(&text));
	buf_release(&text);
	return found;
}

/* The text of a refusal part in the last message, or nothing. */
static bool
find_refusal(struct json message, struct step *step, struct slice *ret_text)
{
	struct json_iter it = json_iter(json_get(message, "content"));
	struct json part;

	while (json_next(&it, NULL, &part)) {
		struct buf text = BUF_INIT(LIMIT_TEXT);

		if (!json_is(json_get(part, "type"), "refusal"))
			continue;
		json_decode(json_get(part, "refusal"), &text);
		*ret_text = arena_copy(&step->arena, buf_slice(&text));
		buf_release(&text);
		return true;
	}
	return false;
}

/* A name of a call that the agent may not make, if there is one. */
static bool
find_unknown_tool(const struct run *run, struct json call, struct step *step,
    struct slice *ret_name)
{
	struct buf name = BUF_INIT(LIMIT_TEXT / 2);
	bool unknown;

	json_decode(json_get(call, "name"), &name);
	unknown = !agent_has_tool(run->agent, buf_slice(&name));
	if (unknown)
		*ret_name = arena_copy(&step->arena, buf_slice(&name));
	buf_release(&name);
	return unknown;
}

struct sorted {
	size_t items, calls;
	struct json last_message;
	struct finding fault; /* event RUN_ON_nothing when there is none */
	bool unfit;           /* not even a response cut short may be kept so */
};

static void
sort_call(const struct run *run, struct json item, struct step *step,
    struct sorted *sorted)
{
	struct json call_id = json_get(item, "call_id");
	bool usable = call_id.type == JSON_STRING && call_id.raw.len > 2 &&
		      call_id.raw.len <= LIMIT_CALL_ID;
	struct slice name = { 0 };

	sorted->calls++;
	sorted->unfit |= !usable;
	if (sorted->fault.event != RUN_ON_nothing)
		return;
	if (!usable) {
		sorted->fault = invalid(step, "invalid_response",
		    "the model called a tool without a usable call_id", name);
	} else if (run->agent->unknown_tool == AGENT_UNKNOWN_TOOL_FAIL &&
		   find_unknown_tool(run, item, step, &name)) {
		sorted->fault = invalid(step, "unknown_tool",
		    "the model called a tool that the agent does not have "
		    "(unknown_tool: tell lets it go on): ",
		    name);
	}
}

static struct sorted
sort(const struct run *run, struct json body, struct step *step)
{
	struct sorted sorted = { .fault.event = RUN_ON_nothing };
	struct json_iter it = json_iter(body);
	struct json item;

	while (json_next(&it, NULL, &item)) {
		sorted.items++;
		if (item.type != JSON_OBJECT || item.raw.len > LIMIT_ITEM) {
			sorted.fault = invalid(step, "invalid_response",
			    "an item of the response is no object, or too long",
			    (struct slice){ 0 });
			sorted.unfit = true;
		} else if (response_class(item) == CLASS_CALL)
			sort_call(run, item, step, &sorted);
		else if (response_class(item) == CLASS_MESSAGE)
			sorted.last_message = item;
	}
	if (sorted.items > RUN_RESPONSE_ITEMS ||
	    sorted.calls > LIMIT_TURN_CALLS) {
		sorted.fault = invalid(step, "invalid_response",
		    "the response has more items or calls than are allowed",
		    (struct slice){ 0 });
		sorted.unfit = true;
	}
	return sorted;
}

struct finding
response_judge(
    const struct run *run, const struct input *input, struct step *step)
{
	const struct msg_turn_done *done = &input->msg->turn_done;
	struct finding found = { .event = RUN_ON_final };
	struct sorted sorted;
	struct json body;
	struct err err;

	if (json_parse(input->body, &body, NULL, &err) == -1 ||
	    body.type != JSON_ARRAY)
		return invalid(step, "invalid_response",
		    "the response is no array of items", (struct slice){ 0 });
	if (run->item_bytes + input->body.len > LIMIT_HISTORY)
		return invalid(step, "history_limit",
		    "the run's items are larger than a request may be",
		    (struct slice){ 0 });
	sorted = sort(run, body, step);
	if (!slice_is(done->status, "completed")) {
		found.event = RUN_ON_cut;
		found.reason = slice_is(done->finish, "content_filter")
				   ? "content_filter"
				   : "max_output_tokens";
		return sorted.unfit ? sorted.fault : found;
	}
	if (sorted.fault.event != RUN_ON_nothing)
		return sorted.fault;
	if (sorted.calls > 0)
		found.event = RUN_ON_calls;
	else if (find_refusal(sorted.last_message, step, &found.error))
		found.event = RUN_ON_refusal;
	return found;
}
