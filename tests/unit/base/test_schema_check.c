/*
 * base/schema_check.c and its keywords: tables of schema, value and what the
 * draft says about them; the texts of errors; hostile schemas and values.
 * Texts are written with ' for ".
 */
#include <check.h>

#include "base/alloc.h"
#include "base/schema_check.h"

struct row {
	const char *schema, *value;
	bool valid;
};

/* A checked text; the caller frees value.raw's memory through *ret_text. */
static struct json
parse(const char *text, char **ret_text)
{
	struct json value;
	struct err err = { 0 };

	*ret_text = mem_string(text);
	for (char *p = *ret_text; *p != '\0'; p++) {
		if (*p == '\'')
			*p = '"';
	}
	ck_assert_msg(
	    json_parse(slice_string(*ret_text), &value, NULL, &err) == 0,
	    "%s: %s", text, err.text);
	return value;
}

static int
check(const char *schema_text, const char *value_text, struct err *err)
{
	char *a, *b;
	struct json schema = parse(schema_text, &a);
	struct json value = parse(value_text, &b);
	int rc;

	*err = (struct err){ 0 };
	if (schema_check_self(schema, err) == -1)
		ck_abort_msg("%s: %s", schema_text, err->text);
	rc = schema_check(schema, value, NULL, err);
	mem_free(a);
	mem_free(b);
	return rc;
}

static int
check_self(const char *text, struct err *err)
{
	char *memory;
	struct json schema = parse(text, &memory);
	int rc = schema_check_self(schema, err);

	mem_free(memory);
	return rc;
}

static void
check_row(const struct row *row)
{
	struct err err;
	int rc = check(row->schema, row->value, &err);

	ck_assert_msg((rc == 0) == row->valid, "%s with %s: %s", row->schema,
	    row->value, rc == 0 ? "fits" : err.text);
	ck_assert(rc == 0 || err.kind == ERR_INPUT);
}

/* ---- whole schemas and type ---- */

static const struct row type_rows[] = {
	{ "true", "1", true },
	{ "false", "1", false },
	{ "{}", "[1,{}]", true },
	{ "{'unknown keyword':{'type':5}}", "1", true },
	{ "{'type':'null'}", "null", true },
	{ "{'type':'null'}", "0", false },
	{ "{'type':'boolean'}", "true", true },
	{ "{'type':'boolean'}", "false", true },
	{ "{'type':'boolean'}", "0", false },
	{ "{'type':'boolean'}", "'true'", false },
	{ "{'type':'number'}", "1.5", true },
	{ "{'type':'number'}", "'1'", false },
	{ "{'type':'integer'}", "7", true },
	{ "{'type':'integer'}", "-0", true },
	{ "{'type':'integer'}", "1.0", true },
	{ "{'type':'integer'}", "10e-1", true },
	{ "{'type':'integer'}", "12.50e1", true },
	{ "{'type':'integer'}", "1.5", false },
	{ "{'type':'integer'}", "1e-1", false },
	{ "{'type':'integer'}", "1e400", true },
	{ "{'type':'integer'}", "123456789012345678901234567890", true },
	{ "{'type':'integer'}", "123456789012345678901234567890.5", false },
	{ "{'type':'integer'}", "'7'", false },
	{ "{'type':'string'}", "''", true },
	{ "{'type':'string'}", "null", false },
	{ "{'type':'array'}", "[]", true },
	{ "{'type':'array'}", "{}", false },
	{ "{'type':'object'}", "{}", true },
	{ "{'type':'object'}", "[]", false },
	{ "{'type':['string','null']}", "null", true },
	{ "{'type':['string','null']}", "'x'", true },
	{ "{'type':['string','null']}", "1", false },
	{ "{'\\u0074ype':'string'}", "1", false },
};

/* ---- enum and const ---- */

static const struct row value_rows[] = {
	{ "{'enum':[1,'a',null]}", "'a'", true },
	{ "{'enum':[1,'a',null]}", "1.0", true },
	{ "{'enum':[1,'a',null]}", "10e-1", true },
	{ "{'enum':[1,'a',null]}", "'1'", false },
	{ "{'enum':[1,'a',null]}", "false", false },
	{ "{'enum':[0]}", "false", false },
	{ "{'enum':[0]}", "-0.0", true },
	{ "{'enum':[false]}", "0", false },
	{ "{'enum':[]}", "0", false },
	{ "{'enum':[{'a':1,'b':[2,3]}]}", "{'b':[2,3],'a':1.0}", true },
	{ "{'enum':[{'a':1,'b':[2,3]}]}", "{'b':[3,2],'a':1}", false },
	{ "{'enum':[{'a':1}]}", "{'a':1,'b':2}", false },
	{ "{'enum':[{'a':1,'b':2}]}", "{'a':1}", false },
	{ "{'enum':[[]]}", "[]", true },
	{ "{'enum':[[]]}", "[[]]", false },
	{ "{'const':'\\u0061b'}", "'ab'", true },
	{ "{'const':'ab'}", "'a\\u0062'", true },
	{ "{'const':'\\ud83d\\ude00'}", "'😀'", true },
	{ "{'const':'a\\u0000b'}", "'a\\u0000b'", true },
	{ "{'const':'a\\u0000b'}", "'a'", false },
	{ "{'const':{'\\u0061':1}}", "{'a':1}", true },
	{ "{'const':9007199254740993}", "9007199254740992", false },
	{ "{'const':1e2}", "100", true },
	{ "{'const':null}", "null", true },
	{ "{'const':null}", "0", false },
};

/* ---- numbers ---- */

static const struct row number_rows[] = {
	{ "{'minimum':1.1}", "1.1", true },
	{ "{'minimum':1.1}", "1.10", true },
	{ "{'minimum':1.1}", "1.09", false },
	{ "{'minimum':1.1}", "'0'", true },
	{ "{'minimum':-2}", "-2", true },
	{ "{'minimum':-2}", "-2.0001", false },
	{ "{'minimum':-2}", "-10", false },
	{ "{'minimum':-2}", "-1", true },
	{ "{'minimum':0}", "-0", true },
	{ "{'minimum':0}", "-1e-400", false },
	{ "{'minimum':9223372036854775807}", "9223372036854775806", false },
	{ "{'minimum':9223372036854775808}", "9223372036854775808", true },
	{ "{'minimum':18446744073709551616}", "18446744073709551615", false },
	{ "{'minimum':1e30}", "999999999999999999999999999999", false },
	{ "{'minimum':1e30}", "1000000000000000000000000000000", true },
	{ "{'maximum':3}", "3", true },
	{ "{'maximum':3}", "3.0", true },
	{ "{'maximum':3}", "3.0000000000000000000000001", false },
	{ "{'maximum':300}", "3e2", true },
	{ "{'maximum':300}", "3.01e2", false },
	{ "{'maximum':0.3}", "0.30000000000000004", false },
	{ "{'maximum':-5}", "-5.5", true },
	{ "{'maximum':-5}", "-4", false },
	{ "{'maximum':1e999999999999999999999}", "1e400", true },
	{ "{'exclusiveMinimum':0}", "0", false },
	{ "{'exclusiveMinimum':0}", "0.0e5", false },
	{ "{'exclusiveMinimum':0}", "1e-300", true },
	{ "{'exclusiveMaximum':10}", "10", false },
	{ "{'exclusiveMaximum':10}", "9.999", true },
	{ "{'exclusiveMaximum':10}", "1e1", false },
	{ "{'multipleOf':2}", "10", true },
	{ "{'multipleOf':2}", "7", false },
	{ "{'multipleOf':2}", "-4", true },
	{ "{'multipleOf':2}", "0", true },
	{ "{'multipleOf':2}", "'7'", true },
	{ "{'multipleOf':1.5}", "4.5", true },
	{ "{'multipleOf':1.5}", "35", false },
	{ "{'multipleOf':0.0001}", "0.0075", true },
	{ "{'multipleOf':0.0001}", "0.00751", false },
	{ "{'multipleOf':0.01}", "19.99", true },
	{ "{'multipleOf':0.1}", "0.3", true },
	{ "{'multipleOf':10}", "1e400", true },
	{ "{'multipleOf':3}", "1e400", false },
	{ "{'multipleOf':7}", "7e12345678901", true },
	{ "{'multipleOf':1e400}", "1e399", false },
	{ "{'multipleOf':64}", "18446744073709551616", true },
	{ "{'multipleOf':64}", "18446744073709551617", false },
	{ "{'multipleOf':999999999999999999}", "1999999999999999998", true },
	{ "{'multipleOf':999999999999999999}", "1999999999999999997", false },
};

/* ---- strings ---- */

static const struct row string_rows[] = {
	{ "{'minLength':2}", "'ab'", true },
	{ "{'minLength':2}", "'a'", false },
	{ "{'minLength':2}", "'é'", false },
	{ "{'minLength':2}", "'😀'", false },
	{ "{'minLength':2}", "'\\ud83d\\ude00'", false },
	{ "{'minLength':2}", "7", true },
	{ "{'minLength':2.0}", "'a'", false },
	{ "{'maxLength':2}", "'äö'", true },
	{ "{'maxLength':2}", "'abc'", false },
	{ "{'maxLength':1}", "'\\n'", true },
	{ "{'maxLength':0}", "''", true },
	{ "{'maxLength':0}", "'\\u0000'", false },
	{ "{'maxLength':1e30}", "'abc'", true },
	{ "{'pattern':'^a*$'}", "'aaa'", true },
	{ "{'pattern':'^a*$'}", "'abc'", false },
	{ "{'pattern':'^a*$'}", "5", true },
	{ "{'pattern':'b'}", "'abc'", true },
	{ "{'pattern':''}", "''", true },
	{ "{'pattern':'^a$'}", "'a\\n'", false },
	{ "{'pattern':'^.$'}", "'😀'", true },
	{ "{'pattern':'^\\\\d+$'}", "'12'", true },
	{ "{'pattern':'^\\\\d+$'}", "'٣'", false },
	{ "{'pattern':'^\\\\w+$'}", "'é'", false },
	{ "{'pattern':'^\\\\u0061$'}", "'a'", true },
	{ "{'pattern':'^\\\\u{1F600}$'}", "'😀'", true },
	{ "{'pattern':'^\\\\p{Lu}$'}", "'É'", true },
	{ "{'pattern':'^[^\\u0000]*$'}", "'a\\u0000'", false },
	{ "{'pattern':'^(?!x)'}", "'xa'", false },
	{ "{'pattern':'^[A-Za-z0-9_.-]{1,64}$'}", "'weather-2.x'", true },
	{ "{'pattern':'^[A-Za-z0-9_.-]{1,64}$'}", "''", false },
	{ "{'format':'email'}", "'no mail'", true },
};

/* ---- arrays ---- */

static const struct row array_rows[] = {
	{ "{'items':{'type':'integer'}}", "[1,2]", true },
	{ "{'items':{'type':'integer'}}", "[1,'2']", false },
	{ "{'items':{'type':'integer'}}", "{'0':'a'}", true },
	{ "{'items':true}", "[1]", true },
	{ "{'items':false}", "[]", true },
	{ "{'items':false}", "[1]", false },
	{ "{'prefixItems':[{'type':'string'}]}", "['a',1]", true },
	{ "{'prefixItems':[{'type':'string'}]}", "[1]", false },
	{ "{'prefixItems':[{'type':'string'},true]}", "[]", true },
	{ "{'prefixItems':[true],'items':{'type':'null'}}", "[1,null]", true },
	{ "{'prefixItems':[true],'items':{'type':'null'}}", "[1,1]", false },
	{ "{'items':false,'prefixItems':[true,true]}", "[1,2]", true },
	{ "{'items':false,'prefixItems':[true,true]}", "[1,2,3]", false },
	{ "{'minItems':1}", "[]", false },
	{ "{'minItems':1}", "[[]]", true },
	{ "{'minItems':1}", "''", true },
	{ "{'maxItems':2}", "[1,2]", true },
	{ "{'maxItems':2}", "[1,2,3]", false },
	{ "{'uniqueItems':true}", "[1,2,3]", true },
	{ "{'uniqueItems':true}", "[1,2,1.0]", false },
	{ "{'uniqueItems':true}", "[100,1e2]", false },
	{ "{'uniqueItems':true}", "[0,-0.0]", false },
	{ "{'uniqueItems':true}", "[0,false,null,'',[],{}]", true },
	{ "{'uniqueItems':true}", "['a','\\u0061']", false },
	{ "{'uniqueItems':true}", "[{'a':1,'b':2},{'b':2,'a':1}]", false },
	{ "{'uniqueItems':true}", "[{'a':1,'b':2},{'b':1,'a':2}]", true },
	{ "{'uniqueItems':true}", "[[1,2],[2,1]]", true },
	{ "{'uniqueItems':true}", "[[1,[2]],[1,[2.0]]]", false },
	{ "{'uniqueItems':true}", "[]", true },
	{ "{'uniqueItems':false}", "[1,1]", true },
	{ "{'contains':{'minimum':5}}", "[1,5]", true },
	{ "{'contains':{'minimum':5}}", "[1,2]", false },
	{ "{'contains':{'minimum':5}}", "[]", false },
	{ "{'contains':{'minimum':5},'minContains':0}", "[]", true },
	{ "{'contains':{'minimum':5},'minContains':2}", "[5,1]", false },
	{ "{'contains':{'minimum':5},'minContains':2.0}", "[5,6]", true },
	{ "{'contains':{'minimum':5},'maxContains':1}", "[5,6]", false },
	{ "{'contains':{'minimum':5},'maxContains':1}", "[5,1]", true },
	{ "{'maxContains':0}", "[1,2]", true },
};

/* ---- objects ---- */

static const struct row object_rows[] = {
	{ "{'properties':{'a':{'type':'integer'}}}", "{'a':1}", true },
	{ "{'properties':{'a':{'type':'integer'}}}", "{'a':'1'}", false },
	{ "{'properties':{'a':{'type':'integer'}}}", "{'b':'1'}", true },
	{ "{'properties':{'a':{'type':'integer'}}}", "[]", true },
	{ "{'properties':{'a':{'type':'integer'}}}", "{'\\u0061':''}", false },
	{ "{'properties':{'\\u0061':false}}", "{'a':1}", false },
	{ "{'properties':{'a':false}}", "{'b':1}", true },
	{ "{'properties':{'a/b':{'properties':{'':false}}}}", "{'a/b':{'':1}}",
	    false },
	{ "{'required':['a']}", "{'a':null}", true },
	{ "{'required':['a']}", "{'b':1}", false },
	{ "{'required':['a']}", "[]", true },
	{ "{'required':[]}", "{}", true },
	{ "{'required':['a\\u0000']}", "{'a':1}", false },
	{ "{'required':['a\\u0000']}", "{'a\\u0000':1}", true },
	{ "{'additionalProperties':false}", "{}", true },
	{ "{'additionalProperties':false}", "{'a':1}", false },
	{ "{'properties':{'a':true},'additionalProperties':false}", "{'a':1}",
	    true },
	{ "{'properties':{'a':true},'additionalProperties':false}",
	    "{'a':1,'b':1}", false },
	{ "{'additionalProperties':false,'patternProperties':{'^x-':true}}",
	    "{'x-a':1}", true },
	{ "{'additionalProperties':false,'patternProperties':{'^x-':true}}",
	    "{'a-x':1}", false },
	{ "{'additionalProperties':{'type':'integer'}}", "{'a':1}", true },
	{ "{'additionalProperties':{'type':'integer'}}", "{'a':''}", false },
	{ "{'properties':{'a':true},'additionalProperties':{'type':'null'}}",
	    "{'a':1,'b':null}", true },
	{ "{'patternProperties':{'f.*o':{'type':'integer'}}}", "{'foo':1}",
	    true },
	{ "{'patternProperties':{'f.*o':{'type':'integer'}}}", "{'fio':'x'}",
	    false },
	{ "{'patternProperties':{'a':true,'b':false}}", "{'ab':1}", false },
	{ "{'propertyNames':{'maxLength':3}}", "{'abc':1}", true },
	{ "{'propertyNames':{'maxLength':3}}", "{'abcd':1}", false },
	{ "{'propertyNames':false}", "{}", true },
	{ "{'minProperties':1}", "{}", false },
	{ "{'minProperties':1}", "{'a':1}", true },
	{ "{'maxProperties':1}", "{'a':1,'b':2}", false },
	{ "{'maxProperties':0}", "{}", true },
	{ "{'dependentRequired':{'a':['b','c']}}", "{'a':1,'b':1,'c':1}",
	    true },
	{ "{'dependentRequired':{'a':['b','c']}}", "{'a':1,'b':1}", false },
	{ "{'dependentRequired':{'a':['b','c']}}", "{'b':1}", true },
	{ "{'dependentSchemas':{'a':{'minProperties':2}}}", "{'a':1}", false },
	{ "{'dependentSchemas':{'a':{'minProperties':2}}}", "{'b':1}", true },
};

/* ---- several forms ---- */

static const struct row form_rows[] = {
	{ "{'allOf':[{'minimum':1},{'maximum':3}]}", "2", true },
	{ "{'allOf':[{'minimum':1},{'maximum':3}]}", "4", false },
	{ "{'allOf':[{'minimum':1},false]}", "2", false },
	{ "{'anyOf':[{'type':'integer'},{'minimum':2}]}", "1", true },
	{ "{'anyOf':[{'type':'integer'},{'minimum':2}]}", "2.5", true },
	{ "{'anyOf':[{'type':'integer'},{'minimum':2}]}", "1.5", false },
	{ "{'anyOf':[false,true]}", "1", true },
	{ "{'oneOf':[{'type':'integer'},{'minimum':2}]}", "1", true },
	{ "{'oneOf':[{'type':'integer'},{'minimum':2}]}", "3", false },
	{ "{'oneOf':[{'type':'integer'},{'minimum':2}]}", "1.5", false },
	{ "{'oneOf':[true,true,true]}", "1", false },
	{ "{'not':{'type':'integer'}}", "'a'", true },
	{ "{'not':{'type':'integer'}}", "1", false },
	{ "{'not':{'not':{'type':'integer'}}}", "1", true },
	{ "{'not':false}", "1", true },
	{ "{'not':{}}", "1", false },
	{ "{'if':{'minimum':5},'then':{'multipleOf':2}}", "6", true },
	{ "{'if':{'minimum':5},'then':{'multipleOf':2}}", "7", false },
	{ "{'if':{'minimum':5},'then':{'multipleOf':2}}", "3", true },
	{ "{'if':{'minimum':5},'else':{'multipleOf':2}}", "3", false },
	{ "{'if':false,'then':false}", "3", true },
	{ "{'then':false,'else':false}", "3", true },
	{ "{'type':'integer','anyOf':[{'minimum':2},{'maximum':-2}]}", "-3",
	    true },
	{ "{'type':'integer','anyOf':[{'minimum':2},{'maximum':-2}]}", "0",
	    false },
};

/* ---- references ---- */

#define LIST_SCHEMA                                                            \
	"{'type':'object','required':['head'],'additionalProperties':false,"   \
	"'properties':{'head':{'type':'integer'},'tail':{'$ref':'#'}}}"

static const struct row ref_rows[] = {
	{ "{'$defs':{'n':{'type':'integer'}},'$ref':'#/$defs/n'}", "1", true },
	{ "{'$defs':{'n':{'type':'integer'}},'$ref':'#/$defs/n'}", "''",
	    false },
	{ "{'$defs':{'n':{'type':'integer'}},'$ref':'#/$defs/n','minimum':3}",
	    "2", false },
	{ "{'definitions':{'n':false},'items':{'$ref':'#/definitions/n'}}",
	    "[1]", false },
	{ LIST_SCHEMA, "{'head':1,'tail':{'head':2}}", true },
	{ LIST_SCHEMA, "{'head':1,'tail':{'head':2,'tail':{}}}", false },
	{ "{'$defs':{'a/b':false,'c~d':true},'$ref':'#/$defs/a~1b'}", "1",
	    false },
	{ "{'$defs':{'a/b':false,'c~d':true},'$ref':'#/$defs/c~0d'}", "1",
	    true },
	{ "{'$defs':{'a b':false},'$ref':'#/$defs/a%20b'}", "1", false },
	{ "{'$defs':{'ä':false},'$ref':'#/$defs/%C3%A4'}", "1", false },
	{ "{'$defs':{'':false},'$ref':'#/$defs/'}", "1", false },
	{ "{'anyOf':[{'type':'null'},false],'items':{'$ref':'#/anyOf/1'}}",
	    "null", true },
	{ "{'prefixItems':[{'type':'integer'},{'$ref':'#/prefixItems/0'}]}",
	    "[1,2]", true },
	{ "{'prefixItems':[{'type':'integer'},{'$ref':'#/prefixItems/0'}]}",
	    "[1,'']", false },
	{ "{'properties':{'$ref':{'type':'string'}}}", "{'$ref':'a'}", true },
	{ "{'properties':{'$ref':{'type':'string'}}}", "{'$ref':1}", false },
	{ "{'components':{'x':{'type':'null'}},'$ref':'#/components/x'}", "1",
	    false },
	{ "{'$defs':{'n':{'$ref':'#/$defs/m'},'m':{'type':'null'}},"
	  "'$ref':'#/$defs/n'}",
	    "1", false },
	{ "{'$id':'https://example.org/s','$ref':'#/$defs/a',"
	  "'$defs':{'a':true}}",
	    "1", true },
};

#define ROW_TEST(table)                                                        \
	START_TEST(judges_##table)                                             \
	{                                                                      \
		check_row(&table[_i]);                                         \
	}                                                                      \
	END_TEST

ROW_TEST(type_rows)
ROW_TEST(value_rows)
ROW_TEST(number_rows)
ROW_TEST(string_rows)
ROW_TEST(array_rows)
ROW_TEST(object_rows)
ROW_TEST(form_rows)
ROW_TEST(ref_rows)

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
	char *want = mem_string(texts[_i].text);
	struct err err;

	for (char *p = want; *p != '\0'; p++) {
		if (*p == '\'')
			*p = '"';
	}
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

START_TEST(shows_no_control_characters_of_a_terminal)
{
	struct err err;

	ck_assert_int_eq(check("{'enum':[1]}", "'a\xc2\x9b\x7fz'", &err), -1);
	ck_assert_str_eq(err.text, "/: \"a??z\" is not allowed; allowed: 1");
	ck_assert_int_eq(check("{'enum':[1]}", "'a\xff z'", &err), -1);
	ck_assert_str_eq(err.text, "/: \"a… is not allowed; allowed: 1");
}
END_TEST

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
	char *want = mem_string(unfit[_i].text);
	struct err err = { 0 };

	for (char *p = want; *p != '\0'; p++) {
		if (*p == '\'')
			*p = '"';
	}
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

static const char *const fit[] = {
	"true",
	"{}",
	"{'$defs':{'t':{'type':'object','properties':{'kids':{'type':'array',"
	"'items':{'$ref':'#/$defs/t'}}}}},'$ref':'#/$defs/t'}",
	"{'anyOf':[{'type':'null'},{'properties':{'next':{'$ref':'#'}}}]}",
	"{'contains':{'$ref':'#'}}",
	"{'propertyNames':{'$ref':'#'}}",
	"{'$schema':'https://json-schema.org/draft/2020-12/schema',"
	"'$id':'urn:x','title':'t','default':5,'examples':[1],"
	"'$comment':'c','format':'uri','deprecated':true}",
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

static int
check_raw(const char *schema_text, const char *value_text, struct err *err)
{
	char *a, *b;
	struct json schema = parse(schema_text, &a);
	struct json value = parse(value_text, &b);
	int rc = schema_check(schema, value, NULL, err);

	mem_free(a);
	mem_free(b);
	return rc;
}

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

#define ADD(tcase, table)                                                      \
	tcase_add_loop_test(tcase, judges_##table, 0, (int)COUNT(table))

static Suite *
suite(void)
{
	Suite *s = suite_create("schema_check");
	TCase *keywords =
	    tcase_create("every keyword judges as the draft says");
	TCase *told = tcase_create("errors say what is allowed");
	TCase *self = tcase_create("a schema is checked before it is used");
	TCase *hostile = tcase_create("work is bounded");

	ADD(keywords, type_rows);
	ADD(keywords, value_rows);
	ADD(keywords, number_rows);
	ADD(keywords, string_rows);
	ADD(keywords, array_rows);
	ADD(keywords, object_rows);
	ADD(keywords, form_rows);
	ADD(keywords, ref_rows);
	suite_add_tcase(s, keywords);
	tcase_add_loop_test(
	    told, says_what_is_wrong_and_what_is_allowed, 0, (int)COUNT(texts));
	tcase_add_loop_test(
	    told, gives_the_value_or_key_that_offends, 0, (int)COUNT(wheres));
	tcase_add_test(told, cuts_long_values_and_lists);
	tcase_add_test(told, shows_no_control_characters_of_a_terminal);
	tcase_add_test(told, works_without_a_place_for_the_error);
	suite_add_tcase(s, told);
	tcase_add_loop_test(
	    self, refuses_a_schema_that_it_cannot_apply, 0, (int)COUNT(unfit));
	tcase_add_test(self, refuses_a_schema_with_a_name_twice);
	tcase_add_loop_test(
	    self, accepts_a_schema_that_it_can_apply, 0, (int)COUNT(fit));
	tcase_add_loop_test(
	    self, ignores_malformed_keywords, 0, (int)COUNT(malformed));
	suite_add_tcase(s, self);
	tcase_set_timeout(hostile, 60);
	tcase_add_loop_test(hostile, stops_at_a_schema_that_leads_to_itself, 0,
	    (int)COUNT(endless));
	tcase_add_test(hostile, stops_at_a_schema_with_too_many_ways);
	tcase_add_loop_test(hostile, stops_at_a_pattern_that_explodes, 0,
	    (int)COUNT(explosive));
	tcase_add_test(hostile, counts_the_work_of_many_patterns_together);
	tcase_add_test(hostile, follows_a_value_as_deep_as_json_goes);
	tcase_add_test(hostile, takes_large_honest_values);
	suite_add_tcase(s, hostile);
	return s;
}

int
main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
