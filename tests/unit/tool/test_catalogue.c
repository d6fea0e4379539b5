/*
 * The tools file: what it means, and what is refused with file and line.
 */
#include "workers/tool/catalogue.h"

#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/suite.h"

static char folder[TEMP_PATH];
static char path[128];

static void
write_file(const char *name, const char *text, mode_t mode)
{
	char where[128];
	int fd;

	snprintf(where, sizeof(where), "%s/%s", folder, name);
	unlink(where);
	fd = open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void
make_folder(void)
{
	temp_folder(folder);
	snprintf(path, sizeof(path), "%s/tools.yaml", folder);
	write_file("run.sh", "#!/bin/sh\n", 0755);
	write_file("data.txt", "x\n", 0644);
}

static int
load(struct catalogue *c, const char *text, struct err *err)
{
	write_file("tools.yaml", text, 0644);
	return catalogue_load(c, path, err);
}

START_TEST(a_tool_is_read_with_all_it_says)
{
	struct catalogue c;
	struct err err = { 0 };
	const struct tool *tool;

	ck_assert_msg(load(&c,
			  "tools:\n"
			  "  - name: weather\n"
			  "    description: Tells the weather.\n"
			  "    parameters:\n"
			  "      type: object\n"
			  "      properties: {city: {type: string}}\n"
			  "      required: [city]\n"
			  "    argv: [/bin/sh, run.sh, -v, data.txt, other]\n"
			  "    idempotent: true\n"
			  "    needs_approval: true\n"
			  "    limits: {wall_s: 10, cpu_s: 2, memory_mb: 100,\n"
			  "             processes: 3, file_mb: 4, tmp_mb: 5,\n"
			  "             output_mb: 6, open_files: 70}\n"
			  "    env: {MODE: fast, URL_BASE: \"a=b\"}\n",
			  &err) == 0,
	    "%s", err.text);
	ck_assert_str_eq(c.folder, folder);
	ck_assert_uint_eq(c.count, 1);
	tool = catalogue_find(&c, SLICE("weather"));
	ck_assert_ptr_eq(tool, &c.tools[0]);
	ck_assert_str_eq(tool->description, "Tells the weather.");
	ck_assert(tool->idempotent);
	ck_assert(tool->needs_approval);
	ck_assert(slice_is(tool->parameters.raw,
	    "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"
	    "\"string\"}},\"required\":[\"city\"]}"));
	ck_assert_uint_eq(tool->argc, 5);
	ck_assert_str_eq(tool->argv[0].text, "/bin/sh");
	ck_assert(!tool->argv[0].in_folder);
	ck_assert_str_eq(tool->argv[1].text, "run.sh");
	ck_assert(tool->argv[1].in_folder);
	ck_assert(!tool->argv[2].in_folder);
	ck_assert(tool->argv[3].in_folder);
	ck_assert(!tool->argv[4].in_folder);
	ck_assert_uint_eq(tool->envc, 2);
	ck_assert_str_eq(tool->env[0], "MODE=fast");
	ck_assert_str_eq(tool->env[1], "URL_BASE=a=b");
	ck_assert_uint_eq(tool->limits.wall_s, 10);
	ck_assert_uint_eq(tool->limits.cpu_s, 2);
	ck_assert_uint_eq(tool->limits.memory_mb, 100);
	ck_assert_uint_eq(tool->limits.processes, 3);
	ck_assert_uint_eq(tool->limits.file_mb, 4);
	ck_assert_uint_eq(tool->limits.tmp_mb, 5);
	ck_assert_uint_eq(tool->limits.output_mb, 6);
	ck_assert_uint_eq(tool->limits.open_files, 70);
	catalogue_release(&c);
}
END_TEST

START_TEST(what_is_not_said_has_defaults)
{
	struct catalogue c;
	struct err err = { 0 };
	const struct tool *tool;

	ck_assert_int_eq(load(&c,
			     "tools:\n- {name: a, description: d, argv: "
			     "[run.sh]}\n",
			     &err),
	    0);
	tool = &c.tools[0];
	ck_assert(tool->argv[0].in_folder);
	ck_assert(!tool->idempotent);
	ck_assert(!tool->needs_approval);
	ck_assert(slice_is(tool->parameters.raw,
	    "{\"type\":\"object\",\"properties\":{},"
	    "\"additionalProperties\":false}"));
	ck_assert_uint_eq(tool->limits.wall_s, 30);
	ck_assert_uint_eq(tool->limits.cpu_s, 60);
	ck_assert_uint_eq(tool->limits.memory_mb, 512);
	ck_assert_uint_eq(tool->limits.processes, 64);
	ck_assert_uint_eq(tool->limits.file_mb, 64);
	ck_assert_uint_eq(tool->limits.tmp_mb, 32);
	ck_assert_uint_eq(tool->limits.output_mb, 16);
	ck_assert_uint_eq(tool->limits.open_files, 512);
	ck_assert_ptr_null(catalogue_find(&c, SLICE("b")));
	catalogue_release(&c);
}
END_TEST

START_TEST(a_hello_tells_everything_but_the_command)
{
	struct buf text = BUF_INIT(4096);
	struct json_writer w = json_writer(&text);
	struct catalogue c;
	struct err err = { 0 };

	ck_assert_int_eq(load(&c,
			     "tools:\n"
			     "- {name: a, description: \"d\\n\", argv: "
			     "[run.sh], idempotent: true, limits: {wall_s: 5},"
			     " env: {MODE: hidden}}\n"
			     "- {name: b, description: e, argv: [/bin/true],"
			     " needs_approval: true, parameters: {type: object"
			     "}}\n",
			     &err),
	    0);
	catalogue_describe(&c, &w);
	ck_assert(slice_is(buf_slice(&text),
	    "[{\"name\":\"a\",\"description\":\"d\\n\",\"parameters\":{"
	    "\"type\":\"object\",\"properties\":{},\"additionalProperties\":"
	    "false},\"idempotent\":true,\"needs_approval\":false,"
	    "\"timeout_ms\":5000},"
	    "{\"name\":\"b\",\"description\":\"e\",\"parameters\":{\"type\":"
	    "\"object\"},\"idempotent\":false,\"needs_approval\":true,"
	    "\"timeout_ms\":30000}]"));
	catalogue_release(&c);
	buf_release(&text);
}
END_TEST

#define TOOL(rest)                                                             \
	"tools:\n- name: a\n  description: d\n  argv: [run.sh]\n" rest "\n"

static const struct {
	const char *text;
	unsigned line;
	const char *says;
} refused[] = {
	{ "", 1, "tools" },
	{ "tools: []\n", 1, "/tools" },
	{ "tool: 1\n", 1, "tool" },
	{ TOOL("  comand: x"), 5, "comand" },
	{ TOOL("  limits: {wall_s: 601}"), 5, "600" },
	{ TOOL("  limits: {wall_s: 0}"), 5, "wall_s" },
	{ TOOL("  limits: {walls: 3}"), 5, "walls" },
	{ TOOL("  idempotent: \"yes\""), 5, "idempotent" },
	{ TOOL("  parameters: {type: array}"), 5, "parameters" },
	{ TOOL("  parameters: {}"), 5, "type" },
	{ TOOL("  parameters: {type: object, required: 1}"), 5, "required" },
	{ TOOL("  env: {MY_API_KEY: x}"), 5, "secret" },
	{ TOOL("  env: {GitHub_token: x}"), 5, "secret" },
	{ TOOL("  env: {client_secret_2: x}"), 5, "secret" },
	{ TOOL("  env: {LD_PRELOAD: x}"), 5, "LD_" },
	{ TOOL("  env: {REEVE_RUN_ID: x}"), 5, "REEVE_" },
	{ TOOL("  env: {PATH: /x}"), 5, "set by the worker" },
	{ TOOL("  env: {home: /x}"), 5, "set by the worker" },
	{ TOOL("  env: {\"A=B\": x}"), 5, "A=B" },
	{ TOOL("  env: {A: 1}"), 5, "string" },
	{ TOOL("- {name: a, description: d, argv: [run.sh]}"), 5, "twice" },
	{ "tools:\n- {name: \"a b\", description: d, argv: [run.sh]}\n", 2,
	    "name" },
	{ "tools:\n- {name: \"\", description: d, argv: [run.sh]}\n", 2,
	    "name" },
	{ "tools:\n- {name: a, description: d, argv: []}\n", 2, "argv" },
	{ "tools:\n- {name: a, description: d}\n", 2, "argv" },
	{ "tools:\n- {name: a, argv: [run.sh]}\n", 2, "description" },
	{ "tools:\n- name: a\n  description: d\n  argv:\n  - nothing.sh\n", 5,
	    "nothing.sh" },
	{ "tools:\n- name: a\n  description: d\n  argv: [/usr/bin/nothing]\n",
	    4, "No such file" },
	{ "tools:\n- name: a\n  description: d\n  argv: [data.txt]\n", 4,
	    "chmod +x" },
	{ "tools:\n- name: a\n  description: d\n  argv: [/etc/passwd]\n", 4,
	    "executable" },
	{ "tools:\n- name: a\n  description: d\n  argv: [/usr/bin]\n", 4,
	    "executable" },
	{ "tools:\n- name: a\n  description: d\n  argv: [../run.sh]\n", 4,
	    "../run.sh" },
	{ "tools:\n- name: a\n  description: d\n  argv: [/proc/self/exe]\n", 4,
	    "cannot be seen" },
	{ "tools:\n- name: &a a\n  description: *a\n  argv: [run.sh]\n", 2,
	    "anchor" },
};

START_TEST(what_would_fail_later_is_refused_with_its_line)
{
	struct catalogue c;
	struct err err = { 0 };
	char start[256];

	ck_assert_int_eq(load(&c, refused[_i].text, &err), -1);
	snprintf(start, sizeof(start), "%s:%u: ", path, refused[_i].line);
	ck_assert_msg(strncmp(err.text, start, strlen(start)) == 0,
	    "\"%s\" does not start with \"%s\"", err.text, start);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL,
	    "\"%s\" is not in \"%s\"", refused[_i].says, err.text);
}
END_TEST

START_TEST(a_program_of_the_folder_may_be_named_by_its_whole_path)
{
	char text[256];
	struct catalogue c;
	struct err err = { 0 };

	snprintf(text, sizeof(text),
	    "tools:\n- {name: a, description: d, argv: [%s/run.sh, "
	    "%s/../x, ../data.txt]}\n",
	    folder, folder);
	ck_assert_msg(load(&c, text, &err) == 0, "%s", err.text);
	ck_assert_str_eq(c.tools[0].argv[0].text, "run.sh");
	ck_assert(c.tools[0].argv[0].in_folder);
	ck_assert(!c.tools[0].argv[1].in_folder);
	ck_assert(!c.tools[0].argv[2].in_folder);
	catalogue_release(&c);
}
END_TEST

START_TEST(a_command_that_no_box_would_take_is_refused)
{
	struct buf text = BUF_INIT(200000);
	struct catalogue c;
	struct err err = { 0 };

	for (int words = 11; words <= 12; words++) {
		buf_clear(&text);
		buf_puts(&text, "tools:\n- name: a\n  description: d\n  argv:\n"
				"  - run.sh\n");
		for (int i = 0; i < words; i++)
			buf_printf(&text, "  - %04095d\n", i);
		buf_putc(&text, '\0');
		if (words == 11)
			ck_assert_msg(
			    load(&c, text.ptr, &err) == 0, "%s", err.text);
		else
			ck_assert_int_eq(load(&c, text.ptr, &err), -1);
		if (words == 11)
			catalogue_release(&c);
	}
	ck_assert_ptr_nonnull(strstr(err.text, "more than 49152 bytes"));
	buf_release(&text);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
	struct catalogue c;
	struct err err = { 0 };

	ck_assert_int_eq(catalogue_load(&c, "/tmp/no/tools.yaml", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/tmp/no/tools.yaml"));
	ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tool/catalogue");
	TCase *read = tcase_create("read");
	TCase *refuse = tcase_create("refuse");

	tcase_add_checked_fixture(read, make_folder, NULL);
	tcase_add_test(read, a_tool_is_read_with_all_it_says);
	tcase_add_test(read, what_is_not_said_has_defaults);
	tcase_add_test(read, a_hello_tells_everything_but_the_command);
	tcase_add_test(
	    read, a_program_of_the_folder_may_be_named_by_its_whole_path);
	suite_add_tcase(suite, read);
	tcase_add_checked_fixture(refuse, make_folder, NULL);
	tcase_add_loop_test(refuse,
	    what_would_fail_later_is_refused_with_its_line, 0, COUNT(refused));
	tcase_add_test(refuse, a_command_that_no_box_would_take_is_refused);
	tcase_add_test(refuse, a_missing_file_is_named);
	suite_add_tcase(suite, refuse);
	return run_suite(suite);
}
