/*
 * The main of a test program that runs its suite as it was started and, if that
 * was root, once more as an unprivileged user.
 */
#ifndef TESTS_TOOL_TWICE_H
#define TESTS_TOOL_TWICE_H

#include <check.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "tests/unit/suite.h"

#define TWICE_NOBODY 65534u

/* As we are; as root also as nobody, in a copy of this process. */
static inline int
twice_main(Suite *(*make)(void))
{
	int failed = run_suite(make()), status = 0;
	pid_t pid;

	if (geteuid() != 0)
		return failed;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) == -1 ||
		    setresgid(TWICE_NOBODY, TWICE_NOBODY, TWICE_NOBODY) == -1 ||
		    setresuid(TWICE_NOBODY, TWICE_NOBODY, TWICE_NOBODY) == -1)
			_exit(EXIT_FAILURE);
		printf("as nobody: ");
		failed = run_suite(make());
		fflush(NULL);
		_exit(failed);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		failed = 1;
	return failed;
}

#endif
