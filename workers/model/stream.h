/*
 * One attempt: one HTTP request, its stream, its deadlines, its end. Tells the
 * worker how it ended, exactly once, and is gone then.
 */
#ifndef MODEL_STREAM_H
#define MODEL_STREAM_H

#include "workers/model/http.h"
#include "workers/model/models.h"
#include "workers/worker.h"

#define STREAM_DETAIL_MS 1000u /* for more detail after a failure's event */

struct stream; /* defined in stream.c */

struct stream_config {
	struct loop *loop; /* borrowed, as all here */
	struct http *http;
	const struct model *model;
	/* The attempt ended; MSG_turn_done with a body, or MSG_turn_failed. The
	 * stream is gone afterwards. */
	void (*done)(void *arg, const struct attempt *attempt,
	    const struct msg *msg, struct buf *body);
	/* MSG_turn_delta or MSG_turn_snapshot. */
	void (*delta)(void *arg, const struct msg *msg, struct slice body);
	void *arg;
};

/* Begins; body: of turn_start. May call done before it returns: then it
 * returns NULL. */
struct stream *stream_start(const struct stream_config *config,
    const struct attempt *attempt, const struct msg_turn_start *start,
    struct slice body);
/* Ends it at once as cancelled, through done. */
void stream_cancel(struct stream *stream);
/* Begins with a snapshot, then tells what each read brings; or ends. */
void stream_watch(struct stream *stream, bool on);
/* Drops it without a word; NULL is fine; returns NULL. */
struct stream *stream_free(struct stream *stream);

#endif
