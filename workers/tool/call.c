/*
 * The life of a call: checks the arguments, asks for a box, reads what it
 * prints, stops it at its limits, and tells the end when the box is empty. It
 * never waits for the end of a pipe, since what a tool started in the
 * background may hold it. Owns the call's descriptors and what was kept of its
 * output; how that becomes text stands in verdict.c.
 */
#include "workers/tool/call.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "workers/tool/arguments.h"
#include "workers/tool/command.h"
#include "workers/tool/verdict.h"

#define CALL_READ    (64u * 1024) /* bytes of one read */
#define CALL_READS   8            /* in a row, before others get a turn */
#define CALL_HANDLES 4
#define MIB          (1024ull * 1024)

enum call_state {
	CALL_WAITING,  /* for room at the spawner */
	CALL_STARTING, /* asked for */
	CALL_RUNNING,
	CALL_ASKED,  /* SIGTERM was sent */
	CALL_KILLED, /* its end was ordered */
	CALL_ENDED,
};

struct stream {
	uv_poll_t poll;
	int fd; /* read end, owned */
	struct output output;
};

struct call {
	struct calls *calls;
	struct list link;    /* in calls->all */
	struct list waiting; /* in calls->waiting */
	enum call_state state;
	struct command command;
	int child_fds[3]; /* owned until sent */
	struct box box;
	struct stream out, err;
	uv_poll_t end; /* of the box, by its pidfd */
	uv_timer_t timer;
	unsigned open_handles;
	uint64_t started_ms;
	struct verdict verdict;
	call_done *on_done;
	void *arg;
};

static void finish(struct call *call);
static void read_answers(struct calls *calls);

/* ---- stopping ---- */

static void set_timer(struct call *call, uint64_t ms);

static void
decide(struct call *call, enum call_outcome outcome)
{
	if (!call->verdict.decided) {
		call->verdict.decided = true;
		call->verdict.outcome = outcome;
	}
}

static void
fail(struct call *call, const struct err *err)
{
	decide(call, CALL_SANDBOX_ERROR);
	snprintf(call->verdict.reason, sizeof(call->verdict.reason), "%s",
	    err->text);
}

static void
kill_box(struct call *call)
{
	call->state = CALL_KILLED;
	uv_timer_stop(&call->timer);
	box_stop(call->calls->sandbox, &call->box, BOX_KILL);
}

/* Wall time or a cancel: asks first, in whatever state the call is. */
static void
stop(struct call *call, enum call_outcome outcome)
{
	switch (call->state) {
	case CALL_WAITING:
		decide(call, outcome);
		list_remove(&call->waiting);
		call->state = CALL_ENDED;
		set_timer(call, 0);
		break;
	case CALL_STARTING: /* on_started will see it */
		decide(call, outcome);
		break;
	case CALL_RUNNING:
		decide(call, outcome);
		call->state = CALL_ASKED;
		box_stop(call->calls->sandbox, &call->box, BOX_ASK);
		set_timer(call, CALL_GRACE_MS);
		break;
	case CALL_ASKED:
	case CALL_KILLED:
	case CALL_ENDED:
		break;
	}
}

static void
on_timer(uv_timer_t *timer)
{
	struct call *call = timer->data;

	if (call->state == CALL_ENDED)
		finish(call);
	else if (call->state == CALL_ASKED)
		kill_box(call);
	else
		stop(call, CALL_TIMEOUT);
}

static void
set_timer(struct call *call, uint64_t ms)
{
	uv_update_time(call->calls->loop);
	uv_timer_start(&call->timer, on_timer, ms, 0);
}

void
call_cancel(struct call *call)
{
	stop(call, CALL_CANCELLED);
}

/* ---- output ---- */

/* At most `reads` times; false when nothing more comes for now, or ever. */
static bool
read_stream(struct call *call, struct stream *s, int reads)
{
	char bytes[CALL_READ];
	uint64_t max = call->verdict.tool->limits.output_mb * MIB;

	while (reads-- > 0) {
		ssize_t n = read(s->fd, bytes, sizeof(bytes));

		if (n == -1 && errno == EINTR)
			continue;
		if (n == 0)
			uv_poll_stop(&s->poll);
		if (n <= 0)
			return false;
		output_add(&s->output, bytes, (size_t)n);
		if (call->out.output.total + call->err.output.total > max &&
		    (call->state == CALL_RUNNING ||
			call->state == CALL_ASKED)) {
			decide(call, CALL_OUTPUT_LIMIT);
			kill_box(call);
		}
	}
	return true;
}

static void
on_output(uv_poll_t *poll, int status, int events)
{
	struct call *call = poll->data;

	(void)status;
	(void)events;
	read_stream(call, CONTAINER_OF(poll, struct stream, poll), CALL_READS);
}

/* What lies in the pipe of a box that has ended is bounded by the pipe. */
static void
read_rest(struct call *call, struct stream *s)
{
	while (read_stream(call, s, CALL_READS))
		;
}

/* ---- the end ---- */

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void
close_child_fds(struct call *call)
{
	for (int i = 0; i < 3; i++)
		close_fd(&call->child_fds[i]);
}

static void
on_handle_closed(uv_handle_t *handle)
{
	struct call *call = handle->data;

	if (--call->open_handles > 0)
		return;
	output_release(&call->out.output);
	output_release(&call->err.output);
	command_release(&call->command);
	mem_free(call);
}

static void
close_handle(uv_handle_t *handle)
{
	if (handle->data != NULL)
		uv_close(handle, on_handle_closed);
}

static void
give_back(struct call *call)
{
	list_remove(&call->link);
	list_remove(&call->waiting);
	close_handle((uv_handle_t *)&call->out.poll);
	close_handle((uv_handle_t *)&call->err.poll);
	close_handle((uv_handle_t *)&call->end);
	close_handle((uv_handle_t *)&call->timer);
	box_release(&call->box);
	close_fd(&call->out.fd);
	close_fd(&call->err.fd);
	close_child_fds(call);
}

static void
tell_loss(struct calls *calls)
{
	if (calls->lost && list_is_empty(&calls->all))
		calls->on_lost(calls->arg, &calls->loss);
}

static void
finish(struct call *call)
{
	struct calls *calls = call->calls;
	struct buf text = BUF_INIT(VERDICT_TEXT_MAX);
	struct call_result result;

	call->state = CALL_ENDED;
	call->verdict.wall_ms = clock_ms() - call->started_ms;
	verdict_give(&call->verdict, &call->out.output, &call->err.output,
	    &result, &text);
	give_back(call);
	call->on_done(call->arg, &result, &text);
	buf_release(&text);
	tell_loss(calls);
}

static void
on_end(uv_poll_t *poll, int status, int events)
{
	struct call *call = poll->data;
	struct calls *calls = call->calls;

	(void)status;
	(void)events;
	read_rest(call, &call->out);
	read_rest(call, &call->err);
	box_collect(&call->box, &call->verdict.report);
	call->verdict.has_report = true;
	/* Who ended it? The spawner's end may not have been read yet. */
	if (call->verdict.report.end == BOX_KILLED)
		read_answers(calls);
	if (call->verdict.report.end == BOX_KILLED && calls->lost)
		fail(call, &calls->loss);
	finish(call);
}

/* ---- the start ---- */

static int
watch(struct call *call, uv_poll_t *poll, int fd, uv_poll_cb on_event)
{
	if (uv_poll_init(call->calls->loop, poll, fd) != 0)
		return -1;
	poll->data = call;
	call->open_handles++;
	return uv_poll_start(poll, UV_READABLE, on_event) == 0 ? 0 : -1;
}

static void
on_started(struct box *box, const struct err *err)
{
	struct call *call = CONTAINER_OF(box, struct call, box);
	struct err ours = { 0 };

	if (err != NULL) {
		fail(call, err);
		finish(call);
		return;
	}
	call->state = CALL_RUNNING;
	if (watch(call, &call->end, box->pidfd, on_end) == -1)
		BUG("a pidfd cannot be watched");
	if (watch(call, &call->out.poll, call->out.fd, on_output) == -1 ||
	    watch(call, &call->err.poll, call->err.fd, on_output) == -1) {
		err_set(&ours, ERR_SYSTEM, "its output cannot be watched");
		fail(call, &ours);
	}
	if (call->verdict.decided)
		kill_box(call);
}

/* False when the spawner has no room now. */
static bool
ask_for_box(struct call *call)
{
	struct box_spec spec = {
		.argv = call->command.argv,
		.env = call->command.env,
		.limits = call->verdict.tool->limits,
		.fds = { call->child_fds[0], call->child_fds[1],
		    call->child_fds[2] },
	};
	struct err err = { 0 };
	int rc = sandbox_start(
	    call->calls->sandbox, &call->box, &spec, on_started, &err);

	if (rc == 1)
		return false;
	close_child_fds(call);
	call->state = rc == 0 ? CALL_STARTING : CALL_ENDED;
	if (rc == -1) {
		fail(call, &err);
		set_timer(call, 0);
	}
	return true;
}

static int
make_pipe(int *ret_read, int *ret_write, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return err_errno(err, "pipe");
	*ret_read = fds[0];
	*ret_write = fds[1];
	/* Only our end: a tool expects a pipe that waits. */
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) == -1)
		return err_errno(err, "pipe");
	return 0;
}

static int
make_streams(struct call *call, struct slice arguments, struct err *err)
{
	call->child_fds[0] = arguments_open(arguments, err);
	if (call->child_fds[0] == -1)
		return -1;
	if (make_pipe(&call->out.fd, &call->child_fds[1], err) == -1 ||
	    make_pipe(&call->err.fd, &call->child_fds[2], err) == -1)
		return -1;
	return 0;
}

static struct call *
call_new(struct calls *calls, const struct call_request *r)
{
	struct call *call = MEM_NEW(struct call);
	uint64_t wall_ms = (uint64_t)r->tool->limits.wall_s * 1000;

	call->calls = calls;
	call->on_done = r->on_done;
	call->arg = r->arg;
	call->box.pidfd = call->box.report = -1;
	call->out.fd = call->err.fd = -1;
	for (int i = 0; i < 3; i++)
		call->child_fds[i] = -1;
	output_init(&call->out.output);
	output_init(&call->err.output);
	call->started_ms = clock_ms();
	call->verdict.tool = r->tool;
	call->verdict.limit_ms =
	    r->left_ms != 0 && r->left_ms < wall_ms ? r->left_ms : wall_ms;
	uv_timer_init(calls->loop, &call->timer);
	call->timer.data = call;
	call->open_handles = 1;
	list_append(&calls->all, &call->link);
	return call;
}

struct call *
call_start(struct calls *calls, const struct call_request *r)
{
	struct call *call = call_new(calls, r);
	struct slice arguments = r->arguments;
	struct err err = { 0 };

	call->state = CALL_ENDED;
	if (arguments_check(r->tool, &arguments, &err) == -1) {
		fail(call, &err);
		call->verdict.outcome = CALL_REJECTED;
		set_timer(call, 0);
		return call;
	}
	command_build(&call->command, calls->sandbox, r);
	if (make_streams(call, arguments, &err) == -1) {
		fail(call, &err);
		set_timer(call, 0);
		return call;
	}
	set_timer(call, call->verdict.limit_ms);
	call->state = CALL_WAITING;
	if (!list_is_empty(&calls->waiting) || !ask_for_box(call))
		list_append(&calls->waiting, &call->waiting);
	return call;
}

/* ---- all calls ---- */

static void
start_waiting(struct calls *calls)
{
	struct call *call;

	while ((call = LIST_FIRST(&calls->waiting, struct call, waiting)) !=
	       NULL) {
		if (!ask_for_box(call))
			return;
		list_remove(&call->waiting);
	}
}

/* Boxes die with the spawner; their calls end as their pidfds say so. */
static void
read_answers(struct calls *calls)
{
	if (!calls->lost && sandbox_read(calls->sandbox, &calls->loss) == -1) {
		uv_poll_stop(&calls->answers);
		calls->lost = true;
	}
	start_waiting(calls);
}

static void
on_answers(uv_poll_t *poll, int status, int events)
{
	struct calls *calls = poll->data;

	(void)status;
	(void)events;
	read_answers(calls);
	tell_loss(calls);
}

int
calls_init(struct calls *calls, uv_loop_t *loop, struct sandbox *sandbox,
    void (*on_lost)(void *arg, const struct err *err), void *arg,
    struct err *err)
{
	*calls = (struct calls){
		.loop = loop,
		.sandbox = sandbox,
		.on_lost = on_lost,
		.arg = arg,
	};
	list_init(&calls->waiting);
	list_init(&calls->all);
	if (uv_poll_init(loop, &calls->answers, sandbox_fd(sandbox)) != 0 ||
	    uv_poll_start(&calls->answers, UV_READABLE, on_answers) != 0)
		return err_set(err, ERR_SYSTEM, "event loop: spawner");
	calls->answers.data = calls;
	return 0;
}

void
calls_release(struct calls *calls)
{
	struct call *call;

	while ((call = LIST_FIRST(&calls->all, struct call, link)) != NULL)
		give_back(call);
	uv_close((uv_handle_t *)&calls->answers, NULL);
}
