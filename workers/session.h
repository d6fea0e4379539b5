/*
 * The session of a worker as numbers: which one it is, whether it is valid at a
 * given moment, what is due. Pure: no clock, no socket. A session is valid
 * while the newest heartbeat that came back had left less than the lease ago,
 * by this machine's clock, and the loop did not stand still that long; once
 * lapsed it never comes back.
 */
#ifndef WORKERS_SESSION_H
#define WORKERS_SESSION_H

#include "base/base.h"

struct session {
	uint64_t number; /* of the last hello that was sent; 0 = none */
	bool open;       /* it was welcomed, and did not end since */
	bool connected;
	uint64_t opened; /* number of the last one that was welcomed */
	uint64_t lease_ms;
	uint64_t hello_sent_ms;
	uint64_t hello_at_ms; /* the next one, while not open */
	uint64_t hello_pause_ms;
	uint64_t beat_sent_ms;
	uint64_t echoed_ms; /* when the newest echoed heartbeat had left */
	uint64_t alive_ms;  /* when the loop last went round */
	uint64_t alone_ms;  /* since when none is open */
};

void session_init(struct session *session, uint64_t now_ms);

/* Ends a session that is no longer valid and returns why; NULL otherwise. To be
 * called before anything is decided by `open`. */
const char *session_check(struct session *session, uint64_t now_ms);
/* The loop goes round; after session_check. */
void session_alive(struct session *session, uint64_t now_ms);
/* Ends it; a hello is due at once, but not twice within a second. */
void session_end(struct session *session, uint64_t now_ms);

/* A new connection: a hello is due at once, whatever was waited for. Without
 * connection none is. */
void session_connected(struct session *session, uint64_t now_ms);
void session_disconnected(struct session *session, uint64_t now_ms);
bool session_hello_is_due(const struct session *session, uint64_t now_ms);
/* A hello with number + 1 was tried. Without answer the next one is due after a
 * growing pause; one that was not sent has used no number. */
void session_hello(struct session *session, uint64_t now_ms, bool sent);
/* True when this welcome opens the session: it answers the last hello, in time.
 */
bool session_welcome(struct session *session, uint64_t number,
    uint64_t lease_ms, uint64_t now_ms);

bool session_beat_is_due(const struct session *session, uint64_t now_ms);
void session_beat(struct session *session, uint64_t now_ms);
/* A heartbeat came back. Those of other sessions, and times at which none was
 * sent, are ignored. */
void session_echo(struct session *session, uint64_t number, uint64_t sent_ms);

#endif
