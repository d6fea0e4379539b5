/*
 * workers/model/request.c: which bytes a provider gets.
 */
#include "base/alloc.h"
#include "base/json_equal.h"
#include "tests/unit/model/entry.h"
#include "tests/unit/suite.h"
#include "workers/model/request.h"

#define JSON_TEXT(...) #__VA_ARGS__

static struct json
build(const char *model, const char *start, struct buf *out)
{
	struct models models;
	struct json value;
	struct err err = { 0 };

	entry_load(&models, "", model);
	ck_assert_int_eq(
	    json_parse(slice_string(start), &value, NULL, NULL), 0);
	ck_assert_msg(request_build(out, &models.models[0], value, &err) == 0,
	    "%s", err.text);
	models_release(&models);
	ck_assert_int_eq(json_parse(buf_slice(out), &value, NULL, NULL), 0);
	ck_assert_int_eq(json_no_duplicates(value, NULL), 0);
	return value;
}

/* clang-format off */
static const struct {
	const char *rule, *model, *start, *request;
} cases[] = {
	{ "B1: what every request carries",
	    "    model: m1\n", JSON_TEXT({"input":[]}),
	    JSON_TEXT({"model":"m1","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768}) },
	{ "Instructions and tools go along when there are any",
	    "    model: m1\n",
	    JSON_TEXT({"instructions":"be\nkind","tools":[{"type":"function",
		"name":"f","strict":null}],"settings":{},"input":[1]}),
	    JSON_TEXT({"model":"m1","instructions":"be\nkind","input":[1],
		"tools":[{"type":"function","name":"f","strict":null}],
		"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768}) },
	{ "Empty ones are left out",
	    "    model: m1\n",
	    JSON_TEXT({"instructions":"","tools":[],"settings":null,
		"input":[]}),
	    JSON_TEXT({"model":"m1","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768}) },
	{ "B2: settings go in, nulls do not",
	    "    model: m1\n",
	    JSON_TEXT({"settings":{"temperature":0.50,"tool_choice":"required",
		"top_p":null,"text":{"verbosity":"low"}},"input":[]}),
	    JSON_TEXT({"model":"m1","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768,"temperature":0.50,
		"tool_choice":"required","text":{"verbosity":"low"}}) },
	{ "B1: no setting changes what is fixed",
	    "    model: m1\n",
	    JSON_TEXT({"settings":{"store":true,"stream":false,"include":[],
		"model":"evil","input":[9],"previous_response_id":"r",
		"conversation":"c","background":true,"instructions":"x",
		"tools":[1]},"input":[]}),
	    JSON_TEXT({"model":"m1","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768}) },
	{ "B2: gpt models think hard unless told otherwise",
	    "    model: gpt-9\n", JSON_TEXT({"input":[]}),
	    JSON_TEXT({"model":"gpt-9","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768,"reasoning":{"effort":"high"}}) },
	{ "B2: the model's entry says otherwise",
	    "    model: gpt-9\n    reasoning: {effort: low, summary: auto}\n"
	    "    max_output_tokens: 100\n", JSON_TEXT({"input":[]}),
	    JSON_TEXT({"model":"gpt-9","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":100,
		"reasoning":{"effort":"low","summary":"auto"}}) },
	{ "B2: the model's entry switches it off",
	    "    model: gpt-9\n    reasoning: off\n", JSON_TEXT({"input":[]}),
	    JSON_TEXT({"model":"gpt-9","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768}) },
	{ "B2, B3: the agent has the last word",
	    "    model: gpt-9\n    reasoning: off\n    max_output_tokens: 100\n",
	    JSON_TEXT({"settings":{"reasoning":{"effort":"minimal"},
		"max_output_tokens":77},"input":[]}),
	    JSON_TEXT({"model":"gpt-9","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":77,"reasoning":{"effort":"minimal"}}) },
	{ "B2: also to switch it off",
	    "    model: gpt-9\n",
	    JSON_TEXT({"settings":{"reasoning":"off"},"input":[]}),
	    JSON_TEXT({"model":"gpt-9","input":[],"stream":true,"store":false,
		"include":["reasoning.encrypted_content"],
		"max_output_tokens":32768}) },
};
/* clang-format on */

START_TEST(a_request_says_what_the_rule_says)
{
	struct buf out = BUF_INIT(REQUEST_MAX);
	struct json got = build(cases[_i].model, cases[_i].start, &out);
	struct json expected;
	size_t work = 1000000;

	ck_assert_int_eq(
	    json_parse(slice_string(cases[_i].request), &expected, NULL, NULL),
	    0);
	ck_assert_msg(json_equal(got, expected, &work), "%s:\n%.*s\n%s",
	    cases[_i].rule, SLICE_ARGS(got.raw), cases[_i].request);
	buf_release(&out);
}
END_TEST

START_TEST(items_and_tools_go_in_byte_for_byte)
{
	static const char input[] =
	    "[ {\"type\" : \"reasoning\",\"n\":1.50,\"e\":\"\\u00e9\\ud800\\/\"},\n"
	    "\t{\"id\":12345678901234567890123 , \"id\":2}]";
	static const char tools[] = "[{\"name\":\"f\" ,\"parameters\":{ }} ]";
	struct buf start = BUF_INIT(10000), out = BUF_INIT(REQUEST_MAX);
	struct models models;
	struct json value;
	struct err err = { 0 };

	entry_load(&models, "", "    model: m1\n");
	buf_printf(&start, "{\"input\": %s ,\"tools\":%s}", input, tools);
	ck_assert_int_eq(json_parse(buf_slice(&start), &value, NULL, NULL), 0);
	ck_assert_int_eq(
	    request_build(&out, &models.models[0], value, &err), 0);
	ck_assert_ptr_nonnull(
	    memmem(out.ptr, out.len, input, sizeof(input) - 1));
	ck_assert_ptr_nonnull(
	    memmem(out.ptr, out.len, tools, sizeof(tools) - 1));
	models_release(&models);
	buf_release(&start);
	buf_release(&out);
}
END_TEST

START_TEST(refuses_a_start_that_is_none)
{
	static const char *const starts[] = { "{}", "[]", "null",
		"{\"input\":{}}", "{\"input\":null}",
		"{\"input\":[],\"tools\":{}}",
		"{\"input\":[],\"instructions\":5}",
		"{\"input\":[],\"settings\":[]}" };
	struct models models;

	entry_load(&models, "", "    model: m1\n");
	for (size_t i = 0; i < COUNT(starts); i++) {
		struct buf out = BUF_INIT(REQUEST_MAX);
		struct err err = { 0 };
		struct json value;

		ck_assert_int_eq(
		    json_parse(slice_string(starts[i]), &value, NULL, NULL), 0);
		ck_assert_int_eq(
		    request_build(&out, &models.models[0], value, &err), -1);
		ck_assert_int_eq(err.kind, ERR_INPUT);
		buf_release(&out);
	}
	models_release(&models);
}
END_TEST

START_TEST(refuses_a_request_that_is_too_large)
{
	struct models models;
	struct buf out = BUF_INIT(20);
	struct err err = { 0 };
	struct json value;

	entry_load(&models, "", "    model: m1\n");
	ck_assert_int_eq(
	    json_parse(SLICE("{\"input\":[]}"), &value, NULL, NULL), 0);
	ck_assert_int_eq(
	    request_build(&out, &models.models[0], value, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&out);
	models_release(&models);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("request");
	TCase *bytes = tcase_create("bytes");
	TCase *refused = tcase_create("refused");

	tcase_add_loop_test(
	    bytes, a_request_says_what_the_rule_says, 0, (int)COUNT(cases));
	tcase_add_test(bytes, items_and_tools_go_in_byte_for_byte);
	suite_add_tcase(s, bytes);
	tcase_add_test(refused, refuses_a_start_that_is_none);
	tcase_add_test(refused, refuses_a_request_that_is_too_large);
	suite_add_tcase(s, refused);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
