/*
 * Sends a reel over a connection in its time: at once when it has no pauses,
 * else as a play that waits on the connection.
 */
#ifndef SUPPORT_MODEL_PLAY_H
#define SUPPORT_MODEL_PLAY_H

#include "tests/support/lib/http_server.h"
#include "tests/support/lib/responses_reel.h"

#define PLAY_FIELDS_MAX (256u * 1024) /* header lines of an answer */

/* Answers whose connection has not heard all of them. */
struct plays {
	uint64_t playing;
	uint64_t gone; /* peers that left before the end */
};

/* Sends the reel as the answer says (status, ending, chunks); fields: header
 * lines. Both are taken if the answer has to wait and kept otherwise; either
 * way they can be used again. chunked: it has no Content-Length. */
void play_send(struct plays *plays, struct http_conn *conn,
    const struct answer *answer, struct reel *reel, struct buf *fields,
    bool chunked);

/* What on_ready and on_gone of the HTTP server must call. */
void play_ready(struct plays *plays, struct http_conn *conn);
void play_gone(struct plays *plays, struct http_conn *conn);

#endif
