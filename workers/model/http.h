/*
 * HTTP requests whose answers stream: libcurl's multi interface on the loop.
 * All transfers of the process share it. Keeps connections for the next
 * request, follows no redirect, has no deadlines of its own: who starts a call
 * watches the time.
 */
#ifndef MODEL_HTTP_H
#define MODEL_HTTP_H

#include <curl/curl.h>

#include "base/loop.h"
#include "base/slice.h"

struct http;      /* defined in http.c */
struct http_call; /* one request and its answer */

/* How a call ended. */
struct http_end {
	bool clean;       /* the answer came to its end as HTTP sees it */
	bool connected;   /* the request could be sent */
	const char *text; /* why not, for people; borrowed */
};

/* Told in this order. In each of them the call may be cancelled or left. */
struct http_events {
	void (*connected)(void *arg); /* the request is about to be sent */
	void (*headers)(void *arg, unsigned status);
	void (*data)(void *arg, struct slice chunk);
	/* All that one read of the network brought was told. */
	void (*read)(void *arg);
	/* The last one; the call is gone afterwards. */
	void (*end)(void *arg, const struct http_end *end);
};

struct http_request {
	const char *url;                  /* copied */
	const struct curl_slist *headers; /* borrowed until the end */
	const char *ca_file;              /* NULL = those of the system */
	const char *proxy;                /* NULL = none */
	bool http1;                       /* never HTTP/2 */
	struct slice body;                /* borrowed until `headers` */
	const struct http_events *events; /* borrowed until the end */
	void *arg;
};

/* streams: calls at once, at most; bounds HTTP/2 connections to one host. */
int http_new(struct http **ret_http, struct loop *loop, unsigned streams,
    struct err *err) CHECKED;
/* Drops all calls without a word. NULL is fine; returns NULL. */
struct http *http_free(struct http *http);

/* Never calls back before it returns. */
struct http_call *http_start(
    struct http *http, const struct http_request *request);
/* Drops the call at once; nothing is told any more. */
void http_cancel(struct http_call *call);
/* The answer is known: nothing is told any more, but the body may come to its
 * end for a moment, so that the connection can be used again. */
void http_leave(struct http_call *call);

/* A response header (any case), or NULL; borrowed for the callback. */
const char *http_header(struct http_call *call, const char *name);

#endif
