/*
 * Group commit. Owns the connections, the queue of steps and the batch in
 * flight. Never decides about a run: it says what became of each step, by the
 * error table of the commit protocol.
 */
#include "schema/store.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum batch_state {
	BATCH_IDLE,
	BATCH_SENT,
	BATCH_UNKNOWN,  /* connection lost before the commit was seen */
	BATCH_SETTLING, /* connected again: asking what became of it */
};

struct store {
	struct store_config config;
	struct db *db[DB_USES]; /* owned */
	char application[DB_USES][80];

	struct list waiting; /* entries, in order of arrival */
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t batch_count;
	size_t given;     /* results seen of the batch in flight */
	size_t failed_at; /* first failing entry, or SIZE_MAX */
	enum batch_state state;
	size_t limit; /* runs of the next batch */
	unsigned env_failures, schema_failures;
	uint64_t pause_until_ms;
	uv_timer_t *retry; /* wakes the loop when a pause ends */

	char timeline[16];
	bool rewound;
	int64_t old_sessions;

	bool registered;
	uint64_t beat_sent_ms, beat_acked_ms; /* when the acked one was sent */
	bool beat_open;
	uv_timer_t *beat;

	struct db_params params;
	struct store_stats stats;
};

static void settle_start(struct store *store);

static void
free_handle(uv_handle_t *handle)
{
	mem_free(handle);
}

/* ---- answers ---- */

static void
answer(struct store *store, struct store_entry *e, enum store_answer what)
{
	if (what == STORE_COMMITTED)
		store->stats.steps++;
	store->config.on_answer(store->config.arg, e, what);
}

static void
take_batch(struct store *store, struct store_entry *batch[], size_t *count)
{
	*count = store->batch_count;
	memcpy(batch, store->batch, *count * sizeof(batch[0]));
	store->batch_count = 0;
	store->state = BATCH_IDLE;
}

/* Back to the head of the queue, in the same order. */
static void
put_back(struct store *store, struct store_entry *batch[], size_t count)
{
	for (size_t i = count; i > 0; i--)
		list_insert_before(store->waiting.next, &batch[i - 1]->link);
}

static void
on_retry(uv_timer_t *timer)
{
	store_flush(timer->data);
}

static void
wake_in(struct store *store, uint64_t ms)
{
	if (!uv_is_active((uv_handle_t *)store->retry) ||
	    uv_timer_get_due_in(store->retry) > ms)
		uv_timer_start(store->retry, on_retry, ms, 0);
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

/* Returns false when the entry is answered and must not be sent again. */
static bool
set_aside(struct store *store, struct store_entry *e)
{
	store->stats.set_aside++;
	log_warn("step refused by the database",
	    log_uuid("run", &e->step->run_id),
	    log_str("sqlstate", e->err.sqlstate), log_err(&e->err));
	if (e->err.kind == ERR_DB_RETRY) {
		e->not_before_ms = clock_ms() + retry_ms(++e->tries);
		wake_in(store, retry_ms(e->tries));
		return true;
	}
	if (!e->alone) {
		e->alone = true;
		return true;
	}
	if (e->step->accept || e->failing) {
		answer(store, e, STORE_BAD);
		return false;
	}
	e->failing = true;
	return true;
}

static void
pause_batches(struct store *store)
{
	store->env_failures++;
	store->pause_until_ms = clock_ms() + retry_ms(store->env_failures + 3);
	wake_in(store, retry_ms(store->env_failures + 3));
	if (store->env_failures >= 3)
		store->limit = 1;
}

static void
batch_failed(struct store *store)
{
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t count, failed_at = store->failed_at;
	struct store_entry *bad = store->batch[failed_at];

	store->stats.failed_batches++;
	take_batch(store, batch, &count);
	switch (bad->err.kind) {
	case ERR_DB_DATA:
	case ERR_DB_RETRY:
		memmove(&batch[failed_at], &batch[failed_at + 1],
		    (count - failed_at - 1) * sizeof(batch[0]));
		put_back(store, batch, count - 1);
		if (set_aside(store, bad))
			list_append(&store->waiting, &bad->link);
		break;
	case ERR_DB_SCHEMA:
		put_back(store, batch, count);
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
		put_back(store, batch, count);
		log_warn_slow("database cannot commit now", log_err(&bad->err));
		pause_batches(store);
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

	take_batch(store, batch, &count);
	store->stats.batches++;
	store->env_failures = store->schema_failures = 0;
	store->limit = store->limit * 2 > STORE_BATCH_RUNS ? STORE_BATCH_RUNS
							   : store->limit * 2;
	for (size_t i = 0; i < count; i++) {
		struct store_entry *e = batch[i];

		if (e->count == 1 && e->failing)
			answer(store, e, STORE_BAD);
		else
			answer(store, e,
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
		query = QUERY_accept;
		store_accept_params(e->step, me, p);
	} else {
		query = store_step_params(e->step, me, p);
	}
	db_send(store->db[DB_BATCH], query, p, on_step_result, store);
}

/* Takes what fits into one batch from the queue. */
static void
gather(struct store *store)
{
	struct store_entry *e;
	uint64_t now = clock_ms();
	size_t bytes = 0;

	LIST_EACH (e, next, &store->waiting, struct store_entry, link) {
		if (e->not_before_ms > now)
			continue;
		if (store->batch_count > 0 &&
		    (e->alone || bytes + e->step->bytes > STORE_BATCH_BYTES))
			continue;
		list_remove(&e->link);
		store->batch[store->batch_count++] = e;
		bytes += e->step->bytes;
		if (e->alone || store->batch_count >= store->limit)
			break;
	}
}

void
store_flush(struct store *store)
{
	if (store->state != BATCH_IDLE || !db_is_up(store->db[DB_BATCH]) ||
	    !store->registered || list_is_empty(&store->waiting) ||
	    clock_ms() < store->pause_until_ms)
		return;
	gather(store);
	if (store->batch_count == 0)
		return;
	qsort(
	    store->batch, store->batch_count, sizeof(store->batch[0]), by_run);
	store->given = 0;
	store->failed_at = SIZE_MAX;
	store->state = BATCH_SENT;
	for (size_t i = 0; i < store->batch_count; i++)
		send_entry(store, store->batch[i]);
	db_sync(store->db[DB_BATCH], on_batch_synced, store);
}

void
store_add(struct store *store, struct store_entry *entry, struct step *step)
{
	*entry = (struct store_entry){ .step = step };
	list_append(&store->waiting, &entry->link);
}

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
	bool again = e->step->accept; /* no row: it was not accepted yet */
	enum store_answer what = STORE_GONE;

	for (int row = 0; row < PQntuples(result); row++) {
		struct uuid id = db_get_uuid(result, row, 0);

		if (uuid_eq(&id, &e->step->run_id))
			what = settled(store, e, result, row, &again);
	}
	if (again)
		list_insert_before(store->waiting.next, &e->link);
	else
		answer(store, e, what);
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
	take_batch(store, batch, &count);
	put_back(store, batch, count);
	while (!list_is_empty(&store->waiting)) {
		struct store_entry *e =
		    LIST_FIRST(&store->waiting, struct store_entry, link);

		list_remove(&e->link);
		answer(store, e, STORE_GONE);
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
		return; /* the connection went again: its on_up comes back here
			 */
	take_batch(store, batch, &count);
	log_info("unknown commit settled", log_num("runs", (int64_t)count));
	for (size_t i = count; i > 0; i--)
		settle_one(store, batch[i - 1], result);
	if (store->rewound)
		rewind_all(store);
}

static void
on_settle_synced(void *arg, const struct err *err)
{
	struct store *store = arg;

	if (err == NULL)
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
on_settle_timer(uv_timer_t *timer)
{
	struct store *store = timer->data;

	if (db_is_up(store->db[DB_BATCH]) && store->state != BATCH_SENT)
		settle_start(store);
}

static void
on_preluded(void *arg, const struct err *err)
{
	struct store *store = arg;

	if (err != NULL)
		return;
	if (store->old_sessions > 0) {
		uv_timer_start(store->retry, on_settle_timer, 20, 0);
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
static void
settle_start(struct store *store)
{
	struct db_params *p = &store->params;

	store->state = BATCH_SETTLING;
	db_params_clear(p);
	db_send(store->db[DB_BATCH], QUERY_timeline, p, on_timeline, store);
	db_text(p, slice_string(store->application[DB_BATCH]));
	db_send(store->db[DB_BATCH], QUERY_terminate, p, on_terminated, store);
	db_sync(store->db[DB_BATCH], on_preluded, store);
}

/* ---- my row ---- */

static void
on_beat_result(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;

	(void)aborted;
	if (err != NULL)
		return;
	if (PQntuples(result) == 0) {
		store->config.on_deposed(store->config.arg);
		return;
	}
	store->beat_acked_ms = store->beat_sent_ms;
}

static void
on_beat_synced(void *arg, const struct err *err)
{
	struct store *store = arg;

	(void)err;
	store->beat_open = false;
}

static void
beat_send(struct store *store)
{
	struct db_params *p = &store->params;

	if (store->beat_open || !store->registered ||
	    !db_is_up(store->db[DB_BEAT]))
		return;
	store->beat_open = true;
	store->beat_sent_ms = clock_ms();
	db_params_clear(p);
	db_uuid(p, &store->config.supervisor);
	db_send(store->db[DB_BEAT], QUERY_supervisor_beat, p, on_beat_result,
	    store);
	db_sync(store->db[DB_BEAT], on_beat_synced, store);
}

static void
on_beat_timer(uv_timer_t *timer)
{
	beat_send(timer->data);
}

bool
store_may_release(const struct store *store)
{
	return store->beat_acked_ms != 0 &&
	       clock_ms() - store->beat_acked_ms < LEASE_SELF_MS;
}

static void
on_registered(void *arg, const struct err *err)
{
	struct store *store = arg;
	bool first = !store->registered;

	if (err != NULL)
		return;
	if (first) {
		store->registered = true;
		/* The row was written now: that is the first beat. */
		store->beat_acked_ms = store->beat_sent_ms;
		beat_send(store);
		store_flush(store);
	}
	store->config.on_side_up(store->config.arg, first);
}

static void
on_added(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;

	(void)result;
	(void)aborted;
	if (err != NULL && err->kind != ERR_DB_ENV)
		store->config.on_fatal(store->config.arg, err);
}

/* Only once: a row that went later was deleted by somebody who depose me. */
static void
register_me(struct store *store)
{
	struct db_params *p = &store->params;

	db_params_clear(p);
	if (!store->registered) {
		store->beat_sent_ms = clock_ms();
		db_uuid(p, &store->config.supervisor);
		db_text(p, slice_string(store->config.name));
		db_text(p, SLICE(REEVE_VERSION));
		db_text(p, slice_string(store->config.host));
		db_int4(p, getpid());
		db_send(store->db[DB_SIDE], QUERY_supervisor_add, p, on_added,
		    store);
	}
	db_sync(store->db[DB_SIDE], on_registered, store);
}

/* ---- connections ---- */

static void
on_batch_up(void *arg)
{
	settle_start(arg);
}

static void
on_beat_up(void *arg)
{
	struct store *store = arg;

	store->beat_open = false;
	beat_send(store);
}

static void
on_side_up(void *arg)
{
	register_me(arg);
}

static void
on_read_up(void *arg)
{
	(void)arg;
}

static void
on_down(void *arg, const struct err *err)
{
	struct store *store = arg;

	store->stats.lost++;
	log_warn_slow("database connection lost", log_err(err));
	if (err->kind == ERR_DB_SCHEMA && !store->registered)
		store->config.on_fatal(store->config.arg, err);
}

static void (*const ups[DB_USES])(void *) = {
	[DB_BATCH] = on_batch_up,
	[DB_BEAT] = on_beat_up,
	[DB_SIDE] = on_side_up,
	[DB_READ] = on_read_up,
};

static uv_timer_t *
new_timer(struct store *store)
{
	uv_timer_t *timer = MEM_NEW(uv_timer_t);

	uv_timer_init(&store->config.loop->uv, timer);
	timer->data = store;
	return timer;
}

struct store *
store_new(const struct store_config *config)
{
	static const char *const names[DB_USES] = { "batch", "beat", "side",
		"read" };
	struct store *store = MEM_NEW(struct store);
	char id[UUID_TEXT];

	store->config = *config;
	store->params = DB_PARAMS_INIT;
	store->limit = STORE_BATCH_RUNS;
	store->failed_at = SIZE_MAX;
	store->state = BATCH_SETTLING; /* until the first connection */
	list_init(&store->waiting);
	store->retry = new_timer(store);
	store->beat = new_timer(store);
	uv_timer_start(store->beat, on_beat_timer, BEAT_MS, BEAT_MS);
	for (int use = 0; use < DB_USES; use++) {
		snprintf(store->application[use],
		    sizeof(store->application[use]), "reeve/%s/%s",
		    uuid_text(&config->supervisor, id), names[use]);
		store->db[use] = db_new(&(struct db_config){
		    .loop = config->loop,
		    .conninfo = config->conninfo,
		    .application = store->application[use],
		    .use = (enum db_use)use,
		    .on_up = ups[use],
		    .on_down = on_down,
		    .arg = store,
		});
	}
	return store;
}

struct store *
store_free(struct store *store)
{
	if (store == NULL)
		return NULL;
	for (int use = 0; use < DB_USES; use++)
		db_free(store->db[use]);
	uv_timer_stop(store->retry);
	uv_timer_stop(store->beat);
	uv_close((uv_handle_t *)store->retry, free_handle);
	uv_close((uv_handle_t *)store->beat, free_handle);
	db_params_release(&store->params);
	return mem_free(store);
}

void
store_bye(struct store *store, db_synced *done, void *arg)
{
	struct db_params *p = &store->params;

	db_params_clear(p);
	db_uuid(p, &store->config.supervisor);
	if (db_is_up(store->db[DB_SIDE]))
		db_send(store->db[DB_SIDE], QUERY_supervisor_bye, p, on_added,
		    store);
	db_sync(store->db[DB_SIDE], done, arg);
}

bool
store_is_idle(const struct store *store)
{
	return store->batch_count == 0 && list_is_empty(&store->waiting);
}

bool
store_is_up(const struct store *store)
{
	return store->registered && db_is_up(store->db[DB_BATCH]);
}

struct db *
store_side(struct store *store)
{
	return store->db[DB_SIDE];
}

struct db *
store_read(struct store *store)
{
	return store->db[DB_READ];
}

const struct store_stats *
store_stats(const struct store *store)
{
	return &store->stats;
}
