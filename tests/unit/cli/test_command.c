/*
 * Promises of cli/command.c: every command can be found, explained and typed
 * as its help says, and docs/commands.md is what the tables say.
 */
#include "cli/command.h"

#include <check.h>

#include "tests/unit/suite.h"

#define DOCUMENT "docs/commands.md"

START_TEST(finds_every_command_by_its_name_alone)
{
	const struct command *command;
	size_t count = 0;

	for (; (command = command_at(count)) != NULL; count++) {
		ck_assert_ptr_eq(command_find(command->name), command);
		ck_assert(command->run != NULL);
	}
	ck_assert_uint_eq(count, 12);
	ck_assert_ptr_null(command_find("lis"));
	ck_assert_ptr_null(command_find("lists"));
	ck_assert_ptr_null(command_find(""));
}
END_TEST

START_TEST(explains_each_command_with_an_example)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		struct buf out = BUF_INIT(PRINT_MAX);
		char call[64];

		snprintf(call, sizeof(call), "reeve %s", command->name);
		ck_assert_ptr_nonnull(strstr(command->example, call));
		ck_assert(command_options(command) & OPT_help);
		command_print(command, &out, (struct style){ 0 });
		buf_putc(&out, '\0');
		ck_assert_ptr_nonnull(strstr(out.ptr, command->summary));
		for (size_t o = 0; o < OPTION_COUNT; o++) {
			bool is_there;

			snprintf(call, sizeof(call), "\n  --%s ",
			    option_texts[o].name);
			is_there = strstr(out.ptr, call) != NULL;
			ck_assert_msg(
			    is_there == (command_options(command) >> o & 1),
			    "%s %s", command->name, call);
		}
		buf_release(&out);
	}
}
END_TEST

START_TEST(keeps_every_line_of_help_within_a_terminal)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		struct buf out = BUF_INIT(PRINT_MAX);

		command_print(command, &out, (struct style){ 0 });
		command_print_all(&out, (struct style){ 0 });
		buf_putc(&out, '\0');
		for (const char *p = out.ptr; *p != '\0';) {
			size_t len = strcspn(p, "\n"), columns = 0;

			for (size_t c = 0; c < len; c++)
				columns += (p[c] & 0xc0) != 0x80;
			ck_assert_msg(columns <= 80, "%.*s", (int)len, p);
			p += len + (p[len] == '\n');
		}
		buf_release(&out);
	}
}
END_TEST

START_TEST(is_what_the_document_says)
{
	struct buf printed = BUF_INIT(PRINT_MAX), there = BUF_INIT(PRINT_MAX);
	static const char here[] = "tests/unit/cli/test_command.c";
	char path[4096];

	snprintf(path, sizeof(path), "%.*s" DOCUMENT,
	    (int)(sizeof(__FILE__) - sizeof(here)), __FILE__);
	ck_assert_int_eq(buf_read_file(&there, path, NULL), 0);
	command_print_markdown(&printed);
	ck_assert_msg(slice_eq(buf_slice(&printed), buf_slice(&there)),
	    "print it anew: build/reeve help --markdown >" DOCUMENT);
	buf_release(&printed);
	buf_release(&there);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/command");
	TCase *table = tcase_create("the table"), *help = tcase_create("help");

	tcase_add_test(table, finds_every_command_by_its_name_alone);
	tcase_add_test(help, explains_each_command_with_an_example);
	tcase_add_test(help, keeps_every_line_of_help_within_a_terminal);
	tcase_add_test(help, is_what_the_document_says);
	suite_add_tcase(suite, table);
	suite_add_tcase(suite, help);
	return run_suite(suite);
}
