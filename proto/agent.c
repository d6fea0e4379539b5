/*
 * Reads agent definitions, from JSON and from YAML files. The schema below is
 * the one list of keys and ranges; what it lets pass is only copied here. Knows
 * no tools and no models, stores nothing.
 */
#include "proto/agent.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/schema_check.h"
#include "proto/limits.h"

/* clang-format off */
const char agent_schema[] =
"{\"type\":\"object\","
"\"description\":\"An agent of reeve.\","
"\"additionalProperties\":false,"
"\"properties\":{"
 "\"name\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_.-]{1,64}$\","
  "\"description\":\"How runs name it.\"},"
 "\"description\":{\"type\":\"string\",\"maxLength\":2000,"
  "\"description\":\"For people; the model does not see it.\"},"
 "\"instructions\":{\"type\":\"string\","
  "\"description\":\"What the model is told before the input.\"},"
 "\"model\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":128,"
  "\"description\":\"A model that a model worker offers, by its name there.\"},"
 "\"settings\":{\"type\":\"object\",\"additionalProperties\":false,"
  "\"description\":\"What a model request carries besides its input.\","
  "\"properties\":{"
  "\"temperature\":{\"type\":\"number\",\"minimum\":0,\"maximum\":2},"
  "\"top_p\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},"
  "\"max_output_tokens\":{\"type\":\"integer\",\"minimum\":1,"
   "\"maximum\":100000000,"
   "\"description\":\"Counts reasoning tokens too.\"},"
  "\"reasoning\":{\"anyOf\":["
   "{\"enum\":[\"off\",false],"
    "\"description\":\"Leave it out of the request.\"},"
   "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"effort\":{\"enum\":[\"none\",\"minimal\",\"low\",\"medium\",\"high\","
     "\"xhigh\",\"max\"]},"
    "\"summary\":{\"enum\":[\"auto\",\"concise\",\"detailed\"]}}}]},"
  "\"parallel_tool_calls\":{\"type\":\"boolean\"},"
  "\"tool_choice\":{\"anyOf\":["
   "{\"enum\":[\"auto\",\"none\",\"required\"]},"
   "{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"type\",\"name\"],\"properties\":{"
    "\"type\":{\"const\":\"function\"},"
    "\"name\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,64}$\"}}}]},"
  "\"verbosity\":{\"enum\":[\"low\",\"medium\",\"high\"]},"
  "\"extra\":{\"type\":\"object\","
   "\"description\":\"Further members of the request, passed on as they are.\","
   "\"propertyNames\":{\"not\":{\"enum\":[\"model\",\"input\","
    "\"instructions\",\"tools\",\"stream\",\"store\",\"background\","
    "\"previous_response_id\",\"conversation\",\"temperature\",\"top_p\","
    "\"max_output_tokens\",\"reasoning\",\"parallel_tool_calls\","
    "\"tool_choice\"]}}}}},"
 "\"tools\":{\"type\":\"array\",\"uniqueItems\":true,\"maxItems\":128,"
  "\"description\":\"Names of tools that tool workers offer.\","
  "\"items\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,64}$\"}},"
 "\"max_turns\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,"
  "\"default\":10,\"description\":\"Model turns of one run.\"},"
 "\"max_active\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000,"
  "\"default\":0,"
  "\"description\":\"Runs of this agent active at once; 0: no limit.\"},"
 "\"deadline_s\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":31536000,"
  "\"default\":86400,\"description\":\"Active time of a run in seconds.\"},"
 "\"unknown_tool\":{\"enum\":[\"fail\",\"tell\"],\"default\":\"fail\","
  "\"description\":\"The model calls a tool that the agent does not have: "
   "fail the run, or tell the model.\"},"
 "\"on_cut\":{\"enum\":[\"fail\",\"retry\"],\"default\":\"fail\","
  "\"description\":\"A turn ended early after output had been received: fail "
   "the run, or pay for another attempt.\"},"
 "\"on_unknown_outcome\":{\"enum\":[\"tell\",\"fail\"],\"default\":\"tell\","
  "\"description\":\"Nobody knows whether a call of a tool that is not "
   "idempotent was carried out: tell the model, or fail the run.\"}"
"},\"required\":[\"name\",\"model\"]}";
/* clang-format on */

static void
read_tools(struct agent *agent, struct json tools)
{
	struct json_iter it = json_iter(tools);
	struct json key, name;

	agent->tools = mem_array(json_count(tools), sizeof(char *));
	while (json_next(&it, &key, &name))
		agent->tools[agent->tool_count++] =
		    json_string_new(name, LIMIT_NAME);
}

static char *
text_of(struct json value, const char *otherwise)
{
	return value.type == JSON_NONE
		   ? mem_string(otherwise)
		   : mem_string_n(value.raw.ptr, value.raw.len);
}

/* Of a definition that keeps to the schema. */
static struct agent
agent_read(struct json json)
{
	struct agent agent = {
		.name = config_str(json, "name", ""),
		.description = config_str(json, "description", ""),
		.instructions = config_str(json, "instructions", ""),
		.model = config_str(json, "model", ""),
		.settings = text_of(json_get(json, "settings"), "{}"),
		.max_turns =
		    (uint32_t)config_num(json, "max_turns", AGENT_MAX_TURNS),
		.max_active = (uint32_t)config_num(json, "max_active", 0),
		.deadline_ms = 1000 * (uint64_t)config_num(
					  json, "deadline_s", AGENT_DEADLINE_S),
	};

	read_tools(&agent, json_get(json, "tools"));
	if (json_is(json_get(json, "unknown_tool"), "tell"))
		agent.unknown_tool = AGENT_UNKNOWN_TOOL_TELL;
	if (json_is(json_get(json, "on_cut"), "retry"))
		agent.on_cut = AGENT_ON_CUT_RETRY;
	if (json_is(json_get(json, "on_unknown_outcome"), "fail"))
		agent.on_unknown_outcome = AGENT_ON_UNKNOWN_OUTCOME_FAIL;
	return agent;
}

/* What the schema cannot say: a forced tool is one of the agent's. */
static int
check_tool_choice(const struct agent *agent, struct json json,
    struct json *ret_where, struct err *err)
{
	struct json settings = json_get(json, "settings");
	struct json choice = json_get(settings, "tool_choice");
	struct json name = json_get(choice, "name");

	if (name.type == JSON_NONE)
		return 0;
	for (size_t i = 0; i < agent->tool_count; i++) {
		if (json_is(name, agent->tools[i]))
			return 0;
	}
	*ret_where = name;
	return err_set(err, ERR_INPUT,
	    "/settings/tool_choice/name: %.*s is no tool of this agent; "
	    "allowed: what stands under tools",
	    SLICE_ARGS(name.raw));
}

int
agent_from_json(struct agent *ret_agent, struct json json,
    struct json *ret_where, struct err *err)
{
	struct json schema;
	struct agent agent;

	if (json_parse(slice_string(agent_schema), &schema, NULL, err) == -1)
		BUG("agent_schema is no JSON");
	if (schema_check(schema, json, ret_where, err) == -1)
		return -1;
	agent = agent_read(json);
	if (check_tool_choice(&agent, json, ret_where, err) == -1) {
		agent_release(&agent);
		return -1;
	}
	*ret_agent = agent;
	return 0;
}

static const char *
mark_words(unsigned marks)
{
	if ((marks & JSON_MARK_NUL) != 0)
		return "the character U+0000";
	if ((marks & JSON_MARK_UTF8) != 0)
		return "a byte that is not UTF-8";
	return "half a surrogate pair";
}

int
agent_parse(struct agent *ret_agent, struct slice text, struct err *err)
{
	struct json json, where;
	unsigned marks;

	if (text.len > AGENT_DEFINITION_MAX)
		return err_set(err, ERR_LIMIT, "an agent of more than %u bytes",
		    AGENT_DEFINITION_MAX);
	if (json_parse(text, &json, &marks, err) == -1)
		return -1;
	if (marks != 0)
		return err_set(err, ERR_INPUT, "/: %s; no text may hold it",
		    mark_words(marks));
	if (json_no_duplicates(json, err) == -1)
		return -1;
	return agent_from_json(ret_agent, json, &where, err);
}

void
agent_release(struct agent *agent)
{
	for (size_t i = 0; i < agent->tool_count; i++)
		mem_free(agent->tools[i]);
	mem_free(agent->tools);
	mem_free(agent->name);
	mem_free(agent->description);
	mem_free(agent->instructions);
	mem_free(agent->model);
	mem_free(agent->settings);
	*agent = (struct agent){ 0 };
}

struct json
agent_settings(const struct agent *agent)
{
	struct json settings;
	struct err err;

	if (json_parse(slice_string(agent->settings), &settings, NULL, &err) ==
	    -1)
		BUG("settings of agent %s: %s", agent->name, err.text);
	return settings;
}

bool
agent_has_tool(const struct agent *agent, struct slice name)
{
	for (size_t i = 0; i < agent->tool_count; i++) {
		if (slice_is(name, agent->tools[i]))
			return true;
	}
	return false;
}
