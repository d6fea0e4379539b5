/*
 * An answer written out as the bytes of an event stream (or of one JSON
 * response), with the places where the sender has to wait. The whole stream is
 * written before its first byte leaves: so an answer without pauses is one
 * write, and a cut is a length.
 */
#ifndef SUPPORT_RESPONSES_REEL_H
#define SUPPORT_RESPONSES_REEL_H

#include "tests/support/lib/responses_answer.h"
#include "tests/support/lib/responses_request.h"

#define REEL_BYTES_MAX (256u * 1024 * 1024)

/* At `offset` of the bytes wait this long. */
struct reel_mark {
	size_t offset;
	uint64_t wait_ms;
};

struct reel {
	struct buf bytes;        /* owned */
	struct reel_mark *marks; /* owned; by offset */
	size_t count, cap;
	struct buf output; /* owned; items of the response so far */
	uint64_t events;
	size_t last_event; /* where the last one begins */
	size_t cut_at;     /* SIZE_MAX: not reached */
};

/* Names of responses, items and calls: never the same in two processes. */
struct reel_ids {
	uint64_t start;    /* random */
	uint64_t response; /* counts up */
	uint64_t item;
};

struct reel reel_init(void);
void reel_clear(struct reel *reel); /* memory kept */
void reel_release(struct reel *reel);
void reel_mark(struct reel *reel, uint64_t wait_ms);

/* Appends all events; what a cut leaves out is not in the bytes. */
void reel_stream(struct reel *reel, const struct answer *answer,
    const struct request *request, struct reel_ids *ids, uint64_t created_at);
/* Appends the response as one JSON text. */
void reel_json(struct reel *reel, const struct answer *answer,
    const struct request *request, struct reel_ids *ids, uint64_t created_at);

/* Appends JSON that must stand on one line: line ends between its tokens
 * become spaces. */
void reel_put_line(struct buf *out, struct slice json);

#endif
