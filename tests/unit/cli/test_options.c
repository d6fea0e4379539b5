/* Promises of cli/options.c: what a command line means, and what is refused. */
#include "cli/options.h"

#include <check.h>

#include "tests/unit/suite.h"

#define ARGV_MAX 80

/* Splits a line at blanks into argv. */
static int
parse(const char *line, struct options *options, struct err *err)
{
	static char words[4096], program[] = "reeve";
	char *argv[ARGV_MAX] = { program }, *p = words;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	while (*p != '\0' && argc < ARGV_MAX - 1) {
		argv[argc++] = p;
		p += strcspn(p, " ");
		if (*p == ' ')
			*p++ = '\0';
	}
	return options_parse(options, argc, argv, err);
}

START_TEST(takes_options_before_and_behind_the_words)
{
	static const char *const lines[] = {
		"run a b --json --priority -5 --session s",
		"--json run --priority=-5 a --session=s b",
		"--session s --priority -5 --json run a b",
		"run --json --priority -5 --session s -- a b",
	};
	struct options o;

	ck_assert_int_eq(parse(lines[_i], &o, NULL), 0);
	ck_assert_uint_eq(o.word_count, 3);
	ck_assert_str_eq(o.words[0], "run");
	ck_assert_str_eq(o.words[1], "a");
	ck_assert_str_eq(o.words[2], "b");
	ck_assert(o.json);
	ck_assert(!o.output);
	ck_assert_int_eq(o.priority, -5);
	ck_assert_str_eq(o.session, "s");
	ck_assert_ptr_null(o.key);
	ck_assert_uint_eq(o.given, OPT_json | OPT_priority | OPT_session);
}
END_TEST

START_TEST(takes_a_lone_dash_and_what_follows_two_as_words)
{
	struct options o;

	ck_assert_int_eq(parse("run a - -- --json -x", &o, NULL), 0);
	ck_assert_uint_eq(o.word_count, 5);
	ck_assert_str_eq(o.words[2], "-");
	ck_assert_str_eq(o.words[3], "--json");
	ck_assert_str_eq(o.words[4], "-x");
	ck_assert(!o.json);
}
END_TEST

START_TEST(knows_two_options_by_one_letter)
{
	struct options o;

	ck_assert_int_eq(parse("-V", &o, NULL), 0);
	ck_assert(o.version);
	ck_assert(!o.help);
	ck_assert_int_eq(parse("-h", &o, NULL), 0);
	ck_assert(o.help);
}
END_TEST

START_TEST(takes_the_next_word_as_value_whatever_it_looks_like)
{
	struct options o;

	ck_assert_int_eq(parse("--key --json --reason -- x", &o, NULL), 0);
	ck_assert_str_eq(o.key, "--json");
	ck_assert_str_eq(o.reason, "--");
	ck_assert_uint_eq(o.word_count, 1);
}
END_TEST

START_TEST(reads_times_from_now_and_by_the_calendar)
{
	struct options o;

	ck_assert_int_eq(parse("--at +10m", &o, NULL), 0);
	ck_assert(o.at.relative);
	ck_assert_uint_eq(o.at.ms, 600000);
	ck_assert_int_eq(parse("--at 2026-01-02T03:04:05Z", &o, NULL), 0);
	ck_assert(!o.at.relative);
	ck_assert_uint_eq(o.at.ms, 1767323045000);
}
END_TEST

START_TEST(gathers_metadata)
{
	struct options o;

	ck_assert_int_eq(
	    parse("--metadata a=1 --metadata=b= --metadata c=x=y", &o, NULL),
	    0);
	ck_assert_uint_eq(o.metadata.count, 3);
	ck_assert_str_eq(o.metadata.list[0], "a=1");
	ck_assert_str_eq(o.metadata.list[1], "b=");
	ck_assert_str_eq(o.metadata.list[2], "c=x=y");
}
END_TEST

static const struct {
	const char *line;
	const char *text; /* what the message must hold */
} refused[] = {
	{ "--nothing", "--nothing" },
	{ "-x", "-x" },
	{ "-json", "-json" },
	{ "--jso", "--jso" },
	{ "--jsons", "--jsons" },
	{ "--json=1", "takes no value" },
	{ "--json --json", "twice" },
	{ "--key a --key b", "twice" },
	{ "--key", "lacks its value" },
	{ "--key=", "empty" },
	{ "--priority 101", "-100 to 100" },
	{ "--priority -101", "-100 to 100" },
	{ "--priority 1x", "whole number" },
	{ "--priority=", "whole number" },
	{ "--priority -", "whole number" },
	{ "--priority 99999999999999999999", "whole number" },
	{ "--limit 0", "1 to 1000" },
	{ "--from -1", "0 to" },
	{ "--at soon", "+10m" },
	{ "--at +soon", "+10m" },
	{ "--metadata x", "K=V" },
	{ "--metadata =x", "K=V" },
	{ "--metadata a=1 --metadata a=2", "twice" },
	{ "1 2 3 4 5 6 7 8 9", "quotes" },
};

START_TEST(refuses_and_says_why)
{
	struct options o = { .limit = 7 };
	struct err err = { 0 };

	ck_assert_int_eq(parse(refused[_i].line, &o, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_msg(
	    strstr(err.text, refused[_i].text) != NULL, "%s", err.text);
	ck_assert_int_eq(o.limit, 7);
}
END_TEST

START_TEST(refuses_a_text_past_its_limit)
{
	char line[LIMIT_KEY + 16];
	struct options o;
	struct err err = { 0 };

	snprintf(line, sizeof(line), "--key=%0*d", (int)LIMIT_KEY, 7);
	ck_assert_int_eq(parse(line, &o, &err), 0);
	snprintf(line, sizeof(line), "--key=%0*d", (int)LIMIT_KEY + 1, 7);
	ck_assert_int_eq(parse(line, &o, &err), -1);
}
END_TEST

START_TEST(refuses_more_pairs_than_there_is_room_for)
{
	char line[4096] = "";
	struct options o;
	struct err err = { 0 };
	size_t len = 0;

	for (unsigned i = 0; i < OPTIONS_PAIRS_MAX; i++)
		len += (size_t)snprintf(
		    line + len, sizeof(line) - len, "--metadata=k%u=v ", i);
	ck_assert_int_eq(parse(line, &o, &err), 0);
	snprintf(line + len, sizeof(line) - len, "--metadata=more=v");
	ck_assert_int_eq(parse(line, &o, &err), -1);
}
END_TEST

START_TEST(names_the_option_that_a_command_does_not_take)
{
	struct options o;
	struct err err = { 0 };

	ck_assert_int_eq(parse("list --key k --json", &o, NULL), 0);
	ck_assert_int_eq(
	    options_allow(&o, "list", OPT_json | OPT_key, &err), 0);
	ck_assert_int_eq(options_allow(&o, "list", OPT_json, &err), -1);
	ck_assert_str_eq(err.text, "list takes no --key");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/options");
	TCase *reads = tcase_create("reads"),
	      *refuses = tcase_create("refuses");

	tcase_add_loop_test(
	    reads, takes_options_before_and_behind_the_words, 0, 4);
	tcase_add_test(reads, takes_a_lone_dash_and_what_follows_two_as_words);
	tcase_add_test(reads, knows_two_options_by_one_letter);
	tcase_add_test(
	    reads, takes_the_next_word_as_value_whatever_it_looks_like);
	tcase_add_test(reads, reads_times_from_now_and_by_the_calendar);
	tcase_add_test(reads, gathers_metadata);
	tcase_add_loop_test(refuses, refuses_and_says_why, 0, COUNT(refused));
	tcase_add_test(refuses, refuses_a_text_past_its_limit);
	tcase_add_test(refuses, refuses_more_pairs_than_there_is_room_for);
	tcase_add_test(refuses, names_the_option_that_a_command_does_not_take);
	suite_add_tcase(suite, reads);
	suite_add_tcase(suite, refuses);
	return run_suite(suite);
}
