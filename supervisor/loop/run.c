/*
 * The machine: run_table.def expanded, and the one function that moves a run.
 * Decides which event happened, looks up the cell, runs its action, follows
 * the event that the action leads to. Owns the run's memory; does no I/O.
 */
#include "supervisor/loop/run.h"

#include "base/alloc.h"
#include "supervisor/loop/internal.h"

struct context {
	struct run *run;
	const struct input *input;
	struct effects *fx;
	struct finding finding;
};

/* Returns the event that follows at once, or RUN_ON_nothing. */
typedef enum run_event action(struct context *c);

static action act_begin, act_resume, act_finish, act_refuse, act_bind_calls,
    act_cut_short, act_fail_response, act_retry, act_fail_turn, act_again,
    act_take_output, act_next_turn, act_out_of_turns, act_call_again,
    act_fail_unknown, act_cancel, act_expire, act_hand_back, act_too_long;

static const struct {
	const char *name;
	bool final;
	const char *meaning;
} states[RUN_STATES] = {
#define STATE(name, final, meaning) { #name, final, meaning },
#define EVENT(name, meaning)
#define ON(state, event, action, next)
#include "supervisor/loop/run_table.def"
#undef STATE
#undef EVENT
#undef ON
};

static const struct {
	const char *name;
	const char *meaning;
} events[RUN_EVENTS] = {
#define STATE(name, final, meaning)
#define EVENT(name, meaning) { #name, meaning },
#define ON(state, event, action, next)
#include "supervisor/loop/run_table.def"
#undef STATE
#undef EVENT
#undef ON
};

static const struct cell {
	action *act;
	const char *name;
	enum run_state next;
} table[RUN_STATES][RUN_EVENTS] = {
#define STATE(name, final, meaning)
#define EVENT(name, meaning)
#define ON(state, event, action, next)                                         \
	[RUN_##state][RUN_ON_##event] = { act_##action, #action, RUN_##next },
#include "supervisor/loop/run_table.def"
#undef STATE
#undef EVENT
#undef ON
};

/* ---- actions ---- */

static void
end_with(struct context *c, const char *reason, struct slice error)
{
	c->fx->step->run.reason = slice_string(reason);
	c->fx->step->run.error = error;
}

static enum run_event
after_calls(const struct run *run)
{
	return calls_open(run) ? RUN_ON_nothing : calls_over(run, 0);
}

static enum run_event
act_begin(struct context *c)
{
	c->fx->changed = true;
	turn_begin(c->run, c->input, c->fx);
	return RUN_ON_nothing;
}

static enum run_event
act_resume(struct context *c)
{
	if (c->run->state == RUN_model)
		turn_place(c->run, c->input, c->fx);
	if (c->run->state != RUN_tools)
		return RUN_ON_nothing;
	calls_place(c->run, c->input, c->fx);
	return after_calls(c->run);
}

static enum run_event
act_finish(struct context *c)
{
	turn_close(c->run, c->input, c->fx, "done");
	turn_store(c->run, c->input, c->fx);
	return RUN_ON_nothing;
}

static enum run_event
act_refuse(struct context *c)
{
	end_with(c, "refusal", c->finding.error);
	return act_finish(c);
}

static enum run_event
act_bind_calls(struct context *c)
{
	turn_close(c->run, c->input, c->fx, "done");
	turn_store(c->run, c->input, c->fx);
	calls_bind(c->run, c->input, c->fx);
	return after_calls(c->run);
}

static enum run_event
act_cut_short(struct context *c)
{
	end_with(c, c->finding.reason, (struct slice){ 0 });
	act_finish(c);
	calls_leave(c->run, c->fx);
	return RUN_ON_nothing;
}

/* The response is kept as a turn row; its items are not history. */
static enum run_event
act_fail_response(struct context *c)
{
	turn_close(c->run, c->input, c->fx, "done");
	end_with(c, c->finding.reason, c->finding.error);
	return RUN_ON_nothing;
}

static const char *
attempt_state(const struct input *input)
{
	return input->kind == INPUT_TURN_LOST ? "lost" : "failed";
}

static enum run_event
act_retry(struct context *c)
{
	turn_close(c->run, c->input, c->fx, attempt_state(c->input));
	c->run->not_before_ms = c->input->now_ms + c->finding.wait_ms;
	turn_place(c->run, c->input, c->fx);
	return RUN_ON_nothing;
}

static enum run_event
act_fail_turn(struct context *c)
{
	turn_close(c->run, c->input, c->fx, attempt_state(c->input));
	end_with(c, c->finding.reason, c->finding.error);
	return RUN_ON_nothing;
}

static enum run_event
act_again(struct context *c)
{
	turn_close(c->run, c->input, c->fx, "refused");
	c->run->not_before_ms = c->input->now_ms + c->finding.wait_ms;
	turn_place(c->run, c->input, c->fx);
	return RUN_ON_nothing;
}

static void
take_result(struct context *c)
{
	const struct input *in = c->input;
	struct run_call *call = run_find_call(c->run, in->call);

	if (in->kind == INPUT_TOOL_DONE)
		calls_answer(
		    c->run, call, c->fx, &in->msg->tool_done, NULL, in->body);
	else
		calls_answer(c->run, call, c->fx, NULL, "lost",
		    SLICE("The outcome of this call is unknown: the machine "
			  "that ran it vanished. It may have taken effect."));
}

static enum run_event
act_take_output(struct context *c)
{
	take_result(c);
	calls_place(c->run, c->input, c->fx);
	return RUN_ON_nothing;
}

/* Reached by a result, or without one from act_bind_calls and act_resume. */
static enum run_event
act_next_turn(struct context *c)
{
	if (calls_open(c->run))
		take_result(c);
	turn_begin(c->run, c->input, c->fx);
	return RUN_ON_nothing;
}

static enum run_event
act_out_of_turns(struct context *c)
{
	struct buf text = BUF_INIT(LIMIT_TEXT);

	if (calls_open(c->run))
		take_result(c);
	buf_printf(&text, "the limit of %u turns is reached",
	    (unsigned)c->run->agent->max_turns);
	end_with(
	    c, "max_turns", arena_copy(&c->fx->step->arena, buf_slice(&text)));
	buf_release(&text);
	c->fx->changed = true;
	return RUN_ON_nothing;
}

static enum run_event
act_too_long(struct context *c)
{
	if (calls_open(c->run))
		take_result(c);
	end_with(c, "history_limit",
	    SLICE("the run's items are larger than a request may be"));
	c->fx->changed = true;
	return RUN_ON_nothing;
}

static enum run_event
act_call_again(struct context *c)
{
	struct run_call *call = run_find_call(c->run, c->input->call);

	call->state = CALL_QUEUED;
	call->not_before_ms = c->input->now_ms + c->finding.wait_ms;
	calls_place(c->run, c->input, c->fx);
	if (call->state == CALL_QUEUED) {
		struct call_row *row = step_add_call(c->fx->step);

		*row = (struct call_row){ .kind = CALL_ROW_MOVE,
			.turn = c->run->turn,
			.call = call->call,
			.attempt = call->attempt,
			.state = "queued" };
	}
	c->fx->changed = true;
	return RUN_ON_nothing;
}

static enum run_event
act_fail_unknown(struct context *c)
{
	take_result(c);
	calls_close(c->run, c->fx, "cancelled", "Cancelled: the run failed.");
	end_with(c, "unknown_outcome", c->finding.error);
	return RUN_ON_nothing;
}

/* Ends whatever is in flight or queued. */
static void
abandon(struct context *c, const char *text)
{
	struct run *run = c->run;

	if (run->turn_open) {
		c->fx->cancels[c->fx->cancel_count++] = (struct effect){
			.turn = run->turn,
			.attempt = run->attempt,
			.at = { slice_string(run->turn_at.worker),
			    run->turn_at.process, run->turn_at.session, false }
		};
		turn_close(run, c->input, c->fx, "cancelled");
	}
	calls_close(run, c->fx, "cancelled", text);
	c->fx->changed = true;
}

static enum run_event
act_cancel(struct context *c)
{
	abandon(c, "Cancelled.");
	end_with(
	    c, "cancelled", arena_copy(&c->fx->step->arena, c->input->text));
	return RUN_ON_nothing;
}

/* Nobody here offers what it needs: somebody else may. */
static enum run_event
act_hand_back(struct context *c)
{
	c->fx->step->run.park = true;
	c->fx->changed = true;
	return RUN_ON_nothing;
}

static enum run_event
act_expire(struct context *c)
{
	abandon(c, "Cancelled: the run's time is over.");
	end_with(c, "deadline", SLICE("the run's active time is used up"));
	return RUN_ON_nothing;
}

/* ---- deciding ---- */

static bool
is_call_input(enum input_kind kind)
{
	return kind == INPUT_TOOL_DONE || kind == INPUT_TOOL_LOST ||
	       kind == INPUT_TOOL_REFUSED;
}

static bool
is_turn_input(enum input_kind kind)
{
	return kind == INPUT_TURN_DONE || kind == INPUT_TURN_FAILED ||
	       kind == INPUT_TURN_LOST || kind == INPUT_TURN_REFUSED;
}

static struct finding
judge(struct run *run, const struct input *input, struct step *step)
{
	static const enum run_event plain[] = {
		[INPUT_START] = RUN_ON_start,
		[INPUT_PLACE] = RUN_ON_place,
		[INPUT_CANCEL] = RUN_ON_cancel,
		[INPUT_DEADLINE] = RUN_ON_deadline,
		[INPUT_HAND_BACK] = RUN_ON_hand_back,
	};

	if (is_turn_input(input->kind))
		return turn_judge(run, input, step);
	if (is_call_input(input->kind))
		return calls_judge(run, input);
	if (run->state == RUN_queued && input->kind == INPUT_START &&
	    run->item_bytes > LIMIT_HISTORY)
		return (struct finding){ .event = RUN_ON_too_long };
	return (struct finding){ .event = plain[input->kind] };
}

enum run_answer
run_step(struct run *run, const struct input *input, struct effects *fx)
{
	struct context c = { .run = run, .input = input, .fx = fx };
	enum run_event event;

	if (is_turn_input(input->kind) && !turn_is_current(run, input))
		return RUN_STALE;
	if (is_call_input(input->kind) && !calls_is_current(run, input))
		return RUN_STALE;
	c.finding = judge(run, input, fx->step);
	event = c.finding.event;
	while (event != RUN_ON_nothing) {
		const struct cell *cell = &table[run->state][event];

		if (cell->act == NULL)
			return RUN_REFUSED;
		event = cell->act(&c);
		run->state = cell->next;
	}
	return RUN_TAKEN;
}

/* ---- the run's own row ---- */

static void
put_waits_for(const struct run *run, const struct effects *fx, uint64_t now_ms,
    struct buf *out)
{
	const char *glue = "";

	if (run->state == RUN_model && run->turn_open)
		buf_printf(out, "model %s (turn %u, attempt %u, worker %s)",
		    run->agent->model, (unsigned)run->turn,
		    (unsigned)run->attempt, run->turn_at.worker);
	else if (run->state == RUN_model && run->not_before_ms > now_ms)
		buf_printf(out, "another attempt of turn %u at model %s",
		    (unsigned)run->turn, run->agent->model);
	else if (run->state == RUN_model && fx->why.len > 0)
		buf_put_slice(out, fx->why);
	else if (run->state == RUN_model)
		buf_printf(
		    out, "a worker that offers model %s", run->agent->model);
	for (size_t i = 0; run->state == RUN_tools && i < run->call_count;
	     i++) {
		const struct run_call *call = &run->calls[i];

		if (call->state == CALL_DONE)
			continue;
		buf_printf(out, "%stool %.*s%s", glue, SLICE_ARGS(call->name),
		    call->state == CALL_QUEUED ? " (queued)" : "");
		glue = ", ";
	}
	if (run->state == RUN_tools && fx->why.len > 0)
		buf_printf(out, "; %.*s", SLICE_ARGS(fx->why));
}

/* What must be there before a parked run can go on. */
static void
put_needs(const struct run *run, struct buf *out)
{
	if (run->state == RUN_model)
		buf_printf(out, "model:%s", run->agent->model);
	for (size_t i = 0; run->state == RUN_tools && i < run->call_count;
	     i++) {
		if (run->calls[i].state == CALL_QUEUED) {
			buf_printf(
			    out, "tool:%.*s", SLICE_ARGS(run->calls[i].name));
			return;
		}
	}
}

void
run_seal(struct run *run, struct effects *fx, uint64_t now_ms)
{
	struct run_row *row = &fx->step->run;
	struct arena *arena = &fx->step->arena;
	struct buf text = BUF_INIT(LIMIT_TEXT);

	row->state = run_state_name(run->state);
	row->final = run_is_final(run);
	row->turn = run->turn;
	row->usage = run->usage;
	row->active_ms = run->active_before_ms + (now_ms - run->loaded_ms);
	row->age_ms = run->age_before_ms + (now_ms - run->loaded_ms);
	if (!row->final) {
		put_waits_for(run, fx, now_ms, &text);
		row->waits_for = arena_copy(arena, buf_slice(&text));
	}
	if (row->park && !row->wake) {
		buf_clear(&text);
		put_needs(run, &text);
		row->needs = arena_copy(arena, buf_slice(&text));
	}
	buf_release(&text);
}

/* ---- names and pictures ---- */

bool
run_is_final(const struct run *run)
{
	return states[run->state].final;
}

const char *
run_state_name(enum run_state state)
{
	return states[state].name;
}

bool
run_state_by_name(struct slice name, enum run_state *ret_state)
{
	for (enum run_state s = 0; s < RUN_STATES; s++) {
		if (slice_is(name, states[s].name)) {
			*ret_state = s;
			return true;
		}
	}
	return false;
}

const char *
run_event_name(enum run_event event)
{
	return event < RUN_EVENTS ? events[event].name : "nothing";
}

bool
run_table_next(
    enum run_state state, enum run_event event, enum run_state *ret_next)
{
	*ret_next = table[state][event].next;
	return table[state][event].act != NULL;
}

void
run_print_table(struct buf *out)
{
	buf_puts(out, "| state | meaning |\n|---|---|\n");
	for (size_t s = 0; s < RUN_STATES; s++)
		buf_printf(out, "| %s%s | %s |\n", states[s].name,
		    states[s].final ? " (final)" : "", states[s].meaning);
	buf_puts(out, "\n| in | event | meaning | does | goes to |\n"
		      "|---|---|---|---|---|\n");
	for (size_t s = 0; s < RUN_STATES; s++) {
		for (size_t e = 0; e < RUN_EVENTS; e++) {
			const struct cell *cell = &table[s][e];

			if (cell->act != NULL)
				buf_printf(out, "| %s | %s | %s | %s | %s |\n",
				    states[s].name, events[e].name,
				    events[e].meaning, cell->name,
				    states[cell->next].name);
		}
	}
}

void
run_print_dot(struct buf *out)
{
	buf_puts(out, "digraph run {\n\trankdir=LR;\n");
	for (size_t s = 0; s < RUN_STATES; s++)
		buf_printf(out, "\t%s [shape=%s];\n", states[s].name,
		    states[s].final ? "doublecircle" : "ellipse");
	for (size_t s = 0; s < RUN_STATES; s++) {
		for (size_t e = 0; e < RUN_EVENTS; e++) {
			const struct cell *cell = &table[s][e];

			if (cell->act != NULL)
				buf_printf(out, "\t%s -> %s [label=\"%s\"];\n",
				    states[s].name, states[cell->next].name,
				    events[e].name);
		}
	}
	buf_puts(out, "}\n");
}
