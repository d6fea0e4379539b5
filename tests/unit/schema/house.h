/*
 * For tests with a real PostgreSQL: one cluster per test program, in it the
 * migrated database "reeve", and SQL over plain connections.
 */
#ifndef TESTS_UNIT_SCHEMA_HOUSE_H
#define TESTS_UNIT_SCHEMA_HOUSE_H

#include <check.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "schema/migrate.h"

#define HOUSE_PATH     256
#define HOUSE_SQL      (64u * 1024 * 1024)
#define HOUSE_CONNINFO (HOUSE_PATH * 2)

struct house {
	char dir[HOUSE_PATH];   /* the test's own folder */
	char place[HOUSE_PATH]; /* host=… port=… */
	bool own_dir;
};

static struct house house;

static inline void
house_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* A path of the checkout. */
static inline const char *
house_path(const char *name, char path[HOUSE_PATH])
{
	static const char here[] = "/tests/unit/schema/house.h";
	const char *root = getenv("REEVE_ROOT");
	size_t len = strlen(__FILE__) - (sizeof(here) - 1);

	if (root != NULL)
		snprintf(path, HOUSE_PATH, "%s/%s", root, name);
	else
		snprintf(path, HOUSE_PATH, "%.*s/%s", (int)len, __FILE__, name);
	return path;
}

/* Runs tests/support/cluster; the first line that it prints goes to out. */
static inline void
house_cluster(char *out, size_t size, const char *command, const char *arg)
{
	char path[HOUSE_PATH];
	int ends[2], status = -1;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	house_path("tests/support/cluster", path);
	if (pipe(ends) == -1 || (pid = fork()) == -1)
		house_fail(path, strerror(errno));
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(path, path, command, house.dir, arg, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (len < size - 1 &&
	       (n = read(ends[0], out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	out[len] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (waitpid(pid, &status, 0) != pid || status != 0)
		house_fail(path, command);
}

/* ---- connections ---- */

static inline const char *
house_conninfo(const char *user, const char *dbname, char text[HOUSE_CONNINFO])
{
	snprintf(text, HOUSE_CONNINFO, "%s user=%s dbname=%s", house.place,
	    user, dbname);
	return text;
}

static inline PGconn *
house_connect(const char *user, const char *dbname)
{
	char text[HOUSE_CONNINFO];
	PGconn *conn = PQconnectdb(house_conninfo(user, dbname, text));

	ck_assert_msg(
	    PQstatus(conn) == CONNECTION_OK, "%s", PQerrorMessage(conn));
	return conn;
}

/* ---- SQL ---- */

static inline PGresult *sql_vtry(PGconn *conn, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static inline PGresult *
sql_vtry(PGconn *conn, const char *fmt, va_list ap)
{
	char *text = NULL;
	PGresult *result;

	ck_assert_int_ne(vasprintf(&text, fmt, ap), -1);
	result = PQexec(conn, text);
	free(text);
	return result;
}

static inline bool
sql_is_ok(const PGresult *result)
{
	return PQresultStatus(result) == PGRES_COMMAND_OK ||
	       PQresultStatus(result) == PGRES_TUPLES_OK;
}

PRINTF(2, 3)
static inline void
sql(PGconn *conn, const char *fmt, ...)
{
	PGresult *result;
	va_list ap;

	va_start(ap, fmt);
	result = sql_vtry(conn, fmt, ap);
	va_end(ap);
	ck_assert_msg(sql_is_ok(result), "%s\n%s", fmt, PQerrorMessage(conn));
	PQclear(result);
}

/* Rows as text: columns joined by '|', rows by '\n', null as "". The caller
 * frees with mem_free. */
static inline char *sql_rows(PGconn *conn, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static inline char *
sql_rows(PGconn *conn, const char *fmt, va_list ap)
{
	struct buf out = BUF_INIT(HOUSE_SQL);
	PGresult *result = sql_vtry(conn, fmt, ap);
	size_t len;

	ck_assert_msg(sql_is_ok(result), "%s\n%s", fmt, PQerrorMessage(conn));
	for (int row = 0; row < PQntuples(result); row++) {
		for (int column = 0; column < PQnfields(result); column++)
			buf_printf(&out, "%s%s",
			    column > 0 ? "|"
			    : row > 0  ? "\n"
				       : "",
			    PQgetvalue(result, row, column));
	}
	PQclear(result);
	return buf_detach(&out, &len);
}

/* The same for callers that want the text. */
PRINTF(2, 3)
static inline char *
sql_text(PGconn *conn, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = sql_rows(conn, fmt, ap);
	va_end(ap);
	return text;
}

PRINTF(3, 4)
static inline void
sql_gives(PGconn *conn, const char *want, const char *fmt, ...)
{
	va_list ap;
	char *got;

	va_start(ap, fmt);
	got = sql_rows(conn, fmt, ap);
	va_end(ap);
	ck_assert_msg(
	    strcmp(got, want) == 0, "%s\nwant: %s\ngot:  %s", fmt, want, got);
	mem_free(got);
}

/* The statement fails with this SQLSTATE, and message or hint hold `text`. */
PRINTF(4, 5)
static inline void
sql_refused(
    PGconn *conn, const char *sqlstate, const char *text, const char *fmt, ...)
{
	PGresult *result;
	const char *state, *message, *hint;
	va_list ap;

	va_start(ap, fmt);
	result = sql_vtry(conn, fmt, ap);
	va_end(ap);
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	ck_assert_msg(state != NULL, "not refused: %s", fmt);
	ck_assert_msg(strcmp(state, sqlstate) == 0, "%s\nwant %s, got %s: %s",
	    fmt, sqlstate, state, message);
	ck_assert_msg(strstr(message, text) != NULL ||
			  (hint != NULL && strstr(hint, text) != NULL),
	    "%s\nno \"%s\" in: %s (%s)", fmt, text, message,
	    hint == NULL ? "" : hint);
	PQclear(result);
}

/* Sends without waiting, for statements that are to block. */
static inline void
sql_send(PGconn *conn, const char *text)
{
	ck_assert_int_eq(PQsendQuery(conn, text), 1);
}

/* Waits for what was sent; returns its first result, to be cleared. */
static inline PGresult *
sql_wait(PGconn *conn)
{
	PGresult *first = PQgetResult(conn), *more;

	while ((more = PQgetResult(conn)) != NULL)
		PQclear(more);
	return first;
}

/* Waits until the query gives true; the server is asked, nothing sleeps for
 * longer than it must. */
static inline void
sql_until(PGconn *conn, const char *query)
{
	for (int i = 0; i < 2000; i++) {
		char *got = sql_text(conn, "%s", query);
		bool yes = strcmp(got, "t") == 0;

		mem_free(got);
		if (yes)
			return;
		sql(conn, "select pg_sleep(0.005)");
	}
	ck_abort_msg("never true: %s", query);
}

/* ---- the house ---- */

/* An empty database that reeve_owner owns. */
static inline void
house_newdb(PGconn *super, const char *name)
{
	sql(super, "create database %s owner reeve_owner", name);
}

static inline void
house_migrate(const char *dbname)
{
	char text[HOUSE_CONNINFO];
	struct err err = { 0 };

	if (migrate_run(house_conninfo("reeve_owner", dbname, text), false,
		NULL, NULL, &err) == -1)
		house_fail("migrate", err.text);
}

static inline void
house_open(void)
{
	const char *dir = getenv("REEVE_TEST_DIR");
	char out[HOUSE_CONNINFO];

	snprintf(house.dir, sizeof(house.dir), "%s",
	    dir == NULL ? "/tmp/reeve-schema.XXXXXX" : dir);
	house.own_dir = dir == NULL;
	if (house.own_dir && mkdtemp(house.dir) == NULL)
		house_fail(house.dir, strerror(errno));
	house_cluster(out, sizeof(out), "start", NULL);
	snprintf(house.place, sizeof(house.place), "%.*s",
	    (int)(strstr(out, " user=") - out), out);
	house_cluster(out, sizeof(out), "newdb", "reeve");
	house_migrate("reeve");
}

static inline void
house_close(void)
{
	char out[HOUSE_CONNINFO];

	house_cluster(out, sizeof(out), "stop", NULL);
	if (house.own_dir)
		rmdir(house.dir);
}

/* Runs a suite in the house; what main returns. */
static inline int
house_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	log_setup("test", LOG_ERROR, false);
	house_open();
	srunner_run_all(runner, CK_NORMAL);
	house_close();
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

#endif
