/*
 * An HTTP/1.1 server on 127.0.0.1 over libuv, for programs that stand in for
 * somebody else's service in tests: keep-alive, pipelining, chunked answers
 * that may be cut, reset or never ended. One thread; one answer at a time on
 * each connection.
 *
 * An answer is either http_reply, or http_begin, any number of http_put, and
 * one of http_end, http_cut, http_reset. What is put is sent by http_flush
 * (http_reply, http_end, http_cut and http_reset do it themselves) and must be
 * flushed before the handler returns.
 */
#ifndef SUPPORT_HTTP_SERVER_H
#define SUPPORT_HTTP_SERVER_H

#include <uv.h>

#include "base/buf.h"
#include "tests/support/lib/http_head.h"

struct http_server; /* defined in http_server.c */
struct http_conn;

struct http_request {
	struct http_head head; /* borrowed from the connection */
	struct buf body; /* owned by the connection; a handler may move it out
			    and leave BUF_INIT(HTTP_BODY_MAX) */
};

struct http_handler {
	/* A whole request. Valid until its answer ends. */
	void (*on_request)(
	    void *arg, struct http_conn *conn, struct http_request *request);
	/* http_flush had returned false and now all is sent, or http_wait is
	 * over. */
	void (*on_ready)(void *arg, struct http_conn *conn);
	/* The peer went away before the answer had ended; there will be no
	 * more calls for it. */
	void (*on_gone)(void *arg, struct http_conn *conn);
	/* Something that is no HTTP was refused with that status. */
	void (*on_refused)(void *arg, int status, const char *why);
	void *arg;
};

/* Listens on 127.0.0.1:port (0: any). handler is copied. */
int http_server_new(struct http_server **ret_server, uv_loop_t *loop,
    uint16_t port, const struct http_handler *handler, struct err *err) CHECKED;
uint16_t http_server_port(const struct http_server *server);
/* Connections now open, and how many there were in all. */
size_t http_server_open(const struct http_server *server);
uint64_t http_server_accepted(const struct http_server *server);
/* Closes the listener and every connection (on_gone for those in an answer);
 * the memory is freed while the loop runs on: run it until it ends. */
void http_server_close(struct http_server *server);

/* A whole answer with its length. type may be NULL (no Content-Type); fields:
 * further header lines, each with CRLF, may be empty. */
void http_reply(struct http_conn *conn, int status, const char *type,
    struct slice fields, struct slice body);
/* The head of a chunked answer (of one that ends with the connection for
 * HTTP/1.0). */
void http_begin(struct http_conn *conn, int status, struct slice fields);
/* Body bytes, as chunks of at most chunk_bytes (0: one chunk). */
void http_put(struct http_conn *conn, struct slice bytes, size_t chunk_bytes);
void http_end(struct http_conn *conn);
/* Closes without the last chunk, after what was put. */
void http_cut(struct http_conn *conn);
/* Sends RST after what the socket takes at once. */
void http_reset(struct http_conn *conn);
/* true: everything put is with the kernel. false: on_ready will follow. */
bool http_flush(struct http_conn *conn) CHECKED;
/* on_ready after ms milliseconds. */
void http_wait(struct http_conn *conn, uint64_t ms);

/* A pointer for the handler to remember; NULL at the start of an answer. */
void http_set_data(struct http_conn *conn, void *data);
void *http_data(const struct http_conn *conn);

#endif
