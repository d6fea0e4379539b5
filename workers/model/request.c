/*
 * Writes the body of a request for the Responses API. Looks at no item: what
 * the database holds is what the provider gets, unencoded and undecoded.
 */
#include "workers/model/request.h"

/* Not for an agent to say: replay is ours, and no server keeps anything. */
static const char *const fixed[] = { "model", "input", "instructions", "tools",
	"stream", "store", "include", "previous_response_id", "conversation",
	"background", "reasoning", "max_output_tokens" };

static bool
is_fixed(struct json key)
{
	for (size_t i = 0; i < COUNT(fixed); i++) {
		if (json_is(key, fixed[i]))
			return true;
	}
	return false;
}

/* The agent's word, then that of the model's entry, then by the name: models of
 * the gpt family think hard unless told otherwise. */
static void
put_reasoning(
    struct json_writer *w, const struct model *model, struct json settings)
{
	struct json asked = json_get(settings, "reasoning");
	struct slice value = { 0 };

	if (asked.type == JSON_OBJECT)
		value = asked.raw;
	else if (json_is(asked, "off"))
		return;
	else if (model->reasoning != NULL)
		value = slice_string(model->reasoning);
	else if (strncmp(model->model, "gpt-", 4) == 0)
		value = SLICE("{\"effort\":\"high\"}");
	if (value.len == 0 || slice_is(value, "off"))
		return;
	json_key(w, "reasoning");
	json_raw(w, value);
}

static void
put_settings(
    struct json_writer *w, const struct model *model, struct json settings)
{
	struct json_iter it = json_iter(settings);
	struct json tokens = json_get(settings, "max_output_tokens");
	struct json key, value;

	json_key(w, "max_output_tokens");
	if (tokens.type == JSON_NUMBER)
		json_raw(w, tokens.raw);
	else
		json_unum(w, model->max_output_tokens);
	put_reasoning(w, model, settings);
	while (json_next(&it, &key, &value)) {
		if (value.type == JSON_NULL || is_fixed(key))
			continue;
		json_key_slice(w, slice_of(key.raw.ptr + 1, key.raw.len - 2));
		json_raw(w, value.raw);
	}
}

static int
check_start(struct json start, struct err *err)
{
	static const struct {
		const char *name;
		enum json_type type;
		bool need;
	} members[] = {
		{ "instructions", JSON_STRING, false },
		{ "tools", JSON_ARRAY, false },
		{ "settings", JSON_OBJECT, false },
		{ "input", JSON_ARRAY, true },
	};

	for (size_t i = 0; i < COUNT(members); i++) {
		struct json value = json_get(start, members[i].name);
		bool absent =
		    value.type == JSON_NONE || value.type == JSON_NULL;

		if (value.type != members[i].type &&
		    (members[i].need || !absent))
			return err_set(err, ERR_INPUT,
			    "turn_start: \"%s\" is missing or of another type",
			    members[i].name);
	}
	return 0;
}

int
request_build(struct buf *out, const struct model *model, struct json start,
    struct err *err)
{
	struct json_writer w = json_writer(out);
	struct json instructions = json_get(start, "instructions");
	struct json tools = json_get(start, "tools");

	if (check_start(start, err) == -1)
		return -1;
	json_open(&w, '{');
	json_key(&w, "model");
	json_text(&w, model->model);
	if (!value_is_empty(instructions)) {
		json_key(&w, "instructions");
		json_raw(&w, instructions.raw);
	}
	json_key(&w, "input");
	json_raw(&w, json_get(start, "input").raw);
	if (json_count(tools) > 0) {
		json_key(&w, "tools");
		json_raw(&w, tools.raw);
	}
	json_key(&w, "stream");
	json_bool(&w, true);
	json_key(&w, "store");
	json_bool(&w, false);
	json_key(&w, "include");
	json_raw(&w, SLICE("[\"reasoning.encrypted_content\"]"));
	put_settings(&w, model, json_get(start, "settings"));
	json_close(&w);
	return buf_check(out, "the request", err);
}
