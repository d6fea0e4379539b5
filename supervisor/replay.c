/*
 * Rows back into steps. The run's row is read first; rows of later steps are
 * left for the next time.
 */
#include "supervisor/replay.h"

#include "base/alloc.h"

struct replay {
	struct supervisor *sup;
	uint64_t from, last; /* steps */
	bool found;
	struct err err;
	events_emit *emit;
	void (*done)(
	    void *arg, bool found, uint64_t step, const struct err *err);
	void *arg;
	struct arena arena;
	struct step head;   /* the run's own row: accept, end */
	struct step *steps; /* from + 1 .. last */
	size_t step_count;
};

#define REPLAY_STEPS_MAX                                                       \
	4096u /* at once; the rest comes with the next look                    \
	       */

static struct step *
step_at(struct replay *r, int64_t no)
{
	if (no < (int64_t)r->from || no > (int64_t)r->last || no < 0)
		return NULL;
	if (no == (int64_t)r->from && r->from != 0)
		return NULL;
	return &r->steps[(uint64_t)no - r->from];
}

static struct slice
text(struct replay *r, const PGresult *res, int row, int column)
{
	return arena_copy(&r->arena, db_get(res, row, column));
}

static const char *
string(struct replay *r, const PGresult *res, int row, int column)
{
	return arena_string(&r->arena, db_get(res, row, column));
}

static void
failed(struct replay *r, const struct err *err)
{
	if (r->err.kind == ERR_NONE)
		r->err = *err;
}

static void
on_run(void *arg, const PGresult *res, bool aborted, const struct err *err)
{
	struct replay *r = arg;
	struct step *h = &r->head;
	uint64_t last;

	(void)aborted;
	if (err != NULL) {
		failed(r, err);
		return;
	}
	if (PQntuples(res) == 0)
		return;
	r->found = true;
	last = (uint64_t)db_get_int(res, 0, 9);
	h->agent = text(r, res, 0, 0);
	h->session = text(r, res, 0, 1);
	h->run.state = string(r, res, 0, 2);
	h->run.reason = text(r, res, 0, 3);
	h->run.error = text(r, res, 0, 4);
	h->run.turn = (uint32_t)db_get_int(res, 0, 5);
	h->run.usage.input = (uint64_t)db_get_int(res, 0, 6);
	h->run.usage.output = (uint64_t)db_get_int(res, 0, 7);
	h->run.usage.total = (uint64_t)db_get_int(res, 0, 8);
	h->run.final = !db_get_bool(res, 0, 10);
	h->run.age_ms = (uint64_t)db_get_int(res, 0, 11);
	r->last = last;
	if (last < r->from)
		r->last = r->from;
	if (r->last - r->from > REPLAY_STEPS_MAX) {
		r->last = r->from + REPLAY_STEPS_MAX;
		h->run.final = false;
	}
	r->step_count = r->last - r->from + 1;
	r->steps = mem_array(r->step_count, sizeof(*r->steps));
	if (h->run.final && r->step_count > 0 && last > r->from) {
		r->steps[r->step_count - 1].run = h->run;
		r->steps[r->step_count - 1].at_ms =
		    (uint64_t)db_get_int(res, 0, 12);
	}
	if (r->from == 0) {
		r->steps[0].accept = true;
		r->steps[0].at_ms = (uint64_t)db_get_int(res, 0, 13);
		r->steps[0].agent = h->agent;
		r->steps[0].session = h->session;
	}
}

static void
turn_row(struct replay *r, const PGresult *res, int row)
{
	struct step *start = step_at(r, db_get_int(res, row, 5));
	struct step *end = step_at(r, db_get_int(res, row, 6));
	uint32_t turn = (uint32_t)db_get_int(res, row, 0);
	uint32_t attempt = (uint32_t)db_get_int(res, row, 1);

	if (start != NULL) {
		start->at_ms = (uint64_t)db_get_int(res, row, 14);
		start->turn_start = ARENA_NEW(&r->arena, struct turn_start_row);
		*start->turn_start = (struct turn_start_row){ .turn = turn,
			.attempt = attempt,
			.at.worker = text(r, res, row, 3),
			.model = text(r, res, row, 4) };
	}
	if (end == NULL || db_get_int(res, row, 6) == 0)
		return;
	end->at_ms = (uint64_t)db_get_int(res, row, 15);
	end->turn_end = ARENA_NEW(&r->arena, struct turn_end_row);
	*end->turn_end = (struct turn_end_row){ .turn = turn,
		.attempt = attempt,
		.state = string(r, res, row, 2),
		.finish = text(r, res, row, 7),
		.error_class = text(r, res, row, 8),
		.error = text(r, res, row, 9),
		.wait_ms = (uint64_t)db_get_int(res, row, 10),
		.usage = { true, (uint64_t)db_get_int(res, row, 11),
		    (uint64_t)db_get_int(res, row, 12),
		    (uint64_t)db_get_int(res, row, 13), 0, 0 } };
}

static void
on_turns(void *arg, const PGresult *res, bool aborted, const struct err *err)
{
	struct replay *r = arg;

	(void)aborted;
	if (err != NULL)
		failed(r, err);
	for (int row = 0; err == NULL && r->found && row < PQntuples(res);
	     row++)
		turn_row(r, res, row);
}

static void
on_items(void *arg, const PGresult *res, bool aborted, const struct err *err)
{
	struct replay *r = arg;

	(void)aborted;
	if (err != NULL)
		failed(r, err);
	for (int row = 0; err == NULL && r->found && row < PQntuples(res);
	     row++) {
		struct step *step = step_at(r, db_get_int(res, row, 3));
		struct item_row *item;

		if (step == NULL || step->item_count >= STEP_ROWS_MAX)
			continue;
		step->at_ms = (uint64_t)db_get_int(res, row, 6);
		item = step_add_item(step);
		*item = (struct item_row){ .turn = (uint32_t)db_get_int(
					       res, row, 0),
			.category = (enum item_category)db_get_int(res, row, 1),
			.idx = (uint32_t)db_get_int(res, row, 2),
			.type = text(r, res, row, 4),
			.item = text(r, res, row, 5) };
	}
}

/* The output of a call among the items of its step. */
static struct slice
output_of(const struct step *step, uint32_t turn, uint32_t call)
{
	for (size_t i = 0; i < step->item_count; i++) {
		const struct item_row *item = &step->items[i];

		if (item->turn == turn && item->idx == call &&
		    item->category >= ITEM_FUNCTION_OUTPUT)
			return item->item;
	}
	return (struct slice){ 0 };
}

static void
call_row(struct replay *r, const PGresult *res, int row)
{
	int64_t bound = db_get_int(res, row, 6), sent = db_get_int(res, row, 7);
	int64_t ended = db_get_int(res, row, 8);
	struct call_row c = { .turn = (uint32_t)db_get_int(res, row, 0),
		.call = (uint32_t)db_get_int(res, row, 1),
		.call_id = text(r, res, row, 2),
		.name = text(r, res, row, 3),
		.attempt = (uint32_t)db_get_int(res, row, 4),
		.at.worker = text(r, res, row, 5),
		.outcome = text(r, res, row, 9),
		.wall_ms = (uint64_t)db_get_int(res, row, 10),
		.item_idx = (uint32_t)db_get_int(res, row, 11) };
	struct step *step = step_at(r, bound);

	if (step != NULL) {
		c.kind = CALL_ROW_NEW;
		c.state = ended == bound  ? "done"
			  : sent == bound ? "dispatched"
					  : "queued";
		c.output = output_of(step, c.turn, c.call);
		*step_add_call(step) = c;
	}
	step = step_at(r, sent);
	if (step != NULL && sent != bound && sent != 0) {
		c.kind = CALL_ROW_MOVE;
		c.state = "dispatched";
		*step_add_call(step) = c;
	}
	step = step_at(r, ended);
	if (step != NULL && ended != bound && ended != 0) {
		c.kind = CALL_ROW_END;
		c.state = "done";
		c.output = output_of(step, c.turn, c.call);
		*step_add_call(step) = c;
	}
}

static void
on_calls(void *arg, const PGresult *res, bool aborted, const struct err *err)
{
	struct replay *r = arg;

	(void)aborted;
	if (err != NULL)
		failed(r, err);
	for (int row = 0; err == NULL && r->found && row < PQntuples(res);
	     row++)
		call_row(r, res, row);
}

static void
on_synced(void *arg, const struct err *err)
{
	struct replay *r = arg;
	bool ok = err == NULL && r->err.kind == ERR_NONE;

	if (err != NULL)
		failed(r, err);
	for (size_t i = 0; ok && r->found && i < r->step_count; i++)
		events_of_step(&r->steps[i], r->from + i, r->emit, r->arg);
	r->done(r->arg, r->found, r->last, ok ? NULL : &r->err);
	for (size_t i = 0; i < r->step_count; i++)
		step_release(&r->steps[i]);
	mem_free(r->steps);
	arena_release(&r->arena);
	mem_free(r);
}

void
replay_run(struct supervisor *sup, const struct uuid *run, uint64_t from_step,
    events_emit *emit,
    void (*done)(void *arg, bool found, uint64_t step, const struct err *err),
    void *arg)
{
	struct replay *r = MEM_NEW(struct replay);
	struct db *read = store_read(sup->store);
	struct db_params p = DB_PARAMS_INIT;
	int64_t after = from_step == 0 ? -1 : (int64_t)from_step;

	r->sup = sup;
	r->from = from_step;
	r->emit = emit;
	r->done = done;
	r->arg = arg;
	db_uuid(&p, run);
	db_send(read, QUERY_replay_run, &p, on_run, r);
	db_int4(&p, after);
	db_send(read, QUERY_replay_turns, &p, on_turns, r);
	db_send(read, QUERY_replay_items, &p, on_items, r);
	db_send(read, QUERY_replay_calls, &p, on_calls, r);
	db_sync(read, on_synced, r);
	db_params_release(&p);
}
