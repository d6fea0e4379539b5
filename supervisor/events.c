/*
 * Events from rows: one table of what each row gives, one writer per kind.
 */
#include "supervisor/events.h"

#include "base/json.h"

struct writer {
	const struct step *step;
	uint64_t step_no, n;
	events_emit *emit;
	void *arg;
	struct buf body; /* owned */
	struct json_writer w;
};

static void
begin(struct writer *e)
{
	buf_clear(&e->body);
	e->w = json_writer(&e->body);
	json_open(&e->w, '{');
}

static void
put_num(struct writer *e, const char *key, uint64_t value)
{
	json_key(&e->w, key);
	json_unum(&e->w, value);
}

static void
put_str(struct writer *e, const char *key, struct slice value)
{
	json_key(&e->w, key);
	if (value.len == 0)
		json_null(&e->w);
	else
		json_str(&e->w, value);
}

static void
send(struct writer *e, const char *type, bool final)
{
	json_close(&e->w);
	e->n++;
	e->emit(e->arg, EVENT_SEQ(e->step_no, e->n), type, final,
	    e->step->at_ms, buf_slice(&e->body));
}

/* The last event of step 0: accepted, before any work. */
static void
say_accepted(struct writer *e)
{
	begin(e);
	put_str(e, "agent", e->step->agent);
	put_str(e, "session", e->step->session);
	json_close(&e->w);
	e->emit(e->arg, EVENT_SEQ(0, 1), "run_accepted", false, e->step->at_ms,
	    buf_slice(&e->body));
}

static void
say_turn_end(struct writer *e, const struct turn_end_row *row)
{
	bool done = strcmp(row->state, "done") == 0;

	begin(e);
	put_num(e, "turn", row->turn);
	put_num(e, "attempt", row->attempt);
	if (done) {
		put_str(e, "finish", row->finish);
		put_num(e, "input_tokens", row->usage.input);
		put_num(e, "output_tokens", row->usage.output);
		put_num(e, "total_tokens", row->usage.total);
	} else {
		put_str(e, "state", slice_string(row->state));
		put_str(e, "class", row->error_class);
		put_str(e, "error", row->error);
		put_num(e, "wait_ms", row->wait_ms);
	}
	send(e, done ? "turn_completed" : "turn_failed", false);
}

static struct json
parsed(struct slice text)
{
	struct json value;

	if (json_parse(text, &value, NULL, NULL) == -1)
		return (struct json){ 0 };
	return value;
}

static void
put_member(struct writer *e, const char *key, struct json item)
{
	struct json value = json_get(item, key);

	json_key(&e->w, key);
	json_raw(&e->w, value.raw);
}

static const struct call_row *
call_of_item(const struct step *step, const struct item_row *row)
{
	for (size_t i = 0; i < step->call_count; i++) {
		const struct call_row *call = &step->calls[i];

		if (call->kind == CALL_ROW_NEW && call->turn == row->turn &&
		    call->item_idx == row->idx)
			return call;
	}
	return NULL;
}

static void
say_called(
    struct writer *e, const struct item_row *row, const struct call_row *call)
{
	struct json item = parsed(row->item);

	begin(e);
	put_num(e, "turn", row->turn);
	put_num(e, "call", call->call);
	put_member(e, "call_id", item);
	put_member(e, "name", item);
	put_member(e, "arguments", item);
	send(e, "tool_called", false);
}

static const char *
item_event(struct slice type)
{
	if (slice_is(type, "message"))
		return "message_output_created";
	if (slice_is(type, "reasoning"))
		return "reasoning_item_created";
	return "item_created";
}

static void
say_item(struct writer *e, const struct item_row *row)
{
	const struct call_row *call;

	if (row->category != ITEM_RESPONSE)
		return;
	call = call_of_item(e->step, row);
	if (call != NULL) {
		say_called(e, row, call);
		return;
	}
	begin(e);
	put_num(e, "turn", row->turn);
	json_key(&e->w, "item");
	json_raw(&e->w, row->item);
	send(e, item_event(row->type), false);
}

static void
say_output(struct writer *e, const struct call_row *row)
{
	if (strcmp(row->state, "done") != 0)
		return;
	begin(e);
	put_num(e, "turn", row->turn);
	put_num(e, "call", row->call);
	put_str(e, "call_id", row->call_id);
	put_str(e, "name", row->name);
	put_str(e, "outcome", row->outcome);
	put_member(e, "output", parsed(row->output));
	put_num(e, "wall_ms", row->wall_ms);
	send(e, "tool_output", false);
}

static void
say_turn_start(struct writer *e, const struct turn_start_row *row)
{
	if (row->attempt > 1) {
		begin(e);
		put_num(e, "turn", row->turn);
		put_num(e, "attempt", row->attempt);
		put_str(e, "reason", SLICE("another attempt"));
		send(e, "turn_reset", false);
	}
	begin(e);
	put_num(e, "turn", row->turn);
	put_num(e, "attempt", row->attempt);
	put_str(e, "model", row->model);
	put_str(e, "worker", row->at.worker);
	send(e, "turn_started", false);
}

static void
say_tool_start(struct writer *e, const struct call_row *row)
{
	if (strcmp(row->state, "dispatched") != 0)
		return;
	begin(e);
	put_num(e, "turn", row->turn);
	put_num(e, "call", row->call);
	put_num(e, "attempt", row->attempt);
	put_str(e, "worker", row->at.worker);
	send(e, "tool_started", false);
}

/* Text of the last message among the step's items. */
static void
put_output(struct writer *e)
{
	struct buf text = BUF_INIT(LIMIT_ITEM);
	bool found = false;

	for (size_t i = e->step->item_count; i > 0 && !found; i--) {
		const struct item_row *row = &e->step->items[i - 1];
		struct json_iter it;
		struct json part;

		if (row->category != ITEM_RESPONSE ||
		    !slice_is(row->type, "message"))
			continue;
		found = true;
		it = json_iter(json_get(parsed(row->item), "content"));
		while (json_next(&it, NULL, &part)) {
			if (json_is(json_get(part, "type"), "output_text"))
				json_decode(json_get(part, "text"), &text);
		}
	}
	json_key(&e->w, "output");
	if (found)
		json_str(&e->w, buf_slice(&text));
	else
		json_null(&e->w);
	buf_release(&text);
}

static void
say_ended(struct writer *e)
{
	const struct run_row *run = &e->step->run;

	begin(e);
	put_str(e, "state", slice_string(run->state));
	put_str(e, "reason", run->reason);
	put_str(e, "error", run->error);
	put_output(e);
	put_num(e, "turns", run->turn);
	put_num(e, "input_tokens", run->usage.input);
	put_num(e, "output_tokens", run->usage.output);
	put_num(e, "total_tokens", run->usage.total);
	put_num(e, "ms", run->age_ms);
	send(e, "run_ended", true);
}

void
events_of_step(
    const struct step *step, uint64_t step_no, events_emit *emit, void *arg)
{
	struct writer e = { .step = step,
		.step_no = step_no,
		.emit = emit,
		.arg = arg,
		.body = BUF_INIT(EVENT_BODY_MAX) };

	if (step->accept)
		say_accepted(&e);
	if (step->turn_end != NULL)
		say_turn_end(&e, step->turn_end);
	for (size_t i = 0; i < step->item_count; i++)
		say_item(&e, &step->items[i]);
	for (size_t i = 0; i < step->call_count; i++)
		say_output(&e, &step->calls[i]);
	if (step->turn_start != NULL)
		say_turn_start(&e, step->turn_start);
	for (size_t i = 0; i < step->call_count; i++)
		say_tool_start(&e, &step->calls[i]);
	if (step->run.final)
		say_ended(&e);
	buf_release(&e.body);
}
