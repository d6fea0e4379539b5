/*
 * One ZeroMQ socket that speaks the catalogue: the supervisor's ROUTERs, the
 * workers' and clients' DEALERs. Hides frames, never waits, never queues by
 * itself: what cannot be sent now is an error.
 * On the wire: ROUTER [peer][message][body]; DEALER [message][body]; the body
 * frame is there exactly when the catalogue says JSON or BYTES (it may be
 * empty then).
 */
#ifndef PROTO_LINK_H
#define PROTO_LINK_H

#include "base/loop.h"
#include "proto/message.h"

struct link; /* defined in link.c */

/* An opaque routing id of at most 32 bytes. */
struct peer {
	uint8_t len;
	uint8_t bytes[32];
};

static inline struct slice
peer_slice(const struct peer *peer)
{
	return slice_of(peer->bytes, peer->len);
}

/* What came: the message borrows until the handler returns; peer is NULL on a
 * DEALER. To keep the body longer without a copy, take it (link_body_take);
 * owner is NULL when the message has no body frame. */
struct link_body;
typedef void link_handler(void *arg, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner);

/* A frame that could not be read, or a message that this side must not get:
 * the sender may be told, nobody else is disturbed. peer is NULL on a DEALER,
 * and when the sender's id is longer than a struct peer holds. */
typedef void link_refused(
    void *arg, const struct peer *peer, const struct err *err);

/* A DEALER's connection stands (up) or broke: what was sent may be lost. */
typedef void link_connection(void *arg, bool up);

struct link_config {
	void *zmq;             /* context, borrowed */
	struct loop *loop;     /* borrowed */
	const char *endpoint;  /* ipc://PATH */
	bool bind;             /* bind a ROUTER, else connect a DEALER */
	enum msg_from accepts; /* who sends to us; the rest is refused */
	int queue; /* high-water mark in messages, a fuse; 0 = 100000 */
	link_handler *on_message;
	link_refused *on_refused;       /* may be NULL */
	link_connection *on_connection; /* DEALER only; may be NULL */
	void *arg;
};

/* ERR_SYSTEM, ERR_CONFLICT (another process is bound here: a lock file beside
 * the ipc path says so), ERR_LIMIT (ipc path over IPC_PATH_MAX), ERR_INPUT (no
 * ipc endpoint). The socket's file is for its owner alone (0600). */
int link_new(struct link **ret_link, const struct link_config *config,
    struct err *err) CHECKED;
/* NULL is fine; returns NULL. No handler runs from here on, also when called
 * inside one. The socket closes in the loop's next pass or in loop_release,
 * with linger_ms for what was sent: end the ZeroMQ context after that. A
 * ROUTER's file goes at once, its lock with the socket. */
struct link *link_free(struct link *link, int linger_ms);

/* Sends one message; peer NULL on a DEALER. The body is copied; it must be
 * empty where the catalogue has none. ERR_PEER: the peer is unknown (code
 * EHOSTUNREACH) or cannot take more now (EAGAIN). ERR_LIMIT, ERR_INPUT: a field
 * or the body passes its limit. */
int link_send(struct link *link, const struct peer *peer, const struct msg *msg,
    struct slice body, struct err *err) CHECKED;
/* The same without a copy: takes the buffer's memory (also on failure), which
 * is freed when ZeroMQ has sent it. */
int link_send_take(struct link *link, const struct peer *peer,
    const struct msg *msg, struct buf *body, struct err *err) CHECKED;

/* Keeps the body beyond the handler without copying it; NULL when there is
 * none. The handler's `body` is no longer valid: use link_body_slice. Free with
 * link_body_free (NULL is fine). */
struct link_body *link_body_take(struct link_body *owner);
struct slice link_body_slice(const struct link_body *body);
struct link_body *link_body_free(struct link_body *body);

#endif
