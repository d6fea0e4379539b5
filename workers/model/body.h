/*
 * The body of one HTTP answer, whatever its label says: an event stream, JSON,
 * a page, or nothing that this protocol speaks. The first bytes decide. Feeds
 * the response; pure, no network.
 */
#ifndef MODEL_BODY_H
#define MODEL_BODY_H

#include "workers/model/responses.h"
#include "workers/model/sse.h"

#define BODY_ERROR_MAX (64u << 10) /* kept of an error's body */
#define BODY_HEAD_MAX  2048u       /* kept of a body that is no event stream */

enum body_kind {
	BODY_UNKNOWN, /* nothing but white space so far */
	BODY_EVENTS,
	BODY_JSON,
	BODY_PAGE,
	BODY_BINARY,
};

/* What is known of an endpoint that bends the rules. */
struct body_quirks {
	bool may_end; /* leaves out the terminal event at times */
	bool repeats; /* sends a message again when it has grown */
};

struct body {
	struct responses response;
	struct sse sse;
	enum body_kind kind;
	unsigned status; /* HTTP */
	struct body_quirks quirks;
	bool clean; /* of the end */
	uint64_t bytes;
	struct buf text; /* of a body that is no event stream (yet) */
};

/* event_max 0 stands for SSE_EVENT_MAX. */
void body_init(struct body *body, size_t event_max, struct body_quirks quirks);
void body_release(struct body *body);

/* The status line came. */
void body_status(struct body *body, unsigned status);
/* Bytes came. Nothing is read once the response is over. */
void body_feed(struct body *body, struct slice chunk);
/* The body ended, cleanly or not. Now the response has an end: look at its
 * state; RESPONSE_FAILED has a failure that still must be classified. */
void body_end(struct body *body, bool clean);
/* Another body that goes on where this one broke. */
void body_resume(struct body *body);

/* Nothing more needs to be read. */
bool body_is_over(const struct body *body);

#endif
