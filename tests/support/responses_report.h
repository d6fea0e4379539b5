/*
 * Puts the whole result of a body together (responses_result.h has its parts).
 */
#ifndef TESTS_RESPONSES_REPORT_H
#define TESTS_RESPONSES_REPORT_H

#include "base/alloc.h"
#include "tests/support/responses_result.h"

static inline void
report_usage(struct json_writer *w, const struct tokens *usage)
{
	json_key(w, "usage");
	if (!usage->known) {
		json_null(w);
		return;
	}
	json_open(w, '{');
	json_key(w, "input");
	json_unum(w, usage->input);
	json_key(w, "output");
	json_unum(w, usage->output);
	json_key(w, "total");
	json_unum(w, usage->total);
	json_key(w, "cached");
	json_unum(w, usage->cached);
	json_key(w, "reasoning");
	json_unum(w, usage->reasoning);
	json_close(w);
}

static inline void
report_error(struct json_writer *w, const struct responses *r)
{
	json_key(w, "error");
	if (r->failure == NULL || r->state != RESPONSE_FAILED) {
		json_null(w);
		return;
	}
	json_open(w, '{');
	json_key(w, "code");
	json_text(w, r->failure->code[0] == '\0' ? NULL : r->failure->code);
	json_key(w, "message");
	json_text(w, r->failure->message);
	json_close(w);
}

/* A cut stream has a class as well. */
static inline void
report_class(struct json_writer *w, const struct responses *r)
{
	struct failure cut = { .class = ERROR_cut };
	const struct failure *failure =
	    r->state == RESPONSE_CUT ? &cut : r->failure;

	if (failure == NULL ||
	    (r->state != RESPONSE_CUT && r->state != RESPONSE_FAILED))
		return;
	json_key(w, "class");
	json_text(w, error_short_name(failure->class));
	json_key(w, "retry");
	json_bool(w, failure_may_retry(failure, r->received));
	if (failure->wait_ms > 0) {
		json_key(w, "retry_after_ms");
		json_unum(w, failure->wait_ms);
	}
}

static inline void
report_text(struct json_writer *w, const char *key, struct json items,
    const char *type, const char *member, bool always)
{
	struct buf text = BUF_INIT(RESULT_MAX);

	result_text(items, type, member, &text);
	if (always || text.len > 0) {
		json_key(w, key);
		json_str(w, buf_slice(&text));
	}
	buf_release(&text);
}

static inline void
report_items(
    struct json_writer *w, const struct responses *r, struct json items)
{
	struct buf calls = BUF_INIT(RESULT_MAX);
	struct json_writer side = json_writer(&calls);

	report_text(w, "text", items, "output_text", "text", true);
	json_key(w, "tool_calls");
	result_calls(w, r, items, true);
	json_key(w, "reasoning");
	result_reasoning(w, items);
	report_usage(w, &r->usage);
	json_key(w, "finish_reason");
	json_text(w, responses_finish(r, false));
	report_error(w, r);
	json_key(w, "items");
	result_items(w, items);
	report_text(w, "refusal", items, "refusal", "refusal", false);
	result_other_calls(w, r);
	result_calls(&side, r, items, false);
	if (calls.len > 2) {
		json_key(w, "undeclared_calls");
		json_raw(w, buf_slice(&calls));
	}
	buf_release(&calls);
}

/* After body_end; classifies what failed and closes the output. */
static inline void
report(struct body *body, struct buf *out)
{
	struct responses *r = &body->response;
	struct buf text = BUF_INIT(RESULT_MAX);
	struct json_writer w = json_writer(out);
	struct json items;

	if (r->state == RESPONSE_FAILED)
		failure_classify(responses_failure(r));
	responses_close(r);
	responses_put_items(r, &text);
	if (json_parse(buf_slice(&text), &items, NULL, NULL) == -1)
		BUG("items are no JSON");
	json_open(&w, '{');
	json_key(&w, "status");
	json_text(&w, responses_state_name(r->state));
	report_items(&w, r, items);
	report_class(&w, r);
	json_key(&w, "bad_args");
	result_bad_arguments(&w, items);
	json_key(&w, "damaged");
	json_bool(&w, r->output.damaged);
	json_close(&w);
	buf_release(&text);
}

#endif
