/*
 * The store's own row and its beat: when it may release, when it is deposed,
 * how it starts beside a predecessor and how it says goodbye.
 * needs: fork
 */
#include "tests/unit/schema/store_case.h"

#include <signal.h>

static struct store_case c;

static void
open_case(void)
{
	case_open(&c);
}

static void
init_case(void)
{
	case_init(&c);
}

static void
close_case(void)
{
	case_close(&c);
	clock_set(0, 0);
}

/* ---- sessions ---- */

#define SESSION "from pg_stat_activity where application_name like 'reeve/%%/"

static void
terminate(const char *use)
{
	sql(c.super, "select pg_terminate_backend(pid) " SESSION "%s'", use);
}

static pid_t
session_pid(const char *use)
{
	char *text = sql_text(c.super, "select pid " SESSION "%s'", use);
	pid_t pid = (pid_t)strtol(text, NULL, 10);

	mem_free(text);
	ck_assert_int_gt(pid, 1);
	return pid;
}

/* A new session of the beat sends one at once. */
static void
beat_anew(void)
{
	terminate("beat");
	CASE_UNTIL(&c, !db_is_up(c.store->db[DB_BEAT]));
	CASE_UNTIL(
	    &c, (db_is_up(c.store->db[DB_BEAT]) && !c.store->beat_open) ||
		    c.deposed);
}

START_TEST(four_sessions_carry_its_name)
{
	sql_gives(c.super, "batch|t\nbeat|t\nread|t\nside|t",
	    "select split_part(application_name, '/', 3), split_part("
	    "application_name, '/', 2) = '%s' from pg_stat_activity where "
	    "application_name like 'reeve/%%' order by 1",
	    c.me_text);
	ck_assert(db_is_up(store_side(c.store)));
	CASE_UNTIL(&c, db_is_up(store_read(c.store)));
}
END_TEST

/* ---- my row ---- */

START_TEST(its_row_stands_when_it_is_up)
{
	sql_gives(c.owner, "t|test|" REEVE_VERSION "|here|t|t",
	    "select id = '%s', name, version, host, pid = %d, beat >= 1 from "
	    "reeve_store.supervisors",
	    c.me_text, (int)getpid());
	ck_assert_uint_eq(c.ups, 1);
	ck_assert_uint_eq(c.firsts, 1);
}
END_TEST

START_TEST(a_predecessor_of_its_name_goes_and_others_stay)
{
	sql(c.owner, "insert into reeve_store.supervisors (id, name, version, "
		     "host, pid) select gen_random_uuid(), n, '1', 'h', 1 "
		     "from unnest(array['test', 'other']) n");
	case_start(&c);
	CASE_UNTIL(&c, c.ups == 1);
	sql_gives(c.owner, "other|f\ntest|t",
	    "select name, id = '%s' from reeve_store.supervisors order by 1",
	    c.me_text);
}
END_TEST

/* Its row is locked for longer than a statement waits. */
START_TEST(a_predecessor_that_cannot_be_removed_yet_is_waited_for)
{
	sql(c.owner, "insert into reeve_store.supervisors (id, name, version, "
		     "host, pid) values (gen_random_uuid(), 'test', '1', 'h', "
		     "1)");
	sql(c.owner, "begin");
	sql(c.owner, "select from reeve_store.supervisors for update");
	case_start(&c);
	CASE_UNTIL(&c, c.store->registering);
	CASE_UNTIL(&c, !c.store->registering);
	ck_assert_uint_eq(c.fatals, 0);
	ck_assert(!store_is_up(c.store));
	ck_assert(!store_may_release(c.store));
	sql(c.owner, "commit");
	CASE_UNTIL(&c, c.ups == 1);
	ck_assert_uint_eq(c.deposed, 0);
	sql_gives(c.owner, "1", "select count(*) from reeve_store.supervisors");
}
END_TEST

START_TEST(steps_wait_until_the_row_stands)
{
	case_runs(&c, 1);
	case_start(&c);
	case_add(&c, case_job(&c, 0));
	store_flush(c.store);
	ck_assert(!store_is_idle(c.store));
	CASE_UNTIL(&c, c.answered == 1);
	job_is(&c.jobs[0], STORE_COMMITTED);
	ck_assert_uint_eq(c.ups, 1);
}
END_TEST

START_TEST(a_row_that_somebody_deleted_deposes)
{
	sql(c.owner, "delete from reeve_store.supervisors");
	ck_assert_uint_eq(c.deposed, 0);
	beat_anew();
	CASE_UNTIL(&c, c.deposed == 1);
	/* It does not come back by itself. */
	terminate("side");
	CASE_UNTIL(&c, c.ups == 2);
	sql_gives(c.owner, "0", "select count(*) from reeve_store.supervisors");
}
END_TEST

START_TEST(a_new_side_session_is_told_but_is_not_the_first)
{
	terminate("side");
	CASE_UNTIL(&c, c.ups == 2);
	ck_assert_uint_eq(c.firsts, 1);
	ck_assert_uint_eq(c.deposed, 0);
}
END_TEST

/* One that the server still has may commit a claim that nobody loads. */
START_TEST(old_side_sessions_are_ended_before_it_is_told)
{
	char text[HOUSE_CONNINFO + 100];
	PGconn *old;

	snprintf(text, sizeof(text), "%s application_name=%s", c.conninfo,
	    c.store->application[DB_SIDE]);
	old = PQconnectdb(text);
	ck_assert_int_eq(PQstatus(old), CONNECTION_OK);
	terminate("side");
	CASE_UNTIL(&c, c.ups == 2);
	PQclear(PQexec(old, "select 1"));
	ck_assert_int_eq(PQstatus(old), CONNECTION_BAD);
	PQfinish(old);
}
END_TEST

/* ---- the lease ---- */

START_TEST(it_may_release_while_its_beat_is_fresh)
{
	uint64_t t0 = 5000000;

	clock_set(t0, t0);
	beat_anew();
	clock_set(t0 + LEASE_SELF_MS - 1, t0);
	ck_assert(store_may_release(c.store));
	clock_set(t0 + LEASE_SELF_MS, t0);
	ck_assert(!store_may_release(c.store));
	beat_anew();
	ck_assert(store_may_release(c.store));
}
END_TEST

/* What counts is when it was sent: the server may have been still since. */
START_TEST(a_beat_acknowledged_late_gives_no_lease)
{
	uint64_t t0 = 5000000;
	pid_t pid = session_pid("beat");

	clock_set(t0, t0);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	CASE_UNTIL(&c, c.store->beat_open);
	clock_set(t0 + LEASE_SELF_MS, t0);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	CASE_UNTIL(&c, !c.store->beat_open);
	ck_assert(!store_may_release(c.store));
	ck_assert_uint_eq(c.deposed, 0);
}
END_TEST

START_TEST(before_its_first_beat_it_may_not_release)
{
	case_start(&c);
	ck_assert(!store_may_release(c.store));
	CASE_UNTIL(&c, c.ups == 1);
	ck_assert(store_may_release(c.store));
}
END_TEST

/* ---- what cannot go on ---- */

START_TEST(a_database_without_the_schema_is_fatal)
{
	house_newdb(c.super, "bare");
	house_conninfo("reeve_service", "bare", c.conninfo);
	case_start(&c);
	CASE_UNTIL(&c, c.fatals > 0);
	ck_assert_int_eq(c.fatal.kind, ERR_DB_SCHEMA);
	ck_assert_ptr_nonnull(strstr(c.fatal.text, "reeve migrate"));
	ck_assert_uint_eq(c.ups, 0);
}
END_TEST

START_TEST(tables_that_are_locked_for_a_while_are_not_fatal)
{
	sql(c.owner, "begin");
	sql(c.owner, "lock table reeve_store.runs, reeve_store.supervisors");
	case_start(&c);
	CASE_UNTIL(&c, store_stats(c.store)->lost >= 4);
	ck_assert_uint_eq(c.fatals, 0);
	sql(c.owner, "commit");
	CASE_UNTIL(&c, store_is_up(c.store));
	ck_assert_uint_eq(c.fatals, 0);
}
END_TEST

START_TEST(a_row_that_may_not_be_written_is_fatal)
{
	sql(c.owner,
	    "revoke insert on reeve_store.supervisors from reeve_service");
	case_start(&c);
	CASE_UNTIL(&c, c.fatals > 0);
	sql(c.owner, "grant insert on reeve_store.supervisors to "
		     "reeve_service");
	ck_assert_str_eq(c.fatal.sqlstate, "42501");
	ck_assert_uint_eq(c.ups, 0);
}
END_TEST

START_TEST(a_server_that_is_not_there_is_waited_for)
{
	house_conninfo("reeve_service", "nowhere", c.conninfo);
	case_start(&c);
	CASE_UNTIL(&c, store_stats(c.store)->lost >= 8);
	ck_assert_uint_eq(c.fatals, 0);
	ck_assert(!store_is_up(c.store));
	ck_assert(store_is_idle(c.store));
}
END_TEST

/* ---- goodbye ---- */

static void
on_bye(void *arg, const struct err *err)
{
	struct store_case *of = arg;

	of->byes++;
	of->bye = err == NULL ? (struct err){ 0 } : *err;
}

START_TEST(goodbye_gives_back_runs_and_row)
{
	case_runs(&c, 3);
	store_bye(c.store, on_bye, &c);
	CASE_UNTIL(&c, c.byes == 1);
	ck_assert_int_eq(c.bye.kind, ERR_NONE);
	sql_gives(c.owner, "3|0|0",
	    "select count(*) filter (where owner is null and wake_at <= "
	    "now()), count(*) filter (where step <> 7), (select count(*) from "
	    "reeve_store.supervisors) from reeve_store.runs");
}
END_TEST

START_TEST(a_goodbye_that_fails_says_why)
{
	case_runs(&c, 3);
	sql(c.owner, "begin");
	sql(c.owner, "select from reeve_store.runs for update");
	store_bye(c.store, on_bye, &c);
	CASE_UNTIL(&c, c.byes == 1);
	ck_assert_str_eq(c.bye.sqlstate, "55P03");
	ck_assert_uint_eq(c.fatals, 0);
	sql(c.owner, "rollback");
	sql_gives(c.owner, "1", "select count(*) from reeve_store.supervisors");
}
END_TEST

START_TEST(a_goodbye_without_a_connection_says_so_at_once)
{
	terminate("side");
	CASE_UNTIL(&c, !db_is_up(store_side(c.store)));
	store_bye(c.store, on_bye, &c);
	ck_assert_uint_eq(c.byes, 1);
	ck_assert_int_eq(c.bye.kind, ERR_DB_ENV);
}
END_TEST

START_TEST(an_end_in_the_middle_of_everything_is_quiet)
{
	case_runs(&c, 2);
	case_add(&c, case_job(&c, 0));
	store_flush(c.store);
	case_add(&c, case_job(&c, 1));
	c.store = store_free(c.store);
	ck_assert_uint_eq(c.answered, 0);
	ck_assert_ptr_null(store_free(NULL));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/store");
	TCase *t = tcase_create("up");

	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_test(t, four_sessions_carry_its_name);
	tcase_add_test(t, its_row_stands_when_it_is_up);
	tcase_add_test(t, a_row_that_somebody_deleted_deposes);
	tcase_add_test(t, a_new_side_session_is_told_but_is_not_the_first);
	tcase_add_test(t, old_side_sessions_are_ended_before_it_is_told);
	tcase_add_test(t, it_may_release_while_its_beat_is_fresh);
	tcase_add_test(t, a_beat_acknowledged_late_gives_no_lease);
	tcase_add_test(t, goodbye_gives_back_runs_and_row);
	tcase_add_test(t, a_goodbye_that_fails_says_why);
	tcase_add_test(t, a_goodbye_without_a_connection_says_so_at_once);
	tcase_add_test(t, an_end_in_the_middle_of_everything_is_quiet);
	suite_add_tcase(suite, t);

	t = tcase_create("start");
	tcase_add_checked_fixture(t, init_case, close_case);
	tcase_add_test(t, a_predecessor_of_its_name_goes_and_others_stay);
	tcase_add_test(
	    t, a_predecessor_that_cannot_be_removed_yet_is_waited_for);
	tcase_add_test(t, steps_wait_until_the_row_stands);
	tcase_add_test(t, before_its_first_beat_it_may_not_release);
	tcase_add_test(t, a_database_without_the_schema_is_fatal);
	tcase_add_test(t, tables_that_are_locked_for_a_while_are_not_fatal);
	tcase_add_test(t, a_row_that_may_not_be_written_is_fatal);
	tcase_add_test(t, a_server_that_is_not_there_is_waited_for);
	suite_add_tcase(suite, t);
	return house_main(suite, NULL);
}
