/*
 * SQL in tests: statements on a plain connection, and what they give.
 */
#ifndef TESTS_UNIT_SCHEMA_SQL_H
#define TESTS_UNIT_SCHEMA_SQL_H

#include <check.h>
#include <libpq-fe.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/buf.h"

#define SQL_TEXT_MAX (64u * 1024 * 1024)

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
	struct buf out = BUF_INIT(SQL_TEXT_MAX);
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

#endif
