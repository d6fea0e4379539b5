/*
 * base/yaml.c: which JSON a YAML text becomes, which texts are refused and on
 * which line, and the lines of values.
 */
#include <check.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/yaml.h"
#include "tests/unit/suite.h"

static struct yaml
parse(const char *text)
{
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_msg(
	    yaml_parse(&yaml, "f.yaml", slice_string(text), &err) == 0,
	    "%s: %s", text, err.text);
	return yaml;
}

/* ---- values ---- */

static const struct {
	const char *yaml, *json;
} values[] = {
	{ "", "null" },
	{ "# only a comment\n", "null" },
	{ "---\n...\n", "null" },
	{ "a: 1", "{\"a\":1}" },
	{ "a:", "{\"a\":null}" },
	{ "a: ~", "{\"a\":null}" },
	{ "a: null", "{\"a\":null}" },
	{ "a: true\nb: false", "{\"a\":true,\"b\":false}" },
	/* what other readers take for booleans, null, numbers, times */
	{ "[no, yes, on, off, y, n]",
	    "[\"no\",\"yes\",\"on\",\"off\",\"y\",\"n\"]" },
	{ "[True, FALSE, Null, NULL]",
	    "[\"True\",\"FALSE\",\"Null\",\"NULL\"]" },
	{ "[0777, 0o17, 0x1f, 0b1, 1_000]",
	    "[\"0777\",\"0o17\",\"0x1f\",\"0b1\",\"1_000\"]" },
	{ "[1.2.3, 12:30:45, 2026-01-02]",
	    "[\"1.2.3\",\"12:30:45\",\"2026-01-02\"]" },
	{ "[.inf, -.inf, .nan, .5, 5., +1]",
	    "[\".inf\",\"-.inf\",\".nan\",\".5\",\"5.\",\"+1\"]" },
	{ "[1-, -x, 1-2]", "[\"1-\",\"-x\",\"1-2\"]" },
	/* JSON numbers, digit by digit */
	{ "[0, -0, 7, -7, 1.50, 1e3, 1E-3, 0.1e+2]",
	    "[0,-0,7,-7,1.50,1e3,1E-3,0.1e+2]" },
	{ "[18446744073709551616, 9007199254740993]",
	    "[18446744073709551616,9007199254740993]" },
	{ "n: 123456789012345678901234567890.12345678901234567890",
	    "{\"n\":123456789012345678901234567890.12345678901234567890}" },
	/* quotes make text */
	{ "['1', \"true\", 'null', '~', '']",
	    "[\"1\",\"true\",\"null\",\"~\",\"\"]" },
	{ "1: a\ntrue: b\nnull: c\n'': d",
	    "{\"1\":\"a\",\"true\":\"b\",\"null\":\"c\",\"\":\"d\"}" },
	{ "a: 'it''s'", "{\"a\":\"it's\"}" },
	{ "a: \"tab\\t \\u00e9 \\U0001F600 \\x41 \\\\ \\\" \\/\"",
	    "{\"a\":\"tab\\t \xc3\xa9 \xf0\x9f\x98\x80 A \\\\ \\\" /\"}" },
	{ "a: \"one\n  two\n\n  three\"", "{\"a\":\"one two\\nthree\"}" },
	{ "a: plain text\n  goes on", "{\"a\":\"plain text goes on\"}" },
	{ "a: http://x/y#z", "{\"a\":\"http://x/y#z\"}" },
	{ "a: x # comment", "{\"a\":\"x\"}" },
	{ "a: \xc3\xa4\xe6\xbc\xa2", "{\"a\":\"\xc3\xa4\xe6\xbc\xa2\"}" },
	/* block scalars */
	{ "a: |\n  one\n   two\n\n  three\n",
	    "{\"a\":\"one\\n two\\n\\nthree\\n\"}" },
	{ "a: |\n  one\n\n\nb: 1\n", "{\"a\":\"one\\n\",\"b\":1}" },
	{ "a: |-\n  one\n", "{\"a\":\"one\"}" },
	{ "a: |+\n  one\n\n", "{\"a\":\"one\\n\\n\"}" },
	{ "a: |2\n   one\n  two\n", "{\"a\":\" one\\ntwo\\n\"}" },
	{ "a: |\n  # no comment\n  \"quoted\" \\n: - {}\n",
	    "{\"a\":\"# no comment\\n\\\"quoted\\\" \\\\n: - {}\\n\"}" },
	{ "a: |\n  tab\there\n", "{\"a\":\"tab\\there\\n\"}" },
	{ "a: |\n  trailing  \n", "{\"a\":\"trailing  \\n\"}" },
	{ "a: >\n  one\n  two\n\n  three\n", "{\"a\":\"one two\\nthree\\n\"}" },
	{ "a: >-\n  one\n  two\n", "{\"a\":\"one two\"}" },
	{ "a: |\r\n  one\r\n  two\r\n", "{\"a\":\"one\\ntwo\\n\"}" },
	/* collections, in the order of the file */
	{ "- 1\n- [2, {b: 3}]\n-\n  - 4\n", "[1,[2,{\"b\":3}],[4]]" },
	{ "z: 1\na: 2\nm: 3\n", "{\"z\":1,\"a\":2,\"m\":3}" },
	{ "[]", "[]" },
	{ "{}", "{}" },
	{ "a: []\nb: {}\n", "{\"a\":[],\"b\":{}}" },
	{ "{a, b: }", "{\"a\":null,\"b\":null}" },
	{ "[a: 1, b]", "[{\"a\":1},\"b\"]" },
	{ "? a\n: 1\n", "{\"a\":1}" },
	{ "<<: 1\n", "{\"<<\":1}" },
	{ "a: {b: 1}\nc: {b: 1}\n", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}" },
	{ "\xef\xbb\xbf"
	  "a: 1\n",
	    "{\"a\":1}" },
	{ "%YAML 1.2\n---\na: 1\n", "{\"a\":1}" },
	{ "plain", "\"plain\"" },
	{ "{\"json\": [1, \"x\", null, {\"k\": false}]}",
	    "{\"json\":[1,\"x\",null,{\"k\":false}]}" },
};

START_TEST(turns_a_text_into_json)
{
	struct yaml yaml = parse(values[_i].yaml);
	struct slice json = yaml_value(&yaml).raw;

	ck_assert_msg(slice_is(json, values[_i].json), "%s: got %.*s",
	    values[_i].yaml, SLICE_ARGS(json));
	ck_assert(slice_eq(json, buf_slice(&yaml.json)));
	yaml_release(&yaml);
}
END_TEST

/* ---- refusals ---- */

static const struct {
	const char *yaml, *text;
} refusals[] = {
	{ "a: &x 1\n", "f.yaml:1: anchors (&name) are not allowed" },
	{ "a: 1\nb: &x [1]\n", "f.yaml:2: anchors" },
	{ "a: 1\nb: &x {c: 1}\n", "f.yaml:2: anchors" },
	{ "&x a: 1\n", "f.yaml:1: anchors" },
	{ "a: 1\n\nb: *x\n", "f.yaml:3: aliases (*name) are not allowed" },
	{ "- *x : 1\n", "f.yaml:1: aliases" },
	{ "a: !!str 1\n", "f.yaml:1: tags (!name) are not allowed" },
	{ "a:\n  - ! 1\n", "f.yaml:2: tags" },
	{ "a: !x [1]\n", "f.yaml:1: tags" },
	{ "a: !x {}\n", "f.yaml:1: tags" },
	{ "!x a: 1\n", "f.yaml:1: tags" },
	{ "a: 1\n---\nb: 1\n", "f.yaml:2: a second document begins" },
	{ "a: 1\n...\n---\n", "f.yaml:3: a second document begins" },
	{ "a: 1\nb: 2\na: 3\n",
	    "f.yaml:3: the key \"a\" stands on line 1 already; each key once" },
	{ "x:\n  a: 1\n  \"a\": 2\n",
	    "f.yaml:3: the key \"a\" stands on line 2 already" },
	{ "{a: 1, b: {c: 1, c: 1}}", "f.yaml:1: the key \"c\"" },
	{ "? [a]\n: 1\n", "f.yaml:1: a key must be plain text" },
	{ "? {a: 1}\n: 1\n", "f.yaml:1: a key must be plain text" },
	{ "{[a]: 1}", "f.yaml:1: a key must be plain text" },
	{ "? \n: 1\n", "f.yaml:1: a key is missing" },
	{ "a: \"x\\0y\"\n", "f.yaml:1: a text must not hold the character" },
	{ "a: 1\n\"x\\0\": 1\n", "f.yaml:2: a text must not hold" },
	{ "a: [1, 2\nb: 3\n", "f.yaml:2: did not find expected ',' or ']' "
			      "(while parsing a flow sequence that begins on "
			      "line 1)" },
	{ "a: 1\n\tb: 2\n", "f.yaml:2: " },
	{ "a: 1\n b: 2\n", "f.yaml:2: mapping values are not allowed" },
	{ "a: \"x\n", "f.yaml:2: found unexpected end of stream" },
	{ "a: 1\nb: \x01\n", "f.yaml:2: control characters are not allowed" },
	{ "a: 1\n\nb: \xff\n", "f.yaml:3: " },
	{ "a: \"\\ud800\"\n", "f.yaml:1: " },
	{ "a: |\n  one\xe2\x80\xa8two\n",
	    "f.yaml:2: U+2028 must be written \"\\L\"" },
	{ "a: 1\nb: x\xe2\x80\xa9\n", "f.yaml:2: U+2029 must be written" },
	{ "a: x\xc2\x85y\n", "f.yaml:1: U+0085 must be written" },
	{ "a: {\n", "f.yaml:2: " },
	{ "a: ]\n", "f.yaml:1: " },
	{ "@x", "f.yaml:1: " },
	{ "a: {", "f.yaml:1: " },
	{ "a: 1\rb: &x 1", "f.yaml:2: anchors" },
	{ "a: 1\r\nb: \"\\0\"", "f.yaml:2: a text" },
	{ "a: 1\r\nb: \xff", "f.yaml:2: " },
};

START_TEST(refuses_a_text_and_names_the_line)
{
	const char *want = refusals[_i].text;
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_msg(yaml_parse(&yaml, "f.yaml",
			  slice_string(refusals[_i].yaml), &err) == -1,
	    "%s", refusals[_i].yaml);
	ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0,
	    "got %s, want %s", err.text, want);
	ck_assert_int_eq(err.kind, ERR_INPUT);
}
END_TEST

START_TEST(refuses_a_nul_byte)
{
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_int_eq(
	    yaml_parse(&yaml, "f.yaml", SLICE("a: 1\nb: x\0y\n"), &err), -1);
	ck_assert_int_eq(strncmp(err.text, "f.yaml:2: ", 10), 0);
}
END_TEST

START_TEST(refuses_another_encoding)
{
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_int_eq(yaml_parse(&yaml, "f",
			     SLICE("\xff\xfe"
				   "a\0:\0 \0"
				   "1\0"),
			     &err),
	    -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
}
END_TEST

START_TEST(goes_as_deep_as_json_and_no_deeper)
{
	struct buf text = BUF_INIT(1u << 16);
	struct yaml yaml;
	struct err err = { 0 };

	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_putc(&text, '[');
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_putc(&text, ']');
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), 0);
	yaml_release(&yaml);
	buf_clear(&text);
	for (int i = 0; i < 30000; i++)
		buf_putc(&text, '[');
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_str_eq(err.text, "f:1: nested deeper than 128 levels");
	buf_clear(&text);
	for (int i = 0; i < 30000; i++)
		buf_puts(&text, "- ");
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&text);
}
END_TEST

START_TEST(refuses_a_file_that_is_too_large)
{
	struct buf text = BUF_INIT(YAML_FILE_MAX + 1);
	struct yaml yaml;
	struct err err = { 0 };

	while (text.len < YAML_FILE_MAX)
		buf_putc(&text, ' ');
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), 0);
	yaml_release(&yaml);
	buf_putc(&text, ' ');
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	buf_release(&text);
}
END_TEST

/* What one byte of YAML becomes at most must fit. */
START_TEST(holds_the_largest_json_of_a_file)
{
	static const char *const units[] = { "[\"\\e\\e\\e\\e\"],", "~,", ",",
		"- \n", "- ~\n", "[],", "{},", "a\n" };
	struct buf text = BUF_INIT(YAML_FILE_MAX);
	struct yaml yaml;
	struct err err = { 0 };

	if (units[_i][0] != '-')
		buf_putc(&text, '[');
	while (text.len + strlen(units[_i]) < YAML_FILE_MAX)
		buf_puts(&text, units[_i]);
	if (units[_i][0] != '-')
		buf_putc(&text, ']');
	if (yaml_parse(&yaml, "f", buf_slice(&text), &err) == 0)
		yaml_release(&yaml);
	else
		ck_assert_msg(err.kind == ERR_INPUT, "%s", err.text);
	buf_release(&text);
}
END_TEST

START_TEST(finds_a_double_key_among_many)
{
	struct buf text = BUF_INIT(YAML_FILE_MAX);
	struct yaml yaml;
	struct err err = { 0 };

	for (int i = 0; i < 50000; i++)
		buf_printf(&text, "key%d: %d\n", i, i);
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), 0);
	yaml_release(&yaml);
	buf_puts(&text, "key777: 1\n");
	ck_assert_int_eq(yaml_parse(&yaml, "f", buf_slice(&text), &err), -1);
	ck_assert_str_eq(err.text,
	    "f:50001: the key \"key777\" stands on line 778 already; each key "
	    "once");
	buf_release(&text);
}
END_TEST

/* ---- lines ---- */

static const char lines_text[] = "# first\n"
				 "name: x\n"
				 "settings:\n"
				 "  a: 1\n"
				 "\n"
				 "  b: |\n"
				 "    one\n"
				 "    two\n"
				 "list:\n"
				 "- 1\n"
				 "- c: [1,\n"
				 "    2]\n"
				 "empty:\n"
				 "last: \"x\n"
				 "  y\"\n";

START_TEST(knows_the_line_of_each_value)
{
	struct yaml yaml = parse(lines_text);
	struct json root = yaml_value(&yaml);
	struct json settings = json_get(root, "settings");
	struct json list = json_get(root, "list");
	struct json_iter it = json_iter(list);
	struct json key, item;

	ck_assert_uint_eq(yaml_line_of(&yaml, root), 2);
	ck_assert_uint_eq(yaml_line_of(&yaml, json_get(root, "name")), 2);
	ck_assert_uint_eq(yaml_line_of(&yaml, settings), 4);
	ck_assert_uint_eq(yaml_line_of(&yaml, json_get(settings, "a")), 4);
	ck_assert_uint_eq(yaml_line_of(&yaml, json_get(settings, "b")), 6);
	ck_assert_uint_eq(yaml_line_of(&yaml, list), 10);
	ck_assert(json_next(&it, &key, &item));
	ck_assert_uint_eq(yaml_line_of(&yaml, item), 10);
	ck_assert(json_next(&it, &key, &item));
	ck_assert_uint_eq(yaml_line_of(&yaml, item), 11);
	it = json_iter(json_get(item, "c"));
	ck_assert(json_next(&it, &key, &item));
	ck_assert_uint_eq(yaml_line_of(&yaml, item), 11);
	ck_assert(json_next(&it, &key, &item));
	ck_assert_uint_eq(yaml_line_of(&yaml, item), 12);
	ck_assert_uint_eq(yaml_line_of(&yaml, json_get(root, "empty")), 13);
	ck_assert_uint_eq(yaml_line_of(&yaml, json_get(root, "last")), 14);
	yaml_release(&yaml);
}
END_TEST

START_TEST(knows_the_line_of_each_key)
{
	static const unsigned want[] = { 2, 3, 9, 13, 14 };
	struct yaml yaml = parse(lines_text);
	struct json_iter it = json_iter(yaml_value(&yaml));
	struct json key, value;

	for (size_t i = 0; i < COUNT(want); i++) {
		ck_assert(json_next(&it, &key, &value));
		ck_assert_uint_eq(yaml_line_of(&yaml, key), want[i]);
	}
	yaml_release(&yaml);
}
END_TEST

START_TEST(no_line_is_past_the_end_of_the_file)
{
	struct yaml yaml = parse("a: 1\n? b");

	ck_assert_uint_eq(
	    yaml_line_of(&yaml, json_get(yaml_value(&yaml), "b")), 2);
	yaml_release(&yaml);
}
END_TEST

START_TEST(says_line_1_for_what_lies_elsewhere)
{
	struct yaml yaml = parse("\n\n\na: 1\n");
	struct json none = { 0 };
	struct json other = { JSON_NUMBER, SLICE("1") };

	ck_assert_uint_eq(yaml_line_of(&yaml, none), 1);
	ck_assert_uint_eq(yaml_line_of(&yaml, other), 1);
	yaml_release(&yaml);
}
END_TEST

/* ---- files ---- */

START_TEST(loads_a_file_and_names_it_in_errors)
{
	char path[TEMP_PATH];
	int fd = temp_file(path);
	struct yaml yaml;
	struct err err = { 0 };
	char want[128];

	ck_assert_int_eq(write(fd, "a: 1\n", 5), 5);
	ck_assert_int_eq(yaml_load(&yaml, path, &err), 0);
	ck_assert(slice_is(yaml_value(&yaml).raw, "{\"a\":1}"));
	ck_assert_str_eq(yaml.name, path);
	yaml_release(&yaml);
	ck_assert_int_eq(write(fd, "a: 2\n", 5), 5);
	ck_assert_int_eq(yaml_load(&yaml, path, &err), -1);
	snprintf(want, sizeof(want), "%s:2: the key \"a\"", path);
	ck_assert_int_eq(strncmp(err.text, want, strlen(want)), 0);
	close(fd);
	unlink(path);
	ck_assert_int_eq(yaml_load(&yaml, path, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, path));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("yaml");
	TCase *json = tcase_create("a text becomes JSON, digit by digit");
	TCase *refused = tcase_create("what can be misread is refused");
	TCase *lines = tcase_create("each value has its line");

	tcase_add_loop_test(
	    json, turns_a_text_into_json, 0, (int)COUNT(values));
	tcase_add_test(json, loads_a_file_and_names_it_in_errors);
	suite_add_tcase(s, json);
	tcase_set_timeout(refused, 30);
	tcase_add_loop_test(refused, refuses_a_text_and_names_the_line, 0,
	    (int)COUNT(refusals));
	tcase_add_test(refused, refuses_a_nul_byte);
	tcase_add_test(refused, refuses_another_encoding);
	tcase_add_test(refused, goes_as_deep_as_json_and_no_deeper);
	tcase_add_test(refused, refuses_a_file_that_is_too_large);
	tcase_add_loop_test(refused, holds_the_largest_json_of_a_file, 0, 8);
	tcase_add_test(refused, finds_a_double_key_among_many);
	suite_add_tcase(s, refused);
	tcase_add_test(lines, knows_the_line_of_each_value);
	tcase_add_test(lines, knows_the_line_of_each_key);
	tcase_add_test(lines, no_line_is_past_the_end_of_the_file);
	tcase_add_test(lines, says_line_1_for_what_lies_elsewhere);
	suite_add_tcase(s, lines);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
