/*
 * Keeps a watch alive. When the connection broke, the watch is asked for again
 * from the last event: a restarted supervisor knows no watchers. After a long
 * silence too, since a process that stands still keeps its connections. Each
 * watch follows an unwatch, whose answer proves that somebody is there, and
 * which ends the watch that may still stand. Deltas that were lost on the way
 * are made good by a new watch too: it brings a snapshot. Owns its timer and
 * signals while it runs; never prints.
 */
#include "cli/follow.h"

#include <signal.h>

#include "base/clock.h"

#define TICK_MS     50u
#define AGAIN_MS    250u /* between two tries while nobody is there */
#define OVERS_MAX   2
#define NEVER       UINT64_MAX
#define SIGNALS     2
#define HANDLES_MAX (1 + SIGNALS)

struct follow {
	struct follow_config config;
	struct loop *loop; /* borrowed from the client */
	uv_timer_t timer;
	uv_signal_t signals[SIGNALS];
	int open; /* handles */
	uint64_t seq;
	uint64_t unwatch_request, watch_request, get_request;
	uint64_t
	    asked_ms; /* the watch was sent then; NEVER = it was answered */
	uint64_t again_ms; /* not before: the next try */
	uint64_t heard_ms; /* anything about the run */
	uint64_t lost_ms;  /* nobody is there since; NEVER = somebody is */
	uint64_t news_ms;  /* the last event */
	uint64_t get_ms;   /* when to ask what it waits for */
	uint64_t gap_ms;   /* deltas are missing since; NEVER = none are */
	uint64_t turn, attempt, next; /* the delta that comes next */
	uint32_t get_pause_ms;
	unsigned
	    overs; /* answers that say the run has ended, without its end */
	bool was_heard, stopped;
	enum follow_end end;
	int rc;
	struct err *err;
};

static void
stop(struct follow *f, int rc, enum follow_end end)
{
	if (f->stopped)
		return;
	f->stopped = true;
	f->rc = rc;
	f->end = end;
	loop_stop(f->loop);
}

static void
note(struct follow *f, enum follow_note note, struct json value)
{
	if (f->config.on_note != NULL)
		f->config.on_note(f->config.arg, note, value);
}

/* Somebody is there. */
static void
met(struct follow *f)
{
	bool was_lost = f->lost_ms != NEVER;

	f->asked_ms = NEVER;
	f->lost_ms = NEVER;
	f->heard_ms = clock_ms();
	if (was_lost && f->was_heard)
		note(f, FOLLOW_CONNECTION_BACK, (struct json){ 0 });
}

/* And knows the run. */
static void
heard(struct follow *f)
{
	met(f);
	f->was_heard = true;
}

static void
lost(struct follow *f, uint64_t since_ms)
{
	f->asked_ms = NEVER;
	f->again_ms = clock_ms() + AGAIN_MS;
	if (f->lost_ms != NEVER)
		return;
	f->lost_ms = since_ms;
	if (f->was_heard)
		note(f, FOLLOW_CONNECTION_LOST, (struct json){ 0 });
}

/* Events that are not stored; they carry the seq of the last stored one. */
static bool
is_passing(struct slice type)
{
	return slice_is(type, "delta") || slice_is(type, "snapshot") ||
	       slice_is(type, "resync");
}

/* Do deltas begin where the last ones ended? */
static void
note_deltas(struct follow *f, struct slice type, struct json body)
{
	uint64_t turn = 0, attempt = 0, offset = 0;
	bool snapshot = slice_is(type, "snapshot");

	if (!snapshot && !slice_is(type, "delta"))
		return;
	json_u64(json_get(body, "turn"), &turn);
	json_u64(json_get(body, "attempt"), &attempt);
	json_u64(json_get(body, "offset"), &offset);
	if (turn != f->turn || attempt != f->attempt) {
		f->next = 0;
		f->gap_ms = NEVER;
	}
	f->turn = turn;
	f->attempt = attempt;
	if (snapshot)
		f->gap_ms = NEVER;
	else if (offset > f->next && f->gap_ms == NEVER)
		f->gap_ms = f->heard_ms;
	if (!snapshot)
		offset += json_count(json_get(body, "deltas"));
	if (offset > f->next)
		f->next = offset;
}

static void
on_event(void *arg, const struct msg_event *event, struct json body)
{
	struct follow *f = arg;

	if (f->stopped || !uuid_eq(&event->run, &f->config.run))
		return;
	heard(f);
	f->news_ms = f->heard_ms;
	f->get_pause_ms = f->config.waits_ms;
	f->get_ms = f->news_ms + f->get_pause_ms;
	f->overs = 0;
	if (!is_passing(event->type)) {
		if (event->seq <= f->seq)
			return;
		f->seq = event->seq;
	}
	note_deltas(f, event->type, body);
	f->config.on_event(f->config.arg, event, body);
	if (event->final)
		stop(f, 0, FOLLOW_ENDED);
}

/* What the run's row says while no event comes. An end whose event lies before
 * from_seq never comes; one that was just committed comes soon, so the row is
 * believed at the second look. */
static void
on_row(struct follow *f, struct json body)
{
	struct json run = json_get(body, "run");
	struct json waits = json_get(run, "waits_for");

	heard(f);
	if (waits.type == JSON_STRING)
		note(f, FOLLOW_WAITS, waits);
	if (json_get(run, "finished_at").type != JSON_STRING)
		return;
	if (++f->overs < OVERS_MAX)
		return;
	note(f, FOLLOW_OVER, run);
	stop(f, 0, FOLLOW_ENDED);
}

/* A supervisor that was fine before and has trouble now gets the same time to
 * recover as one that is gone. */
static void
on_refusal(struct follow *f, const struct msg_failed *failed)
{
	enum err_kind kind = client_refusal(failed);

	if (f->was_heard && (kind == ERR_BUSY || kind == ERR_SYSTEM)) {
		lost(f, clock_ms());
		return;
	}
	err_set(f->err, kind, "%.*s", SLICE_ARGS(failed->message));
	stop(f, -1, FOLLOW_ENDED);
}

static void
on_answer(void *arg, const struct msg *msg, struct json body)
{
	struct follow *f = arg;

	if (f->stopped)
		return;
	if (msg->id == MSG_reply && msg->reply.request == f->watch_request)
		heard(f);
	else if (msg->id == MSG_reply && msg->reply.request == f->get_request)
		on_row(f, body);
	else if (msg->id == MSG_reply &&
		 msg->reply.request == f->unwatch_request)
		met(f);
	else if (msg->id == MSG_failed &&
		 (msg->failed.request == f->watch_request ||
		     msg->failed.request == 0))
		on_refusal(f, &msg->failed);
}

static int
send_one(struct follow *f, const struct msg *msg)
{
	struct err err = { 0 };

	return client_send(f->config.client, msg, (struct slice){ 0 }, &err);
}

static void
send_watch(struct follow *f, uint64_t now)
{
	struct msg unwatch = { .id = MSG_unwatch };
	struct msg watch = { .id = MSG_watch };

	f->gap_ms = NEVER;
	f->unwatch_request = client_request(f->config.client);
	f->watch_request = client_request(f->config.client);
	unwatch.unwatch.request = f->unwatch_request;
	unwatch.unwatch.run = f->config.run;
	watch.watch = (struct msg_watch){
		.request = f->watch_request,
		.run = f->config.run,
		.from_seq = f->seq,
		.deltas = f->config.deltas,
	};
	if (send_one(f, &unwatch) == 0 && send_one(f, &watch) == 0)
		f->asked_ms = now;
	else
		lost(f, now);
}

static void
on_connection(void *arg, bool up)
{
	struct follow *f = arg;

	if (f->stopped)
		return;
	if (!up)
		lost(f, clock_ms());
	else if (f->asked_ms == NEVER && f->lost_ms != NEVER)
		send_watch(f, clock_ms());
}

/* Asks what the run waits for; a lost question is asked again later. */
static void
send_get(struct follow *f, uint64_t now)
{
	struct msg msg = { .id = MSG_get };

	f->get_request = client_request(f->config.client);
	msg.get.request = f->get_request;
	msg.get.run = f->config.run;
	if (send_one(f, &msg) == -1)
		return;
	f->get_pause_ms = f->get_pause_ms * 2 < FOLLOW_WAITS_MAX
			      ? f->get_pause_ms * 2
			      : FOLLOW_WAITS_MAX;
	f->get_ms = now + f->get_pause_ms;
}

/* Is it time to ask for the watch (again)? */
static bool
is_watch_due(const struct follow *f, uint64_t now)
{
	if (f->asked_ms != NEVER)
		return false;
	if (f->lost_ms != NEVER)
		return now >= f->again_ms;
	if (f->gap_ms != NEVER && now >= f->gap_ms + f->config.gap_ms)
		return true;
	return now >= f->heard_ms + f->config.silence_ms;
}

static void
on_tick(uv_timer_t *timer)
{
	struct follow *f = timer->data;
	uint64_t now = clock_ms();
	uint32_t patience =
	    f->was_heard ? f->config.lost_ms : f->config.answer_ms;

	if (f->stopped)
		return;
	if (f->asked_ms != NEVER && now >= f->asked_ms + f->config.answer_ms)
		lost(f, f->asked_ms);
	if (f->lost_ms != NEVER && now >= f->lost_ms + patience) {
		client_unreachable(f->config.client, f->err);
		stop(f, -1, FOLLOW_ENDED);
		return;
	}
	if (is_watch_due(f, now))
		send_watch(f, now);
	if (f->lost_ms == NEVER && f->asked_ms == NEVER && now >= f->get_ms)
		send_get(f, now);
}

static void
on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	stop(handle->data, 0, FOLLOW_DETACHED);
}

static void
on_closed(uv_handle_t *handle)
{
	struct follow *f = handle->data;

	f->open--;
}

static void
open_handles(struct follow *f)
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM };
	bool failed;

	failed = uv_timer_init(&f->loop->uv, &f->timer) != 0 ||
		 uv_timer_start(&f->timer, on_tick, TICK_MS, TICK_MS) != 0;
	f->timer.data = f;
	for (int i = 0; i < SIGNALS; i++) {
		failed |=
		    uv_signal_init(&f->loop->uv, &f->signals[i]) != 0 ||
		    uv_signal_start(&f->signals[i], on_signal, numbers[i]) != 0;
		f->signals[i].data = f;
	}
	if (failed)
		BUG("timer and signals do not start");
	f->open = HANDLES_MAX;
}

static void
close_handles(struct follow *f)
{
	uv_close((uv_handle_t *)&f->timer, on_closed);
	for (int i = 0; i < SIGNALS; i++)
		uv_close((uv_handle_t *)&f->signals[i], on_closed);
	while (f->open > 0)
		uv_run(&f->loop->uv, UV_RUN_NOWAIT);
}

static uint32_t
or_else(uint32_t given, uint32_t usual)
{
	return given > 0 ? given : usual;
}

int
follow_run(const struct follow_config *config, enum follow_end *ret_end,
    uint64_t *ret_seq, struct err *err)
{
	struct err ignored = { 0 };
	struct follow f = {
		.config = *config,
		.loop = client_loop(config->client),
		.seq = config->from_seq,
		.asked_ms = NEVER,
		.lost_ms = NEVER,
		.gap_ms = NEVER,
		.err = err == NULL ? &ignored : err,
	};
	const struct client_listener listener = {
		.on_event = on_event,
		.on_answer = on_answer,
		.on_connection = on_connection,
		.arg = &f,
	};

	f.config.silence_ms = or_else(config->silence_ms, FOLLOW_SILENCE_MS);
	f.config.answer_ms = or_else(config->answer_ms, FOLLOW_ANSWER_MS);
	f.config.lost_ms = or_else(config->lost_ms, FOLLOW_LOST_MS);
	f.config.gap_ms = or_else(config->gap_ms, FOLLOW_GAP_MS);
	f.config.waits_ms = or_else(config->waits_ms, FOLLOW_WAITS_MS);
	f.heard_ms = f.news_ms = clock_ms();
	f.get_pause_ms = f.config.waits_ms;
	f.get_ms = f.news_ms + f.get_pause_ms;
	client_listen(config->client, &listener);
	open_handles(&f);
	send_watch(&f, clock_ms());
	while (!f.stopped)
		loop_run(f.loop);
	close_handles(&f);
	client_listen(config->client, NULL);
	*ret_seq = f.seq;
	if (f.rc == 0)
		*ret_end = f.end;
	return f.rc;
}
