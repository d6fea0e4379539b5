/*
 * Every statement that the binary carries, against a fresh schema.
 */
#include "tests/unit/schema/house.h"

#include <dirent.h>

#include "schema/db.h"
#include "schema/embedded.h"

static const struct {
	const char *name, *sql;
} queries[DB_QUERIES] = {
#define QUERY(name, connection) { #name, query_##name },
#include "schema/queries.def"
#undef QUERY
};

/* What db_values.c can write and read; arrays of these too. */
static bool
is_known_kind(Oid oid)
{
	static const Oid kinds[] = { DB_BOOL, DB_BYTEA, DB_INT8, DB_INT2,
		DB_INT4, DB_TEXT, DB_JSON, DB_UUID, 1000, 1001, 1016, 1005,
		1007, 1009, 199, 2951 };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (oid == kinds[i])
			return true;
	}
	return false;
}

/* Prepares statement i as the service and returns its description. */
static PGresult *
describe(PGconn *conn, int i)
{
	PGresult *result = PQprepare(conn, "", queries[i].sql, 0, NULL);

	ck_assert_msg(PQresultStatus(result) == PGRES_COMMAND_OK, "%s: %s",
	    queries[i].name, PQerrorMessage(conn));
	PQclear(result);
	result = PQdescribePrepared(conn, "");
	ck_assert_int_eq(PQresultStatus(result), PGRES_COMMAND_OK);
	return result;
}

START_TEST(every_statement_prepares_on_a_fresh_schema)
{
	PGconn *conn = house_connect("reeve_service", "reeve");

	for (int i = 0; i < DB_QUERIES; i++)
		PQclear(describe(conn, i));
	PQfinish(conn);
}
END_TEST

static void
check_kinds(int i, const PGresult *result)
{
	ck_assert_int_le(PQnparams(result), DB_PARAMS_MAX);
	for (int n = 0; n < PQnparams(result); n++)
		ck_assert_msg(is_known_kind(PQparamtype(result, n)),
		    "%s: $%d has type %u", queries[i].name, n + 1,
		    PQparamtype(result, n));
	for (int n = 0; n < PQnfields(result); n++)
		ck_assert_msg(is_known_kind(PQftype(result, n)),
		    "%s: column %s has type %u", queries[i].name,
		    PQfname(result, n), PQftype(result, n));
}

START_TEST(parameters_and_columns_are_of_kinds_that_db_values_speaks)
{
	PGconn *conn = house_connect("reeve_service", "reeve");

	for (int i = 0; i < DB_QUERIES; i++) {
		PGresult *result = describe(conn, i);

		check_kinds(i, result);
		PQclear(result);
	}
	PQfinish(conn);
}
END_TEST

/* Preparing asks for no permission, running does. Nulls are refused as data or
 * change nothing. */
static void
run_with_nulls(PGconn *conn, int i)
{
	const char *nulls[DB_PARAMS_MAX] = { 0 }, *state;
	PGresult *result;
	int n;

	sql(conn, "begin");
	result = describe(conn, i);
	n = PQnparams(result);
	PQclear(result);
	result = PQexecPrepared(conn, "", n, nulls, NULL, NULL, 0);
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	ck_assert_msg(state == NULL || db_error_kind(state) == ERR_DB_DATA,
	    "%s: %s", queries[i].name, PQerrorMessage(conn));
	PQclear(result);
	sql(conn, "rollback");
}

START_TEST(the_service_may_run_every_statement)
{
	PGconn *conn = house_connect("reeve_service", "reeve");

	for (int i = 0; i < DB_QUERIES; i++)
		run_with_nulls(conn, i);
	PQfinish(conn);
}
END_TEST

/* The plan that all runs share, as text; to be freed with mem_free. */
static char *
generic_plan(PGconn *conn, int i)
{
	struct buf nulls = BUF_INIT(1024);
	PGresult *result = describe(conn, i);
	char *plan;

	sql(conn, "prepare q as %s", queries[i].sql);
	for (int n = 0; n < PQnparams(result); n++)
		buf_puts(&nulls, n == 0 ? "null" : ", null");
	buf_putc(&nulls, '\0');
	plan = sql_text(conn, "explain (costs off) execute q (%s)", nulls.ptr);
	sql(conn, "deallocate q");
	PQclear(result);
	buf_release(&nulls);
	return plan;
}

/* Each table is entered through an index that begins with the run. */
static bool
reads_one_run(const char *plan)
{
	const char *cond = plan;

	if (strstr(plan, "Seq Scan on") != NULL)
		return false;
	while ((cond = strstr(cond, "Index Cond: ")) != NULL) {
		cond += strlen("Index Cond: ");
		cond += strspn(cond, "(");
		if (strncmp(cond, "id = $1", 7) != 0 &&
		    strncmp(cond, "run = $1", 8) != 0)
			return false;
	}
	return true;
}

START_TEST(a_step_looks_at_no_other_run)
{
	static const enum db_query steps[] = { QUERY_step, QUERY_step_final,
		QUERY_step_calls, QUERY_step_calls_many, QUERY_step_outputs,
		QUERY_step_fail };
	PGconn *conn = house_connect("reeve_service", "reeve");

	sql(conn, "set plan_cache_mode = force_generic_plan");
	for (size_t i = 0; i < COUNT(steps); i++) {
		char *plan = generic_plan(conn, (int)steps[i]);

		ck_assert_msg(reads_one_run(plan), "%s:\n%s",
		    queries[steps[i]].name, plan);
		mem_free(plan);
	}
	PQfinish(conn);
}
END_TEST

/* Asked some times a second: from the inbox, and by steps from owner to owner,
 * whatever the planner knows of the tables. */
START_TEST(looks_for_work_do_not_read_all_live_runs)
{
	PGconn *conn = house_connect("reeve_service", "reeve");
	char *adopt, *inbox;

	sql(conn, "set plan_cache_mode = force_generic_plan");
	adopt = generic_plan(conn, QUERY_adopt_pick);
	inbox = generic_plan(conn, QUERY_inbox_mine);
	ck_assert_msg(strstr(adopt, "(owner = g.owner)") != NULL &&
			  strstr(adopt, "(id = b.run)") != NULL,
	    "%s", adopt);
	ck_assert_msg(strstr(inbox, "(id = b.run)") != NULL, "%s", inbox);
	mem_free(adopt);
	mem_free(inbox);
	PQfinish(conn);
}
END_TEST

START_TEST(every_file_of_queries_has_a_row)
{
	char path[HOUSE_PATH];
	DIR *dir = opendir(house_path("schema/queries", path));
	struct dirent *entry;
	size_t files = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		size_t i = 0, len = strcspn(entry->d_name, ".");

		if (strcmp(entry->d_name + len, ".sql") != 0)
			continue;
		while (i < DB_QUERIES &&
		       (strlen(queries[i].name) != len ||
			   strncmp(queries[i].name, entry->d_name, len) != 0))
			i++;
		ck_assert_msg(i < DB_QUERIES, "%s", entry->d_name);
		files++;
	}
	ck_assert_uint_eq(files, DB_QUERIES);
	closedir(dir);
}
END_TEST

START_TEST(a_statement_is_known_by_its_file)
{
	ck_assert_str_eq(db_query_name(QUERY_step), "step");
	ck_assert_str_eq(db_query_name(QUERY_replay_calls), "replay_calls");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/queries");
	TCase *c = tcase_create("statements");

	tcase_add_test(c, every_statement_prepares_on_a_fresh_schema);
	tcase_add_test(
	    c, parameters_and_columns_are_of_kinds_that_db_values_speaks);
	tcase_add_test(c, the_service_may_run_every_statement);
	tcase_add_test(c, a_step_looks_at_no_other_run);
	tcase_add_test(c, looks_for_work_do_not_read_all_live_runs);
	tcase_add_test(c, every_file_of_queries_has_a_row);
	tcase_add_test(c, a_statement_is_known_by_its_file);
	suite_add_tcase(suite, c);
	return house_main(suite, NULL);
}
