/*
 * A step as rows: each part in its columns, and whichever statement carries a
 * step writes what step.sql would.
 */
#include "tests/unit/schema/house.h"

#include "schema/embedded.h"
#include "schema/store.h"

static PGconn *conn;
static struct uuid me, run_id, process;
static struct step step;

#define RUN     "0190b0a1-1122-7000-8000-000000000001"
#define ME      "11111111-1111-4111-8111-111111111111"
#define PROCESS "22222222-2222-4222-8222-222222222222"

static const char *const sql_of[DB_QUERIES] = {
#define QUERY(name, connection) query_##name,
#include "schema/queries.def"
#undef QUERY
};

static struct uuid
uuid_of(const char *text)
{
	struct err err = { 0 };
	struct uuid uuid;

	ck_assert_int_eq(uuid_parse(slice_string(text), &uuid, &err), 0);
	return uuid;
}

/* A run in its second turn: one call done, one dispatched, one queued. */
static void
open_conn(void)
{
	house_again(&conn, "reeve_service");
	me = uuid_of(ME);
	run_id = uuid_of(RUN);
	process = uuid_of(PROCESS);
	sql(conn, "begin");
	sql(conn, "insert into reeve_store.runs (id, root, agent, "
		  "agent_version, session, active_session, state, queued, "
		  "owner, claim, step, strikes, turn, wake_at, needs, "
		  "waits_for, started_at) values ('" RUN "', '" RUN "', 'a', "
		  "1, 's', 's', 'tools', false, '" ME "', 3, 7, 2, 2, now(), "
		  "'n', 'w', '2001-01-01Z')");
	sql(conn, "insert into reeve_store.turns (run, turn, attempt, state, "
		  "worker, process, worker_session, model, start_step, "
		  "queued_at, sent_at) values ('" RUN "', 2, 1, 'dispatched', "
		  "'mw', '" PROCESS "', 4, 'm', 7, '2001-01-01Z', "
		  "'2001-01-01Z')");
	sql(conn,
	    "insert into reeve_store.tool_calls (run, turn, call, "
	    "item_idx, call_id, name, state, idempotent, attempt, worker, "
	    "process, worker_session, bound_step, dispatch_step, "
	    "end_step, bound_at, dispatched_at, ended_at, outcome) "
	    "select '" RUN "', 2, n, n, 'c' || n, 't', s::"
	    "reeve_store.call_state, n = 2, a, w, p, y, 5, d, e, "
	    "'2001-01-01Z', '2001-01-02Z', '2001-01-03Z', o from (values "
	    "(1, 'done', 1, 'tw', '" PROCESS "'::uuid, 9, 5, 6, 'ok'), "
	    "(2, 'dispatched', 1, 'tw', '" PROCESS "', 9, 6, null, null)"
	    ", (3, 'queued', 0, null, null, null, null, null, null)) "
	    "as v(n, s, a, w, p, y, d, e, o)");
	sql(conn, "insert into reeve_store.inbox (run, kind, key) values "
		  "('" RUN "', 'cancel', ''), ('" RUN "', 'result', '2/2/1'), "
		  "('" RUN "', 'result', '2/3/1'), "
		  "('" ME "', 'cancel', '')");
	step = (struct step){ .run_id = run_id, .claim = 3, .step = 7 };
	step.run = (struct run_row){ .state = "tools", .turn = 2 };
}

static void
close_conn(void)
{
	step_release(&step);
}

/* ---- parts of a step ---- */

static void
put_turn_end(void)
{
	step.turn_end = ARENA_NEW(&step.arena, struct turn_end_row);
	*step.turn_end = (struct turn_end_row){ .turn = 2,
		.attempt = 1,
		.state = "done",
		.response_id = SLICE("resp_1"),
		.request_id = SLICE("req_1"),
		.status = SLICE("completed"),
		.finish = SLICE("tool_calls"),
		.http_status = 200,
		.wait_ms = 11,
		.usage = { true, 21, 22, 23, 24, 25 },
		.headers_ms = 31,
		.first_ms = 32,
		.total_ms = 33 };
}

static void
put_turn_start(void)
{
	step.turn_start = ARENA_NEW(&step.arena, struct turn_start_row);
	*step.turn_start = (struct turn_start_row){ .turn = 3,
		.attempt = 2,
		.at = { SLICE("mw"), process, 5, false },
		.model = SLICE("m2"),
		.queued_ms = 1500 };
}

static void
put_items(void)
{
	*step_add_item(&step) = (struct item_row){ .turn = 2,
		.category = ITEM_RESPONSE,
		.idx = 4,
		.marks = 3,
		.type = SLICE("message"),
		.item = SLICE("{ \"b\":1, \"a\": 1.0 }") };
	*step_add_item(&step) = (struct item_row){ .turn = 2,
		.category = ITEM_UNKNOWN_TOOL,
		.idx = 5,
		.type = SLICE("function_call_output"),
		.item = SLICE("{}") };
}

static void
put_third_item(void)
{
	*step_add_item(&step) = (struct item_row){ .turn = 2,
		.category = ITEM_RESPONSE,
		.idx = 6,
		.type = SLICE("reasoning"),
		.item = SLICE("{}") };
}

static void
put_new_call(void)
{
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_NEW,
		.turn = 2,
		.call = 7,
		.state = "queued",
		.item_idx = 17,
		.call_id = SLICE(""),
		.name = SLICE("t7") };
}

static void
put_new_calls(void)
{
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_NEW,
		.turn = 2,
		.call = 4,
		.state = "queued",
		.item_idx = 14,
		.call_id = SLICE("c4"),
		.name = SLICE("t4") };
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_NEW,
		.turn = 2,
		.call = 5,
		.attempt = 1,
		.state = "dispatched",
		.at = { SLICE("tw"), process, 6, true },
		.item_idx = 15,
		.call_id = SLICE("c5"),
		.name = SLICE("t5") };
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_NEW,
		.turn = 2,
		.call = 6,
		.state = "done",
		.item_idx = 16,
		.call_id = SLICE(""),
		.name = SLICE(""),
		.outcome = SLICE("unknown_tool") };
}

static void
put_moved_call(void)
{
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_MOVE,
		.turn = 2,
		.call = 3,
		.attempt = 1,
		.state = "dispatched",
		.at = { SLICE("tw3"), process, 8, true } };
}

static void
put_ended_call(void)
{
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_END,
		.turn = 2,
		.call = 2,
		.attempt = 1,
		.state = "done",
		.outcome = SLICE("exit"),
		.sandbox = SLICE("full"),
		.code = -1,
		.wall_ms = 41,
		.cpu_ms = 42,
		.rss_kb = 43,
		.stdout_bytes = 44,
		.stderr_bytes = 45,
		.dropped_bytes = 46 };
}

static void
put_lost_call(void)
{
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_END,
		.turn = 2,
		.call = 2,
		.attempt = 1,
		.state = "done",
		.outcome = SLICE("lost") };
}

static void
put_inbox(void)
{
	*step_add_inbox(&step) =
	    (struct inbox_key){ SLICE("cancel"), SLICE("") };
	*step_add_inbox(&step) =
	    (struct inbox_key){ SLICE("result"), SLICE("2/2/1") };
}

static void
put_end(void)
{
	step.run = (struct run_row){ .state = "completed",
		.reason = SLICE("r"),
		.error = SLICE("e"),
		.final = true,
		.turn = 2,
		.usage = { true, 51, 52, 53, 54, 55 },
		.active_ms = 56 };
}

static void
put_parking(void)
{
	step.run = (struct run_row){ .state = "tools",
		.waits_for = SLICE("a worker"),
		.needs = SLICE("tool:x"),
		.park = true,
		.wake = true,
		.wake_ms = 60000,
		.turn = 2 };
}

/* ---- running it ---- */

/* Returns the statement that was run; `count` is what it has to say. */
static enum db_query
run_counting(int count)
{
	struct db_params p = DB_PARAMS_INIT;
	const char *values[DB_PARAMS_MAX];
	enum db_query query = step.accept ? store_accept_params(&step, &me, &p)
					  : store_step_params(&step, &me, &p);
	int formats[DB_PARAMS_MAX];
	PGresult *result;

	db_params_point(&p, values);
	for (int i = 0; i < p.count; i++)
		formats[i] = 1;
	result = PQexecParams(
	    conn, sql_of[query], p.count, NULL, values, p.lengths, formats, 1);
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s: %s",
	    db_query_name(query), PQerrorMessage(conn));
	ck_assert_int_eq(db_get_int(result, 0, 0), count);
	PQclear(result);
	db_params_release(&p);
	return query;
}

static enum db_query
run_step_sql(void)
{
	return run_counting(1);
}

/* Every row of every table. */
#define DUMP                                                                   \
	"select (select jsonb_agg(to_jsonb(r) order by id) from "              \
	"reeve_store.runs r), (select jsonb_agg(to_jsonb(t) order by run, "    \
	"turn, attempt) from reeve_store.turns t), (select jsonb_agg("         \
	"to_jsonb(i) order by run, turn, category, idx) from "                 \
	"reeve_store.items i), (select jsonb_agg(to_jsonb(c) order by run, "   \
	"turn, call) from reeve_store.tool_calls c), (select jsonb_agg("       \
	"to_jsonb(b) order by run, kind, key) from reeve_store.inbox b)"

/* ---- which statement ---- */

static void
put_nothing(void)
{
}

static void
put_answer(void)
{
	put_turn_end();
	put_items();
	put_end();
}

static void
put_response(void)
{
	put_turn_end();
	put_items();
	put_new_calls();
}

static void
put_one_call(void)
{
	put_turn_end();
	put_items();
	put_new_call();
}

static void
put_three_items(void)
{
	put_answer();
	put_third_item();
}

static void
put_output(void)
{
	put_items();
	put_ended_call();
	put_turn_start();
}

static void
put_outputs(void)
{
	put_output();
	put_moved_call();
}

static void
put_retry(void)
{
	put_turn_end();
	put_turn_start();
}

static void
put_cancel(void)
{
	put_turn_end();
	put_lost_call();
	put_inbox();
	put_end();
}

static void
put_mixed_calls(void)
{
	put_new_calls();
	put_moved_call();
}

static void
put_all(void)
{
	put_turn_end();
	put_turn_start();
	put_items();
	put_new_calls();
	put_moved_call();
	put_ended_call();
	put_inbox();
}

static const struct {
	void (*put)(void);
	enum db_query query;
} shapes[] = {
	{ put_nothing, QUERY_step_final },
	{ put_end, QUERY_step_final },
	{ put_parking, QUERY_step_final },
	{ put_turn_end, QUERY_step_final },
	{ put_items, QUERY_step_final },
	{ put_answer, QUERY_step_final },
	{ put_turn_start, QUERY_step_outputs },
	{ put_moved_call, QUERY_step_outputs },
	{ put_ended_call, QUERY_step_outputs },
	{ put_lost_call, QUERY_step_outputs },
	{ put_output, QUERY_step_outputs },
	{ put_outputs, QUERY_step },
	{ put_new_call, QUERY_step_calls },
	{ put_one_call, QUERY_step_calls },
	{ put_new_calls, QUERY_step_calls_many },
	{ put_response, QUERY_step_calls_many },
	{ put_three_items, QUERY_step_calls_many },
	{ put_retry, QUERY_step },
	{ put_inbox, QUERY_step },
	{ put_cancel, QUERY_step },
	{ put_mixed_calls, QUERY_step },
	{ put_all, QUERY_step },
};

START_TEST(every_statement_writes_what_the_whole_one_would)
{
	char *cheap, *whole;

	shapes[_i].put();
	sql(conn, "savepoint s");
	ck_assert_int_eq((int)run_step_sql(), (int)shapes[_i].query);
	cheap = sql_text(conn, DUMP);
	sql(conn, "rollback to s");
	/* A row that is not there has to be deleted: only step.sql can. */
	*step_add_inbox(&step) =
	    (struct inbox_key){ SLICE("result"), SLICE("0/0/0") };
	ck_assert_int_eq((int)run_step_sql(), (int)QUERY_step);
	whole = sql_text(conn, DUMP);
	ck_assert_msg(strcmp(cheap, whole) == 0, "%s:\n%s\nstep:\n%s",
	    db_query_name(shapes[_i].query), cheap, whole);
	mem_free(cheap);
	mem_free(whole);
}
END_TEST

/* live, queued and active_session stand in for state and owner. */
START_TEST(what_stands_in_for_the_state_follows_from_it)
{
	shapes[_i].put();
	run_step_sql();
	house_rows_hold(conn);
	sql_gives(conn, "t",
	    "select (finished_at is null) = live and (live or owner is null) "
	    "from reeve_store.runs");
}
END_TEST

/* ---- the guard ---- */

static const char *const moves[] = {
	"owner = gen_random_uuid()",
	"owner = null",
	"claim = 4",
	"claim = 2",
	"step = 8",
	"step = 6",
	"state = 'failed', live = false, active_session = null",
};

START_TEST(a_run_that_moved_is_left_as_it_is)
{
	for (size_t i = 0; i < COUNT(shapes); i++) {
		char *before;

		step_release(&step);
		step = (struct step){ .run_id = run_id, .claim = 3, .step = 7 };
		step.run = (struct run_row){ .state = "tools", .turn = 2 };
		shapes[i].put();
		sql(conn, "savepoint s");
		sql(conn, "update reeve_store.runs set %s", moves[_i]);
		before = sql_text(conn, DUMP);
		run_counting(0);
		sql_gives(conn, before, DUMP);
		sql(conn, "rollback to s");
		mem_free(before);
	}
}
END_TEST

/* ---- each part in its columns ---- */

#define RUN_ROW                                                                 \
	"select state, reason, error, waits_for, needs, owner is null, claim, " \
	"step, strikes, wake_at - now(), turn, active_ms, input_tokens, "       \
	"output_tokens, total_tokens, cached_tokens, reasoning_tokens, "        \
	"started_at = '2001-01-01Z', finished_at = now(), live, queued, "       \
	"active_session from reeve_store.runs"

START_TEST(the_runs_row_is_what_the_step_says)
{
	run_step_sql();
	sql_gives(conn, "tools|||||f|3|8|0||2|0|0|0|0|0|0|t||t|f|s", RUN_ROW);
}
END_TEST

START_TEST(an_end_closes_the_run)
{
	put_end();
	run_step_sql();
	sql_gives(conn, "completed|r|e|||t|3|8|0||2|56|51|52|53|54|55|t|t|f|f|",
	    RUN_ROW);
}
END_TEST

START_TEST(a_parked_run_has_no_owner_and_a_time)
{
	put_parking();
	run_step_sql();
	sql_gives(conn,
	    "tools|||a worker|tool:x|t|3|8|0|00:01:00|2|0|0|0|0|0|0|t||t|f|s",
	    RUN_ROW);
	/* It is woken at once when the time is 0. */
	sql(conn, "update reeve_store.runs set owner = '" ME "'");
	step.step = 8;
	step.run.wake_ms = 0;
	run_step_sql();
	sql_gives(conn, "t", "select wake_at = now() from reeve_store.runs");
}
END_TEST

START_TEST(the_first_step_says_when_the_run_began)
{
	sql(conn, "update reeve_store.runs set started_at = null, state = "
		  "'queued', queued = true");
	run_step_sql();
	sql_gives(conn, "t|f|tools",
	    "select started_at = now(), queued, state from reeve_store.runs");
}
END_TEST

#define TURN_ROWS                                                               \
	"select turn, attempt, state, worker, process = '" PROCESS "', "        \
	"worker_session, model, start_step, end_step, ended_at = now(), "       \
	"response_id, request_id, status, finish, error_class, error_code, "    \
	"error, http_status, wait_ms, input_tokens, output_tokens, "            \
	"total_tokens, cached_tokens, reasoning_tokens, headers_ms, first_ms, " \
	"total_ms from reeve_store.turns order by turn"

START_TEST(an_answered_turn_keeps_all_that_was_measured)
{
	put_turn_end();
	run_step_sql();
	sql_gives(conn,
	    "2|1|done|mw|t|4|m|7|8|t|resp_1|req_1|completed|tool_calls||||200|"
	    "11|21|22|23|24|25|31|32|33",
	    TURN_ROWS);
}
END_TEST

START_TEST(a_failed_turn_keeps_its_error_and_no_numbers)
{
	put_turn_end();
	*step.turn_end = (struct turn_end_row){ .turn = 2,
		.attempt = 1,
		.state = "failed",
		.error_class = SLICE("network"),
		.error_code = SLICE("ECONN"),
		.error = SLICE("no route") };
	run_step_sql();
	sql_gives(conn,
	    "2|1|failed|mw|t|4|m|7|8|t|||||network|ECONN|no route||||||||||",
	    TURN_ROWS);
}
END_TEST

START_TEST(an_attempt_is_a_new_row)
{
	put_turn_start();
	run_step_sql();
	sql_gives(conn,
	    "2|1|dispatched|mw|t|4|m|7|||||||||||||||||||\n"
	    "3|2|dispatched|mw|t|5|m2|8|||||||||||||||||||",
	    TURN_ROWS);
	sql_gives(conn, "t|00:00:01.5",
	    "select sent_at = now(), sent_at - queued_at from "
	    "reeve_store.turns where turn = 3");
}
END_TEST

START_TEST(items_are_kept_byte_for_byte)
{
	put_items();
	run_step_sql();
	sql_gives(conn,
	    "2|1|4|8|message|3|t|{ \"b\":1, \"a\": 1.0 }\n"
	    "2|8|5|8|function_call_output|0|t|{}",
	    "select turn, category, idx, step, type, marks, at = now(), item "
	    "from reeve_store.items order by idx");
}
END_TEST

#define CALL_ROWS                                                              \
	"select call, state, idempotent, attempt, worker, process = '" PROCESS \
	"', worker_session, bound_step, dispatch_step, end_step, outcome, "    \
	"code, wall_ms, cpu_ms, rss_kb, stdout_bytes, stderr_bytes, "          \
	"dropped_bytes, sandbox from reeve_store.tool_calls where call "

START_TEST(new_calls_are_queued_dispatched_or_answered)
{
	put_new_calls();
	run_step_sql();
	sql_gives(conn,
	    "4|queued|f|0||||8|||||||||||\n"
	    "5|dispatched|t|1|tw|t|6|8|8||||||||||\n"
	    "6|done|f|0||||8||8|unknown_tool||||||||",
	    CALL_ROWS "> 3 order by call");
	sql_gives(conn, "4|14|c4|t4|t||\n5|15|c5|t5|t|t|\n6|16|||t||t",
	    "select call, item_idx, call_id, name, bound_at = now(), "
	    "dispatched_at = now(), ended_at = now() from "
	    "reeve_store.tool_calls where call > 3 order by call");
}
END_TEST

START_TEST(a_call_that_is_dispatched_has_no_outcome_yet)
{
	put_moved_call();
	run_step_sql();
	sql_gives(
	    conn, "3|dispatched|t|1|tw3|t|8|5|8||||||||||", CALL_ROWS "= 3");
	sql_gives(conn, "t|t",
	    "select dispatched_at = now(), ended_at is null from "
	    "reeve_store.tool_calls where call = 3");
}
END_TEST

START_TEST(a_call_that_ended_keeps_all_that_was_measured)
{
	put_ended_call();
	run_step_sql();
	/* Its placement stays, and that it is idempotent. */
	sql_gives(conn,
	    "2|done|t|1|tw|t|9|5|6|8|exit|-1|41|42|43|44|45|46|full",
	    CALL_ROWS "= 2");
	sql_gives(conn, "t|t",
	    "select dispatched_at = '2001-01-02Z', ended_at = now() from "
	    "reeve_store.tool_calls where call = 2");
	/* The others are as they were. */
	sql_gives(conn, "1|done|f|1|tw|t|9|5|5|6|ok||||||||", CALL_ROWS "= 1");
	sql_gives(conn, "3|queued|f|0||||5|||||||||||", CALL_ROWS "= 3");
}
END_TEST

START_TEST(a_call_that_nobody_measured_has_no_numbers)
{
	put_lost_call();
	run_step_sql();
	sql_gives(
	    conn, "2|done|t|1|tw|t|9|5|6|8|lost||||||||", CALL_ROWS "= 2");
}
END_TEST

START_TEST(a_call_that_exits_with_0_says_so)
{
	put_ended_call();
	step.calls[0].code = 0;
	run_step_sql();
	sql_gives(conn, "0",
	    "select code from reeve_store.tool_calls where call = 2");
}
END_TEST

START_TEST(a_call_can_go_back_to_the_queue)
{
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_MOVE,
		.turn = 2,
		.call = 2,
		.attempt = 1,
		.state = "queued" };
	run_step_sql();
	sql_gives(conn, "2|queued|t|1|tw|t|9|5|6||||||||||", CALL_ROWS "= 2");
}
END_TEST

START_TEST(a_run_is_accepted_with_any_number_of_items)
{
	static const enum db_query queries[] = { QUERY_accept, QUERY_accept,
		QUERY_accept, QUERY_accept_items };

	put_turn_start();
	step.accept = true;
	step.run_id = process;
	step.agent = SLICE("a");
	step.agent_version = 4;
	for (int n = 0; n < _i; n++)
		*step_add_item(&step) = (struct item_row){ .idx = (uint32_t)n,
			.marks = 2,
			.type = SLICE("message"),
			.item = SLICE("{ \"b\":1}") };
	ck_assert_int_eq((int)run_step_sql(), (int)queries[_i]);
	sql_gives(conn, "a|4|tools|3|1",
	    "select agent, agent_version, state, claim, step from "
	    "reeve_store.runs where id = '" PROCESS "'");
	sql_gives(conn, "3|2|dispatched|mw|5|m2|1",
	    "select turn, attempt, state, worker, worker_session, model, "
	    "start_step from reeve_store.turns where run = '" PROCESS "'");
	sql_gives(conn, "t",
	    "select array_agg((turn, category, idx, step, type, marks, "
	    "item::text)::text order by idx) is not distinct from "
	    "(select array_agg((0, 0, n, 1, 'message', 2, '{ \"b\":1}')::text "
	    "order by n) from generate_series(0, %d) n) from "
	    "reeve_store.items where run = '" PROCESS "'",
	    _i - 1);
}
END_TEST

START_TEST(exactly_the_inbox_rows_that_were_read_go)
{
	put_inbox();
	run_step_sql();
	sql_gives(conn, "f|cancel|\nt|result|2/3/1",
	    "select run = '" RUN "', kind, key from reeve_store.inbox order by "
	    "1");
}
END_TEST

START_TEST(a_step_of_many_rows_goes_in_one_statement)
{
	for (uint32_t i = 0; i < 300; i++) {
		*step_add_item(&step) = (struct item_row){ .turn = 9,
			.category = ITEM_FUNCTION_OUTPUT,
			.idx = i,
			.type = SLICE("x"),
			.item = SLICE("{}") };
		*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_NEW,
			.turn = 9,
			.call = i,
			.state = "queued",
			.call_id = SLICE("c"),
			.name = SLICE("n") };
	}
	put_all();
	run_step_sql();
	sql_gives(conn, "302|306",
	    "select (select count(*) from reeve_store.items), (select count(*) "
	    "from reeve_store.tool_calls)");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/store_step");
	TCase *t = tcase_create("statements");

	tcase_add_checked_fixture(t, open_conn, close_conn);
	tcase_add_loop_test(t, every_statement_writes_what_the_whole_one_would,
	    0, COUNT(shapes));
	tcase_add_loop_test(
	    t, what_stands_in_for_the_state_follows_from_it, 0, COUNT(shapes));
	tcase_add_loop_test(
	    t, a_run_that_moved_is_left_as_it_is, 0, COUNT(moves));
	suite_add_tcase(suite, t);

	t = tcase_create("columns");
	tcase_add_checked_fixture(t, open_conn, close_conn);
	tcase_add_test(t, the_runs_row_is_what_the_step_says);
	tcase_add_test(t, an_end_closes_the_run);
	tcase_add_test(t, a_parked_run_has_no_owner_and_a_time);
	tcase_add_test(t, the_first_step_says_when_the_run_began);
	tcase_add_test(t, an_answered_turn_keeps_all_that_was_measured);
	tcase_add_test(t, a_failed_turn_keeps_its_error_and_no_numbers);
	tcase_add_test(t, an_attempt_is_a_new_row);
	tcase_add_test(t, items_are_kept_byte_for_byte);
	tcase_add_test(t, new_calls_are_queued_dispatched_or_answered);
	tcase_add_test(t, a_call_that_is_dispatched_has_no_outcome_yet);
	tcase_add_test(t, a_call_that_ended_keeps_all_that_was_measured);
	tcase_add_test(t, a_call_that_nobody_measured_has_no_numbers);
	tcase_add_test(t, a_call_that_exits_with_0_says_so);
	tcase_add_test(t, a_call_can_go_back_to_the_queue);
	tcase_add_loop_test(
	    t, a_run_is_accepted_with_any_number_of_items, 0, 4);
	tcase_add_test(t, exactly_the_inbox_rows_that_were_read_go);
	tcase_add_test(t, a_step_of_many_rows_goes_in_one_statement);
	suite_add_tcase(suite, t);
	return house_main_sql(suite, NULL);
}
