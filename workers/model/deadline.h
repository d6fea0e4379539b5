/*
 * The times of one attempt and the deadline that passes first. Pure: who asks
 * brings the clock.
 */
#ifndef MODEL_DEADLINE_H
#define MODEL_DEADLINE_H

#include "workers/model/provider.h"

struct times {
	uint64_t start_ms;
	uint64_t connected_ms; /* 0 = not yet, as all below */
	uint64_t headers_ms;
	uint64_t byte_ms;     /* the last byte */
	uint64_t progress_ms; /* the last event that says something */
	uint64_t first_ms;    /* the first output */
	uint64_t failed_ms;   /* an event said that it failed */
};

/* Which deadline. DEADLINE_DETAIL is no failure: nothing more needs to come. */
enum deadline {
	DEADLINE_CONNECT,
	DEADLINE_HEADERS,
	DEADLINE_IDLE,
	DEADLINE_PROGRESS,
	DEADLINE_TURN,
	DEADLINE_DETAIL,
};

/* The next deadline and its time. turn_ms: of the whole attempt, the shorter of
 * the provider's limit and the time left for the run. */
enum deadline deadline_next(const struct times *times,
    const struct timeouts *limits, uint64_t turn_ms, uint64_t *ret_at_ms);

/* "no response headers within 120 s", for people. */
void deadline_say(enum deadline deadline, const struct timeouts *limits,
    uint64_t turn_ms, char *text, size_t size);

#endif
