/*
 * The tool worker at work. Owns the loop, the worker and the list of calls that
 * run for it; decides nothing about sessions (workers/worker.c) and nothing
 * about boxes (call.c).
 */
#include "workers/tool/serve.h"

#include <signal.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/log.h"
#include "workers/worker.h"

#define SERVE_LOST_MS 2000u /* for the last results after the spawner died */

struct serve {
	const struct serve_config *config; /* borrowed */
	struct loop loop;
	struct worker *worker;
	struct calls calls;
	struct list jobs;
	uv_signal_t term, interrupt;
	uv_timer_t last;
	bool draining;
	struct err lost; /* kind ERR_NONE: the spawner lives */
};

/* One attempt that runs. */
struct job {
	struct list link;
	struct serve *serve; /* borrowed */
	struct attempt attempt;
	struct call *call; /* borrowed until its end */
	const char *tool;
};

/* ---- what the worker asks ---- */

static void
describe(void *arg, struct json_writer *w)
{
	const struct serve *s = arg;

	json_key(w, "labels");
	json_open(w, '{');
	json_close(w);
	json_key(w, "models");
	json_open(w, '[');
	json_close(w);
	json_key(w, "tools");
	catalogue_describe(s->config->catalogue, w);
}

static struct msg
make_done(
    const struct job *job, const struct call_result *r, const struct buf *text)
{
	struct msg msg = { .id = MSG_tool_done };
	enum sandbox_level level = sandbox_level(job->serve->config->sandbox);

	msg.tool_done = (struct msg_tool_done){
		.run = job->attempt.run,
		.turn = job->attempt.turn,
		.call = job->attempt.call,
		.attempt = job->attempt.attempt,
		.size = text->len,
		.outcome = slice_string(call_outcome_name(r->outcome)),
		.code = r->code,
		.wall_ms = r->wall_ms,
		.cpu_ms = r->cpu_ms,
		.rss_kb = r->rss_kb,
		.stdout_bytes = r->stdout_bytes,
		.stderr_bytes = r->stderr_bytes,
		.dropped_bytes = r->dropped_bytes,
		.sandbox = slice_string(sandbox_level_name(level)),
	};
	return msg;
}

static void
log_end(const struct job *job, const struct call_result *r)
{
	enum log_level level =
	    r->outcome == CALL_SANDBOX_ERROR ? LOG_ERROR : LOG_DEBUG;

	LOG_AT(level, "call ended", log_uuid("run", &job->attempt.run),
	    log_num("turn", (int64_t)job->attempt.turn),
	    log_num("call", (int64_t)job->attempt.call),
	    log_str("tool", job->tool),
	    log_str("outcome", call_outcome_name(r->outcome)),
	    log_num("code", r->code), log_num("wall_ms", (int64_t)r->wall_ms));
}

static void
on_call_done(void *arg, const struct call_result *result, struct buf *text)
{
	struct job *job = arg;
	struct msg msg = make_done(job, result, text);

	log_end(job, result);
	list_remove(&job->link);
	worker_done(job->serve->worker, &job->attempt, &msg, text);
	mem_free(job);
}

static void
on_start(void *arg, const struct attempt *attempt, const struct msg *msg,
    struct slice body)
{
	struct serve *s = arg;
	const struct msg_tool_start *start = &msg->tool_start;
	const struct tool *tool;
	char run[UUID_TEXT];
	struct job *job;

	if (msg->id != MSG_tool_start) {
		worker_refuse(s->worker, attempt, "this is a tool worker");
		return;
	}
	tool = catalogue_find(s->config->catalogue, start->name);
	if (tool == NULL || s->lost.kind != ERR_NONE) {
		worker_refuse(s->worker, attempt,
		    tool == NULL ? "unknown tool" : "draining");
		return;
	}
	job = MEM_NEW(struct job);
	job->serve = s;
	job->attempt = *attempt;
	job->tool = tool->name;
	list_append(&s->jobs, &job->link);
	job->call = call_start(&s->calls,
	    &(const struct call_request){
		.tool = tool,
		.arguments = body,
		.run_id = slice_string(uuid_text(&attempt->run, run)),
		.call_id = start->call_id,
		.key = start->key,
		.left_ms = start->left_ms,
		.on_done = on_call_done,
		.arg = job,
	    });
}

static bool
attempt_is(const struct attempt *a, const struct attempt *b)
{
	return uuid_eq(&a->run, &b->run) && a->turn == b->turn &&
	       a->call == b->call && a->attempt == b->attempt;
}

static void
on_cancel(void *arg, const struct attempt *attempt)
{
	struct serve *s = arg;
	struct job *job;

	LIST_EACH (job, next, &s->jobs, struct job, link) {
		if (attempt_is(&job->attempt, attempt)) {
			call_cancel(job->call);
			return;
		}
	}
}

/* ---- the end ---- */

static void
on_drained(void *arg)
{
	struct serve *s = arg;

	loop_stop(&s->loop);
}

static void
drain(struct serve *s)
{
	if (!s->draining)
		worker_drain(s->worker);
	s->draining = true;
}

static void
on_signal(uv_signal_t *handle, int number)
{
	struct serve *s = handle->data;

	log_info("signal", log_num("number", number));
	if (s->draining)
		loop_stop(&s->loop);
	else
		drain(s);
}

static void
on_last(uv_timer_t *timer)
{
	struct serve *s = timer->data;

	loop_stop(&s->loop);
}

/* Without its spawner a worker can only tell what has happened to its calls;
 * a new process then starts with a new one. */
static void
on_lost(void *arg, const struct err *err)
{
	struct serve *s = arg;

	if (s->lost.kind != ERR_NONE)
		return;
	s->lost = *err;
	drain(s);
	uv_timer_start(&s->last, on_last, SERVE_LOST_MS, 0);
}

/* ---- the start ---- */

static int
watch_signals(struct serve *s, struct err *err)
{
	uv_timer_init(&s->loop.uv, &s->last);
	uv_signal_init(&s->loop.uv, &s->term);
	uv_signal_init(&s->loop.uv, &s->interrupt);
	s->last.data = s->term.data = s->interrupt.data = s;
	if (uv_signal_start(&s->term, on_signal, SIGTERM) != 0 ||
	    uv_signal_start(&s->interrupt, on_signal, SIGINT) != 0)
		return err_set(err, ERR_SYSTEM, "signals cannot be watched");
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int
join(struct serve *s, void *zmq, struct err *err)
{
	const struct serve_config *c = s->config;
	const struct worker_config config = {
		.loop = &s->loop,
		.zmq = zmq,
		.endpoint = c->endpoint,
		.kind = "tool",
		.name = c->name,
		.sandbox = sandbox_level_name(sandbox_level(c->sandbox)),
		.slots = c->slots,
		.orphan_ms = c->orphan_ms,
		.describe = describe,
		.start = on_start,
		.cancel = on_cancel,
		.drained = on_drained,
		.arg = s,
	};

	if (watch_signals(s, err) == -1)
		return -1;
	return worker_new(&s->worker, &config, err);
}

static void
free_jobs(struct serve *s)
{
	struct job *job;

	while ((job = LIST_FIRST(&s->jobs, struct job, link)) != NULL) {
		list_remove(&job->link);
		mem_free(job);
	}
}

int
serve(const struct serve_config *config, struct err *err)
{
	struct serve s = { .config = config };
	void *zmq = zmq_ctx_new();
	int rc = -1;

	list_init(&s.jobs);
	if (zmq == NULL)
		return err_errno(err, "ZeroMQ");
	if (loop_init(&s.loop, err) == -1)
		goto out;
	if (calls_init(
		&s.calls, &s.loop.uv, config->sandbox, on_lost, &s, err) == 0) {
		rc = join(&s, zmq, err);
		if (rc == 0)
			loop_run(&s.loop);
		s.worker = worker_free(s.worker);
		calls_release(&s.calls);
		free_jobs(&s);
	}
	loop_release(&s.loop);
	if (rc == 0 && s.lost.kind != ERR_NONE)
		rc = err_set(err, s.lost.kind, "%s", s.lost.text);
out:
	zmq_ctx_term(zmq);
	return rc;
}
