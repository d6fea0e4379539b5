/*
 * Runs a command by hand as a tool would run: same box, same limits, same
 * environment, but on the caller's terminal or pipes.
 */
#include "workers/tool/people.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEOPLE_ENV  (CATALOGUE_ENV + 16u)
#define PEOPLE_ARGV 256u
#define PEOPLE_PATH 4096u

static const char *const folders[] = { "/usr/local/bin", "/usr/bin" };

/* A name without a slash is looked up as a shell would inside. */
static const char *
find_program(const char *name, char path[PEOPLE_PATH])
{
	struct stat st;

	if (strchr(name, '/') != NULL)
		return name;
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, PEOPLE_PATH, "%s/%s", folders[i], name);
		if (stat(path, &st) == 0)
			return path;
	}
	return name;
}

static int
watch_interrupts(struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd == -1 ? err_errno(err, "signalfd") : fd;
}

static int
exit_code(const struct box_report *report, struct err *err)
{
	switch (report->end) {
	case BOX_EXITED:
		return report->code;
	case BOX_SIGNAL:
		fprintf(stderr, "reeve-tool: killed by SIG%s\n",
		    sigabbrev_np(report->code) == NULL
			? "?"
			: sigabbrev_np(report->code));
		return 128 + report->code;
	case BOX_NO_EXEC:
		fprintf(stderr, "reeve-tool: %s\n", report->text);
		return report->code == ENOENT ? 127 : 126;
	case BOX_KILLED:
		fprintf(stderr, "reeve-tool: stopped\n");
		return 128 + SIGKILL;
	case BOX_NO_BOX:
		return err_set(err, ERR_SYSTEM, "%s", report->text);
	}
	BUG("end of a box: %d", (int)report->end);
}

static int
copy_words(const char *words[PEOPLE_ARGV + 1], char *const *argv,
    char path[PEOPLE_PATH], struct err *err)
{
	size_t n = 0;

	for (; argv[n] != NULL; n++) {
		if (n == PEOPLE_ARGV)
			return err_set(
			    err, ERR_LIMIT, "more than %u words", PEOPLE_ARGV);
		words[n] = argv[n];
	}
	if (n == 0)
		return err_set(err, ERR_INPUT, "no command");
	words[0] = find_program(argv[0], path);
	return 0;
}

int
people_run_box(struct sandbox *sandbox, const struct tool *tool,
    char *const *argv, struct err *err)
{
	const char *words[PEOPLE_ARGV + 1] = { 0 };
	const char *env[PEOPLE_ENV] = { "PATH=" BOX_PATH, "USER=" BOX_USER,
		"LOGNAME=" BOX_USER, "TMPDIR=/tmp", "LANG=C.UTF-8" };
	char home[PEOPLE_PATH], path[PEOPLE_PATH];
	struct box_spec spec = {
		.argv = words,
		.env = env,
		.limits = tool != NULL ? tool->limits : BOX_LIMITS_DEFAULT,
		.fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
	};
	int wall_ms = tool != NULL ? (int)tool->limits.wall_s * 1000 : 0;
	struct box_report report;
	int stop_fd, rc;
	size_t n = 5;

	if (copy_words(words, argv, path, err) == -1)
		return -1;
	snprintf(home, sizeof(home), "HOME=%s", sandbox_work_dir(sandbox));
	env[n++] = home;
	env[n++] = isatty(STDOUT_FILENO) ? "TERM=xterm" : "TERM=dumb";
	for (size_t i = 0; tool != NULL && i < tool->envc; i++)
		env[n++] = tool->env[i];
	stop_fd = watch_interrupts(err);
	if (stop_fd == -1)
		return -1;
	rc = sandbox_run(sandbox, &spec, wall_ms, stop_fd, &report, err);
	close(stop_fd);
	return rc == -1 ? -1 : exit_code(&report, err);
}
