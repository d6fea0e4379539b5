/*
 * The server side of HTTP/1.1 over uv_tcp: the listener, its connections, and
 * requests as they are read. Owns them all. Never parses a body.
 */
#include "tests/support/lib/http_server.h"

#include "base/alloc.h"
#include "base/log.h"
#include "tests/support/lib/http_conn.h"

#define BACKLOG     4096
#define READ_BYTES  (64u * 1024)
#define WAITING_MAX (256u * 1024) /* pipelined bytes held during an answer */

/* ---- reading ---- */

static void
conn_refuse(struct http_conn *conn, int status, const char *why)
{
	struct http_server *server = conn->server;
	char body[300];

	server->handler.on_refused(server->handler.arg, status, why);
	snprintf(body, sizeof(body),
	    "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\","
	    "\"param\":null,\"code\":\"bad_http\"}}",
	    why);
	conn->state = CONN_ANSWER;
	conn->request.head = (struct http_head){ .close = true };
	http_reply(conn, status, "application/json", (struct slice){ 0 },
	    slice_string(body));
}

static void
send_continue(struct http_conn *conn)
{
	buf_puts(http_conn_out(conn), "HTTP/1.1 100 Continue\r\n\r\n");
	if (!http_flush(conn))
		http_conn_close(conn);
}

/* Moves the head out of `in`, so that its slices stay while more is read. */
static void
take_head(struct http_conn *conn, size_t len)
{
	struct err err = { 0 };
	int status;

	buf_clear(&conn->head);
	buf_put(&conn->head, conn->in.ptr, len);
	buf_consume(&conn->in, len);
	conn->scanned = 0;
	status =
	    http_head_parse(buf_slice(&conn->head), &conn->request.head, &err);
	if (status != 0) {
		conn_refuse(conn, status, err.text);
		return;
	}
	conn->state = CONN_BODY;
	if (conn->request.head.expects &&
	    conn->in.len < conn->request.head.length)
		send_continue(conn);
}

/* RFC 9112 lets empty lines stand before a request line. */
static void
skip_empty_lines(struct http_conn *conn)
{
	size_t n = 0;

	while (
	    conn->in.len - n >= 2 && memcmp(conn->in.ptr + n, "\r\n", 2) == 0)
		n += 2;
	if (n > 0)
		buf_consume(&conn->in, n);
}

/* Goes one state further if enough was read; false if not. */
static bool
read_head(struct http_conn *conn)
{
	size_t len;

	if (conn->scanned == 0)
		skip_empty_lines(conn);
	if (conn->in.len == 1 && conn->in.ptr[0] == '\r')
		return false;
	if (!http_head_is_plausible(buf_slice(&conn->in))) {
		conn_refuse(conn, 400, "this is no HTTP request");
		return true;
	}
	len = http_head_end(buf_slice(&conn->in), &conn->scanned);
	if (len > HTTP_HEAD_MAX || (len == 0 && conn->in.len > HTTP_HEAD_MAX))
		conn_refuse(conn, 431, "the head is larger than 64 KiB");
	else if (len == 0)
		return false;
	else
		take_head(conn, len);
	return true;
}

static bool
read_body(struct http_conn *conn)
{
	struct http_server *server = conn->server;
	struct buf *body = &conn->request.body;
	size_t need = (size_t)conn->request.head.length - body->len;
	size_t n = conn->in.len < need ? conn->in.len : need;

	if (n > 0) {
		buf_put(body, conn->in.ptr, n);
		buf_consume(&conn->in, n);
	}
	if (n < need)
		return false;
	if (conn->in.len == 0)
		buf_release(&conn->in);
	conn->state = CONN_ANSWER;
	server->handler.on_request(server->handler.arg, conn, &conn->request);
	return true;
}

static void
on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret_buf)
{
	struct http_conn *conn = handle->data;

	(void)size;
	*ret_buf = uv_buf_init(conn->server->read, READ_BYTES);
}

static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct http_conn *conn = stream->data;

	if (n < 0) {
		if (n == UV_EOF &&
		    (conn->state == CONN_BODY || conn->in.len > 0) &&
		    conn->state < CONN_ANSWER)
			conn_refuse(conn, 400, "the request is cut short");
		else
			http_conn_close(conn);
		return;
	}
	if (n == 0 || conn->state >= CONN_LINGER)
		return;
	buf_put(&conn->in, buf->base, (size_t)n);
	http_conn_work(conn);
	if (conn->state == CONN_ANSWER && conn->in.len > WAITING_MAX) {
		uv_read_stop(stream);
		conn->paused = true;
	}
}

/* Takes requests until there is no whole one, or one waits for its answer.
 * Answers that are given at once come back here: hence the loop and the
 * mark, not a recursion as deep as the pipeline. */
void
http_conn_work(struct http_conn *conn)
{
	bool more = true;

	if (conn->working)
		return;
	conn->working = true;
	while (more && conn->state <= CONN_BODY)
		more = conn->state == CONN_HEAD ? read_head(conn)
						: read_body(conn);
	conn->working = false;
	if (conn->paused && conn->state <= CONN_BODY) {
		conn->paused = false;
		uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
	}
}

/* ---- the listener ---- */

static void
on_connection(uv_stream_t *listener, int status)
{
	struct http_server *server = listener->data;
	struct http_conn *conn;

	if (status < 0) {
		log_warn_slow("connection refused",
		    log_str("error", uv_strerror(status)));
		return;
	}
	conn = MEM_NEW(struct http_conn);
	conn->server = server;
	conn->in = BUF_INIT(HTTP_BODY_MAX + HTTP_HEAD_MAX + READ_BYTES);
	conn->head = BUF_INIT(HTTP_HEAD_MAX);
	conn->rest = BUF_INIT(HTTP_OUT_MAX);
	conn->request.body = BUF_INIT(HTTP_BODY_MAX);
	conn->handles = 2;
	conn->tcp.data = conn->timer.data = conn;
	uv_tcp_init(listener->loop, &conn->tcp);
	uv_timer_init(listener->loop, &conn->timer);
	list_append(&server->conns, &conn->link);
	server->open++;
	if (uv_accept(listener, (uv_stream_t *)&conn->tcp) != 0 ||
	    uv_tcp_nodelay(&conn->tcp, 1) != 0 ||
	    uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) != 0) {
		http_conn_close(conn);
		return;
	}
	server->accepted++;
}

static void
on_server_closed(uv_handle_t *handle)
{
	struct http_server *server = handle->data;

	server->closed = true;
	http_server_release(server);
}

static int
listen_on(struct http_server *server, uint16_t port)
{
	struct sockaddr_in addr;
	int len = sizeof(addr);
	int rc;

	uv_ip4_addr("127.0.0.1", port, &addr);
	rc = uv_tcp_bind(&server->tcp, (const struct sockaddr *)&addr, 0);
	if (rc == 0)
		rc = uv_listen(
		    (uv_stream_t *)&server->tcp, BACKLOG, on_connection);
	if (rc == 0)
		rc = uv_tcp_getsockname(
		    &server->tcp, (struct sockaddr *)&addr, &len);
	server->port = ntohs(addr.sin_port);
	return rc;
}

int
http_server_new(struct http_server **ret_server, uv_loop_t *loop, uint16_t port,
    const struct http_handler *handler, struct err *err)
{
	struct http_server *server = MEM_NEW(struct http_server);
	int rc;

	server->handler = *handler;
	server->out = BUF_INIT(HTTP_OUT_MAX);
	server->read = mem_new(READ_BYTES);
	list_init(&server->conns);
	uv_tcp_init(loop, &server->tcp);
	server->tcp.data = server;
	rc = listen_on(server, port);
	if (rc != 0) {
		http_server_close(server);
		return err_set(err, ERR_SYSTEM, "listen on 127.0.0.1:%u: %s",
		    (unsigned)port, uv_strerror(rc));
	}
	*ret_server = server;
	return 0;
}

uint16_t
http_server_port(const struct http_server *server)
{
	return server->port;
}

size_t
http_server_open(const struct http_server *server)
{
	return server->open;
}

uint64_t
http_server_accepted(const struct http_server *server)
{
	return server->accepted;
}

void
http_server_close(struct http_server *server)
{
	struct http_conn *conn;

	if (server->closing)
		return;
	server->closing = true;
	LIST_EACH (conn, next, &server->conns, struct http_conn, link)
		http_conn_close(conn);
	uv_close((uv_handle_t *)&server->tcp, on_server_closed);
}
