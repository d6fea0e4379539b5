/*
 * workers/model/stream.c and http.c: one attempt over a real connection, its
 * deadlines, its cancel, its watchers, and what becomes of the connection.
 */
#include "base/clock.h"
#include "tests/unit/model/answering.h"
#include "tests/unit/model/entry.h"
#include "tests/unit/suite.h"
#include "workers/model/stream.h"

#define HEAD                                                                   \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"               \
	"x-request-id: req_1\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define DELTA                                                                  \
	"data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n"
#define END   "data: {\"type\":\"response.completed\",\"response\":{}}\n\n"
#define START "{\"input\":[]}"

struct world {
	struct loop loop;
	struct answering server;
	struct http *http;
	struct models models;
	struct stream *stream;
	struct attempt attempt;
	/* what was told */
	size_t done_count, delta_count;
	enum msg_id id, delta_id;
	char class[40], message[LIMIT_TEXT + 1];
	uint64_t headers_ms, wait_ms, offset;
	bool output;
	struct buf items, delta;
	size_t bytes_sent;
	size_t wanted; /* ends until the loop stops */
	void (*done)(void *arg, const struct attempt *attempt,
	    const struct msg *msg, struct buf *body);
};

static void
on_done(void *arg, const struct attempt *attempt, const struct msg *msg,
    struct buf *body)
{
	struct world *w = arg;
	const struct msg_turn_failed *failed = &msg->turn_failed;

	ck_assert_uint_eq(attempt->turn, 5);
	w->done_count++;
	w->stream = NULL;
	w->id = msg->id;
	buf_clear(&w->items);
	if (msg->id == MSG_turn_done) {
		w->headers_ms = msg->turn_done.headers_ms;
		buf_put_slice(&w->items, buf_slice(body));
	} else {
		snprintf(w->class, sizeof(w->class), "%.*s",
		    SLICE_ARGS(failed->class));
		snprintf(w->message, sizeof(w->message), "%.*s",
		    SLICE_ARGS(failed->message));
		w->output = failed->output;
		w->wait_ms = failed->wait_ms;
	}
	if (w->done_count >= w->wanted)
		loop_stop(&w->loop);
}

static void
on_delta(void *arg, const struct msg *msg, struct slice body)
{
	struct world *w = arg;

	w->delta_count++;
	w->delta_id = msg->id;
	w->offset = msg->id == MSG_turn_delta ? msg->turn_delta.offset
					      : msg->turn_snapshot.offset;
	buf_clear(&w->delta);
	buf_put_slice(&w->delta, body);
}

static void
begin(struct world *w, const char *provider)
{
	char url[100];
	struct err err = { 0 };

	*w = (struct world){ .items = BUF_INIT(1u << 20),
		.delta = BUF_INIT(1u << 20),
		.attempt = { .turn = 5, .attempt = 1 },
		.wanted = 1,
		.done = on_done };
	ck_assert_int_eq(loop_init(&w->loop, &err), 0);
	answering_start(&w->server, &w->loop);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/", w->server.port);
	entry_load_at(&w->models, url, provider, "    model: m1\n");
	ck_assert_int_eq(http_new(&w->http, &w->loop, 10, &err), 0);
}

static void
start(struct world *w, bool watched, uint64_t left_ms)
{
	struct stream_config config = {
		.loop = &w->loop,
		.http = w->http,
		.model = &w->models.models[0],
		.done = w->done,
		.delta = on_delta,
		.arg = w,
	};
	struct msg_turn_start turn = { .left_ms = left_ms, .watched = watched };

	w->stream =
	    stream_start(&config, &w->attempt, &turn, slice_string(START));
}

static void
finish(struct world *w)
{
	stream_free(w->stream);
	w->http = http_free(w->http);
	answering_stop(&w->server);
	loop_release(&w->loop);
	models_release(&w->models);
	buf_release(&w->items);
	buf_release(&w->delta);
}

/* One attempt from start to end. */
static void
run(struct world *w, const char *answer, bool close)
{
	w->server.step = (struct answering_step){ answer, close };
	start(w, false, 60000);
	loop_run(&w->loop);
}

/* ---- ends ---- */

START_TEST(a_turn_is_sent_and_comes_back)
{
	struct world w;
	static const char path[] = "POST /v1/responses HTTP/1.1\r\n";

	begin(&w, "");
	run(&w, HEAD "\r\n" DELTA END, true);
	ck_assert_int_eq(w.id, MSG_turn_done);
	ck_assert_ptr_nonnull(memmem(w.items.ptr, w.items.len, "\"hi\"", 4));
	ck_assert_uint_eq(w.server.request_count, 1);
	ck_assert_mem_eq(w.server.requests[0].ptr, path, sizeof(path) - 1);
	ck_assert_ptr_nonnull(
	    memmem(w.server.requests[0].ptr, w.server.requests[0].len,
		"Authorization: Bearer " ENTRY_KEY "\r\n", 44));
	ck_assert_ptr_nonnull(memmem(w.server.requests[0].ptr,
	    w.server.requests[0].len, "\"store\":false", 13));
	finish(&w);
}
END_TEST

/* What comes after the terminal event is not waited for. */
START_TEST(a_terminal_event_ends_a_turn_whose_connection_stays_open)
{
	struct world w;

	begin(&w, "");
	run(&w, HEAD "\r\n" DELTA END "data: {\"type\":\"resp", false);
	ck_assert_int_eq(w.id, MSG_turn_done);
	ck_assert_ptr_nonnull(memmem(w.items.ptr, w.items.len, "\"hi\"", 4));
	finish(&w);
}
END_TEST

START_TEST(what_is_known_of_an_endpoint_counts)
{
	struct world w;
	static const char message[] =
	    "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":"
	    "\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a";
	struct buf answer = BUF_INIT(10000);

	begin(&w, "    quirks: {repeated_messages: true}\n");
	buf_printf(&answer, "%s%s\"}]}}\n\n%sb\"}]}}\n\n%s", HEAD "\r\n",
	    message, message, END);
	buf_putc(&answer, '\0');
	run(&w, answer.ptr, true);
	ck_assert_int_eq(w.id, MSG_turn_done);
	ck_assert_ptr_nonnull(memmem(w.items.ptr, w.items.len, "\"ab\"", 4));
	ck_assert_ptr_null(memmem(w.items.ptr, w.items.len, "\"a\"", 3));
	buf_release(&answer);
	finish(&w);
}
END_TEST

static const struct {
	const char *answer, *class, *message;
	bool close, output;
} failures[] = {
	{ HEAD "\r\n" DELTA, "cut", "before response.completed", true, true },
	{ HEAD "\r\n", "cut", "before response.completed", true, false },
	{ CHUNKED "5\r\ndata:", "cut", "before response.completed", true,
	    false },
	{ "", "network", "", true, false },
	{ "garbage\r\n\r\n", "network", "", true, false },
	{ "HTTP/1.1 401 X\r\nContent-Length: 25\r\n\r\n"
	  "{\"error\":{\"message\":\"m\"}}",
	    "auth", "environment variable K1", false, false },
	{ "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\n"
	  "Content-Length: 0\r\n\r\n",
	    "protocol", "redirects", false, false },
	{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 X\r\n"
	  "Content-Length: 0\r\n\r\n",
	    "overloaded", "HTTP 503", false, false },
	{ HEAD "\r\ndata: {\"type\":\"response.failed\",\"response\":"
	       "{\"error\":{\"code\":\"server_error\",\"message\":\"boom\"}}}"
	       "\n\n",
	    "server", "boom", true, false },
};

START_TEST(a_turn_that_fails_says_why)
{
	struct world w;

	begin(&w, "");
	run(&w, failures[_i].answer, failures[_i].close);
	ck_assert_int_eq(w.id, MSG_turn_failed);
	ck_assert_str_eq(w.class, failures[_i].class);
	ck_assert_msg(
	    strstr(w.message, failures[_i].message) != NULL, "%s", w.message);
	ck_assert(w.output == failures[_i].output);
	ck_assert_ptr_null(strstr(w.message, ENTRY_KEY));
	finish(&w);
}
END_TEST

START_TEST(no_connection_is_a_failure_of_the_network)
{
	struct world w;
	char url[60];

	begin(&w, "");
	/* a port where nobody listens any more */
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", w.server.port);
	uv_close((uv_handle_t *)&w.server.tcp, NULL);
	start(&w, false, 60000);
	loop_run(&w.loop);
	ck_assert_str_eq(w.class, "network");
	ck_assert_msg(strstr(w.message, url) != NULL, "%s", w.message);
	ck_assert(!w.output);
	stream_free(w.stream);
	w.http = http_free(w.http);
	loop_release(&w.loop);
	models_release(&w.models);
	buf_release(&w.items);
	buf_release(&w.delta);
}
END_TEST

START_TEST(a_wait_comes_from_the_headers)
{
	struct world w;

	begin(&w, "");
	run(&w,
	    "HTTP/1.1 429 X\r\nRetry-After: 30\r\nretry-after-ms: 1250.5\r\n"
	    "Content-Length: 0\r\n\r\n",
	    false);
	ck_assert_str_eq(w.class, "rate_limited");
	ck_assert_uint_eq(w.wait_ms, 1250);
	finish(&w);
}
END_TEST

/* Errors may come in two events; the second is waited for, but not long. */
START_TEST(more_detail_is_waited_for_after_an_error)
{
	struct world w;

	begin(&w, "");
	run(&w,
	    HEAD "\r\ndata: {\"type\":\"response.failed\","
		 "\"response\":{\"error\":null}}\n\n"
		 "data: {\"type\":\"error\",\"error\":{\"code\":\"slow_down\","
		 "\"message\":\"detail\"}}\n\n",
	    false);
	ck_assert_str_eq(w.class, "rate_limited");
	ck_assert_ptr_nonnull(strstr(w.message, "detail"));
	finish(&w);
}
END_TEST

START_TEST(a_start_that_cannot_be_read_fails_at_once)
{
	struct world w;
	struct stream_config config;
	struct msg_turn_start turn = { .left_ms = 1000 };

	begin(&w, "");
	config = (struct stream_config){ .loop = &w.loop,
		.http = w.http,
		.model = &w.models.models[0],
		.done = on_done,
		.delta = on_delta,
		.arg = &w };
	ck_assert_ptr_null(
	    stream_start(&config, &w.attempt, &turn, SLICE("{\"input\":")));
	ck_assert_str_eq(w.class, "invalid_request");
	ck_assert_uint_eq(w.done_count, 1);
	finish(&w);
}
END_TEST

/* ---- deadlines ---- */

static const struct {
	const char *limits, *answer, *message;
	bool output;
} silences[] = {
	{ "    timeouts: {headers_s: 0.05}\n", NULL,
	    "no response headers within 0.1 s", false },
	{ "    timeouts: {idle_s: 0.05}\n", HEAD "\r\n" DELTA,
	    "no byte for 0.1 s", true },
	{ "    timeouts: {progress_s: 0.05}\n", HEAD "\r\n: ping\n\n",
	    "no useful event for 0.1 s", false },
	{ "    timeouts: {turn_s: 0.05}\n", HEAD "\r\n" DELTA,
	    "no end of the turn within 0.1 s", true },
};

START_TEST(silence_ends_a_turn_at_its_limit)
{
	struct world w;

	begin(&w, silences[_i].limits);
	run(&w, silences[_i].answer, false);
	ck_assert_str_eq(w.class, "timeout");
	ck_assert_msg(
	    strstr(w.message, silences[_i].message) != NULL, "%s", w.message);
	ck_assert(w.output == silences[_i].output);
	finish(&w);
}
END_TEST

/* Bytes keep a turn alive, each for the whole limit. */
static void
on_byte_timer(uv_timer_t *timer)
{
	struct world *w = timer->data;
	bool last = ++w->bytes_sent == 10;

	if (w->server.request_count == 0)
		return;
	answering_send(&w->server.conns[0], last ? END : ": ping\n\n");
	if (last)
		uv_timer_stop(timer);
}

START_TEST(bytes_keep_a_turn_alive)
{
	struct world w;
	uv_timer_t timer;

	begin(&w, "    timeouts: {idle_s: 1}\n");
	uv_timer_init(&w.loop.uv, &timer);
	timer.data = &w;
	uv_timer_start(&timer, on_byte_timer, 150, 150);
	run(&w, HEAD "\r\n" DELTA, false);
	ck_assert_int_eq(w.id, MSG_turn_done);
	uv_close((uv_handle_t *)&timer, NULL);
	finish(&w);
}
END_TEST

START_TEST(the_time_left_for_the_run_ends_a_turn)
{
	struct world w;

	begin(&w, "");
	w.server.step = (struct answering_step){ HEAD "\r\n" DELTA, false };
	start(&w, false, 50);
	loop_run(&w.loop);
	ck_assert_str_eq(w.class, "timeout");
	ck_assert_ptr_nonnull(strstr(w.message, "within 0.1 s"));
	finish(&w);
}
END_TEST

/* ---- cancel ---- */

static void
cancel_now(void *arg)
{
	struct world *w = arg;

	stream_cancel(w->stream);
}

START_TEST(a_cancel_ends_a_turn_that_waits_for_its_headers)
{
	struct world w;

	begin(&w, "");
	w.server.on_request = cancel_now;
	w.server.arg = &w;
	run(&w, NULL, false);
	ck_assert_str_eq(w.class, "cancelled");
	ck_assert_uint_eq(w.done_count, 1);
	finish(&w);
}
END_TEST

START_TEST(a_cancel_ends_a_turn_before_it_is_connected)
{
	struct world w;

	begin(&w, "");
	start(&w, false, 60000);
	stream_cancel(w.stream);
	ck_assert_str_eq(w.class, "cancelled");
	ck_assert_uint_eq(w.done_count, 1);
	finish(&w);
}
END_TEST

static void
on_cancel_timer(uv_timer_t *timer)
{
	struct world *w = timer->data;

	if (w->delta_count == 0)
		return;
	uv_timer_stop(timer);
	stream_cancel(w->stream);
}

START_TEST(a_cancel_ends_a_turn_that_streams)
{
	struct world w;
	uv_timer_t timer;

	begin(&w, "");
	uv_timer_init(&w.loop.uv, &timer);
	timer.data = &w;
	uv_timer_start(&timer, on_cancel_timer, 1, 1);
	w.server.step = (struct answering_step){ HEAD "\r\n" DELTA, false };
	start(&w, true, 60000);
	loop_run(&w.loop);
	ck_assert_str_eq(w.class, "cancelled");
	ck_assert(w.output);
	uv_close((uv_handle_t *)&timer, NULL);
	finish(&w);
}
END_TEST

/* ---- connections ---- */

START_TEST(a_connection_is_used_again)
{
	struct world w;

	begin(&w, "");
	for (int i = 0; i < 5; i++) {
		w.wanted = (size_t)i + 1;
		run(&w, CHUNKED "6e\r\n" DELTA END "\n\r\n0\r\n\r\n", false);
		ck_assert_int_eq(w.id, MSG_turn_done);
	}
	ck_assert_uint_eq(w.server.request_count, 5);
	ck_assert_uint_eq(w.server.conn_count, 1);
	finish(&w);
}
END_TEST

START_TEST(turns_at_once_have_connections_of_their_own)
{
	struct world w;

	begin(&w, "");
	w.wanted = 30;
	w.server.step = (struct answering_step){ HEAD "\r\n" DELTA END, true };
	for (int i = 0; i < 30; i++)
		start(&w, false, 60000);
	loop_run(&w.loop);
	ck_assert_uint_eq(w.done_count, 30);
	ck_assert_uint_eq(w.server.request_count, 30);
	ck_assert_uint_eq(w.server.conn_count, 30);
	w.stream = NULL;
	finish(&w);
}
END_TEST

START_TEST(a_server_that_closed_its_connection_is_asked_anew)
{
	struct world w;

	begin(&w, "");
	run(&w, CHUNKED "6e\r\n" DELTA END "\n\r\n0\r\n\r\n", true);
	ck_assert_int_eq(w.id, MSG_turn_done);
	w.wanted = 2;
	run(&w, CHUNKED "6e\r\n" DELTA END "\n\r\n0\r\n\r\n", true);
	ck_assert_int_eq(w.id, MSG_turn_done);
	ck_assert_uint_eq(w.server.conn_count, 2);
	finish(&w);
}
END_TEST

/* The end of a body that comes after its terminal event. */
static void
on_late_end(void *arg, const struct attempt *attempt, const struct msg *msg,
    struct buf *body)
{
	struct world *w = arg;

	on_done(arg, attempt, msg, body);
	answering_send(&w->server.conns[0], "0\r\n\r\n");
}

static void
on_stop_timer(uv_timer_t *timer)
{
	struct world *w = timer->data;

	loop_stop(&w->loop);
}

START_TEST(a_body_may_end_after_its_terminal_event)
{
	struct world w;
	uv_timer_t timer;

	begin(&w, "");
	clock_set(clock_ms(), clock_wall_ms()); /* no moment is too long */
	w.done = on_late_end;
	w.wanted = 2;
	w.server.step =
	    (struct answering_step){ CHUNKED "6e\r\n" DELTA END "\n\r\n",
		    false };
	start(&w, false, 60000);
	uv_timer_init(&w.loop.uv, &timer);
	timer.data = &w;
	uv_timer_start(&timer, on_stop_timer, 50, 0);
	loop_run(&w.loop);
	ck_assert_uint_eq(w.done_count, 1);
	start(&w, false, 60000);
	loop_run(&w.loop);
	ck_assert_uint_eq(w.done_count, 2);
	ck_assert_uint_eq(w.server.conn_count, 1);
	clock_set(0, 0);
	uv_close((uv_handle_t *)&timer, NULL);
	finish(&w);
}
END_TEST

/* One call at a time looks its host up; one whose connection is there already
 * needs no look-up, and must let the others go. */
START_TEST(calls_that_wait_for_a_host_go_when_its_name_is_not_needed)
{
	struct world w;

	begin(&w, "");
	run(&w, CHUNKED "6e\r\n" DELTA END "\n\r\n0\r\n\r\n", false);
	clock_set(clock_ms() + 1000000, clock_wall_ms());
	w.wanted = 6;
	for (int i = 0; i < 5; i++)
		start(&w, false, 60000);
	loop_run(&w.loop);
	ck_assert_uint_eq(w.done_count, 6);
	ck_assert_int_eq(w.id, MSG_turn_done);
	clock_set(0, 0);
	finish(&w);
}
END_TEST

/* ---- watchers ---- */

START_TEST(a_watched_turn_tells_one_message_a_read)
{
	struct world w;

	begin(&w, "");
	w.server.step =
	    (struct answering_step){ HEAD "\r\n" DELTA DELTA DELTA END, true };
	start(&w, true, 60000);
	loop_run(&w.loop);
	ck_assert_uint_eq(w.delta_count, 1);
	ck_assert_int_eq(w.delta_id, MSG_turn_delta);
	ck_assert_uint_eq(w.offset, 0);
	ck_assert(slice_is(buf_slice(&w.delta), "[[\"text\",0,\"hihihi\"]]"));
	finish(&w);
}
END_TEST

START_TEST(an_unwatched_turn_tells_nothing)
{
	struct world w;

	begin(&w, "");
	run(&w, HEAD "\r\n" DELTA DELTA END, true);
	ck_assert_uint_eq(w.delta_count, 0);
	finish(&w);
}
END_TEST

static void
on_watch_timer(uv_timer_t *timer)
{
	struct world *w = timer->data;

	stream_watch(w->stream, true);
	if (w->delta.len > 2) {
		uv_timer_stop(timer);
		loop_stop(&w->loop);
	}
}

START_TEST(who_watches_later_gets_a_snapshot)
{
	struct world w;
	uv_timer_t timer;

	begin(&w, "");
	uv_timer_init(&w.loop.uv, &timer);
	timer.data = &w;
	uv_timer_start(&timer, on_watch_timer, 1, 1);
	run(&w, HEAD "\r\n" DELTA DELTA, false);
	ck_assert_int_eq(w.delta_id, MSG_turn_snapshot);
	ck_assert(slice_is(buf_slice(&w.delta), "[[\"text\",0,\"hihi\"]]"));
	ck_assert_uint_eq(w.done_count, 0);
	uv_close((uv_handle_t *)&timer, NULL);
	finish(&w);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("stream");
	TCase *ends = tcase_create("ends");
	TCase *deadlines = tcase_create("deadlines");
	TCase *cancels = tcase_create("cancels");
	TCase *connections = tcase_create("connections");
	TCase *watchers = tcase_create("watchers");

	tcase_set_timeout(ends, 30);
	tcase_add_test(ends, a_turn_is_sent_and_comes_back);
	tcase_add_test(
	    ends, a_terminal_event_ends_a_turn_whose_connection_stays_open);
	tcase_add_test(ends, what_is_known_of_an_endpoint_counts);
	tcase_add_loop_test(
	    ends, a_turn_that_fails_says_why, 0, (int)COUNT(failures));
	tcase_add_test(ends, no_connection_is_a_failure_of_the_network);
	tcase_add_test(ends, a_wait_comes_from_the_headers);
	tcase_add_test(ends, more_detail_is_waited_for_after_an_error);
	tcase_add_test(ends, a_start_that_cannot_be_read_fails_at_once);
	suite_add_tcase(s, ends);
	tcase_set_timeout(deadlines, 30);
	tcase_add_loop_test(deadlines, silence_ends_a_turn_at_its_limit, 0,
	    (int)COUNT(silences));
	tcase_add_test(deadlines, bytes_keep_a_turn_alive);
	tcase_add_test(deadlines, the_time_left_for_the_run_ends_a_turn);
	suite_add_tcase(s, deadlines);
	tcase_set_timeout(cancels, 30);
	tcase_add_test(
	    cancels, a_cancel_ends_a_turn_that_waits_for_its_headers);
	tcase_add_test(cancels, a_cancel_ends_a_turn_before_it_is_connected);
	tcase_add_test(cancels, a_cancel_ends_a_turn_that_streams);
	suite_add_tcase(s, cancels);
	tcase_set_timeout(connections, 30);
	tcase_add_test(connections, a_connection_is_used_again);
	tcase_add_test(connections, a_body_may_end_after_its_terminal_event);
	tcase_add_test(connections,
	    calls_that_wait_for_a_host_go_when_its_name_is_not_needed);
	tcase_add_test(
	    connections, turns_at_once_have_connections_of_their_own);
	tcase_add_test(
	    connections, a_server_that_closed_its_connection_is_asked_anew);
	suite_add_tcase(s, connections);
	tcase_set_timeout(watchers, 30);
	tcase_add_test(watchers, a_watched_turn_tells_one_message_a_read);
	tcase_add_test(watchers, an_unwatched_turn_tells_nothing);
	tcase_add_test(watchers, who_watches_later_gets_a_snapshot);
	suite_add_tcase(s, watchers);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
