/*
 * base/schema_check.c: the texts and places of errors, schemas that are no
 * schemas, hostile schemas and values.
 */
#include "base/utf8.h"
#include "tests/unit/base/schema_text.h"
#include "tests/unit/suite.h"

/* ---- texts ---- */

static const struct {
	const char *schema, *value, *text;
} texts[] = {
	{ "{'properties':{'settings':{'properties':{'temperature':"
	  "{'minimum':0,'maximum':2}}}}}",
	    "{'settings':{'temperature':3}}",
	    "/settings/temperature: 3 is more than 2; allowed: 0 to 2" },
	{ "{'minimum':1}", "0", "/: 0 is less than 1; allowed: at least 1" },
	{ "{'exclusiveMinimum':0,'maximum':1}", "0",
	    "/: 0 is not more than 0; allowed: at most 1 and more than 0" },
	{ "{'exclusiveMaximum':9}", "9",
	    "/: 9 is not less than 9; allowed: less than 9" },
	{ "{'multipleOf':5}", "7",
	    "/: 7 is not allowed; must be a multiple of 5" },
	{ "{'type':'integer'}", "'x'",
	    "/: 'x' is not allowed; must be an integer" },
	{ "{'type':['null','string','array']}", "{'a':1}",
	    "/: {'a':1} is not allowed; must be null, a string or an array" },
	{ "{'type':'boolean'}",
	    "{'long':'0123456789012345678901234567890123456789012345678'}",
	    "/: an object is not allowed; must be true or false" },
	{ "{'type':'null'}",
	    "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]",
	    "/: an array is not allowed; must be null" },
	{ "{'type':'null'}", "{'a':\n1}",
	    "/: an object is not allowed; must be null" },
	{ "{'enum':['fail','tell']}", "'tel'",
	    "/: 'tel' is not allowed; allowed: 'fail', 'tell'" },
	{ "{'const':'function'}", "'x'",
	    "/: 'x' is not allowed; must be 'function'" },
	{ "{'additionalProperties':false,'properties':{'a':true,'b':true}}",
	    "{'c':1}", "/c: unknown key; allowed: a, b" },
	{ "{'additionalProperties':false,'patternProperties':{'^x':true}}",
	    "{'c':1}", "/c: unknown key; allowed: what matches ^x" },
	{ "{'additionalProperties':false,'properties':{'a':true},"
	  "'patternProperties':{'^x':true}}",
	    "{'c':1}", "/c: unknown key; allowed: a and what matches ^x" },
	{ "{'additionalProperties':false}", "{'c':1}",
	    "/c: unknown key; allowed: none" },
	{ "{'required':['name','model']}", "{'name':1}",
	    "/: the key 'model' is missing; required: 'name', 'model'" },
	{ "{'dependentRequired':{'a':['b']}}", "{'a':1}",
	    "/: the key 'b' is missing; it is required beside 'a'" },
	{ "{'items':{'type':'string'}}", "['a',5]",
	    "/1: 5 is not allowed; must be a string" },
	{ "{'uniqueItems':true}", "['b','a','b']",
	    "/: 'b' stands at 0 and at 2; each item once" },
	{ "{'minItems':2}", "[1]", "/: has 1 item; allowed: at least 2" },
	{ "{'minLength':1,'maxLength':3}", "'abcd'",
	    "/: has 4 characters; allowed: 1 to 3" },
	{ "{'maxProperties':0}", "{'a':1}",
	    "/: has 1 key; allowed: at most 0" },
	{ "{'pattern':'^[a-z]+$'}", "'A'",
	    "/: 'A' is not allowed; must match '^[a-z]+$'" },
	{ "{'prefixItems':[true],'items':false}", "[1,2]",
	    "/1: one item too many; allowed: 1" },
	{ "{'contains':{'minimum':5}}", "[1]",
	    "/: has 0 items of the form under 'contains'; allowed: at least 1" },
	{ "{'properties':{'a':false}}", "{'a':1}",
	    "/a: nothing is allowed here" },
	{ "{'anyOf':[{'enum':['off',false]},{'type':'object'}]}", "3",
	    "/: 3 is not allowed; allowed: 'off', false; "
	    "or: 3 is not allowed; must be an object" },
	{ "{'anyOf':[{'enum':['off',false]},"
	  "{'properties':{'effort':{'enum':['low','high']}}}]}",
	    "{'effort':'med'}",
	    "/effort: 'med' is not allowed; allowed: 'low', 'high'" },
	{ "{'oneOf':[true,true]}", "1",
	    "/: fits more than one of the forms under 'oneOf'; "
	    "allowed: exactly one" },
	{ "{'propertyNames':{'not':{'enum':['model','input']}}}", "{'input':1}",
	    "/input: 'input' is not allowed; allowed: all but 'model', "
	    "'input'" },
	{ "{'not':{'type':'null'}}", "null", "/: null is not allowed here" },
};

START_TEST(says_what_is_wrong_and_what_is_allowed)
{
	char *want = quoted(texts[_i].text);
	struct err err;

	ck_assert_int_eq(check(texts[_i].schema, texts[_i].value, &err), -1);
	ck_assert_str_eq(err.text, want);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	mem_free(want);
}
END_TEST

static const struct {
	const char *schema, *value, *where;
} wheres[] = {
	{ "{'properties':{'a':{'type':'null'}}}", "{'b':1,'a':[2]}", "[2]" },
	{ "{'additionalProperties':false}", "{'key':[2]}", "'key'" },
	{ "{'propertyNames':{'maxLength':1}}", "{'a':1,'key':2}", "'key'" },
	{ "{'items':{'required':['x']}}", "[{'x':1},{'y':1}]", "{'y':1}" },
	{ "{'uniqueItems':true}", "[1,2,1.0]", "1.0" },
	{ "{'anyOf':[{'items':{'type':'null'}},{'type':'null'}]}", "[1]", "1" },
};

START_TEST(gives_the_value_or_key_that_offends)
{
	char *a, *b, *c;
	struct json schema = parse(wheres[_i].schema, &a);
	struct json value = parse(wheres[_i].value, &b);
	struct json want = parse(wheres[_i].where, &c);
	struct json where = { 0 };
	struct err err;

	ck_assert_int_eq(schema_check(schema, value, &where, &err), -1);
	ck_assert(slice_eq(where.raw, want.raw));
	ck_assert(where.raw.ptr >= b && where.raw.ptr < b + strlen(b));
	mem_free(a);
	mem_free(b);
	mem_free(c);
}
END_TEST

START_TEST(cuts_long_values_and_lists)
{
	struct buf schema = BUF_INIT(1u << 20);
	struct buf value = BUF_INIT(1u << 20);
	struct err err;
	char *text;

	buf_puts(
	    &schema, "{'additionalProperties':false,'properties':{'a':true");
	for (int i = 0; i < 1000; i++)
		buf_printf(&schema, ",'name%d':true", i);
	buf_puts(&schema, "}}");
	buf_puts(&value, "{'");
	for (int i = 0; i < 10000; i++)
		buf_puts(&value, "ä");
	buf_puts(&value, "':1}");
	buf_putc(&schema, '\0');
	buf_putc(&value, '\0');
	ck_assert_int_eq(check(schema.ptr, value.ptr, &err), -1);
	text = strchr(err.text, ':');
	ck_assert_uint_lt((size_t)(text - err.text), 80);
	ck_assert_ptr_nonnull(
	    strstr(err.text, "ä…: unknown key; allowed: a, "));
	ck_assert_ptr_nonnull(strstr(err.text, ", …"));
	buf_release(&schema);
	buf_release(&value);
}
END_TEST

START_TEST(cuts_a_text_between_characters)
{
	struct err err;

	for (int shift = 0; shift < 2; shift++) {
		struct buf schema = BUF_INIT(1u << 16);

		buf_puts(&schema, "{'anyOf':[");
		for (int i = 0; i < 20; i++)
			buf_printf(&schema, "{'const':'%säääääääääää'},",
			    shift == 0 ? "" : "x");
		buf_printf(&schema, "false]}%c", 0);
		ck_assert_int_eq(check(schema.ptr, "1", &err), -1);
		ck_assert_uint_gt(strlen(err.text), 300);
		ck_assert_uint_eq(
		    utf8_valid(slice_string(err.text)), strlen(err.text));
		buf_release(&schema);
	}
}
END_TEST

START_TEST(shows_no_control_characters_of_a_terminal)
{
	struct err err;

	ck_assert_int_eq(check("{'enum':[1]}", "'a\xc2\x9b\x7fz'", &err), -1);
	ck_assert_str_eq(err.text, "/: \"a??z\" is not allowed; allowed: 1");
	ck_assert_int_eq(check("{'enum':[1]}", "'\xc2\xa7'", &err), -1);
	ck_assert_str_eq(
	    err.text, "/: \"\xc2\xa7\" is not allowed; allowed: 1");
	ck_assert_int_eq(check("{'enum':[1]}", "'a\xff z'", &err), -1);
	ck_assert_str_eq(err.text, "/: \"a… is not allowed; allowed: 1");
}
END_TEST

/* ---- schemas that are none ---- */

static const char *const malformed[] = {
	"5",
	"'x'",
	"{'type':5}",
	"{'type':[5]}",
	"{'type':[]}",
	"{'enum':{}}",
	"{'minimum':'9'}",
	"{'maximum':{}}",
	"{'exclusiveMinimum':true}",
	"{'exclusiveMaximum':[]}",
	"{'multipleOf':'a'}",
	"{'minLength':'9'}",
	"{'maxLength':null}",
	"{'pattern':5}",
	"{'prefixItems':{}}",
	"{'items':[false]}",
	"{'contains':5}",
	"{'minItems':'5'}",
	"{'uniqueItems':'yes'}",
	"{'properties':[false]}",
	"{'patternProperties':[1]}",
	"{'additionalProperties':'no'}",
	"{'propertyNames':3}",
	"{'required':'a'}",
	"{'required':[5]}",
	"{'dependentRequired':['a']}",
	"{'dependentRequired':{'a':'x'}}",
	"{'dependentSchemas':['a']}",
	"{'minProperties':'5'}",
	"{'allOf':{}}",
	"{'anyOf':5}",
	"{'oneOf':5}",
	"{'if':5}",
	"{'$ref':5}",
	"{'$ref':'#/none'}",
	"{'$ref':'x'}",
};

START_TEST(ignores_malformed_keywords)
{
	static const char *const values[] = { "{'a':1}", "[1]", "'a'", "5" };
	struct err err;
	char *a, *b;
	struct json schema = parse(malformed[_i], &a);

	for (size_t i = 0; i < COUNT(values); i++) {
		struct json value = parse(values[i], &b);

		ck_assert_msg(schema_check(schema, value, NULL, &err) == 0,
		    "%s: %s", malformed[_i], err.text);
		mem_free(b);
	}
	mem_free(a);
}
END_TEST

/* ---- hostile ---- */

static const char *const endless[] = {
	"{'$ref':'#'}",
	"{'allOf':[{'$ref':'#'}]}",
	"{'not':{'$ref':'#'}}",
	"{'anyOf':[{'$ref':'#'},{'$ref':'#'}]}",
	"{'if':{'$ref':'#'},'then':{'$ref':'#'},'else':{'$ref':'#'}}",
	"{'oneOf':[{'$ref':'#/oneOf/1'},{'$ref':'#/oneOf/0'}]}",
};

START_TEST(stops_at_a_schema_that_leads_to_itself)
{
	struct err err = { 0 };

	ck_assert_int_eq(check_raw(endless[_i], "1", &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_int_eq(check_self(endless[_i], &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
}
END_TEST

/* 2^n ways through a chain of pairs. */
static void
chain(struct buf *out, int n)
{
	buf_puts(out, "{'$defs':{");
	for (int i = 0; i < n; i++)
		buf_printf(out,
		    "'d%d':{'anyOf':[{'$ref':'#/$defs/d%d'},"
		    "{'$ref':'#/$defs/d%d'}]},",
		    i, i + 1, i + 1);
	buf_printf(out, "'d%d':false},'$ref':'#/$defs/d0'}", n);
	buf_putc(out, '\0');
}

START_TEST(stops_at_a_schema_with_too_many_ways)
{
	struct buf schema = BUF_INIT(1u << 20);
	struct err err = { 0 };

	chain(&schema, 60);
	ck_assert_int_eq(check_self(schema.ptr, &err), 0);
	ck_assert_int_eq(check_raw(schema.ptr, "1", &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_str_eq(err.text, "the check takes too much work");
	buf_release(&schema);
}
END_TEST

static const struct {
	const char *pattern;
	char letter;
} explosive[] = {
	{ "^(a+)+$", 'a' },
	{ "(a|aa)+$", 'a' },
	{ "(.*)(.*)(.*)(.*)(.*)[^a!]", 'a' },
	{ "(a*)*[bc]", 'a' },
	{ "^(?:(a*)(?=.*\\\\1b))+$", 'a' },
	{ "(x+x+)+[yz]", 'x' },
};

START_TEST(stops_at_a_pattern_that_explodes)
{
	struct buf schema = BUF_INIT(1024);
	struct buf value = BUF_INIT(1u << 20);
	struct err err = { 0 };

	buf_printf(&schema, "{'pattern':'%s'}", explosive[_i].pattern);
	buf_putc(&schema, '\0');
	buf_putc(&value, '\'');
	for (int i = 0; i < 50000; i++)
		buf_putc(&value, explosive[_i].letter);
	buf_puts(&value, "!'");
	buf_putc(&value, '\0');
	ck_assert_int_eq(check_raw(schema.ptr, value.ptr, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&schema);
	buf_release(&value);
}
END_TEST

START_TEST(counts_the_work_of_many_patterns_together)
{
	struct buf value = BUF_INIT(1u << 20);
	struct err err = { 0 };

	buf_putc(&value, '[');
	for (int i = 0; i < 5000; i++)
		buf_puts(&value, "'aaaaaaaaaaaaaaaaa!',");
	buf_puts(&value, "''] ");
	buf_putc(&value, '\0');
	ck_assert_int_eq(
	    check_raw("{'items':{'pattern':'^(a+)+$|!'}}", value.ptr, &err),
	    -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&value);
}
END_TEST

static const char *const greedy[] = { "{'uniqueItems':true}",
	"{'enum':[[],%s]}", "{'const':%s}" };

/* Comparing reads a deep value once at each level. */
START_TEST(counts_the_work_of_comparing)
{
	struct buf value = BUF_INIT(8u << 20), schema = BUF_INIT(16u << 20);
	struct err err = { 0 };

	buf_putc(&value, '[');
	for (int item = 0; item < 2; item++) {
		for (int i = 0; i < 120; i++)
			buf_putc(&value, '[');
		buf_putc(&value, '\'');
		for (int i = 0; i < 1500000; i++)
			buf_putc(&value, 'x');
		buf_putc(&value, '\'');
		for (int i = 0; i < 120; i++)
			buf_putc(&value, ']');
		buf_putc(&value, item == 0 ? ',' : ']');
	}
	buf_putc(&value, '\0');
	for (const char *p = greedy[_i]; *p != '\0'; p++) {
		if (*p == '%')
			buf_puts(&schema, value.ptr);
		else if (*p != 's' || p[-1] != '%')
			buf_putc(&schema, *p);
	}
	buf_putc(&schema, '\0');
	ck_assert_int_eq(check_raw(schema.ptr, value.ptr, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_str_eq(err.text, "the check takes too much work");
	buf_release(&value);
	buf_release(&schema);
}
END_TEST

START_TEST(follows_a_value_as_deep_as_json_goes)
{
	struct buf value = BUF_INIT(1u << 16);
	struct err err = { 0 };
	int depth = JSON_DEPTH_MAX - 1;

	for (int i = 0; i < depth; i++)
		buf_puts(&value, "{'tail':");
	buf_puts(&value, "1");
	for (int i = 0; i < depth; i++)
		buf_putc(&value, '}');
	buf_putc(&value, '\0');
	ck_assert_int_eq(check("{'properties':{'tail':{'$ref':'#'}},"
			       "'type':['object','integer']}",
			     value.ptr, &err),
	    0);
	ck_assert_int_eq(check("{'properties':{'tail':{'$ref':'#'}},"
			       "'type':'object'}",
			     value.ptr, &err),
	    -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/…: 1 is not allowed"));
	buf_release(&value);
}
END_TEST

START_TEST(takes_large_honest_values)
{
	struct buf value = BUF_INIT(8u << 20);
	struct err err = { 0 };

	buf_putc(&value, '[');
	for (int i = 0; i < 20000; i++)
		buf_printf(&value,
		    "%s{'id':%d,'name':'name %d','tags':['a','b'],"
		    "'next':null}",
		    i == 0 ? "" : ",", i, i);
	buf_puts(&value, "]");
	buf_putc(&value, '\0');
	ck_assert_int_eq(
	    check("{'type':'array','uniqueItems':true,'items':"
		  "{'$ref':'#/$defs/one'},'$defs':{'one':{'type':'object',"
		  "'required':['id','name','tags','next'],"
		  "'additionalProperties':false,'properties':{"
		  "'id':{'type':'integer','minimum':0},"
		  "'name':{'type':'string','pattern':'^name [0-9]+$'},"
		  "'tags':{'type':'array','items':{'enum':['a','b']}},"
		  "'next':{'anyOf':[{'type':'null'},"
		  "{'$ref':'#/$defs/one'}]}}}}}",
		value.ptr, &err),
	    0);
	buf_release(&value);
}
END_TEST

START_TEST(works_without_a_place_for_the_error)
{
	char *a, *b;
	struct json schema = parse("{'type':'null'}", &a);
	struct json value = parse("1", &b);

	ck_assert_int_eq(schema_check(schema, value, NULL, NULL), -1);
	ck_assert_int_eq(schema_check_self(value, NULL), -1);
	mem_free(a);
	mem_free(b);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("schema_check");
	TCase *told = tcase_create("errors say what is allowed");
	TCase *hostile = tcase_create("work is bounded");

	tcase_add_loop_test(
	    told, says_what_is_wrong_and_what_is_allowed, 0, (int)COUNT(texts));
	tcase_add_loop_test(
	    told, gives_the_value_or_key_that_offends, 0, (int)COUNT(wheres));
	tcase_add_test(told, cuts_long_values_and_lists);
	tcase_add_test(told, cuts_a_text_between_characters);
	tcase_add_test(told, shows_no_control_characters_of_a_terminal);
	tcase_add_test(told, works_without_a_place_for_the_error);
	tcase_add_loop_test(
	    told, ignores_malformed_keywords, 0, (int)COUNT(malformed));
	suite_add_tcase(s, told);
	tcase_set_timeout(hostile, 60);
	tcase_add_loop_test(hostile, stops_at_a_schema_that_leads_to_itself, 0,
	    (int)COUNT(endless));
	tcase_add_test(hostile, stops_at_a_schema_with_too_many_ways);
	tcase_add_loop_test(hostile, stops_at_a_pattern_that_explodes, 0,
	    (int)COUNT(explosive));
	tcase_add_test(hostile, counts_the_work_of_many_patterns_together);
	tcase_add_loop_test(
	    hostile, counts_the_work_of_comparing, 0, (int)COUNT(greedy));
	tcase_add_test(hostile, follows_a_value_as_deep_as_json_goes);
	tcase_add_test(hostile, takes_large_honest_values);
	suite_add_tcase(s, hostile);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
