/*
 * Promises of cli/cli.c: errors end in the code that fits and say what to do;
 * commands to paste survive a shell.
 */
#include "base/alloc.h"
#include "cli/cli.h"
#include "tests/unit/cli/capture.h"
#include "tests/unit/suite.h"

static const struct {
	enum err_kind kind;
	int code;
} codes[] = {
	{ ERR_SYSTEM, CLI_FAILED },
	{ ERR_INPUT, CLI_FAILED },
	{ ERR_LIMIT, CLI_FAILED },
	{ ERR_MISSING, CLI_FAILED },
	{ ERR_CONFLICT, CLI_FAILED },
	{ ERR_BUSY, CLI_UNREACHABLE },
	{ ERR_PEER, CLI_UNREACHABLE },
	{ ERR_DB_DATA, CLI_FAILED },
	{ ERR_DB_RETRY, CLI_FAILED },
	{ ERR_DB_ENV, CLI_UNREACHABLE },
	{ ERR_DB_SCHEMA, CLI_FAILED },
};

static struct capture captured;

static int
end_with(const struct cli *cli, enum err_kind kind, const char *text)
{
	struct err err = { 0 };
	int code;

	err_set(&err, kind, "%s", text);
	capture_begin(&captured);
	code = cli_fail(cli, &err);
	capture_end(&captured);
	return code;
}

START_TEST(ends_with_the_code_that_fits_the_error)
{
	struct cli cli = { .program = "reeve" };

	ck_assert_int_eq(end_with(&cli, codes[_i].kind, "why"), codes[_i].code);
	ck_assert_str_eq(captured.err, "reeve: why\n");
	ck_assert_str_eq(captured.out, "");
}
END_TEST

START_TEST(says_in_one_line_what_was_tried_and_what_to_do)
{
	struct cli cli = {
		.program = "reeve",
		.path = "/x",
		.source = "from --socket",
	};

	ck_assert_int_eq(
	    end_with(&cli, ERR_PEER, "cannot reach /x: gone"), CLI_UNREACHABLE);
	ck_assert_ptr_nonnull(
	    strstr(captured.err, "cannot reach /x: gone (from --socket)"));
	ck_assert_ptr_nonnull(strstr(captured.err, "start the service"));
	ck_assert_ptr_eq(strchr(captured.err, '\n'),
	    captured.err + strlen(captured.err) - 1);
}
END_TEST

START_TEST(says_who_may_connect_instead_of_what_to_start)
{
	struct cli cli = { .program = "reeve", .path = "/x", .source = "y" };
	struct err err = { .kind = ERR_PEER, .code = EACCES, .text = "no" };

	capture_begin(&captured);
	ck_assert_int_eq(cli_fail(&cli, &err), CLI_UNREACHABLE);
	capture_end(&captured);
	ck_assert_ptr_nonnull(strstr(captured.err, "only root and the user"));
	ck_assert_ptr_null(strstr(captured.err, "start the service"));
}
END_TEST

START_TEST(prints_no_control_character_and_no_second_line)
{
	struct cli cli = { .program = "reeve" };

	end_with(&cli, ERR_INPUT, "reeve: a\033[31m\nb\rc");
	ck_assert_str_eq(captured.err, "reeve: a[31m bc\n");
}
END_TEST

START_TEST(points_to_help_after_wrong_usage)
{
	struct cli cli = { .program = "./build/reeve" };
	struct err err = { 0 };

	err_set(&err, ERR_INPUT, "no");
	capture_begin(&captured);
	ck_assert_int_eq(cli_usage(&cli, "list", &err), CLI_USAGE);
	ck_assert_int_eq(cli_usage(&cli, NULL, &err), CLI_USAGE);
	capture_end(&captured);
	ck_assert_str_eq(captured.err,
	    "reeve: no; see: ./build/reeve help list\n"
	    "reeve: no; see: ./build/reeve help\n");
}
END_TEST

static const struct {
	const char *program, *socket, *command;
} programs[] = {
	{ "reeve", NULL, "reeve" },
	{ "./build/reeve", "/run/x.sock",
	    "./build/reeve --socket /run/x.sock" },
	{ "/a b/reeve", NULL, "'/a b/reeve'" },
	{ "reeve", "/a'b", "reeve --socket '/a'\\''b'" },
	{ "reeve", "/$(x)", "reeve --socket '/$(x)'" },
	{ "", NULL, "''" },
};

START_TEST(quotes_the_program_for_a_shell)
{
	struct cli cli = { .program = programs[_i].program };
	char *text;

	cli.options.socket = programs[_i].socket;
	text = cli_program(&cli);
	ck_assert_str_eq(text, programs[_i].command);
	mem_free(text);
}
END_TEST

START_TEST(takes_only_whole_ids)
{
	static const char *const words[] = { "",
		"01234567-89ab-7def-8123-456789abcde",
		"01234567-89ab-7def-8123-456789abcdef0",
		"0123456789ab7def8123456789abcdef", "latest" };
	const char *word = "01234567-89AB-7def-8123-456789abcdef";
	struct cli cli = { .args = &word, .arg_count = 1 };
	struct uuid id;
	struct err err = { 0 };

	ck_assert_int_eq(cli_run_id(&cli, 0, &id, &err), 0);
	for (size_t i = 0; i < COUNT(words); i++) {
		word = words[i];
		ck_assert_int_eq(cli_run_id(&cli, 0, &id, &err), -1);
		ck_assert_int_eq(err.kind, ERR_INPUT);
		ck_assert_ptr_nonnull(strstr(err.text, "36 characters"));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/cli");
	TCase *error = tcase_create("errors"), *word = tcase_create("words");

	tcase_add_loop_test(
	    error, ends_with_the_code_that_fits_the_error, 0, COUNT(codes));
	tcase_add_test(error, says_in_one_line_what_was_tried_and_what_to_do);
	tcase_add_test(error, says_who_may_connect_instead_of_what_to_start);
	tcase_add_test(error, prints_no_control_character_and_no_second_line);
	tcase_add_test(error, points_to_help_after_wrong_usage);
	tcase_add_loop_test(
	    word, quotes_the_program_for_a_shell, 0, COUNT(programs));
	tcase_add_test(word, takes_only_whole_ids);
	suite_add_tcase(suite, error);
	suite_add_tcase(suite, word);
	return run_suite(suite);
}
