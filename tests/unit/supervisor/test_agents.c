/*
 * Promises about the cache of agents.
 */
#include <check.h>

#include "supervisor/agents.h"
#include "tests/unit/suite.h"

#define ONE "{\"name\":\"a\",\"model\":\"m\",\"max_active\":3}"

START_TEST(a_version_is_found_for_ever)
{
	struct agents agents = { 0 };
	struct err err = { 0 };
	struct agent_entry *e =
	    agents_add(&agents, SLICE("a"), 4, SLICE(ONE), false, 1000, &err);

	ck_assert_ptr_nonnull(e);
	ck_assert_ptr_eq(agents_find(&agents, SLICE("a"), 4, 999999), e);
	ck_assert_ptr_null(agents_find(&agents, SLICE("a"), 3, 1000));
	ck_assert_ptr_null(agents_find(&agents, SLICE("b"), 4, 1000));
	ck_assert_ptr_null(agents_find(&agents, SLICE("a"), 0, 1000));
	agents_release(&agents);
}
END_TEST

START_TEST(the_newest_version_is_believed_for_a_while)
{
	struct agents agents = { 0 };
	struct err err = { 0 };
	struct agent_entry *e =
	    agents_add(&agents, SLICE("a"), 4, SLICE(ONE), true, 1000, &err);

	ck_assert_ptr_eq(agents_find(&agents, SLICE("a"), 0, 1000), e);
	ck_assert_ptr_eq(
	    agents_find(&agents, SLICE("a"), 0, 1000 + AGENTS_FRESH_MS), e);
	ck_assert_ptr_null(
	    agents_find(&agents, SLICE("a"), 0, 1001 + AGENTS_FRESH_MS));
	ck_assert_uint_eq(agents_name(&agents, SLICE("a"))->limit, 3);
	agents_release(&agents);
}
END_TEST

START_TEST(a_bad_definition_is_refused_and_not_kept)
{
	struct agents agents = { 0 };
	struct err err = { 0 };

	ck_assert_ptr_null(agents_add(
	    &agents, SLICE("a"), 1, SLICE("{\"name\":\"a\"}"), true, 1, &err));
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_ptr_null(agents_find(&agents, SLICE("a"), 1, 1));
	agents_release(&agents);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("supervisor/agents");
	TCase *tests = tcase_create("agents");

	tcase_add_test(tests, a_version_is_found_for_ever);
	tcase_add_test(tests, the_newest_version_is_believed_for_a_while);
	tcase_add_test(tests, a_bad_definition_is_refused_and_not_kept);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
