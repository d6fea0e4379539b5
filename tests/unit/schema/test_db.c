/*
 * One connection on the loop: what is sent is answered once and in order,
 * whatever happens to the server in between.
 * needs: fork
 */
#include "schema/db.h"

#include "base/clock.h"
#include "tests/unit/schema/house.h"

#define WAIT_NS (UINT64_C(20) * 1000 * 1000 * 1000)
#define MANY    500

struct answer {
	unsigned given;
	enum err_kind kind; /* ERR_NONE: a result */
	bool aborted;
	char sqlstate[6];
	int64_t number;
	unsigned order;
};

static struct loop loop;
static struct db *db;
static struct answer answers[MANY], syncs[MANY];
static unsigned ups, downs, count;
static struct err last_down;
static char conninfo[HOUSE_CONNINFO];
static uv_timer_t ticker;
static PGconn *super;

/* ---- what the connection tells ---- */

static void
on_up(void *arg)
{
	(void)arg;
	ups++;
}

static void
on_down(void *arg, const struct err *err)
{
	(void)arg;
	downs++;
	last_down = *err;
}

static void
take(struct answer *answer, bool aborted, const struct err *err)
{
	answer->given++;
	answer->order = count++;
	answer->aborted = aborted;
	answer->kind = err == NULL ? ERR_NONE : err->kind;
	if (err != NULL)
		memcpy(answer->sqlstate, err->sqlstate, 6);
}

static void
on_result(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct answer *answer = arg;

	ck_assert((result == NULL) == (err != NULL));
	take(answer, aborted, err);
	if (result != NULL && PQntuples(result) > 0)
		answer->number = db_get_int(result, 0, 0);
}

static void
on_synced(void *arg, const struct err *err)
{
	take(arg, false, err);
}

/* ---- a connection of the side kind ---- */

static void
on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void
open_loop(void)
{
	struct err err = { 0 };

	memset(answers, 0, sizeof(answers));
	memset(syncs, 0, sizeof(syncs));
	ups = downs = count = 0;
	super = house_connect("postgres", "reeve");
	house_empty(super);
	house_conninfo("reeve_service", "reeve", conninfo);
	ck_assert_int_eq(loop_init(&loop, &err), 0);
	uv_timer_init(&loop.uv, &ticker);
	uv_timer_start(&ticker, on_tick, 5, 5);
}

static void
open_side(void)
{
	db = db_new(&(struct db_config){
	    .loop = &loop,
	    .conninfo = conninfo,
	    .application = "test side",
	    .use = DB_SIDE,
	    .on_up = on_up,
	    .on_down = on_down,
	});
}

#define UNTIL(condition)                                                       \
	do {                                                                   \
		uint64_t began_ = uv_hrtime();                                 \
		while (!(condition)) {                                         \
			uv_run(&loop.uv, UV_RUN_ONCE);                         \
			ck_assert_msg(uv_hrtime() - began_ < WAIT_NS,          \
			    "never: " #condition);                             \
		}                                                              \
	} while (0)

static void
open_db(void)
{
	open_loop();
	open_side();
	UNTIL(db_is_up(db));
}

static void
close_db(void)
{
	db = db_free(db);
	loop_release(&loop);
	PQfinish(super);
}

/* ---- statements ---- */

/* Version i + 1 of an agent; the answer is that number. */
static void
put_agent(struct answer *answer, unsigned i, struct slice definition)
{
	struct db_params p = DB_PARAMS_INIT;
	char name[20];

	snprintf(name, sizeof(name), "a%u", i);
	db_text(&p, slice_string(name));
	db_bytes(&p, definition);
	db_send(db, QUERY_agent_put, &p, on_result, answer);
	db_params_release(&p);
}

static void
put_good(struct answer *answer, unsigned i)
{
	put_agent(answer, i, SLICE("{}"));
}

static void
put_bad(struct answer *answer, unsigned i)
{
	put_agent(answer, i, SLICE("{"));
}

static void
agents_are(const char *want)
{
	sql_gives(super, want, "select count(*) from reeve_store.agents");
}

/* ---- order ---- */

START_TEST(answers_come_once_and_in_order)
{
	for (unsigned i = 0; i < MANY; i++) {
		put_good(&answers[i], i % 10);
		if (i % 50 == 49)
			db_sync(db, on_synced, &syncs[i]);
	}
	UNTIL(syncs[MANY - 1].given);
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_uint_eq(answers[i].given, 1);
		ck_assert_int_eq(answers[i].kind, ERR_NONE);
		ck_assert_int_eq(answers[i].number, 1);
		ck_assert_uint_eq(answers[i].order, i + i / 50);
	}
	agents_are("10");
}
END_TEST

START_TEST(an_error_stops_the_rest_of_its_transaction_only)
{
	put_good(&answers[0], 0);
	put_bad(&answers[1], 1);
	put_good(&answers[2], 2);
	db_sync(db, on_synced, &syncs[0]);
	put_good(&answers[3], 3);
	db_sync(db, on_synced, &syncs[1]);
	UNTIL(syncs[1].given);
	ck_assert_int_eq(answers[0].kind, ERR_NONE);
	ck_assert_int_eq(answers[1].kind, ERR_DB_DATA);
	ck_assert_str_eq(answers[1].sqlstate, "22P02");
	ck_assert(!answers[1].aborted);
	ck_assert(answers[2].aborted);
	ck_assert_int_eq(answers[3].kind, ERR_NONE);
	ck_assert_int_eq(syncs[0].kind, ERR_NONE);
	ck_assert_int_eq(syncs[1].kind, ERR_NONE);
	agents_are("1");
	ck_assert_uint_eq(downs, 0);
}
END_TEST

START_TEST(an_error_of_the_commit_is_told_at_the_sync)
{
	sql(super, "create function late() returns trigger language plpgsql as "
		   "$$ begin raise exception 'late' using errcode = '23514'; "
		   "end $$; create constraint trigger late after insert on "
		   "reeve_store.agents deferrable initially deferred for each "
		   "row execute function late()");
	for (unsigned i = 0; i < 3; i++) {
		put_good(&answers[i], i);
		db_sync(db, on_synced, &syncs[i]);
	}
	UNTIL(syncs[2].given);
	sql(super,
	    "set client_min_messages = error; drop function late() cascade");
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(answers[i].kind, ERR_NONE);
		ck_assert_uint_eq(syncs[i].given, 1);
		ck_assert_int_eq(syncs[i].kind, ERR_DB_DATA);
		ck_assert_str_eq(syncs[i].sqlstate, "23514");
	}
	put_good(&answers[3], 3);
	db_sync(db, on_synced, &syncs[3]);
	UNTIL(syncs[3].given);
	ck_assert_int_eq(syncs[3].kind, ERR_NONE);
	agents_are("1");
}
END_TEST

/* Larger than any socket buffer: written in pieces. */
START_TEST(a_large_statement_goes_out_in_pieces)
{
	size_t len = 24u << 20;
	char *text = mem_new(len);

	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	put_agent(&answers[0], 0, slice_of(text, len));
	put_good(&answers[1], 1);
	db_sync(db, on_synced, &syncs[0]);
	mem_free(text);
	UNTIL(syncs[0].given);
	ck_assert_int_eq(answers[0].kind, ERR_NONE);
	ck_assert_int_eq(answers[1].kind, ERR_NONE);
	sql_gives(super, "25165824",
	    "select max(length(definition::text)) from reeve_store.agents");
}
END_TEST

/* ---- loss ---- */

static void
terminate(void)
{
	sql(super, "select pg_terminate_backend(pid) from pg_stat_activity "
		   "where application_name = 'test side'");
}

START_TEST(what_is_sent_while_down_fails_at_once)
{
	db = db_free(db);
	open_side();
	put_good(&answers[0], 0);
	db_sync(db, on_synced, &syncs[0]);
	ck_assert_uint_eq(answers[0].given, 1);
	ck_assert_int_eq(answers[0].kind, ERR_DB_ENV);
	ck_assert_uint_eq(syncs[0].given, 1);
	ck_assert_int_eq(syncs[0].kind, ERR_DB_ENV);
	ck_assert_str_eq(syncs[0].sqlstate, "");
	UNTIL(db_is_up(db));
	agents_are("0");
}
END_TEST

/* The server ends the session at one of many moments: before, while and after
 * the statements are sent. */
START_TEST(everything_that_waits_is_told_of_a_loss_once)
{
	unsigned n = 40;

	for (unsigned i = 0; i < n; i++) {
		if (i == (unsigned)_i * 4)
			terminate();
		put_good(&answers[i], i);
		if (i % 8 == 7)
			db_sync(db, on_synced, &syncs[i]);
		if (i % 16 == 15)
			uv_run(&loop.uv, UV_RUN_NOWAIT);
	}
	if (_i * 4 >= 40)
		terminate();
	UNTIL(downs == 1);
	UNTIL(db_is_up(db));
	ck_assert_uint_eq(ups, 2);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_eq(answers[i].given, 1);
		ck_assert(answers[i].kind == ERR_NONE ||
			  answers[i].kind == ERR_DB_ENV || answers[i].aborted);
		if (i % 8 != 7)
			continue;
		ck_assert_uint_eq(syncs[i].given, 1);
		/* A commit that was not seen has no SQLSTATE. */
		ck_assert(
		    syncs[i].kind == ERR_NONE || syncs[i].sqlstate[0] == '\0');
	}
	put_good(&answers[n], n);
	db_sync(db, on_synced, &syncs[n]);
	UNTIL(syncs[n].given);
	ck_assert_int_eq(syncs[n].kind, ERR_NONE);
}
END_TEST

/* libpq finds it when it writes, and closes the socket under the poll. */
START_TEST(a_connection_that_breaks_while_sending_is_lost)
{
	int fds[HOUSE_SOCKETS];

	ck_assert_int_eq(house_sockets(fds, super, NULL), 1);
	ck_assert_int_eq(shutdown(fds[0], SHUT_RDWR), 0);
	put_good(&answers[0], 0);
	db_sync(db, on_synced, &syncs[0]);
	ck_assert_uint_eq(downs, 0); /* never inside the caller */
	put_good(&answers[1], 1);
	db_sync(db, on_synced, &syncs[1]);
	UNTIL(downs == 1);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(answers[i].given, 1);
		ck_assert_int_eq(answers[i].kind, ERR_DB_ENV);
		ck_assert_uint_eq(syncs[i].given, 1);
		ck_assert_str_eq(syncs[i].sqlstate, "");
	}
	UNTIL(db_is_up(db));
	agents_are("0");
}
END_TEST

START_TEST(a_reset_tells_everybody_and_opens_a_new_session)
{
	put_good(&answers[0], 0);
	db_sync(db, on_synced, &syncs[0]);
	db_reset(db);
	ck_assert(!db_is_up(db));
	ck_assert_int_eq(answers[0].kind, ERR_DB_ENV);
	ck_assert_int_eq(syncs[0].kind, ERR_DB_ENV);
	ck_assert_uint_eq(downs, 1);
	db_reset(db); /* nothing is open: nothing happens */
	ck_assert_uint_eq(downs, 1);
	UNTIL(db_is_up(db));
	ck_assert_uint_eq(answers[0].given, 1);
}
END_TEST

START_TEST(nobody_is_told_of_the_end)
{
	put_good(&answers[0], 0);
	db_sync(db, on_synced, &syncs[0]);
	db = db_free(db);
	ck_assert_uint_eq(answers[0].given + syncs[0].given + downs, 0);
	ck_assert_ptr_null(db_free(NULL));
}
END_TEST

START_TEST(a_server_that_comes_back_is_found)
{
	char out[HOUSE_CONNINFO];

	house_cluster(out, sizeof(out), "halt", NULL);
	UNTIL(downs >= 3);
	ck_assert_int_eq(last_down.kind, ERR_DB_ENV);
	ck_assert_ptr_null(strchr(last_down.text, '\n'));
	house_cluster(out, sizeof(out), "start", NULL);
	UNTIL(db_is_up(db));
	PQreset(super);
}
END_TEST

/* ---- schemas ---- */

START_TEST(a_database_without_the_schema_says_what_to_do)
{
	house_newdb(super, "bare");
	house_conninfo("reeve_service", "bare", conninfo);
	open_side();
	UNTIL(downs == 1);
	ck_assert_int_eq(last_down.kind, ERR_DB_SCHEMA);
	ck_assert_ptr_nonnull(strstr(last_down.text, "reeve migrate"));
	ck_assert_uint_eq(ups, 0);
	house_migrate("bare");
	UNTIL(db_is_up(db));
}
END_TEST

/* Somebody has the table for a while: no reason to speak of the schema. */
START_TEST(a_locked_table_is_waited_for)
{
	sql(super, "begin; lock table reeve_store.runs");
	open_side();
	UNTIL(downs == 1);
	ck_assert_msg(last_down.kind != ERR_DB_SCHEMA, "%s", last_down.text);
	ck_assert_uint_eq(ups, 0);
	sql(super, "rollback");
	UNTIL(db_is_up(db));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/db");
	TCase *c = tcase_create("order");

	tcase_add_checked_fixture(c, open_db, close_db);
	tcase_add_test(c, answers_come_once_and_in_order);
	tcase_add_test(c, an_error_stops_the_rest_of_its_transaction_only);
	tcase_add_test(c, an_error_of_the_commit_is_told_at_the_sync);
	tcase_add_test(c, a_large_statement_goes_out_in_pieces);
	suite_add_tcase(suite, c);

	c = tcase_create("loss");
	tcase_add_checked_fixture(c, open_db, close_db);
	tcase_add_test(c, what_is_sent_while_down_fails_at_once);
	tcase_add_loop_test(
	    c, everything_that_waits_is_told_of_a_loss_once, 0, 11);
	tcase_add_test(c, a_connection_that_breaks_while_sending_is_lost);
	tcase_add_test(c, a_reset_tells_everybody_and_opens_a_new_session);
	tcase_add_test(c, nobody_is_told_of_the_end);
	tcase_add_test(c, a_server_that_comes_back_is_found);
	suite_add_tcase(suite, c);

	c = tcase_create("schemas");
	tcase_add_checked_fixture(c, open_loop, close_db);
	tcase_add_test(c, a_database_without_the_schema_says_what_to_do);
	tcase_add_test(c, a_locked_table_is_waited_for);
	suite_add_tcase(suite, c);
	return house_main(suite, NULL);
}
