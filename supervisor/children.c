/*
 * Starts and restarts local workers with growing pauses. Owns the connection
 * to the small process that executes them; the process owns nothing but the
 * list of what to execute. Workers that a predecessor started are found by
 * their name in the fleet and watched by pidfd.
 */
#include "supervisor/children.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* Both ways over the socketpair. A worker is given by its index. */
struct order {
	uint32_t worker; /* index in the configuration */
	int32_t pid;     /* answer: started (> 0), or could not be */
	int32_t status;  /* answer: how it ended; -1 = started */
	int32_t error;   /* answer: errno */
	int32_t signal;  /* order: 0 = start, else send to pid */
};

struct child {
	const struct config_worker *config;
	pid_t pid;        /* 0: none */
	bool taken_over;  /* a predecessor started it: watched by pidfd */
	uv_poll_t *watch; /* owned; of the pidfd */
	int pidfd;
	uint64_t started_ms, start_at_ms, pause_ms;
	bool asked;
};

struct children {
	const struct config *config;
	int fd;
	struct loop *loop;
	uv_poll_t *poll;
	struct children_hooks hooks;
	struct child child[CONFIG_WORKERS_MAX];
	bool stopping;
};

/* ---- the small process ---- */

/* Environment from nothing but what the configuration names. */
static char **
make_env(const struct config_worker *w)
{
	static const char *const always[] = { "PATH", "HOME", "LANG" };
	char **env = mem_array(COUNT(always) + w->env_count + 1, sizeof(*env));
	size_t n = 0;

	for (size_t i = 0; i < COUNT(always) + w->env_count; i++) {
		const char *name =
		    i < COUNT(always) ? always[i] : w->env[i - COUNT(always)];
		const char *value = getenv(name);
		struct buf pair = BUF_INIT(1u << 20);

		if (value == NULL)
			continue;
		buf_printf(&pair, "%s=%s", name, value);
		env[n++] = buf_detach(&pair, NULL);
	}
	return env;
}

static int
become(const char *user)
{
	const struct passwd *pw;

	if (user == NULL || getuid() != 0)
		return 0;
	pw = getpwnam(user);
	if (pw == NULL) {
		errno = ENOENT;
		return -1;
	}
	if (initgroups(user, pw->pw_gid) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1)
		return -1;
	return 0;
}

NORETURN static void
execute(const struct config *config, const struct config_worker *w, int report)
{
	char slots[16];
	const char *argv[14] = { w->program, "--config", w->config, "--name",
		w->name, "--endpoint", config->work_endpoint };
	size_t n = 7;
	int failed;
	sigset_t none;

	if (w->slots > 0) {
		snprintf(slots, sizeof(slots), "%u", (unsigned)w->slots);
		argv[n++] = "--slots";
		argv[n++] = slots;
	}
	if (config->log_json) {
		argv[n++] = "--log-format";
		argv[n++] = "json";
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (become(w->user != NULL ? w->user : config->user) == 0) {
		union {
			const char **in;
			char *const *out;
		} args = { .in = argv };

		execve(w->program, args.out, make_env(w));
	}
	failed = errno;
	(void)!write(report, &failed, sizeof(failed));
	_exit(127);
}

static void
start_one(const struct config *config, int fd, uint32_t index)
{
	struct order answer = { .worker = index, .status = -1 };
	int report[2], failed = 0;

	if (pipe2(report, O_CLOEXEC) == -1) {
		answer.error = errno;
		(void)!write(fd, &answer, sizeof(answer));
		return;
	}
	answer.pid = fork();
	if (answer.pid == 0)
		execute(config, &config->workers[index], report[1]);
	if (answer.pid == -1)
		answer.error = errno;
	close(report[1]);
	/* End of file: the new program runs. */
	if (read(report[0], &failed, sizeof(failed)) == sizeof(failed))
		answer.error = failed;
	close(report[0]);
	(void)!write(fd, &answer, sizeof(answer));
}

static void
reap(int fd)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct order answer = { .pid = pid, .status = status };

		(void)!write(fd, &answer, sizeof(answer));
	}
}

/* The pid of a worker that was taken over is what somebody on the work socket
 * said, and this process may have the rights to signal any other. */
static bool
runs_program(int32_t pid, const char *program)
{
	char path[64], line[PATH_MAX];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len <= 0)
		return false;
	line[len] = '\0';
	return strcmp(line, program) == 0;
}

static void
carry_out(const struct config *config, int fd, const struct order *order)
{
	if (order->worker >= config->worker_count)
		return;
	if (order->signal == 0)
		start_one(config, fd, order->worker);
	else if (runs_program(
		     order->pid, config->workers[order->worker].program))
		kill(order->pid, order->signal);
}

NORETURN static void
serve(const struct config *config, int fd)
{
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN } };
	struct signalfd_siginfo info;
	struct order order;
	sigset_t chld;

	prctl(PR_SET_NAME, "reeved-children");
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	fds[1] = (struct pollfd){ .fd = signalfd(-1, &chld, SFD_CLOEXEC),
		.events = POLLIN };
	for (;;) {
		if (poll(fds, 2, -1) == -1 && errno != EINTR)
			_exit(1);
		if (fds[1].revents != 0 &&
		    read(fds[1].fd, &info, sizeof(info)) > 0)
			reap(fd);
		if (fds[0].revents == 0)
			continue;
		/* End of file: the supervisor is gone; workers live on. */
		if (read(fd, &order, sizeof(order)) != sizeof(order))
			_exit(0);
		carry_out(config, fd, &order);
	}
}

int
children_fork(struct children **ret_children, const struct config *config,
    struct err *err)
{
	struct children *c;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return err_errno(err, "socketpair");
	pid = fork();
	if (pid == -1) {
		err_errno(err, "fork");
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	if (pid == 0) {
		close(pair[0]);
		serve(config, pair[1]);
	}
	close(pair[1]);
	/* As process 1 of a container: the kernel buries what workers leave. */
	signal(SIGCHLD, SIG_IGN);
	c = MEM_NEW(struct children);
	c->config = config;
	c->fd = pair[0];
	for (size_t i = 0; i < config->worker_count; i++) {
		c->child[i].config = &config->workers[i];
		c->child[i].pidfd = -1;
		c->child[i].pause_ms = CHILDREN_PAUSE_MS;
	}
	*ret_children = c;
	return 0;
}

/* ---- in the supervisor ---- */

static void
free_handle(uv_handle_t *handle)
{
	mem_free(handle);
}

static struct child *
by_pid(struct children *c, pid_t pid)
{
	for (size_t i = 0; i < c->config->worker_count; i++) {
		if (c->child[i].pid == pid)
			return &c->child[i];
	}
	return NULL;
}

static void
unwatch(struct child *child)
{
	if (child->watch != NULL) {
		uv_poll_stop(child->watch);
		uv_close((uv_handle_t *)child->watch, free_handle);
		child->watch = NULL;
	}
	if (child->pidfd != -1)
		close(child->pidfd);
	child->pidfd = -1;
}

static void
child_ended(struct children *c, struct child *child)
{
	uint64_t now = clock_ms();
	pid_t pid = child->pid;

	unwatch(child);
	child->pid = 0;
	child->asked = child->taken_over = false;
	if (now - child->started_ms >= CHILDREN_STEADY_MS)
		child->pause_ms = CHILDREN_PAUSE_MS;
	child->start_at_ms = now + child->pause_ms;
	child->pause_ms = child->pause_ms * 2 > CHILDREN_PAUSE_MAX_MS
			      ? CHILDREN_PAUSE_MAX_MS
			      : child->pause_ms * 2;
	c->hooks.ended(c->hooks.arg, (uint64_t)pid);
}

static void
on_started(struct children *c, const struct order *answer)
{
	struct child *child = &c->child[answer->worker];

	child->asked = false;
	child->started_ms = clock_ms();
	if (answer->error == 0) {
		child->pid = answer->pid;
		log_info("worker started",
		    log_str("worker", child->config->name),
		    log_num("pid", answer->pid));
		return;
	}
	log_error("worker cannot be started",
	    log_str("worker", child->config->name),
	    log_str("program", child->config->program),
	    log_str("error", strerror(answer->error)));
	child->start_at_ms = clock_ms() + child->pause_ms;
	child->pause_ms = child->pause_ms * 2 > CHILDREN_PAUSE_MAX_MS
			      ? CHILDREN_PAUSE_MAX_MS
			      : child->pause_ms * 2;
}

static void
on_ended(struct children *c, const struct order *answer)
{
	struct child *child = by_pid(c, answer->pid);

	if (child == NULL)
		return;
	if (WIFSIGNALED(answer->status))
		log_warn("worker was killed",
		    log_str("worker", child->config->name),
		    log_num("signal", WTERMSIG(answer->status)));
	else
		log_info("worker exited",
		    log_str("worker", child->config->name),
		    log_num("status", WEXITSTATUS(answer->status)));
	child_ended(c, child);
}

static void
on_answer(uv_poll_t *poll, int status, int events)
{
	struct children *c = poll->data;
	struct order answer;
	ssize_t len = recv(c->fd, &answer, sizeof(answer), MSG_DONTWAIT);

	(void)status;
	(void)events;
	if (len == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len != sizeof(answer)) {
		uv_poll_stop(poll); /* its end would be told for ever */
		if (!c->stopping && c->config->worker_count > 0)
			c->hooks.lost(c->hooks.arg);
		return;
	}
	if (answer.status == -1)
		on_started(c, &answer);
	else
		on_ended(c, &answer);
}

static void
on_taken_over_ended(uv_poll_t *poll, int status, int events)
{
	struct child *child = poll->data;
	struct children *c = poll->loop->data;

	(void)status;
	(void)events;
	log_info("worker ended", log_str("worker", child->config->name));
	child_ended(c, child);
}

/* A worker that a predecessor started: no child of ours, but its end can be
 * seen. */
static void
take_over(struct children *c, struct child *child, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd == -1)
		return;
	log_info("worker taken over", log_str("worker", child->config->name),
	    log_num("pid", pid));
	child->pid = pid;
	child->taken_over = true;
	child->started_ms = clock_ms();
	child->pidfd = pidfd;
	child->watch = MEM_NEW(uv_poll_t);
	child->watch->data = child;
	uv_poll_init(&c->loop->uv, child->watch, pidfd);
	uv_poll_start(child->watch, UV_READABLE, on_taken_over_ended);
}

int
children_begin(struct children *c, struct loop *loop, bool after_crash,
    const struct children_hooks *hooks, struct err *err)
{
	c->loop = loop;
	c->hooks = *hooks;
	loop->uv.data = c;
	c->poll = MEM_NEW(uv_poll_t);
	c->poll->data = c;
	if (uv_poll_init(&loop->uv, c->poll, c->fd) != 0)
		return err_set(err, ERR_SYSTEM, "children: poll");
	uv_poll_start(c->poll, UV_READABLE, on_answer);
	for (size_t i = 0; i < c->config->worker_count; i++)
		c->child[i].start_at_ms =
		    clock_ms() + (after_crash ? CHILDREN_WAIT_MS : 0);
	return 0;
}

static void
tick_one(struct children *c, uint32_t index)
{
	struct child *child = &c->child[index];
	struct order order = { .worker = index };
	uint64_t pid;

	if (child->pid != 0 || child->asked)
		return;
	pid = c->hooks.connected(c->hooks.arg, child->config->name);
	if (pid != 0) {
		take_over(c, child, (pid_t)pid);
		return;
	}
	if (clock_ms() < child->start_at_ms)
		return;
	child->asked = true;
	(void)!write(c->fd, &order, sizeof(order));
}

void
children_tick(struct children *c)
{
	for (uint32_t i = 0; !c->stopping && i < c->config->worker_count; i++)
		tick_one(c, i);
}

/* Through the small process, which has the rights to. */
static void
signal_all(struct children *c, int signal)
{
	for (size_t i = 0; i < c->config->worker_count; i++) {
		struct order order = { .worker = (uint32_t)i,
			.pid = c->child[i].pid,
			.signal = signal };

		if (order.pid != 0)
			(void)!write(c->fd, &order, sizeof(order));
	}
}

void
children_stop(struct children *c)
{
	c->stopping = true;
	signal_all(c, SIGTERM);
}

void
children_kill(struct children *c)
{
	signal_all(c, SIGKILL);
}

size_t
children_running(const struct children *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->config->worker_count; i++)
		n += c->child[i].pid != 0;
	return n;
}

struct children *
children_free(struct children *c)
{
	if (c == NULL)
		return NULL;
	for (size_t i = 0; i < c->config->worker_count; i++)
		unwatch(&c->child[i]);
	if (c->poll != NULL) {
		uv_poll_stop(c->poll);
		uv_close((uv_handle_t *)c->poll, free_handle);
	}
	close(c->fd);
	return mem_free(c);
}
