/*
 * workers/worker.c against a supervisor that the test plays: a ROUTER in the
 * same loop, a clock that only the test moves. Expected behaviour is written
 * from the commit protocol (rules W1 to W6).
 */
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

static void
answer(const struct msg *msg)
{
	struct err err = { 0 };
	struct slice body = { 0 };

	if (msg_body_kind(msg->id) == MSG_BODY_JSON)
		body = SLICE("{\"x\":1}");
	ck_assert_msg(link_send(sup.link, &sup.peer, msg, body, &err) == 0,
	    "%s", err.text);
}

static void
send_welcome(uint64_t session)
{
	struct msg msg = {
		.id = MSG_welcome,
		.welcome = { .session = session, .lease_ms = sup.lease_ms },
	};

	answer(&msg);
}

static void
copy_text(struct heard *heard, struct slice text)
{
	snprintf(heard->text, sizeof(heard->text), "%.*s", SLICE_ARGS(text));
}

static void
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

static void
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

static void
on_refused(void *arg, const struct peer *peer, const struct err *err)
{
	(void)arg;
	(void)peer;
	ck_abort_msg("the worker sent something wrong: %s", err->text);
}

static void
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

static struct attempt
call_attempt(uint64_t attempt)
{
	struct attempt a = { .turn = 2, .call = 3, .attempt = attempt };

	memset(a.run.bytes, 7, sizeof(a.run.bytes));
	return a;
}

static struct attempt
turn_attempt(uint64_t attempt)
{
	struct attempt a = call_attempt(attempt);

	a.call = 0;
	return a;
}

static void
describe(void *arg, struct json_writer *w)
{
	(void)arg;
	json_key(w, "labels");
	json_open(w, '{');
	json_close(w);
}

static void
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

static void
move_clock(uint64_t ms)
{
	now += ms;
	clock_set(now, now);
}

static void
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

static void
on_cancel(void *arg, const struct attempt *attempt)
{
	(void)arg;
	work.cancels++;
	work.cancelled = *attempt;
}

static void
on_watch(void *arg, const struct attempt *attempt, bool on)
{
	(void)arg;
	(void)attempt;
	work.watches++;
	work.watched = on;
}

static void
on_drained(void *arg)
{
	(void)arg;
	work.drained++;
}

static struct worker_config
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

static void
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

static size_t
count_of(enum msg_id id)
{
	size_t count = 0;

	for (size_t i = 0; i < sup.count; i++)
		count += sup.heard[i].id == id;
	return count;
}

static bool
heard_enough(void)
{
	return count_of(want_id) >= want_count;
}

/* Until the supervisor has heard n messages of this id in all; the last one. */
static const struct heard *
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

static bool
is_connected(void)
{
	return worker_is_connected(worker);
}

static bool
is_not_connected(void)
{
	return !worker_is_connected(worker);
}

static bool
is_drained(void)
{
	return work.drained > 0;
}

static struct msg
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

static bool
is_synced(void)
{
	return sup.synced >= want_synced;
}

/* A stale start is always answered: when the answer is here, the worker has
 * read all that was sent before, and the test has heard all that it sent. */
static void
sync_worker(void)
{
	struct msg msg = tool_start(SYNC_ATTEMPT, SYNC_ATTEMPT);

	want_synced = sup.synced + 1;
	answer(&msg);
	wait_for(is_synced);
}

static size_t passes_left;

static bool
passes_are_over(void)
{
	return passes_left-- == 0;
}

/* Without a supervisor only the clock can change anything, in one pass. */
static void
some_passes(void)
{
	passes_left = 3;
	wait_for(passes_are_over);
}

static size_t want_starts;

static bool
has_started(void)
{
	return work.starts >= want_starts;
}

static void
start(uint64_t attempt)
{
	struct msg msg = tool_start(sup.session, attempt);

	want_starts = work.starts + 1;
	answer(&msg);
	wait_for(has_started);
}

static void
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

static void
ack(uint64_t attempt)
{
	struct attempt a = call_attempt(attempt);

	send_about(MSG_ack, &a);
}

static void
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

static void
set_up_connected(void)
{
	set_up();
	open_supervisor();
	open_worker(0);
	wait_for(is_connected);
}

static void
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

/* ---- W1: sessions ---- */

START_TEST(hello_says_who_it_is_and_what_it_takes)
{
	const struct heard *hello = hear(MSG_hello, 1);

	ck_assert_str_eq(hello->text, "tester");
	ck_assert_uint_eq(hello->session, 1);
	ck_assert_uint_eq(hello->credit, SLOTS);
	ck_assert_uint_eq(hello->slots, SLOTS);
	ck_assert_str_eq(hello->body, "{\"labels\":{},\"in_flight\":[]}");
	ck_assert(!uuid_is_zero(&sup.process));
}
END_TEST

START_TEST(heartbeats_go_out_every_second)
{
	size_t before = count_of(MSG_heartbeat);

	for (size_t i = 1; i <= 20; i++) {
		move_clock(HEARTBEAT_MS);
		ck_assert_uint_eq(
		    hear(MSG_heartbeat, before + i)->sent_ms, now);
	}
	ck_assert(worker_is_connected(worker));
	ck_assert_uint_eq(count_of(MSG_hello), 1);
}
END_TEST

START_TEST(a_session_without_echo_lapses)
{
	sup.echo = sup.welcome = false;
	for (uint64_t ms = 1000; ms < LEASE_WORKER_MS; ms += 1000) {
		move_clock(1000);
		sync_worker();
		ck_assert(worker_is_connected(worker));
	}
	move_clock(1000);
	wait_for(is_not_connected);
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
}
END_TEST

/* The echo comes late: what counts is when the heartbeat had left. */
START_TEST(a_late_echo_does_not_stretch_the_lease)
{
	struct msg beat = { .id = MSG_heartbeat };

	sup.echo = sup.welcome = false;
	move_clock(1000);
	beat.heartbeat.session = 1;
	beat.heartbeat.sent_ms = hear(MSG_heartbeat, 1)->sent_ms;
	move_clock(3000);
	answer(&beat);
	sync_worker();
	move_clock(1999);
	sync_worker();
	ck_assert(worker_is_connected(worker));
	move_clock(1);
	wait_for(is_not_connected);
}
END_TEST

/* offset from what was really sent; session from the real one */
static const struct {
	int64_t offset;
	uint64_t session;
} wrong_echoes[] = { { 100000, 1 }, { 0, 2 }, { 0, 0 } };

START_TEST(an_echo_of_what_was_never_sent_is_ignored)
{
	struct msg beat = { .id = MSG_heartbeat };

	sup.echo = sup.welcome = false;
	move_clock(1000);
	hear(MSG_heartbeat, 1);
	beat.heartbeat.session = wrong_echoes[_i].session;
	beat.heartbeat.sent_ms = now + (uint64_t)wrong_echoes[_i].offset;
	answer(&beat);
	sync_worker();
	move_clock(3999);
	sync_worker();
	ck_assert(worker_is_connected(worker));
	move_clock(1);
	wait_for(is_not_connected);
}
END_TEST

START_TEST(a_process_that_stood_still_opens_a_new_session)
{
	move_clock(LEASE_WORKER_MS);
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
	wait_for(is_connected);
}
END_TEST

/* The second start waited in the socket while the first was handled for long.
 */
START_TEST(a_start_from_before_standing_still_is_stale)
{
	struct msg first = tool_start(1, 1), second = tool_start(1, 2);

	work.slow_ms = LEASE_WORKER_MS;
	answer(&first);
	answer(&second);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	ck_assert_uint_eq(work.starts, 1);
}
END_TEST

START_TEST(a_shorter_lease_is_obeyed)
{
	sup.lease_ms = 3000;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	wait_for(is_connected);
	sup.echo = sup.welcome = false;
	move_clock(2999);
	sync_worker();
	ck_assert(worker_is_connected(worker));
	move_clock(1);
	wait_for(is_not_connected);
}
END_TEST

START_TEST(a_longer_lease_is_not_believed)
{
	sup.lease_ms = 60000;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	wait_for(is_connected);
	sup.echo = sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	wait_for(is_not_connected);
}
END_TEST

START_TEST(hello_is_repeated_with_a_higher_number)
{
	sup.welcome = false;
	open_supervisor();
	open_worker(0);
	hear(MSG_hello, 1);
	for (uint64_t i = 2; i < 10; i++) {
		move_clock(4000);
		ck_assert_uint_eq(hear(MSG_hello, i)->session, i);
	}
	ck_assert(!worker_is_connected(worker));
}
END_TEST

START_TEST(an_old_welcome_opens_nothing)
{
	sup.welcome = false;
	open_supervisor();
	open_worker(0);
	hear(MSG_hello, 1);
	move_clock(1000);
	hear(MSG_hello, 2);
	send_welcome(1);
	sync_worker();
	ck_assert(!worker_is_connected(worker));
	send_welcome(2);
	wait_for(is_connected);
}
END_TEST

START_TEST(a_supervisor_that_says_bye_is_greeted_again)
{
	struct msg bye = { .id = MSG_bye };

	answer(&bye);
	wait_for(is_not_connected);
	move_clock(1000);
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
	wait_for(is_connected);
}
END_TEST

START_TEST(a_restarted_supervisor_is_greeted_without_waiting_for_the_lease)
{
	sup.link = link_free(sup.link, 0);
	wait_for(is_not_connected);
	open_supervisor();
	ck_assert_uint_eq(hear(MSG_hello, 2)->session, 2);
	wait_for(is_connected);
}
END_TEST

/* ---- starts ---- */

START_TEST(a_start_reaches_the_work)
{
	struct attempt a = call_attempt(1);

	start(1);
	ck_assert_int_eq(memcmp(&work.last, &a, sizeof(a)), 0);
	ck_assert_str_eq(work.body, "{\"x\":1}");
}
END_TEST

START_TEST(a_turn_start_reaches_the_work)
{
	struct attempt a = turn_attempt(1);
	struct msg msg = { .id = MSG_turn_start };

	msg.turn_start.session = 1;
	msg.turn_start.run = a.run;
	msg.turn_start.turn = a.turn;
	msg.turn_start.attempt = a.attempt;
	msg.turn_start.model = SLICE("small");
	want_starts = 1;
	answer(&msg);
	wait_for(has_started);
	ck_assert_int_eq(memcmp(&work.last, &a, sizeof(a)), 0);
	ck_assert_str_eq(work.model, "small");
}
END_TEST

START_TEST(a_start_of_another_session_is_stale)
{
	struct msg msg = tool_start((uint64_t)_i * 2, 1);

	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	ck_assert_uint_eq(sup.heard[sup.count - 1].attempt, 1);
	ck_assert_uint_eq(work.starts, 0);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_start_without_session_is_stale)
{
	struct msg msg = tool_start(1, 1);

	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	msg = tool_start(2, 1);
	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 2)->text, "stale");
	ck_assert_uint_eq(work.starts, 0);
}
END_TEST

/* Refusing it would say that it never began. */
START_TEST(a_start_of_what_is_held_is_ignored)
{
	struct msg stale = tool_start(99, 1), again = tool_start(1, 1);

	start(1);
	answer(&stale);
	answer(&again);
	start(2);
	ck_assert_uint_eq(work.starts, 2);
	ck_assert_uint_eq(count_of(MSG_refused), 0);
}
END_TEST

START_TEST(a_start_beyond_the_slots_is_refused)
{
	struct msg msg = tool_start(1, SLOTS + 1);

	for (uint64_t i = 1; i <= SLOTS; i++)
		start(i);
	answer(&msg);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "no credit");
	ck_assert_uint_eq(work.starts, SLOTS);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_refused_start_gives_its_credit_back)
{
	work.refuse = true;
	start(1);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "unknown tool");
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
}
END_TEST

START_TEST(a_start_may_end_at_once)
{
	work.finish = true;
	start(1);
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body, "f");
}
END_TEST

/* ---- cancels and watches ---- */

START_TEST(a_cancelled_attempt_still_reports)
{
	struct attempt a = call_attempt(1);

	start(1);
	send_about(MSG_cancel, &a);
	send_about(MSG_cancel, &a);
	start(2);
	ck_assert_uint_eq(work.cancels, 1);
	ck_assert_int_eq(memcmp(&work.cancelled, &a, sizeof(a)), 0);
	finish(&a, "c", 1);
	ck_assert_uint_eq(hear(MSG_tool_done, 1)->attempt, 1);
}
END_TEST

START_TEST(a_cancel_of_what_does_not_run_is_ignored)
{
	struct attempt unknown = call_attempt(9), finished = call_attempt(1);

	start(1);
	finish(&finished, "f", 1);
	send_about(MSG_cancel, &unknown);
	send_about(MSG_cancel, &finished);
	start(2);
	ck_assert_uint_eq(work.cancels, 0);
}
END_TEST

START_TEST(a_watch_reaches_a_running_turn_only)
{
	struct attempt a = turn_attempt(1);
	struct msg msg = { .id = MSG_turn_start };
	struct msg watch = { .id = MSG_watch_turn };

	msg.turn_start.session = 1;
	msg.turn_start.run = watch.watch_turn.run = a.run;
	msg.turn_start.turn = watch.watch_turn.turn = a.turn;
	msg.turn_start.attempt = watch.watch_turn.attempt = 1;
	watch.watch_turn.on = true;
	want_starts = 1;
	answer(&watch); /* nothing runs yet */
	answer(&msg);
	wait_for(has_started);
	ck_assert_uint_eq(work.watches, 0);
	answer(&watch);
	start(2);
	ck_assert_uint_eq(work.watches, 1);
	ck_assert(work.watched);
	finish(&a, "d", 1);
	answer(&watch);
	start(3);
	ck_assert_uint_eq(work.watches, 1);
}
END_TEST

START_TEST(a_delta_is_sent_in_a_session_only)
{
	struct msg msg = { .id = MSG_turn_delta };

	worker_delta(worker, &msg, SLICE("[1]"));
	ck_assert_str_eq(hear(MSG_turn_delta, 1)->body, "[1]");
	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	worker_delta(worker, &msg, SLICE("[2]"));
	hear(MSG_hello, 2);
	ck_assert_uint_eq(count_of(MSG_turn_delta), 1);
}
END_TEST

/* ---- W4: results ---- */

START_TEST(a_result_names_its_attempt_and_size)
{
	struct attempt a = call_attempt(5);
	const struct heard *done;

	start(5);
	finish(&a, "r", 10);
	done = hear(MSG_tool_done, 1);
	ck_assert_uint_eq(done->attempt, 5);
	ck_assert_uint_eq(done->size, 10);
	ck_assert_str_eq(done->body, "rrrrrrrrrr");
	ck_assert_str_eq(done->text, "ok");
}
END_TEST

START_TEST(a_result_is_repeated_until_it_is_acked)
{
	struct attempt a = call_attempt(1);

	start(1);
	finish(&a, "r", 3);
	hear(MSG_tool_done, 1);
	for (size_t i = 2; i < 6; i++) {
		/* In steps, so that the session stays open. */
		while (count_of(MSG_tool_done) < i) {
			move_clock(1000);
			sync_worker();
		}
		ck_assert_uint_eq(count_of(MSG_tool_done), i);
		ck_assert_str_eq(hear(MSG_tool_done, i)->body, "rrr");
	}
	ack(1);
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
	for (size_t i = 0; i < 60; i++) {
		move_clock(1000);
		hear(MSG_heartbeat, count_of(MSG_heartbeat) + 1);
	}
	ck_assert_uint_eq(count_of(MSG_tool_done), 5);
}
END_TEST

START_TEST(a_result_survives_its_session)
{
	struct attempt a = call_attempt(1);
	const struct heard *hello;

	start(1);
	sup.welcome = false;
	move_clock(LEASE_WORKER_MS);
	hear(MSG_hello, 2);
	finish(&a, "s", 2);
	sync_worker();
	ck_assert_uint_eq(count_of(MSG_tool_done), 0);
	sup.welcome = true;
	move_clock(4000);
	hello = hear(MSG_hello, 3);
	ck_assert_uint_eq(hello->credit, SLOTS - 1);
	ck_assert_ptr_nonnull(strstr(hello->body,
	    "{\"run\":\"07070707-0707-0707-0707-070707070707\",\"turn\":2,"
	    "\"call\":3,\"attempt\":1,\"finished\":true}"));
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body, "ss");
}
END_TEST

START_TEST(a_running_attempt_is_listed_and_kept)
{
	struct attempt a = call_attempt(1);

	start(1);
	move_clock(LEASE_WORKER_MS);
	ck_assert_str_eq(hear(MSG_hello, 2)->body,
	    "{\"labels\":{},\"in_flight\":[{\"run\":"
	    "\"07070707-0707-0707-0707-070707070707\",\"turn\":2,\"call\":3,"
	    "\"attempt\":1,\"finished\":false}]}");
	wait_for(is_connected);
	finish(&a, "k", 1);
	ck_assert_str_eq(hear(MSG_tool_done, 1)->body, "k");
	ck_assert_uint_eq(work.cancels, 0);
}
END_TEST

START_TEST(a_large_body_waits_for_take)
{
	struct attempt a = call_attempt(1);
	const struct heard *done;

	start(1);
	finish(&a, "b", LIMIT_BODY_HELD + (size_t)_i);
	done = hear(MSG_tool_done, 1);
	ck_assert_uint_eq(done->size, LIMIT_BODY_HELD + (size_t)_i);
	ck_assert_uint_eq(done->body_len, _i == 0 ? LIMIT_BODY_HELD : 0);
	send_about(MSG_take, &a);
	done = hear(MSG_tool_done, 2);
	ck_assert_uint_eq(done->body_len, LIMIT_BODY_HELD + (size_t)_i);
	ck_assert_int_eq(done->body[LIMIT_BODY_HELD - 1], 'b');
	ack(1);
	hear(MSG_credit, 1);
}
END_TEST

START_TEST(an_ack_frees_the_slot)
{
	struct attempt a = call_attempt(1);

	for (uint64_t i = 1; i <= SLOTS; i++)
		start(i);
	finish(&a, "x", 1);
	hear(MSG_tool_done, 1);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
	ack(1);
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
	start(SLOTS + 1);
	ck_assert_uint_eq(count_of(MSG_refused), 0);
}
END_TEST

START_TEST(an_ack_of_the_unknown_is_ignored)
{
	ack(77);
	start(1);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(an_ack_of_what_runs_cancels_it_and_drops_its_result)
{
	struct attempt a = call_attempt(1);

	start(1);
	ack(1);
	start(2);
	ck_assert_uint_eq(work.cancels, 1);
	finish(&a, "u", 1);
	ck_assert_uint_eq(hear(MSG_credit, 1)->credit, 1);
	ck_assert_uint_eq(count_of(MSG_tool_done), 0);
}
END_TEST

START_TEST(credit_of_one_pass_is_one_message)
{
	for (uint64_t i = 1; i <= SLOTS; i++)
		start(i);
	for (uint64_t i = 1; i <= SLOTS; i++) {
		struct attempt a = call_attempt(i);

		finish(&a, "m", 1);
	}
	hear(MSG_tool_done, SLOTS);
	for (uint64_t i = 1; i <= SLOTS; i++)
		ack(i);
	hear(MSG_credit, 1);
	sync_worker();
	want_count = 0;
	for (size_t i = 0; i < sup.count; i++)
		if (sup.heard[i].id == MSG_credit)
			want_count += sup.heard[i].credit;
	ck_assert_uint_eq(want_count, SLOTS);
}
END_TEST

START_TEST(a_result_over_its_limits_becomes_a_failure)
{
	struct attempt tool = call_attempt(1), turn = turn_attempt(1);
	struct msg msg = { .id = MSG_turn_start };

	start(1);
	finish(&tool, "o", (size_t)LIMIT_BODY + 1);
	ck_assert_str_eq(hear(MSG_tool_done, 1)->text, "output_limit");
	msg.turn_start.session = 1;
	msg.turn_start.run = turn.run;
	msg.turn_start.turn = turn.turn;
	msg.turn_start.attempt = 1;
	want_starts = 2;
	answer(&msg);
	wait_for(has_started);
	msg = (struct msg){ .id = MSG_turn_done };
	msg.turn_done.status = SLICE("not UTF-8: \xff");
	worker_done(worker, &turn, &msg, NULL);
	ck_assert_str_eq(hear(MSG_turn_failed, 1)->text, "protocol");
}
END_TEST

/* ---- the end ---- */

static void
send_drain(void)
{
	struct msg msg = { .id = MSG_drain };

	answer(&msg);
}

START_TEST(a_drained_worker_says_bye)
{
	send_drain();
	wait_for(is_drained);
	ck_assert_str_eq(hear(MSG_bye, 1)->text, "drained");
	ck_assert_uint_eq(work.drained, 1);
}
END_TEST

START_TEST(a_drain_waits_for_what_runs_and_for_acks)
{
	struct attempt a = call_attempt(1);

	start(1);
	worker_drain(worker);
	ck_assert_uint_eq(hear(MSG_hello, 2)->credit, 0);
	wait_for(is_connected);
	sync_worker();
	ck_assert_uint_eq(work.drained, 0);
	finish(&a, "d", 1);
	hear(MSG_tool_done, 1);
	sync_worker();
	ck_assert_uint_eq(work.drained, 0);
	ack(1);
	wait_for(is_drained);
	hear(MSG_bye, 1);
	ck_assert_uint_eq(count_of(MSG_credit), 0);
}
END_TEST

START_TEST(a_draining_worker_refuses_starts)
{
	struct msg old = tool_start(1, 2), new = tool_start(2, 3);

	start(1);
	worker_drain(worker);
	hear(MSG_hello, 2);
	wait_for(is_connected);
	answer(&old);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	answer(&new);
	ck_assert_str_eq(hear(MSG_refused, 2)->text, "draining");
	ck_assert_uint_eq(work.starts, 1);
}
END_TEST

/* Its start was on the way when the drain began: it must not be lost. */
START_TEST(a_start_that_crosses_the_drain_is_refused)
{
	struct msg msg = tool_start(1, 1);

	answer(&msg);
	worker_drain(worker);
	wait_for(is_drained);
	ck_assert_str_eq(hear(MSG_refused, 1)->text, "stale");
	hear(MSG_bye, 1);
}
END_TEST

START_TEST(a_drain_without_supervisor_ends_by_itself)
{
	open_worker(0);
	worker_drain(worker);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	move_clock(2000);
	wait_for(is_drained);
}
END_TEST

START_TEST(a_drain_gives_up_results_that_nobody_acks)
{
	struct attempt a = call_attempt(1);

	start(1);
	finish(&a, "g", 1);
	sup.link = link_free(sup.link, 0);
	wait_for(is_not_connected);
	worker_drain(worker);
	move_clock(9999);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	move_clock(1);
	wait_for(is_drained);
}
END_TEST

START_TEST(an_orphan_ends_when_nothing_runs_any_more)
{
	struct attempt a = call_attempt(1);

	open_supervisor();
	open_worker(60000);
	wait_for(is_connected);
	start(1);
	sup.link = link_free(sup.link, 0);
	wait_for(is_not_connected);
	move_clock(59999);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	move_clock(1);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
	finish(&a, "o", 1);
	wait_for(is_drained);
}
END_TEST

START_TEST(a_worker_without_orphan_limit_waits_for_ever)
{
	open_worker(0);
	move_clock(1000u * 3600 * 24);
	some_passes();
	ck_assert_uint_eq(work.drained, 0);
}
END_TEST

/* ---- configuration ---- */

START_TEST(what_no_hello_can_say_is_refused_at_once)
{
	struct worker_config config = worker_config();
	struct err err = { 0 };
	char name[LIMIT_NAME + 2];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	config.name = name;
	ck_assert_int_eq(worker_new(&worker, &config, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	config.name = "tester";
	config.slots = 0;
	ck_assert_int_eq(worker_new(&worker, &config, &err), -1);
	config.slots = LIMIT_CREDIT + 1;
	ck_assert_int_eq(worker_new(&worker, &config, &err), -1);
	ck_assert_ptr_null(worker);
}
END_TEST

static TCase *
add_case(Suite *s, const char *name, SFun fixture)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, fixture, tear_down);
	suite_add_tcase(s, tc);
	return tc;
}

static Suite *
suite(void)
{
	Suite *s = suite_create("worker");
	TCase *session = add_case(
	    s, "a session is valid by what was echoed", set_up_connected);
	TCase *fresh = add_case(s, "hello until welcomed", set_up);
	TCase *starts =
	    add_case(s, "a start begins once or is refused", set_up_connected);
	TCase *asides =
	    add_case(s, "cancel and watch concern what runs", set_up_connected);
	TCase *results =
	    add_case(s, "a result is kept until its ack", set_up_connected);
	TCase *end = add_case(s, "a drain loses nothing", set_up_connected);
	TCase *alone = add_case(s, "alone, a worker ends in time", set_up);

	tcase_add_test(session, hello_says_who_it_is_and_what_it_takes);
	tcase_add_test(session, heartbeats_go_out_every_second);
	tcase_add_test(session, a_session_without_echo_lapses);
	tcase_add_test(session, a_late_echo_does_not_stretch_the_lease);
	tcase_add_loop_test(session, an_echo_of_what_was_never_sent_is_ignored,
	    0, COUNT(wrong_echoes));
	tcase_add_test(session, a_process_that_stood_still_opens_a_new_session);
	tcase_add_test(session, a_start_from_before_standing_still_is_stale);
	tcase_add_test(session, a_shorter_lease_is_obeyed);
	tcase_add_test(session, a_longer_lease_is_not_believed);
	tcase_add_test(session, a_supervisor_that_says_bye_is_greeted_again);
	tcase_add_test(session,
	    a_restarted_supervisor_is_greeted_without_waiting_for_the_lease);
	tcase_add_test(fresh, hello_is_repeated_with_a_higher_number);
	tcase_add_test(fresh, an_old_welcome_opens_nothing);
	tcase_add_test(fresh, what_no_hello_can_say_is_refused_at_once);
	tcase_add_test(starts, a_start_reaches_the_work);
	tcase_add_test(starts, a_turn_start_reaches_the_work);
	tcase_add_loop_test(starts, a_start_of_another_session_is_stale, 0, 2);
	tcase_add_test(starts, a_start_without_session_is_stale);
	tcase_add_test(starts, a_start_of_what_is_held_is_ignored);
	tcase_add_test(starts, a_start_beyond_the_slots_is_refused);
	tcase_add_test(starts, a_refused_start_gives_its_credit_back);
	tcase_add_test(starts, a_start_may_end_at_once);
	tcase_add_test(asides, a_cancelled_attempt_still_reports);
	tcase_add_test(asides, a_cancel_of_what_does_not_run_is_ignored);
	tcase_add_test(asides, a_watch_reaches_a_running_turn_only);
	tcase_add_test(asides, a_delta_is_sent_in_a_session_only);
	tcase_add_test(results, a_result_names_its_attempt_and_size);
	tcase_add_test(results, a_result_is_repeated_until_it_is_acked);
	tcase_add_test(results, a_result_survives_its_session);
	tcase_add_test(results, a_running_attempt_is_listed_and_kept);
	tcase_add_loop_test(results, a_large_body_waits_for_take, 0, 2);
	tcase_add_test(results, an_ack_frees_the_slot);
	tcase_add_test(results, an_ack_of_the_unknown_is_ignored);
	tcase_add_test(
	    results, an_ack_of_what_runs_cancels_it_and_drops_its_result);
	tcase_add_test(results, credit_of_one_pass_is_one_message);
	tcase_add_test(results, a_result_over_its_limits_becomes_a_failure);
	tcase_add_test(end, a_drained_worker_says_bye);
	tcase_add_test(end, a_drain_waits_for_what_runs_and_for_acks);
	tcase_add_test(end, a_draining_worker_refuses_starts);
	tcase_add_test(end, a_start_that_crosses_the_drain_is_refused);
	tcase_add_test(end, a_drain_gives_up_results_that_nobody_acks);
	tcase_add_test(alone, a_drain_without_supervisor_ends_by_itself);
	tcase_add_test(alone, an_orphan_ends_when_nothing_runs_any_more);
	tcase_add_test(alone, a_worker_without_orphan_limit_waits_for_ever);
	return s;
}

int
main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
