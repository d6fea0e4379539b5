/*
 * Unknown outcomes: a connection was lost before the commit was seen. Nothing
 * moves until old backends are gone and the rows have said what stands.
 */
#include "base/log.h"
#include "schema/store_internal.h"

#define SETTLE_AGAIN_MS 20u

/* ---- unknown outcome ---- */

static void
on_timeline(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;
	struct slice timeline;

	(void)aborted;
	if (err != NULL)
		return;
	timeline = db_get(result, 0, 0);
	store->rewound =
	    store->timeline[0] != '\0' && !slice_is(timeline, store->timeline);
	snprintf(store->timeline, sizeof(store->timeline), "%.*s",
	    SLICE_ARGS(timeline));
}

static void
on_terminated(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;

	(void)aborted;
	store->old_sessions = err == NULL ? db_get_int(result, 0, 0) : 1;
}

/* What a row says about a step that may or may not have been committed. */
static enum store_answer
settled(struct store *store, const struct store_entry *e, const PGresult *r,
    int row, bool *ret_again)
{
	const struct uuid *me = &store->config.supervisor;
	struct uuid owner = db_get_uuid(r, row, 1);
	uint64_t claim = (uint64_t)db_get_int(r, row, 2);
	uint64_t step = (uint64_t)db_get_int(r, row, 3);

	*ret_again = false;
	if (e->step->accept && !uuid_eq(&owner, me))
		return STORE_GONE; /* it existed before */
	if (claim == e->step->claim && step == e->step->step + 1)
		return e->failing ? STORE_BAD : STORE_COMMITTED;
	if (claim == e->step->claim && step == e->step->step &&
	    uuid_eq(&owner, me))
		*ret_again = true;
	if (claim <= e->step->claim && step < e->step->step)
		store->rewound = true;
	return STORE_GONE;
}

static void
settle_one(struct store *store, struct store_entry *e, const PGresult *result)
{
	enum store_answer what = STORE_GONE;
	bool again = false, found = false;

	for (int row = 0; row < PQntuples(result) && !found; row++) {
		struct uuid id = db_get_uuid(result, row, 0);

		found = uuid_eq(&id, &e->step->run_id);
		if (found)
			what = settled(store, e, result, row, &again);
	}
	/* No row: it was not accepted yet, or the database forgot it. */
	if (!found && e->step->accept)
		again = true;
	else if (!found)
		store->rewound = true;
	if (again)
		list_insert_before(store->waiting.next, &e->link);
	else
		store_give(store, e, what);
}

/* Everybody drops memory: answers for the batch first, then for the queue. */
static void
rewind_all(struct store *store)
{
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t count;

	log_error("the database went back in time: loading all runs anew",
	    log_str("timeline", store->timeline));
	store->rewound = false;
	store_take_batch(store, batch, &count);
	store_put_back(store, batch, count);
	while (!list_is_empty(&store->waiting)) {
		struct store_entry *e =
		    LIST_FIRST(&store->waiting, struct store_entry, link);

		list_remove(&e->link);
		if (e->step->accept)
			err_set(&e->err, ERR_BUSY,
			    "the database went back in time; submit again");
		store_give(store, e, e->step->accept ? STORE_BAD : STORE_GONE);
	}
	store->config.on_rewound(store->config.arg);
}

static void
on_settled(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t count;

	(void)aborted;
	if (err != NULL)
		return;
	store_take_batch(store, batch, &count);
	log_info("unknown commit settled", log_num("runs", (int64_t)count));
	for (size_t i = count; i > 0; i--)
		settle_one(store, batch[i - 1], result);
	if (store->rewound)
		rewind_all(store);
}

static void
on_ask(uv_timer_t *timer)
{
	struct store *store = timer->data;

	if (store->state == BATCH_SETTLING && db_is_up(store->db[DB_BATCH]))
		store_settle(store);
}

/* Without an answer the connection is lost, and its on_up comes back here, or
 * the server could not say: it is asked again. */
static void
ask_again(struct store *store)
{
	uv_timer_start(store->ask, on_ask, SETTLE_AGAIN_MS, 0);
}

static void
on_settle_synced(void *arg, const struct err *err)
{
	struct store *store = arg;

	if (err != NULL || store->state == BATCH_SETTLING)
		ask_again(store);
	else
		store_flush(store);
}

static void
settle_rows(struct store *store)
{
	struct db_params *p = &store->params;

	db_params_clear(p);
	db_array(p, DB_UUID);
	for (size_t i = 0; i < store->batch_count; i++)
		db_uuid(p, &store->batch[i]->step->run_id);
	db_array_end(p);
	db_send(store->db[DB_BATCH], QUERY_settle, p, on_settled, store);
	db_sync(store->db[DB_BATCH], on_settle_synced, store);
}

static void
on_preluded(void *arg, const struct err *err)
{
	struct store *store = arg;

	if (err != NULL || store->old_sessions > 0) {
		ask_again(store);
		return;
	}
	if (store->rewound)
		rewind_all(store);
	else if (store->batch_count > 0)
		settle_rows(store);
	else
		store->state = BATCH_IDLE;
	store_flush(store);
}

/* Before anything is believed: which timeline is this, and does an old backend
 * of mine still live that could commit later? */
void
store_settle(struct store *store)
{
	struct db_params *p = &store->params;

	uv_timer_stop(store->ask);
	store->state = BATCH_SETTLING;
	db_params_clear(p);
	db_send(store->db[DB_BATCH], QUERY_timeline, p, on_timeline, store);
	db_text(p, slice_string(store->application[DB_BATCH]));
	db_send(store->db[DB_BATCH], QUERY_terminate, p, on_terminated, store);
	db_sync(store->db[DB_BATCH], on_preluded, store);
}
