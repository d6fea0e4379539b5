/*
 * The skeleton that all workers share: connects to the supervisor, says hello,
 * keeps the session alive, grants credit, takes starts, keeps each result until
 * it is acked, drains and exits. A worker is this plus the four callbacks.
 * It decides by the rules of the commit protocol: a start of another session is
 * refused, a lapsed session never comes back, results outlive sessions.
 */
#ifndef WORKERS_WORKER_H
#define WORKERS_WORKER_H

#include "base/json.h"
#include "base/loop.h"
#include "proto/link.h"

struct worker; /* defined in worker.c */

/* Names one attempt: what a start brings and a result gives back. */
struct attempt {
	struct uuid run;
	uint64_t turn;
	uint64_t call; /* 0: the model turn itself */
	uint64_t attempt;
};

struct worker_config {
	struct loop *loop;    /* borrowed */
	void *zmq;            /* borrowed */
	const char *endpoint; /* of the supervisor's work socket; borrowed */
	const char *kind;     /* "model" or "tool" */
	const char *name;     /* stable name */
	const char *sandbox;  /* level, or NULL */
	uint32_t slots; /* starts that run at once; as many results may wait */
	uint32_t orphan_ms; /* exit after this long without a supervisor; 0 =
			       never */

	/* Appends the members "labels", "models", "tools" to the hello body. */
	void (*describe)(void *arg, struct json_writer *w);
	/* A start: MSG_turn_start or MSG_tool_start; body borrowed. Must lead
	 * to exactly one worker_done or worker_refuse, now or later. */
	void (*start)(void *arg, const struct attempt *attempt,
	    const struct msg *msg, struct slice body);
	/* Stop it soon; its end is still told by worker_done. */
	void (*cancel)(void *arg, const struct attempt *attempt);
	/* Model workers: begin or end sending deltas. May be NULL. */
	void (*watch)(void *arg, const struct attempt *attempt, bool on);
	/* Nothing runs and nothing waits for an ack any more, after a drain, an
	 * orphan's end or worker_drain: leave the loop. */
	void (*drained)(void *arg);
	void *arg;
};

int worker_new(struct worker **ret_worker, const struct worker_config *config,
    struct err *err) CHECKED;
struct worker *worker_free(struct worker *worker);

/* The attempt ended: MSG_turn_done, MSG_turn_failed or MSG_tool_done. The
 * strings in msg are copied; the body's memory is taken (body may be NULL).
 * Kept until acked, sent again in each new session. */
void worker_done(struct worker *worker, const struct attempt *attempt,
    const struct msg *msg, struct buf *body);
/* The attempt never began. */
void worker_refuse(
    struct worker *worker, const struct attempt *attempt, const char *reason);
/* MSG_turn_delta or MSG_turn_snapshot; dropped without a session. */
void worker_delta(
    struct worker *worker, const struct msg *msg, struct slice body);
/* SIGTERM: take nothing new, finish what runs, then `drained`. */
void worker_drain(struct worker *worker);
bool worker_is_connected(const struct worker *worker);

#endif
