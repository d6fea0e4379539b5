/*
 * The skeleton of a worker. Owns the link, the timer, the session and what is
 * held. All decisions about a start fall here, by the session at the moment at
 * which the start is read; what an attempt does is the worker's own business
 * behind the callbacks.
 */
#include "workers/worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "proto/ipc.h"
#include "workers/held.h"
#include "workers/session.h"

#include <unistd.h>

#define TICK_MS          250u
#define ALONE_TOLD_MS    5000u  /* without a supervisor: say so */
#define ALONE_AGAIN_MS   60000u /* and again */
#define DRAIN_ALONE_MS   2000u  /* a drain without supervisor and results */
#define DRAIN_RESULTS_MS 10000u /* with results that nobody acks */
#define BYE_LINGER_MS    1000

struct worker {
	struct worker_config config;
	struct uuid process;
	char host[LIMIT_NAME + 1];
	struct link *link;
	struct loop_pass pass;
	uv_timer_t timer;
	struct session session;
	struct held_set held;
	uint64_t granted; /* starts that the supervisor may still send */
	uint64_t told_ms; /* when it was said that nobody answers; 0 = not */
	bool draining;
	bool drained;
};

typedef void handler(
    struct worker *worker, const struct msg *msg, struct slice body);

/* ---- the session ---- */

static void
log_lapse(const struct worker *worker, const char *why)
{
	log_warn("session lapsed",
	    log_num("session", (int64_t)worker->session.number),
	    log_str("reason", why));
}

static void
check_session(struct worker *worker)
{
	const char *why = session_check(&worker->session, clock_ms());

	if (why != NULL)
		log_lapse(worker, why);
}

static void
lapse(struct worker *worker, const char *why)
{
	if (!worker->session.open)
		return;
	session_end(&worker->session, clock_ms());
	log_lapse(worker, why);
}

/* Slots are for what runs; as many results may wait for their acks beside, so
 * that a slow commit leaves no slot idle. */
static uint64_t
free_slots(const struct worker *worker)
{
	uint64_t slots = worker->config.slots;
	uint64_t running = worker->held.running, held = worker->held.count;

	if (worker->draining || running >= slots || held >= 2 * slots)
		return 0;
	return slots - running < 2 * slots - held ? slots - running
						  : 2 * slots - held;
}

static struct msg
make_hello(const struct worker *worker)
{
	const struct worker_config *config = &worker->config;

	return (struct msg){
		.id = MSG_hello,
		.hello = {
			.kind = slice_string(config->kind),
			.name = slice_string(config->name),
			.process = worker->process,
			.version = SLICE(REEVE_VERSION),
			.session = worker->session.number + 1,
			.pid = (uint64_t)getpid(),
			.credit = free_slots(worker),
			.slots = config->slots,
			.host = slice_string(worker->host),
			.sandbox = slice_string(config->sandbox),
		},
	};
}

static void
make_hello_body(struct worker *worker, struct buf *body)
{
	struct json_writer w = json_writer(body);

	json_open(&w, '{');
	if (worker->config.describe != NULL)
		worker->config.describe(worker->config.arg, &w);
	held_set_describe(&worker->held, &w);
	json_close(&w);
}

static void
say_hello(struct worker *worker)
{
	struct buf body = BUF_INIT(LIMIT_BODY);
	struct msg msg = make_hello(worker);
	struct err err;
	bool sent;

	make_hello_body(worker, &body);
	sent = link_send_take(worker->link, NULL, &msg, &body, &err) == 0;
	session_hello(&worker->session, clock_ms(), sent);
	if (sent)
		worker->granted = msg.hello.credit;
	else if (err.kind != ERR_PEER)
		log_error("hello not sent", log_err(&err));
}

static void
send_heartbeat(struct worker *worker, uint64_t now)
{
	struct err err;
	struct msg msg = {
		.id = MSG_heartbeat,
		.heartbeat = {
			.session = worker->session.number,
			.sent_ms = now,
		},
	};

	if (link_send(worker->link, NULL, &msg, (struct slice){ 0 }, &err) ==
	    -1)
		log_warn_slow("heartbeat not sent", log_err(&err));
	session_beat(&worker->session, now);
}

static void
on_welcome(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_welcome *welcome = &msg->welcome;
	uint64_t now = clock_ms();

	(void)body;
	if (!session_welcome(
		&worker->session, welcome->session, welcome->lease_ms, now))
		return;
	log_info("session opened",
	    log_num("session", (int64_t)welcome->session),
	    log_uuid("supervisor", &welcome->supervisor));
	held_set_offer(&worker->held, now);
}

static void
on_heartbeat(struct worker *worker, const struct msg *msg, struct slice body)
{
	(void)body;
	session_echo(
	    &worker->session, msg->heartbeat.session, msg->heartbeat.sent_ms);
}

/* It does not know this session, goes, or answers a hello that it refuses. */
static void
on_bye(struct worker *worker, const struct msg *msg, struct slice body)
{
	(void)body;
	log_warn_slow(
	    "supervisor said bye", log_slice("reason", msg->bye.reason));
	lapse(worker, "the supervisor said bye");
}

/* ---- attempts ---- */

static void
send_refused(
    struct worker *worker, const struct attempt *attempt, const char *reason)
{
	struct slice text = slice_string(reason);
	struct err err;
	struct msg msg = {
		.id = MSG_refused,
		.refused = {
			.run = attempt->run,
			.turn = attempt->turn,
			.call = attempt->call,
			.attempt = attempt->attempt,
		},
	};

	text.len = utf8_cut(text, LIMIT_TEXT);
	msg.refused.reason = text;
	log_info("start refused", log_uuid("run", &attempt->run),
	    log_num("turn", (int64_t)attempt->turn),
	    log_num("call", (int64_t)attempt->call), log_str("reason", reason));
	if (link_send(worker->link, NULL, &msg, (struct slice){ 0 }, &err) ==
	    -1)
		log_warn_slow("refusal not sent", log_err(&err));
}

/* What is held comes first: to refuse an attempt that runs here would say that
 * it never began. */
static void
take_start(struct worker *worker, uint64_t session,
    const struct attempt *attempt, const struct msg *msg, struct slice body)
{
	if (held_set_find(&worker->held, attempt) != NULL)
		return;
	if (!worker->session.open || session != worker->session.number) {
		send_refused(worker, attempt, "stale");
		return;
	}
	if (worker->draining) {
		send_refused(worker, attempt, "draining");
		return;
	}
	if (worker->granted == 0) {
		send_refused(worker, attempt, "no credit");
		return;
	}
	worker->granted--;
	held_set_add(&worker->held, attempt);
	worker->config.start(worker->config.arg, attempt, msg, body);
}

static void
on_turn_start(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_turn_start *start = &msg->turn_start;
	struct attempt attempt = { start->run, start->turn, 0, start->attempt };

	take_start(worker, start->session, &attempt, msg, body);
}

static void
on_tool_start(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_tool_start *start = &msg->tool_start;
	struct attempt attempt = { start->run, start->turn, start->call,
		start->attempt };

	take_start(worker, start->session, &attempt, msg, body);
}

static void
cancel_held(struct worker *worker, struct held *held)
{
	struct attempt attempt = held->attempt;

	if (held->finished || held->cancelled)
		return;
	held->cancelled = true;
	worker->config.cancel(worker->config.arg, &attempt);
}

static void
on_cancel(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_cancel *cancel = &msg->cancel;
	struct attempt attempt = { cancel->run, cancel->turn, cancel->call,
		cancel->attempt };
	struct held *held = held_set_find(&worker->held, &attempt);

	(void)body;
	if (held != NULL)
		cancel_held(worker, held);
}

static void
on_watch_turn(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_watch_turn *watch = &msg->watch_turn;
	struct attempt attempt = { watch->run, watch->turn, 0, watch->attempt };
	struct held *held = held_set_find(&worker->held, &attempt);

	(void)body;
	if (held != NULL && !held->finished && worker->config.watch != NULL)
		worker->config.watch(worker->config.arg, &attempt, watch->on);
}

static void
on_take(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_take *take = &msg->take;
	struct attempt attempt = { take->run, take->turn, take->call,
		take->attempt };
	struct held *held = held_set_find(&worker->held, &attempt);

	(void)body;
	if (held == NULL || !held->finished)
		return;
	held->taken = true;
	held_send(&worker->held, held, worker->link, clock_ms());
}

static void
forget(struct worker *worker, struct held *held)
{
	held_set_remove(&worker->held, held);
}

/* An ack of what still runs says that its result is of no use. */
static void
on_ack(struct worker *worker, const struct msg *msg, struct slice body)
{
	const struct msg_ack *ack = &msg->ack;
	struct attempt attempt = { ack->run, ack->turn, ack->call,
		ack->attempt };
	struct held *held = held_set_find(&worker->held, &attempt);

	(void)body;
	if (held == NULL)
		return;
	if (held->finished) {
		forget(worker, held);
		return;
	}
	held->unwanted = true;
	cancel_held(worker, held);
}

static struct held *
must_run(const struct worker *worker, const struct attempt *attempt)
{
	struct held *held = held_set_find(&worker->held, attempt);

	if (held == NULL || held->finished)
		BUG("an attempt that does not run has ended");
	return held;
}

void
worker_done(struct worker *worker, const struct attempt *attempt,
    const struct msg *msg, struct buf *body)
{
	struct held *held = must_run(worker, attempt);

	held_finish(&worker->held, held, msg, body);
	if (held->unwanted) {
		forget(worker, held);
		return;
	}
	check_session(worker);
	if (worker->session.open)
		held_send(&worker->held, held, worker->link, clock_ms());
}

void
worker_refuse(
    struct worker *worker, const struct attempt *attempt, const char *reason)
{
	struct attempt refused = *attempt;

	forget(worker, must_run(worker, attempt));
	send_refused(worker, &refused, reason);
}

void
worker_delta(struct worker *worker, const struct msg *msg, struct slice body)
{
	struct err err;

	check_session(worker);
	if (worker->session.open &&
	    link_send(worker->link, NULL, msg, body, &err) == -1)
		log_warn_slow("delta not sent", log_err(&err));
}

/* ---- the end ---- */

/* A drain opens a new session without credit: once it is welcomed, every start
 * of the old one has been read and refused, so none is lost on the way. */
void
worker_drain(struct worker *worker)
{
	if (worker->draining)
		return;
	log_info("draining", log_num("running", (int64_t)worker->held.running),
	    log_num("held", (int64_t)worker->held.count));
	worker->draining = true;
	worker->granted = 0;
	if (!worker->session.open)
		return;
	session_end(&worker->session, clock_ms());
	say_hello(worker);
}

static void
on_drain(struct worker *worker, const struct msg *msg, struct slice body)
{
	(void)msg;
	(void)body;
	worker_drain(worker);
}

static bool
is_drained(const struct worker *worker, uint64_t now)
{
	uint64_t alone = now - worker->session.alone_ms;

	if (worker->held.running > 0)
		return false;
	if (worker->session.open)
		return worker->draining && worker->held.count == 0;
	if (worker->draining)
		return alone >= (worker->held.count == 0 ? DRAIN_ALONE_MS
							 : DRAIN_RESULTS_MS);
	return worker->config.orphan_ms > 0 &&
	       alone >= worker->config.orphan_ms;
}

static void
finish(struct worker *worker)
{
	struct msg bye = { .id = MSG_bye, .bye = { SLICE("drained") } };
	struct err err;

	worker->drained = true;
	uv_timer_stop(&worker->timer);
	if (worker->held.count > 0)
		log_error("results given up",
		    log_num("results", (int64_t)worker->held.count));
	if (link_send(worker->link, NULL, &bye, (struct slice){ 0 }, &err) ==
	    -1)
		log_debug("bye not sent", log_err(&err));
	log_info(
	    "drained", log_num("session", (int64_t)worker->session.number));
	worker->config.drained(worker->config.arg);
}

static void
pay_credit(struct worker *worker)
{
	struct err err;
	uint64_t free = free_slots(worker);
	struct msg msg = { .id = MSG_credit };

	if (free <= worker->granted)
		return;
	msg.credit.count = free - worker->granted;
	if (link_send(worker->link, NULL, &msg, (struct slice){ 0 }, &err) == 0)
		worker->granted = free;
}

/* A socket that is not there, or that this user may not open, is silence. */
static void
tell_alone(struct worker *worker, uint64_t now)
{
	uint64_t alone = now - worker->session.alone_ms;
	struct err err = { 0 };
	const char *path;

	if (worker->session.open || alone < ALONE_TOLD_MS) {
		worker->told_ms = 0;
		return;
	}
	if (worker->told_ms != 0 && now - worker->told_ms < ALONE_AGAIN_MS)
		return;
	worker->told_ms = now;
	path = ipc_path(worker->config.endpoint, &err);
	log_warn("no supervisor", log_str("endpoint", worker->config.endpoint),
	    log_num("since_ms", (int64_t)alone),
	    log_str("reason", path != NULL && access(path, R_OK | W_OK) == -1
				  ? strerror(errno)
				  : "it does not answer"));
}

/* ---- the loop ---- */

/* Everything that time brings. In the pass, so that what handlers changed
 * leaves before the loop waits: one credit for all slots that they freed. */
static void
on_pass(void *arg)
{
	struct worker *worker = arg;
	uint64_t now = clock_ms();

	if (worker->drained)
		return;
	check_session(worker);
	session_alive(&worker->session, now);
	if (session_hello_is_due(&worker->session, now))
		say_hello(worker);
	if (session_beat_is_due(&worker->session, now))
		send_heartbeat(worker, now);
	if (worker->session.open) {
		held_set_send(&worker->held, worker->link, now);
		pay_credit(worker);
	}
	tell_alone(worker, now);
	if (is_drained(worker, now))
		finish(worker);
}

static void
on_tick(uv_timer_t *timer)
{
	(void)timer; /* the pass works; the timer bounds the wait before it */
}

static void
on_connection(void *arg, bool up)
{
	struct worker *worker = arg;

	if (up) {
		session_connected(&worker->session, clock_ms());
		return;
	}
	lapse(worker, "the connection broke");
	session_disconnected(&worker->session, clock_ms());
}

static handler *const handlers[MSG_IDS] = {
	[MSG_welcome] = on_welcome,
	[MSG_heartbeat] = on_heartbeat,
	[MSG_bye] = on_bye,
	[MSG_turn_start] = on_turn_start,
	[MSG_tool_start] = on_tool_start,
	[MSG_cancel] = on_cancel,
	[MSG_watch_turn] = on_watch_turn,
	[MSG_take] = on_take,
	[MSG_ack] = on_ack,
	[MSG_drain] = on_drain,
};

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct worker *worker = arg;

	(void)peer;
	(void)owner;
	if (worker->drained)
		return;
	check_session(worker);
	if (handlers[msg->id] == NULL) {
		log_warn_slow("message is not for a worker",
		    log_str("message", msg_name(msg->id)));
		return;
	}
	handlers[msg->id](worker, msg, body);
}

static void
on_refused(void *arg, const struct peer *peer, const struct err *err)
{
	(void)arg;
	(void)peer;
	log_warn_slow("message refused", log_err(err));
}

/* ---- birth and death ---- */

/* Whatever would make every hello fail is found now. */
static int
check_config(struct worker *worker, struct err *err)
{
	struct buf frame = BUF_INIT(LIMIT_MESSAGE), body = BUF_INIT(LIMIT_BODY);
	struct msg msg = make_hello(worker);
	int rc = -1;

	make_hello_body(worker, &body);
	if (worker->config.slots == 0)
		err_set(err, ERR_INPUT, "slots: 0, allowed is 1 to %u",
		    LIMIT_CREDIT);
	else if (msg_encode(&msg, &frame, err) == 0 &&
		 buf_check(&body, "description", err) == 0)
		rc = 0;
	buf_release(&frame);
	buf_release(&body);
	return rc;
}

static int
open_link(struct worker *worker, struct err *err)
{
	struct link_config config = {
		.zmq = worker->config.zmq,
		.loop = worker->config.loop,
		.endpoint = worker->config.endpoint,
		.bind = false,
		.accepts = MSG_FROM_SUPERVISOR,
		.on_message = on_message,
		.on_refused = on_refused,
		.on_connection = on_connection,
		.arg = worker,
	};

	return link_new(&worker->link, &config, err);
}

int
worker_new(struct worker **ret_worker, const struct worker_config *config,
    struct err *err)
{
	struct worker *worker = MEM_NEW(struct worker);

	worker->config = *config;
	worker->process = uuid_v4();
	held_set_init(&worker->held);
	if (gethostname(worker->host, sizeof(worker->host) - 1) == -1)
		worker->host[0] = '\0';
	session_init(&worker->session, clock_ms());
	if (check_config(worker, err) == -1 || open_link(worker, err) == -1) {
		held_set_release(&worker->held);
		mem_free(worker);
		return err_wrap(err, "worker %s", config->name);
	}
	loop_add_pass(config->loop, &worker->pass, on_pass, worker);
	uv_timer_init(&config->loop->uv, &worker->timer);
	worker->timer.data = worker;
	uv_timer_start(&worker->timer, on_tick, TICK_MS, TICK_MS);
	*ret_worker = worker;
	return 0;
}

static void
on_timer_closed(uv_handle_t *handle)
{
	mem_free(handle->data);
}

struct worker *
worker_free(struct worker *worker)
{
	if (worker == NULL)
		return NULL;
	worker->drained = true;
	worker->link = link_free(worker->link, BYE_LINGER_MS);
	held_set_release(&worker->held);
	loop_remove_pass(&worker->pass);
	uv_close((uv_handle_t *)&worker->timer, on_timer_closed);
	return NULL;
}

bool
worker_is_connected(const struct worker *worker)
{
	return worker->session.open;
}
