/*
 * For tests with a real PostgreSQL: one cluster per test program, in it the
 * migrated database "reeve".
 */
#ifndef TESTS_UNIT_SCHEMA_HOUSE_H
#define TESTS_UNIT_SCHEMA_HOUSE_H

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "schema/migrate.h"
#include "tests/unit/schema/sql.h"

#define HOUSE_PATH     256
#define HOUSE_CONNINFO (HOUSE_PATH * 2)
#define HOUSE_SOCKETS  16

struct house {
	char dir[HOUSE_PATH];   /* the test's own folder */
	char place[HOUSE_PATH]; /* host=… port=… */
	bool own_dir, one_process;
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
	pid_t pid = -1;

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

/* The same connection for one test after the other, without the last one's
 * transaction and settings. True when it is new. */
static inline bool
house_again(PGconn **conn, const char *user)
{
	if (*conn == NULL) {
		*conn = house_connect(user, "reeve");
		return true;
	}
	if (PQtransactionStatus(*conn) != PQTRANS_IDLE)
		sql(*conn, "rollback");
	sql(*conn, "reset all");
	return false;
}

/* This process's sockets to the server, except those of two connections. */
static inline int
house_sockets(int fds[HOUSE_SOCKETS], const PGconn *a, const PGconn *b)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL && count < HOUSE_SOCKETS) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		struct sockaddr_un peer = { 0 };
		socklen_t len = sizeof(peer);

		if (fd > 2 && fd != PQsocket(a) && fd != PQsocket(b) &&
		    getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
		    peer.sun_family == AF_UNIX &&
		    strstr(peer.sun_path, ".s.PGSQL.") != NULL)
			fds[count++] = fd;
	}
	closedir(dir);
	return count;
}

/* ---- the house ---- */

/* Every table of the supervisor is empty: quicker than to truncate them. */
static inline void
house_empty(PGconn *owner)
{
	sql(owner, "delete from reeve_store.runs;"
		   "delete from reeve_store.turns;"
		   "delete from reeve_store.items;"
		   "delete from reeve_store.tool_calls;"
		   "delete from reeve_store.inbox;"
		   "delete from reeve_store.submit_keys;"
		   "delete from reeve_store.agents;"
		   "delete from reeve_store.supervisors");
}

/* live, queued and active_session follow from the state of every run. */
static inline void
house_rows_hold(PGconn *owner)
{
	sql_gives(owner, "",
	    "select id, state, live, queued, session, active_session from "
	    "reeve_store.runs where live <> (state not in ('completed', "
	    "'incomplete', 'failed', 'cancelled')) or queued <> (state = "
	    "'queued') or active_session <> session or (active_session is not "
	    "null and (session is null or not live)) or (live and not queued "
	    "and active_session is distinct from session)");
}

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

/* A statement of the superuser before all tests. */
static inline void
house_prepare(const char *text)
{
	char conninfo[HOUSE_CONNINFO];
	PGconn *super =
	    PQconnectdb(house_conninfo("postgres", "reeve", conninfo));
	PGresult *result = PQexec(super, text);

	if (!sql_is_ok(result))
		house_fail(text, PQerrorMessage(super));
	PQclear(result);
	PQfinish(super);
}

/* Runs a suite in the house; what main returns. prepare may be NULL. */
static inline int
house_main(Suite *suite, const char *prepare)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	log_setup("test",
	    getenv("REEVE_TEST_LOG") == NULL ? LOG_ERROR : LOG_DEBUG, false);
	house_open();
	if (prepare != NULL)
		house_prepare(prepare);
	if (house.one_process)
		srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_NORMAL);
	house_close();
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

/* The same for tests of SQL alone: in one process, on connections that stay,
 * which takes a third of the time. */
static inline int
house_main_sql(Suite *suite, const char *prepare)
{
	house.one_process = true;
	return house_main(suite, prepare);
}

#endif
