/*
 * The keywords of JSON Schema (base/schema_rules.c, schema_nest.c,
 * schema_ref.c): tables of schema, value and what the draft says about them.
 */
#include "tests/unit/base/schema_text.h"
#include "tests/unit/suite.h"

struct row {
	const char *schema, *value;
	bool valid;
};

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
	{ "{'$defs':{'ä':false},'$ref':'#/$defs/%c3%a4'}", "1", false },
	{ "{'$defs':{'O':false},'$ref':'#/$defs/%4f'}", "1", false },
	{ "{'$defs':{'J':false},'$ref':'#/$defs/%4a'}", "1", false },
	{ "{'$defs':{'%4':false},'$ref':'#/$defs/%4'}", "1", false },
	{ "{'$defs':{'%g1':false},'$ref':'#/$defs/%g1'}", "1", false },
	{ "{'$defs':{'%1g':false},'$ref':'#/$defs/%1g'}", "1", false },
	{ "{'$defs':{'a~':false},'$ref':'#/$defs/a~0'}", "1", false },
	{ "{'$defs':{'a~':false},'$ref':'#/$defs/a~'}", "1", false },
	{ "{'$defs':{'a~2':false},'$ref':'#/$defs/a~2'}", "1", false },
	{ "{'$defs':{'#':false},'$ref':'#/$defs/#'}", "1", false },
	{ "{'allOf':[true,true,true,true,true,true,true,true,true,true,"
	  "{'type':'null'}],'items':{'$ref':'#/allOf/10'}}",
	    "null", true },
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

#define ADD(tcase, table)                                                      \
	tcase_add_loop_test(tcase, judges_##table, 0, (int)COUNT(table))

static Suite *
suite(void)
{
	Suite *s = suite_create("schema_rules");
	TCase *keywords =
	    tcase_create("every keyword judges as the draft says");

	ADD(keywords, type_rows);
	ADD(keywords, value_rows);
	ADD(keywords, number_rows);
	ADD(keywords, string_rows);
	ADD(keywords, array_rows);
	ADD(keywords, object_rows);
	ADD(keywords, form_rows);
	ADD(keywords, ref_rows);
	suite_add_tcase(s, keywords);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
