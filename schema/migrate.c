/*
 * Numbered, forward, checksummed migrations. Owns one connection while it
 * works; never called by a worker or by a running supervisor.
 */
#include "schema/migrate.h"

#include <sodium.h>
#include <time.h>

#include "schema/db.h"
#include "schema/embedded.h"

#define LOCK_KEY      "7307484561318965861" /* any number that is only ours */
#define LOCK_TRIES    300
#define LOCK_WAIT_MS  200
#define CHECKSUM_HEX  (crypto_hash_sha256_BYTES * 2 + 1)
#define CHECK_TIMEOUT "300ms" /* as the supervisor asks for */

struct migrate {
	PGconn *conn; /* owned */
	void (*say)(void *arg, const char *line);
	void *arg;
};

static int
failed(struct migrate *m, PGresult *result, const char *what, struct err *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	err_set(err,
	    PQstatus(m->conn) == CONNECTION_BAD ? ERR_DB_ENV
						: db_error_kind(state),
	    "%s: %s", what, text == NULL ? PQerrorMessage(m->conn) : text);
	PQclear(result);
	return -1;
}

static int
run(struct migrate *m, const char *sql, const char *what, struct err *err)
{
	PGresult *result = PQexec(m->conn, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return failed(m, result, what, err);
	PQclear(result);
	return 0;
}

/* One value of one row as text into ret (empty when there is no row). */
static int
ask(struct migrate *m, const char *sql, char *ret, size_t size, struct err *err)
{
	PGresult *result = PQexec(m->conn, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		return failed(m, result, "asking the database", err);
	snprintf(ret, size, "%s",
	    PQntuples(result) == 0 ? "" : PQgetvalue(result, 0, 0));
	PQclear(result);
	return 0;
}

static void
checksum(const char *sql, char hex[CHECKSUM_HEX])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)sql, strlen(sql));
	sodium_bin2hex(hex, CHECKSUM_HEX, hash, sizeof(hash));
}

static int
lock(struct migrate *m, struct err *err)
{
	const struct timespec pause = { 0, LOCK_WAIT_MS * 1000000L };
	char got[8] = "";

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (ask(m, "select pg_try_advisory_lock(" LOCK_KEY ")", got,
			sizeof(got), err) == -1)
			return -1;
		if (got[0] == 't')
			return 0;
		nanosleep(&pause, NULL);
	}
	return err_set(err, ERR_BUSY,
	    "another process has been migrating this database for %d s",
	    LOCK_TRIES * LOCK_WAIT_MS / 1000);
}

static int
prepare_database(struct migrate *m, struct err *err)
{
	char missing[256], table[64];

	if (ask(m,
		"select string_agg(r, ', ') from unnest(array['reeve_service', "
		"'reeve_reader', 'reeve_client']) r where r not in "
		"(select rolname from pg_roles)",
		missing, sizeof(missing), err) == -1)
		return -1;
	if (missing[0] != '\0')
		return err_set(err, ERR_DB_SCHEMA,
		    "missing database roles: %s; run deploy/roles.sql as a "
		    "superuser first",
		    missing);
	if (ask(m, "select to_regclass('reeve_store.migrations')", table,
		sizeof(table), err) == -1)
		return -1;
	if (table[0] != '\0')
		return 0;
	/* One transaction: with the table comes the right to look at it. */
	return run(m,
	    "set client_min_messages = warning;"
	    "create schema if not exists reeve_store;"
	    "create table reeve_store.migrations ("
	    "version integer primary key, name text not null,"
	    "checksum text not null,"
	    "applied_at timestamptz not null default now());"
	    "grant usage on schema reeve_store to reeve_service;"
	    "grant select on reeve_store.migrations to reeve_service",
	    "preparing the table of migrations", err);
}

/* 1: applied as it is now; 0: not yet; -1: error. */
static int
is_applied(struct migrate *m, const struct migration *mig, struct err *err)
{
	char sql[160], found[CHECKSUM_HEX], want[CHECKSUM_HEX];

	snprintf(sql, sizeof(sql),
	    "select checksum from reeve_store.migrations where version = %d",
	    mig->version);
	if (ask(m, sql, found, sizeof(found), err) == -1)
		return -1;
	if (found[0] == '\0')
		return 0;
	checksum(mig->sql, want);
	if (strcmp(found, want) != 0)
		return err_set(err, ERR_DB_SCHEMA,
		    "migration %s was applied from another text than this "
		    "program carries; use the program that fits the database",
		    mig->name);
	return 1;
}

/* A migration that begins with this line is one statement that cannot run in
 * a transaction (create index concurrently); it must bear being repeated. */
#define NO_TRANSACTION "-- no transaction\n"

static int
apply(struct migrate *m, const struct migration *mig, struct err *err)
{
	bool plain =
	    strncmp(mig->sql, NO_TRANSACTION, strlen(NO_TRANSACTION)) == 0;
	char hex[CHECKSUM_HEX], sql[512];

	checksum(mig->sql, hex);
	snprintf(sql, sizeof(sql),
	    "insert into reeve_store.migrations (version, name, checksum) "
	    "values (%d, '%s', '%s')",
	    mig->version, mig->name, hex);
	if (!plain && run(m, "begin; set local lock_timeout = '5s'", mig->name,
			  err) == -1)
		return -1;
	if (run(m, mig->sql, mig->name, err) == -1 ||
	    run(m, sql, mig->name, err) == -1 ||
	    (!plain && run(m, "commit", mig->name, err) == -1))
		return -1;
	if (m->say != NULL) {
		snprintf(sql, sizeof(sql), "applied %s", mig->name);
		m->say(m->arg, sql);
	}
	return 0;
}

/* The newest version in the database, 0 without any. */
static int
newest_applied(struct migrate *m, int *ret_version, struct err *err)
{
	char value[64];

	if (ask(m, "select to_regclass('reeve_store.migrations')", value,
		sizeof(value), err) == -1)
		return -1;
	if (value[0] != '\0' &&
	    ask(m, "select max(version) from reeve_store.migrations", value,
		sizeof(value), err) == -1)
		return -1;
	*ret_version = (int)strtol(value, NULL, 10);
	return 0;
}

/* A newer database would be used by an older program. */
static int
refuse_newer(int found, struct err *err)
{
	int newest = migrations[migration_count - 1].version;

	if (found <= newest)
		return 0;
	return err_set(err, ERR_DB_SCHEMA,
	    "the database's schema is version %d, this program knows only up "
	    "to %d: use the newer program",
	    found, newest);
}

static int
apply_all(struct migrate *m, struct err *err)
{
	int found = 0;

	if (lock(m, err) == -1 || prepare_database(m, err) == -1 ||
	    newest_applied(m, &found, err) == -1 ||
	    refuse_newer(found, err) == -1)
		return -1;
	for (size_t i = 0; i < migration_count; i++) {
		int done = is_applied(m, &migrations[i], err);

		if (done == -1 ||
		    (done == 0 && apply(m, &migrations[i], err) == -1))
			return -1;
	}
	return 0;
}

/* What a session asks for at its start must hold for all of it. */
static int
check_session(struct migrate *m, struct err *err)
{
	char value[64];

	if (ask(m, "show lock_timeout", value, sizeof(value), err) == -1)
		return -1;
	if (strcmp(value, CHECK_TIMEOUT) == 0)
		return 0;
	return err_set(err, ERR_DB_SCHEMA,
	    "the database does not keep the settings of a session (a pooler in "
	    "transaction mode?): connect to PostgreSQL itself");
}

static int
check_all(struct migrate *m, struct err *err)
{
	int newest = migrations[migration_count - 1].version, found = 0;

	if (check_session(m, err) == -1 ||
	    newest_applied(m, &found, err) == -1 ||
	    refuse_newer(found, err) == -1)
		return -1;
	for (size_t i = 0; i < migration_count; i++) {
		int done = found < migrations[i].version
			       ? 0
			       : is_applied(m, &migrations[i], err);

		if (done == -1)
			return -1;
		if (done == 0)
			return err_set(err, ERR_DB_SCHEMA,
			    "the database's schema is version %d, this program "
			    "needs %d (%s is missing): run reeve migrate",
			    found, newest, migrations[i].name);
	}
	return 0;
}

int
migrate_run(const char *conninfo, bool check_only,
    void (*say)(void *arg, const char *line), void *arg, struct err *err)
{
	struct migrate m = { .say = say, .arg = arg };
	const char *keys[] = { "dbname", "connect_timeout",
		"fallback_application_name", "options", NULL };
	const char *values[] = { conninfo, "5", "reeve migrate",
		check_only ? "-c lock_timeout=" CHECK_TIMEOUT : NULL, NULL };
	int rc = -1;

	m.conn = PQconnectdbParams(keys, values, 1);
	if (PQstatus(m.conn) != CONNECTION_OK) {
		const char *text = PQerrorMessage(m.conn);

		err_set(err, ERR_DB_ENV, "database: %.*s",
		    (int)strcspn(text, "\n"), text);
	} else {
		rc = check_only ? check_all(&m, err) : apply_all(&m, err);
	}
	PQfinish(m.conn);
	return rc;
}
