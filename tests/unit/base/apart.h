/*
 * Runs a function in a child whose stderr is a socket that keeps each write(2)
 * apart: for code that ends the process, and for log lines. The child's end is
 * its _exit, so that nothing of the parent is run twice.
 */
#ifndef TESTS_UNIT_BASE_APART_H
#define TESTS_UNIT_BASE_APART_H

#include <check.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

struct apart {
	int status;     /* as waitpid gives it */
	size_t writes;  /* write(2) calls on stderr */
	size_t longest; /* bytes of the longest one */
	size_t len;
	char text[64 * 1024]; /* all that was written, NUL-terminated */
};

static inline void
apart_run(struct apart *apart, void (*run)(void))
{
	int pair[2];
	ssize_t got;
	pid_t pid;

	*apart = (struct apart){ 0 };
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	fflush(NULL);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		dup2(pair[1], STDERR_FILENO);
		run();
		_exit(0);
	}
	close(pair[1]);
	while ((got = read(pair[0], apart->text + apart->len,
		    sizeof(apart->text) - 1 - apart->len)) > 0) {
		apart->len += (size_t)got;
		apart->writes++;
		if ((size_t)got > apart->longest)
			apart->longest = (size_t)got;
	}
	close(pair[0]);
	ck_assert_int_eq(waitpid(pid, &apart->status, 0), pid);
}

static inline bool
apart_aborted(const struct apart *apart)
{
	return WIFSIGNALED(apart->status) && WTERMSIG(apart->status) == SIGABRT;
}

#endif
