/*
 * reeve.submit and reeve.cancel as applications call them, by a role that may
 * do nothing else.
 */
#include "tests/unit/schema/house.h"

static PGconn *owner, *app; /* of one test */

#define MANY 50

static void
open_conns(void)
{
	house_again(&owner, "reeve_owner");
	house_again(&app, "shop");
	house_empty(owner);
	sql(owner, "insert into reeve_store.agents (name, version, definition)"
		   " values ('a', 1, '{}'), ('a', 2, '{}'), ('b', 1, '{}')");
}

static void
close_conns(void)
{
	house_rows_hold(owner);
}

static void
counts_are(const char *want)
{
	sql_gives(owner, want,
	    "select (select count(*) from reeve_store.runs), (select count(*) "
	    "from reeve_store.items), (select count(*) from "
	    "reeve_store.submit_keys)");
}

/* ---- what a submit leaves ---- */

START_TEST(a_text_becomes_a_queued_run_with_one_message)
{
	char *id = sql_text(app, "select reeve.submit('a', 'hi \"you\"')");

	sql_gives(owner, "2|queued|t|t|0|0|0|0|||||t|",
	    "select agent_version, state, live, queued, priority, claim, step, "
	    "strikes, owner, session, active_session, metadata, id = root, "
	    "wake_at from reeve_store.runs where id = '%s' and agent = 'a'",
	    id);
	sql_gives(owner,
	    "0|0|0|0|message|0|{\"type\" : \"message\", \"role\" : \"user\", "
	    "\"content\" : \"hi \\\"you\\\"\"}",
	    "select turn, category, idx, step, type, marks, item from "
	    "reeve_store.items where run = '%s'",
	    id);
	counts_are("1|1|0");
	mem_free(id);
}
END_TEST

START_TEST(a_json_string_is_a_text_and_an_array_is_kept_byte_for_byte)
{
	sql(app, "select reeve.submit('a', '\"x\"'::json)");
	sql_gives(
	    owner, "x", "select item ->> 'content' from reeve_store.items");
	sql(app,
	    "select reeve.submit('b', '[ {\"b\" : 1.10, \"a\":"
	    "9007199254740993, \"b\":2},{\"type\":\"reasoning\"} ]'::json)");
	sql_gives(owner,
	    "0|message|{\"b\" : 1.10, \"a\":9007199254740993, \"b\":2}\n"
	    "1|reasoning|{\"type\":\"reasoning\"}",
	    "select i.idx, i.type, i.item from reeve_store.items i join "
	    "reeve_store.runs r on r.id = i.run where r.agent = 'b' order by "
	    "idx");
}
END_TEST

START_TEST(everything_given_is_kept)
{
	sql(app, "select reeve.submit('b', 'x', session => 's', key => 'k', "
		 "priority => -100, run_at => '2031-02-03 04:05:06.789+09', "
		 "metadata => '{\"z\" : 1, \"a\": 2}')");
	sql_gives(owner,
	    "s||-100|2031-02-02 19:05:06.789+00|{\"z\" : 1, "
	    "\"a\": 2}|t",
	    "select session, active_session, priority, queue_at, metadata, "
	    "exists (select from reeve_store.submit_keys k where k.run = r.id "
	    "and k.key = 'k') from reeve_store.runs r");
}
END_TEST

/* ---- in the caller's transaction ---- */

START_TEST(nothing_is_left_of_a_transaction_rolled_back)
{
	sql(app, "begin");
	sql(app, "select reeve.submit('a', 'x', key => 'k')");
	sql(app, "rollback");
	counts_are("0|0|0");
	sql(app, "begin");
	sql(app, "savepoint s");
	sql(app, "select reeve.submit('a', 'x', key => 'k')");
	sql(app, "rollback to s");
	sql(app, "select reeve.submit('a', 'y', key => 'k')");
	sql(app, "commit");
	counts_are("1|1|1");
	sql_gives(
	    owner, "y", "select item ->> 'content' from reeve_store.items");
}
END_TEST

START_TEST(a_run_is_seen_when_its_transaction_commits)
{
	sql(app, "begin");
	sql(app, "select reeve.submit('a', 'x')");
	counts_are("0|0|0");
	sql(app, "commit");
	counts_are("1|1|0");
}
END_TEST

/* ---- keys ---- */

START_TEST(the_same_key_gives_the_same_run)
{
	sql_gives(app, "t",
	    "select reeve.submit('a', 'x', key => 'k') = "
	    "reeve.submit('a', 'x', key => 'k', priority => 5)");
	counts_are("1|1|1");
}
END_TEST

static const char *const others[] = {
	"'a', 'y', key => 'k', session => 's', metadata => '{\"m\":1}'",
	"'b', 'x', key => 'k', session => 's', metadata => '{\"m\":1}'",
	"'a', 'x', key => 'k', session => 't', metadata => '{\"m\":1}'",
	"'a', 'x', key => 'k', metadata => '{\"m\":1}'",
	"'a', 'x', key => 'k', session => 's', metadata => '{\"m\":2}'",
	"'a', 'x', key => 'k', session => 's'",
};

START_TEST(the_same_key_with_something_else_is_refused)
{
	sql(app, "select reeve.submit('a', 'x', key => 'k', session => 's', "
		 "metadata => '{\"m\":1}')");
	sql_refused(app, "23505", "use another key", "select reeve.submit(%s)",
	    others[_i]);
	counts_are("1|1|1");
}
END_TEST

START_TEST(the_same_without_a_key_is_another_run)
{
	sql_gives(app, "t",
	    "select reeve.submit('a', 'x') <> reeve.submit('a', 'x')");
	counts_are("2|2|0");
}
END_TEST

/* Many connections that submit the same at once; the ids that they get go to
 * the table of answers. */
static void
submit_at_once(int count, const char *arguments)
{
	PGconn *conns[MANY];
	char text[200];

	snprintf(text, sizeof(text), "select reeve.submit(%s)", arguments);
	for (int i = 0; i < count; i++)
		conns[i] = house_connect("shop", "reeve");
	for (int i = 0; i < count; i++)
		sql_send(conns[i], text);
	for (int i = 0; i < count; i++) {
		PGresult *result = sql_wait(conns[i]);

		ck_assert_msg(
		    sql_is_ok(result), "%s", PQerrorMessage(conns[i]));
		sql(owner, "insert into answers values ('%s')",
		    PQgetvalue(result, 0, 0));
		PQclear(result);
		PQfinish(conns[i]);
	}
}

START_TEST(twenty_at_once_with_one_key_make_one_run)
{
	sql(owner, "create temp table if not exists answers (id uuid);"
		   "delete from answers");
	submit_at_once(20, "'a', 'x', key => 'k'");
	sql_gives(
	    owner, "20|1", "select count(*), count(distinct id) from answers");
	counts_are("1|1|1");
	sql_gives(owner, "t",
	    "select id = (select id from reeve_store.runs) from answers "
	    "limit 1");
}
END_TEST

START_TEST(whoever_waits_for_a_key_gets_it_when_the_first_gives_up)
{
	PGconn *other = house_connect("shop", "reeve");
	PGresult *result;

	sql(app, "begin");
	sql(app, "select reeve.submit('a', 'x', key => 'k')");
	sql_send(other, "select reeve.submit('a', 'y', key => 'k')");
	sql_until(owner, "select count(*) = 1 from pg_locks where not granted");
	sql(app, "rollback");
	result = sql_wait(other);
	ck_assert_msg(sql_is_ok(result), "%s", PQerrorMessage(other));
	PQclear(result);
	PQfinish(other);
	counts_are("1|1|1");
	sql_gives(
	    owner, "y", "select item ->> 'content' from reeve_store.items");
}
END_TEST

START_TEST(fifty_at_once_in_a_new_session_all_stand)
{
	sql(owner, "create temp table if not exists answers (id uuid);"
		   "delete from answers");
	submit_at_once(MANY, "'a', 'x', session => 's'");
	sql_gives(owner, "50|50",
	    "select count(distinct a.id), count(distinct r.id) from answers a, "
	    "reeve_store.runs r where r.session = 's' and r.queued and "
	    "r.active_session is null");
}
END_TEST

/* ---- refusals ---- */

static const struct {
	const char *sqlstate, *text, *arguments;
} bad[] = {
	{ "22023", "there is no agent \"nobody\"", "'nobody', 'x'" },
	{ "22023", "reeve apply DIR", "'nobody', 'x'" },
	{ "22023", "there is no agent", "null, 'x'" },
	{ "22023", "not 101", "'a', 'x', priority => 101" },
	{ "22023", "not -101", "'a', 'x', priority => -101" },
	{ "22023", "not <NULL>", "'a', 'x', priority => null" },
	{ "22023", "run_at must be a time", "'a', 'x', run_at => 'infinity'" },
	{ "22023", "run_at must be a time", "'a', 'x', run_at => '-infinity'" },
	{ "22023", "1 to 256", "'a', 'x', session => ''" },
	{ "22023", "1 to 256", "'a', 'x', session => repeat('s', 257)" },
	{ "22023", "1 to 256", "'a', 'x', key => ''" },
	{ "22023", "1 to 256", "'a', 'x', key => repeat('k', 257)" },
	{ "22023", "metadata must be", "'a', 'x', metadata => '[]'" },
	{ "22023", "metadata must be", "'a', 'x', metadata => '\"m\"'" },
	{ "22023", "input must be", "'a', null::text" },
	{ "22023", "input must be", "'a', null::json" },
	{ "22023", "input must be", "'a', 'null'::json" },
	{ "22023", "input must be", "'a', '5'::json" },
	{ "22023", "input must be", "'a', '{}'::json" },
	{ "22023", "1 to 512 items, not of 0", "'a', '[]'::json" },
	{ "22023", "1 to 512 items, not of 513",
	    "'a', ('[' || repeat('{},', 512) || '{}]')::json" },
	{ "22023", "must be an object", "'a', '[\"x\"]'::json" },
	{ "22023", "must be an object", "'a', '[{}, null]'::json" },
	{ "22023", "must be an object", "'a', '[[{}]]'::json" },
	{ "54000", "nested deeper than 100",
	    "'a', ('[{\"a\":' || repeat('[', 100) || repeat(']', 100) || "
	    "'}]')::json" },
	{ "54000", "more than 32 MiB",
	    "'a', repeat('x', 32 * 1024 * 1024 - 50)" },
	/* What text functions of PostgreSQL cannot read. */
	{ "22P05", "", "'a', '\"a\\u0000b\"'::json" },
	{ "22P05", "", "'a', '[{\"content\":\"\\u0000\"}]'::json" },
	{ "22P05", "", "'a', '[{\"\\u0000\":1}]'::json" },
	{ "22P02", "", "'a', '[{\"content\":\"\\ud800\"}]'::json" },
	{ "22P02", "", "'a', '[{\"content\":[\"\\udc00x\"]}]'::json" },
	{ "22P02", "", "'a', '[{\"content\":\"\\ud83dx\"}]'::json" },
	{ "22P05", "", "'a', 'x', metadata => '{\"m\":\"\\u0000\"}'" },
	{ "22P02", "", "'a', 'x', metadata => '{\"m\":\"\\ud800\"}'" },
	{ "22P02", "invalid input syntax", "'a', '{'::json" },
};

START_TEST(what_cannot_run_is_refused_with_a_reason)
{
	sql_refused(app, bad[_i].sqlstate, bad[_i].text,
	    "select reeve.submit(%s)", bad[_i].arguments);
	counts_are("0|0|0");
}
END_TEST

/* '[{"a":[[…]]}]' */
#define NESTED_99                                                              \
	"'a', ('[{\"a\":' || repeat('[', 99) || repeat(']', 99) || '}]')::json"

static const char *const edges[] = {
	"'a', ''",
	"'a', 'x', priority => 100",
	"'a', 'x', priority => -100",
	"'a', 'x', session => repeat('s', 256), key => repeat('k', 256)",
	"'a', 'x', metadata => '{}'",
	"'a', 'x', metadata => null, run_at => null, key => null",
	"'a', ('[' || repeat('{},', 511) || '{}]')::json",
	NESTED_99,
	"'a', '[{\"content\":\"\\ud83e\\udd4a\"}]'::json",
	"'a', '[{\"type\":null,\"n\":1e300}]'::json",
	"'a', repeat('x', 1000000)",
};

START_TEST(what_lies_just_inside_the_limits_is_taken)
{
	sql(app, "select reeve.submit(%s)", edges[_i]);
	sql_gives(owner, "1", "select count(*) from reeve_store.runs");
}
END_TEST

/* ---- ids ---- */

START_TEST(ids_are_of_version_7_and_ordered_by_time)
{
	sql(app,
	    "do $$ begin for i in 1..50 loop perform reeve.submit('a', 'x'); "
	    "perform pg_sleep(0.0015); end loop; end $$");
	sql_gives(owner, "50|50|50|50",
	    "select count(distinct id), count(*) filter (where id::text ~ "
	    "'^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
	    "[0-9a-f]{12}$'), count(distinct substr(id::text, 1, 13)), "
	    "count(*) filter (where abs(('x' || translate(substr(id::text, 1, "
	    "13), '-', ''))::bit(48)::bigint / 1000.0 - extract(epoch from "
	    "clock_timestamp())) < 60) from reeve_store.runs");
	/* ctid: the order in which they were inserted. */
	sql_gives(owner, "t",
	    "select array_agg(id order by id) = array_agg(id order by ctid) "
	    "from reeve_store.runs");
}
END_TEST

/* ---- time zones ---- */

START_TEST(times_are_right_whatever_the_time_zone_of_the_role)
{
	PGconn *conn;
	static const char zones[][20] = { "Asia/Tokyo", "America/St_Johns" };

	sql(owner, "set timezone = 'Asia/Tokyo'");
	for (size_t i = 0; i < COUNT(zones); i++) {
		sql(app, "set timezone = '%s'", zones[i]);
		sql(app, "select reeve.submit('a', 'x', run_at => "
			 "'2031-02-03T04:05:06Z')");
	}
	sql_gives(owner, "2|2|2",
	    "select count(*) filter (where abs(extract(epoch from now() - "
	    "created_at)) < 60), count(*) filter (where extract(epoch from "
	    "run_at) = 1927857906), count(*) filter (where waits_for = "
	    "'its time: 2031-02-03T04:05:06Z') from reeve.runs");
	/* The statement of the supervisor takes milliseconds. */
	conn = house_connect("reeve_service", "reeve");
	sql(conn, "set timezone = 'Asia/Tokyo'");
	sql(conn, "select * from reeve_store.submit("
		  "'0190b0a1-1122-7334-8455-66778899aabb', 'b', '\"x\"', null, "
		  "null, 0, to_timestamp(1927857906789::int8 / 1000.0), null)");
	sql_gives(owner, "1927857906.789000",
	    "select extract(epoch from run_at) from reeve.runs where agent = "
	    "'b'");
	PQfinish(conn);
}
END_TEST

/* ---- cancel ---- */

START_TEST(a_cancel_of_a_run_that_has_not_ended_is_left_for_its_owner)
{
	char *id = sql_text(app, "select reeve.submit('a', 'x')");

	sql_gives(app, "cancelling", "select reeve.cancel('%s', 'enough')", id);
	sql_gives(app, "cancelling", "select reeve.cancel('%s', 'again')", id);
	sql_gives(owner, "t|cancel||enough|",
	    "select run = '%s', kind, key, note, body from reeve_store.inbox",
	    id);
	sql_gives(owner, "queued",
	    "select state from reeve_store.runs where id = '%s'", id);
	mem_free(id);
}
END_TEST

START_TEST(a_cancel_takes_part_in_the_callers_transaction)
{
	char *id = sql_text(app, "select reeve.submit('a', 'x')");

	sql(app, "begin");
	sql(app, "select reeve.cancel('%s')", id);
	sql(app, "rollback");
	sql_gives(owner, "0", "select count(*) from reeve_store.inbox");
	mem_free(id);
}
END_TEST

START_TEST(a_long_reason_is_cut)
{
	char *id = sql_text(app, "select reeve.submit('a', 'x')");

	sql(app, "select reeve.cancel('%s', repeat('ö', 5000))", id);
	sql_gives(owner, "2000", "select length(note) from reeve_store.inbox");
	mem_free(id);
}
END_TEST

static const char *const ended[] = { "completed", "incomplete", "failed",
	"cancelled" };

START_TEST(a_cancel_of_a_run_that_has_ended_says_how)
{
	char *id = sql_text(app, "select reeve.submit('a', 'x')");

	sql(owner,
	    "update reeve_store.runs set state = '%s', live = false, "
	    "queued = false",
	    ended[_i]);
	sql_gives(app, ended[_i], "select reeve.cancel('%s')", id);
	sql_gives(owner, "0", "select count(*) from reeve_store.inbox");
	mem_free(id);
}
END_TEST

START_TEST(a_cancel_of_an_unknown_run_is_refused)
{
	sql_refused(app, "P0002", "there is no run 0190b0a1",
	    "select reeve.cancel('0190b0a1-1122-7334-8455-66778899aabb')");
	sql_refused(
	    app, "P0002", "there is no run", "select reeve.cancel(null)");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/submit");
	TCase *c = tcase_create("submit");

	tcase_add_checked_fixture(c, open_conns, close_conns);
	tcase_add_test(c, a_text_becomes_a_queued_run_with_one_message);
	tcase_add_test(
	    c, a_json_string_is_a_text_and_an_array_is_kept_byte_for_byte);
	tcase_add_test(c, everything_given_is_kept);
	tcase_add_test(c, nothing_is_left_of_a_transaction_rolled_back);
	tcase_add_test(c, a_run_is_seen_when_its_transaction_commits);
	tcase_add_test(c, ids_are_of_version_7_and_ordered_by_time);
	tcase_add_test(c, times_are_right_whatever_the_time_zone_of_the_role);
	suite_add_tcase(suite, c);

	c = tcase_create("keys");
	tcase_add_checked_fixture(c, open_conns, close_conns);
	tcase_add_test(c, the_same_key_gives_the_same_run);
	tcase_add_loop_test(
	    c, the_same_key_with_something_else_is_refused, 0, COUNT(others));
	tcase_add_test(c, the_same_without_a_key_is_another_run);
	tcase_add_test(c, twenty_at_once_with_one_key_make_one_run);
	tcase_add_test(
	    c, whoever_waits_for_a_key_gets_it_when_the_first_gives_up);
	tcase_add_test(c, fifty_at_once_in_a_new_session_all_stand);
	suite_add_tcase(suite, c);

	c = tcase_create("limits");
	tcase_add_checked_fixture(c, open_conns, close_conns);
	tcase_add_loop_test(
	    c, what_cannot_run_is_refused_with_a_reason, 0, COUNT(bad));
	tcase_add_loop_test(
	    c, what_lies_just_inside_the_limits_is_taken, 0, COUNT(edges));
	suite_add_tcase(suite, c);

	c = tcase_create("cancel");
	tcase_add_checked_fixture(c, open_conns, close_conns);
	tcase_add_test(
	    c, a_cancel_of_a_run_that_has_not_ended_is_left_for_its_owner);
	tcase_add_test(c, a_cancel_takes_part_in_the_callers_transaction);
	tcase_add_test(c, a_long_reason_is_cut);
	tcase_add_loop_test(
	    c, a_cancel_of_a_run_that_has_ended_says_how, 0, COUNT(ended));
	tcase_add_test(c, a_cancel_of_an_unknown_run_is_refused);
	suite_add_tcase(suite, c);
	return house_main_sql(
	    suite, "create role shop login in role reeve_client");
}
