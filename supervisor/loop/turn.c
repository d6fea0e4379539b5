/*
 * Model attempts: beginning a turn, placing it, judging what came back, and
 * closing its row. Owns nothing.
 */
#include "supervisor/loop/internal.h"

#include "base/json.h"

static const struct error_class {
	const char *name, *short_name;
	bool retry;
} error_classes[] = {
#define ERROR(name, short_name, retry, meaning) { #name, short_name, retry },
#include "proto/errors.def"
#undef ERROR
};

static bool may_retry(struct slice class)
{
	for (size_t i = 0; i < COUNT(error_classes); i++) {
		if (slice_is(class, error_classes[i].name))
			return error_classes[i].retry;
	}
	return false;
}

bool
turn_is_current(const struct run *run, const struct input *input)
{
	return run->turn_open && input->turn == run->turn && input->call == 0 &&
	       input->attempt == run->attempt;
}

/* ---- judging ---- */

/* Full jitter: anything up to the doubled base. */
static uint64_t
backoff_ms(uint32_t failures, uint32_t random)
{
	uint64_t top = RUN_BACKOFF_MS;

	for (uint32_t i = 1; i < failures && top < 8000; i++)
		top *= 2;
	return 1 + (uint64_t)random % top;
}

static struct slice
failure_text(const struct msg_turn_failed *failed, struct step *step)
{
	struct buf text = BUF_INIT(LIMIT_TEXT * 2);
	struct slice copy;

	buf_printf(&text, "%.*s: %.*s", SLICE_ARGS(failed->class),
	    SLICE_ARGS(failed->message));
	copy = arena_copy(&step->arena, buf_slice(&text));
	buf_release(&text);
	return copy;
}

static struct finding
judge_failure(struct run *run, const struct input *input, struct step *step)
{
	const struct msg_turn_failed *failed = &input->msg->turn_failed;
	struct finding found = { .event = RUN_ON_give_up,
		.reason = "model_error",
		.error = failure_text(failed, step) };
	bool retry = may_retry(failed->class);

	run->failures++;
	if (failed->output && run->agent->on_cut != AGENT_ON_CUT_RETRY) {
		found.reason = slice_is(failed->class, "cut") ||
				       slice_is(failed->class, "network") ||
				       slice_is(failed->class, "timeout")
				   ? "stream_interrupted_after_output"
				   : "model_error";
		return found;
	}
	if (!retry || run->failures >= RUN_TURN_ATTEMPTS ||
	    failed->wait_ms > RUN_WAIT_MAX_MS)
		return found;
	found.event = RUN_ON_retry;
	found.wait_ms = failed->wait_ms > 0
			    ? failed->wait_ms
			    : backoff_ms(run->failures, input->random);
	return found;
}

/* The first refusal is answered at once: a session ended in between. */
static uint64_t
refusal_wait_ms(uint32_t refusals)
{
	uint64_t wait = 50;

	if (refusals <= 1)
		return 0;
	for (uint32_t i = 2; i < refusals && wait < 5000; i++)
		wait *= 2;
	return wait;
}

struct finding
turn_judge(struct run *run, const struct input *input, struct step *step)
{
	if (input->kind == INPUT_TURN_DONE)
		return response_judge(run, input, step);
	if (input->kind == INPUT_TURN_FAILED)
		return judge_failure(run, input, step);
	if (input->kind == INPUT_TURN_REFUSED) {
		run->refusals++;
		return (struct finding){ .event = RUN_ON_again,
			.wait_ms = refusal_wait_ms(run->refusals) };
	}
	run->losses++;
	if (run->losses >= RUN_TURN_LOSSES)
		return (struct finding){ .event = RUN_ON_give_up,
			.reason = "lost",
			.error = SLICE("the model worker vanished during this "
				       "turn, again and again") };
	return (struct finding){ .event = RUN_ON_retry };
}

/* ---- beginning and placing ---- */

void
turn_begin(struct run *run, const struct input *input, struct effects *fx)
{
	run->turn++;
	run->attempt = run->failures = run->losses = run->refusals = 0;
	run->not_before_ms = 0;
	run->queued_ms = input->now_ms;
	run->call_count = 0;
	run->calls = NULL;
	fx->changed = true;
	turn_place(run, input, fx);
}

static void
remember(struct flight *flight, uint32_t turn, uint32_t call, uint32_t attempt,
    const struct placement *at)
{
	size_t len = at->worker.len < LIMIT_NAME ? at->worker.len : LIMIT_NAME;

	*flight = (struct flight){ .turn = turn,
		.call = call,
		.attempt = attempt,
		.process = at->process,
		.session = at->session };
	memcpy(flight->worker, at->worker.ptr, len);
}

void
turn_place(struct run *run, const struct input *input, struct effects *fx)
{
	struct need need = { .name = slice_string(run->agent->model),
		.run = run };
	struct placement at;
	struct turn_start_row *row;

	if (run->turn_open)
		return;
	if (run->not_before_ms > input->now_ms) {
		fx->timer_ms = run->not_before_ms - input->now_ms;
		if (fx->timer_ms >= RUN_PARK_MS && fx->changed) {
			fx->step->run.park = true;
			fx->step->run.wake = true;
			fx->step->run.wake_ms = fx->timer_ms;
		}
		return;
	}
	if (!fx->place(fx->arg, &need, &at, &fx->why)) {
		fx->starved = true;
		return;
	}
	run->attempt++;
	run->turn_open = true;
	remember(&run->turn_at, run->turn, 0, run->attempt, &at);
	row = ARENA_NEW(&fx->step->arena, struct turn_start_row);
	*row = (struct turn_start_row){ .turn = run->turn,
		.attempt = run->attempt,
		.at = at,
		.model = need.name,
		.queued_ms = input->now_ms - run->queued_ms };
	fx->step->turn_start = row;
	fx->starts[fx->start_count++] = (struct effect){
		.turn = run->turn, .attempt = run->attempt, .at = at
	};
	fx->changed = true;
}

/* ---- closing ---- */

static void
add_usage(struct run *run, const struct usage *usage)
{
	run->usage.input += usage->input;
	run->usage.output += usage->output;
	run->usage.total += usage->total;
	run->usage.cached += usage->cached;
	run->usage.reasoning += usage->reasoning;
}

/* turn_done and turn_failed report usage and timings in fields of the same
 * names, which C cannot share. */
#define TAKE_FIELDS(row, m, arena)                                             \
	do {                                                                   \
		(row)->request_id = arena_copy(arena, (m)->request_id);        \
		(row)->http_status = (m)->http_status;                         \
		(row)->usage =                                                 \
		    (struct usage){ (m)->usage_known, (m)->input_tokens,       \
			    (m)->output_tokens, (m)->total_tokens,             \
			    (m)->cached_tokens, (m)->reasoning_tokens };       \
		(row)->headers_ms = (m)->headers_ms;                           \
		(row)->first_ms = (m)->first_ms;                               \
		(row)->total_ms = (m)->total_ms;                               \
	} while (0)

void
turn_close(struct run *run, const struct input *input, struct effects *fx,
    const char *state)
{
	struct arena *arena = &fx->step->arena;
	struct turn_end_row *row = ARENA_NEW(arena, struct turn_end_row);

	row->turn = run->turn;
	row->attempt = run->attempt;
	row->state = state;
	if (input->kind == INPUT_TURN_DONE) {
		const struct msg_turn_done *done = &input->msg->turn_done;

		TAKE_FIELDS(row, done, arena);
		row->response_id = arena_copy(arena, done->response_id);
		row->status = arena_copy(arena, done->status);
		row->finish = arena_copy(arena, done->finish);
	} else if (input->kind == INPUT_TURN_FAILED) {
		const struct msg_turn_failed *failed = &input->msg->turn_failed;

		TAKE_FIELDS(row, failed, arena);
		row->error_class = arena_copy(arena, failed->class);
		row->error_code = arena_copy(arena, failed->code);
		row->error = arena_copy(arena, failed->message);
		row->wait_ms = failed->wait_ms;
	}
	add_usage(run, &row->usage);
	run->turn_open = false;
	fx->step->turn_end = row;
	fx->changed = true;
}

void
turn_store(struct run *run, const struct input *input, struct effects *fx)
{
	struct json body, item;
	struct json_iter it;
	uint32_t idx = 0;

	if (json_parse(input->body, &body, NULL, NULL) == -1)
		BUG("a judged response is no JSON");
	it = json_iter(body);
	while (json_next(&it, NULL, &item)) {
		struct buf text = BUF_INIT(LIMIT_ITEM);
		struct buf type = BUF_INIT(LIMIT_NAME);
		struct json value;
		unsigned marks = 0;

		if (json_parse(item.raw, &value, &marks, NULL) == -1)
			BUG("an item of a judged response is no JSON");
		if (marks != 0)
			json_scrub(value, &text);
		else
			buf_put_slice(&text, value.raw);
		json_decode(json_get(item, "type"), &type);
		run_store_item(run, fx, run->turn, ITEM_RESPONSE, idx++, marks,
		    buf_slice(&type), &text);
		buf_release(&text);
		buf_release(&type);
	}
}
