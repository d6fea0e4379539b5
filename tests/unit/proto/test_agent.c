/*
 * proto/agent.c and proto/agent_file.c: defaults, every key and its range,
 * errors with their place, folders. Texts are written with ' for ".
 */
#include <check.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/schema_check.h"
#include "proto/agent.h"
#include "tests/unit/base/json_text.h"
#include "tests/unit/suite.h"

static int
read_agent(struct agent *ret_agent, const char *text, struct err *err)
{
	char *json = quoted(text);
	int rc = agent_parse(ret_agent, slice_string(json), err);

	mem_free(json);
	return rc;
}

/* ---- one definition ---- */

START_TEST(has_a_schema_that_can_be_applied)
{
	struct json schema;
	struct err err = { 0 };

	ck_assert_int_eq(
	    json_parse(slice_string(agent_schema), &schema, NULL, &err), 0);
	ck_assert_msg(schema_check_self(schema, &err) == 0, "%s", err.text);
}
END_TEST

START_TEST(fills_in_the_defaults)
{
	struct agent a;
	struct err err = { 0 };

	ck_assert_int_eq(read_agent(&a, "{'name':'a','model':'m'}", &err), 0);
	ck_assert_str_eq(a.name, "a");
	ck_assert_str_eq(a.model, "m");
	ck_assert_str_eq(a.description, "");
	ck_assert_str_eq(a.instructions, "");
	ck_assert_str_eq(a.settings, "{}");
	ck_assert_uint_eq(json_count(agent_settings(&a)), 0);
	ck_assert_uint_eq(a.tool_count, 0);
	ck_assert(!agent_has_tool(&a, SLICE("x")));
	ck_assert_uint_eq(a.max_turns, 10);
	ck_assert_uint_eq(a.max_active, 0);
	ck_assert_uint_eq(a.deadline_ms, 86400000);
	ck_assert_int_eq(a.unknown_tool, AGENT_UNKNOWN_TOOL_FAIL);
	ck_assert_int_eq(a.on_cut, AGENT_ON_CUT_FAIL);
	ck_assert_int_eq(a.on_unknown_outcome, AGENT_ON_UNKNOWN_OUTCOME_TELL);
	agent_release(&a);
	ck_assert_ptr_null(a.name);
	agent_release(&a);
}
END_TEST

START_TEST(reads_every_key)
{
	struct agent a;
	struct err err = { 0 };

	ck_assert_int_eq(
	    read_agent(&a,
		"{'on_unknown_outcome':'fail','on_cut':'retry',"
		"'unknown_tool':'tell','deadline_s':31536000,"
		"'max_active':3,'max_turns':1e4,'tools':['b','a-1'],"
		"'settings':{'top_p':0.5,'temperature':1.0,"
		"'extra':{'z':1,'a':12345678901234567890}},"
		"'instructions':'one\\n\\u00e9','description':'d',"
		"'model':'m/x','name':'A.b_c-1'}",
		&err),
	    0);
	ck_assert_str_eq(a.name, "A.b_c-1");
	ck_assert_str_eq(a.model, "m/x");
	ck_assert_str_eq(a.description, "d");
	ck_assert_str_eq(a.instructions, "one\n\xc3\xa9");
	ck_assert_str_eq(a.settings,
	    "{\"top_p\":0.5,\"temperature\":1.0,"
	    "\"extra\":{\"z\":1,\"a\":12345678901234567890}}");
	ck_assert(
	    slice_is(json_get(agent_settings(&a), "temperature").raw, "1.0"));
	ck_assert_uint_eq(a.tool_count, 2);
	ck_assert_str_eq(a.tools[0], "b");
	ck_assert_str_eq(a.tools[1], "a-1");
	ck_assert(agent_has_tool(&a, SLICE("a-1")));
	ck_assert(!agent_has_tool(&a, SLICE("a")));
	ck_assert_uint_eq(a.max_turns, 10000);
	ck_assert_uint_eq(a.max_active, 3);
	ck_assert_uint_eq(a.deadline_ms, UINT64_C(31536000000));
	ck_assert_int_eq(a.unknown_tool, AGENT_UNKNOWN_TOOL_TELL);
	ck_assert_int_eq(a.on_cut, AGENT_ON_CUT_RETRY);
	ck_assert_int_eq(a.on_unknown_outcome, AGENT_ON_UNKNOWN_OUTCOME_FAIL);
	agent_release(&a);
}
END_TEST

#define WITH(members) "{'name':'a','model':'m'," members "}"

static const char *const accepted[] = {
	WITH("'settings':{}"),
	WITH("'settings':{'temperature':0,'top_p':1}"),
	WITH("'settings':{'temperature':2}"),
	WITH("'settings':{'max_output_tokens':1}"),
	WITH("'settings':{'reasoning':'off'}"),
	WITH("'settings':{'reasoning':false}"),
	WITH("'settings':{'reasoning':{}}"),
	WITH("'settings':{'reasoning':{'effort':'high','summary':'auto'}}"),
	WITH("'settings':{'parallel_tool_calls':false}"),
	WITH("'settings':{'tool_choice':'required'}"),
	WITH("'tools':['x'],'settings':{'tool_choice':{'type':'function',"
	     "'name':'x'}}"),
	WITH("'settings':{'verbosity':'low'}"),
	WITH("'settings':{'extra':{'metadata':{'a':[1,{}]},'user':'u'}}"),
	WITH("'tools':[]"),
	WITH("'max_turns':1"),
	WITH("'deadline_s':1"),
	WITH("'instructions':''"),
};

START_TEST(accepts_what_is_in_range)
{
	struct agent a;
	struct err err = { 0 };

	ck_assert_msg(read_agent(&a, accepted[_i], &err) == 0, "%s: %s",
	    accepted[_i], err.text);
	agent_release(&a);
}
END_TEST

static const struct {
	const char *json, *text;
} refused[] = {
	{ "{'name':5,'model':'m'}",
	    "/name: 5 is not allowed; must be a string" },
	{ "{'name':'','model':'m'}",
	    "/name: '' is not allowed; must match '^[A-Za-z0-9_.-]{1,64}$'" },
	{ "{'name':'a b','model':'m'}", "/name: 'a b' is not allowed" },
	{ "{'name':'a\\n','model':'m'}", "/name: 'a\\n' is not allowed" },
	{ "{'name':'a'}",
	    "/: the key 'model' is missing; required: 'name', 'model'" },
	{ "{'name':'a','modle':'m'}",
	    "/modle: unknown key; allowed: name, description, instructions, "
	    "model, settings, tools, max_turns, max_active, deadline_s, "
	    "unknown_tool, on_cut, on_unknown_outcome" },
	{ "{'name':'a','model':''}",
	    "/model: has 0 characters; allowed: 1 to 128" },
	{ WITH("'instructions':null"),
	    "/instructions: null is not allowed; must be a string" },
	{ WITH("'settings':{'temperature':3}"),
	    "/settings/temperature: 3 is more than 2; allowed: 0 to 2" },
	{ WITH("'settings':{'temperature':'1'}"),
	    "/settings/temperature: '1' is not allowed; must be a number" },
	{ WITH("'settings':{'top_p':1.01}"),
	    "/settings/top_p: 1.01 is more than 1; allowed: 0 to 1" },
	{ WITH("'settings':{'temprature':1}"),
	    "/settings/temprature: unknown key; allowed: temperature, top_p, "
	    "max_output_tokens, reasoning, parallel_tool_calls, tool_choice, "
	    "verbosity, extra" },
	{ WITH("'settings':{'max_output_tokens':0}"),
	    "/settings/max_output_tokens: 0 is less than 1" },
	{ WITH("'settings':{'max_output_tokens':1.5}"),
	    "/settings/max_output_tokens: 1.5 is not allowed; must be an "
	    "integer" },
	{ WITH("'settings':{'reasoning':'on'}"),
	    "/settings/reasoning: 'on' is not allowed; allowed: 'off', false; "
	    "or: 'on' is not allowed; must be an object" },
	{ WITH("'settings':{'reasoning':{'effort':'hard'}}"),
	    "/settings/reasoning/effort: 'hard' is not allowed; allowed: "
	    "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'" },
	{ WITH("'settings':{'tool_choice':'weather'}"),
	    "/settings/tool_choice: 'weather' is not allowed; allowed: "
	    "'auto', 'none', 'required'; or: " },
	{ WITH("'tools':['y'],'settings':{'tool_choice':{'type':'function',"
	       "'name':'x'}}"),
	    "/settings/tool_choice/name: 'x' is no tool of this agent" },
	{ WITH("'settings':{'verbosity':'max'}"),
	    "/settings/verbosity: 'max' is not allowed; allowed: 'low'" },
	{ WITH("'settings':{'extra':{'stream':false}}"),
	    "/settings/extra/stream: 'stream' is not allowed; allowed: all "
	    "but " },
	{ WITH("'settings':{'extra':[]}"),
	    "/settings/extra: [] is not allowed" },
	{ WITH("'tools':'x'"), "/tools: 'x' is not allowed; must be an array" },
	{ WITH("'tools':['x','y','x']"),
	    "/tools: 'x' stands at 0 and at 2; each item once" },
	{ WITH("'tools':['x','a.b']"),
	    "/tools/1: 'a.b' is not allowed; must match" },
	{ WITH("'max_turns':0"), "/max_turns: 0 is less than 1; allowed: 1 to "
				 "10000" },
	{ WITH("'max_turns':10001"), "/max_turns: 10001 is more than 10000" },
	{ WITH("'max_active':-1"), "/max_active: -1 is less than 0" },
	{ WITH("'deadline_s':0.5"),
	    "/deadline_s: 0.5 is not allowed; must be an integer" },
	{ WITH("'deadline_s':99999999999999999999"),
	    "/deadline_s: 99999999999999999999 is more than 31536000" },
	{ WITH("'unknown_tool':'ask'"),
	    "/unknown_tool: 'ask' is not allowed; allowed: 'fail', 'tell'" },
	{ WITH("'on_cut':true"),
	    "/on_cut: true is not allowed; allowed: 'fail', 'retry'" },
	{ WITH("'on_unknown_outcome':'ask'"),
	    "/on_unknown_outcome: 'ask' is not allowed; allowed: 'tell', "
	    "'fail'" },
	{ WITH("'instructions':'a\\u0000b'"),
	    "/: the character U+0000; no text may hold it" },
	{ WITH("'instructions':'\\ud800'"),
	    "/: half a surrogate pair; no text may hold it" },
	{ WITH("'instructions':'\xff'"),
	    "/: a byte that is not UTF-8; no text may hold it" },
};

START_TEST(refuses_what_is_not_and_says_what_is_allowed)
{
	char *want = quoted(refused[_i].text);
	struct agent a;
	struct err err = { 0 };

	ck_assert_msg(read_agent(&a, refused[_i].json, &err) == -1, "%s",
	    refused[_i].json);
	ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0,
	    "%s: got %s, want %s", refused[_i].json, err.text, want);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	mem_free(want);
}
END_TEST

static const char *const broken[] = { "", "[]", "null", "'a'", "{", "{}",
	"{'name':'a','model':'m'}x", "{'name':'a','name':'a','model':'m'}",
	"{'name':'a','model':'m','settings':{'extra':{'x':1,'x':2}}}" };

START_TEST(refuses_what_is_no_definition)
{
	struct agent a;
	struct err err = { 0 };

	ck_assert_int_eq(read_agent(&a, broken[_i], &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
}
END_TEST

START_TEST(refuses_a_definition_that_is_too_long)
{
	struct buf text = BUF_INIT(AGENT_DEFINITION_MAX + 1);
	struct agent a;
	struct err err = { 0 };

	buf_puts(&text, "{\"name\":\"a\",\"model\":\"m\",\"instructions\":\"");
	while (text.len < AGENT_DEFINITION_MAX - 2)
		buf_putc(&text, 'x');
	buf_puts(&text, "\"}");
	ck_assert_int_eq(agent_parse(&a, buf_slice(&text), &err), 0);
	agent_release(&a);
	buf_putc(&text, ' ');
	ck_assert_int_eq(agent_parse(&a, buf_slice(&text), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&text);
}
END_TEST

/* ---- files ---- */

static char folder[TEMP_PATH];

static void
make_folder(void)
{
	temp_folder(folder);
}

static void
put_file(const char *name, const char *text)
{
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd =
	    openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	close(at);
}

/* What the handler was given, a line each. */
static int
on_agent(void *arg, const char *path, struct slice json,
    const struct agent *agent, struct err *err)
{
	struct buf *seen = arg;

	(void)err;
	buf_printf(seen, "%s %s %.*s\n", strrchr(path, '/') + 1, agent->name,
	    SLICE_ARGS(json));
	return 0;
}

static int
on_agent_refuse(void *arg, const char *path, struct slice json,
    const struct agent *agent, struct err *err)
{
	int *calls = arg;

	(void)path;
	(void)json;
	++*calls;
	return err_set(err, ERR_BUSY, "no room for %s", agent->name);
}

START_TEST(loads_the_yaml_files_of_a_folder_in_name_order)
{
	struct buf seen = BUF_INIT(4096);
	struct err err = { 0 };

	put_file("b.yaml", "name: one\nmodel: m\n");
	put_file("a.yml", "model: m\nname: two\n");
	put_file("notes.txt", "not yaml: [");
	put_file(".hidden.yaml", "not yaml: [");
	put_file("yaml", "not yaml: [");
	put_file("d.yaml.bak", "not yaml: [");
	ck_assert_msg(
	    agent_load_dir(folder, on_agent, &seen, &err) == 0, "%s", err.text);
	ck_assert(slice_is(buf_slice(&seen),
	    "a.yml two {\"model\":\"m\",\"name\":\"two\"}\n"
	    "b.yaml one {\"name\":\"one\",\"model\":\"m\"}\n"));
	buf_release(&seen);
}
END_TEST

START_TEST(loads_one_file)
{
	struct buf seen = BUF_INIT(4096), path = BUF_INIT(4096);
	struct err err = { 0 };

	put_file("notes.txt", "name: one\nmodel: m\n");
	buf_printf(&path, "%s/notes.txt%c", folder, 0);
	ck_assert_int_eq(agent_load_dir(path.ptr, on_agent, &seen, &err), 0);
	ck_assert(slice_is(buf_slice(&seen),
	    "notes.txt one {\"name\":\"one\",\"model\":\"m\"}\n"));
	buf_release(&seen);
	buf_release(&path);
}
END_TEST

static const struct {
	const char *text, *error;
	enum err_kind kind;
} wrong_files[] = {
	{ "name: x\nmodel: m\nmax_turns: 0\n",
	    "/c.yaml:3: /max_turns: 0 is less than 1; allowed: 1 to 10000",
	    ERR_INPUT },
	{ "name: x\nmodel: m\nsettings:\n  reasoning: off\n  topp: 1\n",
	    "/c.yaml:5: /settings/topp: unknown key; allowed: temperature, ",
	    ERR_INPUT },
	{ "name: x\n", "/c.yaml:1: /: the key \"model\" is missing",
	    ERR_INPUT },
	{ "", "/c.yaml:1: /: null is not allowed; must be an object",
	    ERR_INPUT },
	{ "name: &a x\nmodel: m\n", "/c.yaml:1: anchors", ERR_INPUT },
	{ "name: x\nmodel: m\ntools: [a]\nsettings:\n  tool_choice:\n"
	  "    type: function\n    name: b\n",
	    "/c.yaml:7: /settings/tool_choice/name: \"b\" is no tool",
	    ERR_INPUT },
	{ "\nmodel: m\nname: first\n",
	    "/c.yaml:3: /name: the agent \"first\" stands in ", ERR_CONFLICT },
};

START_TEST(an_error_in_the_last_file_changes_nothing)
{
	struct buf seen = BUF_INIT(4096);
	struct err err = { 0 };

	put_file("b.yaml", "name: first\nmodel: m\n");
	put_file("c.yaml", wrong_files[_i].text);
	ck_assert_int_eq(agent_load_dir(folder, on_agent, &seen, &err), -1);
	ck_assert_int_eq(strncmp(err.text, folder, strlen(folder)), 0);
	ck_assert_msg(strncmp(err.text + strlen(folder), wrong_files[_i].error,
			  strlen(wrong_files[_i].error)) == 0,
	    "got %s", err.text);
	ck_assert_int_eq(err.kind, wrong_files[_i].kind);
	ck_assert_uint_eq(seen.len, 0);
	buf_release(&seen);
}
END_TEST

START_TEST(the_handler_can_end_the_load)
{
	struct err err = { 0 };
	int calls = 0;

	put_file("a.yml", "name: one\nmodel: m\n");
	put_file("b.yaml", "name: two\nmodel: m\n");
	ck_assert_int_eq(
	    agent_load_dir(folder, on_agent_refuse, &calls, &err), -1);
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(err.kind, ERR_BUSY);
	ck_assert_str_eq(err.text, "no room for one");
}
END_TEST

START_TEST(refuses_a_folder_of_too_many_files)
{
	struct err err = { 0 };
	char name[32];
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i <= AGENT_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "%u.yaml", i);
		ck_assert_int_eq(mknodat(at, name, S_IFREG | 0600, 0), 0);
	}
	ck_assert_int_eq(agent_load_dir(folder, on_agent, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 10000 agents"));
	for (unsigned i = 0; i <= AGENT_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "%u.yaml", i);
		unlinkat(at, name, 0);
	}
	close(at);
}
END_TEST

START_TEST(says_when_there_is_nothing_to_load)
{
	struct buf path = BUF_INIT(4096);
	struct err err = { 0 };

	put_file("notes.txt", "name: one\n");
	ck_assert_int_eq(agent_load_dir(folder, on_agent, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_MISSING);
	ck_assert_ptr_nonnull(strstr(err.text, "no file ends in .yaml"));
	buf_printf(&path, "%s/none%c", folder, 0);
	ck_assert_int_eq(agent_load_dir(path.ptr, on_agent, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERR_MISSING);
	ck_assert_ptr_nonnull(strstr(err.text, path.ptr));
	buf_release(&path);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("agent");
	TCase *one = tcase_create("a definition is checked and filled in");
	TCase *files = tcase_create("agents come from files");

	tcase_add_test(one, has_a_schema_that_can_be_applied);
	tcase_add_test(one, fills_in_the_defaults);
	tcase_add_test(one, reads_every_key);
	tcase_add_loop_test(
	    one, accepts_what_is_in_range, 0, (int)COUNT(accepted));
	tcase_add_loop_test(one, refuses_what_is_not_and_says_what_is_allowed,
	    0, (int)COUNT(refused));
	tcase_add_loop_test(
	    one, refuses_what_is_no_definition, 0, (int)COUNT(broken));
	tcase_add_test(one, refuses_a_definition_that_is_too_long);
	suite_add_tcase(s, one);
	tcase_add_checked_fixture(files, make_folder, NULL);
	tcase_add_test(files, loads_the_yaml_files_of_a_folder_in_name_order);
	tcase_add_test(files, loads_one_file);
	tcase_add_loop_test(files, an_error_in_the_last_file_changes_nothing, 0,
	    (int)COUNT(wrong_files));
	tcase_add_test(files, the_handler_can_end_the_load);
	tcase_set_timeout(files, 30);
	tcase_add_test(files, refuses_a_folder_of_too_many_files);
	tcase_add_test(files, says_when_there_is_nothing_to_load);
	suite_add_tcase(s, files);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
