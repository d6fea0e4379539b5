/*
 * The sandbox as such: it proves itself or says what is missing, and nothing
 * outlives the process that it belongs to.
 */
#include "tests/unit/tool/kit.h"

#include <seccomp.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Runs fn in a copy of this process, since what it does to itself stays. Its
 * exit code. */
static int
apart(int (*fn)(int arg), int arg)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(fn(arg));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
check_comm(pid_t pid, const char *want)
{
	char path[32], text[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	kit_read(path, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	ck_assert_str_eq(text, want);
}

static pid_t
first_child(pid_t pid)
{
	char text[256] = "";
	uint64_t until = clock_ms() + KIT_WAIT_MS;

	while (kit_children(pid, text, sizeof(text)) == 0) {
		ck_assert_uint_lt(clock_ms(), until);
		sched_yield();
	}
	return (pid_t)strtol(text, NULL, 10);
}

/* ---- the start ---- */

START_TEST(a_sandbox_names_its_level_and_its_processes)
{
	struct kit kit;
	pid_t spawner;

	kit_start(&kit);
	spawner = sandbox_spawner(kit.sandbox);
	ck_assert_int_eq(sandbox_level(kit.sandbox), SANDBOX_NO_CGROUP);
	ck_assert_str_eq(
	    sandbox_level_name(sandbox_level(kit.sandbox)), "no-cgroup");
	ck_assert_str_eq(sandbox_level_name(SANDBOX_OFF), "off");
	ck_assert_str_eq(sandbox_lack(kit.sandbox), "");
	ck_assert_str_eq(sandbox_tools_dir(kit.sandbox), "/tools");
	ck_assert_str_eq(sandbox_work_dir(kit.sandbox), "/workspace");
	check_comm(spawner, "reeve-spawner");
	kit.argv[2].text = "exec sleep 1000";
	kit_call(&kit, SLICE("{}"));
	while (kit_children(spawner, (char[16]){ 0 }, 16) == 0)
		uv_run(&kit.loop, UV_RUN_ONCE);
	/* Named before it can be seen doing anything else. */
	first_child(first_child(spawner));
	check_comm(first_child(spawner), "reeve-box");
	kit_end(&kit);
}
END_TEST

START_TEST(boxes_run_as_the_unprivileged_user)
{
	char path[32], text[2048], want[64];
	uid_t uid = geteuid() == 0 ? TWICE_NOBODY : geteuid();
	struct kit kit;

	kit_start(&kit);
	snprintf(path, sizeof(path), "/proc/%d/status",
	    (int)sandbox_spawner(kit.sandbox));
	kit_read(path, text, sizeof(text));
	snprintf(
	    want, sizeof(want), "Uid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
	ck_assert_msg(strstr(text, want) != NULL, "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "CapEff:\t0000000000000000"));
	ck_assert_ptr_nonnull(strstr(text, "CapBnd:\t0000000000000000"));
	ck_assert_ptr_nonnull(strstr(text, "NoNewPrivs:\t1"));
	kit_end(&kit);
}
END_TEST

/* A folder below one that the user of the boxes can not enter. */
START_TEST(the_tools_folder_need_not_be_reachable)
{
	char parent[TEMP_PATH], folder[TEMP_PATH + 16];
	struct sandbox_config config;
	struct box_report report;
	struct err err = { 0 };
	struct sandbox *s;
	const char *argv[] = { "/usr/bin/test", "-d", "/tools/sub", NULL };
	const char *env[] = { NULL };
	struct box_spec spec = {
		.argv = argv,
		.env = env,
		.limits = BOX_LIMITS_DEFAULT,
		.fds = { 0, 1, 2 },
	};

	temp_folder(parent);
	snprintf(folder, sizeof(folder), "%s/tools", parent);
	mkdir(folder, 0755);
	snprintf(folder, sizeof(folder), "%s/tools/sub", parent);
	mkdir(folder, 0755);
	snprintf(folder, sizeof(folder), "%s/tools", parent);
	config = kit_config(folder);
	ck_assert_msg(sandbox_new(&s, &config, &err) == 0, "%s", err.text);
	ck_assert_int_eq(sandbox_run(s, &spec, 0, -1, &report, &err), 0);
	ck_assert_int_eq(report.end, BOX_EXITED);
	ck_assert_int_eq(report.code, 0);
	sandbox_free(s);
}
END_TEST

/* System calls without which there is no sandbox, and what is then said. */
static const struct {
	const char *call;
	const char *says;
} missing[] = {
	{ "unshare", "no user namespace" },
	{ "clone3", "could not start a process" },
	{ "pivot_root", "pivot_root" },
	{ "open_tree", "open_tree" },
	{ "mount_setattr", "mount_setattr" },
	{ "sethostname", "host name" },
	{ "close_range", "close_range" },
	{ "seccomp", "system call filter" },
	{ "setsid", "session" },
};

static void
deny(const char *call)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	seccomp_rule_add(
	    ctx, SCMP_ACT_ERRNO(EPERM), seccomp_syscall_resolve_name(call), 0);
	/* The seccomp call itself can not be denied by loading with it. */
	seccomp_attr_set(ctx, SCMP_FLTATR_API_TSKIP, 0);
	if (seccomp_load(ctx) != 0)
		_exit(10);
	seccomp_release(ctx);
}

static int
start_without(int i)
{
	struct sandbox_config config = kit_config(NULL);
	struct err err = { 0 };
	struct sandbox *s;

	deny(missing[i].call);
	if (sandbox_new(&s, &config, &err) == 0)
		return 11;
	if (strstr(err.text, missing[i].says) == NULL ||
	    strstr(err.text, "Operation not permitted") == NULL) {
		fprintf(stderr, "%s: %s\n", missing[i].call, err.text);
		return 12;
	}
	return 0;
}

START_TEST(without_a_sandbox_the_start_is_refused_with_the_reason)
{
	ck_assert_int_eq(apart(start_without, _i), 0);
}
END_TEST

static int
start_bare(int i)
{
	const char *argv[] = { "/bin/sh", "-c",
		"read -r x </proc/self/comm; [ $x = sh ] && [ $HOME = /tmp ] "
		"&& [ $(pwd) = /tmp ] && [ $(ulimit -n) = 512 ] || exit 1; "
		"(setsid sh -c 'sleep 1000; :' &) ; (sleep 1000 &); exit 7",
		NULL };
	const char *env[] = { "HOME=/tmp", "PATH=/usr/bin", NULL };
	struct box_spec spec = {
		.argv = argv,
		.env = env,
		.limits = BOX_LIMITS_DEFAULT,
		.fds = { 0, 1, 2 },
	};
	struct sandbox_config config = kit_config(NULL);
	struct box_report report;
	struct err err = { 0 };
	struct sandbox *s;

	deny("unshare");
	config.allow_off = true;
	if (sandbox_new(&s, &config, &err) == -1)
		return 11;
	if (sandbox_level(s) != SANDBOX_OFF ||
	    strstr(sandbox_lack(s), "no user namespace") == NULL)
		return 12;
	if (i == 1)
		argv[2] = "trap '' TERM; (setsid sh -c 'sleep 1000; :' &); "
			  "sleep 1000";
	if (sandbox_run(s, &spec, i == 1 ? 300 : 0, -1, &report, &err) == -1)
		return 13;
	if (i == 0 && (report.end != BOX_EXITED || report.code != 7))
		return 14;
	if (i == 1 && report.end != BOX_KILLED)
		return 15;
	sandbox_free(s);
	return 0;
}

/* The reaper sees to what a tool leaves behind: we would be its parent next. */
START_TEST(a_flag_allows_bare_processes_which_leave_nothing_either)
{
	char text[64];

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	ck_assert_int_eq(apart(start_bare, _i), 0);
	ck_assert_uint_eq(kit_children(getpid(), text, sizeof(text)), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}
END_TEST

/* ---- deaths ---- */

START_TEST(boxes_die_with_the_spawner)
{
	struct err err = { 0 };
	struct kit kit;
	pid_t box;
	int fd;

	kit_start(&kit);
	kit.argv[2].text = "trap '' TERM HUP; setsid -f sleep 1000; sleep 1000";
	kit_call(&kit, SLICE("{}"));
	box = first_child(sandbox_spawner(kit.sandbox));
	fd = pidfd_open(first_child(box), 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(kill(sandbox_spawner(kit.sandbox), SIGKILL), 0);
	ck_assert(kit_wait_readable(fd));
	close(fd);
	ck_assert(kit_wait_readable(sandbox_fd(kit.sandbox)));
	kit_wait(&kit, 1);
	ck_assert_int_eq(sandbox_read(kit.sandbox, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	kit_end(&kit);
}
END_TEST

static int
hold_a_box(int report)
{
	struct kit kit;
	pid_t pids[3];

	kit_start(&kit);
	kit.argv[2].text = "trap '' TERM HUP; setsid -f sleep 1000; sleep 1000";
	kit_call(&kit, SLICE("{}"));
	pids[0] = sandbox_spawner(kit.sandbox);
	pids[1] = first_child(pids[0]);
	pids[2] = first_child(pids[1]);
	if (write(report, pids, sizeof(pids)) != sizeof(pids))
		return 1;
	rmdir(kit.folder);
	for (;;)
		uv_run(&kit.loop, UV_RUN_ONCE);
}

START_TEST(spawner_and_boxes_die_with_the_worker)
{
	pid_t worker, pids[3];
	int pipe_fds[2], fds[3];

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	worker = fork();
	if (worker == 0)
		_exit(hold_a_box(pipe_fds[1]));
	ck_assert_int_eq(read(pipe_fds[0], pids, sizeof(pids)), sizeof(pids));
	for (int i = 0; i < 3; i++) {
		fds[i] = pidfd_open(pids[i], 0);
		ck_assert_int_ne(fds[i], -1);
	}
	ck_assert_int_eq(kill(worker, SIGKILL), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert(kit_wait_readable(fds[i]));
		close(fds[i]);
	}
	ck_assert_int_eq(waitpid(worker, NULL, 0), worker);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
END_TEST

START_TEST(freeing_ends_a_spawner_that_was_stopped)
{
	struct kit kit;
	int fd;

	kit_start(&kit);
	fd = pidfd_open(sandbox_spawner(kit.sandbox), 0);
	kill(sandbox_spawner(kit.sandbox), SIGSTOP);
	kit_end(&kit);
	ck_assert(kit_wait_readable(fd));
	close(fd);
}
END_TEST

/* ---- requests ---- */

START_TEST(what_is_too_long_for_a_request_is_refused)
{
	char *word = malloc(BOX_SPEC_MAX + 1);
	const char *argv[] = { "/bin/true", word, NULL };
	const char *many[700];
	const char *env[] = { NULL };
	struct box_spec spec = {
		.argv = argv,
		.env = env,
		.limits = BOX_LIMITS_DEFAULT,
		.fds = { 0, 1, 2 },
	};
	struct box_report report;
	struct err err = { 0 };
	struct kit kit;

	kit_start(&kit);
	memset(word, 'x', BOX_SPEC_MAX);
	word[BOX_SPEC_MAX] = '\0';
	ck_assert_int_eq(
	    sandbox_run(kit.sandbox, &spec, 0, -1, &report, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	word[BOX_SPEC_MAX - 100] = '\0';
	ck_assert_int_eq(
	    sandbox_run(kit.sandbox, &spec, 0, -1, &report, &err), 0);
	ck_assert_int_eq(report.code, 0);
	for (size_t i = 0; i < COUNT(many) - 1; i++)
		many[i] = "/bin/true";
	many[COUNT(many) - 1] = NULL;
	spec.argv = many;
	ck_assert_int_eq(
	    sandbox_run(kit.sandbox, &spec, 0, -1, &report, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	kit_end(&kit);
	free(word);
}
END_TEST

START_TEST(a_box_can_be_run_and_stopped_by_hand)
{
	const char *argv[] = { "/bin/sleep", "1000", NULL };
	const char *env[] = { NULL };
	struct box_spec spec = {
		.argv = argv,
		.env = env,
		.limits = BOX_LIMITS_DEFAULT,
		.fds = { 0, 1, 2 },
	};
	struct box_report report;
	struct err err = { 0 };
	int pipe_fds[2];
	struct kit kit;

	kit_start(&kit);
	ck_assert_int_eq(
	    sandbox_run(kit.sandbox, &spec, 200, -1, &report, &err), 0);
	ck_assert_int_eq(report.end, BOX_KILLED);
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	close(pipe_fds[1]); /* readable: at its end */
	ck_assert_int_eq(
	    sandbox_run(kit.sandbox, &spec, 0, pipe_fds[0], &report, &err), 0);
	ck_assert_int_eq(report.end, BOX_KILLED);
	close(pipe_fds[0]);
	kit_end(&kit);
}
END_TEST

START_TEST(a_worker_without_descriptors_says_so)
{
	struct rlimit limit, none;
	struct kit kit;

	kit_start(&kit);
	kit_run(&kit, ":");
	getrlimit(RLIMIT_NOFILE, &limit);
	none = (struct rlimit){ 0, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	kit_run(&kit, ":");
	setrlimit(RLIMIT_NOFILE, &limit);
	ck_assert_int_eq(kit.result.outcome, CALL_SANDBOX_ERROR);
	ck_assert_ptr_nonnull(strstr(kit.text.ptr, "Too many open files"));
	kit_run(&kit, "echo next");
	ck_assert_str_eq(kit.text.ptr, "next\n");
	kit_end(&kit);
}
END_TEST

static Suite *
make_suite(void)
{
	Suite *suite = suite_create("tool/sandbox");
	TCase *start = tcase_create("start");
	TCase *death = tcase_create("death");
	TCase *request = tcase_create("request");
	TCase *all[] = { start, death, request };

	for (size_t i = 0; i < COUNT(all); i++) {
		tcase_set_timeout(all[i], KIT_TIMEOUT_S);
		suite_add_tcase(suite, all[i]);
	}
	tcase_add_test(start, a_sandbox_names_its_level_and_its_processes);
	tcase_add_test(start, boxes_run_as_the_unprivileged_user);
	tcase_add_test(start, the_tools_folder_need_not_be_reachable);
	tcase_add_loop_test(start,
	    without_a_sandbox_the_start_is_refused_with_the_reason, 0,
	    COUNT(missing));
	tcase_add_loop_test(start,
	    a_flag_allows_bare_processes_which_leave_nothing_either, 0, 2);
	tcase_add_test(death, boxes_die_with_the_spawner);
	tcase_add_test(death, spawner_and_boxes_die_with_the_worker);
	tcase_add_test(death, freeing_ends_a_spawner_that_was_stopped);
	tcase_add_test(request, what_is_too_long_for_a_request_is_refused);
	tcase_add_test(request, a_box_can_be_run_and_stopped_by_hand);
	tcase_add_test(request, a_worker_without_descriptors_says_so);
	return suite;
}

int
main(void)
{
	return twice_main(make_suite);
}
