/*
 * The spawner process. Small and single-threaded: it was forked before anything
 * big was there, so its own forks are cheap. It holds no secret, reads nothing
 * but the worker's requests, keeps a pidfd of each running box, and kills them
 * all when the worker is gone. Boxes die with it by their death signal.
 */
#include "workers/tool/spawner.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/loop.h"
#include "workers/tool/box.h"
#include "workers/tool/root.h"
#include "workers/tool/slim.h"

#define SPAWNER_COMM  "reeve-spawner"
#define SPAWNER_BOXES 4096u /* running at once */
#define SPAWNER_SOCK  3     /* descriptor, behind the standard streams */
#define SPAWNER_STAT  2048u /* bytes of /proc/self/stat */

struct child {
	pid_t pid;
	int pidfd; /* owned */
};

struct spawner {
	const struct sandbox_config *config; /* borrowed */
	int sock;
	int self;    /* pidfd of this process */
	int signals; /* signalfd for SIGCHLD */
	enum sandbox_level level;
	uid_t uid;
	gid_t gid;
	struct policy *policy;  /* owned */
	struct child *children; /* owned; SPAWNER_BOXES */
	size_t count;
	char *message;                      /* owned; SPAWNER_MESSAGE_MAX */
	char *strings[SPAWNER_STRINGS + 2]; /* into message */
};

/* What the worker has open is none of its business; lines on stderr stay. */
static int
close_files(struct spawner *s)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		return -1;
	if (fcntl(STDERR_FILENO, F_GETFD) == -1 &&
	    dup2(null, STDERR_FILENO) == -1)
		return -1;
	if (s->sock != SPAWNER_SOCK &&
	    dup3(s->sock, SPAWNER_SOCK, O_CLOEXEC) == -1)
		return -1;
	s->sock = SPAWNER_SOCK;
	return close_range(SPAWNER_SOCK + 1, ~0u, 0);
}

static int
prepare_process(struct spawner *s, struct err *err)
{
	sigset_t all;

	prctl(PR_SET_NAME, SPAWNER_COMM, 0, 0, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL); /* EINVAL for some is fine */
	/* A terminal's or a service manager's signals are for the worker. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	umask(022);
	loop_raise_limits();
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	if (close_files(s) == -1)
		return err_errno(err, "close_range in the spawner");
	s->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	s->self = pidfd_open(getpid(), 0);
	if (s->signals == -1 || s->self == -1)
		return err_errno(err, "spawner");
	return 0;
}

/* The folder is entered while it may be seen, so that it can be shown in boxes
 * even if their user could not walk to it. */
static int
become_user(struct spawner *s, struct err *err)
{
	const struct sandbox_config *c = s->config;

	if (c->tools_dir != NULL && chdir(c->tools_dir) == -1)
		return err_errno(err, "%s", c->tools_dir);
	if (c->switch_user && (setgroups(0, NULL) == -1 ||
				  setresgid(c->gid, c->gid, c->gid) == -1 ||
				  setresuid(c->uid, c->uid, c->uid) == -1))
		return err_errno(err, "change to user %u", c->uid);
	/* A change of user hides /proc/self, which the id maps need. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
		return err_errno(err, "spawner");
	s->uid = geteuid();
	s->gid = getegid();
	return 0;
}

/* The command line and the environment of the worker lie in memory that each
 * box has a copy of, and the command line of a process can be read by all. */
static void
forget_worker(void)
{
	unsigned long at[4] = { 0 }; /* of both: start, end */
	char text[SPAWNER_STAT];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);
	char *p;

	if (fd != -1)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	p = strrchr(text, ')'); /* field 2 is a name */
	for (int field = 3; p != NULL && field <= 51; field++) {
		p = strchr(p + 1, ' ');
		if (p != NULL && field >= 48)
			at[field - 48] = strtoul(p, NULL, 10);
	}
	clearenv();
	for (int i = 0; i < 4 && p != NULL; i += 2)
		if (at[i] != 0 && at[i + 1] > at[i])
			memset((void *)at[i], 0, at[i + 1] - at[i]);
	/* What ps shows instead. */
	if (p != NULL && at[1] - at[0] > sizeof(SPAWNER_COMM))
		memcpy((void *)at[0], SPAWNER_COMM, sizeof(SPAWNER_COMM));
}

static void
greet(struct spawner *s, const struct err *err)
{
	struct spawner_hello hello = { .ready = err == NULL };

	if (err != NULL)
		snprintf(hello.text, sizeof(hello.text), "%s", err->text);
	if (send(s->sock, &hello, sizeof(hello), MSG_NOSIGNAL) == -1)
		_exit(1);
}

/* ---- requests ---- */

/* Splits the strings of a request; false if they are not as announced. */
static bool
split(struct spawner *s, const struct spawner_request *request, char *p,
    const char *end)
{
	size_t n = 0;

	if (request->argc == 0 || request->argc > SPAWNER_STRINGS ||
	    request->envc > SPAWNER_STRINGS - request->argc)
		return false;
	for (size_t i = 0; i < request->argc + request->envc; i++) {
		char *nul =
		    p == end ? NULL : memchr(p, '\0', (size_t)(end - p));

		if (nul == NULL)
			return false;
		s->strings[n++] = p;
		p = nul + 1;
		if (i + 1 == request->argc)
			s->strings[n++] = NULL;
	}
	s->strings[n] = NULL;
	return p == end;
}

static int
make_box(struct spawner *s, const struct spawner_request *request,
    const int fds[SPAWNER_FDS], int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = box_clone_flags(s->level),
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	struct box_plan plan = {
		.level = s->level,
		.policy = s->policy,
		.work_dir = s->level == SANDBOX_OFF ? s->config->work_dir
						    : BOX_WORKSPACE,
		.spawner = s->self,
		.uid = ROOT_UID,
		.gid = ROOT_GID,
		.argv = s->strings,
		.env = s->strings + request->argc + 1,
		.limits = request->limits,
		.fds = { fds[0], fds[1], fds[2] },
		.report = fds[3],
	};
	long pid;

	if (s->count == SPAWNER_BOXES)
		return EAGAIN;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		box_main(&plan);
	if (pid == -1)
		return errno;
	s->children[s->count++] = (struct child){ (pid_t)pid, pidfd };
	*ret_pidfd = pidfd;
	return 0;
}

static void
answer(struct spawner *s, uint64_t id, int error, int pidfd)
{
	struct spawner_answer text = { .id = id, .error = error };
	struct iovec iov = { &text, sizeof(text) };
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (error == 0) {
		struct cmsghdr *c;

		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &pidfd, sizeof(int));
	}
	while (sendmsg(s->sock, &msg, MSG_NOSIGNAL) == -1 && errno == EINTR)
		;
}

/* Descriptors of a message; returns how many, the rest stays -1. */
static size_t
take_fds(struct msghdr *msg, int fds[SPAWNER_FDS])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	size_t bytes = 0;

	for (int i = 0; i < SPAWNER_FDS; i++)
		fds[i] = -1;
	if (c != NULL && c->cmsg_type == SCM_RIGHTS) {
		bytes = c->cmsg_len - CMSG_LEN(0);
		memcpy(fds, CMSG_DATA(c), bytes);
	}
	return bytes / sizeof(int);
}

/* False when the worker is gone. */
static bool
on_request(struct spawner *s)
{
	struct spawner_request request;
	struct iovec iov = { s->message, SPAWNER_MESSAGE_MAX };
	union {
		char space[CMSG_SPACE(sizeof(int) * SPAWNER_FDS)];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n = recvmsg(s->sock, &msg, MSG_CMSG_CLOEXEC);
	int fds[SPAWNER_FDS], pidfd = -1, error = EPROTO;

	if (n == -1 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	if (take_fds(&msg, fds) == SPAWNER_FDS &&
	    (size_t)n >= sizeof(request)) {
		memcpy(&request, s->message, sizeof(request));
		if (split(s, &request, s->message + sizeof(request),
			s->message + n))
			error = make_box(s, &request, fds, &pidfd);
	}
	for (int i = 0; i < SPAWNER_FDS; i++)
		if (fds[i] != -1)
			close(fds[i]);
	if ((size_t)n >= sizeof(request))
		answer(s, request.id, error, pidfd);
	return true;
}

static void
forget(struct spawner *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->children[i].pid != pid)
			continue;
		close(s->children[i].pidfd);
		s->children[i] = s->children[--s->count];
		return;
	}
}

static void
on_child(struct spawner *s)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(s->signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		forget(s, pid);
}

NORETURN static void
end(const struct spawner *s)
{
	for (size_t i = 0; i < s->count; i++)
		pidfd_send_signal(s->children[i].pidfd,
		    s->level == SANDBOX_OFF ? BOX_SIGNAL_END : SIGKILL, NULL,
		    0);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	_exit(0);
}

/* Up to the point where boxes can be made. */
static int
prepare(struct spawner *s, struct err *err)
{
	if (prepare_process(s, err) == -1 || become_user(s, err) == -1 ||
	    policy_build(s->policy, err) == -1)
		return -1;
	forget_worker();
	slim_unmap_libraries();
	if (s->level == SANDBOX_OFF)
		return 0;
	if (root_enter(s->config->tools_dir != NULL, err) == -1)
		return -1;
	if (root_drop_caps() == -1)
		return err_errno(err, "drop of capabilities");
	return 0;
}

void
spawner_main(
    int sock, const struct sandbox_config *config, enum sandbox_level level)
{
	struct spawner s = { .config = config, .sock = sock, .level = level };
	struct err err = { 0 };

	s.policy = MEM_NEW(struct policy);
	s.children = mem_array(SPAWNER_BOXES, sizeof(struct child));
	s.message = mem_new(SPAWNER_MESSAGE_MAX);
	if (prepare(&s, &err) == -1) {
		greet(&s, &err);
		_exit(1);
	}
	greet(&s, NULL);
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = s.sock, .events = POLLIN },
			{ .fd = s.signals, .events = POLLIN },
		};

		if (poll(fds, COUNT(fds), -1) == -1)
			continue;
		if (fds[1].revents != 0)
			on_child(&s);
		if (fds[0].revents != 0 && !on_request(&s))
			end(&s);
	}
}
