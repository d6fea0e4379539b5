/*
 * base/config.c: a file that fits, one that does not and where, and the
 * getters.
 */
#include <check.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config.h"
#include "tests/unit/suite.h"

static const char schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,"
    "\"properties\":{"
    "\"name\":{\"type\":\"string\"},"
    "\"port\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535},"
    "\"share\":{\"type\":\"number\"},"
    "\"on\":{\"type\":\"boolean\"},"
    "\"log\":{\"type\":\"object\",\"required\":[\"level\"],"
    "\"properties\":{\"level\":{\"enum\":[\"info\",\"debug\"]}}}}}";

static const struct {
	const char *yaml, *text;
} wrong[] = {
	{ "name: x\nport: 70000\n",
	    "c.yaml:2: /port: 70000 is more than 65535; allowed: 1 to 65535" },
	{ "name: x\n\nprot: 1\n",
	    "c.yaml:3: /prot: unknown key; allowed: name, port, share, on, "
	    "log" },
	{ "log:\n  level: inf\n",
	    "c.yaml:2: /log/level: \"inf\" is not allowed; allowed: "
	    "\"info\", \"debug\"" },
	{ "name: a\nlog: {}\n",
	    "c.yaml:2: /log: the key \"level\" is missing; required: "
	    "\"level\"" },
	{ "on: yes\n",
	    "c.yaml:1: /on: \"yes\" is not allowed; must be true or false" },
	{ "# c\n\nname:\n",
	    "c.yaml:3: /name: null is not allowed; must be a string" },
	{ "- 1\n", "c.yaml:1: /: [1] is not allowed; must be an object" },
	{ "name: [\n", "c.yaml:2: did not find expected node content (while "
		       "parsing a flow node that begins on line 2)" },
};

START_TEST(says_file_line_path_and_what_is_allowed)
{
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_int_eq(config_parse(&yaml, "c.yaml",
			     slice_string(wrong[_i].yaml), schema, &err),
	    -1);
	ck_assert_str_eq(err.text, wrong[_i].text);
	ck_assert_int_eq(err.kind, ERR_INPUT);
}
END_TEST

START_TEST(takes_a_file_without_values_as_an_empty_object)
{
	static const char *const texts[] = { "", "# name: x\n", "---\n", "~\n",
		"{}\n" };
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_int_eq(config_parse(&yaml, "c.yaml", slice_string(texts[_i]),
			     schema, &err),
	    0);
	ck_assert_int_eq(yaml_value(&yaml).type, JSON_OBJECT);
	ck_assert(slice_is(yaml_value(&yaml).raw, "{}"));
	ck_assert_uint_eq(yaml_line_of(&yaml, yaml_value(&yaml)), 1);
	yaml_release(&yaml);
}
END_TEST

START_TEST(gives_values_or_the_fallback)
{
	struct json none = { 0 };
	struct json root;
	struct yaml yaml;
	struct err err = { 0 };
	char *text;

	ck_assert_int_eq(config_parse(&yaml, "c.yaml",
			     SLICE("name: \"a\\tb\"\nport: 8.08e3\nshare: 0.5\n"
				   "on: true\nlog: {level: debug}\n"),
			     schema, &err),
	    0);
	root = yaml_value(&yaml);
	text = config_str(root, "name", "other");
	ck_assert_str_eq(text, "a\tb");
	mem_free(text);
	text = config_str(root, "missing", "other");
	ck_assert_str_eq(text, "other");
	mem_free(text);
	ck_assert_ptr_null(config_str(root, "missing", NULL));
	ck_assert_ptr_null(config_str(root, "port", NULL));
	ck_assert_int_eq(config_num(root, "port", 1), 8080);
	ck_assert_int_eq(config_num(root, "missing", -5), -5);
	ck_assert_int_eq(config_num(root, "share", 7), 7);
	ck_assert(config_real(root, "share", 0) == 0.5);
	ck_assert(config_real(root, "missing", 0.25) == 0.25);
	ck_assert(config_bool(root, "on", false));
	ck_assert(config_bool(root, "missing", true));
	ck_assert(!config_bool(root, "missing", false));
	ck_assert(config_bool(root, "name", true));
	ck_assert_int_eq(config_num(none, "port", 3), 3);
	yaml_release(&yaml);
}
END_TEST

START_TEST(names_the_line_of_what_a_schema_cannot_say)
{
	struct yaml yaml;
	struct err err = { 0 };

	ck_assert_int_eq(config_parse(&yaml, "c.yaml",
			     SLICE("name: x\nport: 5\n"), schema, &err),
	    0);
	err_set(&err, ERR_CONFLICT, "/port: in use");
	ck_assert_int_eq(
	    config_err(&yaml, json_get(yaml_value(&yaml), "port"), &err), -1);
	ck_assert_str_eq(err.text, "c.yaml:2: /port: in use");
	ck_assert_int_eq(err.kind, ERR_CONFLICT);
	yaml_release(&yaml);
}
END_TEST

START_TEST(loads_a_file)
{
	char path[TEMP_PATH];
	struct yaml yaml;
	struct err err = { 0 };

	temp_file_of("port: 5\n", path);
	ck_assert_int_eq(config_load(&yaml, path, schema, &err), 0);
	ck_assert_int_eq(config_num(yaml_value(&yaml), "port", 0), 5);
	yaml_release(&yaml);
	unlink(path);
	ck_assert_int_eq(config_load(&yaml, path, schema, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("config");
	TCase *errors = tcase_create("an error names file, line and key");
	TCase *values = tcase_create("what was read is there and in range");

	tcase_add_loop_test(errors, says_file_line_path_and_what_is_allowed, 0,
	    (int)COUNT(wrong));
	tcase_add_test(errors, names_the_line_of_what_a_schema_cannot_say);
	suite_add_tcase(s, errors);
	tcase_add_loop_test(
	    values, takes_a_file_without_values_as_an_empty_object, 0, 5);
	tcase_add_test(values, gives_values_or_the_fallback);
	tcase_add_test(values, loads_a_file);
	suite_add_tcase(s, values);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
