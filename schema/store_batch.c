/*
 * The batch: gathered, sent, answered, by the error table of the commit
 * protocol. A server error means that nothing of it was committed.
 */
#include "base/clock.h"
#include "base/log.h"
#include "schema/store_internal.h"

/* ---- answers ---- */

void
store_give(struct store *store, struct store_entry *e, enum store_answer what)
{
	if (what == STORE_COMMITTED)
		store->stats.steps++;
	store->config.on_answer(store->config.arg, e, what);
}

void
store_take_batch(
    struct store *store, struct store_entry *batch[], size_t *count)
{
	*count = store->batch_count;
	memcpy(batch, store->batch, *count * sizeof(batch[0]));
	store->batch_count = 0;
	store->state = BATCH_IDLE;
}

/* Back to the head of the queue, in the same order. */
void
store_put_back(struct store *store, struct store_entry *batch[], size_t count)
{
	for (size_t i = count; i > 0; i--)
		list_insert_before(store->waiting.next, &batch[i - 1]->link);
}

static void
on_retry(uv_timer_t *timer)
{
	store_flush(timer->data);
}

static uint64_t
retry_ms(unsigned tries)
{
	uint64_t ms = STORE_RETRY_MS;

	while (--tries > 0 && ms < STORE_RETRY_MAX_MS)
		ms *= 2;
	return ms < STORE_RETRY_MAX_MS ? ms : STORE_RETRY_MAX_MS;
}

/* ---- errors of a statement: nothing of the batch was committed ---- */

/* Behind the others, after a pause that doubles. */
static void
put_later(struct store *store, struct store_entry *e)
{
	e->not_before_ms = clock_ms() + retry_ms(++e->tries);
	list_append(&store->waiting, &e->link);
}

static void
set_aside(struct store *store, struct store_entry *e)
{
	store->stats.set_aside++;
	log_warn("step refused by the database",
	    log_uuid("run", &e->step->run_id),
	    log_str("sqlstate", e->err.sqlstate), log_err(&e->err));
	if (e->err.kind == ERR_DB_RETRY) {
		put_later(store, e);
	} else if (e->alone && (e->step->accept || e->failing)) {
		store_give(store, e, STORE_BAD);
	} else {
		e->failing = e->alone;
		e->alone = true;
		list_append(&store->waiting, &e->link);
	}
}

/* The server cannot commit now. After a while it may be one run only that it
 * cannot commit: each alone then, so that it holds up nobody else. */
static void
set_back(struct store *store, struct store_entry *batch[], size_t count,
    struct store_entry *bad)
{
	log_warn_slow("database cannot commit now", log_err(&bad->err));
	store->env_failures++;
	store->pause_until_ms = clock_ms() + retry_ms(store->env_failures + 3);
	store_put_back(store, batch, count);
	if (store->env_failures < STORE_PATIENCE)
		return;
	store->limit = 1;
	bad->alone = true;
	list_remove(&bad->link);
	put_later(store, bad);
}

static void
batch_failed(struct store *store)
{
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t count, failed_at = store->failed_at;
	struct store_entry *bad = store->batch[failed_at];

	store->stats.failed_batches++;
	store_take_batch(store, batch, &count);
	switch (bad->err.kind) {
	case ERR_DB_DATA:
	case ERR_DB_RETRY:
		memmove(&batch[failed_at], &batch[failed_at + 1],
		    (count - failed_at - 1) * sizeof(batch[0]));
		store_put_back(store, batch, count - 1);
		set_aside(store, bad);
		break;
	case ERR_DB_SCHEMA:
		store_put_back(store, batch, count);
		log_error(
		    "statements do not fit the schema", log_err(&bad->err));
		if (++store->schema_failures > 1)
			store->config.on_fatal(store->config.arg, &bad->err);
		else
			db_reset(store->db[DB_BATCH]);
		break;
	case ERR_NONE:
	case ERR_SYSTEM:
	case ERR_INPUT:
	case ERR_LIMIT:
	case ERR_MISSING:
	case ERR_CONFLICT:
	case ERR_BUSY:
	case ERR_PEER:
	case ERR_DB_ENV:
		set_back(store, batch, count, bad);
		break;
	}
}

/* ---- the batch in flight ---- */

static void
on_step_result(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;
	size_t at = store->given++;
	struct store_entry *e;

	if (at >= store->batch_count)
		return;
	e = store->batch[at];
	if (err == NULL) {
		e->count = (int)db_get_int(result, 0, 0);
	} else if (!aborted && store->failed_at == SIZE_MAX) {
		store->failed_at = at;
		e->err = *err;
	}
}

static void
batch_committed(struct store *store)
{
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t count;

	store_take_batch(store, batch, &count);
	store->stats.batches++;
	store->env_failures = store->schema_failures = 0;
	store->limit = store->limit * 2 > STORE_BATCH_RUNS ? STORE_BATCH_RUNS
							   : store->limit * 2;
	for (size_t i = 0; i < count; i++) {
		struct store_entry *e = batch[i];

		if (e->failing && (e->count == 1 || e->step->accept))
			store_give(store, e, STORE_BAD);
		else
			store_give(store, e,
			    e->count == 1 ? STORE_COMMITTED : STORE_GONE);
	}
}

static void
on_batch_synced(void *arg, const struct err *err)
{
	struct store *store = arg;

	if (err != NULL && err->sqlstate[0] == '\0') {
		/* Nobody knows: settled when the connection is back. */
		store->stats.unknown++;
		store->state = BATCH_UNKNOWN;
		return;
	}
	if (err != NULL && store->failed_at == SIZE_MAX) {
		/* The commit itself failed: somebody among half of them. */
		store->limit =
		    store->batch_count > 1 ? store->batch_count / 2 : 1;
		store->failed_at = 0;
		store->batch[0]->err = *err;
		if (store->batch_count > 1)
			store->batch[0]->err.kind = ERR_DB_ENV;
	}
	if (store->failed_at != SIZE_MAX)
		batch_failed(store);
	else
		batch_committed(store);
	store_flush(store);
}

static int
by_run(const void *a, const void *b)
{
	const struct store_entry *const *x = a, *const *y = b;

	return memcmp((*x)->step->run_id.bytes, (*y)->step->run_id.bytes,
	    sizeof((*x)->step->run_id.bytes));
}

static void
send_entry(struct store *store, struct store_entry *e)
{
	struct db_params *p = &store->params;
	const struct uuid *me = &store->config.supervisor;
	enum db_query query;

	db_params_clear(p);
	e->count = 0;
	if (e->failing) {
		query = QUERY_step_fail;
		store_fail_params(e->step, me, &e->err, p);
	} else if (e->step->accept) {
		query = store_accept_params(e->step, me, p);
	} else {
		query = store_step_params(e->step, me, p);
	}
	db_send(store->db[DB_BATCH], query, p, on_step_result, store);
}

/* Takes what fits into one batch from the queue. Returns in how many ms the
 * first of those may go that must wait. */
static uint64_t
gather(struct store *store)
{
	struct store_entry *e;
	uint64_t now = clock_ms(), wait_ms = STORE_RETRY_MAX_MS;
	size_t bytes = 0;

	LIST_EACH (e, next, &store->waiting, struct store_entry, link) {
		if (e->not_before_ms > now) {
			if (e->not_before_ms - now < wait_ms)
				wait_ms = e->not_before_ms - now;
			continue;
		}
		if (store->batch_count > 0 &&
		    (e->alone || bytes + e->step->bytes > STORE_BATCH_BYTES))
			continue;
		list_remove(&e->link);
		store->batch[store->batch_count++] = e;
		bytes += e->step->bytes;
		if (e->alone || store->batch_count >= store->limit)
			break;
	}
	return wait_ms;
}

/* Milliseconds until the next batch may leave; 0 = now. */
static uint64_t
pace_ms(const struct store *store)
{
	uint64_t pace = store->runs * STORE_PACE_US, now = clock_us();

	if (pace > STORE_PACE_MAX_US)
		pace = STORE_PACE_MAX_US;
	if (pace < 1000 || now >= store->sent_us + pace)
		return 0;
	return (store->sent_us + pace - now + 999) / 1000;
}

void
store_set_runs(struct store *store, size_t runs)
{
	store->runs = runs;
}

static void
send_batch(struct store *store)
{
	qsort(
	    store->batch, store->batch_count, sizeof(store->batch[0]), by_run);
	store->given = 0;
	store->failed_at = SIZE_MAX;
	store->sent_us = clock_us();
	store->state = BATCH_SENT;
	for (size_t i = 0; i < store->batch_count; i++)
		send_entry(store, store->batch[i]);
	db_sync(store->db[DB_BATCH], on_batch_synced, store);
}

/* Whatever keeps the queue from moving now sets the timer. */
void
store_flush(struct store *store)
{
	uint64_t now = clock_ms(), wait_ms;

	if (store->state != BATCH_IDLE || !db_is_up(store->db[DB_BATCH]) ||
	    !store->registered || list_is_empty(&store->waiting))
		return;
	wait_ms = now < store->pause_until_ms ? store->pause_until_ms - now
					      : pace_ms(store);
	if (wait_ms == 0)
		wait_ms = gather(store);
	if (store->batch_count > 0)
		send_batch(store);
	else
		uv_timer_start(store->retry, on_retry, wait_ms, 0);
}

void
store_add(struct store *store, struct store_entry *entry, struct step *step)
{
	*entry = (struct store_entry){ .step = step };
	if (step->bytes > STORE_STEP_BYTES) {
		err_set(&entry->err, ERR_DB_DATA, "a step of %zu bytes",
		    step->bytes);
		snprintf(
		    entry->err.sqlstate, sizeof(entry->err.sqlstate), "54000");
		entry->alone = entry->failing = true;
	}
	list_append(&store->waiting, &entry->link);
}
