/*
 * For tests of the scripted model server: starts and ends the built program.
 */
#ifndef TESTS_MODEL_SERVER_H
#define TESTS_MODEL_SERVER_H

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

#define SERVER_ARGS   12
#define SERVER_WAIT_S 10 /* for an answer */

/* A running server. */
struct server {
	pid_t pid;
	int port;
	int out; /* its standard output */
};

static inline const char *
server_path(void)
{
	static char path[4096];
	const char *build = getenv("REEVE_BUILD");
	ssize_t n;

	if (build != NULL) {
		snprintf(path, sizeof(path), "%s/tests/model-server", build);
		return path;
	}
	n = readlink("/proc/self/exe", path, sizeof(path) - 40);
	ck_assert_int_gt(n, 0);
	while (n > 0 && path[n - 1] != '/')
		n--;
	snprintf(path + n, sizeof(path) - (size_t)n, "../model-server");
	return path;
}

/* args: ended by NULL. Its log goes nowhere. */
static inline void
server_spawn(struct server *server, const char *const args[])
{
	char *argv[SERVER_ARGS + 2] = { 0 };
	char name[] = "model-server";
	int ends[2];

	argv[0] = name;
	for (size_t i = 0; args[i] != NULL && i < SERVER_ARGS; i++)
		memcpy(&argv[i + 1], &args[i], sizeof(char *));
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	server->pid = fork();
	ck_assert_int_ge(server->pid, 0);
	if (server->pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDERR_FILENO);
		execv(server_path(), argv);
		_exit(127);
	}
	close(ends[1]);
	server->out = ends[0];
}

static inline void
server_start(struct server *server, const char *const args[])
{
	char line[64] = "";
	ssize_t n;

	server_spawn(server, args);
	n = read(server->out, line, sizeof(line) - 1);
	ck_assert_msg(
	    n > 0 && sscanf(line, "{\"port\":%d}", &server->port) == 1,
	    "%s did not start: '%s'", server_path(), line);
}

/* The exit status, or -1 after an end by a signal. */
static inline int
server_wait(struct server *server)
{
	int status = 0;

	ck_assert_int_eq(waitpid(server->pid, &status, 0), server->pid);
	close(server->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int
server_stop(struct server *server)
{
	kill(server->pid, SIGTERM);
	return server_wait(server);
}

/* ---- one server for all tests of a case ---- */

static struct server server;

static inline void
server_up(void)
{
	server_start(&server, (const char *const[]){ "--port", "0", NULL });
}

static inline void
server_down(void)
{
	ck_assert_int_eq(server_stop(&server), 0);
}

static inline TCase *
server_case(Suite *suite, const char *name, double timeout_s)
{
	TCase *tcase = tcase_create(name);

	tcase_add_unchecked_fixture(tcase, server_up, server_down);
	tcase_set_timeout(tcase, timeout_s);
	suite_add_tcase(suite, tcase);
	return tcase;
}

#endif
