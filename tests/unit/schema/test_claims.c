/*
 * Which runs a supervisor takes: the picks, the claim, and what it gives back.
 * Rows are made by hand; a run is known by the last two digits of its id.
 */
#include "tests/unit/schema/house.h"

#include "schema/embedded.h"

static PGconn *conn; /* the owner's, with the statements prepared */

#define RUN(n)  "00000000-0000-7000-8000-0000000000" n
#define ME      RUN("f1")
#define OTHER   RUN("f2")
#define GONE    RUN("f9")
#define NOTHING RUN("00")

static void
prepare(const char *name, const char *text)
{
	PGresult *result = PQprepare(conn, name, text, 0, NULL);

	ck_assert_msg(sql_is_ok(result), "%s", PQerrorMessage(conn));
	PQclear(result);
}

static void
open_conn(void)
{
	bool fresh = house_again(&conn, "reeve_owner");

	house_empty(conn);
	sql(conn, "insert into reeve_store.supervisors (id, name, version, "
		  "host, pid) values ('" ME "', 'me', '1', 'h', 1), ('" OTHER
		  "', 'other', '1', 'h', 2)");
	if (!fresh)
		return;
#define QUERY(name, connection) prepare(#name, query_##name);
#include "schema/queries.def"
#undef QUERY
}

/* A row of runs: more columns and their values as SQL. */
#define ADD(n, columns, values)                                                    \
	sql(conn,                                                                  \
	    "insert into reeve_store.runs (id, root, agent, agent_version" columns \
	    ") values ('" RUN(n) "', '" RUN(n) "', 'a', 1" values ")")

/* The last two digits of each row's id. */
static void
finds_on(PGconn *asker, const char *want, const char *execute)
{
	char got[200] = "";
	PGresult *result = PQexec(asker, execute);

	ck_assert_msg(sql_is_ok(result), "%s", PQerrorMessage(asker));
	for (int row = 0; row < PQntuples(result); row++) {
		const char *id = PQgetvalue(result, row, 0);

		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
		    row > 0 ? " " : "", id + strlen(id) - 2);
	}
	PQclear(result);
	ck_assert_msg(strcmp(got, want) == 0, "%s\nwant: %s\ngot:  %s", execute,
	    want, got);
}

static void
finds(const char *want, const char *execute)
{
	finds_on(conn, want, execute);
}

/* ---- queue_pick ---- */

START_TEST(priority_comes_first_then_time_then_id)
{
	ADD("01", ", queue_at", ", now() - interval '1 s'");
	ADD("02", ", queue_at", ", now() - interval '2 s'");
	ADD("03", ", priority", ", 5");
	ADD("04", ", priority", ", -5");
	ADD("06", ", queue_at", ", '2001-01-01'");
	ADD("05", ", queue_at", ", '2001-01-01'");
	finds("03 05 06 02 01 04", "execute queue_pick('{}', 10)");
	finds("03 05", "execute queue_pick('{}', 2)");
}
END_TEST

START_TEST(only_queued_runs_whose_time_has_come_are_picked)
{
	ADD("01", ", queue_at", ", now() + interval '1 h'");
	ADD("02", ", owner", ", '" OTHER "'");
	ADD("03", ", state, queued", ", 'model', false");
	ADD("04", ", state, queued, live", ", 'failed', false, false");
	ADD("05", ", format", ", 2");
	ADD("06", "", "");
	finds("06", "execute queue_pick('{}', 10)");
}
END_TEST

START_TEST(agents_at_their_limit_are_left_out)
{
	ADD("01", "", "");
	sql(conn, "update reeve_store.runs set agent = 'b'");
	ADD("02", "", "");
	finds("01 02", "execute queue_pick('{}', 10)");
	finds("02", "execute queue_pick('{b}', 10)");
	finds("", "execute queue_pick('{b,a}', 10)");
	finds("01 02", "execute queue_pick('{c}', 10)");
}
END_TEST

START_TEST(of_a_session_the_earliest_is_picked)
{
	ADD("01", ", session, priority", ", 's', 5");
	ADD("02", ", session, queue_at", ", 's', '2001-01-01'");
	ADD("03", ", session, queue_at", ", 's', now() + interval '1 h'");
	ADD("04", ", session", ", 't'");
	finds("02 04", "execute queue_pick('{}', 10)");
}
END_TEST

static const struct {
	const char *columns, *values;
	bool picked; /* the next run of the session */
} earlier[] = {
	{ ", state, queued, owner", ", 'model', false, '" ME "'", false },
	{ ", state, queued, owner", ", 'tools', false, '" OTHER "'", false },
	{ ", state, queued", ", 'waiting_approval', false", false },
	{ ", owner", ", '" ME "'", false },
	{ ", owner, queue_at", ", '" GONE "', now() + interval '1 h'", false },
	{ ", state, queued, live", ", 'completed', false, false", true },
	{ ", state, queued, live", ", 'failed', false, false", true },
	{ ", queue_at", ", now() + interval '1 h'", true },
};

START_TEST(a_session_waits_while_a_run_of_it_is_taken)
{
	sql(conn,
	    "insert into reeve_store.runs (id, root, agent, agent_version, "
	    "session%s) values ('" RUN("02") "', '" RUN("02") "', 'a', 1, "
							      "'s'%s)",
	    earlier[_i].columns, earlier[_i].values);
	/* Accepted in a transaction that began earlier and ended later. */
	ADD("01", ", session, queue_at", ", 's', '2001-01-01'");
	finds(earlier[_i].picked ? "01" : "", "execute queue_pick('{}', 10)");
}
END_TEST

/* ---- adopt_pick ---- */

static const struct {
	const char *columns, *values;
	bool adopted;
} orphans[] = {
	/* The owner is gone, or is there. */
	{ ", owner", ", '" GONE "'", true },
	{ ", owner, state, queued", ", '" GONE "', 'model', false", true },
	{ ", owner, state, queued", ", '" GONE "', 'waiting_approval', false",
	    true },
	{ ", owner, state, queued, live",
	    ", '" GONE "', 'failed', false, false", false },
	{ ", owner, format", ", '" GONE "', 2", false },
	{ ", owner", ", '" OTHER "'", false },
	{ ", owner", ", '" ME "'", false },
	/* Nobody had it yet. */
	{ "", "", false },
	{ ", wake_at", ", '2001-01-01'", false },
	/* Parked: due, not due, waiting for a worker. */
	{ ", state, queued, wake_at", ", 'tools', false, '2001-01-01'", true },
	{ ", state, queued, wake_at",
	    ", 'tools', false, now() + interval '1 h'", false },
	{ ", state, queued", ", 'tools', false", false },
	{ ", state, queued, needs", ", 'tools', false, 'tool:x'", true },
	{ ", state, queued, needs", ", 'tools', false, 'tool:y'", true },
	{ ", state, queued, needs", ", 'tools', false, 'tool:z'", false },
	{ ", state, queued, needs, format", ", 'tools', false, 'tool:x', 2",
	    false },
	{ ", state, queued, live, wake_at",
	    ", 'cancelled', false, false, '2001-01-01'", false },
};

START_TEST(an_orphan_is_adopted_when_it_is_ready)
{
	sql(conn,
	    "insert into reeve_store.runs (id, root, agent, agent_version%s) "
	    "values ('" RUN("01") "', '" RUN("01") "', 'a', 1%s)",
	    orphans[_i].columns, orphans[_i].values);
	finds(orphans[_i].adopted ? "01" : "",
	    "execute adopt_pick('" NOTHING "', '{tool:x,tool:y}', 10)");
}
END_TEST

static const struct {
	const char *columns, *values;
	bool adopted;
} written[] = {
	{ "", "", true },
	{ ", queue_at", ", now() + interval '1 h'", true },
	{ ", state, queued", ", 'waiting_approval', false", true },
	{ ", owner", ", '" OTHER "'", false }, /* reads it itself */
	{ ", owner", ", '" GONE "'", true },
	{ ", format", ", 2", false },
	{ ", state, queued, live", ", 'failed', false, false", false },
};

START_TEST(a_run_without_owner_is_adopted_when_somebody_writes_to_it)
{
	sql(conn,
	    "insert into reeve_store.runs (id, root, agent, agent_version%s) "
	    "values ('" RUN("01") "', '" RUN("01") "', 'a', 1%s)",
	    written[_i].columns, written[_i].values);
	sql(conn,
	    "insert into reeve_store.inbox (run, kind, key) values "
	    "('" RUN("01") "', 'cancel', ''), "
			   "('" RUN("01") "', 'result', '1/0/1'), "
					  "('" RUN("77") "', 'cancel', '')");
	finds(written[_i].adopted ? "01" : "",
	    "execute adopt_pick('" NOTHING "', '{}', 10)");
}
END_TEST

START_TEST(orphans_come_by_id_behind_a_cursor)
{
	ADD("03", ", owner", ", '" GONE "'");
	ADD("01", ", state, queued, wake_at", ", 'model', false, now()");
	ADD("04", ", state, queued, needs", ", 'model', false, 'm'");
	ADD("02", "", "");
	sql(conn, "insert into reeve_store.inbox (run, kind, key) values "
		  "('" RUN("02") "', 'cancel', '')");
	finds("01 02 03 04", "execute adopt_pick('" NOTHING "', '{m}', 10)");
	finds("01 02", "execute adopt_pick('" NOTHING "', '{m}', 2)");
	finds("03 04", "execute adopt_pick('" RUN("02") "', '{m}', 10)");
	finds("01 02 03", "execute adopt_pick('" NOTHING "', '{}', 10)");
}
END_TEST

START_TEST(what_carries_my_name_is_mine)
{
	ADD("01", ", owner", ", '" ME "'");
	ADD("02", ", owner", ", '" OTHER "'");
	ADD("03", ", owner, state, queued, live",
	    ", '" ME "', 'failed', false, false");
	ADD("04", "", "");
	finds("01", "execute mine('" ME "')");
}
END_TEST

/* ---- claim ---- */

static const struct {
	const char *columns, *values;
	bool claimed;
} claims[] = {
	{ "", "", true },
	{ ", owner", ", '" ME "'", true },
	{ ", owner", ", '" GONE "'", true },
	{ ", owner", ", '" OTHER "'", false },
	{ ", format", ", 2", false },
	{ ", state, queued, live", ", 'failed', false, false", false },
	{ ", state, queued", ", 'tools', false", true },
};

START_TEST(a_claim_takes_what_nobody_holds)
{
	sql(conn,
	    "insert into reeve_store.runs (id, root, agent, agent_version, "
	    "claim, step, strikes, needs%s) values ('" RUN("01") "', '" RUN(
		"01") "', 'a', 1, 6, 9, 2, 'x'%s)",
	    claims[_i].columns, claims[_i].values);
	finds(claims[_i].claimed ? "01" : "",
	    "execute claim('" ME "', '{" RUN("01") "," RUN("02") "}')");
	if (claims[_i].claimed)
		sql_gives(conn, "f1|7|9|3|",
		    "select right(owner::text, 2), claim, step, strikes, needs "
		    "from reeve_store.runs");
	else
		sql_gives(conn, "6|9|2|x",
		    "select claim, step, strikes, needs from reeve_store.runs");
}
END_TEST

START_TEST(a_claim_returns_what_a_run_is_made_of)
{
	sql(conn, "begin"); /* now() stands still */
	ADD("01",
	    ", session, priority, state, queued, claim, step, strikes, turn, "
	    "active_ms, wake_at, input_tokens, output_tokens, total_tokens, "
	    "cached_tokens, reasoning_tokens, created_at",
	    ", 's', -3, 'tools', false, 1, 2, 3, 4, 5, now() + interval "
	    "'1 h', 6, 7, 8, 9, 10, now() - interval '11 s'");
	sql_gives(conn,
	    RUN("01") "|a|1|s|-3|1|tools|2|2|4|4|5|3600000|6|7|8|9|10|11000",
	    "execute claim('" ME "', '{" RUN("01") "}')");
	sql(conn, "rollback");
}
END_TEST

START_TEST(who_was_deposed_claims_nothing)
{
	ADD("01", "", "");
	finds("", "execute claim('" GONE "', '{" RUN("01") "}')");
	sql_gives(conn, "0", "select claim from reeve_store.runs");
}
END_TEST

START_TEST(a_run_that_somebody_moves_is_skipped_not_waited_for)
{
	PGconn *other = house_connect("reeve_service", "reeve");

	ADD("01", "", "");
	ADD("02", "", "");
	sql(other, "begin");
	sql(other,
	    "select from reeve_store.runs where id = '" RUN("01") "' "
								  "for update");
	finds("02", "execute claim('" ME "', '{" RUN("01") "," RUN("02") "}')");
	PQfinish(other);
}
END_TEST

START_TEST(two_who_claim_at_once_share_the_runs)
{
	static const char all[] =
	    "'{" RUN("01") "," RUN("02") "," RUN("03") "," RUN("04") "}'";
	PGconn *other = house_connect("reeve_service", "reeve");
	char text[400];

	ADD("01", "", "");
	ADD("02", "", "");
	ADD("03", "", "");
	ADD("04", "", "");
	PQclear(PQprepare(other, "claim", query_claim, 0, NULL));
	sql(conn, "begin");
	finds("01 03",
	    "execute claim('" ME "', '{" RUN("01") "," RUN("03") "}')");
	snprintf(text, sizeof(text), "execute claim('" OTHER "', %s)", all);
	finds_on(other, "02 04", text);
	sql(conn, "commit");
	finds_on(other, "02 04", text);
	sql_gives(conn, "1|1\n2|2\n3|1\n4|2",
	    "select right(id::text, 1), right(owner::text, 1) from "
	    "reeve_store.runs order by 1");
	PQfinish(other);
}
END_TEST

/* Two supervisors saw two runs of one session before either claimed. */
START_TEST(of_two_who_claim_one_session_at_once_one_is_refused)
{
	PGconn *other = house_connect("reeve_service", "reeve");
	PGresult *result;

	ADD("01", ", session", ", 's'");
	ADD("02", ", session", ", 's'");
	PQclear(PQprepare(other, "claim", query_claim, 0, NULL));
	sql(conn, "begin");
	finds("01", "execute claim('" ME "', '{" RUN("01") "}')");
	sql_send(other, "execute claim('" OTHER "', '{" RUN("02") "}')");
	sql_until(conn, "select count(*) = 1 from pg_locks where not granted");
	sql(conn, "commit");
	result = sql_wait(other);
	ck_assert_str_eq(PQresultErrorField(result, PG_DIAG_SQLSTATE), "23505");
	PQclear(result);
	PQfinish(other);
}
END_TEST

START_TEST(a_session_stays_with_its_holder)
{
	ADD("01", ", session", ", 's'");
	ADD("02", ", session", ", 's'");
	finds("01", "execute claim('" ME "', '{" RUN("01") "}')");
	finds("02", "execute claim('" OTHER "', '{" RUN("02") "}')");
	sql_gives(conn, "01|s\n02|",
	    "select right(id::text, 2), active_session from reeve_store.runs "
	    "order by 1");
	/* Again for the same owner, and for the next one when it is gone. */
	finds("01", "execute claim('" ME "', '{" RUN("01") "}')");
	sql(conn, "delete from reeve_store.supervisors where id = '" ME "'");
	finds("01", "execute claim('" OTHER "', '{" RUN("01") "}')");
	sql_gives(conn, "01|s\n02|",
	    "select right(id::text, 2), active_session from reeve_store.runs "
	    "order by 1");
}
END_TEST

/* ---- this supervisor's row ---- */

START_TEST(a_new_process_replaces_its_predecessor_of_the_same_name)
{
	sql(conn, "execute supervisor_add('" RUN("f3") "', 'me', '1', 'h', 3)");
	sql_gives(conn, "other|f2\nme|f3",
	    "select name, right(id::text, 2) from reeve_store.supervisors "
	    "order by pid");
	sql(conn, "execute supervisor_add('" RUN("f3") "', 'me', '1', 'h', 3)");
	sql_gives(conn, "2", "select count(*) from reeve_store.supervisors");
}
END_TEST

START_TEST(a_beat_says_whether_the_row_stands)
{
	sql_gives(conn, "1", "execute supervisor_beat('" ME "')");
	sql_gives(conn, "2", "execute supervisor_beat('" ME "')");
	sql_gives(conn, "", "execute supervisor_beat('" GONE "')");
}
END_TEST

START_TEST(an_orderly_stop_gives_back_every_run)
{
	ADD("01", ", owner, session, strikes", ", '" ME "', 's', 2");
	ADD("02", ", owner, state, queued, session, active_session",
	    ", '" ME "', 'tools', false, 't', 't'");
	ADD("03", ", owner", ", '" OTHER "'");
	ADD("04", ", owner, state, queued, live",
	    ", '" ME "', 'failed', false, false");
	sql(conn, "update reeve_store.runs set active_session = session");
	sql(conn, "execute supervisor_bye('" ME "')");
	sql_gives(conn, "01|||t|2\n02||t|f|0\n03|f2||t|0\n04|f1||t|0",
	    "select right(id::text, 2), right(owner::text, 2), active_session "
	    "= session, wake_at is null or queued, strikes from "
	    "reeve_store.runs order by 1");
	sql_gives(conn, "other", "select name from reeve_store.supervisors");
	finds("02", "execute adopt_pick('" NOTHING "', '{}', 10)");
	finds("01", "execute queue_pick('{}', 10)");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/claims");
	TCase *c = tcase_create("queue");

	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_test(c, priority_comes_first_then_time_then_id);
	tcase_add_test(c, only_queued_runs_whose_time_has_come_are_picked);
	tcase_add_test(c, agents_at_their_limit_are_left_out);
	tcase_add_test(c, of_a_session_the_earliest_is_picked);
	tcase_add_loop_test(
	    c, a_session_waits_while_a_run_of_it_is_taken, 0, COUNT(earlier));
	suite_add_tcase(suite, c);

	c = tcase_create("orphans");
	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_loop_test(
	    c, an_orphan_is_adopted_when_it_is_ready, 0, COUNT(orphans));
	tcase_add_loop_test(c,
	    a_run_without_owner_is_adopted_when_somebody_writes_to_it, 0,
	    COUNT(written));
	tcase_add_test(c, orphans_come_by_id_behind_a_cursor);
	tcase_add_test(c, what_carries_my_name_is_mine);
	suite_add_tcase(suite, c);

	c = tcase_create("claim");
	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_loop_test(
	    c, a_claim_takes_what_nobody_holds, 0, COUNT(claims));
	tcase_add_test(c, a_claim_returns_what_a_run_is_made_of);
	tcase_add_test(c, who_was_deposed_claims_nothing);
	tcase_add_test(c, a_run_that_somebody_moves_is_skipped_not_waited_for);
	tcase_add_test(c, two_who_claim_at_once_share_the_runs);
	tcase_add_test(c, of_two_who_claim_one_session_at_once_one_is_refused);
	tcase_add_test(c, a_session_stays_with_its_holder);
	suite_add_tcase(suite, c);

	c = tcase_create("my row");
	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_test(
	    c, a_new_process_replaces_its_predecessor_of_the_same_name);
	tcase_add_test(c, a_beat_says_whether_the_row_stands);
	tcase_add_test(c, an_orderly_stop_gives_back_every_run);
	suite_add_tcase(suite, c);
	return house_main_sql(suite, NULL);
}
