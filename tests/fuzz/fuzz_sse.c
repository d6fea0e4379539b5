/*
 * Any bytes as the body of an answer. However it is cut, it means the same; the
 * items it leaves are JSON, its calls can be run and replayed, and what
 * watchers are told is JSON as well. The first byte chooses status and quirks,
 * the second the size of the pieces.
 */
#include "tests/support/responses_report.h"

#define OUT_MAX (1u << 26)

struct setting {
	unsigned status;
	struct body_quirks quirks;
	bool clean;
};

static void
must_be_json(struct slice text, const char *what)
{
	struct json value;

	if (json_parse(text, &value, NULL, NULL) == -1)
		BUG("%s: %.*s", what, SLICE_ARGS(text));
}

/* Who watches from the middle on. */
static void
watch(struct body *body, size_t piece)
{
	struct buf text = BUF_INIT(OUT_MAX);

	if (piece == 2) {
		responses_watch(&body->response, true);
		responses_put_snapshot(&body->response, &text);
		must_be_json(buf_slice(&text), "a snapshot");
	} else if (piece > 2 &&
		   responses_put_news(&body->response, &text) > 0) {
		must_be_json(buf_slice(&text), "news");
	}
	buf_release(&text);
}

static void
play(const struct setting *setting, struct slice text, size_t step,
    bool watched, struct buf *out)
{
	struct body body;
	size_t piece = 0;

	body_init(&body, 0, setting->quirks);
	body_status(&body, setting->status);
	for (size_t at = 0; at < text.len && !body_is_over(&body);) {
		size_t n = text.len - at < step ? text.len - at : step;
		char *copy = mem_copy(text.ptr + at, n);

		body_feed(&body, slice_of(copy, n));
		mem_free(copy);
		at += n;
		if (watched)
			watch(&body, ++piece);
	}
	body_end(&body, setting->clean);
	report(&body, out);
	body_release(&body);
}

static void
check_calls(struct slice report_text)
{
	struct json value, call, id, other;
	struct json_iter it, inner;

	must_be_json(report_text, "the report");
	if (json_parse(report_text, &value, NULL, NULL) == -1)
		return;
	it = json_iter(json_get(value, "tool_calls"));
	while (json_next(&it, NULL, &call)) {
		size_t same = 0;

		id = json_get(call, "call_id");
		if (id.type != JSON_STRING || id.raw.len <= 2)
			BUG("a call without id");
		if (json_get(call, "arguments").type != JSON_STRING)
			BUG("arguments that are no string");
		inner = json_iter(json_get(value, "tool_calls"));
		while (json_next(&inner, NULL, &other))
			same +=
			    slice_eq(json_get(other, "call_id").raw, id.raw);
		if (same != 1)
			BUG("%zu calls of one id", same);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct setting setting = { .status = 200 };
	struct buf whole = BUF_INIT(OUT_MAX), cut = BUF_INIT(OUT_MAX);
	struct slice text;
	size_t step;

	if (size < 2)
		return 0;
	if ((data[0] & 1) != 0)
		setting.status = 500;
	setting.quirks.may_end = (data[0] & 2) != 0;
	setting.quirks.repeats = (data[0] & 4) != 0;
	setting.clean = (data[0] & 8) != 0;
	step = (size_t)data[1] + 1;
	text = slice_of(data + 2, size - 2);
	play(&setting, text, size, false, &whole);
	check_calls(buf_slice(&whole));
	play(&setting, text, step, (data[0] & 16) != 0, &cut);
	if (!slice_eq(buf_slice(&whole), buf_slice(&cut)))
		BUG("in pieces of %zu:\n%.*s\nand whole:\n%.*s", step,
		    SLICE_ARGS(buf_slice(&cut)), SLICE_ARGS(buf_slice(&whole)));
	buf_release(&whole);
	buf_release(&cut);
	return 0;
}
