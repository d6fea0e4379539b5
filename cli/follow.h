/*
 * Follows one run: asks for its events, keeps the place, and when the
 * supervisor goes away and comes back, goes on from the last event. Each
 * committed event is given once.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/client.h"

#define FOLLOW_SILENCE_MS 10000u /* then the watch is asked for again */
#define FOLLOW_ANSWER_MS  6000u  /* for its answer */
#define FOLLOW_LOST_MS    30000u /* without a supervisor, then give up */
#define FOLLOW_GAP_MS     500u   /* deltas are missing: wait for a snapshot */
#define FOLLOW_WAITS_MS   2000u  /* without an event: ask what it waits for */
#define FOLLOW_WAITS_MAX  60000u /* the pause doubles up to this */

enum follow_note {
	FOLLOW_CONNECTION_LOST,
	FOLLOW_CONNECTION_BACK,
	FOLLOW_WAITS, /* value: a phrase, what the run waits for */
	FOLLOW_OVER,  /* value: the run; it ended at or before from_seq */
};

struct follow_config {
	struct client *client;
	struct uuid run;
	uint64_t from_seq;   /* 0 = from the start */
	bool deltas;         /* also what streams */
	uint32_t silence_ms; /* 0 = as above; so all five */
	uint32_t answer_ms;
	uint32_t lost_ms;
	uint32_t gap_ms;
	uint32_t waits_ms;
	/* Both borrow for the call. */
	void (*on_event)(
	    void *arg, const struct msg_event *event, struct json body);
	void (*on_note)(void *arg, enum follow_note note, struct json value);
	void *arg;
};

enum follow_end {
	FOLLOW_ENDED,    /* the run's last event was given, or FOLLOW_OVER */
	FOLLOW_DETACHED, /* SIGINT or SIGTERM */
};

/* Until the run ends or a signal says to stop watching. ret_seq is set in any
 * case: the last event that was given. Errors: ERR_PEER, no supervisor for
 * lost_ms (answer_ms when there never was one); ERR_MISSING, no such run;
 * what else the supervisor refuses with. */
int follow_run(const struct follow_config *config, enum follow_end *ret_end,
    uint64_t *ret_seq, struct err *err) CHECKED;

#endif
