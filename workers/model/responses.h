/*
 * A response of the Responses API as it streams in: events in, output items,
 * status, usage and failure out. Pure: no network, no clock. Keeps what the
 * rules need and nothing else; the echoed request in lifecycle events is
 * looked at and forgotten.
 */
#ifndef MODEL_RESPONSES_H
#define MODEL_RESPONSES_H

#include "workers/model/errors.h"
#include "workers/model/event.h"

enum response_state {
	RESPONSE_OPEN, /* no terminal event yet */
	RESPONSE_COMPLETED,
	RESPONSE_INCOMPLETE,
	RESPONSE_FAILED, /* read on shortly: more detail may come */
	RESPONSE_CANCELLED,
	RESPONSE_CUT, /* the body ended without a terminal event */
};

/* As the provider counts: cached is part of input, reasoning of output. */
struct tokens {
	bool known;
	uint64_t input, output, total, cached, reasoning;
};

struct responses {
	struct output output;
	enum response_state state;
	bool received; /* output: any text, reasoning or call */
	bool filtered; /* incomplete because of the content */
	bool over;     /* nothing more is read: terminal, or [DONE] */
	bool resumed;  /* drop events up to `sequence` */
	bool has_sequence;
	uint64_t sequence;
	struct tokens usage;
	bool tools_listed; /* the request had tools */
	bool tools_given;  /* by responses_declare; the echo does not count */
	struct buf
	    tools; /* names of declared tools, as JSON strings, by line */
	char *id, *model;        /* owned; NULL while unknown */
	struct failure *failure; /* owned; NULL when nothing failed */
	uint64_t offset;         /* deltas told or left out so far */
	uint64_t events;         /* that said something */
};

void responses_init(struct responses *r);
void responses_release(struct responses *r);

/* The tools of the request. Without it those that the provider echoes count. */
void responses_declare(struct responses *r, struct json tools);

/* Adds the tools of a list, those inside of namespaces too. */
void responses_list_tools(struct responses *r, struct json tools);

/* One event. name: of its `event` line, or empty. cut: the body ended inside
 * it; it counts only if it is one whole JSON object. */
void responses_event(
    struct responses *r, struct slice name, struct slice data, bool cut);

/* A whole response object instead of a stream. */
void responses_whole(struct responses *r, struct json response);

/* The body ended. may_end: this endpoint is known to leave the terminal event
 * out; a clean end behind whole items then counts as completed. */
void responses_end(struct responses *r, bool may_end);

/* The body goes on in another connection: events known already are dropped. */
void responses_resume(struct responses *r);

/* Makes the output whole (merge.h); once, at the end. */
void responses_close(struct responses *r);

/* Allocated when it is needed. */
struct failure *responses_failure(struct responses *r);

/* Does the client have to do something for this item? */
bool responses_waits(const struct responses *r, const struct slot *slot);
/* Declared in the request? True when nothing is known about its tools. */
bool responses_declares(const struct responses *r, struct json name);
/* "stop", "tool_calls", "length", "content_filter", "error", "cancelled",
 * "truncated". unknown_too: a function that was never declared counts as well,
 * since it must be answered. After responses_close. */
const char *responses_finish(const struct responses *r, bool unknown_too);
const char *responses_state_name(enum response_state state);

/* Appends the items as a JSON array, in their order. After responses_close. */
void responses_put_items(const struct responses *r, struct buf *out);

/* ---- for watchers ---- */

/* From now on what arrives is kept until it was told, or no longer. */
void responses_watch(struct responses *r, bool on);
/* Appends what is new since the last time, as a JSON array of [kind, item,
 * text]; returns how many. Nothing is appended when there is nothing. */
size_t responses_put_news(struct responses *r, struct buf *out);
/* Appends all there is, as a JSON array; what is told counts as told. */
void responses_put_snapshot(struct responses *r, struct buf *out);

#endif
