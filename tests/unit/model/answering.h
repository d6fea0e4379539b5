/*
 * For tests of HTTP: a small server in the test's own loop. It reads one
 * request after the other from each connection and answers each by the steps
 * that it was given. Real sockets, one thread, no sleeping.
 */
#ifndef TESTS_MODEL_ANSWERING_H
#define TESTS_MODEL_ANSWERING_H

#include <check.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/loop.h"

#define ANSWERING_MAX     (8u << 20)
#define ANSWERING_CONNS   64
#define ANSWERING_ANSWERS 64

/* What is done when a request is complete; `bytes` NULL: nothing is sent. */
struct answering_step {
	const char *bytes;
	bool close; /* afterwards */
};

struct answering;

struct answering_conn {
	uv_tcp_t tcp;
	struct answering *server;
	struct buf in;
	bool open;
};

struct answering {
	struct loop *loop;
	uv_tcp_t tcp;
	int port;
	struct answering_conn conns[ANSWERING_CONNS];
	size_t conn_count;
	struct buf requests[ANSWERING_ANSWERS]; /* whole, head and body */
	size_t request_count;
	struct answering_step step;    /* for every request */
	void (*on_request)(void *arg); /* after the answer; may be NULL */
	void *arg;
};

struct answering_write {
	uv_write_t write;
	char *bytes;
};

static inline void
answering_written(uv_write_t *write, int status)
{
	struct answering_write *w =
	    CONTAINER_OF(write, struct answering_write, write);

	(void)status;
	mem_free(w->bytes);
	mem_free(w);
}

static inline void
answering_send(struct answering_conn *conn, const char *bytes)
{
	struct answering_write *w = MEM_NEW(struct answering_write);
	uv_buf_t buf;

	w->bytes = mem_string(bytes);
	buf = uv_buf_init(w->bytes, (unsigned)strlen(bytes));
	uv_write(
	    &w->write, (uv_stream_t *)&conn->tcp, &buf, 1, answering_written);
}

static inline void
answering_close(struct answering_conn *conn)
{
	if (conn->open)
		uv_close((uv_handle_t *)&conn->tcp, NULL);
	conn->open = false;
	buf_release(&conn->in);
}

/* Length of the request at the start of the bytes; 0 = not whole yet. */
static inline size_t
answering_whole(struct slice in)
{
	const char *end = memmem(in.ptr, in.len, "\r\n\r\n", 4);
	const char *length;
	size_t head;

	if (end == NULL)
		return 0;
	head = (size_t)(end - in.ptr) + 4;
	length = memmem(in.ptr, head, "Content-Length: ", 16);
	ck_assert_ptr_nonnull(length);
	head += strtoul(length + 16, NULL, 10);
	return in.len >= head ? head : 0;
}

static inline void
answering_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct answering_conn *conn = stream->data;
	struct answering *server = conn->server;
	size_t len;

	if (n > 0)
		buf_put(&conn->in, buf->base, (size_t)n);
	mem_free(buf->base);
	if (n < 0) {
		answering_close(conn);
		return;
	}
	while (
	    conn->open && (len = answering_whole(buf_slice(&conn->in))) > 0) {
		struct buf *seen = &server->requests[server->request_count++];

		ck_assert_uint_lt(server->request_count, ANSWERING_ANSWERS);
		*seen = BUF_INIT(ANSWERING_MAX);
		buf_put(seen, conn->in.ptr, len);
		buf_consume(&conn->in, len);
		if (server->step.bytes != NULL)
			answering_send(conn, server->step.bytes);
		if (server->step.close)
			answering_close(conn);
		if (server->on_request != NULL)
			server->on_request(server->arg);
	}
}

static inline void
answering_room(uv_handle_t *handle, size_t size, uv_buf_t *ret_buf)
{
	(void)handle;
	*ret_buf = uv_buf_init(mem_new(size), (unsigned)size);
}

static inline void
answering_accept(uv_stream_t *stream, int status)
{
	struct answering *server = stream->data;
	struct answering_conn *conn = &server->conns[server->conn_count++];

	ck_assert_int_eq(status, 0);
	ck_assert_uint_lt(server->conn_count, ANSWERING_CONNS);
	*conn = (struct answering_conn){
		.server = server, .in = BUF_INIT(ANSWERING_MAX), .open = true
	};
	uv_tcp_init(&server->loop->uv, &conn->tcp);
	conn->tcp.data = conn;
	ck_assert_int_eq(uv_accept(stream, (uv_stream_t *)&conn->tcp), 0);
	uv_read_start(
	    (uv_stream_t *)&conn->tcp, answering_room, answering_read);
}

static inline void
answering_start(struct answering *server, struct loop *loop)
{
	struct sockaddr_in address;
	int len = sizeof(address);

	*server = (struct answering){ .loop = loop };
	uv_tcp_init(&loop->uv, &server->tcp);
	server->tcp.data = server;
	uv_ip4_addr("127.0.0.1", 0, &address);
	ck_assert_int_eq(
	    uv_tcp_bind(&server->tcp, (const struct sockaddr *)&address, 0), 0);
	ck_assert_int_eq(
	    uv_listen((uv_stream_t *)&server->tcp, 64, answering_accept), 0);
	ck_assert_int_eq(
	    uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&address, &len),
	    0);
	server->port = ntohs(address.sin_port);
}

/* The handles are closed with the loop; call it before loop_release. */
static inline void
answering_stop(struct answering *server)
{
	for (size_t i = 0; i < server->conn_count; i++)
		answering_close(&server->conns[i]);
	for (size_t i = 0; i < server->request_count; i++)
		buf_release(&server->requests[i]);
	uv_close((uv_handle_t *)&server->tcp, NULL);
}

#endif
