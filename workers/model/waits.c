/*
 * Which items wait for the client, and how a response therefore finished. Keeps
 * the names of the tools that the request declared.
 */
#include "workers/model/responses.h"

void
responses_list_tools(struct responses *r, struct json tools)
{
	struct json_iter it = json_iter(tools);
	struct json tool, name;

	while (json_next(&it, NULL, &tool)) {
		struct json_iter inner = json_iter(json_get(tool, "tools"));
		struct json member;

		r->tools_listed = true;
		name = json_get(tool, "name");
		if (name.type == JSON_STRING) {
			buf_put_slice(&r->tools, name.raw);
			buf_putc(&r->tools, '\n');
		}
		while (json_next(&inner, NULL, &member)) {
			name = json_get(member, "name");
			if (name.type != JSON_STRING)
				continue;
			buf_put_slice(&r->tools, name.raw);
			buf_putc(&r->tools, '\n');
		}
	}
}

void
responses_declare(struct responses *r, struct json tools)
{
	buf_clear(&r->tools);
	responses_list_tools(r, tools);
	r->tools_given = true;
}

bool
responses_declares(const struct responses *r, struct json name)
{
	if (!r->tools_listed && !r->tools_given)
		return true;
	return name.type == JSON_STRING && r->tools.len > 0 &&
	       memmem(r->tools.ptr, r->tools.len, name.raw.ptr, name.raw.len) !=
		   NULL;
}

static bool
server_answered(const struct responses *r, const struct slot *call)
{
	struct json id = json_get(slot_item(call), "call_id");

	for (size_t i = 0; i < r->output.count; i++) {
		struct json item = slot_item(&r->output.slots[i]);

		if (json_is(json_get(item, "type"), "shell_call_output") &&
		    slice_eq(json_get(item, "call_id").raw, id.raw))
			return true;
	}
	return false;
}

static bool
is_for_client(const struct responses *r, const struct slot *slot)
{
	struct json item = slot_item(slot);
	struct json place = json_get(json_get(item, "environment"), "type");

	if (slot->type == OUTPUT_tool_search_call)
		return json_is(json_get(item, "execution"), "client");
	return !json_is(place, "container_reference") &&
	       !json_is(place, "container_auto") && !server_answered(r, slot);
}

bool
responses_waits(const struct responses *r, const struct slot *slot)
{
	switch (output_waits(slot->type)) {
	case OUTPUT_WAITS_NOBODY:
		return false;
	case OUTPUT_WAITS_CALL:
		return responses_declares(r, json_get(slot_item(slot), "name"));
	case OUTPUT_WAITS_CLIENT:
		return true;
	case OUTPUT_WAITS_MARKED:
		return is_for_client(r, slot);
	}
	BUG("slot type %d", (int)slot->type);
}

const char *
responses_finish(const struct responses *r, bool unknown_too)
{
	switch (r->state) {
	case RESPONSE_OPEN:
	case RESPONSE_CUT:
		return "truncated";
	case RESPONSE_FAILED:
		return "error";
	case RESPONSE_CANCELLED:
		return "cancelled";
	case RESPONSE_INCOMPLETE:
		return r->filtered ? "content_filter" : "length";
	case RESPONSE_COMPLETED:
		break;
	}
	for (size_t i = 0; i < r->output.count; i++) {
		const struct slot *slot = &r->output.slots[i];

		if (responses_waits(r, slot) ||
		    (unknown_too && slot->type == OUTPUT_function_call))
			return "tool_calls";
	}
	return "stop";
}
