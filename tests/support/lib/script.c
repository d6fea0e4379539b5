/*
 * Reads scripts, finds the rule that fits a request and fills an answer from
 * it. Owns the script's text and the counts of its rules; values are read from
 * the text at each request, there is no second form of it.
 */
#include "tests/support/lib/script.h"

#include <strings.h>

#include "base/alloc.h"
#include "base/schema_check.h"

#define CONTENT_TYPE  "content-type"
#define HTTP_LINE_MAX 8192

/* ---- templates ---- */

typedef void template_value(const struct request *request, struct buf *out);

static void
put_last_user(const struct request *request, struct buf *out)
{
	request_text(request->last_user, out);
}

static void
put_last_output(const struct request *request, struct buf *out)
{
	request_text(request->last_output, out);
}

static void
put_model(const struct request *request, struct buf *out)
{
	request_text(request->field[REQUEST_MODEL], out);
}

static void
put_instructions(const struct request *request, struct buf *out)
{
	request_text(request->field[REQUEST_INSTRUCTIONS], out);
}

static const struct {
	const char *name;
	template_value *put;
} templates[] = {
	{ "last_user", put_last_user },
	{ "last_output", put_last_output },
	{ "outputs", request_outputs },
	{ "model", put_model },
	{ "instructions", put_instructions },
};

/* Finds the next {{word}}; false if there is none. ret_end is past it. */
static bool
next_template(
    struct slice text, size_t *ret_at, size_t *ret_end, struct slice *ret_name)
{
	const char *end = text.ptr + text.len;

	for (const char *p = text.ptr; p != NULL && p < end; p += 2) {
		const char *word, *q;

		p = memmem(p, (size_t)(end - p), "{{", 2);
		if (p == NULL)
			return false;
		word = q = p + 2;
		while (q < end && ((*q >= 'a' && *q <= 'z') || *q == '_'))
			q++;
		if (q == word || end - q < 2 || q[0] != '}' || q[1] != '}')
			continue;
		*ret_name = slice_of(word, (size_t)(q - word));
		*ret_at = (size_t)(p - text.ptr);
		*ret_end = (size_t)(q + 2 - text.ptr);
		return true;
	}
	return false;
}

static template_value *
find_template(struct slice name)
{
	for (size_t i = 0; i < COUNT(templates); i++)
		if (slice_is(name, templates[i].name))
			return templates[i].put;
	return NULL;
}

/* quoted: text is the inside of JSON, and what is put in must be too. */
static void
put_value(template_value *put, const struct request *request, bool quoted,
    struct buf *out)
{
	struct buf plain = BUF_INIT(ANSWER_TEXT_MAX);
	struct buf json = BUF_INIT(ANSWER_TEXT_MAX);

	if (!quoted) {
		put(request, out);
		return;
	}
	put(request, &plain);
	json_put_string(&json, buf_slice(&plain));
	buf_put(out, json.ptr + 1, json.len - 2);
	buf_release(&plain);
	buf_release(&json);
}

static void
expand(struct slice text, const struct request *request, bool quoted,
    struct buf *out)
{
	size_t at, end;
	struct slice name;

	while (next_template(text, &at, &end, &name)) {
		template_value *put = find_template(name);

		buf_put(out, text.ptr, put == NULL ? end : at);
		if (put != NULL)
			put_value(put, request, quoted, out);
		text.ptr += end;
		text.len -= end;
	}
	buf_put_slice(out, text);
}

/* ---- reading ---- */

static unsigned
line_of(const struct script *script, struct json value)
{
	return script->json.len > 0 ? 1 : yaml_line_of(&script->yaml, value);
}

static int
check_templates(const struct script *script, const char *name, struct err *err)
{
	struct slice text = script->rules.raw, word;
	size_t at, end;

	while (next_template(text, &at, &end, &word)) {
		if (find_template(word) == NULL)
			return err_set(err, ERR_INPUT,
			    "%s: {{%.*s}} is unknown; there are last_user, "
			    "last_output, outputs, model, instructions",
			    name, SLICE_ARGS(word));
		text.ptr += end;
		text.len -= end;
	}
	return 0;
}

static int
check_schema(const struct script *script, const char *name, struct err *err)
{
	struct json schema, where = script->rules;

	if (json_parse(slice_string(script_schema), &schema, NULL, err) == -1)
		return err_wrap(err, "the schema of scripts");
	if (schema_check(schema, script->rules, &where, err) == -1)
		return err_wrap(err, "%s:%u", name, line_of(script, where));
	return 0;
}

static bool
looks_like_json(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr(" \t\r\n", text.ptr[i]))
			return text.ptr[i] == '[' || text.ptr[i] == '{';
	return false;
}

/* JSON is read as JSON: YAML readers refuse some of it (pairs of surrogates,
 * long keys). */
static int
read_text(
    struct script *script, const char *name, struct slice text, struct err *err)
{
	if (!looks_like_json(text)) {
		if (yaml_parse(&script->yaml, name, text, err) == -1)
			return -1;
		script->rules = yaml_value(&script->yaml);
		return 0;
	}
	buf_put_slice(&script->json, text);
	if (buf_check(&script->json, name, err) == -1)
		return -1;
	if (json_parse(buf_slice(&script->json), &script->rules, NULL, err) ==
	    -1)
		return err_wrap(err, "%s", name);
	return 0;
}

int
script_parse(struct script *ret_script, const char *name, struct slice text,
    struct err *err)
{
	struct script script = { .json = BUF_INIT(SCRIPT_MAX) };

	if (read_text(&script, name, text, err) == -1 ||
	    check_schema(&script, name, err) == -1 ||
	    check_templates(&script, name, err) == -1) {
		script_release(&script);
		return -1;
	}
	script.count = json_count(script.rules);
	script.counts = mem_array(script.count, sizeof(*script.counts));
	script_release(ret_script);
	*ret_script = script;
	return 0;
}

int
script_load(struct script *ret_script, const char *path, struct err *err)
{
	struct buf text = BUF_INIT(SCRIPT_MAX);
	int rc = buf_read_file(&text, path, err);

	if (rc == 0)
		rc = script_parse(ret_script, path, buf_slice(&text), err);
	buf_release(&text);
	return rc;
}

int
script_replay(struct script *ret_script, const char *path, uint64_t chunk_bytes,
    struct err *err)
{
	struct buf file = BUF_INIT(SCRIPT_REPLAY_MAX);
	struct buf text = BUF_INIT(SCRIPT_MAX);
	int rc = buf_read_file(&file, path, err);

	buf_puts(&text, "[{\"replay\":");
	json_put_string(&text, slice_string(path));
	buf_puts(&text, ",\"chunk_bytes\":");
	buf_put_u64(&text, chunk_bytes);
	buf_puts(&text, "}]");
	if (rc == 0)
		rc = script_parse(ret_script, path, buf_slice(&text), err);
	buf_release(&file);
	buf_release(&text);
	return rc;
}

void
script_rewind(struct script *script)
{
	for (size_t i = 0; i < script->count; i++)
		script->counts[i] = (struct script_count){ 0 };
}

void
script_release(struct script *script)
{
	yaml_release(&script->yaml);
	buf_release(&script->json);
	mem_free(script->counts);
	*script = (struct script){ 0 };
}

/* ---- which rule fits ---- */

static bool
text_contains(struct json content, struct json needle)
{
	struct buf text = BUF_INIT(ANSWER_TEXT_MAX);
	struct buf word = BUF_INIT(ANSWER_TEXT_MAX);
	bool found;

	request_text(content, &text);
	json_decode(needle, &word);
	found = word.len == 0 ||
		(text.len >= word.len &&
		    memmem(text.ptr, text.len, word.ptr, word.len) != NULL);
	buf_release(&text);
	buf_release(&word);
	return found;
}

static bool
same_text(struct json a, struct json b)
{
	struct buf first = BUF_INIT(ANSWER_TEXT_MAX);
	struct buf second = BUF_INIT(ANSWER_TEXT_MAX);
	bool same =
	    slice_eq(request_plain(a, &first), request_plain(b, &second));

	buf_release(&first);
	buf_release(&second);
	return same;
}

static bool
has_tools(const struct request *request, struct json names)
{
	struct json_iter it = json_iter(names);
	struct buf scratch = BUF_INIT(0);
	struct json key, name;
	bool all = true;

	if (names.type == JSON_STRING)
		all = request_has_tool(request, request_plain(names, &scratch));
	while (names.type == JSON_ARRAY && all && json_next(&it, &key, &name))
		all = request_has_tool(request, request_plain(name, &scratch));
	buf_release(&scratch);
	return all;
}

enum when_field {
	WHEN_MODEL,
	WHEN_TURN,
	WHEN_STREAM,
	WHEN_USER,
	WHEN_OUTPUT,
	WHEN_INSTRUCTIONS,
	WHEN_TOOL,
	WHEN_COUNT,
	WHEN_FIELDS,
};

static bool
fits(struct json when[], const struct request *request)
{
	uint64_t turn;

	if (when[WHEN_MODEL].type != JSON_NONE &&
	    !same_text(when[WHEN_MODEL], request->field[REQUEST_MODEL]))
		return false;
	if (json_u64(when[WHEN_TURN], &turn) && turn != request->rounds)
		return false;
	if (when[WHEN_STREAM].type != JSON_NONE &&
	    json_true(when[WHEN_STREAM]) !=
		json_true(request->field[REQUEST_STREAM]))
		return false;
	if (when[WHEN_USER].type != JSON_NONE &&
	    !text_contains(request->last_user, when[WHEN_USER]))
		return false;
	if (when[WHEN_OUTPUT].type != JSON_NONE &&
	    !text_contains(request->last_output, when[WHEN_OUTPUT]))
		return false;
	if (when[WHEN_INSTRUCTIONS].type != JSON_NONE &&
	    !text_contains(
		request->field[REQUEST_INSTRUCTIONS], when[WHEN_INSTRUCTIONS]))
		return false;
	return has_tools(request, when[WHEN_TOOL]);
}

/* A rule that is used up counts no further requests. */
static bool
rule_fits(
    struct json rule, const struct request *request, struct script_count *count)
{
	static const char *const names[WHEN_FIELDS] = {
		[WHEN_MODEL] = "model",
		[WHEN_TURN] = "turn",
		[WHEN_STREAM] = "stream",
		[WHEN_USER] = "last_user_contains",
		[WHEN_OUTPUT] = "last_output_contains",
		[WHEN_INSTRUCTIONS] = "instructions_contain",
		[WHEN_TOOL] = "has_tool",
		[WHEN_COUNT] = "request_count",
	};
	struct json when[WHEN_FIELDS];
	uint64_t times, nth;

	if (json_u64(json_get(rule, "times"), &times) && count->used >= times)
		return false;
	request_fields(json_get(rule, "when"), names, WHEN_FIELDS, when);
	if (!fits(when, request))
		return false;
	count->fitted++;
	if (json_u64(when[WHEN_COUNT], &nth) && nth != count->fitted)
		return false;
	count->used++;
	return true;
}

/* ---- filling the answer ---- */

static struct span
keep_text(
    struct answer *answer, struct json text, const struct request *request)
{
	struct buf plain = BUF_INIT(SCRIPT_MAX);
	size_t from = answer->text.len;

	expand(request_plain(text, &plain), request, false, &answer->text);
	buf_release(&plain);
	return answer_since(answer, from);
}

/* JSON as it stands, with what its strings hold filled in. */
static struct span
keep_json(
    struct answer *answer, struct json json, const struct request *request)
{
	size_t from = answer->text.len;

	expand(json.raw, request, true, &answer->text);
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
	struct buf line = BUF_INIT(HTTP_LINE_MAX);
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

static int
fill_answer(struct answer *answer, struct json rule,
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

int
script_play(struct script *script, const struct request *request,
    struct answer *answer, struct err *err)
{
	struct json_iter it = json_iter(script->rules);
	struct json key, rule;
	size_t i = 0;

	while (script->count > 0 && json_next(&it, &key, &rule))
		if (rule_fits(rule, request, &script->counts[i++]))
			return fill_answer(answer, rule, request, err) == -1
				   ? -1
				   : 1;
	return 0;
}
