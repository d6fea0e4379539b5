/*
 * Fills an answer from a rule: items with their templates, the numbers that
 * say how it is sent, its ending, its headers, a body of its own.
 */
#include "tests/support/lib/script_fill.h"

#include <strings.h>

#include "base/alloc.h"
#include "tests/support/lib/script.h"
#include "tests/support/lib/script_template.h"

#define CONTENT_TYPE "content-type"
#define LINE_MAX     8192

static struct span
keep_text(
    struct answer *answer, struct json text, const struct request *request)
{
	struct buf plain = BUF_INIT(SCRIPT_MAX);
	size_t from = answer->text.len;

	template_expand(
	    request_plain(text, &plain), request, false, &answer->text);
	buf_release(&plain);
	return answer_since(answer, from);
}

/* JSON as it stands, with what its strings hold filled in. */
static struct span
keep_json(
    struct answer *answer, struct json json, const struct request *request)
{
	size_t from = answer->text.len;

	template_expand(json.raw, request, true, &answer->text);
	return answer_since(answer, from);
}

static void
fill_call(
    struct answer *answer, struct json call, const struct request *request)
{
	struct answer_item *item = answer_add(answer, ANSWER_CALL);
	struct json arguments = json_get(call, "arguments");

	if (item == NULL)
		return;
	item->name = keep_text(answer, json_get(call, "name"), request);
	item->call_id = keep_text(answer, json_get(call, "call_id"), request);
	if (arguments.type == JSON_OBJECT)
		item->text = keep_json(answer, arguments, request);
	else if (arguments.type == JSON_STRING)
		item->text = keep_text(answer, arguments, request);
	else
		item->text = answer_keep(answer, SLICE("{}"));
}

static void
fill_reasoning(
    struct answer *answer, struct json reasoning, const struct request *request)
{
	struct answer_item *item = answer_add(answer, ANSWER_REASONING);
	struct json summary = json_get(reasoning, "summary");
	struct json sealed = json_get(reasoning, "encrypted");
	struct json_iter it = json_iter(summary);
	struct json key, part;
	size_t from;

	if (item == NULL)
		return;
	item->sealed = keep_text(answer, sealed, request);
	item->unsealed = sealed.type != JSON_NONE && item->sealed.len == 0;
	from = answer->text.len;
	if (summary.type == JSON_STRING)
		keep_text(answer, summary, request);
	while (summary.type == JSON_ARRAY && json_next(&it, &key, &part)) {
		keep_text(answer, part, request);
		buf_putc(&answer->text, '\0');
	}
	item->text = answer_since(answer, from);
}

static void
fill_item(
    struct answer *answer, struct json entry, const struct request *request)
{
	static const struct {
		const char *name;
		enum answer_kind kind;
	} kinds[] = {
		{ "text", ANSWER_TEXT },
		{ "refusal", ANSWER_REFUSAL },
		{ "raw_item", ANSWER_RAW_ITEM },
		{ "raw_event", ANSWER_RAW_EVENT },
		{ "comment", ANSWER_COMMENT },
	};
	struct json_iter it = json_iter(entry);
	struct answer_item *item;
	struct json key, value;

	if (!json_next(&it, &key, &value))
		return;
	if (json_is(key, "call"))
		fill_call(answer, value, request);
	if (json_is(key, "reasoning"))
		fill_reasoning(answer, value, request);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (!json_is(key, kinds[i].name) ||
		    (item = answer_add(answer, kinds[i].kind)) == NULL)
			continue;
		item->text = value.type == JSON_STRING
				 ? keep_text(answer, value, request)
				 : keep_json(answer, value, request);
		item->name =
		    keep_text(answer, json_get(value, "type"), request);
	}
}

static void
fill_numbers(struct answer *answer, struct json rule)
{
	const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ "delta_bytes", &answer->delta_bytes },
		{ "deltas", &answer->deltas },
		{ "pause_ms", &answer->pause_ms },
		{ "delay_ms", &answer->delay_ms },
		{ "chunk_bytes", &answer->chunk_bytes },
		{ "status", &answer->status },
	};

	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct json value = json_get(rule, numbers[i].name);
		uint64_t number;

		if (json_u64(value, &number))
			*numbers[i].value = number;
	}
}

static void
fill_ending(struct answer *answer, struct json rule)
{
	struct json cut = json_get(rule, "cut");
	struct json hold = json_get(rule, "hold");

	if (json_is(cut, "mid_event")) {
		answer->cut = CUT_LAST;
	} else if (cut.type == JSON_OBJECT) {
		answer->cut = json_true(json_get(cut, "mid_event")) ? CUT_INSIDE
								    : CUT_AFTER;
		cut = json_get(cut, "after");
	} else if (cut.type == JSON_NUMBER) {
		answer->cut = CUT_AFTER;
	}
	if (!json_u64(cut, &answer->cut_after))
		answer->cut_after = 0;
	answer->reset = json_true(json_get(rule, "reset"));
	if (json_is(hold, "head"))
		answer->hold = HOLD_HEAD;
	else if (json_true(hold))
		answer->hold = HOLD_STREAM;
}

/* Header values with line ends would make other headers: they are cut. */
static void
fill_headers(struct answer *answer, struct json headers)
{
	struct json_iter it = json_iter(headers);
	struct json key, value;
	struct buf line = BUF_INIT(LINE_MAX);
	size_t from = answer->text.len;

	while (headers.type == JSON_OBJECT && json_next(&it, &key, &value)) {
		buf_clear(&line);
		json_decode(key, &line);
		if (line.len == strlen(CONTENT_TYPE) &&
		    strncasecmp(line.ptr, CONTENT_TYPE, line.len) == 0)
			answer->typed = true;
		buf_puts(&line, ": ");
		if (value.type == JSON_STRING)
			json_decode(value, &line);
		else
			buf_put_slice(&line, value.raw);
		for (size_t i = 0; i < line.len; i++)
			if (line.ptr[i] == '\r' || line.ptr[i] == '\n')
				line.len = i;
		buf_put_slice(&answer->text, buf_slice(&line));
		buf_puts(&answer->text, "\r\n");
	}
	answer->headers = answer_since(answer, from);
	buf_release(&line);
}

static int
fill_body(struct answer *answer, struct json rule,
    const struct request *request, struct err *err)
{
	struct json body = json_get(rule, "body");
	struct json replay = json_get(rule, "replay");
	struct buf file = BUF_INIT(SCRIPT_REPLAY_MAX);
	char *path;
	int rc;

	if (body.type == JSON_STRING) {
		answer->body = keep_text(answer, body, request);
		answer->body_type = "text/plain; charset=utf-8";
	} else if (body.type != JSON_NONE) {
		answer->body = keep_json(answer, body, request);
		answer->body_type = "application/json";
	}
	if (replay.type == JSON_NONE)
		return 0;
	path = json_string_new(replay, SCRIPT_MAX);
	if (path == NULL)
		return err_set(err, ERR_INPUT, "replay: no path");
	rc = buf_read_file(&file, path, err);
	answer->body = answer_keep(answer, buf_slice(&file));
	answer->body_type = "text/event-stream; charset=utf-8";
	buf_release(&file);
	mem_free(path);
	return rc;
}

int
script_fill(struct answer *answer, struct json rule,
    const struct request *request, struct err *err)
{
	struct json respond = json_get(rule, "respond");
	struct json_iter it = json_iter(respond);
	struct json key, entry, usage = json_get(rule, "usage");

	fill_numbers(answer, rule);
	fill_ending(answer, rule);
	fill_headers(answer, json_get(rule, "headers"));
	answer->incomplete =
	    keep_text(answer, json_get(rule, "incomplete"), request);
	answer->failed = keep_json(answer, json_get(rule, "failed"), request);
	answer->error_event =
	    keep_json(answer, json_get(rule, "error_event"), request);
	answer->usage = answer_keep(answer, usage.raw);
	while (respond.type == JSON_ARRAY && json_next(&it, &key, &entry))
		fill_item(answer, entry, request);
	return fill_body(answer, rule, request, err);
}
