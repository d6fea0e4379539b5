/*
 * The head of an HTTP/1.x request: request line and header fields, checked as
 * RFC 9112 asks, read in place. Pure: no sockets, no memory of its own.
 */
#ifndef SUPPORT_HTTP_HEAD_H
#define SUPPORT_HTTP_HEAD_H

#include "base/err.h"
#include "base/slice.h"

#define HTTP_HEAD_MAX (64u * 1024)
#define HTTP_BODY_MAX (64u * 1024 * 1024)

/* Borrows the text it was parsed from. */
struct http_head {
	struct slice method;
	struct slice path;   /* without the query */
	struct slice fields; /* all header lines, each with its CRLF */
	uint64_t length;     /* of the body; 0 without Content-Length */
	bool old;            /* HTTP/1.0 */
	bool close;          /* the connection ends after the answer */
	bool expects;        /* 100-continue is waited for */
};

/* Where the head ends (past its empty line), 0 while it is not whole. Begins
 * at *scanned and moves it, so that slow input is not scanned twice. */
size_t http_head_end(struct slice text, size_t *scanned);

/* What the first bytes show to be no HTTP at all: returns false. */
bool http_head_is_plausible(struct slice text);

/* text: a whole head with its empty line. 0, or the status to answer with
 * (400, 411, 413, 417, 505), and err says why. */
int http_head_parse(
    struct slice text, struct http_head *ret_head, struct err *err) CHECKED;

/* The value of the first field of that name, or an empty slice (ptr NULL). */
struct slice http_head_get(const struct http_head *head, const char *name);

/* Takes the next field off *rest (begin with head->fields); false at the end.
 */
bool http_head_next(
    struct slice *rest, struct slice *ret_name, struct slice *ret_value);

/* Compares without case, as field names and tokens are. */
bool http_slice_is(struct slice text, const char *word);

#endif
