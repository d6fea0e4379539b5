/*
 * The first process of a box, process 1 of its pid namespace: finishes the
 * box from the inside, starts the tool, reaps, passes a SIGTERM from outside
 * on to the tool, and when the tool ends kills what is left and reports. It can
 * not be traced or killed by the tool, and dies with the spawner.
 * At level off there are no namespaces: then it is the reaper of all that the
 * tool leaves behind, and must hunt for it.
 */
#include "workers/tool/box.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "workers/tool/root.h"

#define BOX_COMM       "reeve-box"
#define BOX_SHM        "size=16m,nr_inodes=1024,mode=1777"
#define BOX_WORK       "size=64m,nr_inodes=4096,mode=755"
#define BOX_TMP_INODES 4096u
#define BOX_MEMLOCK    (64u * 1024)
#define BOX_MSGQUEUE   (64u * 1024)
#define BOX_AS_FACTOR  4u /* of memory_mb, where no cgroup counts memory */
#define BOX_TOOL_STACK (64u * 1024)
#define BOX_FIRST_FD   3u
#define BOX_CHILDREN   4096 /* bytes of a list of process ids read at once */
#define MIB            (1024ull * 1024)

uint64_t
box_clone_flags(enum sandbox_level level)
{
	switch (level) {
	case SANDBOX_OFF:
		return CLONE_PIDFD;
	case SANDBOX_NO_CGROUP:
		return CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS |
		       CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
		       CLONE_NEWCGROUP | CLONE_NEWNET;
	}
	BUG("sandbox level %d", (int)level);
}

static void
report(int fd, const struct box_record *record)
{
	ssize_t n;

	do
		n = write(fd, record, sizeof(*record));
	while (n == -1 && errno == EINTR);
}

/* The step could not be done: says so and ends the box. */
NORETURN static void
give_up(int fd, enum box_end end, const char *step)
{
	struct box_record record = { .end = end, .code = errno };

	snprintf(record.step, sizeof(record.step), "%s", step);
	report(fd, &record);
	_exit(127);
}

static int
mount_tmpfs(const char *where, const char *options)
{
	return mount("tmpfs", where, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static void
build_own_part(const struct box_plan *plan)
{
	char tmp[64];

	snprintf(tmp, sizeof(tmp), "size=%um,nr_inodes=%u,mode=1777",
	    plan->limits.tmp_mb, BOX_TMP_INODES);
	if (root_map_ids(plan->uid, plan->gid) == -1)
		give_up(plan->report, BOX_NO_BOX, "user namespace");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		NULL) == -1)
		give_up(plan->report, BOX_NO_BOX, "mount of /proc");
	if (mount_tmpfs("/tmp", tmp) == -1 ||
	    mount_tmpfs("/dev/shm", BOX_SHM) == -1 ||
	    mount_tmpfs(BOX_WORKSPACE, BOX_WORK) == -1)
		give_up(plan->report, BOX_NO_BOX, "mount of a tmpfs");
	if (root_write("/proc/sys/user/max_user_namespaces", "0") == -1)
		give_up(plan->report, BOX_NO_BOX, "ban of namespaces");
	if (sethostname("box", 3) == -1)
		give_up(plan->report, BOX_NO_BOX, "host name");
}

/* Before memory runs out elsewhere, the kernel should end this box. */
static void
volunteer_for_oom(void)
{
	if (root_write("/proc/self/oom_score_adj", "1000") == -1)
		errno = 0; /* a wish, not a wall */
}

/* The death signal is set after the last change of credentials, which would
 * clear it; a spawner that died before that is seen by its pidfd. */
static void
bind_to_spawner(const struct box_plan *plan)
{
	int with = plan->level == SANDBOX_OFF ? BOX_SIGNAL_END : SIGKILL;
	struct pollfd spawner = { .fd = plan->spawner, .events = POLLIN };

	if (prctl(PR_SET_PDEATHSIG, with, 0, 0, 0) == -1)
		give_up(plan->report, BOX_NO_BOX, "death signal");
	if (poll(&spawner, 1, 0) != 0)
		_exit(127);
}

static void
enter(const struct box_plan *plan)
{
	prctl(PR_SET_NAME, BOX_COMM, 0, 0, 0);
	if (plan->level == SANDBOX_OFF) {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1 ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
			give_up(plan->report, BOX_NO_BOX, "reaper");
	} else {
		build_own_part(plan);
	}
	volunteer_for_oom();
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		give_up(plan->report, BOX_NO_BOX, "protection from the tool");
	if (plan->level != SANDBOX_OFF && root_drop_caps() == -1)
		give_up(plan->report, BOX_NO_BOX, "drop of capabilities");
	bind_to_spawner(plan);
}

/* ---- the tool, until its program starts ---- */

static int
limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit now;
	struct rlimit want = { .rlim_cur = soft, .rlim_max = hard };

	if (getrlimit((__rlimit_resource_t)resource, &now) == -1)
		return -1;
	if (want.rlim_max > now.rlim_max)
		want.rlim_max = now.rlim_max;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &want);
}

static int
set_limits(const struct box_plan *plan)
{
	const struct box_limits *l = &plan->limits;
	uint64_t as = l->memory_mb * MIB * BOX_AS_FACTOR;
	const struct {
		int resource;
		uint64_t soft, hard;
	} rows[] = {
		/* One second between SIGXCPU and SIGKILL. */
		{ RLIMIT_CPU, l->cpu_s, l->cpu_s + 1 },
		{ RLIMIT_AS, as, as },
		{ RLIMIT_FSIZE, l->file_mb * MIB, l->file_mb * MIB },
		{ RLIMIT_NOFILE, l->open_files, l->open_files },
		{ RLIMIT_CORE, 0, 0 },
		{ RLIMIT_MEMLOCK, BOX_MEMLOCK, BOX_MEMLOCK },
		{ RLIMIT_MSGQUEUE, BOX_MSGQUEUE, BOX_MSGQUEUE },
		{ RLIMIT_NICE, 0, 0 },
		{ RLIMIT_RTPRIO, 0, 0 },
		/* In a user namespace of its own this counts only the box; on
		 * the host it would count the whole user. */
		{ RLIMIT_NPROC, l->processes, l->processes },
	};
	size_t count = COUNT(rows) - (plan->level == SANDBOX_OFF ? 1 : 0);

	for (size_t i = 0; i < count; i++)
		if (limit(rows[i].resource, rows[i].soft, rows[i].hard) == -1)
			return -1;
	return 0;
}

/* Shares memory with the first process, which stands still until exec: sets
 * nothing but what belongs to the process itself. */
static int
tool_main(void *arg)
{
	const struct box_plan *plan = arg;
	sigset_t none;

	sigemptyset(&none);
	if (setsid() == -1)
		give_up(plan->report, BOX_NO_BOX, "session");
	for (int i = 0; i < 3; i++)
		if (dup2(plan->fds[i], i) == -1)
			give_up(plan->report, BOX_NO_BOX, "standard streams");
	/* Marked, not closed: the report is still needed if exec fails. */
	if (close_range(BOX_FIRST_FD, ~0u, CLOSE_RANGE_CLOEXEC) == -1)
		give_up(plan->report, BOX_NO_BOX, "close_range");
	if (plan->level == SANDBOX_OFF &&
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		give_up(plan->report, BOX_NO_BOX, "death signal");
	umask(022);
	if (chdir(plan->work_dir) == -1)
		give_up(plan->report, BOX_NO_BOX, "working directory");
	if (set_limits(plan) == -1)
		give_up(plan->report, BOX_NO_BOX, "limits");
	if (sigprocmask(SIG_SETMASK, &none, NULL) == -1)
		give_up(plan->report, BOX_NO_BOX, "signal mask");
	if (policy_load(plan->policy) == -1)
		give_up(plan->report, BOX_NO_BOX, "system call filter");
	execve(plan->argv[0], plan->argv, plan->env);
	give_up(plan->report, BOX_NO_EXEC, plan->argv[0]);
}

/* ---- the first process, afterwards ---- */

/* At level off: one round over the children that are there now. */
static void
kill_children(void)
{
	char text[BOX_CHILDREN];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);
	char *p = text, *end;

	if (fd != -1)
		close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	for (;; p = end) {
		long pid = strtol(p, &end, 10);

		/* A number cut off at the end of the text is no number. */
		if (pid <= 0 || *end != ' ')
			return;
		kill((pid_t)pid, SIGKILL);
	}
}

/* Until no process is left: orphans of the killed become ours. */
static void
end_all(enum sandbox_level level)
{
	pid_t pid;

	do {
		if (level == SANDBOX_OFF)
			kill_children();
		else
			kill(-1, SIGKILL);
		pid = waitpid(-1, NULL, 0);
	} while (pid > 0 || (pid == -1 && errno == EINTR));
}

/* Reaps what has ended; true when the tool was among it. */
static bool
reap(pid_t tool, int *ret_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != tool)
			continue;
		*ret_status = status;
		ended = true;
	}
	return ended;
}

/* From outside a pid namespace a signal comes without a sender's id; the tool
 * may send what it likes. */
static bool
is_from_outside(const struct box_plan *plan, const siginfo_t *info)
{
	return plan->level == SANDBOX_OFF || info->si_pid == 0;
}

/* Waits for the end of the tool; false: told to end everything at once. */
static bool
watch_tool(const struct box_plan *plan, const sigset_t *set, pid_t tool,
    int *ret_status)
{
	siginfo_t info;

	for (;;) {
		int sig = sigwaitinfo(set, &info);

		if (sig == SIGCHLD && reap(tool, ret_status))
			return true;
		if (sig == SIGTERM && is_from_outside(plan, &info))
			kill(-tool, SIGTERM);
		if (sig == BOX_SIGNAL_END && plan->level == SANDBOX_OFF)
			return false;
	}
}

static void
report_end(const struct box_plan *plan, int status)
{
	struct box_record record = { .end = BOX_EXITED };
	struct rusage used;

	if (WIFSIGNALED(status)) {
		record.end = BOX_SIGNAL;
		record.code = WTERMSIG(status);
	} else {
		record.code = WEXITSTATUS(status);
	}
	if (getrusage(RUSAGE_CHILDREN, &used) == 0) {
		record.cpu_us =
		    (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
			1000000 +
		    (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
		record.rss_kb = (uint64_t)used.ru_maxrss;
	}
	report(plan->report, &record);
}

/* Nothing of the call or the spawner stays open here but the report. */
static void
keep_only(struct box_plan *plan)
{
	if (dup2(plan->report, (int)BOX_FIRST_FD) == -1)
		_exit(127);
	plan->report = (int)BOX_FIRST_FD;
	close_range(BOX_FIRST_FD + 1, ~0u, 0);
}

void
box_main(const struct box_plan *plan)
{
	_Alignas(16) char stack[BOX_TOOL_STACK];
	struct box_plan own = *plan;
	sigset_t set;
	pid_t tool;
	int status = 0;

	enter(plan);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, BOX_SIGNAL_END);
	if (sigprocmask(SIG_SETMASK, &set, NULL) == -1)
		give_up(plan->report, BOX_NO_BOX, "signal mask");
	tool = clone(tool_main, stack + sizeof(stack),
	    CLONE_VM | CLONE_VFORK | SIGCHLD, &own);
	if (tool == -1)
		give_up(plan->report, BOX_NO_BOX, "first process");
	keep_only(&own);
	if (watch_tool(&own, &set, tool, &status)) {
		end_all(own.level);
		report_end(&own, status);
	} else {
		end_all(own.level);
	}
	_exit(0);
}
