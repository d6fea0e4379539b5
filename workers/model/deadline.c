/*
 * Deadlines of an attempt. Bytes are no progress: a server that only sends
 * comments keeps the connection, and loses the turn.
 */
#include "workers/model/deadline.h"

#include "workers/model/stream.h"

static void
earlier(
    enum deadline *ret, uint64_t *ret_at, enum deadline deadline, uint64_t at)
{
	if (at < *ret_at) {
		*ret = deadline;
		*ret_at = at;
	}
}

enum deadline
deadline_next(const struct times *times, const struct timeouts *limits,
    uint64_t turn_ms, uint64_t *ret_at_ms)
{
	enum deadline next = DEADLINE_TURN;
	uint64_t at = times->start_ms + turn_ms;

	if (times->connected_ms == 0) {
		earlier(&next, &at, DEADLINE_CONNECT,
		    times->start_ms + limits->connect_ms);
	} else if (times->headers_ms == 0) {
		earlier(&next, &at, DEADLINE_HEADERS,
		    times->connected_ms + limits->headers_ms);
	} else {
		earlier(&next, &at, DEADLINE_IDLE,
		    times->byte_ms + limits->idle_ms);
		earlier(&next, &at, DEADLINE_PROGRESS,
		    times->progress_ms + limits->progress_ms);
	}
	if (times->failed_ms != 0)
		earlier(&next, &at, DEADLINE_DETAIL,
		    times->failed_ms + STREAM_DETAIL_MS);
	*ret_at_ms = at;
	return next;
}

void
deadline_say(enum deadline deadline, const struct timeouts *limits,
    uint64_t turn_ms, char *text, size_t size)
{
	switch (deadline) {
	case DEADLINE_CONNECT:
		snprintf(text, size, "no connection within %.1f s",
		    limits->connect_ms / 1000.0);
		return;
	case DEADLINE_HEADERS:
		snprintf(text, size, "no response headers within %.1f s",
		    limits->headers_ms / 1000.0);
		return;
	case DEADLINE_IDLE:
		snprintf(
		    text, size, "no byte for %.1f s", limits->idle_ms / 1000.0);
		return;
	case DEADLINE_PROGRESS:
		snprintf(text, size, "no useful event for %.1f s",
		    limits->progress_ms / 1000.0);
		return;
	case DEADLINE_TURN:
		snprintf(text, size, "no end of the turn within %.1f s",
		    (double)turn_ms / 1000.0);
		return;
	case DEADLINE_DETAIL:
		snprintf(text, size, "no more detail");
		return;
	}
	BUG("deadline %d", (int)deadline);
}
