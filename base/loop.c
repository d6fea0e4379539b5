/*
 * libuv with ZeroMQ sockets in it. ZMQ_FD is edge-triggered and any call on the
 * socket may eat the edge, so what decides is ZMQ_EVENTS, asked in the prepare
 * hook before every wait; the descriptor tells of what came during it. Messages
 * are read in the check hook after it. Owns its hooks and the poll handles,
 * never the sockets.
 */
#include "base/loop.h"

#include <sys/resource.h>
#include <zmq.h>

static void
on_idle(uv_idle_t *idle)
{
	(void)idle; /* being active is all: the wait then takes no time */
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct loop_socket *s = poll->data;

	(void)status, (void)events;
	s->ready = true;
}

static bool
socket_has_message(const struct loop_socket *s)
{
	int events = 0;
	size_t len = sizeof(events);

	if (s->closing)
		return false;
	if (zmq_getsockopt(s->socket, ZMQ_EVENTS, &events, &len) == -1)
		return false;
	return (events & ZMQ_POLLIN) != 0;
}

static void
run_passes(struct loop *loop)
{
	struct loop_pass *pass;

	LIST_EACH (pass, next, &loop->passes, struct loop_pass, link)
		pass->on_pass(pass->arg);
}

/* Passes come first: what they send may make a socket readable without an
 * edge, and what they do may set a timer that bounds the wait. */
static void
on_prepare(uv_prepare_t *prepare)
{
	struct loop *loop = prepare->data;
	struct loop_socket *s;
	bool waiting = false;

	run_passes(loop);
	/* Every socket is asked: asking also runs what libzmq has queued. */
	LIST_EACH (s, next, &loop->sockets, struct loop_socket, link) {
		s->ready = socket_has_message(s);
		waiting = waiting || s->ready;
	}
	if (waiting)
		uv_idle_start(&loop->idle, on_idle);
	else
		uv_idle_stop(&loop->idle);
}

static void
on_check(uv_check_t *check)
{
	struct loop *loop = check->data;
	struct loop_socket *s;

	LIST_EACH (s, next, &loop->sockets, struct loop_socket, link) {
		int n = 0;

		/* Reading in vain costs system calls, in every pass. */
		while (n < LOOP_DRAIN && s->ready && !s->closing &&
		       s->on_ready(s->arg))
			n++;
	}
}

int
loop_init(struct loop *loop, struct err *err)
{
	int rc = uv_loop_init(&loop->uv);

	if (rc != 0)
		return err_set(
		    err, ERR_SYSTEM, "event loop: %s", uv_strerror(rc));
	loop->stopped = false;
	list_init(&loop->sockets);
	list_init(&loop->passes);
	uv_prepare_init(&loop->uv, &loop->prepare);
	uv_check_init(&loop->uv, &loop->check);
	uv_idle_init(&loop->uv, &loop->idle);
	loop->prepare.data = loop;
	loop->check.data = loop;
	uv_prepare_start(&loop->prepare, on_prepare);
	uv_check_start(&loop->check, on_check);
	return 0;
}

void
loop_run(struct loop *loop)
{
	while (!loop->stopped)
		uv_run(&loop->uv, UV_RUN_ONCE);
	run_passes(loop);
	loop->stopped = false;
}

void
loop_stop(struct loop *loop)
{
	loop->stopped = true;
	uv_stop(&loop->uv); /* this pass no longer waits */
}

static void
close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void
loop_release(struct loop *loop)
{
	int rc;

	uv_walk(&loop->uv, close_handle, NULL);
	while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
		continue;
	rc = uv_loop_close(&loop->uv);
	if (rc != 0)
		BUG("event loop still in use: %s", uv_strerror(rc));
}

int
loop_add_socket(struct loop *loop, struct loop_socket *s, void *socket,
    bool (*on_ready)(void *arg), void *arg, struct err *err)
{
	int fd, rc;
	size_t len = sizeof(fd);

	if (zmq_getsockopt(socket, ZMQ_FD, &fd, &len) == -1)
		return err_set(
		    err, ERR_SYSTEM, "ZMQ_FD: %s", zmq_strerror(zmq_errno()));
	*s = (struct loop_socket){
		.loop = loop,
		.socket = socket,
		.on_ready = on_ready,
		.arg = arg,
	};
	rc = uv_poll_init(&loop->uv, &s->poll, fd);
	if (rc != 0)
		return err_set(err, ERR_SYSTEM, "poll: %s", uv_strerror(rc));
	s->poll.data = s;
	uv_poll_start(&s->poll, UV_READABLE, on_poll);
	list_append(&loop->sockets, &s->link);
	return 0;
}

static void
on_poll_closed(uv_handle_t *handle)
{
	struct loop_socket *s = handle->data;

	list_remove(&s->link);
	if (s->on_closed != NULL)
		s->on_closed(s->arg);
}

/* The link stays in the list until the close callback, so that a walk over the
 * sockets never loses its place. */
void
loop_remove_socket(struct loop_socket *s, void (*on_closed)(void *arg))
{
	if (s->closing)
		BUG("socket removed twice");
	s->closing = true;
	s->on_closed = on_closed;
	uv_close((uv_handle_t *)&s->poll, on_poll_closed);
}

void
loop_add_pass(struct loop *loop, struct loop_pass *pass,
    void (*on_pass)(void *arg), void *arg)
{
	pass->on_pass = on_pass;
	pass->arg = arg;
	list_append(&loop->passes, &pass->link);
}

void
loop_remove_pass(struct loop_pass *pass)
{
	list_remove(&pass->link);
}

uint64_t
loop_raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return 0;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
			getrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur;
}
