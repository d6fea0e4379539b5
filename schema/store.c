/*
 * The store's life: its connections, and this supervisor's row with its beat.
 * Owns both and the queue; never decides about a run.
 */
#include "schema/store_internal.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

static void
free_handle(uv_handle_t *handle)
{
	mem_free(handle);
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
		store->beat_acked_ms = 0; /* nothing more is released */
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

	store->registering = false;
	if (err != NULL || !store->added)
		return; /* again with the next connection or beat */
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
	if (err == NULL)
		store->added = true;
	else if (!aborted &&
		 (err->kind == ERR_DB_SCHEMA || err->kind == ERR_DB_DATA))
		store->config.on_fatal(store->config.arg, err);
}

/* What does not end in time is looked at again by the next connection. */
static void
on_old_ended(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;

	(void)aborted;
	if (err != NULL || db_get_int(result, 0, 0) > 0)
		db_reset(store->db[DB_SIDE]);
}

/* Adds my row only once: if it went later, somebody deposed me. */
static void
register_me(struct store *store)
{
	struct db_params *p = &store->params;

	store->registering = true;
	db_params_clear(p);
	db_text(p, slice_string(store->application[DB_SIDE]));
	db_send(
	    store->db[DB_SIDE], QUERY_terminate_side, p, on_old_ended, store);
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

static void
on_beat_timer(uv_timer_t *timer)
{
	struct store *store = timer->data;

	if (store->registered)
		beat_send(store);
	else if (!store->registering && db_is_up(store->db[DB_SIDE]))
		register_me(store);
}

/* ---- connections ---- */

static void
on_batch_up(void *arg)
{
	store_settle(arg);
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
	store->ask = new_timer(store);
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
	uv_close((uv_handle_t *)store->retry, free_handle);
	uv_close((uv_handle_t *)store->ask, free_handle);
	uv_close((uv_handle_t *)store->beat, free_handle);
	db_params_release(&store->params);
	return mem_free(store);
}

static void
on_bye_result(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct store *store = arg;

	(void)result;
	(void)aborted;
	if (err != NULL)
		store->bye_err = *err;
}

static void
on_bye_synced(void *arg, const struct err *err)
{
	struct store *store = arg;

	if (err == NULL && store->bye_err.kind != ERR_NONE)
		err = &store->bye_err;
	store->bye_done(store->bye_arg, err);
}

void
store_bye(struct store *store, db_synced *done, void *arg)
{
	struct db_params *p = &store->params;

	store->bye_done = done;
	store->bye_arg = arg;
	db_params_clear(p);
	db_uuid(p, &store->config.supervisor);
	db_send(
	    store->db[DB_SIDE], QUERY_supervisor_bye, p, on_bye_result, store);
	db_sync(store->db[DB_SIDE], on_bye_synced, store);
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
