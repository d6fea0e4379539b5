/*
 * base/schema_self.c: which schemas can be applied, and what is said about the
 * others.
 */
#include "tests/unit/base/schema_text.h"
#include "tests/unit/suite.h"

/* ---- schemas that cannot be applied ---- */

static const struct {
	const char *schema, *text;
} unfit[] = {
	{ "5", "/: 5 is not allowed; must be a schema: an object, true or "
	       "false" },
	{ "{'properties':{'a':{'type':'strin'}}}",
	    "/properties/a/type: 'strin' is not allowed; must be null, "
	    "boolean, integer, number, string, array, object or a list of "
	    "them" },
	{ "{'type':['string','x']}", "/type/1: 'x' is not allowed" },
	{ "{'type':[]}", "/type: [] is not allowed" },
	{ "{'properties':[]}",
	    "/properties: [] is not allowed; must be an object of schemas" },
	{ "{'properties':{'a':'string'}}",
	    "/properties/a: 'string' is not allowed; must be a schema" },
	{ "{'items':[{'type':'string'}]}",
	    "/items: [{'type':'string'}] is not allowed; must be a schema" },
	{ "{'anyOf':{}}",
	    "/anyOf: {} is not allowed; must be an array of schemas" },
	{ "{'anyOf':[]}", "/anyOf: [] is not allowed" },
	{ "{'allOf':[true,3]}", "/allOf/1: 3 is not allowed" },
	{ "{'not':null}", "/not: null is not allowed" },
	{ "{'required':'a'}",
	    "/required: 'a' is not allowed; must be an array of strings" },
	{ "{'required':['a',1]}",
	    "/required/1: 1 is not allowed; must be a string" },
	{ "{'dependentRequired':{'a':'b'}}",
	    "/dependentRequired/a: 'b' is not allowed" },
	{ "{'enum':'a'}", "/enum: 'a' is not allowed" },
	{ "{'minimum':'1'}", "/minimum: '1' is not allowed; must be a number" },
	{ "{'exclusiveMinimum':true}", "/exclusiveMinimum: true is not" },
	{ "{'minLength':-1}",
	    "/minLength: -1 is not allowed; must be an integer, at least 0" },
	{ "{'maxItems':1.5}", "/maxItems: 1.5 is not allowed" },
	{ "{'multipleOf':0}", "/multipleOf: 0 is not allowed; must be more" },
	{ "{'multipleOf':-1}", "/multipleOf: -1 is not allowed" },
	{ "{'multipleOf':1.0000000000000000001}", "/multipleOf: " },
	{ "{'uniqueItems':1}", "/uniqueItems: 1 is not allowed" },
	{ "{'pattern':'('}",
	    "/pattern: is no regular expression: missing closing parenthesis" },
	{ "{'pattern':5}", "/pattern: 5 is not allowed; must be a string" },
	{ "{'patternProperties':{'[':true}}",
	    "/patternProperties/[: is no regular expression" },
	{ "{'properties':{'a':{'$ref':'#/$defs/b'}}}",
	    "/properties/a/$ref: '#/$defs/b' is not allowed; must be '#' or" },
	{ "{'$ref':'other.json'}", "/$ref: 'other.json' is not allowed" },
	{ "{'$ref':'#name'}", "/$ref: '#name' is not allowed" },
	{ "{'$ref':5}", "/$ref: 5 is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/00'}}",
	    "/not/$ref: '#/allOf/00' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/01'}}",
	    "/not/$ref: '#/allOf/01' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/2'}}",
	    "/not/$ref: '#/allOf/2' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/-1'}}",
	    "/not/$ref: '#/allOf/-1' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/x'}}",
	    "/not/$ref: '#/allOf/x' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/1x'}}",
	    "/not/$ref: '#/allOf/1x' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/'}}",
	    "/not/$ref: '#/allOf/' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/+1'}}",
	    "/not/$ref: '#/allOf/+1' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/ 1'}}",
	    "/not/$ref: '#/allOf/ 1' is not allowed" },
	{ "{'allOf':[true,true],'not':{'$ref':'#/allOf/99999999999999999999'}}",
	    "/not/$ref: '#/allOf/99999999999999999999' is not allowed" },
	{ "{'$ref':''}", "/$ref: '' is not allowed" },
	{ "{'$defs':{'a':{}},'$ref':'#$defs/a'}", "/$ref: '#$defs/a' is not" },
	{ "{'$defs':{'a':{}},'$ref':'/$defs/a'}", "/$ref: '/$defs/a' is not" },
	{ "{'$defs':{'a':{}},'$ref':'#/$defs/a\\u0000'}", "/$ref: " },
	{ "{'type':'string','$ref':'#/type/0'}", "/$ref: '#/type/0' is not" },
	{ "{'x':{'y':5},'$ref':'#/x/y'}", "/#/x/y: 5 is not allowed" },
	{ "{'x':{'y':{'type':0}},'$ref':'#/x/y'}", "/#/x/y/type: 0 is not" },
	{ "{'$ref':'#'}",
	    "/: the $ref '#' leads back to itself without going deeper" },
	{ "{'$defs':{'a':{'allOf':[{'$ref':'#/$defs/b'}]},"
	  "'b':{'anyOf':[true,{'$ref':'#/$defs/a'}]}}}",
	    "/: the $ref '#/$defs/a' leads back" },
	{ "{'$defs':{'a':{'if':true,'then':{'$ref':'#/$defs/a'}}}}",
	    "/: the $ref '#/$defs/a' leads back" },
	{ "{'dependentSchemas':{'a':{'not':{'$ref':'#'}}}}",
	    "/: the $ref '#' leads back" },
	{ "{'unevaluatedProperties':false}",
	    "/unevaluatedProperties: this keyword is not supported" },
	{ "{'items':{'$dynamicRef':'#a'}}",
	    "/items/$dynamicRef: this keyword is not supported" },
	{ "{'dependencies':{}}", "/dependencies: this keyword is not" },
	{ "{'items':{'$id':'x'}}",
	    "/items/$id: 'x' is not allowed; $id may stand at the top only" },
	{ "{'not':{'$defs':{'a':0}}}", "/not/$defs/a: 0 is not allowed" },
};

START_TEST(refuses_a_schema_that_it_cannot_apply)
{
	char *want = quoted(unfit[_i].text);
	struct err err = { 0 };

	ck_assert_msg(
	    check_self(unfit[_i].schema, &err) == -1, "%s", unfit[_i].schema);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0,
	    "got %s, want %s", err.text, want);
	mem_free(want);
}
END_TEST

START_TEST(refuses_a_schema_with_a_name_twice)
{
	struct err err = { 0 };

	ck_assert_int_eq(
	    check_self("{'type':'string','type':'null'}", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "type"));
}
END_TEST

/* n schemas, each of which is the next one. */
static int
check_chain(int n, struct err *err)
{
	struct buf text = BUF_INIT(1u << 20);
	int rc;

	buf_puts(&text, "{'$defs':{");
	for (int i = 0; i < n; i++)
		buf_printf(&text, "'d%d':{'$ref':'#/$defs/d%d'},", i, i + 1);
	buf_printf(&text, "'d%d':true}}%c", n, 0);
	rc = check_self(text.ptr, err);
	buf_release(&text);
	return rc;
}

START_TEST(refuses_a_chain_that_a_check_could_not_follow)
{
	struct err err = { 0 };

	ck_assert_int_eq(check_chain(SCHEMA_NEST_MAX - 1, &err), 0);
	ck_assert_int_eq(check_chain(SCHEMA_NEST_MAX + 1, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_str_eq(err.text, "the schema is nested too deep");
}
END_TEST

static const char *const fit[] = {
	"true",
	"{}",
	("{'$defs':{'t':{'type':'object','properties':{'kids':{'type':'array',"
	 "'items':{'$ref':'#/$defs/t'}}}}},'$ref':'#/$defs/t'}"),
	"{'anyOf':[{'type':'null'},{'properties':{'next':{'$ref':'#'}}}]}",
	"{'contains':{'$ref':'#'}}",
	"{'propertyNames':{'$ref':'#'}}",
	("{'$schema':'https://json-schema.org/draft/2020-12/schema',"
	 "'$id':'urn:x','title':'t','default':5,'examples':[1],"
	 "'$comment':'c','format':'uri','deprecated':true}"),
	"{'enum':[{'$ref':'nowhere','type':5}]}",
	"{'default':{'$ref':'nowhere'}}",
	"{'properties':{'type':{'enum':['a']},'$id':{'type':'string'}}}",
};

START_TEST(accepts_a_schema_that_it_can_apply)
{
	struct err err = { 0 };

	ck_assert_msg(
	    check_self(fit[_i], &err) == 0, "%s: %s", fit[_i], err.text);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("schema_self");
	TCase *self = tcase_create("a schema is checked before it is used");

	tcase_add_loop_test(
	    self, refuses_a_schema_that_it_cannot_apply, 0, (int)COUNT(unfit));
	tcase_add_test(self, refuses_a_chain_that_a_check_could_not_follow);
	tcase_add_test(self, refuses_a_schema_with_a_name_twice);
	tcase_add_loop_test(
	    self, accepts_a_schema_that_it_can_apply, 0, (int)COUNT(fit));
	suite_add_tcase(s, self);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
