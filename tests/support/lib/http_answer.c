/*
 * Answers on their way out, and the end of connections. What is put for one
 * answer gathers in one buffer of the server and leaves in one write, so that
 * an idle connection holds nothing but its handles; what a slow peer does not
 * take moves to the connection.
 */
#include "base/alloc.h"
#include "tests/support/lib/http_conn.h"

#define OUT_KEPT      (1u << 20)
#define LINGER_MS     1000
#define CHUNK_HEX_MAX 20

/* ---- closing ---- */

void
http_server_release(struct http_server *server)
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
	http_server_release(server);
}

void
http_conn_close(struct http_conn *conn)
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
		http_conn_close(conn);
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
		http_conn_close(conn);
	else
		uv_timer_start(&conn->timer, on_timer, LINGER_MS, 0);
}

/* ---- writing ---- */

struct buf *
http_conn_out(struct http_conn *conn)
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
		http_conn_close(conn);
	} else if (end == END_LINGER) {
		conn_linger(conn);
	} else {
		conn->state = CONN_HEAD;
		http_conn_work(conn);
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
		http_conn_close(conn);
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
	struct buf *out = http_conn_out(conn);
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
			http_conn_close(conn);
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
	struct buf *out = http_conn_out(conn);

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
	struct buf *out = http_conn_out(conn);

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
		buf_puts(http_conn_out(conn), "0\r\n\r\n");
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
	http_conn_close(conn);
}

void
http_reply(struct http_conn *conn, int status, const char *type,
    struct slice fields, struct slice body)
{
	struct buf *out = http_conn_out(conn);

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
