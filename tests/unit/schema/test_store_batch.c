/*
 * Group commit against a real server: what makes a batch, what becomes of a
 * step that the guard or the database refuses, and of the others with it.
 */
#include "tests/unit/schema/store_case.h"

static struct store_case c;

static void
open_case(void)
{
	case_open(&c);
	sql(c.super, "truncate trouble; alter sequence trouble_count restart");
}

static void
close_case(void)
{
	case_close(&c);
}

/* Inserting run n's item raises this, the first `times` times; late: at the
 * commit. */
static void
make_trouble(size_t n, const char *sqlstate, int times, bool late)
{
	sql(c.super,
	    "insert into trouble values ('{\"n\":%zu}', '%s', %d, "
	    "'%s')",
	    n, sqlstate, times, late ? "t" : "f");
}

/* Rows of run n, and the database that holds them, agree on what was done. */
#define STOOD                                                                  \
	"select r.step, r.state, (select count(*) from reeve_store.items i "   \
	"where i.run = r.id), t.state from reeve_store.runs r join "           \
	"reeve_store.turns t on t.run = r.id where r.id::text like '%%%04zx'"

static void
was_done(size_t n)
{
	sql_gives(c.owner, "8|model|1|done", STOOD, n);
}

static void
was_not_done(size_t n)
{
	sql_gives(c.owner, "7|model|0|dispatched", STOOD, n);
}

/* ---- what makes a batch ---- */

START_TEST(steps_of_many_runs_are_one_transaction)
{
	uint64_t batches = store_stats(c.store)->batches;

	case_runs(&c, 32);
	for (size_t n = 0; n < 32; n++)
		case_add(&c, case_job(&c, 31 - n));
	case_flush(&c, 32);
	for (size_t n = 0; n < 32; n++)
		job_is(&c.jobs[n], STORE_COMMITTED);
	ck_assert_uint_eq(store_stats(c.store)->batches, batches + 1);
	sql_gives(c.owner, "1|8|8|32",
	    "select count(distinct xmin::text), min(step), max(step), count(*) "
	    "from reeve_store.runs");
	sql_gives(c.owner, "1|32",
	    "select count(distinct xmin::text), count(*) from "
	    "reeve_store.items");
	ck_assert(store_is_idle(c.store));
}
END_TEST

START_TEST(a_batch_holds_no_more_runs_than_its_limit)
{
	uint64_t batches = store_stats(c.store)->batches;

	case_runs(&c, STORE_BATCH_RUNS + 1);
	for (size_t n = 0; n <= STORE_BATCH_RUNS; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, STORE_BATCH_RUNS + 1);
	ck_assert_uint_eq(store_stats(c.store)->batches, batches + 2);
	sql_gives(c.owner, "2|257",
	    "select count(distinct xmin::text), count(*) from "
	    "reeve_store.items");
}
END_TEST

/* Three steps by their sizes in MiB, and how many batches they make. */
static const struct {
	unsigned sizes[3], batches;
} weights[] = {
	{ { 1, 1, 1 }, 1 },
	{ { 2, 1, 2 }, 2 },
	{ { 3, 3, 3 }, 3 },
	{ { 6, 1, 1 }, 2 }, /* a bigger step goes alone */
	{ { 1, 6, 1 }, 2 },
};

START_TEST(a_batch_holds_no_more_bytes_than_its_limit)
{
	uint64_t batches = store_stats(c.store)->batches;

	case_runs(&c, 3);
	for (size_t n = 0; n < 3; n++) {
		struct step *step = &case_job(&c, n)->step;
		size_t len = (size_t)weights[_i].sizes[n] << 20;
		char *text = arena_new(&step->arena, len);

		memset(text, 'x', len);
		text[0] = text[len - 1] = '"';
		step->items[0].item = slice_of(text, len);
		step->bytes = len;
		case_add(&c, &c.jobs[n]);
	}
	case_flush(&c, 3);
	ck_assert_uint_eq(
	    store_stats(c.store)->batches, batches + weights[_i].batches);
	sql_gives(c.owner, "3",
	    "select count(*) from reeve_store.runs where step = 8");
}
END_TEST

START_TEST(what_comes_meanwhile_goes_with_the_next_batch)
{
	case_runs(&c, 3);
	case_add(&c, case_job(&c, 0));
	store_flush(c.store);
	case_add(&c, case_job(&c, 1));
	case_add(&c, case_job(&c, 2));
	store_flush(c.store); /* one is in flight: nothing happens */
	CASE_UNTIL(&c, c.answered == 3);
	sql_gives(c.owner, "1|2",
	    "select count(distinct xmin::text) filter (where idx = 0 and run "
	    "<> min), count(distinct xmin::text) from reeve_store.items, "
	    "(select run as min from reeve_store.items order by run limit 1) "
	    "m");
}
END_TEST

/* Steps of many runs come one by one: a batch waits for more of them. */
START_TEST(with_many_runs_a_batch_gathers_for_a_while)
{
	uint64_t now = 5000000, pace_ms = STORE_PACE_MAX_US / 1000;

	case_runs(&c, 3);
	store_set_runs(c.store, _i == 0 ? 10000 : 10);
	clock_set(now, now);
	case_add(&c, case_job(&c, 0));
	case_flush(&c, 1);
	case_add(&c, case_job(&c, 1));
	store_flush(c.store);
	ck_assert_int_eq(
	    (int)c.store->state, _i == 0 ? BATCH_IDLE : BATCH_SENT);
	case_add(&c, case_job(&c, 2));
	clock_set(now + pace_ms - 1, now);
	store_flush(c.store);
	ck_assert_int_eq(
	    (int)c.store->state, _i == 0 ? BATCH_IDLE : BATCH_SENT);
	clock_set(now + pace_ms, now);
	CASE_UNTIL(&c, c.answered == 3); /* by its own timer */
	clock_set(0, 0);
	sql_gives(c.owner, _i == 0 ? "2" : "3",
	    "select count(distinct xmin::text) from reeve_store.items");
}
END_TEST

/* ---- the guard ---- */

static const char *const moved[] = {
	"owner = gen_random_uuid()",
	"owner = null",
	"claim = claim + 1",
	"step = step + 1",
	"step = step - 1",
	"live = false, state = 'cancelled'",
};

START_TEST(a_run_that_was_moved_by_somebody_else_is_gone)
{
	case_runs(&c, 3);
	sql(c.owner,
	    "update reeve_store.runs set %s where id::text like "
	    "'%%0001'",
	    moved[_i]);
	for (size_t n = 0; n < 3; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 3);
	job_is(&c.jobs[0], STORE_COMMITTED);
	job_is(&c.jobs[1], STORE_GONE);
	job_is(&c.jobs[2], STORE_COMMITTED);
	was_done(0);
	was_done(2);
	sql_gives(c.owner, "0|dispatched",
	    "select (select count(*) from reeve_store.items where run = t.run),"
	    " state from reeve_store.turns t where run::text like '%%0001'");
}
END_TEST

START_TEST(a_step_sent_twice_is_done_once)
{
	case_runs(&c, 1);
	case_add(&c, case_job(&c, 0));
	case_flush(&c, 1);
	case_add(&c, case_job(&c, 0));
	case_flush(&c, 1);
	job_is(&c.jobs[0], STORE_GONE);
	was_done(0);
}
END_TEST

/* ---- data that the database refuses ---- */

static void
bad_json(struct step *step)
{
	step->items[0].item = SLICE("{\"n\":");
}

static void
bad_depth(struct step *step)
{
	char *text = arena_new(&step->arena, 400000);

	memset(text, '[', 200000);
	memset(text + 200000, ']', 200000);
	step->items[0].item = slice_of(text, 400000);
}

static void
bad_utf8(struct step *step)
{
	step->turn_end->error = SLICE("\xff");
}

static void
bad_nul(struct step *step)
{
	step->run.error = slice_of("a\0b", 3);
}

static void
bad_word(struct step *step)
{
	step->turn_end->state = "eaten";
}

static void
bad_state(struct step *step)
{
	step->run.state = "done";
}

static void
twice(struct step *step)
{
	struct item_row first = step->items[0];

	*step_add_item(step) = first;
}

static const struct {
	void (*spoil)(struct step *step);
	const char *sqlstate;
} spoilers[] = {
	{ bad_json, "22P02" },
	{ bad_depth, "54001" },
	{ bad_utf8, "22021" },
	{ bad_nul, "22021" },
	{ bad_word, "22P02" },
	{ bad_state, "22P02" },
	{ twice, "23505" },
};

#define FAILED                                                                 \
	"select r.step, r.state, r.reason, r.error, r.live, r.queued, "        \
	"r.finished_at is not null, r.waits_for, r.active_session, t.state, "  \
	"t.end_step, (select count(*) from reeve_store.items i where i.run = " \
	"r.id) from reeve_store.runs r join reeve_store.turns t on t.run = "   \
	"r.id where r.id::text like '%%%04zx'"

static void
was_failed(size_t n, const char *sqlstate, int items)
{
	char want[200];

	snprintf(want, sizeof(want),
	    "8|failed|data_error|the database refused the data of this step "
	    "(SQLSTATE %s)|f|f|t|||cancelled|8|%d",
	    sqlstate, items);
	sql_gives(c.owner, want, FAILED, n);
}

START_TEST(one_bad_run_among_many_fails_alone)
{
	const char *sqlstate = spoilers[_i].sqlstate;
	size_t count = _i == 0 ? STORE_BATCH_RUNS : 5, bad = count / 2;

	case_runs(&c, count);
	for (size_t n = 0; n < count; n++)
		case_add(&c, case_job(&c, n));
	spoilers[_i].spoil(&c.jobs[bad].step);
	case_flush(&c, (unsigned)count);
	for (size_t n = 0; n < count; n++)
		job_is(&c.jobs[n], n == bad ? STORE_BAD : STORE_COMMITTED);
	ck_assert_str_eq(c.jobs[bad].err.sqlstate, sqlstate);
	ck_assert_int_eq(c.jobs[bad].err.kind, ERR_DB_DATA);
	was_failed(bad, sqlstate, 0);
	was_done(0);
	sql_gives(c.owner, "t",
	    "select count(*) = %zu from reeve_store.runs where step = 8 and "
	    "state = 'model'",
	    count - 1);
	ck_assert(store_is_idle(c.store));
	ck_assert_uint_eq(c.fatals, 0);
}
END_TEST

/* Set aside, then alone, before it is believed. */
START_TEST(data_that_is_refused_once_only_is_taken)
{
	case_runs(&c, 3);
	make_trouble(1, "22023", 1, false);
	for (size_t n = 0; n < 3; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 3);
	for (size_t n = 0; n < 3; n++)
		job_is(&c.jobs[n], STORE_COMMITTED);
	was_done(1);
	ck_assert_uint_eq(store_stats(c.store)->set_aside, 1);
}
END_TEST

START_TEST(many_bad_runs_fail_each_alone)
{
	case_runs(&c, 20);
	for (size_t n = 0; n < 20; n++)
		case_add(&c, case_job(&c, n));
	for (size_t n = 0; n < 20; n += 4)
		bad_json(&c.jobs[n].step);
	case_flush(&c, 20);
	for (size_t n = 0; n < 20; n++)
		job_is(&c.jobs[n], n % 4 == 0 ? STORE_BAD : STORE_COMMITTED);
	sql_gives(c.owner, "5|15",
	    "select count(*) filter (where state = 'failed' and reason = "
	    "'data_error'), count(*) filter (where state = 'model' and step = "
	    "8) from reeve_store.runs");
}
END_TEST

START_TEST(a_failed_run_leaves_nothing_open)
{
	case_runs(&c, 1);
	sql(c.owner, "insert into reeve_store.tool_calls (run, turn, call, "
		     "item_idx, call_id, name, state, bound_step) select id, "
		     "1, n, n, 'c', 't', (array['queued', 'dispatched', "
		     "'done'])[n]::reeve_store.call_state, 5 from "
		     "reeve_store.runs, generate_series(1, 3) n");
	sql(c.owner, "insert into reeve_store.inbox (run, kind, key) select "
		     "id, 'cancel', '' from reeve_store.runs");
	sql(c.owner, "update reeve_store.runs set session = 's', "
		     "active_session = 's', wake_at = now(), needs = 'x'");
	bad_json(&case_job(&c, 0)->step);
	case_add(&c, &c.jobs[0]);
	case_flush(&c, 1);
	job_is(&c.jobs[0], STORE_BAD);
	was_failed(0, "22P02", 2);
	sql_gives(c.owner,
	    "cancelled|8|cancelled|t\ncancelled|8|cancelled|t\n"
	    "done|||f",
	    "select state, end_step, outcome, ended_at is not null from "
	    "reeve_store.tool_calls order by call");
	sql_gives(c.owner, "1|2|8|c\n2|2|8|c",
	    "select idx, category, step, item ->> 'call_id' from "
	    "reeve_store.items order by idx");
	sql_gives(c.owner, "0", "select count(*) from reeve_store.inbox");
	sql_gives(c.owner, "t|t",
	    "select wake_at is null, needs is null from reeve_store.runs");
}
END_TEST

/* By the time it is to be failed, somebody else has it. */
START_TEST(a_bad_run_that_moved_on_is_not_failed)
{
	case_runs(&c, 1);
	sql(c.owner, "update reeve_store.runs set claim = claim + 1");
	bad_json(&case_job(&c, 0)->step);
	case_add(&c, &c.jobs[0]);
	case_flush(&c, 1);
	job_is(&c.jobs[0], STORE_GONE);
	was_not_done(0);
}
END_TEST

START_TEST(a_step_larger_than_any_buffer_fails_its_run)
{
	case_runs(&c, 2);
	case_add(&c, case_job(&c, 0));
	case_job(&c, 1)->step.bytes = DB_PARAMS_BYTES;
	case_add(&c, &c.jobs[1]);
	case_flush(&c, 2);
	job_is(&c.jobs[0], STORE_COMMITTED);
	job_is(&c.jobs[1], STORE_BAD);
	was_done(0);
	was_failed(1, "54000", 0);
}
END_TEST

/* ---- new runs ---- */

START_TEST(a_new_run_is_inserted_with_its_first_step)
{
	struct step *step = &case_accept(&c, 0)->step;

	step->priority = -7;
	step->session = SLICE("s");
	step->metadata = SLICE("{\"a\":1}");
	step->run.waits_for = SLICE("a free worker");
	case_add(&c, &c.jobs[0]);
	case_flush(&c, 1);
	job_is(&c.jobs[0], STORE_COMMITTED);
	sql_gives(c.owner,
	    "t|a|1|s|s|-7|{\"a\":1}|model|a free worker|t|1|1|t|"
	    "f|t|t|0",
	    "select root = id, agent, agent_version, session, active_session, "
	    "priority, metadata, state, waits_for, owner = '%s', claim, step, "
	    "live, queued, started_at is not null, finished_at is null, "
	    "strikes from reeve_store.runs",
	    c.me_text);
	sql_gives(c.owner, "0|0|0|1|{\"n\":0}",
	    "select turn, category, idx, step, item from reeve_store.items");
}
END_TEST

START_TEST(a_new_run_that_exists_already_is_left_as_it_is)
{
	case_add(&c, case_accept(&c, 0));
	case_flush(&c, 1);
	case_add(&c, case_accept(&c, 0));
	c.jobs[0].step.priority = 50;
	case_flush(&c, 1);
	job_is(&c.jobs[0], STORE_GONE);
	sql_gives(c.owner, "1|0|1",
	    "select count(*), max(priority), (select count(*) from "
	    "reeve_store.items) from reeve_store.runs");
}
END_TEST

START_TEST(a_new_run_with_bad_data_is_not_accepted)
{
	case_add(&c, case_accept(&c, 0));
	case_add(&c, case_accept(&c, 1));
	case_add(&c, case_accept(&c, 2));
	bad_json(&c.jobs[1].step);
	case_accept(&c, 3)->step.bytes = DB_PARAMS_BYTES;
	case_add(&c, &c.jobs[3]);
	case_flush(&c, 4);
	job_is(&c.jobs[0], STORE_COMMITTED);
	job_is(&c.jobs[1], STORE_BAD);
	job_is(&c.jobs[2], STORE_COMMITTED);
	job_is(&c.jobs[3], STORE_BAD);
	ck_assert_str_eq(c.jobs[1].err.sqlstate, "22P02");
	sql_gives(c.owner, "0000\n0002",
	    "select right(id::text, 4) from reeve_store.runs order by id");
}
END_TEST

/* ---- errors that pass ---- */

START_TEST(a_run_whose_row_is_locked_waits_and_the_others_go_on)
{
	case_runs(&c, 3);
	sql(c.owner, "begin");
	sql(c.owner, "select from reeve_store.runs where id::text like "
		     "'%%0001' for update");
	for (size_t n = 0; n < 3; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 2);
	job_is(&c.jobs[0], STORE_COMMITTED);
	job_is(&c.jobs[2], STORE_COMMITTED);
	ck_assert_uint_eq(c.jobs[1].answers, 0);
	sql(c.owner, "commit");
	CASE_UNTIL(&c, c.answered == 3);
	job_is(&c.jobs[1], STORE_COMMITTED);
	was_done(1);
	ck_assert_uint_ge(c.jobs[1].entry.tries, 1);
}
END_TEST

static const char *const passing[] = { "40001", "40P01", "55P03" };

START_TEST(a_conflict_is_tried_again_later)
{
	case_runs(&c, 3);
	make_trouble(1, passing[_i], 3, false);
	make_trouble(2, passing[_i], 2, false);
	for (size_t n = 0; n < 3; n++)
		case_add(&c, case_job(&c, n));
	/* Nothing but the store's own timers turns the loop on. */
	uv_timer_stop(&c.ticker);
	case_flush(&c, 3);
	for (size_t n = 0; n < 3; n++) {
		job_is(&c.jobs[n], STORE_COMMITTED);
		was_done(n);
	}
}
END_TEST

static const char *const environment[] = { "53200", "53100", "57014", "58030",
	"XX000" };

START_TEST(trouble_of_the_server_is_waited_for)
{
	case_runs(&c, 3);
	make_trouble(1, environment[_i], 2, false);
	for (size_t n = 0; n < 3; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 3);
	for (size_t n = 0; n < 3; n++) {
		job_is(&c.jobs[n], STORE_COMMITTED);
		was_done(n);
	}
	ck_assert_uint_eq(c.fatals, 0);
}
END_TEST

/* One statement that never goes through must not keep the others from it. */
START_TEST(trouble_with_one_run_does_not_hold_the_others)
{
	case_runs(&c, 12);
	make_trouble(0, "XX000", 1000000, false);
	for (size_t n = 0; n < 12; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 11);
	for (size_t n = 1; n < 12; n++)
		job_is(&c.jobs[n], STORE_COMMITTED);
	was_not_done(0);
	ck_assert(c.jobs[0].entry.alone);
	/* Nor those that come later. */
	sql(c.owner, "update reeve_store.runs set step = 7, claim = 3");
	sql(c.owner, "delete from reeve_store.items");
	for (size_t n = 1; n < 4; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 3);
	sql(c.super, "truncate trouble");
	CASE_UNTIL(&c, c.jobs[0].answers == 1);
	job_is(&c.jobs[0], STORE_COMMITTED);
	was_done(0);
}
END_TEST

/* ---- statements that do not fit ---- */

static const char *const misfits[] = { "42703", "42501", "0A000", "26000" };

START_TEST(statements_are_prepared_anew_once)
{
	case_runs(&c, 2);
	make_trouble(1, misfits[_i], 1, false);
	case_add(&c, case_job(&c, 0));
	case_add(&c, case_job(&c, 1));
	case_flush(&c, 2);
	was_done(0);
	was_done(1);
	ck_assert_uint_eq(c.fatals, 0);
}
END_TEST

START_TEST(statements_that_still_do_not_fit_end_it_loudly)
{
	case_runs(&c, 1);
	make_trouble(0, "42703", 1000000, false);
	case_add(&c, case_job(&c, 0));
	store_flush(c.store);
	CASE_UNTIL(&c, c.fatals == 1);
	ck_assert_int_eq(c.fatal.kind, ERR_DB_SCHEMA);
	ck_assert_str_eq(c.fatal.sqlstate, "42703");
	ck_assert_uint_eq(store_stats(c.store)->failed_batches, 2);
	was_not_done(0);
}
END_TEST

/* ---- the commit itself fails ---- */

START_TEST(a_run_that_spoils_the_commit_is_found_by_halving)
{
	case_runs(&c, 24);
	make_trouble(_i == 0 ? 0 : 17, "23514", 1000000, true);
	for (size_t n = 0; n < 24; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 24);
	for (size_t n = 0; n < 24; n++)
		job_is(&c.jobs[n],
		    n == (_i == 0 ? 0 : 17) ? STORE_BAD : STORE_COMMITTED);
	was_failed(_i == 0 ? 0 : 17, "23514", 0);
}
END_TEST

START_TEST(a_commit_that_fails_for_a_while_is_tried_again)
{
	case_runs(&c, 3);
	make_trouble(1, _i == 0 ? "40001" : "53100", 2, true);
	for (size_t n = 0; n < 3; n++)
		case_add(&c, case_job(&c, n));
	case_flush(&c, 3);
	for (size_t n = 0; n < 3; n++)
		job_is(&c.jobs[n], STORE_COMMITTED);
	was_done(1);
}
END_TEST

/* ---- */

/* Rows that raise what a test asks for. */
static const char trouble[] =
    "create table trouble (item text, sqlstate text, times int, late bool);"
    "create sequence trouble_count;"
    "create function trouble() returns trigger language plpgsql security "
    "definer as $$ declare t trouble; begin"
    " select * into t from trouble where item = new.item::text and late = "
    "(tg_argv[0] = 'late');"
    " if found and nextval('trouble_count') <= t.times then"
    "  raise exception 'trouble' using errcode = t.sqlstate; end if;"
    " return new; end $$;"
    "create trigger trouble before insert on reeve_store.items for each row "
    "execute function trouble('now');"
    "create constraint trigger late after insert on reeve_store.items "
    "deferrable initially deferred for each row execute function "
    "trouble('late')";

static void
add_batches(Suite *suite)
{
	TCase *t = tcase_create("batches");

	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_test(t, steps_of_many_runs_are_one_transaction);
	tcase_add_test(t, a_batch_holds_no_more_runs_than_its_limit);
	tcase_add_loop_test(
	    t, a_batch_holds_no_more_bytes_than_its_limit, 0, COUNT(weights));
	tcase_add_test(t, what_comes_meanwhile_goes_with_the_next_batch);
	tcase_add_loop_test(
	    t, with_many_runs_a_batch_gathers_for_a_while, 0, 2);
	suite_add_tcase(suite, t);

	t = tcase_create("guard");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, a_run_that_was_moved_by_somebody_else_is_gone, 0, COUNT(moved));
	tcase_add_test(t, a_step_sent_twice_is_done_once);
	suite_add_tcase(suite, t);

	t = tcase_create("new runs");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_test(t, a_new_run_is_inserted_with_its_first_step);
	tcase_add_test(t, a_new_run_that_exists_already_is_left_as_it_is);
	tcase_add_test(t, a_new_run_with_bad_data_is_not_accepted);
	suite_add_tcase(suite, t);
}

static void
add_errors(Suite *suite)
{
	TCase *t = tcase_create("bad data");

	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, one_bad_run_among_many_fails_alone, 0, COUNT(spoilers));
	tcase_add_test(t, data_that_is_refused_once_only_is_taken);
	tcase_add_test(t, many_bad_runs_fail_each_alone);
	tcase_add_test(t, a_failed_run_leaves_nothing_open);
	tcase_add_test(t, a_bad_run_that_moved_on_is_not_failed);
	tcase_add_test(t, a_step_larger_than_any_buffer_fails_its_run);
	suite_add_tcase(suite, t);

	t = tcase_create("passing errors");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_test(t, a_run_whose_row_is_locked_waits_and_the_others_go_on);
	tcase_add_loop_test(
	    t, a_conflict_is_tried_again_later, 0, COUNT(passing));
	tcase_add_loop_test(
	    t, trouble_of_the_server_is_waited_for, 0, COUNT(environment));
	tcase_add_test(t, trouble_with_one_run_does_not_hold_the_others);
	suite_add_tcase(suite, t);

	t = tcase_create("misfits");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, statements_are_prepared_anew_once, 0, COUNT(misfits));
	tcase_add_test(t, statements_that_still_do_not_fit_end_it_loudly);
	suite_add_tcase(suite, t);

	t = tcase_create("failed commits");
	tcase_add_checked_fixture(t, open_case, close_case);
	tcase_add_loop_test(
	    t, a_run_that_spoils_the_commit_is_found_by_halving, 0, 2);
	tcase_add_loop_test(
	    t, a_commit_that_fails_for_a_while_is_tried_again, 0, 2);
	suite_add_tcase(suite, t);
}

int
main(void)
{
	Suite *suite = suite_create("schema/store_batch");

	add_batches(suite);
	add_errors(suite);
	return house_main(suite, trouble);
}
