/*
 * A store under test: its loop, its database, the steps given to it and what
 * became of each. The loop is turned until something is so, never for a time.
 */
#ifndef TESTS_UNIT_SCHEMA_STORE_CASE_H
#define TESTS_UNIT_SCHEMA_STORE_CASE_H

#include "base/clock.h"
#include "schema/store_internal.h"
#include "tests/unit/schema/house.h"
#include "tests/unit/schema/store_job.h"

#define CASE_RUNS    300u
#define CASE_WAIT_NS (UINT64_C(20) * 1000 * 1000 * 1000)
#define CASE_CLAIM   3u
#define CASE_STEP    7u

struct store_case {
	struct loop loop;
	struct store *store;
	struct uuid me;
	char me_text[UUID_TEXT];
	char conninfo[HOUSE_CONNINFO];
	struct job jobs[CASE_RUNS];
	unsigned answered;
	unsigned ups, firsts, deposed, rewound, fatals, byes;
	struct err fatal, bye;
	PGconn *owner, *super;
	uv_timer_t ticker; /* so that a turn of the loop ends */
};

/* ---- what the store tells ---- */

static inline void
case_on_answer(void *arg, struct store_entry *entry, enum store_answer answer)
{
	struct store_case *c = arg;
	struct job *job = CONTAINER_OF(entry, struct job, entry);

	job->answers++;
	job->answer = answer;
	job->err = entry->err;
	c->answered++;
}

static inline void
case_on_side_up(void *arg, bool first)
{
	struct store_case *c = arg;

	c->ups++;
	c->firsts += first;
}

static inline void
case_on_deposed(void *arg)
{
	struct store_case *c = arg;

	c->deposed++;
}

static inline void
case_on_rewound(void *arg)
{
	struct store_case *c = arg;

	c->rewound++;
}

static inline void
case_on_fatal(void *arg, const struct err *err)
{
	struct store_case *c = arg;

	c->fatals++;
	c->fatal = *err;
}

/* ---- turning the loop ---- */

static inline void
case_on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static inline bool
case_turn(struct store_case *c, uint64_t began_ns)
{
	uv_run(&c->loop.uv, UV_RUN_ONCE);
	return uv_hrtime() - began_ns < CASE_WAIT_NS;
}

/* Turns the loop until the condition holds; fails when it never does. */
#define CASE_UNTIL(c, condition)                                               \
	do {                                                                   \
		uint64_t began_ns_ = uv_hrtime();                              \
		while (!(condition))                                           \
			ck_assert_msg(                                         \
			    case_turn(c, began_ns_), "never: " #condition);    \
	} while (0)

/* Turns the loop until the query gives true. */
static inline void
case_until_sql(struct store_case *c, const char *query)
{
	uint64_t began_ns = uv_hrtime();
	bool yes = false;

	while (!yes) {
		char *got = sql_text(c->super, "%s", query);

		yes = strcmp(got, "t") == 0;
		mem_free(got);
		ck_assert_msg(case_turn(c, began_ns), "never true: %s", query);
	}
}

/* ---- life ---- */

/* Without a store: an empty database. */
static inline void
case_init(struct store_case *c)
{
	struct err err = { 0 };

	memset(c, 0, sizeof(*c));
	c->owner = house_connect("reeve_owner", "reeve");
	c->super = house_connect("postgres", "reeve");
	house_empty(c->owner);
	c->me = uuid_v4();
	uuid_text(&c->me, c->me_text);
	house_conninfo("reeve_service", "reeve", c->conninfo);
	ck_assert_int_eq(loop_init(&c->loop, &err), 0);
	uv_timer_init(&c->loop.uv, &c->ticker);
	uv_timer_start(&c->ticker, case_on_tick, 5, 5);
}

static inline void
case_start(struct store_case *c)
{
	c->store = store_new(&(struct store_config){
	    .loop = &c->loop,
	    .conninfo = c->conninfo,
	    .supervisor = c->me,
	    .name = "test",
	    .host = "here",
	    .on_answer = case_on_answer,
	    .on_side_up = case_on_side_up,
	    .on_deposed = case_on_deposed,
	    .on_rewound = case_on_rewound,
	    .on_fatal = case_on_fatal,
	    .arg = c,
	});
}

/* Up, and nothing is on its way on any connection. */
static inline bool
case_is_quiet(const struct store_case *c)
{
	for (int use = 0; use < DB_USES; use++) {
		if (!db_is_up(c->store->db[use]))
			return false;
	}
	return store_is_up(c->store) && store_may_release(c->store) &&
	       c->store->state == BATCH_IDLE && !c->store->beat_open;
}

static inline void
case_open(struct store_case *c)
{
	case_init(c);
	case_start(c);
	CASE_UNTIL(c, case_is_quiet(c));
}

static inline void
case_close(struct store_case *c)
{
	store_free(c->store);
	house_rows_hold(c->owner);
	loop_release(&c->loop);
	for (size_t i = 0; i < CASE_RUNS; i++)
		step_release(&c->jobs[i].step);
	PQfinish(c->owner);
	PQfinish(c->super);
}

/* ---- runs and steps ---- */

static inline struct uuid
case_id(size_t n)
{
	struct uuid id = { { 0x01, 0x90, 0xb0, 0xa1, 0x11, 0x22, 0x70, 0x00,
	    0x80 } };

	id.bytes[14] = (uint8_t)(n >> 8);
	id.bytes[15] = (uint8_t)n;
	return id;
}

/* Rows of `count` runs that I own, each with one open turn. */
static inline void
case_runs(struct store_case *c, size_t count)
{
	struct uuid id = case_id(0);
	char first[UUID_TEXT];

	uuid_text(&id, first);
	sql(c->owner,
	    "insert into reeve_store.runs (id, root, agent, agent_version, "
	    "state, queued, owner, claim, step, turn) select id, id, 'a', 1, "
	    "'model', false, '%s', %u, %u, 1 from (select (left('%s', 32) || "
	    "lpad(to_hex(n), 4, '0'))::uuid as id from generate_series(0, %d) "
	    "n) i",
	    c->me_text, CASE_CLAIM, CASE_STEP, first, (int)count - 1);
	sql(c->owner,
	    "insert into reeve_store.turns (run, turn, attempt, state, worker, "
	    "process, worker_session, model, start_step, queued_at) select id, "
	    "1, 1, 'dispatched', 'w', '%s', 1, 'm', %u, now() from "
	    "reeve_store.runs",
	    c->me_text, CASE_STEP);
}

/* Step n: the answer of run n's turn, one item; the run goes on. */
static inline struct job *
case_job(struct store_case *c, size_t n)
{
	struct job *job = &c->jobs[n];
	struct step *step = &job->step;
	struct item_row *item;

	step_release(step);
	step->run_id = case_id(n);
	step->claim = CASE_CLAIM;
	step->step = CASE_STEP;
	step->run = (struct run_row){ .state = "model", .turn = 1 };
	step->turn_end = ARENA_NEW(&step->arena, struct turn_end_row);
	*step->turn_end =
	    (struct turn_end_row){ .turn = 1, .attempt = 1, .state = "done" };
	snprintf(job->item, sizeof(job->item), "{\"n\":%zu}", n);
	item = step_add_item(step);
	*item = (struct item_row){ .turn = 1,
		.category = ITEM_RESPONSE,
		.type = SLICE("message"),
		.item = slice_string(job->item) };
	step->bytes = item->item.len;
	job->answers = 0;
	return job;
}

/* A new run instead of a step. */
static inline struct job *
case_accept(struct store_case *c, size_t n)
{
	struct job *job = case_job(c, n);
	struct step *step = &job->step;

	step->accept = true;
	step->claim = 1;
	step->step = 0;
	step->agent = SLICE("a");
	step->agent_version = 1;
	step->turn_end = NULL;
	step->items[0].turn = 0;
	step->items[0].category = ITEM_INPUT;
	return job;
}

static inline void
case_add(struct store_case *c, struct job *job)
{
	store_add(c->store, &job->entry, &job->step);
}

/* Sends what was added and waits until `count` more are answered. */
static inline void
case_flush(struct store_case *c, unsigned count)
{
	unsigned before = c->answered;

	store_flush(c->store);
	CASE_UNTIL(c, c->answered >= before + count);
	ck_assert_uint_eq(c->answered, before + count);
}

#endif
