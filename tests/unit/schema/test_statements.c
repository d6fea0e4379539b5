/*
 * The statements that read, load and store beside the steps: what each gives
 * for rows made by hand.
 */
#include "tests/unit/schema/house.h"

#include "schema/embedded.h"

static PGconn *conn; /* the service's, inside a transaction */

#define RUN(n) "00000000-0000-7000-8000-0000000000" n
#define ME     RUN("f1")
#define OTHER  RUN("f2")
#define W      RUN("aa") /* a worker's process */

static void
open_conn(void)
{
	bool fresh = house_again(&conn, "reeve_service");

	sql(conn, "begin");
	if (!fresh)
		return;
#define QUERY(name, connection)                                                \
	PQclear(PQprepare(conn, #name, query_##name, 0, NULL));
#include "schema/queries.def"
#undef QUERY
}

/* ---- rows ---- */

static void
add_run(const char *id, const char *state, const char *owner,
    const char *session, const char *queue_at)
{
	bool queued = strcmp(state, "queued") == 0;
	bool live = queued || strcmp(state, "model") == 0 ||
		    strcmp(state, "tools") == 0 ||
		    strcmp(state, "waiting_approval") == 0;

	sql(conn,
	    "insert into reeve_store.runs (id, root, agent, agent_version, "
	    "state, owner, session, queue_at, live, queued, turn, step) values "
	    "('%s', '%s', 'a', 1, '%s', %s, %s, '%s', '%d', '%d', 2, 9)",
	    id, id, state, owner, session, queue_at, live, queued);
}

static void
add_item(const char *run, int turn, int category, int idx, int step)
{
	sql(conn,
	    "insert into reeve_store.items (run, turn, category, idx, step, "
	    "type, item, at) values ('%s', %d, %d, %d, %d, 'message', "
	    "'{\"at\":\"%.2s.%d.%d.%d\"}', '2001-01-01T00:00:00.5Z')",
	    run, turn, category, idx, step, run + strlen(run) - 2, turn,
	    category, idx);
}

static void
add_turn(const char *run, int turn, int attempt, const char *state, int start,
    const char *end)
{
	sql(conn,
	    "insert into reeve_store.turns (run, turn, attempt, state, worker, "
	    "process, worker_session, model, start_step, end_step, queued_at, "
	    "sent_at) values ('%s', %d, %d, '%s', 'w', '" W "', 7, 'm', %d, "
	    "%s, now(), '2001-01-01T00:00:00.25Z')",
	    run, turn, attempt, state, start, end);
}

static void
add_call(const char *run, int turn, int call, const char *state,
    const char *dispatched, const char *ended)
{
	sql(conn,
	    "insert into reeve_store.tool_calls (run, turn, call, item_idx, "
	    "call_id, name, state, attempt, worker, process, worker_session, "
	    "bound_step, dispatch_step, end_step) values ('%s', %d, %d, %d, "
	    "'c%d', 't', '%s', 1, 'w', '" W "', 7, 3, %s, %s)",
	    run, turn, call, call + 10, call, state, dispatched, ended);
}

/* ---- results for others ---- */

static const struct {
	const char *arguments, *found;
} results[] = {
	{ "2, 0, 2", "1" }, /* the open attempt of the turn */
	{ "2, 0, 1", "0" }, /* an earlier attempt */
	{ "2, 0, 3", "0" },
	{ "1, 0, 1", "0" },
	{ "2, 1, 1", "1" }, /* an open call */
	{ "2, 1, 2", "0" },
	{ "2, 2, 1", "0" }, /* one that has ended */
	{ "2, 3, 1", "0" }, /* one that was never sent */
	{ "2, 9, 1", "0" },
};

START_TEST(a_result_is_kept_for_the_owner_if_its_attempt_is_open)
{
	add_run(RUN("01"), "model", "'" OTHER "'", "null", "2001-01-01");
	add_turn(RUN("01"), 1, 1, "done", 1, "2");
	add_turn(RUN("01"), 2, 1, "lost", 3, "4");
	add_turn(RUN("01"), 2, 2, "dispatched", 4, "null");
	add_call(RUN("01"), 2, 1, "dispatched", "3", "null");
	add_call(RUN("01"), 2, 2, "done", "3", "4");
	add_call(RUN("01"), 2, 3, "queued", "null", "null");
	for (int again = 0; again < 2; again++)
		sql_gives(conn, results[_i].found,
		    "execute result_put('" RUN("01") "', %s, 'key', "
						     "'\\x00ff', '\\x')",
		    results[_i].arguments);
	sql_gives(conn,
	    results[_i].found[0] == '1' ? "01|result|key|\\x00ff|\\x" : "",
	    "select right(run::text, 2), kind, key, frame, body from "
	    "reeve_store.inbox");
}
END_TEST

START_TEST(a_result_for_a_run_that_ended_is_not_kept)
{
	add_run(RUN("01"), "cancelled", "null", "null", "2001-01-01");
	add_turn(RUN("01"), 2, 2, "dispatched", 4, "null");
	sql_gives(conn, "0",
	    "execute result_put('" RUN("01") "', 2, 0, 2, 'key', '', '')");
	sql_gives(conn, "0",
	    "execute result_put('" RUN("02") "', 2, 0, 2, 'key', '', '')");
	sql_gives(conn, "0", "select count(*) from reeve_store.inbox");
}
END_TEST

START_TEST(the_inbox_gives_what_was_left_for_my_runs)
{
	add_run(RUN("01"), "model", "'" ME "'", "null", "2001-01-01");
	add_run(RUN("02"), "model", "'" OTHER "'", "null", "2001-01-01");
	add_run(RUN("03"), "queued", "null", "null", "2001-01-01");
	sql(conn, "insert into reeve_store.inbox (run, kind, key, note, frame, "
		  "body) select r, 'cancel', '', 'why', '\\x01', '\\x02' from "
		  "unnest(array['" RUN("01") "', '" RUN("02") "', '" RUN(
		      "03") "']::uuid[]) r");
	sql_gives(conn, RUN("01") "|cancel||why|\\x01|\\x02",
	    "execute inbox_mine('" ME "')");
}
END_TEST

/* ---- agents ---- */

START_TEST(a_definition_is_a_new_version_unless_it_is_the_newest)
{
	sql_gives(conn, "1|t", "execute agent_put('x', '{\"a\":1,\"b\":2}')");
	sql_gives(conn, "1|f", "execute agent_put('x', '{\"a\":1,\"b\":2}')");
	sql_gives(conn, "2|t", "execute agent_put('x', '{\"b\":2,\"a\":1}')");
	sql_gives(conn, "3|t", "execute agent_put('x', '{\"a\":1,\"b\":2}')");
	sql_gives(conn, "1|t", "execute agent_put('y', '{}')");
	sql_gives(conn, "3|{\"a\":1,\"b\":2}", "execute agent_get('x', 0)");
	sql_gives(conn, "2|{\"b\":2,\"a\":1}", "execute agent_get('x', 2)");
	sql_gives(conn, "", "execute agent_get('x', 4)");
	sql_gives(conn, "", "execute agent_get('z', 0)");
}
END_TEST

/* ---- loading ---- */

/* Where the loaded items stand: run, turn, category, index of each. */
static void
loads(const char *want, const char *execute)
{
	struct buf got = BUF_INIT(1000);
	PGresult *result = PQexec(conn, execute);

	ck_assert_msg(sql_is_ok(result), "%s", PQerrorMessage(conn));
	for (int row = 0; row < PQntuples(result); row++) {
		const char *item = PQgetvalue(result, row, 5);

		buf_printf(&got, "%s%.8s", row > 0 ? " " : "",
		    item + strlen("{\"at\":\""));
	}
	PQclear(result);
	buf_putc(&got, '\0');
	ck_assert_str_eq(got.ptr, want);
	buf_release(&got);
}

START_TEST(items_of_a_session_come_in_the_order_of_its_runs)
{
	add_run(RUN("05"), "completed", "null", "'s'", "2001-01-01");
	add_run(RUN("02"), "failed", "null", "'s'", "2001-01-02");
	add_run(RUN("03"), "model", "'" ME "'", "'s'", "2001-01-03");
	add_run(RUN("04"), "completed", "null", "'s'", "2001-01-04");
	add_run(RUN("06"), "queued", "null", "'s'", "2001-01-01");
	add_run(RUN("07"), "completed", "null", "'t'", "2001-01-01");
	add_item(RUN("03"), 0, 0, 0, 1);
	add_item(RUN("02"), 0, 0, 0, 1);
	add_item(RUN("05"), 1, 1, 1, 1);
	add_item(RUN("05"), 1, 1, 0, 1);
	add_item(RUN("05"), 1, 2, 1, 1);
	add_item(RUN("05"), 0, 0, 0, 1);
	add_item(RUN("04"), 0, 0, 0, 1);
	add_item(RUN("06"), 0, 0, 0, 1);
	add_item(RUN("07"), 0, 0, 0, 1);
	loads("05.0.0.0 05.1.1.0 05.1.1.1 05.1.2.1 02.0.0.0 03.0.0.0",
	    "execute load_items('{" RUN("03") "," RUN("06") "}', '" ME "')");
}
END_TEST

START_TEST(a_run_without_a_session_loads_its_own_items_only)
{
	add_run(RUN("01"), "completed", "null", "null", "2001-01-01");
	add_run(RUN("02"), "model", "'" ME "'", "null", "2001-01-02");
	add_run(RUN("03"), "model", "'" OTHER "'", "null", "2001-01-02");
	add_item(RUN("01"), 0, 0, 0, 1);
	add_item(RUN("02"), 0, 0, 0, 1);
	add_item(RUN("03"), 0, 0, 0, 1);
	sql_gives(conn, RUN("02") "|" RUN("02") "|0|0|0|{\"at\":\"02.0.0.0\"}",
	    "execute load_items('{" RUN("01") "," RUN("02") "," RUN(
		"03") "}', '" ME "')");
}
END_TEST

START_TEST(attempts_of_the_turn_in_which_a_run_stands_are_loaded)
{
	add_run(RUN("01"), "model", "'" ME "'", "null", "2001-01-01");
	add_run(RUN("02"), "tools", "'" ME "'", "null", "2001-01-01");
	add_run(RUN("03"), "model", "'" OTHER "'", "null", "2001-01-01");
	for (int n = 1; n <= 3; n++) {
		const char *run = n == 1   ? RUN("01")
				  : n == 2 ? RUN("02")
					   : RUN("03");

		add_turn(run, 1, 1, "done", 1, "2");
		add_turn(run, 2, 2, "dispatched", 4, "null");
		add_turn(run, 2, 1, "failed", 3, "4");
	}
	sql_gives(conn,
	    RUN("01") "|2|1|failed|w|" W "|7\n" RUN("01") "|2|2|dispatched|w|" W
							  "|7",
	    "execute load_turns('{" RUN("01") "," RUN("02") "," RUN(
		"03") "}', '" ME "')");
}
END_TEST

START_TEST(calls_of_the_turn_in_which_a_run_stands_are_loaded)
{
	add_run(RUN("01"), "tools", "'" ME "'", "null", "2001-01-01");
	add_run(
	    RUN("02"), "waiting_approval", "'" ME "'", "null", "2001-01-01");
	add_run(RUN("03"), "model", "'" ME "'", "null", "2001-01-01");
	add_run(RUN("04"), "tools", "'" OTHER "'", "null", "2001-01-01");
	add_call(RUN("01"), 1, 1, "done", "3", "4");
	add_call(RUN("01"), 2, 2, "dispatched", "3", "null");
	add_call(RUN("01"), 2, 1, "done", "3", "4");
	add_call(RUN("02"), 2, 1, "queued", "null", "null");
	add_call(RUN("03"), 2, 1, "done", "3", "4");
	add_call(RUN("04"), 2, 1, "done", "3", "4");
	sql_gives(conn,
	    RUN("01") "|1|11|1|done|f|w|" W
		      "|7\n" RUN("01") "|2|12|1|dispatched|f|w|" W "|7\n" RUN(
			  "02") "|1|11|1|queued|f|w|" W "|7",
	    "execute load_calls('{" RUN("01") "," RUN("02") "," RUN(
		"03") "," RUN("04") "}', '" ME "')");
}
END_TEST

/* ---- replay ---- */

START_TEST(a_replay_gives_what_came_after_a_step)
{
	add_run(RUN("01"), "tools", "'" ME "'", "'s'", "2001-01-01");
	add_turn(RUN("01"), 1, 1, "done", 1, "2");
	add_turn(RUN("01"), 2, 1, "dispatched", 4, "null");
	add_item(RUN("01"), 0, 0, 0, 1);
	add_item(RUN("01"), 1, 2, 1, 4);
	add_item(RUN("01"), 1, 1, 0, 2);
	add_call(RUN("01"), 1, 1, "done", "3", "4");
	add_call(RUN("01"), 1, 2, "queued", "null", "null");
	sql_gives(conn,
	    "1|1|done|w|m|1|2||||0|0|0|0|978307200250|978307200250\n"
	    "2|1|dispatched|w|m|4|0||||0|0|0|0|978307200250|978307200250",
	    "execute replay_turns('" RUN("01") "', 0)");
	sql_gives(conn,
	    "2|1|dispatched|w|m|4|0||||0|0|0|0|978307200250|978307200250",
	    "execute replay_turns('" RUN("01") "', 2)");
	sql_gives(conn,
	    "1|1|0|2|message|{\"at\":\"01.1.1.0\"}|978307200500\n"
	    "1|2|1|4|message|{\"at\":\"01.1.2.1\"}|978307200500",
	    "execute replay_items('" RUN("01") "', 1)");
	sql_gives(conn, "", "execute replay_items('" RUN("01") "', 4)");
	sql_gives(conn, "1|1|c1|t|1|w|3|3|4||0|11\n1|2|c2|t|1|w|3|0|0||0|12",
	    "execute replay_calls('" RUN("01") "', 2)");
	sql_gives(conn, "1|1|c1|t|1|w|3|3|4||0|11",
	    "execute replay_calls('" RUN("01") "', 3)");
	sql_gives(conn, "", "execute replay_calls('" RUN("01") "', 4)");
	sql_gives(conn, "", "execute replay_run('" RUN("02") "')");
}
END_TEST

/* ---- what clients ask ---- */

/* What the JSON of one answer holds, by an expression over j. */
static void
answers(const char *want, const char *execute, const char *expression)
{
	char *json = sql_text(conn, "%s", execute);

	sql_gives(conn, want, "select %s from (select $j$%s$j$::json as j) a",
	    expression, json);
	mem_free(json);
}

#define GET(n) "execute get('" RUN(n) "', null)"

START_TEST(a_run_is_given_whole_as_json)
{
	add_run(RUN("01"), "tools", "'" ME "'", "'s'", "2001-01-01Z");
	add_turn(RUN("01"), 2, 1, "done", 4, "5");
	add_turn(RUN("01"), 1, 1, "done", 1, "2");
	add_item(RUN("01"), 1, 1, 0, 2);
	add_item(RUN("01"), 0, 0, 0, 1);
	add_call(RUN("01"), 1, 2, "done", "3", "4");
	add_call(RUN("01"), 1, 1, "done", "3", "4");
	answers("running|s|2|9|2001-01-01T00:00:00+00:00", GET("01"),
	    "j #>> '{run,state}', j #>> '{run,session}', j #>> '{run,turns}', "
	    "j #>> '{run,step}', j #>> '{run,run_at}'");
	answers("2|1|2|2|1|01.0.0.0", GET("01"),
	    "json_array_length(j -> 'turns'), j #>> '{turns,0,turn}', "
	    "json_array_length(j -> 'calls'), json_array_length(j -> 'items')"
	    ", j #>> '{calls,0,call}', j #>> '{items,0,item,at}'");
	sql_gives(conn, "", GET("02"));
}
END_TEST

START_TEST(a_run_without_anything_is_given_with_empty_lists)
{
	add_run(RUN("01"), "queued", "null", "null", "2001-01-01");
	answers("[]|[]|[]", GET("01"),
	    "j -> 'turns', j -> 'calls', j -> "
	    "'items'");
}
END_TEST

static const struct {
	const char *state, *why, *waits_for;
} waits[] = {
	{ "queued", "null", "a supervisor to start it" },
	{ "queued", "'a run to end'", "a run to end" },
	{ "model", "'a run to end'", "a run to end" },
	{ "completed", "'a run to end'", "" },
};

START_TEST(a_run_that_waits_says_why_this_supervisor_does_not_start_it)
{
	char text[100];

	add_run(RUN("01"), waits[_i].state, "null", "null", "2001-01-01");
	snprintf(text, sizeof(text), "execute get('" RUN("01") "', %s)",
	    waits[_i].why);
	answers(waits[_i].waits_for, text, "j #>> '{run,waits_for}'");
	/* What the row itself says counts more. */
	sql(conn, "update reeve_store.runs set waits_for = 'a free worker'");
	answers(waits[_i].waits_for[0] == '\0' ? "" : "a free worker", text,
	    "j #>> '{run,waits_for}'");
}
END_TEST

static const struct {
	const char *arguments, *ids;
} lists[] = {
	{ "null, null, null, null, 10", "04 03 02 01" },
	{ "null, null, null, null, 2", "04 03" },
	{ "'queued', null, null, null, 10", "04 01" },
	{ "'running', null, null, null, 10", "02" },
	{ "'nonsense', null, null, null, 10", "" },
	{ "null, 'b', null, null, 10", "03" },
	{ "null, null, 's', null, 10", "03 02" },
	{ "null, null, null, '" RUN("03") "', 10", "02 01" },
	{ "'queued', 'a', null, '" RUN("04") "', 10", "01" },
};

START_TEST(runs_are_listed_newest_first_by_what_is_asked)
{
	char text[200];

	add_run(RUN("01"), "queued", "null", "null", "2001-01-01");
	add_run(RUN("02"), "tools", "'" ME "'", "'s'", "2001-01-01");
	add_run(RUN("03"), "completed", "null", "'s'", "2001-01-01");
	add_run(RUN("04"), "queued", "null", "null", "2001-01-01");
	sql(conn, "update reeve_store.runs set agent = 'b' where id = "
		  "'" RUN("03") "'");
	snprintf(text, sizeof(text), "execute list(%s)", lists[_i].arguments);
	answers(lists[_i].ids, text,
	    "(select string_agg(right(r ->> 'id', 2), ' ' order by n) from "
	    "json_array_elements(j -> 'runs') with ordinality as e(r, n))");
}
END_TEST

/* ---- */

int
main(void)
{
	Suite *suite = suite_create("schema/statements");
	TCase *c = tcase_create("inbox");

	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_loop_test(c,
	    a_result_is_kept_for_the_owner_if_its_attempt_is_open, 0,
	    COUNT(results));
	tcase_add_test(c, a_result_for_a_run_that_ended_is_not_kept);
	tcase_add_test(c, the_inbox_gives_what_was_left_for_my_runs);
	suite_add_tcase(suite, c);

	c = tcase_create("loading");
	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_test(
	    c, a_definition_is_a_new_version_unless_it_is_the_newest);
	tcase_add_test(c, items_of_a_session_come_in_the_order_of_its_runs);
	tcase_add_test(c, a_run_without_a_session_loads_its_own_items_only);
	tcase_add_test(
	    c, attempts_of_the_turn_in_which_a_run_stands_are_loaded);
	tcase_add_test(c, calls_of_the_turn_in_which_a_run_stands_are_loaded);
	suite_add_tcase(suite, c);

	c = tcase_create("reading");
	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_test(c, a_replay_gives_what_came_after_a_step);
	tcase_add_test(c, a_run_is_given_whole_as_json);
	tcase_add_test(c, a_run_without_anything_is_given_with_empty_lists);
	tcase_add_loop_test(c,
	    a_run_that_waits_says_why_this_supervisor_does_not_start_it, 0,
	    COUNT(waits));
	tcase_add_loop_test(
	    c, runs_are_listed_newest_first_by_what_is_asked, 0, COUNT(lists));
	suite_add_tcase(suite, c);
	return house_main_sql(suite, NULL);
}
