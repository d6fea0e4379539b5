/*
 * From rows to a run in memory. The claim and what is loaded are one
 * transaction: nobody else moves the run in between. The inbox is part of it:
 * a cancel must come before the start, and what a hello does not name may lie
 * there as a result.
 */
#include "supervisor/load.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/runs.h"
#include "supervisor/watch.h"

struct load {
	struct supervisor *sup;
	void (*done)(void *arg, bool refused);
	void *arg;
	struct map runs; /* id -> struct run, until the commit */
	PGresult *inbox; /* owned */
	bool failed;     /* a statement was refused */
};

/* false: there is no result. */
static bool
came(struct load *load, bool aborted, const struct err *err)
{
	if (err == NULL)
		return true;
	load->failed = true;
	if (!aborted)
		log_warn_slow("runs cannot be claimed", log_err(err));
	return false;
}

static struct run *
run_at(struct load *load, const PGresult *r, int row)
{
	struct uuid id = db_get_uuid(r, row, 0);

	return map_get(&load->runs, uuid_slice(&id));
}

/* A run from its row, without items, turns and calls. */
static struct run *
run_of_row(struct load *load, const PGresult *r, int row)
{
	struct uuid id = db_get_uuid(r, row, 0);
	struct agent_entry *agent = agents_find(&load->sup->agents,
	    db_get(r, row, 1), (uint32_t)db_get_int(r, row, 2), clock_ms());
	struct slice session = db_get(r, row, 3);
	struct run *run;

	if (agent == NULL)
		BUG("a run was claimed without its agent");
	run = run_new(&id, &agent->agent);
	run->agent_version = agent->version;
	if (session.len > 0)
		run->session = mem_string_n(session.ptr, session.len);
	run->priority = (int)db_get_int(r, row, 4);
	if (!run_state_by_name(db_get(r, row, 6), &run->state))
		BUG("a row has an unknown state");
	run->claim = (uint64_t)db_get_int(r, row, 7);
	run->step = (uint64_t)db_get_int(r, row, 8);
	run->turn = (uint32_t)db_get_int(r, row, 10);
	run->active_before_ms = (uint64_t)db_get_int(r, row, 11);
	run->age_before_ms = (uint64_t)db_get_int(r, row, 18);
	if (db_get_int(r, row, 12) > 0)
		run->not_before_ms =
		    clock_ms() + (uint64_t)db_get_int(r, row, 12);
	run->usage = (struct usage){ true, (uint64_t)db_get_int(r, row, 13),
		(uint64_t)db_get_int(r, row, 14),
		(uint64_t)db_get_int(r, row, 15),
		(uint64_t)db_get_int(r, row, 16),
		(uint64_t)db_get_int(r, row, 17) };
	run->queued_ms = clock_ms();
	log_info("run claimed", log_uuid("run", &id),
	    log_num("claim", (int64_t)run->claim),
	    log_num("strikes", db_get_int(r, row, 9)),
	    log_str("state", run_state_name(run->state)));
	return run;
}

static void
on_claimed(void *arg, const PGresult *r, bool aborted, const struct err *err)
{
	struct load *load = arg;

	if (!came(load, aborted, err))
		return;
	for (int row = 0; row < PQntuples(r); row++) {
		struct run *run = run_of_row(load, r, row);

		map_set(&load->runs, uuid_slice(&run->id), run);
	}
}

static void
on_items(void *arg, const PGresult *r, bool aborted, const struct err *err)
{
	struct load *load = arg;

	if (!came(load, aborted, err))
		return;
	for (int row = 0; row < PQntuples(r); row++) {
		struct run *run = run_at(load, r, row);
		struct uuid of = db_get_uuid(r, row, 1);

		if (run == NULL)
			continue;
		/* Earlier runs come first and stand before everything. */
		if (!uuid_eq(&of, &run->id))
			run->history = run->item_count;
		run_add_item(run, (uint32_t)db_get_int(r, row, 2),
		    (enum item_category)db_get_int(r, row, 3),
		    (uint32_t)db_get_int(r, row, 4), db_get(r, row, 5));
		if (!uuid_eq(&of, &run->id))
			run->history = run->item_count;
	}
}

static void
read_flight(struct flight *f, const PGresult *r, int row, int column)
{
	struct slice worker = db_get(r, row, column);

	snprintf(f->worker, sizeof(f->worker), "%.*s", SLICE_ARGS(worker));
	f->process = db_get_uuid(r, row, column + 1);
	f->session = (uint64_t)db_get_int(r, row, column + 2);
}

static void
on_turns(void *arg, const PGresult *r, bool aborted, const struct err *err)
{
	struct load *load = arg;

	if (!came(load, aborted, err))
		return;
	for (int row = 0; row < PQntuples(r); row++) {
		struct run *run = run_at(load, r, row);
		struct slice state = db_get(r, row, 3);

		if (run == NULL)
			continue;
		run->attempt = (uint32_t)db_get_int(r, row, 2);
		run->turn_open = slice_is(state, "dispatched");
		run->failures += slice_is(state, "failed");
		run->losses += slice_is(state, "lost");
		run->turn_at = (struct flight){ .turn = run->turn,
			.attempt = run->attempt };
		read_flight(&run->turn_at, r, row, 4);
	}
}

static void
read_call(struct run *run, const PGresult *r, int row)
{
	struct run_call *call = &run->calls[run->call_count++];
	struct slice state = db_get(r, row, 4);

	call->call = (uint32_t)db_get_int(r, row, 1);
	call->item_idx = (uint32_t)db_get_int(r, row, 2);
	call->attempt = (uint32_t)db_get_int(r, row, 3);
	call->state = slice_is(state, "queued")       ? CALL_QUEUED
		      : slice_is(state, "dispatched") ? CALL_DISPATCHED
						      : CALL_DONE;
	call->idempotent = db_get_bool(r, row, 5);
	call->at = (struct flight){
		.turn = run->turn, .call = call->call, .attempt = call->attempt
	};
	read_flight(&call->at, r, row, 6);
	run_fill_call(run, call);
}

/* Rows of one run stand together. */
static size_t
calls_from(const PGresult *r, int first)
{
	struct uuid id = db_get_uuid(r, first, 0);
	int row = first;

	while (row < PQntuples(r)) {
		struct uuid other = db_get_uuid(r, row, 0);

		if (!uuid_eq(&id, &other))
			break;
		row++;
	}
	return (size_t)(row - first);
}

static void
on_calls(void *arg, const PGresult *r, bool aborted, const struct err *err)
{
	struct load *load = arg;

	if (!came(load, aborted, err))
		return;
	for (int row = 0; row < PQntuples(r); row++) {
		struct run *run = run_at(load, r, row);

		if (run == NULL)
			continue;
		if (run->calls == NULL) {
			run_make_calls(run, calls_from(r, row));
			run->call_count = 0;
		}
		read_call(run, r, row);
	}
}

static void
on_inbox(void *arg, const PGresult *r, bool aborted, const struct err *err)
{
	struct load *load = arg;

	if (!came(load, aborted, err))
		return;
	load->inbox = PQcopyResult(r, PG_COPYRES_ATTRS | PG_COPYRES_TUPLES);
	if (load->inbox == NULL)
		BUG("out of memory");
}

void
load_inbox(struct runs *runs, const PGresult *r)
{
	for (int row = 0; row < PQntuples(r); row++) {
		struct uuid id = db_get_uuid(r, row, 0);
		struct slot *slot = runs_find(runs, &id);

		if (slot != NULL)
			runs_inbox(slot, db_get(r, row, 1), db_get(r, row, 2),
			    db_get(r, row, 3), db_get(r, row, 4),
			    db_get(r, row, 5));
	}
}

/* What is not ours after all is left out. */
static void
add_runs(struct load *load, bool committed)
{
	size_t pos = 0;
	void *value;

	while (map_next(&load->runs, &pos, NULL, &value)) {
		struct run *run = value;
		struct agent_entry *agent;

		if (!committed || runs_find(load->sup->runs, &run->id)) {
			map_remove(&load->runs, uuid_slice(&run->id));
			run_free(run);
			continue;
		}
		agent = agents_find(&load->sup->agents,
		    slice_string(run->agent->name), run->agent_version,
		    clock_ms());
		runs_add(load->sup->runs, run, agent);
	}
}

static void
start_runs(struct load *load)
{
	size_t pos = 0;
	void *value;

	while (map_next(&load->runs, &pos, NULL, &value)) {
		const struct run *run = value;

		runs_input(runs_find(load->sup->runs, &run->id), INPUT_START);
		watch_tell(load->sup->watch, &run->id);
	}
}

static void
on_load_synced(void *arg, const struct err *err)
{
	struct load *load = arg;
	bool lost = err != NULL && err->sqlstate[0] == '\0';
	bool committed = err == NULL && !load->failed;

	add_runs(load, committed);
	if (committed)
		load_inbox(load->sup->runs, load->inbox);
	start_runs(load);
	PQclear(load->inbox);
	map_release(&load->runs);
	load->done(load->arg, !committed && !lost);
	mem_free(load);
}

static void
ask(struct load *load, enum db_query query, const struct uuid *ids,
    size_t count, bool me_first, db_result *on_result)
{
	struct db_params p = DB_PARAMS_INIT;

	if (me_first)
		db_uuid(&p, &load->sup->id);
	db_array(&p, DB_UUID);
	for (size_t i = 0; i < count; i++)
		db_uuid(&p, &ids[i]);
	db_array_end(&p);
	if (!me_first)
		db_uuid(&p, &load->sup->id);
	db_send(store_side(load->sup->store), query, &p, on_result, load);
	db_params_release(&p);
}

void
load_claim(struct supervisor *sup, const struct uuid *ids, size_t count,
    void (*done)(void *arg, bool refused), void *arg)
{
	struct load *load = MEM_NEW(struct load);
	struct db *side = store_side(sup->store);
	struct db_params p = DB_PARAMS_INIT;

	load->sup = sup;
	load->done = done;
	load->arg = arg;
	ask(load, QUERY_claim, ids, count, true, on_claimed);
	ask(load, QUERY_load_items, ids, count, false, on_items);
	ask(load, QUERY_load_turns, ids, count, false, on_turns);
	ask(load, QUERY_load_calls, ids, count, false, on_calls);
	db_uuid(&p, &sup->id);
	db_send(side, QUERY_inbox_mine, &p, on_inbox, load);
	db_params_release(&p);
	db_sync(side, on_load_synced, load);
}
