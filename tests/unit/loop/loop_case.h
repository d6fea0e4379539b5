/*
 * A run under test: an agent, a run, a fleet of so many free places, and the
 * step that the last input made. Included by the tests of the loop.
 */
#ifndef TESTS_UNIT_LOOP_LOOP_CASE_H
#define TESTS_UNIT_LOOP_LOOP_CASE_H

#include <check.h>

#include "base/alloc.h"
#include "base/json.h"
#include "supervisor/loop/run.h"

struct loop_case {
	struct agent agent;
	struct run *run;
	struct step step;
	struct effects fx;
	unsigned models, tools; /* free places */
	bool idempotent;
	uint64_t now_ms;
};

#define CASE_AGENT(more)                                                       \
	"{\"name\":\"a\",\"model\":\"m\",\"instructions\":\"be kind\","        \
	"\"tools\":[\"t\",\"u\",\"v\"]" more "}"

static bool
case_place(void *arg, const struct need *need, struct placement *ret_at,
    struct slice *why)
{
	struct loop_case *c = arg;
	unsigned *places = need->tool ? &c->tools : &c->models;

	*why = SLICE("a free worker");
	if (*places == 0)
		return false;
	--*places;
	*ret_at = (struct placement){
		.worker = SLICE("w"), .session = 1, .idempotent = c->idempotent
	};
	return true;
}

static void
case_clear(struct loop_case *c)
{
	step_release(&c->step);
	c->fx.changed = c->fx.starved = false;
	c->fx.start_count = c->fx.cancel_count = 0;
	c->fx.timer_ms = 0;
}

static enum run_answer
case_input(struct loop_case *c, struct input input)
{
	enum run_answer answer;

	case_clear(c);
	input.now_ms = c->now_ms;
	answer = run_step(c->run, &input, &c->fx);
	run_seal(c->run, &c->fx, c->now_ms);
	return answer;
}

static void
case_begin(struct loop_case *c, const char *definition)
{
	struct uuid id = { { 1 } };
	struct err err = { 0 };
	struct json input;

	*c = (struct loop_case){ .models = 9, .tools = 99, .now_ms = 1000 };
	ck_assert_msg(
	    agent_parse(&c->agent, slice_string(definition), &err) == 0, "%s",
	    err.text);
	c->run = run_new(&id, &c->agent);
	c->fx.place = case_place;
	c->fx.arg = c;
	c->fx.step = &c->step;
	ck_assert_int_eq(json_parse(SLICE("\"hi\""), &input, NULL, &err), 0);
	ck_assert_int_eq(run_set_input(c->run, input, &c->step, &err), 0);
}

static void
case_start(struct loop_case *c)
{
	ck_assert_int_eq(
	    case_input(c, (struct input){ .kind = INPUT_START }), RUN_TAKEN);
}

static void
case_end(struct loop_case *c)
{
	case_clear(c);
	run_free(c->run);
	agent_release(&c->agent);
}

/* The current attempt answers with these items. */
static enum run_answer
case_response(struct loop_case *c, const char *status, const char *items)
{
	struct msg msg = { .id = MSG_turn_done,
		.turn_done = { .status = slice_string(status),
		    .finish = SLICE("stop"),
		    .usage_known = true,
		    .input_tokens = 5,
		    .output_tokens = 3,
		    .total_tokens = 8 } };

	return case_input(c, (struct input){ .kind = INPUT_TURN_DONE,
				 .turn = c->run->turn,
				 .attempt = c->run->attempt,
				 .msg = &msg,
				 .body = slice_string(items) });
}

__attribute__((unused)) static enum run_answer
case_failure(
    struct loop_case *c, const char *class, bool output, uint64_t wait_ms)
{
	struct msg msg = { .id = MSG_turn_failed,
		.turn_failed = { .class = slice_string(class),
		    .message = SLICE("no"),
		    .output = output,
		    .wait_ms = wait_ms } };

	return case_input(c, (struct input){ .kind = INPUT_TURN_FAILED,
				 .turn = c->run->turn,
				 .attempt = c->run->attempt,
				 .msg = &msg });
}

__attribute__((unused)) static enum run_answer
case_output(struct loop_case *c, uint32_t call, const char *text)
{
	struct msg msg = { .id = MSG_tool_done,
		.tool_done = { .outcome = SLICE("ok") } };

	return case_input(c, (struct input){ .kind = INPUT_TOOL_DONE,
				 .turn = c->run->turn,
				 .call = call,
				 .attempt = 1,
				 .msg = &msg,
				 .body = slice_string(text) });
}

#define CALL(id, name, arguments)                                              \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id   \
	"\",\"name\":\"" name "\",\"arguments\":\"" arguments "\"}"
#define MESSAGE(text)                                                          \
	"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":" \
	"\"output_text\",\"text\":\"" text "\"}]}"

#endif
