/*
 * Server and connection from the inside, for http_server.c (accepts and reads)
 * and http_answer.c (writes and closes) only.
 */
#ifndef SUPPORT_HTTP_CONN_H
#define SUPPORT_HTTP_CONN_H

#include "base/list.h"
#include "tests/support/lib/http_server.h"

struct http_server {
	uv_tcp_t tcp;
	struct http_handler handler;
	struct list conns;
	struct buf out; /* put and not yet flushed, of one connection */
	const struct http_conn *out_of;
	char *read; /* READ_BYTES, owned */
	size_t open;
	uint64_t accepted;
	uint16_t port;
	bool closed; /* the listener's handle */
	bool closing;
};

enum conn_state {
	CONN_HEAD, /* waits for a request's head */
	CONN_BODY,
	CONN_ANSWER, /* the handler's turn */
	CONN_LINGER, /* answered for the last time, reads to the end */
	CONN_CLOSED,
};

enum conn_end {
	END_NONE,
	END_KEEP,
	END_CLOSE,
	END_LINGER,
};

struct http_conn {
	struct list link;
	struct http_server *server; /* borrowed */
	uv_tcp_t tcp;
	uv_timer_t timer;
	uv_write_t write;
	uv_shutdown_t shutdown;
	struct buf in;   /* read and not yet taken */
	struct buf head; /* what request.head borrows */
	struct buf rest; /* being written by uv_write */
	struct http_request request;
	void *data; /* the handler's */
	size_t scanned;
	unsigned handles;
	enum conn_state state;
	enum conn_end end;
	bool chunked;
	bool working; /* in conn_work, further up the stack */
	bool paused;
};

#define HTTP_OUT_MAX (512u * 1024 * 1024) /* bytes put at once */

/* Takes requests from what was read; http_server.c. */
void http_conn_work(struct http_conn *conn);
/* Closes; on_gone if an answer was under way. Twice is fine. */
void http_conn_close(struct http_conn *conn);
/* What is put for this connection and not yet flushed. */
struct buf *http_conn_out(struct http_conn *conn);
/* Frees the server once it is closed and has no connection. */
void http_server_release(struct http_server *server);

#endif
