/*
 * The worker's side of the sandbox: forks the spawner, decides about the level,
 * asks for boxes and matches the answers. Owns the socket to the spawner and
 * the boxes that wait for an answer; never makes a box itself.
 */
#include "workers/tool/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "workers/tool/box.h"
#include "workers/tool/probe.h"
#include "workers/tool/spawner.h"

#define SANDBOX_READY_MS 10000 /* for the spawner to say that it is ready */

struct sandbox {
	struct sandbox_config config; /* its strings are owned */
	enum sandbox_level level;
	char lack[sizeof(((struct err *)NULL)->text)];
	pid_t spawner;
	int sock; /* -1: the spawner is gone */
	uint64_t last_id;
	struct list waiting; /* boxes without an answer */
	struct buf message;  /* reused */
};

const char *
sandbox_level_name(enum sandbox_level level)
{
	switch (level) {
	case SANDBOX_OFF:
		return "off";
	case SANDBOX_NO_CGROUP:
		return "no-cgroup";
	}
	BUG("sandbox level %d", (int)level);
}

enum sandbox_level
sandbox_level(const struct sandbox *sandbox)
{
	return sandbox->level;
}

const char *
sandbox_lack(const struct sandbox *sandbox)
{
	return sandbox->lack;
}

const char *
sandbox_tools_dir(const struct sandbox *sandbox)
{
	if (sandbox->level == SANDBOX_OFF && sandbox->config.tools_dir != NULL)
		return sandbox->config.tools_dir;
	return BOX_TOOLS;
}

const char *
sandbox_work_dir(const struct sandbox *sandbox)
{
	return sandbox->level == SANDBOX_OFF ? sandbox->config.work_dir
					     : BOX_WORKSPACE;
}

pid_t
sandbox_spawner(const struct sandbox *sandbox)
{
	return sandbox->spawner;
}

int
sandbox_fd(const struct sandbox *sandbox)
{
	return sandbox->sock;
}

/* ---- start ---- */

static void
end_spawner(struct sandbox *s)
{
	if (s->sock != -1)
		close(s->sock);
	s->sock = -1;
	/* It ends by itself, but not while somebody holds it. */
	if (s->spawner > 0)
		kill(s->spawner, SIGCONT);
	while (s->spawner > 0 && waitpid(s->spawner, NULL, 0) == -1 &&
	       errno == EINTR)
		;
	s->spawner = 0;
}

static int
await_ready(struct sandbox *s, struct err *err)
{
	struct pollfd poll_sock = { .fd = s->sock, .events = POLLIN };
	struct spawner_hello hello;

	if (poll(&poll_sock, 1, SANDBOX_READY_MS) != 1 ||
	    recv(s->sock, &hello, sizeof(hello), 0) != sizeof(hello))
		return err_set(err, ERR_SYSTEM, "the spawner did not start");
	if (!hello.ready)
		return err_set(err, ERR_SYSTEM, "%s", hello.text);
	return 0;
}

static int
start_spawner(struct sandbox *s, enum sandbox_level level, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return err_errno(err, "socketpair");
	fflush(NULL);
	s->spawner = fork();
	if (s->spawner == 0) {
		close(pair[0]);
		spawner_main(pair[1], &s->config, level);
	}
	close(pair[1]);
	s->sock = pair[0];
	s->level = level;
	if (s->spawner == -1)
		return err_errno(err, "fork of the spawner");
	return await_ready(s, err);
}

int
sandbox_new(struct sandbox **ret_sandbox, const struct sandbox_config *config,
    struct err *err)
{
	struct sandbox *s = MEM_NEW(struct sandbox);

	s->config = *config;
	if (config->tools_dir != NULL)
		s->config.tools_dir = mem_string(config->tools_dir);
	s->config.work_dir =
	    mem_string(config->work_dir == NULL ? "/tmp" : config->work_dir);
	s->message = BUF_INIT(SPAWNER_MESSAGE_MAX);
	s->sock = -1;
	list_init(&s->waiting);
	if (start_spawner(s, SANDBOX_NO_CGROUP, err) == -1 ||
	    probe_sandbox(s, err) == -1) {
		end_spawner(s);
		if (!config->allow_off)
			goto fail;
		snprintf(s->lack, sizeof(s->lack), "%s", err->text);
		if (start_spawner(s, SANDBOX_OFF, err) == -1)
			goto fail;
	}
	*ret_sandbox = s;
	return 0;
fail:
	sandbox_free(s);
	return -1;
}

struct sandbox *
sandbox_free(struct sandbox *s)
{
	if (s == NULL)
		return NULL;
	end_spawner(s);
	buf_release(&s->message);
	mem_free((char *)(uintptr_t)s->config.tools_dir);
	mem_free((char *)(uintptr_t)s->config.work_dir);
	return mem_free(s);
}

/* ---- boxes ---- */

static uint32_t
put_strings(struct buf *out, const char *const *strings)
{
	uint32_t n = 0;

	for (; strings[n] != NULL; n++)
		buf_put(out, strings[n], strlen(strings[n]) + 1);
	return n;
}

static int
write_request(struct sandbox *s, const struct box_spec *spec, uint64_t id,
    struct err *err)
{
	struct spawner_request request = {
		.id = id,
		.limits = spec->limits,
	};

	buf_clear(&s->message);
	buf_put(&s->message, &request, sizeof(request));
	request.argc = put_strings(&s->message, spec->argv);
	request.envc = put_strings(&s->message, spec->env);
	if (buf_check(&s->message, "command and environment", err) == -1)
		return -1;
	if (request.argc + request.envc > SPAWNER_STRINGS)
		return err_set(err, ERR_LIMIT,
		    "command and environment: more than %u strings",
		    SPAWNER_STRINGS);
	memcpy(s->message.ptr, &request, sizeof(request));
	return 0;
}

/* 0 sent, 1 the socket is full, -1 failed. */
static int
send_request(
    struct sandbox *s, const struct box_spec *spec, int report, struct err *err)
{
	const int fds[SPAWNER_FDS] = { spec->fds[0], spec->fds[1], spec->fds[2],
		report };
	struct iovec iov = { s->message.ptr, s->message.len };
	union {
		char space[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	if (sendmsg(s->sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != -1)
		return 0;
	/* ETOOMANYREFS: descriptors under way, bounded by the kernel. */
	if (errno == EAGAIN || errno == ETOOMANYREFS || errno == EINTR)
		return 1;
	if (errno == EPIPE || errno == ECONNRESET)
		return err_set(err, ERR_PEER, "the spawner is gone");
	return err_errno(err, "spawner");
}

int
sandbox_start(struct sandbox *s, struct box *box, const struct box_spec *spec,
    box_started *on_started, struct err *err)
{
	int pipe_fds[2], rc;

	*box = (struct box){ .pidfd = -1, .report = -1 };
	if (s->sock == -1)
		return err_set(err, ERR_PEER, "the spawner is gone");
	if (write_request(s, spec, s->last_id + 1, err) == -1)
		return -1;
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return err_errno(err, "report pipe");
	rc = send_request(s, spec, pipe_fds[1], err);
	close(pipe_fds[1]);
	if (rc != 0) {
		close(pipe_fds[0]);
		return rc;
	}
	box->id = ++s->last_id;
	box->report = pipe_fds[0];
	box->on_started = on_started;
	list_append(&s->waiting, &box->link);
	return 0;
}

static void
on_answer(struct sandbox *s, const struct spawner_answer *answer, int pidfd)
{
	struct box *box = LIST_FIRST(&s->waiting, struct box, link);
	struct err err = { 0 };

	if (box == NULL || box->id != answer->id)
		BUG("spawner answered %llu", (unsigned long long)answer->id);
	list_remove(&box->link);
	if (answer->error != 0 || pidfd == -1) {
		if (pidfd != -1)
			close(pidfd);
		errno = answer->error != 0 ? answer->error : EMFILE;
		err_errno(&err, "the sandbox could not start a process");
		box->on_started(box, &err);
		return;
	}
	box->pidfd = pidfd;
	box->on_started(box, NULL);
}

/* 1: an answer was handled; 0: none there; -1: the spawner is gone. */
static int
read_answer(struct sandbox *s)
{
	struct spawner_answer answer;
	struct iovec iov = { &answer, sizeof(answer) };
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n = recvmsg(s->sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	int pidfd = -1;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(answer))
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c != NULL && c->cmsg_type == SCM_RIGHTS)
		memcpy(&pidfd, CMSG_DATA(c), sizeof(int));
	on_answer(s, &answer, pidfd);
	return 1;
}

int
sandbox_read(struct sandbox *s, struct err *err)
{
	struct err gone = { 0 };
	struct box *box;
	int rc = 1;

	while (s->sock != -1 && rc == 1)
		rc = read_answer(s);
	if (s->sock != -1 && rc == 0)
		return 0;
	end_spawner(s);
	err_set(&gone, ERR_PEER, "the process that starts tools has died");
	while ((box = LIST_FIRST(&s->waiting, struct box, link)) != NULL) {
		list_remove(&box->link);
		box->on_started(box, &gone);
	}
	return err_set(err, gone.kind, "%s", gone.text);
}

void
box_stop(const struct sandbox *s, struct box *box, enum box_stop how)
{
	int sig = SIGTERM;

	if (how == BOX_KILL)
		sig = s->level == SANDBOX_OFF ? BOX_SIGNAL_END : SIGKILL;
	if (box->pidfd != -1 &&
	    pidfd_send_signal(box->pidfd, sig, NULL, 0) == -1)
		errno = 0; /* it has ended */
}

void
box_collect(struct box *box, struct box_report *ret_report)
{
	struct box_record record;
	ssize_t n = read(box->report, &record, sizeof(record));

	*ret_report = (struct box_report){ .end = BOX_KILLED };
	if (n != sizeof(record))
		return;
	ret_report->end = record.end;
	ret_report->code = record.code;
	ret_report->cpu_us = record.cpu_us;
	ret_report->rss_kb = record.rss_kb;
	if (record.step[0] != '\0')
		snprintf(ret_report->text, sizeof(ret_report->text), "%.*s: %s",
		    (int)sizeof(record.step), record.step,
		    strerror(record.code));
}

void
box_release(struct box *box)
{
	list_remove(&box->link);
	if (box->pidfd != -1)
		close(box->pidfd);
	if (box->report != -1)
		close(box->report);
	box->pidfd = box->report = -1;
}

/* ---- one box, waiting ---- */

/* The answer comes through on_started, which has only the box to go by. */
struct run {
	struct box box;
	struct err err;
	bool started, failed;
};

static void
on_run_started(struct box *box, const struct err *err)
{
	struct run *run = CONTAINER_OF(box, struct run, box);

	run->started = err == NULL;
	run->failed = err != NULL;
	if (err != NULL)
		run->err = *err;
}

static int
await_answer(struct sandbox *s, struct run *run, struct err *err)
{
	while (!run->started && !run->failed) {
		struct pollfd sock = { .fd = s->sock, .events = POLLIN };

		if (poll(&sock, 1, -1) == -1 && errno != EINTR)
			return err_errno(err, "poll");
		if (sandbox_read(s, err) == -1)
			return -1;
	}
	if (run->failed)
		return err_set(err, run->err.kind, "%s", run->err.text);
	return 0;
}

static void
await_end(const struct sandbox *s, struct box *box, int timeout_ms, int stop_fd)
{
	uint64_t until = clock_ms() + (uint64_t)timeout_ms;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = box->pidfd, .events = POLLIN },
			{ .fd = stop_fd, .events = POLLIN },
		};
		uint64_t now = clock_ms();
		int wait = -1;

		if (timeout_ms > 0)
			wait = until > now ? (int)(until - now) : 0;
		if (poll(fds, COUNT(fds), wait) == 0 || fds[1].revents != 0) {
			box_stop(s, box, BOX_KILL);
			timeout_ms = 0;
			stop_fd = -1;
		}
		if (fds[0].revents != 0)
			return;
	}
}

int
sandbox_run(struct sandbox *s, const struct box_spec *spec, int timeout_ms,
    int stop_fd, struct box_report *ret_report, struct err *err)
{
	struct run run = { 0 };
	int rc = sandbox_start(s, &run.box, spec, on_run_started, err);

	if (rc == 1)
		rc = err_set(err, ERR_BUSY, "the spawner is behind");
	if (rc == 0)
		rc = await_answer(s, &run, err);
	if (rc == 0) {
		await_end(s, &run.box, timeout_ms, stop_fd);
		box_collect(&run.box, ret_report);
	}
	box_release(&run.box);
	return rc;
}
