/*
 * What the supervisor of a test asks of a worker: starts, questions about an
 * attempt, and one that is always answered, to wait for.
 */
#ifndef TESTS_UNIT_PROTO_SUPERVISOR_ASKS_H
#define TESTS_UNIT_PROTO_SUPERVISOR_ASKS_H

#include "tests/unit/proto/supervisor_side.h"

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

#endif
