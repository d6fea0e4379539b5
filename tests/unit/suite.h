/*
 * What every test program ends in.
 */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include "tests/unit/temp.h"

/* Takes the suite, runs it, gives what main returns: 1 after failures. */
static inline int
run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	temp_open();
	srunner_run_all(runner, CK_NORMAL);
	temp_close();
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

#endif
