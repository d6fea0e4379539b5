/*
 * The other side of a worker under test: a supervisor that the test plays (a
 * ROUTER in the same loop), the work behind the callbacks, a clock that only
 * the test moves, and waits that end by an event.
 */
#ifndef TESTS_UNIT_PROTO_WORKER_SIDES_H
#define TESTS_UNIT_PROTO_WORKER_SIDES_H

#include "workers/worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/unit/proto/wait.h"

#include <unistd.h>
#include <zmq.h>

#define HEARD_MAX 512
#define SLOTS     4u

#define SYNC_ATTEMPT 999999u
#define SYNC_ID      (enum msg_id)0

/* One message as the supervisor heard it; strings are copied. */
struct heard {
	enum msg_id id;
	uint64_t session, credit, slots, size, sent_ms, attempt;
	size_t body_len;
	char text[64]; /* reason, outcome, class, or the start of the body */
	char *body;
};

static struct {
	struct link *link;
	struct peer peer;
	struct uuid process;
	struct heard heard[HEARD_MAX];
	size_t count;
	size_t read; /* what tests have looked at */
	bool echo;
	bool welcome;
	uint64_t lease_ms;
	uint64_t session; /* of the newest hello */
	size_t synced;    /* refusals of starts that only ask for an answer */
} sup;

static struct {
	size_t starts, cancels, watches, drained;
	struct attempt last;
	struct attempt cancelled;
	char model[64], body[64];
	bool watched;
	bool refuse, finish;
	uint64_t slow_ms; /* that a start takes */
} work;

static void *zmq;
static char dir[64], endpoint[128];
static struct worker *worker;
static uint64_t now;

/* ---- the supervisor ---- */

static inline void
answer(const struct msg *msg)
{
	struct err err = { 0 };
	struct slice body = { 0 };

	if (msg_body_kind(msg->id) == MSG_BODY_JSON)
		body = SLICE("{\"x\":1}");
	ck_assert_msg(link_send(sup.link, &sup.peer, msg, body, &err) == 0,
	    "%s", err.text);
}

static inline void
send_welcome(uint64_t session)
{
	struct msg msg = {
		.id = MSG_welcome,
		.welcome = { .session = session, .lease_ms = sup.lease_ms },
	};

	answer(&msg);
}

static inline void
copy_text(struct heard *heard, struct slice text)
{
	snprintf(heard->text, sizeof(heard->text), "%.*s", SLICE_ARGS(text));
}

static inline void
note(struct heard *heard, const struct msg *msg)
{
	switch ((int)msg->id) {
	case MSG_hello:
		heard->session = msg->hello.session;
		heard->credit = msg->hello.credit;
		heard->slots = msg->hello.slots;
		copy_text(heard, msg->hello.name);
		sup.process = msg->hello.process;
		break;
	case MSG_credit:
		heard->credit = msg->credit.count;
		break;
	case MSG_heartbeat:
		heard->session = msg->heartbeat.session;
		heard->sent_ms = msg->heartbeat.sent_ms;
		break;
	case MSG_turn_done:
		heard->size = msg->turn_done.size;
		heard->attempt = msg->turn_done.attempt;
		copy_text(heard, msg->turn_done.status);
		break;
	case MSG_turn_failed:
		heard->attempt = msg->turn_failed.attempt;
		copy_text(heard, msg->turn_failed.class);
		break;
	case MSG_tool_done:
		heard->size = msg->tool_done.size;
		heard->attempt = msg->tool_done.attempt;
		copy_text(heard, msg->tool_done.outcome);
		break;
	case MSG_refused:
		if (msg->refused.attempt == SYNC_ATTEMPT) {
			heard->id = SYNC_ID;
			sup.synced++;
		}
		heard->attempt = msg->refused.attempt;
		copy_text(heard, msg->refused.reason);
		break;
	case MSG_bye:
		copy_text(heard, msg->bye.reason);
		break;
	default:
		break;
	}
}

static inline void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct heard *heard = &sup.heard[sup.count];

	(void)arg;
	(void)owner;
	ck_assert_uint_lt(sup.count, HEARD_MAX);
	sup.count++;
	sup.peer = *peer;
	heard->id = msg->id;
	heard->body_len = body.len;
	heard->body = mem_string_n(body.ptr, body.len);
	note(heard, msg);
	if (msg->id == MSG_hello) {
		sup.session = msg->hello.session;
		if (sup.welcome)
			send_welcome(sup.session);
	} else if (msg->id == MSG_heartbeat && sup.echo) {
		answer(msg);
	}
}

static inline void
on_refused(void *arg, const struct peer *peer, const struct err *err)
{
	(void)arg;
	(void)peer;
	ck_abort_msg("the worker sent something wrong: %s", err->text);
}

static inline void
open_supervisor(void)
{
	struct err err = { 0 };
	struct link_config config = {
		.zmq = zmq,
		.loop = &loop,
		.endpoint = endpoint,
		.bind = true,
		.accepts = MSG_FROM_WORKER,
		.on_message = on_message,
		.on_refused = on_refused,
	};

	ck_assert_msg(link_new(&sup.link, &config, &err) == 0, "%s", err.text);
}

/* ---- the work ---- */

static inline struct attempt
call_attempt(uint64_t attempt)
{
	struct attempt a = { .turn = 2, .call = 3, .attempt = attempt };

	memset(a.run.bytes, 7, sizeof(a.run.bytes));
	return a;
}

static inline struct attempt
turn_attempt(uint64_t attempt)
{
	struct attempt a = call_attempt(attempt);

	a.call = 0;
	return a;
}

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
		.slots = SLOTS,
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

/* ---- waiting ---- */

static enum msg_id want_id;
static size_t want_count;

static inline size_t
count_of(enum msg_id id)
{
	size_t count = 0;

	for (size_t i = 0; i < sup.count; i++)
		count += sup.heard[i].id == id;
	return count;
}

static inline bool
heard_enough(void)
{
	return count_of(want_id) >= want_count;
}

/* Until the supervisor has heard n messages of this id in all; the last one. */
static inline const struct heard *
hear(enum msg_id id, size_t n)
{
	want_id = id;
	want_count = n;
	wait_for(heard_enough);
	for (size_t i = 0; i < sup.count; i++)
		if (sup.heard[i].id == id && --n == 0)
			return &sup.heard[i];
	ck_abort_msg("not heard");
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

static inline struct msg
tool_start(uint64_t session, uint64_t attempt)
{
	struct attempt a = call_attempt(attempt);

	return (struct msg){
		.id = MSG_tool_start,
		.tool_start = {
			.session = session,
			.run = a.run,
			.turn = a.turn,
			.call = a.call,
			.attempt = attempt,
			.name = SLICE("echo"),
			.call_id = SLICE("call_1"),
			.key = SLICE("key"),
		},
	};
}

static size_t want_synced;

static inline bool
is_synced(void)
{
	return sup.synced >= want_synced;
}

/* A stale start is always answered: when the answer is here, the worker has
 * read all that was sent before, and the test has heard all that it sent. */
static inline void
sync_worker(void)
{
	struct msg msg = tool_start(SYNC_ATTEMPT, SYNC_ATTEMPT);

	want_synced = sup.synced + 1;
	answer(&msg);
	wait_for(is_synced);
}

static size_t passes_left;

static inline bool
passes_are_over(void)
{
	return passes_left-- == 0;
}

/* Without a supervisor only the clock can change anything, in one pass. */
static inline void
some_passes(void)
{
	passes_left = 3;
	wait_for(passes_are_over);
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
send_about(enum msg_id id, const struct attempt *a)
{
	struct msg msg = { .id = id };

	/* cancel, take and ack have the same fields. */
	_Static_assert(sizeof(struct msg_ack) == sizeof(struct msg_take), "");
	_Static_assert(sizeof(struct msg_ack) == sizeof(struct msg_cancel), "");
	msg.ack.run = a->run;
	msg.ack.turn = a->turn;
	msg.ack.call = a->call;
	msg.ack.attempt = a->attempt;
	answer(&msg);
}

static inline void
ack(uint64_t attempt)
{
	struct attempt a = call_attempt(attempt);

	send_about(MSG_ack, &a);
}

static inline void
set_up(void)
{
	memset(&sup, 0, sizeof(sup));
	memset(&work, 0, sizeof(work));
	sup.welcome = sup.echo = true;
	sup.lease_ms = LEASE_WORKER_MS;
	now = 1000000;
	clock_set(now, now);
	snprintf(dir, sizeof(dir), "/tmp/reeve-worker-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
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
	char path[128];

	worker = worker_free(worker);
	sup.link = link_free(sup.link, 0);
	loop_release(&loop);
	zmq_ctx_term(zmq);
	for (size_t i = 0; i < sup.count; i++)
		mem_free(sup.heard[i].body);
	snprintf(path, sizeof(path), "%s/sock.lock", dir);
	unlink(path);
	rmdir(dir);
	clock_set(0, 0);
}

static inline int
run_suite(Suite *s)
{
	SRunner *runner = srunner_create(s);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
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
