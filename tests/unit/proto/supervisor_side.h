/*
 * The supervisor that a test plays to a worker: a ROUTER in the same loop that
 * notes what it hears, and waits that end by what is heard.
 */
#ifndef TESTS_UNIT_PROTO_SUPERVISOR_SIDE_H
#define TESTS_UNIT_PROTO_SUPERVISOR_SIDE_H

#include "workers/worker.h"

#include "base/alloc.h"
#include "tests/unit/proto/wait.h"

#define HEARD_MAX 512

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
	bool echo;
	bool welcome;
	uint64_t lease_ms;
	uint64_t session; /* of the newest hello */
	size_t synced;    /* refusals of starts that only ask for an answer */
} sup;

static void *zmq;
static char endpoint[128];

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

#endif
