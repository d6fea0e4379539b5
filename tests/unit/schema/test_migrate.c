/*
 * Migrations on databases of every kind: empty, migrated, half done, newer,
 * changed; alone and eight at once; killed in the middle.
 * needs: fork
 */
#include "tests/unit/schema/house.h"

#include <signal.h>

#include "schema/embedded.h"

#define AT_ONCE 8

static PGconn *super; /* to database postgres */
static char dbname[40];

/* Each test has an empty database of its own. */
static void
open_db(void)
{
	static unsigned count;

	super = house_connect("postgres", "postgres");
	snprintf(dbname, sizeof(dbname), "m%d_%u", (int)getpid(), ++count);
	house_newdb(super, dbname);
}

static void
close_db(void)
{
	PQfinish(super);
}

static void
count_line(void *arg, const char *line)
{
	unsigned *lines = arg;

	ck_assert_int_eq(strncmp(line, "applied ", 8), 0);
	++*lines;
}

/* As a role; returns migrate_run's result. */
static int
migrate_as(const char *role, bool check_only, unsigned *lines, struct err *err)
{
	char text[HOUSE_CONNINFO];

	*lines = 0;
	*err = (struct err){ 0 };
	return migrate_run(house_conninfo(role, dbname, text), check_only,
	    count_line, lines, err);
}

static void
migrated(unsigned want)
{
	struct err err;
	unsigned lines;
	int rc = migrate_as("reeve_owner", false, &lines, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_uint_eq(lines, want);
	rc = migrate_as("reeve_service", true, &lines, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* Both ways, and the texts say why. */
static void
refused(const char *role, bool check_only, enum err_kind kind, const char *why)
{
	struct err err;
	unsigned lines;

	ck_assert_int_eq(migrate_as(role, check_only, &lines, &err), -1);
	ck_assert_msg(
	    err.kind == kind, "%s: %s", err_kind_name(err.kind), err.text);
	ck_assert_msg(
	    strstr(err.text, why) != NULL, "no \"%s\" in: %s", why, err.text);
	ck_assert_uint_eq(lines, 0);
}

static PGconn *
open_owner(void)
{
	return house_connect("reeve_owner", dbname);
}

/* ---- versions ---- */

START_TEST(an_empty_database_gets_every_migration_once)
{
	PGconn *owner;

	migrated((unsigned)migration_count);
	owner = open_owner();
	for (size_t i = 0; i < migration_count; i++) {
		const char *values[] = { migrations[i].sql,
			migrations[i].name };
		PGresult *result = PQexecParams(owner,
		    "select encode(sha256(convert_to($1, 'UTF8')), 'hex') = "
		    "checksum from reeve_store.migrations where name = $2",
		    2, NULL, values, NULL, NULL, 0);

		ck_assert_str_eq(PQgetvalue(result, 0, 0), "t");
		PQclear(result);
	}
	sql_gives(owner, "0", "select count(*) from reeve.runs");
	PQfinish(owner);
}
END_TEST

/* What would change if anything were written to the catalogue. */
#define WRITTEN                                                                \
	"select (select string_agg(xmin::text, ' ' order by oid) from "        \
	"pg_namespace where nspname like 'reeve%%'), (select "                 \
	"string_agg(xmin::text, ' ' order by oid) from pg_class where "        \
	"relnamespace::regnamespace::text like 'reeve%%'), (select "           \
	"string_agg(xmin::text, ' ') from reeve_store.migrations)"

START_TEST(a_second_run_writes_nothing)
{
	PGconn *owner;
	char *before;

	migrated((unsigned)migration_count);
	owner = open_owner();
	before = sql_text(owner, WRITTEN);
	migrated(0);
	migrated(0);
	sql_gives(owner, before, WRITTEN);
	mem_free(before);
	PQfinish(owner);
}
END_TEST

START_TEST(a_check_of_an_empty_database_says_what_to_do)
{
	refused("reeve_owner", true, ERR_DB_SCHEMA, "run reeve migrate");
	refused("reeve_service", true, ERR_DB_SCHEMA, "run reeve migrate");
}
END_TEST

/* The record of migrations stands, the first migration does not. */
START_TEST(a_check_of_a_database_begun_says_what_to_do)
{
	PGconn *owner;

	migrated((unsigned)migration_count);
	owner = open_owner();
	sql(owner, "delete from reeve_store.migrations");
	refused("reeve_service", true, ERR_DB_SCHEMA, "run reeve migrate");
	PQfinish(owner);
}
END_TEST

START_TEST(a_changed_migration_is_refused)
{
	PGconn *owner;

	migrated((unsigned)migration_count);
	owner = open_owner();
	sql(owner, "update reeve_store.migrations set checksum = "
		   "translate(checksum, '0123456789', '1234567890')");
	PQfinish(owner);
	refused("reeve_owner", false, ERR_DB_SCHEMA, migrations[0].name);
	refused("reeve_owner", true, ERR_DB_SCHEMA, migrations[0].name);
	refused("reeve_service", true, ERR_DB_SCHEMA, "another text");
}
END_TEST

START_TEST(a_newer_database_is_refused)
{
	PGconn *owner;

	migrated((unsigned)migration_count);
	owner = open_owner();
	sql(owner, "insert into reeve_store.migrations (version, name, "
		   "checksum) values (4711, '4711_later', 'x')");
	PQfinish(owner);
	refused("reeve_owner", true, ERR_DB_SCHEMA, "4711");
	refused("reeve_service", true, ERR_DB_SCHEMA, "newer program");
	refused("reeve_owner", false, ERR_DB_SCHEMA, "newer program");
}
END_TEST

/* ---- who and where ---- */

static const char *const roles[] = { "reeve_service", "reeve_reader",
	"reeve_client" };

START_TEST(a_missing_role_is_named_with_the_remedy)
{
	sql(super, "alter role %s rename to away", roles[_i]);
	refused("reeve_owner", false, ERR_DB_SCHEMA, roles[_i]);
	refused("reeve_owner", false, ERR_DB_SCHEMA, "deploy/roles.sql");
	sql(super, "alter role away rename to %s", roles[_i]);
	migrated((unsigned)migration_count);
}
END_TEST

START_TEST(a_role_that_may_not_create_is_refused)
{
	refused("reeve_service", false, ERR_DB_SCHEMA, "permission denied");
	migrated((unsigned)migration_count);
}
END_TEST

START_TEST(no_server_is_an_error_of_one_line)
{
	struct err err = { 0 };

	ck_assert_int_eq(
	    migrate_run("host=/nowhere dbname=x", false, NULL, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_DB_ENV);
	ck_assert_ptr_nonnull(strstr(err.text, "/nowhere"));
	ck_assert_ptr_null(strchr(err.text, '\n'));
	ck_assert_int_eq(migrate_run("nonsense", true, NULL, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_DB_ENV);
}
END_TEST

START_TEST(nothing_is_left_of_a_migration_that_failed)
{
	PGconn *owner = open_owner();
	struct err err;
	unsigned lines;

	sql(owner, "create schema reeve");
	ck_assert_int_eq(migrate_as("reeve_owner", false, &lines, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, migrations[0].name));
	sql_gives(owner, "0|",
	    "select (select count(*) from reeve_store.migrations), "
	    "to_regclass('reeve_store.runs')");
	sql(owner, "drop schema reeve");
	migrated((unsigned)migration_count);
	PQfinish(owner);
}
END_TEST

/* ---- many, and killed ---- */

/* Migrates in a process of its own, whose exit code is the number of
 * migrations that it applied, or 99. */
static pid_t
migrate_apart(void)
{
	struct err err;
	unsigned lines;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid != 0)
		return pid;
	if (migrate_as("reeve_owner", false, &lines, &err) == -1) {
		fprintf(stderr, "%s\n", err.text);
		_exit(99);
	}
	_exit((int)lines);
}

START_TEST(of_eight_at_once_one_applies_and_all_succeed)
{
	pid_t pids[AT_ONCE];
	int applied = 0;

	for (int i = 0; i < AT_ONCE; i++)
		pids[i] = migrate_apart();
	for (int i = 0; i < AT_ONCE; i++) {
		int status = 0;

		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert(WIFEXITED(status));
		ck_assert_int_ne(WEXITSTATUS(status), 99);
		applied += WEXITSTATUS(status);
	}
	ck_assert_int_eq(applied, (int)migration_count);
	migrated(0);
}
END_TEST

/* Commands of the migration at which a process is killed: before its first
 * table, in between, at its last words. */
static const char *const commands[] = { "CREATE SCHEMA", "CREATE TYPE",
	"CREATE TABLE", "CREATE INDEX", "CREATE FUNCTION", "COMMENT",
	"CREATE VIEW", "GRANT", "REVOKE" };

START_TEST(a_migration_killed_in_the_middle_is_begun_again)
{
	PGconn *inside = house_connect("postgres", dbname);
	pid_t pid;

	sql(inside, "create function hold() returns event_trigger language "
		    "plpgsql as $$ begin perform pg_advisory_xact_lock(42); "
		    "end $$");
	sql(inside,
	    "create event trigger hold on ddl_command_end when tag in "
	    "('%s') execute function hold()",
	    commands[_i]);
	sql(inside, "select pg_advisory_lock(42)");
	pid = migrate_apart();
	sql_until(inside, "select count(*) = 1 from pg_locks where locktype = "
			  "'advisory' and objid = 42 and not granted");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	refused("reeve_service", true, ERR_DB_SCHEMA, "run reeve migrate");
	sql(inside, "alter event trigger hold disable");
	sql(inside, "select pg_advisory_unlock(42)");
	migrated((unsigned)migration_count);
	migrated(0);
	PQfinish(inside);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/migrate");
	TCase *c = tcase_create("versions");

	tcase_add_checked_fixture(c, open_db, close_db);
	tcase_add_test(c, an_empty_database_gets_every_migration_once);
	tcase_add_test(c, a_second_run_writes_nothing);
	tcase_add_test(c, a_check_of_an_empty_database_says_what_to_do);
	tcase_add_test(c, a_check_of_a_database_begun_says_what_to_do);
	tcase_add_test(c, a_changed_migration_is_refused);
	tcase_add_test(c, a_newer_database_is_refused);
	suite_add_tcase(suite, c);

	c = tcase_create("who and where");
	tcase_add_checked_fixture(c, open_db, close_db);
	tcase_add_loop_test(
	    c, a_missing_role_is_named_with_the_remedy, 0, COUNT(roles));
	tcase_add_test(c, a_role_that_may_not_create_is_refused);
	tcase_add_test(c, no_server_is_an_error_of_one_line);
	tcase_add_test(c, nothing_is_left_of_a_migration_that_failed);
	suite_add_tcase(suite, c);

	c = tcase_create("at once and killed");
	tcase_add_checked_fixture(c, open_db, close_db);
	tcase_add_test(c, of_eight_at_once_one_applies_and_all_succeed);
	tcase_add_loop_test(c, a_migration_killed_in_the_middle_is_begun_again,
	    0, COUNT(commands));
	suite_add_tcase(suite, c);
	return house_main(suite, NULL);
}
