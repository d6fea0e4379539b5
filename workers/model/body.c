/*
 * Tells event streams, JSON and pages apart by their first bytes, and turns
 * what is no event stream into a response or a failure. Never trusts a label.
 */
#include "workers/model/body.h"

#include "workers/model/merge.h"

void
body_init(struct body *body, size_t event_max, struct body_quirks quirks)
{
	*body = (struct body){
		.status = 200,
		.quirks = quirks,
		.text = BUF_INIT(event_max == 0 ? SSE_EVENT_MAX : event_max),
	};
	responses_init(&body->response);
	sse_init(&body->sse, event_max);
}

void
body_release(struct body *body)
{
	responses_release(&body->response);
	sse_release(&body->sse);
	buf_release(&body->text);
}

void
body_status(struct body *body, unsigned status)
{
	body->status = status;
}

static bool
is_error(const struct body *body)
{
	return body->status < 200 || body->status > 299;
}

bool
body_is_over(const struct body *body)
{
	const struct responses *r = &body->response;

	/* The body of an error is read to its end: all of it may be the text.
	 */
	return r->over && (!is_error(body) || r->state == RESPONSE_FAILED);
}

static void
fail(struct body *body, const char *code, const char *text)
{
	struct responses *r = &body->response;

	if (r->state != RESPONSE_FAILED)
		failure_set(responses_failure(r), code, "%s", text);
	r->state = RESPONSE_FAILED;
	r->over = true;
}

static bool
on_event(void *arg, const struct sse_event *event)
{
	struct body *body = arg;

	responses_event(&body->response, event->name, event->data, event->cut);
	if (body->response.output.overflow)
		fail(body, "client_too_large",
		    "the answer is larger than a run may hold");
	return !body_is_over(body);
}

/* White space and line ends before a body mean nothing to any kind of it. */
static struct slice
sniff(struct body *body, struct slice chunk)
{
	while (chunk.len > 0 && memchr(" \t\r\n", *chunk.ptr, 4) != NULL)
		chunk = slice_of(chunk.ptr + 1, chunk.len - 1);
	if (chunk.len == 0)
		return chunk;
	switch (*chunk.ptr) {
	case '{':
	case '[':
		body->kind = BODY_JSON;
		break;
	case '<':
		body->kind = BODY_PAGE;
		break;
	case '\x1f':
		body->kind = BODY_BINARY;
		break;
	default:
		body->kind = BODY_EVENTS;
	}
	return chunk;
}

/* Keeps the start of the body, up to a limit; the rest is let go. */
static void
keep_head(struct body *body, struct slice chunk, size_t max)
{
	size_t room = max - body->text.len;

	buf_put(&body->text, chunk.ptr, chunk.len < room ? chunk.len : room);
}

static void
feed_events(struct body *body, struct slice chunk)
{
	struct err err = { 0 };

	if (sse_feed(&body->sse, chunk, on_event, body, &err) == -1) {
		fail(body, "client_event_too_large", err.text);
		return;
	}
	if (body->sse.events == 0 || is_error(body))
		keep_head(body, chunk,
		    is_error(body) ? BODY_ERROR_MAX : BODY_HEAD_MAX);
	else if (body->text.cap > 0)
		buf_release(&body->text);
}

void
body_feed(struct body *body, struct slice chunk)
{
	if (body_is_over(body))
		return;
	body->bytes += chunk.len;
	if (body->kind == BODY_UNKNOWN)
		chunk = sniff(body, chunk);
	switch (body->kind) {
	case BODY_UNKNOWN:
		return;
	case BODY_EVENTS:
		feed_events(body, chunk);
		return;
	case BODY_JSON:
		if (is_error(body))
			keep_head(body, chunk, BODY_ERROR_MAX);
		else
			buf_put_slice(&body->text, chunk);
		if (body->text.failed)
			fail(body, "client_event_too_large",
			    "the answer is larger than an event may be");
		return;
	case BODY_PAGE:
	case BODY_BINARY:
		keep_head(body, chunk, BODY_HEAD_MAX);
		return;
	}
	BUG("body kind %d", (int)body->kind);
}

/* ---- the end ---- */

/* Does any line look like one of an event stream? */
static bool
is_event_stream(struct slice text)
{
	static const char *const fields[] = { "data", "event", "id", "retry",
		":" };

	while (text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len =
		    end == NULL ? text.len : (size_t)(end - text.ptr) + 1;

		for (size_t i = 0; i < COUNT(fields); i++) {
			size_t n = strlen(fields[i]);

			if (len >= n && memcmp(text.ptr, fields[i], n) == 0)
				return true;
		}
		text = slice_of(text.ptr + len, text.len - len);
	}
	return false;
}

static void
end_events(struct body *body)
{
	struct responses *r = &body->response;

	sse_end(&body->sse, on_event, body);
	if (r->state == RESPONSE_OPEN && !is_error(body) &&
	    body->sse.events == 0 && body->text.len > 0 &&
	    !is_event_stream(buf_slice(&body->text))) {
		fail(body, "client_protocol", "");
		failure_read_body(responses_failure(r), buf_slice(&body->text));
	}
}

/* A whole response although a stream was asked for, or an error. */
static void
end_json(struct body *body)
{
	struct responses *r = &body->response;
	struct slice text = json_prefix(buf_slice(&body->text));
	struct json value, output;

	if (json_parse(text, &value, NULL, NULL) == -1) {
		r->state = RESPONSE_CUT;
		if (body->clean)
			fail(body, "client_protocol",
			    "the answer is broken JSON");
		return;
	}
	output = json_get(value, "output");
	if (output.type == JSON_ARRAY ||
	    json_is(json_get(value, "object"), "response")) {
		responses_whole(r, value);
		if (r->output.overflow)
			fail(body, "client_too_large",
			    "the answer is larger than a run may hold");
		return;
	}
	r->state = RESPONSE_FAILED;
	if (!failure_read(responses_failure(r), value))
		failure_set(responses_failure(r), "client_protocol",
		    "the answer is JSON, but no response: %.*s",
		    (int)(text.len < 512 ? text.len : 512), text.ptr);
}

/* An HTTP status that says it failed: the body says why. */
static void
end_error(struct body *body)
{
	struct responses *r = &body->response;
	struct failure *failure = responses_failure(r);

	if (r->state != RESPONSE_FAILED) {
		failure_read_body(failure, buf_slice(&body->text));
		if (body->kind == BODY_PAGE && failure->code[0] == '\0')
			snprintf(failure->code, sizeof(failure->code),
			    "client_html");
	}
	failure->status = body->status;
	r->state = RESPONSE_FAILED;
	r->over = true;
}

void
body_end(struct body *body, bool clean)
{
	struct responses *r = &body->response;

	body->clean = clean;
	if (body->kind == BODY_EVENTS)
		end_events(body);
	if (is_error(body)) {
		end_error(body);
		return;
	}
	if (body->kind == BODY_JSON && r->state == RESPONSE_OPEN)
		end_json(body);
	if (body->kind == BODY_PAGE) {
		fail(body, "client_html", "");
		failure_read_body(responses_failure(r), buf_slice(&body->text));
	}
	if (body->kind == BODY_BINARY)
		fail(body, "client_protocol",
		    "the answer is compressed or binary, not text");
	responses_end(r, body->quirks.may_end && clean);
	if (body->quirks.repeats)
		merge_repeats(&r->output);
}

void
body_resume(struct body *body)
{
	sse_release(&body->sse);
	sse_init(&body->sse, body->sse.data.max);
	body->kind = BODY_UNKNOWN;
	responses_resume(&body->response);
}
