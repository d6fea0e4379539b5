/*
 * Applies events to a response. Which event does what stands in events.def;
 * this file finds the row, reads the event's members and acts. Owns nothing
 * beyond struct responses; never judges whether to retry.
 */
#include "workers/model/responses.h"

#include "base/alloc.h"
#include "workers/model/merge.h"

void
responses_init(struct responses *r)
{
	*r = (struct responses){ .tools = BUF_INIT(1u << 20) };
}

void
responses_release(struct responses *r)
{
	output_release(&r->output);
	buf_release(&r->tools);
	r->id = mem_free(r->id);
	r->model = mem_free(r->model);
	if (r->failure != NULL)
		failure_release(r->failure);
	r->failure = mem_free(r->failure);
}

struct failure *
responses_failure(struct responses *r)
{
	if (r->failure == NULL)
		r->failure = MEM_NEW(struct failure);
	return r->failure;
}

/* ---- what a response says of itself ---- */

static uint64_t
count_of(struct json value)
{
	uint64_t n;

	return whole_number(value, &n) ? n : 0;
}

static void
take_usage(struct responses *r, struct json usage)
{
	struct json input = json_get(usage, "input_tokens");
	struct json output = json_get(usage, "output_tokens");

	if (input.type != JSON_NUMBER && output.type != JSON_NUMBER)
		return;
	r->usage = (struct tokens){
		.known = true,
		.input = count_of(input),
		.output = count_of(output),
		.total = count_of(json_get(usage, "total_tokens")),
		.cached = count_of(json_get(
		    json_get(usage, "input_tokens_details"), "cached_tokens")),
		.reasoning =
		    count_of(json_get(json_get(usage, "output_tokens_details"),
			"reasoning_tokens")),
	};
	if (r->usage.total == 0)
		r->usage.total = r->usage.input + r->usage.output;
}

static void
take_answer(struct responses *r, const struct answer *answer)
{
	if (r->id == NULL)
		r->id = json_string_new(answer->id, LIMIT_CALL_ID);
	if (r->model == NULL)
		r->model = json_string_new(answer->model, LIMIT_NAME);
	if (!r->tools_given && json_count(answer->tools) > 0) {
		buf_clear(&r->tools);
		responses_list_tools(r, answer->tools);
	}
	take_usage(r, answer->usage);
}

/* ---- what events do ---- */

static struct address
address_of(const struct event *event, enum output_type type)
{
	struct address at = { .type = type, .id = event->item_id };

	at.has_index = whole_number(event->index, &at.index);
	return at;
}

static struct part *
part_of(struct responses *r, const struct event *event, enum output_type type,
    enum part_kind kind, struct slot **ret_slot)
{
	struct address at = address_of(event, type);
	struct json number =
	    kind == PART_SUMMARY ? event->summary_index : event->content_index;
	uint64_t index = 0;
	bool has_index = kind != PART_FIELD && whole_number(number, &index);

	*ret_slot = output_slot(&r->output, &at);
	if (*ret_slot == NULL)
		return NULL;
	return slot_part(&r->output, *ret_slot, kind, has_index, index);
}

static void
on_delta(struct responses *r, const struct event *event)
{
	const struct rule *rule = event->rule;
	struct slot *slot;
	struct part *part;

	if (event->delta.type != JSON_STRING || event->delta.raw.len <= 2)
		return;
	part = part_of(r, event, rule->item, rule->part, &slot);
	if (part == NULL)
		return;
	part_append(&r->output, slot, part, event->delta, event->marks);
	r->received = true;
	if (!r->output.watched)
		r->offset++;
}

static void
replace_part(struct responses *r, const struct event *event,
    enum output_type type, enum part_kind kind, struct json text)
{
	struct slot *slot;
	struct part *part = part_of(r, event, type, kind, &slot);

	if (part == NULL)
		return;
	part_replace(&r->output, slot, part, text, event->marks);
	if (!value_is_empty(text))
		r->received = true;
}

static void
on_text(struct responses *r, const struct event *event)
{
	const struct rule *rule = event->rule;

	replace_part(r, event, rule->item, rule->part,
	    json_get(event->whole, rule->value));
}

static void
on_part(struct responses *r, const struct event *event)
{
	struct json part = json_get(event->whole, event->rule->value);
	struct json type = json_get(part, "type");
	struct json text = json_get(part, "text");

	if (json_is(type, "output_text"))
		replace_part(r, event, OUTPUT_message, PART_TEXT, text);
	else if (json_is(type, "refusal"))
		replace_part(r, event, OUTPUT_message, PART_REFUSAL,
		    json_get(part, "refusal"));
	else if (json_is(type, "reasoning_text"))
		replace_part(r, event, OUTPUT_reasoning, PART_REASONING, text);
	else if (json_is(type, "summary_text"))
		replace_part(r, event, OUTPUT_reasoning, PART_SUMMARY, text);
}

static bool
item_address(const struct event *event, struct address *ret_at)
{
	struct json name = json_get(event->item, "type");

	if (event->item.type != JSON_OBJECT || name.type != JSON_STRING)
		return false;
	*ret_at = address_of(event, output_type_of(event->item));
	ret_at->id = json_get(event->item, "id");
	ret_at->call_id = json_get(event->item, "call_id");
	ret_at->name = name;
	return true;
}

static void
on_added(struct responses *r, const struct event *event)
{
	struct address at;

	if (!item_address(event, &at))
		return;
	output_added(&r->output, &at, event->item);
	if (output_waits(at.type) == OUTPUT_WAITS_CALL)
		r->received = true;
}

static void
on_done(struct responses *r, const struct event *event)
{
	struct address at;

	if (!item_address(event, &at))
		return;
	output_done(&r->output, &at, event->item);
	r->received = true;
}

static void
on_news(struct responses *r, const struct event *event)
{
	struct answer answer = answer_read(event->response);

	take_answer(r, &answer);
}

/* A relay may repeat the beginning; after output it is a second answer. */
static void
on_created(struct responses *r, const struct event *event)
{
	if (r->received)
		r->output.damaged = true;
	else
		output_clear(&r->output);
	on_news(r, event);
}

static void
fail(struct responses *r, const struct event *event)
{
	struct failure *failure = responses_failure(r);

	r->state = RESPONSE_FAILED;
	take_usage(r, json_get(event->response, "usage"));
	if (!failure_read(failure, event->whole))
		failure_read(failure, event->response);
}

static void
finish(struct responses *r, struct slice type, const struct answer *answer)
{
	take_answer(r, answer);
	if (json_is(answer->status, "cancelled") ||
	    slice_is(type, "response.cancelled"))
		r->state = RESPONSE_CANCELLED;
	else if (json_is(answer->status, "incomplete") ||
		 slice_is(type, "response.incomplete"))
		r->state = RESPONSE_INCOMPLETE;
	else
		r->state = RESPONSE_COMPLETED;
	r->filtered =
	    json_is(json_get(answer->incomplete, "reason"), "content_filter");
	r->over = true;
	merge_final(&r->output, answer->output);
}

static void
on_end(struct responses *r, const struct event *event)
{
	struct answer answer =
	    answer_read(event->response.type == JSON_OBJECT ? event->response
							    : event->whole);

	if (json_is(answer.status, "failed"))
		fail(r, event);
	else
		finish(r, event->rule->type, &answer);
}

void
responses_whole(struct responses *r, struct json response)
{
	struct event event = { .whole = response, .response = response };
	struct answer answer = answer_read(response);

	if (json_is(answer.status, "failed"))
		fail(r, &event);
	else
		finish(r, (struct slice){ 0 }, &answer);
}

static void
apply(struct responses *r, const struct event *event)
{
	if (r->state == RESPONSE_FAILED) {
		if (event->rule->action == ACTION_FAILED)
			fail(r, event);
		return;
	}
	switch (event->rule->action) {
	case ACTION_NONE:
		return;
	case ACTION_DELTA:
		on_delta(r, event);
		return;
	case ACTION_TEXT:
		on_text(r, event);
		return;
	case ACTION_PART:
		on_part(r, event);
		return;
	case ACTION_ADDED:
		on_added(r, event);
		return;
	case ACTION_DONE:
		on_done(r, event);
		return;
	case ACTION_CREATED:
		on_created(r, event);
		return;
	case ACTION_NEWS:
		on_news(r, event);
		return;
	case ACTION_END:
		on_end(r, event);
		return;
	case ACTION_FAILED:
		fail(r, event);
		return;
	}
	BUG("action %d", (int)event->rule->action);
}

static bool
is_known(struct responses *r, const struct event *event)
{
	uint64_t sequence;

	if (!whole_number(event->sequence, &sequence))
		return false;
	if (r->resumed && r->has_sequence && sequence <= r->sequence)
		return true;
	if (!r->has_sequence || sequence > r->sequence)
		r->sequence = sequence;
	r->has_sequence = true;
	return false;
}

static void
on_object(
    struct responses *r, struct slice name, struct json whole, unsigned marks)
{
	struct event event = event_read(name, whole, marks);

	if (json_is(event.object, "chat.completion.chunk")) {
		failure_set(responses_failure(r), "client_protocol",
		    "the endpoint answers in the Chat Completions protocol");
		r->state = RESPONSE_FAILED;
		r->over = true;
		return;
	}
	if (event.rule == NULL || is_known(r, &event))
		return;
	r->events++;
	apply(r, &event);
}

/* Two JSON texts joined by a line end, or something broken. */
static void
on_lines(struct responses *r, struct slice name, struct slice data)
{
	while (data.len > 0 && !r->over) {
		const char *end = memchr(data.ptr, '\n', data.len);
		size_t len = end == NULL ? data.len : (size_t)(end - data.ptr);
		struct json value;
		unsigned marks;

		if (json_parse(slice_of(data.ptr, len), &value, &marks, NULL) ==
		    -1)
			r->output.damaged = true;
		else if (value.type == JSON_OBJECT)
			on_object(r, name, value, marks);
		len += end != NULL;
		data = slice_of(data.ptr + len, data.len - len);
	}
}

void
responses_event(
    struct responses *r, struct slice name, struct slice data, bool cut)
{
	static const char done[] = "[DONE]";
	struct json value;
	unsigned marks;

	if (r->over)
		return;
	if (data.len >= sizeof(done) - 1 &&
	    memcmp(data.ptr, done, sizeof(done) - 1) == 0) {
		r->over = true;
		return;
	}
	if (json_parse(data, &value, &marks, NULL) == 0) {
		if (value.type == JSON_OBJECT)
			on_object(r, name, value, marks);
	} else if (!cut) {
		on_lines(r, name, data);
	}
}

/* ---- the end ---- */

static bool
all_done(const struct output *out)
{
	for (size_t i = 0; i < out->count; i++) {
		if (!out->slots[i].done)
			return false;
	}
	return out->count > 0;
}

void
responses_end(struct responses *r, bool may_end)
{
	r->over = true;
	if (r->state != RESPONSE_OPEN)
		return;
	r->state =
	    may_end && all_done(&r->output) ? RESPONSE_COMPLETED : RESPONSE_CUT;
}

void
responses_resume(struct responses *r)
{
	if (r->state == RESPONSE_CUT)
		r->state = RESPONSE_OPEN;
	r->over = r->state != RESPONSE_OPEN;
	r->resumed = true;
}

void
responses_close(struct responses *r)
{
	merge_close(&r->output,
	    r->state == RESPONSE_COMPLETED ? "completed" : "incomplete");
}

const char *
responses_state_name(enum response_state state)
{
	switch (state) {
	case RESPONSE_OPEN:
	case RESPONSE_CUT:
		return "truncated";
	case RESPONSE_COMPLETED:
		return "completed";
	case RESPONSE_INCOMPLETE:
		return "incomplete";
	case RESPONSE_FAILED:
		return "failed";
	case RESPONSE_CANCELLED:
		return "cancelled";
	}
	BUG("response state %d", (int)state);
}

void
responses_put_items(const struct responses *r, struct buf *out)
{
	size_t *order = mem_array(r->output.count, sizeof(*order));

	output_order(&r->output, order);
	buf_putc(out, '[');
	for (size_t i = 0; i < r->output.count; i++) {
		if (i > 0)
			buf_putc(out, ',');
		buf_put_slice(out, buf_slice(&r->output.slots[order[i]].item));
	}
	buf_putc(out, ']');
	mem_free(order);
}
