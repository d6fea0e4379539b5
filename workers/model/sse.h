/*
 * Server-sent events out of bytes, however they were cut on their way: LF, CR
 * and CRLF end lines, a byte order mark at the start is dropped, `data` lines
 * join with LF, `event` names the event, everything else is skipped. An event
 * without data, or with empty data, is none.
 * Bytes stay bytes: nothing is decoded here. An event that lies inside one
 * chunk is handed on without a copy; each byte is looked at a fixed number of
 * times.
 */
#ifndef MODEL_SSE_H
#define MODEL_SSE_H

#include "base/buf.h"

#define SSE_EVENT_MAX (64u << 20) /* bytes of one event, or of one line */
#define SSE_NAME_MAX  96u         /* longer event names are cut */

/* An event; borrowed until the handler returns. */
struct sse_event {
	struct slice name; /* empty when there was no `event` line */
	struct slice data; /* never empty */
	bool cut;          /* the body ended inside it, before its blank line */
};

/* Returns false to stop: what follows is not read any more. */
typedef bool sse_handler(void *arg, const struct sse_event *event);

struct sse {
	struct buf line;   /* a line whose end has not come yet */
	struct buf data;   /* data that cannot be borrowed from a chunk */
	struct slice lent; /* the only data line so far, inside this chunk */
	char name[SSE_NAME_MAX];
	uint8_t name_len;
	bool has_data;
	bool started;  /* the first line was seen */
	bool skip_lf;  /* the last chunk ended in CR */
	bool skipping; /* inside a long line that means nothing */
	bool stopped;
	uint64_t events; /* handed on so far */
};

/* event_max 0 stands for SSE_EVENT_MAX. */
void sse_init(struct sse *sse, size_t event_max);
void sse_release(struct sse *sse);

/* One chunk of the body. ERR_LIMIT when an event passes the maximum; nothing
 * can be read after that. Does nothing once the handler has said stop. */
int sse_feed(struct sse *sse, struct slice chunk, sse_handler *handler,
    void *arg, struct err *err) CHECKED;

/* The body ended: hands on what stands unfinished, marked as cut. The handler
 * must judge whether it is whole. */
void sse_end(struct sse *sse, sse_handler *handler, void *arg);

#endif
