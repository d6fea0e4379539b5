/*
 * Who may do what: every role against every relation and function, by asking
 * the server, and the ways around that a caller might try.
 */
#include "tests/unit/schema/house.h"

static PGconn *owner;

static void
open_owner(void)
{
	house_again(&owner, "reeve_owner");
}

/* ---- privileges ---- */

/* Kinds of access to relations of a schema that a role has, each once. */
#define ACCESS                                                                   \
	"select string_agg(distinct p, ',' order by p) from pg_class c, "        \
	"unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', "      \
	"'REFERENCES', 'TRIGGER']) p where c.relnamespace = '%s'::regnamespace " \
	"and c.relkind in ('r', 'v') and has_table_privilege('%s', c.oid, p)"

static const struct {
	const char *schema, *role, *access;
} accesses[] = {
	{ "reeve", "reeve_reader", "SELECT" },
	{ "reeve", "reeve_client", "" },
	{ "reeve", "reeve_service", "SELECT" },
	{ "reeve", "stranger", "" },
	{ "reeve_store", "reeve_reader", "" },
	{ "reeve_store", "reeve_client", "" },
	{ "reeve_store", "reeve_service", "DELETE,INSERT,SELECT,UPDATE" },
	{ "reeve_store", "stranger", "" },
};

START_TEST(a_role_has_no_more_access_than_it_needs)
{
	sql_gives(owner, accesses[_i].access, ACCESS, accesses[_i].schema,
	    accesses[_i].role);
}
END_TEST

START_TEST(a_reader_may_read_every_view)
{
	sql_gives(owner, "items,runs,tool_calls,transcript,turns",
	    "select string_agg(relname, ',' order by relname) from pg_class "
	    "where relnamespace = 'reeve'::regnamespace and "
	    "has_table_privilege('reeve_reader', oid, 'SELECT')");
}
END_TEST

static const struct {
	const char *role, *functions;
} calls[] = {
	{ "reeve_client", "reeve.cancel,reeve.submit,reeve.submit" },
	{ "reeve_reader", "" },
	{ "stranger", "" },
};

START_TEST(a_role_may_call_no_more_functions_than_it_needs)
{
	sql_gives(owner, calls[_i].functions,
	    "select string_agg(n.nspname || '.' || proname, ',' order by "
	    "n.nspname, proname) from pg_proc p join pg_namespace n on n.oid = "
	    "p.pronamespace where n.nspname in ('reeve', 'reeve_store') and "
	    "has_schema_privilege('%s', n.oid, 'USAGE') and "
	    "has_function_privilege('%s', p.oid, 'EXECUTE')",
	    calls[_i].role, calls[_i].role);
}
END_TEST

START_TEST(no_role_of_reeve_is_more_than_a_plain_role)
{
	sql_gives(owner,
	    "reeve_client|f|f|f|f|f|f\nreeve_owner|f|f|f|f|f|t\n"
	    "reeve_reader|f|f|f|f|f|f\nreeve_service|f|f|f|f|f|t",
	    "select rolname, rolsuper, rolcreaterole, rolcreatedb, "
	    "rolreplication, rolbypassrls, rolcanlogin from pg_roles where "
	    "rolname like 'reeve%%' order by 1");
	sql_gives(owner, "",
	    "select r.rolname, g.rolname from pg_auth_members m join pg_roles "
	    "r on r.oid = m.member join pg_roles g on g.oid = m.roleid where "
	    "r.rolname like 'reeve%%'");
}
END_TEST

START_TEST(nobody_but_the_owner_may_create_anything)
{
	sql_gives(owner, "",
	    "select r.rolname, n.nspname from pg_roles r, pg_namespace n where "
	    "n.nspname in ('reeve', 'reeve_store', 'public') and r.rolname in "
	    "('reeve_client', 'reeve_reader', 'reeve_service', 'stranger') and "
	    "has_schema_privilege(r.oid, n.oid, 'CREATE')");
	sql_gives(owner, "",
	    "select rolname from pg_roles where rolname in ('reeve_client', "
	    "'reeve_reader', 'reeve_service', 'stranger') and "
	    "(has_database_privilege(oid, 'reeve', 'CREATE') or "
	    "has_database_privilege(oid, 'reeve', 'TEMP'))");
}
END_TEST

START_TEST(the_service_cannot_touch_the_record_of_migrations)
{
	sql_gives(owner, "t|f|f|f",
	    "select has_table_privilege('reeve_service', t, 'SELECT'), "
	    "has_table_privilege('reeve_service', t, 'INSERT'), "
	    "has_table_privilege('reeve_service', t, 'UPDATE'), "
	    "has_table_privilege('reeve_service', t, 'DELETE') from "
	    "(select 'reeve_store.migrations'::regclass t) m");
}
END_TEST

/* ---- tried for real ---- */

static const struct {
	const char *user, *text;
} forbidden[] = {
	{ "shop", "select * from reeve.runs" },
	{ "shop", "select * from reeve_store.runs" },
	{ "shop", "insert into reeve_store.inbox (run, kind, key) values "
		  "(gen_random_uuid(), 'cancel', '')" },
	{ "shop", "delete from reeve_store.supervisors" },
	{ "shop", "select reeve_store.uuid_v7()" },
	{ "shop", "select reeve_store.input_items('[]')" },
	{ "shop", "select * from reeve_store.submit(gen_random_uuid(), 'a', "
		  "'\"x\"', null, null, 0, null, null)" },
	{ "analyst", "select * from reeve_store.items" },
	{ "analyst", "update reeve.turns set worker = 'x'" },
	{ "analyst", "delete from reeve.items" },
	{ "analyst", "select reeve.submit('a', 'x')" },
	{ "analyst", "select reeve.cancel(gen_random_uuid())" },
	{ "reeve_service", "create table reeve_store.mine (a int)" },
	{ "reeve_service", "alter table reeve_store.runs add a int" },
	{ "reeve_service", "truncate reeve_store.runs" },
	{ "reeve_service", "drop view reeve.runs" },
	{ "reeve_service", "delete from reeve_store.migrations" },
	{ "reeve_service", "copy reeve_store.runs to '/tmp/x'" },
};

START_TEST(what_a_role_may_not_do_is_refused)
{
	PGconn *conn = house_connect(forbidden[_i].user, "reeve");

	sql_refused(conn, "42501", "", "%s", forbidden[_i].text);
	PQfinish(conn);
}
END_TEST

static const char *const views[] = { "runs", "turns", "items", "tool_calls",
	"transcript" };

START_TEST(a_reader_reads_each_view_without_rights_on_its_tables)
{
	PGconn *conn = house_connect("analyst", "reeve");

	sql(conn, "select * from reeve.%s", views[_i]);
	PQfinish(conn);
}
END_TEST

START_TEST(a_stranger_cannot_even_connect)
{
	char text[HOUSE_CONNINFO];
	PGconn *conn = PQconnectdb(house_conninfo("stranger", "reeve", text));

	ck_assert_int_eq(PQstatus(conn), CONNECTION_BAD);
	ck_assert_ptr_nonnull(
	    strstr(PQerrorMessage(conn), "permission denied"));
	PQfinish(conn);
}
END_TEST

/* ---- ways around ---- */

static const char *const types[] = { "json", "jsonb", "bytea", "uuid", "text",
	"timestamptz" };

/* The functions run as the owner of the tables. A caller that may make
 * temporary types must not get its own code into them. */
START_TEST(a_callers_own_types_do_not_get_into_the_functions)
{
	PGconn *conn = house_connect("mallory", "reeve");

	sql(owner, "insert into reeve_store.agents (name, version, definition) "
		   "values ('a', 1, '{}') on conflict do nothing");
	sql(conn,
	    "create function pg_temp.trap(v pg_catalog.%s) returns bool "
	    "language plpgsql as $$ begin raise exception 'trapped as "
	    "%%', current_user; end $$",
	    types[_i]);
	sql(conn,
	    "create domain pg_temp.%s as pg_catalog.%s check "
	    "(pg_temp.trap(value))",
	    types[_i], types[_i]);
	sql(conn, "set search_path = pg_catalog, pg_temp");
	sql(conn, "select reeve.cancel(reeve.submit('a', 'x'::pg_catalog.text, "
		  "key => 'trap', metadata => '{}'))");
	PQfinish(conn);
}
END_TEST

START_TEST(every_function_that_runs_as_its_owner_says_where_it_looks)
{
	sql_gives(owner, "",
	    "select proname from pg_proc where pronamespace in "
	    "('reeve'::regnamespace, 'reeve_store'::regnamespace) and "
	    "coalesce(not proconfig @> array['search_path=pg_catalog, "
	    "pg_temp'], true)");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/roles");
	TCase *c = tcase_create("privileges");

	tcase_add_checked_fixture(c, open_owner, NULL);
	tcase_add_loop_test(
	    c, a_role_has_no_more_access_than_it_needs, 0, COUNT(accesses));
	tcase_add_test(c, a_reader_may_read_every_view);
	tcase_add_loop_test(c, a_role_may_call_no_more_functions_than_it_needs,
	    0, COUNT(calls));
	tcase_add_test(c, no_role_of_reeve_is_more_than_a_plain_role);
	tcase_add_test(c, nobody_but_the_owner_may_create_anything);
	tcase_add_test(c, the_service_cannot_touch_the_record_of_migrations);
	suite_add_tcase(suite, c);

	c = tcase_create("tried");
	tcase_add_loop_test(
	    c, what_a_role_may_not_do_is_refused, 0, COUNT(forbidden));
	tcase_add_loop_test(c,
	    a_reader_reads_each_view_without_rights_on_its_tables, 0,
	    COUNT(views));
	tcase_add_test(c, a_stranger_cannot_even_connect);
	suite_add_tcase(suite, c);

	c = tcase_create("ways around");
	tcase_add_checked_fixture(c, open_owner, NULL);
	tcase_add_loop_test(c,
	    a_callers_own_types_do_not_get_into_the_functions, 0, COUNT(types));
	tcase_add_test(
	    c, every_function_that_runs_as_its_owner_says_where_it_looks);
	suite_add_tcase(suite, c);
	return house_main_sql(suite,
	    "create role shop login in role reeve_client;"
	    "create role analyst login in role reeve_reader;"
	    "create role stranger login;"
	    "create role mallory login in role reeve_client;"
	    "grant temp on database reeve to mallory");
}
