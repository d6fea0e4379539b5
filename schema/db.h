/*
 * One PostgreSQL connection in pipeline mode on the loop. Sends prepared
 * statements, hands results to callbacks in order, reconnects by itself with a
 * pause that doubles. Everything between two syncs is one implicit transaction.
 * The only file, with migrate.c, that calls libpq.
 */
#ifndef SCHEMA_DB_H
#define SCHEMA_DB_H

#include <libpq-fe.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/uuid.h"

enum db_use { DB_BATCH, DB_BEAT, DB_SIDE, DB_READ, DB_USES };

enum db_query {
#define QUERY(name, connection) QUERY_##name,
#include "schema/queries.def"
#undef QUERY
	DB_QUERIES
};

/* Parameters of one statement, in order, in the binary format. */
#define DB_PARAMS_MAX 96
struct db_params {
	struct buf bytes; /* owned */
	int count;
	int lengths[DB_PARAMS_MAX];
	size_t offsets[DB_PARAMS_MAX];
	bool nulls[DB_PARAMS_MAX];
	size_t array_at; /* offset of the open array's element count */
	uint32_t array_count;
};

#define DB_PARAMS_BYTES (256u * 1024 * 1024)
#define DB_PARAMS_INIT                                                         \
	((struct db_params){ .bytes = { .max = DB_PARAMS_BYTES } })

enum db_oid {
	DB_BOOL = 16,
	DB_BYTEA = 17,
	DB_INT8 = 20,
	DB_INT2 = 21,
	DB_INT4 = 23,
	DB_TEXT = 25,
	DB_JSON = 114,
	DB_UUID = 2950,
};

void db_null(struct db_params *p);
void db_int2(struct db_params *p, int64_t value);
void db_int4(struct db_params *p, int64_t value);
void db_int8(struct db_params *p, int64_t value);
void db_bool(struct db_params *p, bool value);
void db_uuid(struct db_params *p, const struct uuid *uuid);
void db_bytes(struct db_params *p, struct slice bytes); /* text, json, bytea */
void db_text(struct db_params *p, struct slice text);   /* empty = null */
/* db_array(p, OID), then each element with the calls above, then db_array_end.
 */
void db_array(struct db_params *p, enum db_oid oid);
void db_array_end(struct db_params *p);
/* Values as libpq takes them: borrowed from p, NULL for null. */
void db_params_point(
    const struct db_params *p, const char *values[DB_PARAMS_MAX]);
void db_params_clear(struct db_params *p);
void db_params_release(struct db_params *p);

struct db; /* defined in db.c */

/* result is NULL exactly when err is set (kind from SQLSTATE, ERR_DB_ENV when
 * the connection was lost). "aborted" tells a statement that did not run
 * because an earlier one of its transaction failed. */
typedef void db_result(
    void *arg, const PGresult *result, bool aborted, const struct err *err);
/* err NULL: the transaction is committed if none of its statements failed. err
 * with a SQLSTATE: the commit itself failed. Without one: the connection was
 * lost and nobody knows. */
typedef void db_synced(void *arg, const struct err *err);

struct db_config {
	struct loop *loop;       /* borrowed */
	const char *conninfo;    /* borrowed */
	const char *application; /* application_name; borrowed */
	enum db_use use;
	void (*on_up)(void *arg);
	/* The connection was lost or could not be made; all callbacks that
	 * waited have been called. */
	void (*on_down)(void *arg, const struct err *err);
	void *arg;
};

struct db *db_new(const struct db_config *config);
struct db *db_free(struct db *db); /* calls no callback */

bool db_is_up(const struct db *db);
/* Sends one statement; params may be cleared afterwards. Not up: the callback
 * is called at once with ERR_DB_ENV. Parameters past DB_PARAMS_BYTES are the
 * caller's mistake (BUG). */
void db_send(struct db *db, enum db_query query, const struct db_params *params,
    db_result *on_result, void *arg);
/* Ends the transaction. */
void db_sync(struct db *db, db_synced *on_synced, void *arg);
/* Closes the connection and opens a new one. */
void db_reset(struct db *db);

/* ---- reading results (binary format) ---- */
bool db_is_null(const PGresult *r, int row, int column);
int64_t db_get_int(const PGresult *r, int row, int column); /* int2 int4 int8 */
bool db_get_bool(const PGresult *r, int row, int column);
struct slice db_get(
    const PGresult *r, int row, int column); /* text, json, bytea */
struct uuid db_get_uuid(const PGresult *r, int row, int column);

/* The kind of error that a SQLSTATE stands for; NULL or "" is ERR_DB_ENV. */
enum err_kind db_error_kind(const char *sqlstate);
const char *db_query_name(enum db_query query);

#endif
