/*
 * The end of a process whose rules broke, and the macros of base.h and list.h.
 */
#include "base/base.h"

#include <check.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/list.h"
#include "tests/unit/base/apart.h"
#include "tests/unit/suite.h"

static void
break_a_rule(void)
{
	BUG("run state %d", 7);
}

static void
break_it_at_length(void)
{
	static char long_text[5000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	BUG("%s", long_text);
}

START_TEST(a_bug_says_where_and_aborts)
{
	struct apart apart;

	apart_run(&apart, break_a_rule);
	ck_assert(apart_aborted(&apart));
	ck_assert_uint_eq(apart.writes, 1);
	ck_assert_ptr_nonnull(strstr(apart.text, "test_base.c:"));
	ck_assert_ptr_nonnull(strstr(apart.text, "run state 7\n"));
}
END_TEST

#define NO_CORE 7

/* At the abort: would the kernel write a core? */
static void
look_at_core(int signal)
{
	struct rlimit core;
	int limit, dumpable;

	(void)signal;
	/* NOLINTBEGIN(bugprone-signal-handler): both only enter the kernel. */
	limit = getrlimit(RLIMIT_CORE, &core);
	dumpable = prctl(PR_GET_DUMPABLE);
	/* NOLINTEND(bugprone-signal-handler) */
	_exit(limit == 0 && core.rlim_cur == 0 && dumpable == 0 ? NO_CORE : 1);
}

static void
break_a_rule_with_core(void)
{
	signal(SIGABRT, look_at_core);
	(void)prctl(PR_SET_DUMPABLE, 1);
	break_a_rule();
}

START_TEST(a_bug_leaves_no_core)
{
	struct apart apart;

	apart_run(&apart, break_a_rule_with_core);
	ck_assert(WIFEXITED(apart.status));
	ck_assert_int_eq(WEXITSTATUS(apart.status), NO_CORE);
}
END_TEST

START_TEST(a_long_bug_is_one_line)
{
	struct apart apart;

	apart_run(&apart, break_it_at_length);
	ck_assert(apart_aborted(&apart));
	ck_assert_uint_eq(apart.writes, 1);
	ck_assert_ptr_eq(strchr(apart.text, '\n'), apart.text + apart.len - 1);
}
END_TEST

struct thing {
	int number;
	struct list link;
};

START_TEST(a_container_is_found_from_its_member)
{
	struct thing thing = { .number = 3 };

	ck_assert_ptr_eq(CONTAINER_OF(&thing.link, struct thing, link), &thing);
}
END_TEST

START_TEST(a_list_keeps_its_order)
{
	struct thing things[3] = { { .number = 0 }, { .number = 1 },
		{ .number = 2 } };
	struct thing *thing;
	struct list head;
	int seen = 0;

	list_init(&head);
	ck_assert(list_is_empty(&head));
	ck_assert_ptr_null(LIST_FIRST(&head, struct thing, link));
	for (size_t i = 0; i < COUNT(things); i++)
		list_append(&head, &things[i].link);
	ck_assert_ptr_eq(LIST_FIRST(&head, struct thing, link), &things[0]);
	LIST_EACH (thing, next, &head, struct thing, link)
		ck_assert_int_eq(thing->number, seen++);
	ck_assert_int_eq(seen, 3);
}
END_TEST

START_TEST(a_member_may_leave_the_list_inside_a_walk)
{
	struct thing things[4] = { { .number = 0 }, { .number = 1 },
		{ .number = 2 }, { .number = 3 } };
	struct thing *thing;
	struct list head;
	int seen = 0;

	list_init(&head);
	for (size_t i = 0; i < COUNT(things); i++)
		list_append(&head, &things[i].link);
	LIST_EACH (thing, next, &head, struct thing, link) {
		ck_assert_int_eq(thing->number, seen++);
		list_remove(&thing->link);
		ck_assert(!list_is_linked(&thing->link));
	}
	ck_assert_int_eq(seen, 4);
	ck_assert(list_is_empty(&head));
}
END_TEST

START_TEST(removing_a_link_of_no_list_is_fine)
{
	struct thing thing = { 0 };

	list_remove(&thing.link);
	ck_assert(!list_is_linked(&thing.link));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base");
	TCase *bug = tcase_create("bug");
	TCase *list = tcase_create("list");

	tcase_add_test(bug, a_bug_says_where_and_aborts);
	tcase_add_test(bug, a_bug_leaves_no_core);
	tcase_add_test(bug, a_long_bug_is_one_line);
	suite_add_tcase(suite, bug);
	tcase_add_test(list, a_container_is_found_from_its_member);
	tcase_add_test(list, a_list_keeps_its_order);
	tcase_add_test(list, a_member_may_leave_the_list_inside_a_walk);
	tcase_add_test(list, removing_a_link_of_no_list_is_fine);
	suite_add_tcase(suite, list);
	return run_suite(suite);
}
