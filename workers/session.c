/*
 * Session rules of the commit protocol, worker's side. Times are when something
 * left here, never when it arrived: a message that waited in a socket must not
 * make the lease longer.
 */
#include "workers/session.h"

#include "proto/limits.h"

#define HELLO_MS     1000u /* until a hello without answer is repeated */
#define HELLO_MAX_MS 4000u /* longer, and the answer could come too late */

void
session_init(struct session *session, uint64_t now_ms)
{
	*session = (struct session){
		.alive_ms = now_ms,
		.alone_ms = now_ms,
		.hello_at_ms = now_ms,
		.hello_pause_ms = HELLO_MS,
	};
}

const char *
session_check(struct session *session, uint64_t now_ms)
{
	const char *why = NULL;

	if (!session->open)
		return NULL;
	if (now_ms - session->alive_ms >= session->lease_ms)
		why = "this process stood still";
	else if (now_ms - session->echoed_ms >= session->lease_ms)
		why = "no heartbeat came back in time";
	if (why != NULL)
		session_end(session, now_ms);
	return why;
}

void
session_alive(struct session *session, uint64_t now_ms)
{
	session->alive_ms = now_ms;
}

void
session_end(struct session *session, uint64_t now_ms)
{
	session->open = false;
	session->alone_ms = now_ms;
	session->hello_pause_ms = HELLO_MS;
	session->hello_at_ms = session->hello_sent_ms + HELLO_MS;
	if (session->hello_at_ms < now_ms)
		session->hello_at_ms = now_ms;
}

void
session_connected(struct session *session, uint64_t now_ms)
{
	session->connected = true;
	if (session->open)
		return;
	session->hello_at_ms = now_ms;
	session->hello_pause_ms = HELLO_MS;
}

void
session_disconnected(struct session *session, uint64_t now_ms)
{
	session->connected = false;
	if (session->open)
		session_end(session, now_ms);
}

bool
session_hello_is_due(const struct session *session, uint64_t now_ms)
{
	return session->connected && !session->open &&
	       now_ms >= session->hello_at_ms;
}

void
session_hello(struct session *session, uint64_t now_ms, bool sent)
{
	session->hello_at_ms = now_ms + session->hello_pause_ms;
	if (!sent)
		return;
	session->number++;
	session->hello_sent_ms = now_ms;
	session->hello_pause_ms *= 2;
	if (session->hello_pause_ms > HELLO_MAX_MS)
		session->hello_pause_ms = HELLO_MAX_MS;
}

bool
session_welcome(struct session *session, uint64_t number, uint64_t lease_ms,
    uint64_t now_ms)
{
	if (number != session->number || number == session->opened)
		return false;
	if (lease_ms > LEASE_WORKER_MS)
		lease_ms = LEASE_WORKER_MS;
	if (now_ms - session->hello_sent_ms >= lease_ms)
		return false;
	session->open = true;
	session->opened = number;
	session->lease_ms = lease_ms;
	session->echoed_ms = session->hello_sent_ms;
	session->beat_sent_ms = session->hello_sent_ms;
	return true;
}

bool
session_beat_is_due(const struct session *session, uint64_t now_ms)
{
	return session->open && now_ms - session->beat_sent_ms >= HEARTBEAT_MS;
}

void
session_beat(struct session *session, uint64_t now_ms)
{
	session->beat_sent_ms = now_ms;
}

void
session_echo(struct session *session, uint64_t number, uint64_t sent_ms)
{
	if (session->open && number == session->number &&
	    sent_ms <= session->beat_sent_ms && sent_ms > session->echoed_ms)
		session->echoed_ms = sent_ms;
}
