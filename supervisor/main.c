/*
 * reeved: reads its configuration, takes its lock, gives up root, checks the
 * database, runs. Any error on the way is one line and exit 1.
 */
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "schema/migrate.h"
#include "supervisor/supervisor.h"

static const char usage[] =
    "usage: reeved --config FILE\n"
    "\n"
    "The supervisor: schedules runs, keeps every step in PostgreSQL, starts its\n"
    "local workers. Stops in order at SIGTERM or SIGINT.\n"
    "\n"
    "  -c, --config FILE   reeve.yaml (deploy/reeve.yaml explains every key)\n"
    "  -V, --version       print the version\n"
    "  -h, --help          print this\n"
    "\n"
    "example: reeved --config /etc/reeve/reeve.yaml\n";

/* Holds the instance: one reeved per run_dir. The file says "running" until an
 * orderly stop. */
static int lock_fd = -1;

static int
become_user(const struct config *config, struct err *err)
{
	const struct passwd *pw;

	if (config->user == NULL || getuid() != 0)
		return 0;
	pw = getpwnam(config->user);
	if (pw == NULL)
		return err_set(
		    err, ERR_INPUT, "user: there is no user %s", config->user);
	if (mkdir(config->run_dir, 0700) == 0 &&
	    chown(config->run_dir, pw->pw_uid, pw->pw_gid) == -1)
		return err_errno(err, "%s", config->run_dir);
	if (initgroups(config->user, pw->pw_gid) == -1 ||
	    setgid(pw->pw_gid) == -1 || setuid(pw->pw_uid) == -1)
		return err_errno(err, "becoming user %s", config->user);
	return 0;
}

static int
check_run_dir(const struct config *config, struct err *err)
{
	struct stat st;

	if (mkdir(config->run_dir, 0700) == -1 && errno != EEXIST)
		return err_errno(err, "run_dir %s", config->run_dir);
	if (stat(config->run_dir, &st) == -1)
		return err_errno(err, "run_dir %s", config->run_dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022) != 0)
		return err_set(err, ERR_INPUT,
		    "run_dir %s must be a folder that belongs to this user "
		    "and that nobody else can write",
		    config->run_dir);
	return 0;
}

static int
take_lock(const struct config *config, bool *ret_after_crash, struct err *err)
{
	char path[4096], word[8] = "";

	snprintf(path, sizeof(path), "%s/reeved.lock", config->run_dir);
	lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock_fd == -1)
		return err_errno(err, "%s", path);
	if (flock(lock_fd, LOCK_EX | LOCK_NB) == -1)
		return err_set(err, ERR_CONFLICT,
		    "another reeved is running with run_dir %s",
		    config->run_dir);
	*ret_after_crash = read(lock_fd, word, 7) > 0;
	if (ftruncate(lock_fd, 0) == -1 ||
	    pwrite(lock_fd, "running", 7, 0) != 7)
		return err_errno(err, "%s", path);
	return 0;
}

static void
on_signal(uv_signal_t *handle, int signum)
{
	(void)signum;
	supervisor_stop(handle->data);
}

static int
serve(const struct config *config, struct children *children, bool after_crash,
    bool *ret_start_anew, struct err *err)
{
	static struct supervisor sup;
	static uv_signal_t term, interrupt;
	int code;

	if (supervisor_init(&sup, config, children, after_crash, err) == -1)
		return -1;
	uv_signal_init(&sup.loop.uv, &term);
	uv_signal_init(&sup.loop.uv, &interrupt);
	term.data = interrupt.data = &sup;
	uv_signal_start(&term, on_signal, SIGTERM);
	uv_signal_start(&interrupt, on_signal, SIGINT);
	supervisor_run(&sup);
	code = sup.exit_code;
	*ret_start_anew = sup.start_anew;
	supervisor_release(&sup);
	if (code == 0 && ftruncate(lock_fd, 0) == -1)
		log_warn("lock file cannot be cleared");
	if (code == 0)
		log_info("stopped");
	return code == 0 ? 0 : -2;
}

static int
start(const char *path, bool *ret_start_anew, struct err *err)
{
	static struct config config;
	struct children *children = NULL;
	bool after_crash = false;

	if (config_read(&config, path, err) == -1)
		return -1;
	log_setup("reeved", config.log_level, config.log_json);
	loop_raise_limits();
	if (children_fork(&children, &config, err) == -1 ||
	    become_user(&config, err) == -1 ||
	    check_run_dir(&config, err) == -1 ||
	    take_lock(&config, &after_crash, err) == -1 ||
	    migrate_run(config.database, true, NULL, NULL, err) == -1) {
		children_free(children);
		return -1;
	}
	return serve(&config, children, after_crash, ret_start_anew, err);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = NULL;
	struct err err = { 0 };
	bool start_anew = false;
	int option, rc;

	log_setup("reeved", LOG_INFO, false);
	signal(SIGPIPE, SIG_IGN);
	while (
	    (option = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1) {
		if (option == 'c') {
			path = optarg;
		} else if (option == 'V') {
			puts("reeved " REEVE_VERSION);
			return 0;
		} else {
			fputs(usage, option == 'h' ? stdout : stderr);
			return option == 'h' ? 0 : 2;
		}
	}
	if (path == NULL || optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	rc = start(path, &start_anew, &err);
	if (start_anew) {
		execv("/proc/self/exe", argv);
		err_errno(&err, "starting anew");
	}
	if (rc == -1)
		fprintf(stderr, "reeved: %s\n", err.text);
	return rc == 0 ? 0 : 1;
}
