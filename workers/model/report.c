/*
 * Turns an ended response into its message. Here secrets are taken out of
 * whatever a provider said, and a person learns which setting to look at.
 */
#include "workers/model/report.h"

#include "base/alloc.h"
#include "base/utf8.h"

static struct slice
text_of(const char *text, size_t max)
{
	struct slice slice = slice_string(text);

	slice.len = utf8_cut(slice, max);
	return slice;
}

static uint64_t
since(const struct report *report, uint64_t at_ms)
{
	return at_ms == 0 ? 0 : at_ms - report->times->start_ms;
}

/* ---- done ---- */

static void
make_done(struct report *report, struct msg *msg, struct buf *items)
{
	const struct responses *r = &report->body->response;
	const struct attempt *a = report->attempt;

	*msg = (struct msg){ .id = MSG_turn_done };
	msg->turn_done = (struct msg_turn_done){
		.run = a->run,
		.turn = a->turn,
		.attempt = a->attempt,
		.size = items->len,
		.status = slice_string(responses_state_name(r->state)),
		.finish = slice_string(responses_finish(r, true)),
		.model = slice_string(r->model),
		.response_id = slice_string(r->id),
		.request_id = slice_string(report->request_id),
		.http_status = report->body->status,
		.usage_known = r->usage.known,
		.input_tokens = r->usage.input,
		.output_tokens = r->usage.output,
		.total_tokens = r->usage.total,
		.cached_tokens = r->usage.cached,
		.reasoning_tokens = r->usage.reasoning,
		.headers_ms = since(report, report->times->headers_ms),
		.first_ms = since(report, report->times->first_ms),
		.total_ms = since(report, report->now_ms),
	};
}

/* ---- failed ---- */

/* What a person can do about it. */
static void
put_advice(
    struct buf *out, const struct failure *failure, const struct model *model)
{
	const struct provider *p = model->provider;

	switch (failure->class) {
	case ERROR_auth:
	case ERROR_quota:
		if (p->key_name == NULL)
			buf_printf(out,
			    "; provider %s has no key: set key_env "
			    "or key_file",
			    p->name);
		else
			buf_printf(out, "; look at the key in %s", p->key_name);
		return;
	case ERROR_invalid_request:
		if (failure->status == 404)
			buf_printf(out,
			    "; look at base_url of provider %s and "
			    "model of %s",
			    p->name, model->name);
		else if (failure->param[0] != '\0')
			buf_printf(out,
			    "; look at %s in the agent's settings "
			    "or the model's entry",
			    failure->param);
		else if (failure->status == 400)
			buf_printf(out,
			    "; look at model of %s and the agent's "
			    "settings",
			    model->name);
		return;
	case ERROR_protocol:
		buf_printf(out, "; look at base_url of provider %s", p->name);
		return;
	case ERROR_context_length:
	case ERROR_rate_limited:
	case ERROR_overloaded:
	case ERROR_server:
	case ERROR_network:
	case ERROR_timeout:
	case ERROR_cut:
	case ERROR_content_filter:
	case ERROR_state:
	case ERROR_cancelled:
		return;
	}
	BUG("error class %d", (int)failure->class);
}

/* "what was said (provider, URL, model, HTTP status); what to look at" */
static void
dress(struct failure *failure, const struct model *model)
{
	const struct provider *p = model->provider;
	struct buf text = BUF_INIT(2 * LIMIT_TEXT), tail = BUF_INIT(LIMIT_TEXT);
	struct slice said;

	for (size_t i = 0; i < p->secret_count; i++)
		failure_hide(failure, p->secrets[i]);
	buf_printf(&tail, " (provider %s, %s, model %s", p->name, p->url,
	    model->model);
	if (failure->status != 0)
		buf_printf(&tail, ", HTTP %u", failure->status);
	buf_putc(&tail, ')');
	put_advice(&tail, failure, model);
	said = slice_string(failure->message);
	if (said.len == 0)
		said = slice_string(failure->code[0] != '\0'
					? failure->code
					: error_name(failure->class));
	said.len = utf8_cut(said, LIMIT_TEXT - tail.len);
	buf_put_slice(&text, said);
	buf_put_slice(&text, buf_slice(&tail));
	mem_free(failure->message);
	failure->message = buf_detach(&text, NULL);
	buf_release(&tail);
}

static void
make_failed(struct report *report, struct msg *msg)
{
	struct responses *r = &report->body->response;
	struct failure *failure = responses_failure(r);
	const struct attempt *a = report->attempt;

	if (failure->wait_ms == 0)
		failure->wait_ms = report->wait_ms;
	if (failure->status >= 300 && failure->status <= 399)
		failure_set(failure, "client_redirect",
		    "the endpoint redirects, which is not followed");
	failure_classify(failure);
	if (failure->class != ERROR_cancelled)
		dress(failure, report->model);
	*msg = (struct msg){ .id = MSG_turn_failed };
	msg->turn_failed = (struct msg_turn_failed){
		.run = a->run,
		.turn = a->turn,
		.attempt = a->attempt,
		.class = slice_string(error_name(failure->class)),
		.code = text_of(failure->code, LIMIT_NAME),
		.message = text_of(failure->message, LIMIT_TEXT),
		.output = r->received,
		.wait_ms = failure->wait_ms,
		.http_status = failure->status <= 999 ? failure->status : 0,
		.request_id = slice_string(report->request_id),
		.usage_known = r->usage.known,
		.input_tokens = r->usage.input,
		.output_tokens = r->usage.output,
		.total_tokens = r->usage.total,
		.cached_tokens = r->usage.cached,
		.reasoning_tokens = r->usage.reasoning,
		.headers_ms = since(report, report->times->headers_ms),
		.first_ms = since(report, report->times->first_ms),
		.total_ms = since(report, report->now_ms),
	};
}

/* ---- which ---- */

static void
decide(struct failure *failure, enum error_class class, const char *code,
    const char *text)
{
	failure_set(failure, code, "%s", text);
	failure->class = class;
	failure->decided = true;
}

/* A response that ended, but cannot be given on. */
static bool
is_unusable(struct report *report)
{
	struct responses *r = &report->body->response;

	switch (r->state) {
	case RESPONSE_OPEN:
	case RESPONSE_CUT:
		decide(responses_failure(r), ERROR_cut, "",
		    "stream ended before response.completed");
		return true;
	case RESPONSE_FAILED:
		return true;
	case RESPONSE_CANCELLED:
		decide(responses_failure(r), ERROR_server, "",
		    "the provider cancelled the response");
		return true;
	case RESPONSE_COMPLETED:
	case RESPONSE_INCOMPLETE:
		break;
	}
	responses_close(r);
	if (r->output.overflow)
		decide(responses_failure(r), ERROR_protocol, "client_too_large",
		    "the answer is larger than a run may hold");
	else if (r->output.left_out)
		decide(responses_failure(r), ERROR_cut, "client_damaged",
		    "part of the stream could not be read, and its items "
		    "never came whole");
	return r->output.overflow || r->output.left_out;
}

void
report_make(struct report *report, struct msg *ret_msg, struct buf *ret_items)
{
	struct responses *r = &report->body->response;

	if (!is_unusable(report)) {
		responses_put_items(r, ret_items);
		if (!ret_items->failed) {
			make_done(report, ret_msg, ret_items);
			return;
		}
		decide(responses_failure(r), ERROR_protocol, "client_too_large",
		    "the answer is larger than a run may hold");
	}
	make_failed(report, ret_msg);
}
