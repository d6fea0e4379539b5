/*
 * The tool calls of a turn: bound when the response is stored, dispatched when
 * credit is there, answered exactly once each. Owns nothing.
 */
#include "supervisor/loop/internal.h"

bool
calls_open(const struct run *run)
{
	for (size_t i = 0; i < run->call_count; i++) {
		if (run->calls[i].state != CALL_DONE)
			return true;
	}
	return false;
}

bool
calls_is_current(struct run *run, const struct input *input)
{
	const struct run_call *call = run_find_call(run, input->call);

	return run->state == RUN_tools && input->turn == run->turn &&
	       call != NULL && call->state == CALL_DISPATCHED &&
	       call->attempt == input->attempt;
}

/* ---- judging ---- */

enum run_event
calls_over(const struct run *run, size_t more)
{
	if (run->item_bytes + more > LIMIT_HISTORY)
		return RUN_ON_too_long;
	return run->turn >= run->agent->max_turns ? RUN_ON_turns_over
						  : RUN_ON_outputs;
}

static enum run_event
after_one(const struct run *run, size_t more)
{
	size_t open = 0;

	for (size_t i = 0; i < run->call_count; i++)
		open += run->calls[i].state != CALL_DONE;
	return open > 1 ? RUN_ON_output : calls_over(run, more);
}

struct finding
calls_judge(struct run *run, const struct input *input)
{
	struct run_call *call = run_find_call(run, input->call);
	struct finding found = { .event = after_one(run, input->body.len) };

	if (input->kind == INPUT_TOOL_REFUSED) {
		found.event = RUN_ON_call_again;
		if (call->refusals++ > 0)
			found.wait_ms =
			    call->refusals > 6 ? 5000 : 50u << call->refusals;
	} else if (input->kind == INPUT_TOOL_LOST && call->idempotent &&
		   call->attempt < RUN_CALL_ATTEMPTS) {
		found.event = RUN_ON_call_again;
	} else if (input->kind == INPUT_TOOL_LOST && !call->idempotent &&
		   run->agent->on_unknown_outcome ==
		       AGENT_ON_UNKNOWN_OUTCOME_FAIL) {
		found.event = RUN_ON_call_unknown;
		found.error = SLICE("the outcome of a tool call is unknown: "
				    "its worker vanished");
	}
	return found;
}

/* ---- answering ---- */

static struct slice
store_output(struct run *run, struct effects *fx, const struct run_call *call,
    enum item_category category, struct slice text)
{
	struct buf item = BUF_INIT(LIMIT_ITEM), clean = BUF_INIT(LIMIT_ITEM);
	struct json value;
	unsigned marks = 0;

	buf_puts(&item, "{\"type\":\"function_call_output\",\"call_id\":");
	json_put_string(&item, call->call_id);
	buf_puts(&item, ",\"output\":");
	json_put_string(&item, text);
	buf_putc(&item, '}');
	if (item.failed) {
		buf_release(&item);
		return store_output(run, fx, call, category,
		    SLICE("The output is larger than an item may be."));
	}
	if (json_parse(buf_slice(&item), &value, &marks, NULL) == -1)
		BUG("an output that was just written is no JSON");
	if (marks != 0)
		json_scrub(value, &clean);
	text = run_store_item(run, fx, run->turn, category, call->call, marks,
	    SLICE("function_call_output"), marks != 0 ? &clean : &item);
	buf_release(&item);
	buf_release(&clean);
	return text;
}

static void
fill_outcome(
    struct call_row *row, const struct msg_tool_done *done, struct arena *arena)
{
	row->outcome = arena_copy(arena, done->outcome);
	row->sandbox = arena_copy(arena, done->sandbox);
	row->code = done->code;
	row->wall_ms = done->wall_ms;
	row->cpu_ms = done->cpu_ms;
	row->rss_kb = done->rss_kb;
	row->stdout_bytes = done->stdout_bytes;
	row->stderr_bytes = done->stderr_bytes;
	row->dropped_bytes = done->dropped_bytes;
}

void
calls_answer(struct run *run, struct run_call *call, struct effects *fx,
    const struct msg_tool_done *done, const char *outcome, struct slice text)
{
	struct call_row *row = step_add_call(fx->step);

	*row = (struct call_row){ .kind = CALL_ROW_END,
		.turn = run->turn,
		.call = call->call,
		.attempt = call->attempt,
		.state = "done",
		.call_id = call->call_id,
		.name = call->name,
		.outcome = slice_string(outcome) };
	if (done != NULL)
		fill_outcome(row, done, &fx->step->arena);
	call->state = CALL_DONE;
	row->output = store_output(run, fx, call, ITEM_FUNCTION_OUTPUT, text);
}

void
calls_close(
    struct run *run, struct effects *fx, const char *outcome, const char *text)
{
	for (size_t i = 0; i < run->call_count; i++) {
		struct run_call *call = &run->calls[i];

		if (call->state == CALL_DONE)
			continue;
		if (call->state == CALL_DISPATCHED)
			fx->cancels[fx->cancel_count++] = (struct effect){
				.turn = run->turn,
				.call = call->call,
				.attempt = call->attempt,
				.at = { slice_string(call->at.worker),
				    call->at.process, call->at.session, false }
			};
		calls_answer(run, call, fx, NULL, outcome, slice_string(text));
	}
}

/* ---- binding and placing ---- */

/* Why a call cannot be dispatched at all, as a text for the model. */
static bool
refuse(const struct run *run, const struct run_call *call, struct buf *text,
    enum item_category *ret_category, const char **ret_outcome)
{
	struct json arguments;
	struct err err = { 0 };
	bool blank = call->arguments.len == 0;

	if (!agent_has_tool(run->agent, call->name)) {
		*ret_category = ITEM_UNKNOWN_TOOL;
		*ret_outcome = "unknown_tool";
		buf_printf(text, "There is no tool \"%.*s\". Tools: ",
		    SLICE_ARGS(call->name));
		for (size_t i = 0; i < run->agent->tool_count; i++)
			buf_printf(text, "%s%s", i == 0 ? "" : ", ",
			    run->agent->tools[i]);
		buf_puts(text, ".");
		return true;
	}
	*ret_category = ITEM_FUNCTION_OUTPUT;
	*ret_outcome = "rejected";
	for (size_t i = 0; !blank && i < call->arguments.len; i++) {
		if (strchr(" \t\r\n", call->arguments.ptr[i]) == NULL)
			break;
		blank = i + 1 == call->arguments.len;
	}
	if (blank)
		return false;
	if (json_parse(call->arguments, &arguments, NULL, &err) == -1) {
		buf_printf(text,
		    "The arguments of this call are not valid JSON (%s). "
		    "Nothing was run; call the tool again with a JSON object.",
		    err.text);
		return true;
	}
	if (arguments.type == JSON_OBJECT)
		return false;
	buf_puts(text, "The arguments of this call are no JSON object. Nothing "
		       "was run; call the tool again with a JSON object.");
	return true;
}

static bool
place(struct run *run, struct run_call *call, const struct input *input,
    struct effects *fx, struct placement *ret_at)
{
	struct need need = { .tool = true, .name = call->name, .run = run };
	size_t len;

	if (call->not_before_ms > input->now_ms) {
		uint64_t wait = call->not_before_ms - input->now_ms;

		if (fx->timer_ms == 0 || wait < fx->timer_ms)
			fx->timer_ms = wait;
		return false;
	}
	if (!fx->place(fx->arg, &need, ret_at, &fx->why)) {
		fx->starved = true;
		return false;
	}
	call->state = CALL_DISPATCHED;
	call->attempt++;
	call->idempotent = ret_at->idempotent;
	call->at = (struct flight){ .turn = run->turn,
		.call = call->call,
		.attempt = call->attempt,
		.process = ret_at->process,
		.session = ret_at->session };
	len = ret_at->worker.len < LIMIT_NAME ? ret_at->worker.len : LIMIT_NAME;
	memcpy(call->at.worker, ret_at->worker.ptr, len);
	fx->starts[fx->start_count++] = (struct effect){ .turn = run->turn,
		.call = call->call,
		.attempt = call->attempt,
		.at = *ret_at };
	fx->changed = true;
	return true;
}

void
calls_place(struct run *run, const struct input *input, struct effects *fx)
{
	for (size_t i = 0; i < run->call_count; i++) {
		struct run_call *call = &run->calls[i];
		struct placement at = { 0 };
		struct call_row *row;

		if (call->state != CALL_QUEUED ||
		    !place(run, call, input, fx, &at))
			continue;
		row = step_add_call(fx->step);
		*row = (struct call_row){ .kind = CALL_ROW_MOVE,
			.turn = run->turn,
			.call = call->call,
			.attempt = call->attempt,
			.state = "dispatched",
			.call_id = call->call_id,
			.name = call->name,
			.at = at };
	}
}

static void
bind(struct run *run, struct run_call *call, const struct input *input,
    struct effects *fx)
{
	struct call_row *row = step_add_call(fx->step);
	struct buf text = BUF_INIT(LIMIT_ITEM);
	enum item_category category;
	const char *outcome;

	*row = (struct call_row){ .kind = CALL_ROW_NEW,
		.turn = run->turn,
		.call = call->call,
		.state = "queued",
		.item_idx = call->item_idx,
		.call_id = call->call_id,
		.name = call->name };
	if (refuse(run, call, &text, &category, &outcome)) {
		call->state = CALL_DONE;
		row->state = "done";
		row->outcome = slice_string(outcome);
		row->output =
		    store_output(run, fx, call, category, buf_slice(&text));
	} else if (place(run, call, input, fx, &row->at)) {
		row->state = "dispatched";
		row->attempt = call->attempt;
	}
	buf_release(&text);
}

/* The calls of the response just stored, in its order, queued. */
static void
find_calls(struct run *run)
{
	size_t first = run->item_count;
	uint32_t count = 0;
	struct run_call *calls;

	while (first > run->history &&
	       run->items[first - 1].turn == run->turn &&
	       run->items[first - 1].category == ITEM_RESPONSE)
		first--;
	calls = run_make_calls(run, run->item_count - first);
	for (size_t i = first; i < run->item_count; i++) {
		struct json item;

		if (json_parse(slice_of(run->items[i].text, run->items[i].len),
			&item, NULL, NULL) == -1)
			BUG("a stored item is no JSON");
		if (response_class(item) != CLASS_CALL)
			continue;
		calls[count].call = count + 1;
		calls[count++].item_idx = run->items[i].idx;
	}
	run->call_count = count;
	for (uint32_t i = 0; i < count; i++)
		run_fill_call(run, &calls[i]);
}

void
calls_bind(struct run *run, const struct input *input, struct effects *fx)
{
	find_calls(run);
	for (size_t i = 0; i < run->call_count; i++)
		bind(run, &run->calls[i], input, fx);
}

/* Without outputs the next run of the session could not be asked. */
void
calls_leave(struct run *run, struct effects *fx)
{
	find_calls(run);
	for (size_t i = 0; i < run->call_count; i++) {
		struct run_call *call = &run->calls[i];
		struct call_row *row = step_add_call(fx->step);

		call->state = CALL_DONE;
		*row = (struct call_row){ .kind = CALL_ROW_NEW,
			.turn = run->turn,
			.call = call->call,
			.state = "done",
			.item_idx = call->item_idx,
			.call_id = call->call_id,
			.name = call->name,
			.outcome = SLICE("cancelled") };
		row->output = store_output(run, fx, call, ITEM_FUNCTION_OUTPUT,
		    SLICE("Nothing was run: the response was cut short."));
	}
}
