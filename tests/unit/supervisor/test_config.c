/*
 * Promises about reeve.yaml: what is read, what is refused, and in which words.
 */
#include <check.h>

#include "base/config.h"
#include "supervisor/config.h"
#include "tests/unit/suite.h"

static char path[TEMP_PATH];

static int
read_text(struct config *config, const char *text, struct err *err)
{
	temp_file_of(text, path);
	return config_read(config, path, err);
}

START_TEST(reads_every_key)
{
	struct config c;
	struct err err = { 0 };

	ck_assert_msg(
	    read_text(&c,
		"run_dir: /run/x\n"
		"database: host=/x dbname=reeve\n"
		"user: u\nwork_group: g\nstop_s: 3\n"
		"log: {format: json, level: warn}\n"
		"limits: {active_runs: 7, agents: {a: 2}}\n"
		"workers:\n"
		"  - {name: m, program: /p, config: /c, slots: 5, env: [A, B]}\n"
		"  - {name: t, program: /q, config: /d, user: box}\n",
		&err) == 0,
	    "%s", err.text);
	ck_assert_str_eq(c.front_endpoint, "ipc:///run/x/front.sock");
	ck_assert_str_eq(c.work_endpoint, "ipc:///run/x/work.sock");
	ck_assert_str_eq(c.user, "u");
	ck_assert_str_eq(c.work_group, "g");
	ck_assert_uint_eq(c.stop_ms, 3000);
	ck_assert(c.log_json);
	ck_assert_int_eq(c.log_level, LOG_WARN);
	ck_assert_uint_eq(c.active_runs, 7);
	ck_assert_uint_eq(config_agent_limit(&c, "a"), 2);
	ck_assert_uint_eq(config_agent_limit(&c, "b"), 0);
	ck_assert_uint_eq(c.worker_count, 2);
	ck_assert_uint_eq(c.workers[0].env_count, 2);
	ck_assert_str_eq(c.workers[0].env[1], "B");
	ck_assert_str_eq(c.workers[1].user, "box");
	ck_assert_uint_eq(c.workers[1].slots, 0);
	config_release(&c);
}
END_TEST

#define HEAD "run_dir: /r\ndatabase: d\n"

static const struct {
	const char *text, *line, *says;
} refused[] = {
	{ "database: d\n", ":1:", "run_dir" },
	{ HEAD "nope: 1\n", ":3:", "nope" },
	{ HEAD "stop_s: 601\n", ":3:", "600" },
	{ HEAD "log: {level: loud}\n", ":3:", "debug" },
	{ HEAD "limits: {active_runs: 0}\n", ":3:", "active_runs" },
	{ HEAD "workers:\n  - {name: a, program: p}\n", ":4:", "config" },
	{ HEAD "workers:\n  - {name: a b, program: p, config: c}\n",
	    ":4:", "name" },
	{ HEAD "workers:\n  - {name: a, program: p, config: c}\n"
	       "  - {name: a, program: p, config: c}\n",
	    ":5:", "twice" },
	{ HEAD "run_dir: /s\n", ":3:", "run_dir" },
	{ "database: d\nrun_dir: "
	  "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
	    ":2:", "107" },
};

START_TEST(refuses_with_file_line_and_what_is_allowed)
{
	struct config c;
	struct err err = { 0 };

	ck_assert_int_eq(read_text(&c, refused[_i].text, &err), -1);
	ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
	ck_assert_msg(
	    strstr(err.text, refused[_i].line) != NULL, "%s", err.text);
	ck_assert_msg(
	    strstr(err.text, refused[_i].says) != NULL, "%s", err.text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("supervisor/config");
	TCase *tests = tcase_create("config");

	tcase_add_test(tests, reads_every_key);
	tcase_add_loop_test(tests, refuses_with_file_line_and_what_is_allowed,
	    0, COUNT(refused));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
