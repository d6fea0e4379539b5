/*
 * The server side of HTTP/1.1 over uv_tcp. Owns the listener, the connections
 * and what is on its way to them. What is put for one answer gathers in one
 * buffer of the server and leaves in one write, so that an idle connection
 * holds nothing but its handles; what a slow peer does not take moves to the
 * connection. Never parses a body.
 */
#include "tests/support/lib/http_server.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/log.h"

#define BACKLOG       4096
#define READ_BYTES    (64u * 1024)
#define WAITING_MAX   (256u * 1024) /* pipelined bytes held during an answer */
#define OUT_MAX       (512u * 1024 * 1024)
#define OUT_KEPT      (1u << 20)
#define LINGER_MS     1000
#define CHUNK_HEX_MAX 20

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

static void conn_work(struct http_conn *conn);

/* ---- closing ---- */

static void
server_release(struct http_server *server)
{
	if (!server->closed || server->open > 0)
		return;
	buf_release(&server->out);
	mem_free(server->read);
	mem_free(server);
}

static void
on_conn_closed(uv_handle_t *handle)
{
	struct http_conn *conn = handle->data;
	struct http_server *server = conn->server;

	if (--conn->handles > 0)
		return;
	list_remove(&conn->link);
	buf_release(&conn->in);
	buf_release(&conn->head);
	buf_release(&conn->rest);
	buf_release(&conn->request.body);
	mem_free(conn);
	server->open--;
	server_release(server);
}

static void
conn_close(struct http_conn *conn)
{
	bool answering = conn->state == CONN_ANSWER && conn->end == END_NONE;

	if (conn->state == CONN_CLOSED)
		return;
	conn->state = CONN_CLOSED;
	if (answering)
		conn->server->handler.on_gone(conn->server->handler.arg, conn);
	if (!uv_is_closing((uv_handle_t *)&conn->tcp))
		uv_close((uv_handle_t *)&conn->tcp, on_conn_closed);
	uv_close((uv_handle_t *)&conn->timer, on_conn_closed);
}

static void
on_timer(uv_timer_t *timer)
{
	struct http_conn *conn = timer->data;

	if (conn->state == CONN_ANSWER)
		conn->server->handler.on_ready(conn->server->handler.arg, conn);
	else
		conn_close(conn);
}

static void
on_shutdown(uv_shutdown_t *shutdown, int status)
{
	(void)shutdown;
	(void)status;
}

/* Says that nothing more comes and reads on: closing with unread bytes would
 * reset the connection before the peer has read the answer. */
static void
conn_linger(struct http_conn *conn)
{
	conn->state = CONN_LINGER;
	buf_release(&conn->in);
	buf_release(&conn->request.body);
	if (uv_shutdown(
		&conn->shutdown, (uv_stream_t *)&conn->tcp, on_shutdown) != 0)
		conn_close(conn);
	else
		uv_timer_start(&conn->timer, on_timer, LINGER_MS, 0);
}

/* ---- writing ---- */

static struct buf *
out_of(struct http_conn *conn)
{
	struct http_server *server = conn->server;

	if (server->out.len > 0 && server->out_of != conn)
		BUG("an answer was left unflushed");
	server->out_of = conn;
	return &server->out;
}

static const char *
reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{ 200, "OK" },
		{ 204, "No Content" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 411, "Length Required" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 417, "Expectation Failed" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < COUNT(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Status";
}

static void
put_status(struct buf *out, int status)
{
	buf_puts(out, "HTTP/1.1 ");
	buf_put_u64(out, (uint64_t)status);
	buf_putc(out, ' ');
	buf_puts(out, reason(status));
	buf_puts(out, "\r\n");
}

/* The answer is with the kernel as a whole. */
static void
answer_done(struct http_conn *conn)
{
	enum conn_end end = conn->end;

	conn->data = NULL;
	conn->end = END_NONE;
	buf_release(&conn->request.body);
	if (end == END_CLOSE) {
		conn->state = CONN_HEAD;
		conn_close(conn);
	} else if (end == END_LINGER) {
		conn_linger(conn);
	} else {
		conn->state = CONN_HEAD;
		conn_work(conn);
	}
}

static void
on_written(uv_write_t *write, int status)
{
	struct http_conn *conn = write->data;

	buf_release(&conn->rest);
	if (conn->state != CONN_ANSWER)
		return;
	if (status < 0)
		conn_close(conn);
	else if (conn->end != END_NONE)
		answer_done(conn);
	else
		conn->server->handler.on_ready(conn->server->handler.arg, conn);
}

static bool
write_rest(struct http_conn *conn, struct slice rest)
{
	uv_buf_t buf;

	buf_put_slice(&conn->rest, rest);
	buf = uv_buf_init(conn->rest.ptr, (unsigned)conn->rest.len);
	conn->write.data = conn;
	return uv_write(&conn->write, (uv_stream_t *)&conn->tcp, &buf, 1,
		   on_written) == 0;
}

bool
http_flush(struct http_conn *conn)
{
	struct buf *out = out_of(conn);
	uv_buf_t buf = uv_buf_init(out->ptr, (unsigned)out->len);
	bool whole = true;
	size_t done = 0;
	int n;

	if (out->len > 0 && conn->state != CONN_CLOSED) {
		n = uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
		done = n > 0 ? (size_t)n : 0;
		whole = done == out->len;
		if ((n < 0 && n != UV_EAGAIN) ||
		    (!whole && !write_rest(conn,
				   slice_of(out->ptr + done, out->len - done))))
			conn_close(conn);
	}
	buf_clear(out);
	if (out->cap > OUT_KEPT)
		buf_release(out);
	return whole && conn->state != CONN_CLOSED;
}

static void
finish(struct http_conn *conn, enum conn_end end)
{
	conn->end = end;
	if (http_flush(conn))
		answer_done(conn);
}

void
http_begin(struct http_conn *conn, int status, struct slice fields)
{
	struct buf *out = out_of(conn);

	conn->chunked = !conn->request.head.old;
	put_status(out, status);
	buf_put_slice(out, fields);
	if (conn->chunked)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	if (conn->request.head.close || !conn->chunked)
		buf_puts(out, "Connection: close\r\n");
	buf_puts(out, "\r\n");
}

static void
put_chunk(struct buf *out, struct slice bytes)
{
	char size[CHUNK_HEX_MAX];
	size_t at = sizeof(size), left = bytes.len;

	size[--at] = '\n';
	size[--at] = '\r';
	do {
		size[--at] = "0123456789abcdef"[left & 15];
		left >>= 4;
	} while (left > 0);
	buf_put(out, size + at, sizeof(size) - at);
	buf_put_slice(out, bytes);
	buf_puts(out, "\r\n");
}

void
http_put(struct http_conn *conn, struct slice bytes, size_t chunk_bytes)
{
	struct buf *out = out_of(conn);

	if (!conn->chunked) {
		buf_put_slice(out, bytes);
		return;
	}
	while (bytes.len > 0) {
		size_t n = bytes.len;

		if (chunk_bytes > 0 && n > chunk_bytes)
			n = chunk_bytes;
		put_chunk(out, slice_of(bytes.ptr, n));
		bytes.ptr += n;
		bytes.len -= n;
	}
}

void
http_end(struct http_conn *conn)
{
	bool close = conn->request.head.close || !conn->chunked;

	if (conn->chunked)
		buf_puts(out_of(conn), "0\r\n\r\n");
	finish(conn, close ? END_LINGER : END_KEEP);
}

void
http_cut(struct http_conn *conn)
{
	finish(conn, END_CLOSE);
}

void
http_reset(struct http_conn *conn)
{
	conn->end = END_CLOSE;
	(void)!http_flush(conn);
	if (conn->state == CONN_CLOSED)
		return;
	/* Should it fail, the plain close below stands in. */
	(void)!uv_tcp_close_reset(&conn->tcp, on_conn_closed);
	conn_close(conn);
}

void
http_reply(struct http_conn *conn, int status, const char *type,
    struct slice fields, struct slice body)
{
	struct buf *out = out_of(conn);

	put_status(out, status);
	if (type != NULL) {
		buf_puts(out, "Content-Type: ");
		buf_puts(out, type);
		buf_puts(out, "\r\n");
	}
	buf_put_slice(out, fields);
	buf_puts(out, "Content-Length: ");
	buf_put_u64(out, body.len);
	if (conn->request.head.close)
		buf_puts(out, "\r\nConnection: close");
	buf_puts(out, "\r\n\r\n");
	buf_put_slice(out, body);
	finish(conn, conn->request.head.close ? END_LINGER : END_KEEP);
}

void
http_wait(struct http_conn *conn, uint64_t ms)
{
	if (conn->state == CONN_ANSWER)
		uv_timer_start(&conn->timer, on_timer, ms, 0);
}

void
http_set_data(struct http_conn *conn, void *data)
{
	conn->data = data;
}

void *
http_data(const struct http_conn *conn)
{
	return conn->data;
}

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
	buf_puts(out_of(conn), "HTTP/1.1 100 Continue\r\n\r\n");
	if (!http_flush(conn))
		conn_close(conn);
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
			conn_close(conn);
		return;
	}
	if (n == 0 || conn->state >= CONN_LINGER)
		return;
	buf_put(&conn->in, buf->base, (size_t)n);
	conn_work(conn);
	if (conn->state == CONN_ANSWER && conn->in.len > WAITING_MAX) {
		uv_read_stop(stream);
		conn->paused = true;
	}
}

/* Takes requests until there is no whole one, or one waits for its answer.
 * Answers that are given at once come back here: hence the loop and the
 * mark, not a recursion as deep as the pipeline. */
static void
conn_work(struct http_conn *conn)
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
	conn->rest = BUF_INIT(OUT_MAX);
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
		conn_close(conn);
		return;
	}
	server->accepted++;
}

static void
on_server_closed(uv_handle_t *handle)
{
	struct http_server *server = handle->data;

	server->closed = true;
	server_release(server);
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
	server->out = BUF_INIT(OUT_MAX);
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
		conn_close(conn);
	uv_close((uv_handle_t *)&server->tcp, on_server_closed);
}
