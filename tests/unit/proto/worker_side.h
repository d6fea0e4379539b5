/*
 * The work behind a worker's callbacks, a clock that only the test moves, and
 * the fixtures of tests that play both sides.
 */
#ifndef TESTS_UNIT_PROTO_WORKER_SIDE_H
#define TESTS_UNIT_PROTO_WORKER_SIDE_H

#include "base/clock.h"
#include "tests/unit/proto/supervisor_asks.h"
#include "tests/unit/suite.h"

#include <zmq.h>

#define SLOTS 4u

static struct {
	size_t starts, cancels, watches, drained;
	struct attempt last;
	struct attempt cancelled;
	char model[64], body[64];
	bool watched;
	bool refuse, finish;
	uint64_t slow_ms; /* that a start takes */
} work;

static uint32_t slots;
static struct worker *worker;
static uint64_t now;

static inline void
describe(void *arg, struct json_writer *w)
{
	(void)arg;
	json_key(w, "labels");
	json_open(w, '{');
	json_close(w);
}

static inline void
finish(const struct attempt *attempt, const char *text, size_t len)
{
	struct msg msg = { .id = MSG_tool_done };
	struct buf body = BUF_INIT(LIMIT_BODY + 10);

	msg.tool_done.outcome = SLICE("ok");
	if (attempt->call == 0) {
		msg = (struct msg){ .id = MSG_turn_done };
		msg.turn_done.status = SLICE("completed");
	}
	if (len > 0)
		memset(buf_room(&body, len), text[0], len);
	body.len = len;
	worker_done(worker, attempt, &msg, &body);
	ck_assert_ptr_null(body.ptr);
}

static inline void
move_clock(uint64_t ms)
{
	now += ms;
	clock_set(now, now);
}

static inline void
on_start(void *arg, const struct attempt *attempt, const struct msg *msg,
    struct slice body)
{
	(void)arg;
	work.starts++;
	work.last = *attempt;
	move_clock(work.slow_ms);
	snprintf(work.body, sizeof(work.body), "%.*s", SLICE_ARGS(body));
	if (msg->id == MSG_turn_start)
		snprintf(work.model, sizeof(work.model), "%.*s",
		    SLICE_ARGS(msg->turn_start.model));
	if (work.refuse)
		worker_refuse(worker, attempt, "unknown tool");
	if (work.finish)
		finish(attempt, "f", 1);
}

static inline void
on_cancel(void *arg, const struct attempt *attempt)
{
	(void)arg;
	work.cancels++;
	work.cancelled = *attempt;
}

static inline void
on_watch(void *arg, const struct attempt *attempt, bool on)
{
	(void)arg;
	(void)attempt;
	work.watches++;
	work.watched = on;
}

static inline void
on_drained(void *arg)
{
	(void)arg;
	work.drained++;
}

static inline struct worker_config
worker_config(void)
{
	return (struct worker_config){
		.loop = &loop,
		.zmq = zmq,
		.endpoint = endpoint,
		.kind = "tool",
		.name = "tester",
		.sandbox = "none",
		.slots = slots,
		.describe = describe,
		.start = on_start,
		.cancel = on_cancel,
		.watch = on_watch,
		.drained = on_drained,
	};
}

static inline void
open_worker(uint32_t orphan_ms)
{
	struct worker_config config = worker_config();
	struct err err = { 0 };

	config.orphan_ms = orphan_ms;
	ck_assert_msg(worker_new(&worker, &config, &err) == 0, "%s", err.text);
}

static inline bool
is_connected(void)
{
	return worker_is_connected(worker);
}

static inline bool
is_not_connected(void)
{
	return !worker_is_connected(worker);
}

static inline bool
is_drained(void)
{
	return work.drained > 0;
}

static size_t want_starts;

static inline bool
has_started(void)
{
	return work.starts >= want_starts;
}

static inline void
start(uint64_t attempt)
{
	struct msg msg = tool_start(sup.session, attempt);

	want_starts = work.starts + 1;
	answer(&msg);
	wait_for(has_started);
}

static inline void
set_up(void)
{
	char dir[TEMP_PATH];

	memset(&sup, 0, sizeof(sup));
	memset(&work, 0, sizeof(work));
	sup.welcome = sup.echo = true;
	sup.lease_ms = LEASE_WORKER_MS;
	slots = SLOTS;
	now = 1000000;
	clock_set(now, now);
	temp_folder(dir);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/sock", dir);
	zmq = zmq_ctx_new();
	wait_set_up();
}

static inline void
set_up_connected(void)
{
	set_up();
	open_supervisor();
	open_worker(0);
	wait_for(is_connected);
}

static inline void
tear_down(void)
{
	worker = worker_free(worker);
	sup.link = link_free(sup.link, 0);
	loop_release(&loop);
	zmq_ctx_term(zmq);
	for (size_t i = 0; i < sup.count; i++)
		mem_free(sup.heard[i].body);
	clock_set(0, 0);
}

static inline TCase *
add_case(Suite *s, const char *name, SFun fixture)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, fixture, tear_down);
	suite_add_tcase(s, tc);
	return tc;
}

#endif
