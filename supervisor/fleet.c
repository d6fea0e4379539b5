/*
 * Sessions by the rules W1 to W6 of the commit protocol. Owns the work socket.
 * Decides who may take a start; never what a result means.
 */
#include "supervisor/fleet.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/fleet_internal.h"

/* ---- sending ---- */

static int
send_to(struct fleet *fleet, const struct peer *peer, const struct msg *msg)
{
	struct err err = { 0 };

	if (link_send(fleet->link, peer, msg, (struct slice){ 0 }, &err) == 0)
		return 0;
	log_debug("message not sent", log_str("message", msg_name(msg->id)),
	    log_err(&err));
	return -1;
}

void
fleet_ack(struct fleet *fleet, const struct peer *peer, const struct uuid *run,
    uint64_t turn, uint64_t call, uint64_t attempt)
{
	struct msg msg = { .id = MSG_ack,
		.ack = { *run, turn, call, attempt } };

	/* A lost ack is asked for again by the repeated result. */
	(void)send_to(fleet, peer, &msg);
}

static void
send_take(struct fleet *fleet, const struct fleet_result *r)
{
	struct msg msg = { .id = MSG_take,
		.take = { r->run, r->turn, r->call, r->attempt } };

	(void)send_to(fleet, r->peer, &msg);
}

void
fleet_cancel(struct fleet *fleet, const struct uuid *process,
    const struct uuid *run, uint64_t turn, uint64_t call, uint64_t attempt)
{
	struct session *s = map_get(&fleet->by_process, uuid_slice(process));
	struct msg msg = { .id = MSG_cancel,
		.cancel = { *run, turn, call, attempt } };

	if (s != NULL)
		(void)send_to(fleet, &s->peer, &msg);
}

void
fleet_watch_turn(struct fleet *fleet, const struct uuid *process,
    const struct uuid *run, uint64_t turn, uint64_t attempt, bool on)
{
	struct session *s = map_get(&fleet->by_process, uuid_slice(process));
	struct msg msg = { .id = MSG_watch_turn,
		.watch_turn = { *run, turn, attempt, on } };

	if (s != NULL)
		(void)send_to(fleet, &s->peer, &msg);
}

int
fleet_start(struct fleet *fleet, const struct placement *at, struct msg *msg,
    struct buf *body)
{
	struct session *s =
	    map_get(&fleet->by_process, uuid_slice(&at->process));
	struct err err = { 0 };

	if (s == NULL || s->number != at->session) {
		buf_release(body);
		return -1;
	}
	if (link_send_take(fleet->link, &s->peer, msg, body, &err) == -1) {
		log_warn("start not sent", log_str("worker", s->name),
		    log_err(&err));
		s->flights -= s->flights > 0; /* credit said so already */
		/* A worker whose connection broke says hello again. */
		s->credit = err.code == EHOSTUNREACH ? 0 : s->credit + 1;
		return -1;
	}
	return 0;
}

void
fleet_say_bye(struct fleet *fleet, const char *reason, bool drain_local)
{
	struct session *s;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		struct msg msg = { .id = MSG_bye,
			.bye = { slice_string(reason) } };

		if (drain_local && strcmp(s->host, fleet->host) == 0)
			msg = (struct msg){ .id = MSG_drain,
				.drain = { slice_string(reason) } };
		(void)send_to(fleet, &s->peer, &msg);
	}
}

/* ---- sessions ---- */

static void
session_end(struct fleet *fleet, struct session *s, const char *why)
{
	log_info("worker session ended", log_str("worker", s->name),
	    log_num("session", (int64_t)s->number), log_str("why", why));
	list_remove(&s->link);
	fleet->session_count--;
	map_remove(&fleet->by_peer, peer_slice(&s->peer));
	if (map_get(&fleet->by_process, uuid_slice(&s->process)) == s)
		map_remove(&fleet->by_process, uuid_slice(&s->process));
	fleet_forget(fleet, s);
	session_free(s);
}

static void
refuse_hello(struct fleet *fleet, const struct peer *peer,
    const struct msg_hello *hello, const struct err *err)
{
	struct msg bye = { .id = MSG_bye, .bye = { slice_string(err->text) } };

	log_warn(
	    "worker refused", log_slice("worker", hello->name), log_err(err));
	(void)send_to(fleet, peer, &bye);
}

static void
welcome(struct fleet *fleet, struct session *s)
{
	struct msg msg = { .id = MSG_welcome,
		.welcome = {
		    fleet->config.supervisor, s->number, LEASE_WORKER_MS } };

	log_info("worker connected", log_str("worker", s->name),
	    log_str("kind", s->kind), log_num("session", (int64_t)s->number),
	    log_num("slots", (int64_t)s->slots),
	    log_num("pid", (int64_t)s->pid),
	    log_num("in_flight", (int64_t)s->flights));
	(void)send_to(fleet, &s->peer, &msg);
}

static void
on_hello(struct fleet *fleet, const struct peer *peer, const struct msg *msg,
    struct slice body)
{
	struct err err = { 0 };
	struct session *old =
	    map_get(&fleet->by_process, uuid_slice(&msg->hello.process));
	struct session *s;

	if (old != NULL && msg->hello.session <= old->number)
		return; /* an old hello that came late */
	if (old == NULL && fleet->session_count >= FLEET_SESSIONS_MAX) {
		err_set(&err, ERR_LIMIT, "more than %u workers",
		    FLEET_SESSIONS_MAX);
		refuse_hello(fleet, peer, &msg->hello, &err);
		return;
	}
	s = session_new(peer, &msg->hello, body, &err);
	if (s == NULL) {
		refuse_hello(fleet, peer, &msg->hello, &err);
		return;
	}
	if (old != NULL)
		session_end(fleet, old, "a new one began");
	old = map_get(&fleet->by_peer, peer_slice(peer));
	if (old != NULL)
		session_end(fleet, old, "its peer became another");
	if (fleet_learn(fleet, s, body, &err) == -1) {
		refuse_hello(fleet, peer, &msg->hello, &err);
		session_free(s);
		return;
	}
	list_append(&fleet->sessions, &s->link);
	fleet->session_count++;
	map_set(&fleet->by_peer, peer_slice(peer), s);
	map_set(&fleet->by_process, uuid_slice(&s->process), s);
	welcome(fleet, s);
	fleet->config.on_listed(fleet->config.arg, &s->process, &s->listed);
	fleet->config.on_session(fleet->config.arg);
	fleet->config.on_credit(fleet->config.arg);
}

/* ---- messages of a session ---- */

typedef void handler(struct fleet *fleet, struct session *s,
    const struct msg *msg, struct slice body, struct link_body *owner);

static void
on_credit(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	(void)body;
	(void)owner;
	s->credit += msg->credit.count;
	if (s->credit > LIMIT_CREDIT)
		s->credit = LIMIT_CREDIT;
	/* Credit comes back when a held attempt is forgotten. */
	s->flights -=
	    msg->credit.count < s->flights ? msg->credit.count : s->flights;
	fleet->config.on_credit(fleet->config.arg);
}

static void
on_heartbeat(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	(void)body;
	(void)owner;
	if (msg->heartbeat.session == s->number)
		(void)send_to(fleet, &s->peer, msg);
}

static void
on_delta(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	(void)s;
	(void)owner;
	fleet->config.on_delta(fleet->config.arg, msg, body);
}

static void
on_bye(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	(void)msg;
	(void)body;
	(void)owner;
	session_end(fleet, s, "it said bye");
	fleet->config.on_session(fleet->config.arg);
}

/* A result, whole or held back. */
static void
give_result(struct fleet *fleet, struct session *s, struct fleet_result *r,
    uint64_t size)
{
	if (r->turn > INT32_MAX || r->call > INT32_MAX ||
	    r->attempt > INT32_MAX) {
		log_warn_slow("result of no attempt",
		    log_str("worker", s->name), log_uuid("run", &r->run));
		fleet_ack(
		    fleet, r->peer, &r->run, r->turn, r->call, r->attempt);
		return;
	}
	if (size > 0 && r->body.len == 0) {
		send_take(fleet, r);
		return;
	}
	if (r->body.len != size) {
		log_warn("result with a body of another size",
		    log_str("worker", s->name), log_uuid("run", &r->run),
		    log_num("said", (int64_t)size),
		    log_num("came", (int64_t)r->body.len));
		send_take(fleet, r);
		return;
	}
	fleet->config.on_result(fleet->config.arg, r);
}

static void
on_turn_done(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	const struct msg_turn_done *m = &msg->turn_done;
	struct fleet_result r = { &s->peer, m->run, m->turn, 0, m->attempt, msg,
		body, owner };

	give_result(fleet, s, &r, m->size);
}

static void
on_turn_failed(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	const struct msg_turn_failed *m = &msg->turn_failed;
	struct fleet_result r = { &s->peer, m->run, m->turn, 0, m->attempt, msg,
		body, owner };

	give_result(fleet, s, &r, 0);
}

static void
on_tool_done(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	const struct msg_tool_done *m = &msg->tool_done;
	struct fleet_result r = { &s->peer, m->run, m->turn, m->call,
		m->attempt, msg, body, owner };

	give_result(fleet, s, &r, m->size);
}

static void
on_refused(struct fleet *fleet, struct session *s, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	const struct msg_refused *m = &msg->refused;
	struct fleet_result r = { &s->peer, m->run, m->turn, m->call,
		m->attempt, msg, body, owner };

	log_info("start refused", log_str("worker", s->name),
	    log_uuid("run", &m->run), log_slice("why", m->reason));
	give_result(fleet, s, &r, 0);
}

static handler *const handlers[MSG_IDS] = {
	[MSG_credit] = on_credit,
	[MSG_heartbeat] = on_heartbeat,
	[MSG_turn_delta] = on_delta,
	[MSG_turn_snapshot] = on_delta,
	[MSG_turn_done] = on_turn_done,
	[MSG_turn_failed] = on_turn_failed,
	[MSG_tool_done] = on_tool_done,
	[MSG_refused] = on_refused,
	[MSG_bye] = on_bye,
};

/* A peer without a session must say hello: it may believe that it has one with
 * my predecessor. */
static void
ask_hello(struct fleet *fleet, const struct peer *peer)
{
	struct msg bye = { .id = MSG_bye, .bye = { SLICE("say hello") } };

	(void)send_to(fleet, peer, &bye);
}

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct fleet *fleet = arg;
	struct session *s;

	if (msg->id == MSG_hello) {
		on_hello(fleet, peer, msg, body);
		return;
	}
	s = map_get(&fleet->by_peer, peer_slice(peer));
	if (s == NULL) {
		if (msg->id != MSG_bye)
			ask_hello(fleet, peer);
		return;
	}
	s->heard_ms = clock_ms();
	if (handlers[msg->id] != NULL)
		handlers[msg->id](fleet, s, msg, body, owner);
}

static void
on_unreadable(void *arg, const struct peer *peer, const struct err *err)
{
	struct fleet *fleet = arg;
	const struct session *s =
	    peer == NULL ? NULL : map_get(&fleet->by_peer, peer_slice(peer));

	log_warn_slow("message refused on the work socket",
	    log_str("worker", s == NULL ? "unknown" : s->name), log_err(err));
}

/* ---- judging ---- */

enum fleet_fate
fleet_fate(const struct fleet *fleet, const struct uuid *run,
    const struct flight *flight)
{
	const struct session *s =
	    map_get(&fleet->by_process, uuid_slice(&flight->process));
	char key[ATTEMPT_KEY];

	if (s == NULL) {
		for (size_t i = 0; i < FLEET_DEAD_MAX; i++) {
			if (uuid_eq(&fleet->dead[i], &flight->process))
				return FLEET_DEAD;
		}
		return FLEET_ABSENT;
	}
	if (s->number <= flight->session || !s->inbox_read)
		return FLEET_THERE;
	if (map_get(&s->listed, fleet_attempt_key(key, run, flight->turn,
				    flight->call, flight->attempt)) != NULL)
		return FLEET_THERE;
	return FLEET_NEVER;
}

void
fleet_inbox_read(struct fleet *fleet, uint64_t since_ms)
{
	struct session *s;
	bool news = false;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (!s->inbox_read && s->hello_ms < since_ms)
			s->inbox_read = news = true;
	}
	if (news)
		fleet->config.on_session(fleet->config.arg);
}

void
fleet_pid_ended(struct fleet *fleet, uint64_t pid)
{
	struct session *s;
	bool news = false;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (s->pid != pid || strcmp(s->host, fleet->host) != 0)
			continue;
		fleet->dead[fleet->dead_next++ % FLEET_DEAD_MAX] = s->process;
		session_end(fleet, s, "its process ended");
		news = true;
	}
	if (news)
		fleet->config.on_session(fleet->config.arg);
}

bool
fleet_has_pid(const struct fleet *fleet, uint64_t pid)
{
	struct session *s;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (s->pid == pid && strcmp(s->host, fleet->host) == 0)
			return true;
	}
	return false;
}

uint64_t
fleet_pid_of(const struct fleet *fleet, const char *name)
{
	struct session *s;
	uint64_t pid = 0;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (strcmp(s->name, name) == 0 &&
		    strcmp(s->host, fleet->host) == 0)
			pid = s->pid;
	}
	return pid;
}

void
fleet_pardon(struct fleet *fleet)
{
	struct session *s;

	LIST_EACH (s, next, &fleet->sessions, struct session, link)
		s->heard_ms = clock_ms();
}

void
fleet_tick(struct fleet *fleet)
{
	uint64_t now = clock_ms();
	struct session *s;
	bool news = false;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (now - s->heard_ms < LEASE_WORKER_MS)
			continue;
		session_end(fleet, s, "nothing was heard for too long");
		news = true;
	}
	if (news)
		fleet->config.on_session(fleet->config.arg);
}

/* ---- life ---- */

int
fleet_new(struct fleet **ret_fleet, const struct fleet_config *config,
    struct err *err)
{
	struct fleet *fleet = MEM_NEW(struct fleet);

	fleet->config = *config;
	list_init(&fleet->sessions);
	gethostname(fleet->host, sizeof(fleet->host) - 1);
	if (link_new(&fleet->link,
		&(struct link_config){ .zmq = config->zmq,
		    .loop = config->loop,
		    .endpoint = config->endpoint,
		    .bind = true,
		    .accepts = MSG_FROM_WORKER,
		    .on_message = on_message,
		    .on_refused = on_unreadable,
		    .arg = fleet },
		err) == -1) {
		mem_free(fleet);
		return err_wrap(err, "work socket");
	}
	*ret_fleet = fleet;
	return 0;
}

struct fleet *
fleet_free(struct fleet *fleet)
{
	size_t pos = 0;
	void *tool;

	if (fleet == NULL)
		return NULL;
	while (!list_is_empty(&fleet->sessions)) {
		struct session *s =
		    LIST_FIRST(&fleet->sessions, struct session, link);

		list_remove(&s->link);
		session_free(s);
	}
	while (map_next(&fleet->tools, &pos, NULL, &tool)) {
		mem_free(((struct tool *)tool)->name);
		mem_free(((struct tool *)tool)->definition);
		mem_free(tool);
	}
	map_release(&fleet->tools);
	map_release(&fleet->by_peer);
	map_release(&fleet->by_process);
	link_free(fleet->link, 1000);
	return mem_free(fleet);
}
