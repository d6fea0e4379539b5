/*
 * Drives one attempt from the request to its end. Owns the call, the body being
 * read and one timer for all deadlines; the request's bytes only until the
 * answer begins. Decides nothing about another attempt.
 */
#include "workers/model/stream.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "workers/model/deadline.h"
#include "workers/model/report.h"
#include "workers/model/request.h"

struct stream {
	uv_timer_t timer;
	struct stream_config config;
	struct attempt attempt;
	struct http_call *call; /* owned; NULL when it is over */
	struct buf request;     /* until the answer begins */
	struct body body;
	struct times times;
	uint64_t turn_ms;
	uint64_t events;  /* that said something, at the last read */
	char *request_id; /* owned; NULL: the server gave none */
	uint64_t wait_ms;
};

/* ---- the end ---- */

static void
on_timer_closed(uv_handle_t *handle)
{
	struct stream *stream =
	    CONTAINER_OF((uv_timer_t *)(void *)handle, struct stream, timer);

	mem_free(stream);
}

struct stream *
stream_free(struct stream *stream)
{
	if (stream == NULL)
		return NULL;
	if (stream->call != NULL)
		http_cancel(stream->call);
	buf_release(&stream->request);
	body_release(&stream->body);
	mem_free(stream->request_id);
	uv_close((uv_handle_t *)&stream->timer, on_timer_closed);
	return NULL;
}

static void
finish(struct stream *stream)
{
	struct report report = {
		.attempt = &stream->attempt,
		.model = stream->config.model,
		.body = &stream->body,
		.times = &stream->times,
		.request_id = stream->request_id,
		.wait_ms = stream->wait_ms,
		.now_ms = clock_ms(),
	};
	struct buf items = BUF_INIT(LIMIT_BODY);
	struct msg msg;

	report_make(&report, &msg, &items);
	stream->config.done(stream->config.arg, &stream->attempt, &msg,
	    msg.id == MSG_turn_done ? &items : NULL);
	buf_release(&items);
	stream_free(stream);
}

static void
leave(struct stream *stream)
{
	http_leave(stream->call);
	stream->call = NULL;
}

static void
fail(struct stream *stream, enum error_class class, const char *text)
{
	struct responses *r = &stream->body.response;
	struct failure *failure = responses_failure(r);

	failure_set(failure, "", "%s", text);
	failure->class = class;
	failure->decided = true;
	failure->status =
	    stream->times.headers_ms != 0 ? stream->body.status : 0;
	r->state = RESPONSE_FAILED;
	finish(stream);
}

void
stream_cancel(struct stream *stream)
{
	fail(stream, ERROR_cancelled, "cancelled");
}

/* ---- deadlines ---- */

static void on_timer(uv_timer_t *timer);

/* For the deadline that is next now. Bytes only move it away: then the timer
 * follows when it fires. */
static void
set_timer(struct stream *stream)
{
	uint64_t at, now = clock_ms();

	deadline_next(&stream->times, &stream->config.model->provider->timeouts,
	    stream->turn_ms, &at);
	uv_timer_start(&stream->timer, on_timer, at > now ? at - now : 0, 0);
}

static void
on_timer(uv_timer_t *timer)
{
	struct stream *stream = CONTAINER_OF(timer, struct stream, timer);
	const struct timeouts *limits =
	    &stream->config.model->provider->timeouts;
	enum deadline next;
	char text[100];
	uint64_t at;

	next = deadline_next(&stream->times, limits, stream->turn_ms, &at);
	if (at > clock_ms()) {
		set_timer(stream);
		return;
	}
	if (next == DEADLINE_DETAIL) {
		body_end(&stream->body, false);
		finish(stream);
		return;
	}
	deadline_say(next, limits, stream->turn_ms, text, sizeof(text));
	fail(stream, ERROR_timeout, text);
}

/* ---- what comes ---- */

static void
on_connected(void *arg)
{
	struct stream *stream = arg;

	stream->times.connected_ms = clock_ms();
	set_timer(stream);
}

static void
copy_header(struct stream *stream, const char *name)
{
	const char *value = http_header(stream->call, name);

	if (value != NULL && value[0] != '\0' && stream->request_id == NULL)
		stream->request_id =
		    mem_string_n(value, strnlen(value, LIMIT_CALL_ID));
}

static void
on_headers(void *arg, unsigned status)
{
	struct stream *stream = arg;
	uint64_t now = clock_ms();

	buf_release(&stream->request);
	body_status(&stream->body, status);
	copy_header(stream, "x-request-id");
	copy_header(stream, "x-generation-id");
	stream->wait_ms =
	    retry_wait_ms(http_header(stream->call, "retry-after-ms"),
		http_header(stream->call, "retry-after"), clock_wall_ms());
	if (stream->times.connected_ms == 0)
		stream->times.connected_ms = now;
	stream->times.headers_ms = stream->times.byte_ms =
	    stream->times.progress_ms = now;
	set_timer(stream);
}

static void
on_data(void *arg, struct slice chunk)
{
	struct stream *stream = arg;

	body_feed(&stream->body, chunk);
}

static void
tell(struct stream *stream, enum msg_id id, uint64_t offset, struct slice text)
{
	const struct attempt *a = &stream->attempt;
	struct msg msg = { .id = id };

	if (id == MSG_turn_snapshot)
		msg.turn_snapshot = (struct msg_turn_snapshot){ a->run, a->turn,
			a->attempt, offset };
	else
		msg.turn_delta = (struct msg_turn_delta){ a->run, a->turn,
			a->attempt, offset };
	stream->config.delta(stream->config.arg, &msg, text);
}

static void
tell_news(struct stream *stream)
{
	struct responses *r = &stream->body.response;
	struct buf text = BUF_INIT(LIMIT_BODY);
	uint64_t offset = r->offset;

	if (responses_put_news(r, &text) > 0 && !text.failed)
		tell(stream, MSG_turn_delta, offset, buf_slice(&text));
	buf_release(&text);
}

static void
note_times(struct stream *stream)
{
	struct responses *r = &stream->body.response;
	uint64_t now = clock_ms();

	stream->times.byte_ms = now;
	if (r->events != stream->events || stream->body.kind == BODY_JSON)
		stream->times.progress_ms = now;
	stream->events = r->events;
	if (r->received && stream->times.first_ms == 0)
		stream->times.first_ms = now;
	if (r->state == RESPONSE_FAILED && stream->times.failed_ms == 0) {
		stream->times.failed_ms = now;
		set_timer(stream);
	}
}

static void
on_read(void *arg)
{
	struct stream *stream = arg;

	note_times(stream);
	if (stream->body.response.output.watched)
		tell_news(stream);
	if (!body_is_over(&stream->body))
		return;
	leave(stream);
	body_end(&stream->body, true);
	finish(stream);
}

static void
on_end(void *arg, const struct http_end *end)
{
	struct stream *stream = arg;

	stream->call = NULL;
	if (stream->times.headers_ms == 0) {
		fail(stream, ERROR_network, end->text);
		return;
	}
	body_end(&stream->body, end->clean);
	finish(stream);
}

void
stream_watch(struct stream *stream, bool on)
{
	struct responses *r = &stream->body.response;
	struct buf text = BUF_INIT(LIMIT_BODY);

	responses_watch(r, on);
	if (!on)
		return;
	responses_put_snapshot(r, &text);
	if (!text.failed)
		tell(stream, MSG_turn_snapshot, r->offset, buf_slice(&text));
	buf_release(&text);
}

/* ---- the beginning ---- */

static int
build(struct stream *stream, struct slice body, struct err *err)
{
	const struct model *model = stream->config.model;
	struct json start;

	stream->request = BUF_INIT(REQUEST_MAX);
	if (json_parse(body, &start, NULL, err) == -1)
		return err_wrap(err, "turn_start");
	responses_declare(&stream->body.response, json_get(start, "tools"));
	return model->provider->protocol->request(
	    &stream->request, model, start, err);
}

static void
send_request(struct stream *stream)
{
	static const struct http_events events = {
		.connected = on_connected,
		.headers = on_headers,
		.data = on_data,
		.read = on_read,
		.end = on_end,
	};
	const struct provider *provider = stream->config.model->provider;
	struct http_request request = {
		.url = provider->url,
		.headers = provider->headers,
		.ca_file = provider->ca_file,
		.proxy = provider->proxy,
		.http1 = provider->http1,
		.body = buf_slice(&stream->request),
		.events = &events,
		.arg = stream,
	};

	stream->call = http_start(stream->config.http, &request);
	set_timer(stream);
}

struct stream *
stream_start(const struct stream_config *config, const struct attempt *attempt,
    const struct msg_turn_start *start, struct slice body)
{
	struct stream *stream = MEM_NEW(struct stream);
	const struct provider *provider = config->model->provider;
	struct err err = { 0 };

	stream->config = *config;
	stream->attempt = *attempt;
	stream->times.start_ms = clock_ms();
	stream->turn_ms = provider->timeouts.turn_ms;
	if (start->left_ms < stream->turn_ms)
		stream->turn_ms = start->left_ms;
	uv_timer_init(&config->loop->uv, &stream->timer);
	body_init(&stream->body, 0, provider->quirks);
	responses_watch(&stream->body.response, start->watched);
	if (build(stream, body, &err) == -1) {
		fail(stream, ERROR_invalid_request, err.text);
		return NULL;
	}
	send_request(stream);
	return stream;
}
