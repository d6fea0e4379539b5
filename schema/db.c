/*
 * A libpq connection driven by libuv. Owns the PGconn and the queue of what
 * was sent and not answered. Never blocks, never retries a statement.
 */
#include "schema/db.h"

#include <arpa/inet.h>

#include "base/alloc.h"
#include "base/log.h"
#include "schema/embedded.h"

#define DB_PAUSE_FIRST_MS 50u
#define DB_PAUSE_MAX_MS   1000u
#define DB_CONNECT_MS     5000u

struct entry {
	struct list link;
	bool sync;
	bool answered;
	db_result *on_result;
	db_synced *on_synced;
	struct err *err; /* owned; an error of the commit itself */
	void *arg;
};

struct db {
	struct db_config config;
	PGconn *conn;    /* owned */
	uv_poll_t *poll; /* owned; frees itself when closed */
	int fd;
	uv_timer_t *timer; /* reconnect or connect timeout */
	int events;        /* that are polled for */
	struct list sent;
	bool up, preparing, reading;
	struct err refused; /* the first statement that cannot be prepared */
	uint64_t pause_ms;
};

static const struct {
	const char *name, *sql;
	enum db_use use;
} queries[DB_QUERIES] = {
#define QUERY(name, connection) { #name, query_##name, DB_##connection },
#include "schema/queries.def"
#undef QUERY
};

static void connect_start(struct db *db);
static void read_results(struct db *db);

/* ---- errors ---- */

enum err_kind
db_error_kind(const char *sqlstate)
{
	static const struct {
		const char *prefix;
		enum err_kind kind;
	} kinds[] = {
		{ "22", ERR_DB_DATA },
		{ "23", ERR_DB_DATA },
		{ "54", ERR_DB_DATA },
		{ "P0", ERR_DB_DATA },
		{ "40001", ERR_DB_RETRY },
		{ "40P01", ERR_DB_RETRY },
		{ "55P03", ERR_DB_RETRY },
		{ "42", ERR_DB_SCHEMA },
		{ "0A", ERR_DB_SCHEMA },
		{ "26", ERR_DB_SCHEMA },
		{ "3F", ERR_DB_SCHEMA },
	};

	for (size_t i = 0; sqlstate != NULL && i < COUNT(kinds); i++) {
		if (strncmp(sqlstate, kinds[i].prefix,
			strlen(kinds[i].prefix)) == 0)
			return kinds[i].kind;
	}
	return ERR_DB_ENV;
}

/* How our own functions begin their errors, for those who read them in SQL. */
#define OURS "reeve: "

static void
result_err(const PGresult *result, struct err *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

	if (text != NULL && strncmp(text, OURS, strlen(OURS)) == 0)
		text += strlen(OURS);
	err_set(err, db_error_kind(state), "%s%s%s", text == NULL ? "" : text,
	    hint == NULL ? "" : ". ", hint == NULL ? "" : hint);
	snprintf(err->sqlstate, sizeof(err->sqlstate), "%s",
	    state == NULL ? "" : state);
}

static void
conn_err(struct db *db, struct err *err)
{
	const char *text = db->conn == NULL ? "" : PQerrorMessage(db->conn);
	size_t len = strcspn(text, "\n");

	err_set(err, ERR_DB_ENV, "database: %.*s", (int)len, text);
}

/* ---- handles ---- */

static void
free_handle(uv_handle_t *handle)
{
	mem_free(handle);
}

static void
close_poll(struct db *db)
{
	if (db->poll == NULL)
		return;
	uv_poll_stop(db->poll);
	uv_close((uv_handle_t *)db->poll, free_handle);
	db->poll = NULL;
	db->fd = -1;
	db->events = 0;
}

/* Tells everybody who waits that the connection is gone, then reconnects. */
static void
go_down(struct db *db, const struct err *err)
{
	struct list waiting;

	close_poll(db);
	PQfinish(db->conn);
	db->conn = NULL;
	db->up = db->preparing = false;
	list_init(&waiting);
	while (!list_is_empty(&db->sent)) {
		struct list *link = db->sent.next;

		list_remove(link);
		list_append(&waiting, link);
	}
	while (!list_is_empty(&waiting)) {
		struct entry *e =
		    CONTAINER_OF(waiting.next, struct entry, link);

		list_remove(&e->link);
		if (e->sync && e->on_synced != NULL)
			e->on_synced(e->arg, err);
		else if (!e->sync && !e->answered && e->on_result != NULL)
			e->on_result(e->arg, NULL, false, err);
		mem_free(e->err);
		mem_free(e);
	}
	db->config.on_down(db->config.arg, err);
}

static void
on_reconnect(uv_timer_t *timer)
{
	struct db *db = timer->data;

	connect_start(db);
}

static void
lost(struct db *db, const struct err *err)
{
	go_down(db, err);
	uv_timer_start(db->timer, on_reconnect, db->pause_ms, 0);
	db->pause_ms = db->pause_ms * 2 > DB_PAUSE_MAX_MS ? DB_PAUSE_MAX_MS
							  : db->pause_ms * 2;
}

static void
lost_now(struct db *db)
{
	struct err err = { 0 };

	conn_err(db, &err);
	lost(db, &err);
}

/* ---- sending ---- */

static void on_socket(uv_poll_t *poll, int status, int events);

static void
on_broken(uv_timer_t *timer)
{
	lost_now(timer->data);
}

/* A send that failed is not in libpq's queue, so that its answers no longer
 * fit ours; and libpq has closed its socket, which must not be polled. Nothing
 * more is read. The loss is told from the loop, never inside the caller. */
static void
broken(struct db *db)
{
	close_poll(db);
	uv_timer_start(db->timer, on_broken, 0, 0);
}

static void
want_events(struct db *db)
{
	int left, events;

	if (db->poll == NULL)
		return;
	left = PQflush(db->conn);
	if (left == -1 || PQsocket(db->conn) != db->fd) {
		broken(db);
		return;
	}
	events = UV_READABLE | (left == 1 ? UV_WRITABLE : 0);
	if (events == db->events)
		return;
	db->events = events;
	uv_poll_start(db->poll, events, on_socket);
}

static struct entry *
entry_add(struct db *db, bool sync)
{
	struct entry *e = MEM_NEW(struct entry);

	e->sync = sync;
	list_append(&db->sent, &e->link);
	return e;
}

static void
not_up(struct err *err)
{
	err_set(err, ERR_DB_ENV, "database: not connected");
}

void
db_send(struct db *db, enum db_query query, const struct db_params *params,
    db_result *on_result, void *arg)
{
	const char *values[DB_PARAMS_MAX];
	int formats[DB_PARAMS_MAX];
	struct err err = { 0 };
	struct entry *e;

	if (queries[query].use != db->config.use)
		BUG("query %s on connection %d", queries[query].name,
		    (int)db->config.use);
	if (!db->up) {
		not_up(&err);
		on_result(arg, NULL, false, &err);
		return;
	}
	if (params->bytes.failed)
		BUG("parameters of %s past their limit", queries[query].name);
	db_params_point(params, values);
	for (int i = 0; i < params->count; i++)
		formats[i] = 1;
	e = entry_add(db, false);
	e->on_result = on_result;
	e->arg = arg;
	if (!PQsendQueryPrepared(db->conn, queries[query].name, params->count,
		values, params->lengths, formats, 1))
		broken(db);
}

static void
add_sync(struct db *db, db_synced *on_synced, void *arg)
{
	struct entry *e = entry_add(db, true);

	e->on_synced = on_synced;
	e->arg = arg;
	if (!PQpipelineSync(db->conn))
		broken(db);
	want_events(db);
}

void
db_sync(struct db *db, db_synced *on_synced, void *arg)
{
	struct err err = { 0 };

	if (db->up) {
		add_sync(db, on_synced, arg);
	} else {
		not_up(&err);
		on_synced(arg, &err);
	}
}

/* ---- receiving ---- */

static void
give_result(struct entry *e, const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	struct err err = { 0 };

	e->answered = true;
	if (e->on_result == NULL)
		return;
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
		e->on_result(e->arg, result, false, NULL);
		return;
	}
	if (status == PGRES_PIPELINE_ABORTED) {
		err_set(&err, ERR_BUSY, "not run: an earlier statement failed");
		e->on_result(e->arg, NULL, true, &err);
		return;
	}
	result_err(result, &err);
	e->on_result(e->arg, NULL, false, &err);
}

/* One result for the first entry that waits; NULL ends a statement. */
static void
take_result(struct db *db, PGresult *result)
{
	struct entry *e = LIST_FIRST(&db->sent, struct entry, link);

	if (e == NULL)
		return;
	if (result == NULL) {
		if (e->answered) {
			list_remove(&e->link);
			mem_free(e);
		}
		return;
	}
	if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
		list_remove(&e->link);
		if (e->on_synced != NULL)
			e->on_synced(e->arg, e->err);
		mem_free(e->err);
		mem_free(e);
		return;
	}
	if (e->sync && e->err == NULL) {
		e->err = MEM_NEW(struct err);
		result_err(result, e->err);
	} else if (!e->sync && !e->answered) {
		give_result(e, result);
	}
}

static void
read_results(struct db *db)
{
	unsigned nulls = 0;

	if (db->reading)
		return;
	db->reading = true;
	while (db->conn != NULL && !list_is_empty(&db->sent) &&
	       !PQisBusy(db->conn)) {
		PGresult *result = PQgetResult(db->conn);

		/* Two in a row: nothing more has come. */
		nulls = result == NULL ? nulls + 1 : 0;
		if (nulls > 1)
			break;
		take_result(db, result);
		PQclear(result);
	}
	db->reading = false;
}

static void
on_socket(uv_poll_t *poll, int status, int events)
{
	struct db *db = poll->data;

	(void)events;
	if (status < 0 || !PQconsumeInput(db->conn)) {
		read_results(db);
		if (db->conn != NULL)
			lost_now(db);
		return;
	}
	read_results(db);
	if (db->conn == NULL || db->poll != poll)
		return;
	if (PQstatus(db->conn) == CONNECTION_BAD) {
		lost_now(db);
		return;
	}
	want_events(db);
}

/* ---- connecting ---- */

static void
prepared(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct db *db = arg;

	(void)result;
	if (err == NULL || aborted || !db->preparing)
		return;
	db->preparing = false;
	db->refused = *err;
	if (err->kind == ERR_DB_SCHEMA)
		err_wrap(&db->refused,
		    "the database's schema does not fit this program (reeve "
		    "migrate brings it up to date)");
}

static void
all_prepared(void *arg, const struct err *err)
{
	struct db *db = arg;

	if (err != NULL)
		return;
	if (!db->preparing) {
		lost(db, &db->refused);
		return;
	}
	db->preparing = false;
	db->up = true;
	db->pause_ms = DB_PAUSE_FIRST_MS;
	uv_timer_stop(db->timer);
	db->config.on_up(db->config.arg);
}

static void
prepare_all(struct db *db)
{
	struct entry *e;

	PQsetnonblocking(db->conn, 1);
	PQenterPipelineMode(db->conn);
	db->preparing = true;
	for (size_t q = 0; q < DB_QUERIES; q++) {
		if (queries[q].use != db->config.use)
			continue;
		e = entry_add(db, false);
		e->on_result = prepared;
		e->arg = db;
		if (!PQsendPrepare(
			db->conn, queries[q].name, queries[q].sql, 0, NULL))
			broken(db);
	}
	add_sync(db, all_prepared, db);
}

static void on_connecting(uv_poll_t *poll, int status, int events);

/* libpq may use another socket at every poll. */
static void
watch_connecting(struct db *db, PostgresPollingStatusType want)
{
	int fd = PQsocket(db->conn);

	if (fd != db->fd) {
		close_poll(db);
		db->poll = MEM_NEW(uv_poll_t);
		db->poll->data = db;
		db->fd = fd;
		uv_poll_init(&db->config.loop->uv, db->poll, fd);
	}
	uv_poll_start(db->poll,
	    want == PGRES_POLLING_READING ? UV_READABLE : UV_WRITABLE,
	    on_connecting);
}

static void
connect_step(struct db *db)
{
	PostgresPollingStatusType want = PQconnectPoll(db->conn);

	if (want == PGRES_POLLING_FAILED) {
		lost_now(db);
	} else if (want == PGRES_POLLING_OK) {
		watch_connecting(db, PGRES_POLLING_READING);
		db->events = 0;
		prepare_all(db);
	} else {
		watch_connecting(db, want);
	}
}

static void
on_connecting(uv_poll_t *poll, int status, int events)
{
	struct db *db = poll->data;

	(void)status;
	(void)events;
	connect_step(db);
}

static void
on_connect_timeout(uv_timer_t *timer)
{
	struct db *db = timer->data;
	struct err err = { 0 };

	err_set(&err, ERR_DB_ENV, "database: no connection within %u s",
	    DB_CONNECT_MS / 1000);
	lost(db, &err);
}

/* What every session of this program has set. */
static const char session_options[] =
    "-c lock_timeout=300ms -c statement_timeout=5s "
    "-c plan_cache_mode=force_generic_plan -c timezone=UTC "
    "-c idle_in_transaction_session_timeout=30s -c jit=off";

static void
on_notice(void *arg, const char *message)
{
	(void)arg;
	log_warn_slow("database says",
	    log_slice("text", slice_of(message, strcspn(message, "\n"))));
}

static void
connect_start(struct db *db)
{
	const char *keys[] = { "dbname", "application_name",
		"fallback_application_name", "options", "keepalives_idle",
		"keepalives_interval", "keepalives_count", "tcp_user_timeout",
		"target_session_attrs", "client_encoding", NULL };
	const char *values[] = { db->config.conninfo, db->config.application,
		"reeve", session_options, "15", "5", "3", "20000", "read-write",
		"UTF8", NULL };

	db->conn = PQconnectStartParams(keys, values, 1);
	PQsetNoticeProcessor(db->conn, on_notice, NULL);
	uv_timer_start(db->timer, on_connect_timeout, DB_CONNECT_MS, 0);
	if (db->conn == NULL || PQstatus(db->conn) == CONNECTION_BAD) {
		lost_now(db);
		return;
	}
	watch_connecting(db, PGRES_POLLING_WRITING);
}

struct db *
db_new(const struct db_config *config)
{
	struct db *db = MEM_NEW(struct db);

	db->config = *config;
	db->fd = -1;
	db->pause_ms = DB_PAUSE_FIRST_MS;
	list_init(&db->sent);
	db->timer = MEM_NEW(uv_timer_t);
	uv_timer_init(&config->loop->uv, db->timer);
	db->timer->data = db;
	uv_timer_start(db->timer, on_reconnect, 0, 0);
	return db;
}

struct db *
db_free(struct db *db)
{
	if (db == NULL)
		return NULL;
	close_poll(db);
	PQfinish(db->conn);
	while (!list_is_empty(&db->sent)) {
		struct entry *e =
		    CONTAINER_OF(db->sent.next, struct entry, link);

		list_remove(&e->link);
		mem_free(e->err);
		mem_free(e);
	}
	uv_timer_stop(db->timer);
	uv_close((uv_handle_t *)db->timer, free_handle);
	return mem_free(db);
}

void
db_reset(struct db *db)
{
	struct err err = { 0 };

	if (db->conn == NULL)
		return;
	err_set(
	    &err, ERR_DB_ENV, "database: connection closed to open it anew");
	lost(db, &err);
}

bool
db_is_up(const struct db *db)
{
	return db->up;
}

const char *
db_query_name(enum db_query query)
{
	return queries[query].name;
}
