/*
 * Reads scripts and finds the rule that fits a request. Owns the script's text
 * and the counts of its rules; values are read from the text at each request,
 * there is no second form of it.
 */
#include "tests/support/lib/script.h"

#include "base/alloc.h"
#include "base/schema_check.h"
#include "tests/support/lib/script_fill.h"
#include "tests/support/lib/script_template.h"

/* ---- reading ---- */

static unsigned
line_of(const struct script *script, struct json value)
{
	return script->json.len > 0 ? 1 : yaml_line_of(&script->yaml, value);
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

static int
check_templates(const struct script *script, const char *name, struct err *err)
{
	if (template_check(script->rules.raw, err) == -1)
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
	static const struct slice names[WHEN_FIELDS] = {
		[WHEN_MODEL] = FIELD("model"),
		[WHEN_TURN] = FIELD("turn"),
		[WHEN_STREAM] = FIELD("stream"),
		[WHEN_USER] = FIELD("last_user_contains"),
		[WHEN_OUTPUT] = FIELD("last_output_contains"),
		[WHEN_INSTRUCTIONS] = FIELD("instructions_contain"),
		[WHEN_TOOL] = FIELD("has_tool"),
		[WHEN_COUNT] = FIELD("request_count"),
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

int
script_play(struct script *script, const struct request *request,
    struct answer *answer, struct err *err)
{
	struct json_iter it = json_iter(script->rules);
	struct json key, rule;
	size_t i = 0;

	while (script->count > 0 && json_next(&it, &key, &rule))
		if (rule_fits(rule, request, &script->counts[i++]))
			return script_fill(answer, rule, request, err) == -1
				   ? -1
				   : 1;
	return 0;
}
