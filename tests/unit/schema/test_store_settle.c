/*
 * Unknown outcomes: sessions are ended, answers swallowed and rows turned back
 * while a batch is in flight. Whatever the moment, a step is done exactly once
 * or its run is dropped.
 */
#include "tests/unit/schema/store_case.h"

#include <signal.h>
#include <sys/socket.h>

#define RUNS 8u

static struct store_case c;

static void
open_case(void)
{
	case_open(&c);
	case_runs(&c, RUNS);
}

static void
close_case(void)
{
	case_close(&c);
}

/* ---- what is done to the connection ---- */

/* The same for every store of this program: pids of its batch sessions. */
#define BATCH_SESSIONS                                                         \
	"from pg_stat_activity where application_name like 'reeve/%/batch'"

static void
terminate(void)
{
	sql(c.super, "%s", "select pg_terminate_backend(pid) " BATCH_SESSIONS);
}

/* Waits until an answer is there, and reads it in the store's place. No other
 * connection has one now. */
static void
swallow_answer(void)
{
	int fds[HOUSE_SOCKETS], count = house_sockets(fds, c.owner, c.super);
	uint64_t began_ns = uv_hrtime();
	bool swallowed = false;
	char bytes[65536];

	while (!swallowed) {
		for (int i = 0; i < count; i++) {
			while (recv(fds[i], bytes, sizeof(bytes),
				   MSG_DONTWAIT) > 0)
				swallowed = true;
		}
		ck_assert(uv_hrtime() - began_ns < CASE_WAIT_NS);
	}
}

static void
cut_sockets(void)
{
	int fds[HOUSE_SOCKETS], count = house_sockets(fds, c.owner, c.super);

	for (int i = 0; i < count; i++)
		shutdown(fds[i], SHUT_RDWR);
}

/* ---- every moment ---- */

static void
add_all(void)
{
	for (size_t n = 0; n < RUNS; n++)
		case_add(&c, case_job(&c, n));
}

static void
all_done_once(void)
{
	for (size_t n = 0; n < RUNS; n++)
		job_is(&c.jobs[n], STORE_COMMITTED);
	sql_gives(c.owner, "8|8|8|8",
	    "select count(*), min(step), max(step), (select count(*) from "
	    "reeve_store.items) from reeve_store.runs");
	ck_assert(store_is_idle(c.store));
	ck_assert_uint_eq(c.rewound, 0);
}

/* After 0, 50, 100 … µs: the server is found before, in and after the work. */
START_TEST(a_session_ended_at_any_moment_does_no_step_twice)
{
	struct timespec wait = { 0, _i * 50000 };

	add_all();
	store_flush(c.store);
	nanosleep(&wait, NULL);
	terminate();
	CASE_UNTIL(&c, c.answered == RUNS);
	all_done_once();
}
END_TEST

START_TEST(sessions_ended_again_and_again_lose_nothing)
{
	uint64_t began_ns = uv_hrtime();
	unsigned kills = 0;

	add_all();
	store_flush(c.store);
	while (c.answered < RUNS) {
		if (kills < 12) {
			terminate();
			kills++;
		}
		ck_assert(case_turn(&c, began_ns));
		store_flush(c.store);
	}
	all_done_once();
}
END_TEST

/* The commit stands, its answer is lost. */
START_TEST(a_commit_whose_answer_is_lost_is_found_in_the_rows)
{
	add_all();
	store_flush(c.store);
	swallow_answer();
	sql_gives(c.owner, "8", "select min(step) from reeve_store.runs");
	cut_sockets();
	CASE_UNTIL(&c, c.answered == RUNS);
	all_done_once();
	ck_assert_uint_eq(store_stats(c.store)->unknown, 1);
}
END_TEST

START_TEST(a_new_run_whose_answer_is_lost_is_found_in_the_rows)
{
	case_add(&c, case_accept(&c, 100));
	store_flush(c.store);
	swallow_answer();
	cut_sockets();
	CASE_UNTIL(&c, c.answered == 1);
	job_is(&c.jobs[100], STORE_COMMITTED);
}
END_TEST

START_TEST(a_failure_whose_answer_is_lost_is_found_in_the_rows)
{
	case_job(&c, 0)->step.bytes = DB_PARAMS_BYTES;
	case_add(&c, &c.jobs[0]);
	store_flush(c.store);
	swallow_answer();
	cut_sockets();
	CASE_UNTIL(&c, c.answered == 1);
	job_is(&c.jobs[0], STORE_BAD);
	sql_gives(c.owner, "8|failed",
	    "select step, state from reeve_store.runs where not live");
}
END_TEST

/* ---- an old session that still works ---- */

static pid_t
batch_pid(void)
{
	char *text = sql_text(c.super, "%s", "select pid " BATCH_SESSIONS);
	pid_t pid = (pid_t)strtol(text, NULL, 10);

	mem_free(text);
	ck_assert_int_gt(pid, 1);
	return pid;
}

/* Turns the loop for about 100 ms. */
static void
turn_a_while(void)
{
	struct timespec wait = { 0, 2000000 };

	for (int i = 0; i < 50; i++) {
		uv_run(&c.loop.uv, UV_RUN_NOWAIT);
		nanosleep(&wait, NULL);
	}
}

/* Its client is gone, but it is in the middle of the batch and would commit.
 * The second time it stands still, so that it does not end when it is told. */
START_TEST(an_old_session_is_ended_before_the_rows_are_believed)
{
	pid_t old = batch_pid();

	sql(c.super, "insert into slow values (4)");
	add_all();
	store_flush(c.store);
	sql_until(c.super, "select count(*) = 1 " BATCH_SESSIONS
			   " and wait_event = 'PgSleep'");
	sql(c.super, "delete from slow");
	if (_i == 1)
		ck_assert_int_eq(kill(old, SIGSTOP), 0);
	cut_sockets();
	if (_i == 1) {
		CASE_UNTIL(&c, c.store->state == BATCH_SETTLING);
		turn_a_while();
		ck_assert_int_eq((int)c.store->state, BATCH_SETTLING);
		ck_assert_uint_eq(c.answered, 0);
		ck_assert_int_eq(kill(old, SIGCONT), 0);
	}
	CASE_UNTIL(&c, c.answered == RUNS);
	sql_gives(c.super, "0",
	    "select count(*) from pg_stat_activity where pid = %d", (int)old);
	all_done_once();
}
END_TEST

/* ---- what the rows may say ---- */

/* The server's process stands still when the batch comes, rows are changed
 * meanwhile, then the session ends. */
static void
change_meanwhile(const char *change)
{
	pid_t pid = batch_pid();

	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	store_flush(c.store);
	sql(c.owner, "%s", change);
	terminate();
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
}

static const char *const moves[] = {
	"claim = claim + 1, owner = gen_random_uuid()",
	"claim = claim + 1, step = step + 1",
	"owner = null",
	"step = step + 2",
	"live = false, state = 'failed', step = step + 2",
};

START_TEST(a_run_that_moved_on_meanwhile_is_gone)
{
	char change[200];

	snprintf(change, sizeof(change),
	    "update reeve_store.runs set %s where id::text like '%%0003'",
	    moves[_i]);
	add_all();
	change_meanwhile(change);
	CASE_UNTIL(&c, c.answered == RUNS);
	for (size_t n = 0; n < RUNS; n++)
		job_is(&c.jobs[n], n == 3 ? STORE_GONE : STORE_COMMITTED);
	ck_assert_uint_eq(c.rewound, 0);
	sql_gives(c.owner, "7", "select count(*) from reeve_store.items");
}
END_TEST

static const char *const rewinds[] = {
	"update reeve_store.runs set step = step - 1 where id::text like "
	"'%0003'",
	"update reeve_store.runs set step = step - 1, claim = claim - 1 where "
	"id::text like '%0003'",
	"delete from reeve_store.runs where id::text like '%0003'",
};

START_TEST(rows_below_memory_mean_that_all_memory_goes)
{
	add_all();
	case_add(&c, case_accept(&c, 100));
	change_meanwhile(rewinds[_i]);
	CASE_UNTIL(&c, c.rewound == 1);
	ck_assert_uint_eq(c.answered, RUNS + 1);
	for (size_t n = 0; n < RUNS; n++)
		job_is(&c.jobs[n], STORE_GONE);
	/* It was promised to nobody: said so, not that it is there. */
	job_is(&c.jobs[100], STORE_BAD);
	ck_assert_int_eq(c.jobs[100].err.kind, ERR_BUSY);
	ck_assert(store_is_idle(c.store));
	sql_gives(c.owner, "0", "select count(*) from reeve_store.items");
	/* It goes on. */
	case_add(&c, case_accept(&c, 101));
	case_flush(&c, 1);
	job_is(&c.jobs[101], STORE_COMMITTED);
}
END_TEST

/* As after the promotion of a standby. */
START_TEST(another_timeline_means_that_all_memory_goes)
{
	sql_gives(c.super, c.store->timeline,
	    "select left(pg_walfile_name(pg_current_wal_lsn()), 8)");
	memcpy(c.store->timeline, "00000009", 8);
	add_all();
	if (_i == 0)
		change_meanwhile("select");
	else
		terminate();
	CASE_UNTIL(&c, c.rewound == 1);
	for (size_t n = 0; n < RUNS; n++)
		job_is(&c.jobs[n], STORE_GONE);
	ck_assert(store_is_idle(c.store));
	terminate();
	case_add(&c, case_accept(&c, 101));
	store_flush(c.store);
	CASE_UNTIL(&c, c.jobs[101].answers == 1);
	job_is(&c.jobs[101], STORE_COMMITTED);
	ck_assert_uint_eq(c.rewound, 1);
}
END_TEST

/* Somebody else's run of the same id, inserted while mine was unknown. */
START_TEST(a_run_accepted_by_somebody_else_is_not_taken_for_mine)
{
	struct uuid id = case_id(100);
	char text[UUID_TEXT], change[400];

	uuid_text(&id, text);
	snprintf(change, sizeof(change),
	    "insert into reeve_store.runs (id, root, agent, agent_version, "
	    "owner, claim, step) values ('%s', '%s', 'a', 1, "
	    "gen_random_uuid(), 1, 1)",
	    text, text);
	case_add(&c, case_accept(&c, 100));
	change_meanwhile(change);
	CASE_UNTIL(&c, c.answered == 1);
	job_is(&c.jobs[100], STORE_GONE);
	sql_gives(c.owner, "0", "select count(*) from reeve_store.items");
}
END_TEST

/* The server is there but cannot say what stands. */
START_TEST(rows_that_cannot_be_read_are_asked_for_again)
{
	add_all();
	store_flush(c.store);
	swallow_answer();
	sql(c.owner, "revoke select on reeve_store.runs from reeve_service");
	cut_sockets();
	CASE_UNTIL(&c, c.store->state == BATCH_SETTLING);
	turn_a_while();
	ck_assert_uint_eq(c.answered, 0);
	sql(c.owner, "grant select on reeve_store.runs to reeve_service");
	CASE_UNTIL(&c, c.answered == RUNS);
	all_done_once();
}
END_TEST

/* ---- the whole server ---- */

START_TEST(a_server_that_crashes_and_comes_back_loses_nothing)
{
	char out[HOUSE_CONNINFO];

	sql(c.super, "alter role reeve_service set synchronous_commit = on");
	terminate();
	CASE_UNTIL(&c, !store_is_up(c.store));
	CASE_UNTIL(&c, store_is_up(c.store));
	sql(c.super, "checkpoint"); /* the rows that the test made */
	add_all();
	store_flush(c.store);
	if (_i == 1)
		CASE_UNTIL(&c, c.answered == RUNS);
	house_cluster(out, sizeof(out), "halt", "immediate");
	store_flush(c.store);
	CASE_UNTIL(&c, !store_is_up(c.store));
	house_cluster(out, sizeof(out), "start", NULL);
	CASE_UNTIL(&c, c.answered == RUNS && store_is_up(c.store));
	PQreset(c.owner);
	PQreset(c.super);
	all_done_once();
	CASE_UNTIL(&c, c.ups >= 2);
	ck_assert_uint_eq(c.firsts, 1);
	ck_assert_uint_eq(c.deposed, 0);
}
END_TEST

/* A row here keeps every batch waiting for so many seconds. */
static const char slow[] =
    "create table slow (seconds int);"
    "create function slow() returns trigger language plpgsql security definer "
    "as $$ begin perform pg_sleep(seconds) from slow; return new; end $$;"
    "create trigger slow before insert on reeve_store.items for each row "
    "execute function slow()";

int
main(void)
{
	Suite *suite = suite_create("schema/store_settle");
	TCase *t = tcase_create("moments");

	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, a_session_ended_at_any_moment_does_no_step_twice, 0, 30);
	tcase_add_loop_test(
	    t, sessions_ended_again_and_again_lose_nothing, 0, 3);
	tcase_add_test(t, a_commit_whose_answer_is_lost_is_found_in_the_rows);
	tcase_add_test(t, a_new_run_whose_answer_is_lost_is_found_in_the_rows);
	tcase_add_test(t, a_failure_whose_answer_is_lost_is_found_in_the_rows);
	tcase_add_loop_test(
	    t, an_old_session_is_ended_before_the_rows_are_believed, 0, 2);
	suite_add_tcase(suite, t);

	t = tcase_create("rows");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, a_run_that_moved_on_meanwhile_is_gone, 0, COUNT(moves));
	tcase_add_loop_test(
	    t, rows_below_memory_mean_that_all_memory_goes, 0, COUNT(rewinds));
	tcase_add_loop_test(
	    t, another_timeline_means_that_all_memory_goes, 0, 2);
	tcase_add_test(
	    t, a_run_accepted_by_somebody_else_is_not_taken_for_mine);
	tcase_add_test(t, rows_that_cannot_be_read_are_asked_for_again);
	suite_add_tcase(suite, t);

	t = tcase_create("server");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, a_server_that_crashes_and_comes_back_loses_nothing, 0, 2);
	suite_add_tcase(suite, t);
	return house_main(suite, slow);
}
