/*
 * What a worker holds: attempts that run, and results that wait for their ack.
 * Both take a slot. Owns the results' bytes; knows nothing of sessions.
 */
#ifndef WORKERS_HELD_H
#define WORKERS_HELD_H

#include "base/list.h"
#include "base/map.h"
#include "workers/worker.h"

#define HELD_BURST    (8u * 1024 * 1024) /* bytes of bodies sent at once */
#define HELD_BURST_MS 100u               /* before the next ones */

struct held {
	struct list link;
	struct attempt attempt;
	bool finished;
	bool cancelled;   /* the cancel callback was called */
	bool unwanted;    /* acked while it ran: its result is dropped */
	bool taken;       /* the supervisor asked for the whole body */
	struct buf frame; /* the result as encoded, so that its strings live */
	struct buf body;
	uint64_t due_ms;   /* when it is sent again */
	uint32_t pause_ms; /* until then, growing */
};

struct held_set {
	struct map by_attempt;
	struct list all; /* oldest first */
	size_t count;
	size_t running;
	uint64_t due_ms; /* nothing is due before */
};

void held_set_init(struct held_set *set);
void held_set_release(struct held_set *set);
/* NULL when it is not held. Borrowed until it is removed. */
struct held *held_set_find(
    const struct held_set *set, const struct attempt *attempt);
/* Must not be held yet. */
struct held *held_set_add(struct held_set *set, const struct attempt *attempt);
void held_set_remove(struct held_set *set, struct held *held);
/* Appends the member "in_flight" of a hello. */
void held_set_describe(const struct held_set *set, struct json_writer *w);
/* A new session: everything finished is due now, long bodies wait for take. */
void held_set_offer(struct held_set *set, uint64_t now_ms);
/* Sends what is due; past HELD_BURST the rest comes HELD_BURST_MS later. */
void held_set_send(struct held_set *set, struct link *link, uint64_t now_ms);

/* The attempt ended: copies msg, takes the memory of body (may be NULL). A
 * result that cannot travel (a field or the body passes its limit) becomes a
 * failure that says so, since an attempt without end would hold its run. */
void held_finish(struct held_set *set, struct held *held, const struct msg *msg,
    struct buf *body);
/* Sends the result now, its body too when it is short or was taken. Returns how
 * many bytes of body that were. */
size_t held_send(struct held_set *set, struct held *held, struct link *link,
    uint64_t now_ms);

#endif
