/*
 * Promises of workers/tool/people.c: one box by hand, its outcome on stdout as
 * one JSON object, and the exit code that a shell expects.
 */
#include "workers/tool/people.h"

#include <signal.h>

#include "base/json.h"
#include "tests/unit/cli/capture.h"
#include "tests/unit/tool/kit.h"

static struct capture captured;

/* Runs a script; the outcome is in captured.out. */
static int
run_by_hand(const char *script, const struct box_limits *limits)
{
	char bash[] = "bash", option[] = "-c", text[256];
	char *argv[] = { bash, option, text, NULL };
	struct tool tool = { 0 };
	struct err err = { 0 };
	struct kit kit;
	int code;

	snprintf(text, sizeof(text), "%s", script);
	kit_start(&kit);
	if (limits != NULL)
		tool.limits = *limits;
	capture_begin(&captured);
	code = people_run_box(
	    kit.sandbox, limits == NULL ? NULL : &tool, argv, &err);
	capture_end(&captured);
	ck_assert_msg(code != -1, "%s", err.text);
	ck_assert_str_eq(captured.err, "");
	ck_assert(kit_is_empty(&kit));
	kit_end(&kit);
	return code;
}

/* The object on the one line that was printed. */
static struct json
outcome(void)
{
	struct json value;
	struct err err = { 0 };
	size_t len = strlen(captured.out);

	ck_assert_uint_gt(len, 0);
	ck_assert_ptr_eq(strchr(captured.out, '\n'), captured.out + len - 1);
	ck_assert_msg(json_parse(slice_of(captured.out, len - 1), &value, NULL,
			  &err) == 0,
	    "%s", err.text);
	return value;
}

static const struct {
	const char *script;
	int exit;
	const char *outcome, *code, *out, *err, *text;
} ends[] = {
	{ "echo one; echo two >&2", 0, "ok", "0", "\"one\\n\"", "\"two\\n\"",
	    "\"one\\n\"" },
	{ "echo one; exit 3", 3, "exit", "3", "\"one\\n\"", "\"\"",
	    "\"one\\nexit code 3\"" },
	{ "kill -KILL $$", 137, "signal", "9", "\"\"", "\"\"",
	    "\"killed by SIGKILL\"" },
	{ "exec >&- 2>&-; exit 4", 4, "exit", "4", "\"\"", "\"\"",
	    "\"exit code 4\"" },
	{ "sleep 100 & echo one", 0, "ok", "0", "\"one\\n\"", "\"\"",
	    "\"one\\n\"" },
};

START_TEST(tells_how_a_command_ended)
{
	struct json told;

	ck_assert_int_eq(run_by_hand(ends[_i].script, NULL), ends[_i].exit);
	told = outcome();
	ck_assert(json_is(json_get(told, "outcome"), ends[_i].outcome));
	ck_assert(slice_is(json_get(told, "code").raw, ends[_i].code));
	ck_assert(slice_is(json_get(told, "stdout").raw, ends[_i].out));
	ck_assert(slice_is(json_get(told, "stderr").raw, ends[_i].err));
	ck_assert(slice_is(json_get(told, "text").raw, ends[_i].text));
	ck_assert_int_eq(json_get(told, "wall_ms").type, JSON_NUMBER);
	ck_assert_int_eq(json_get(told, "cpu_ms").type, JSON_NUMBER);
	ck_assert(json_is(json_get(told, "sandbox"), "no-cgroup"));
}
END_TEST

START_TEST(ends_a_command_at_the_limits_of_its_tool)
{
	struct box_limits limits = BOX_LIMITS_DEFAULT;

	limits.wall_s = 1;
	ck_assert_int_eq(run_by_hand("echo so far; sleep 100", &limits), 124);
	ck_assert(json_is(json_get(outcome(), "outcome"), "timeout"));
	ck_assert(slice_is(json_get(outcome(), "stdout").raw, "\"so far\\n\""));
	limits.wall_s = 30;
	limits.output_mb = 1;
	ck_assert_int_eq(
	    run_by_hand(
		"trap '' TERM; while :; do echo $RANDOM; done >&2", &limits),
	    EXIT_FAILURE);
}
END_TEST

START_TEST(stops_a_command_when_it_is_interrupted)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGINT);
	ck_assert_int_eq(run_by_hand("sleep 100", NULL), 130);
	ck_assert(json_is(json_get(outcome(), "outcome"), "cancelled"));
	ck_assert_int_eq(sigwaitinfo(&set, NULL), SIGINT); /* it was left */
}
END_TEST

START_TEST(says_when_there_is_no_such_command)
{
	char name[] = "no-such-command";
	char *argv[] = { name, NULL };
	struct err err = { 0 };
	struct kit kit;

	kit_start(&kit);
	capture_begin(&captured);
	ck_assert_int_eq(people_run_box(kit.sandbox, NULL, argv, &err), 127);
	capture_end(&captured);
	ck_assert(json_is(json_get(outcome(), "outcome"), "not_found"));
	kit_end(&kit);
}
END_TEST

static Suite *
make_suite(void)
{
	Suite *suite = suite_create("tool/people");
	TCase *hand = tcase_create("by hand");

	tcase_set_timeout(hand, KIT_TIMEOUT_S);
	tcase_add_loop_test(hand, tells_how_a_command_ended, 0, COUNT(ends));
	tcase_add_test(hand, ends_a_command_at_the_limits_of_its_tool);
	tcase_add_test(hand, stops_a_command_when_it_is_interrupted);
	tcase_add_test(hand, says_when_there_is_no_such_command);
	suite_add_tcase(suite, hand);
	return suite;
}

int
main(void)
{
	return twice_main(make_suite);
}
