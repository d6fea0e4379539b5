/*
 * Requests of clients. Each handler checks what came, then answers from memory
 * or asks the database; nothing here waits. All input is hostile.
 */
#include "supervisor/front.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/schedule.h"
#include "supervisor/watch.h"

#define RUN_ID_OFF_MS                                                          \
	(24u * 3600 * 1000) /* how far an id's time may be off                 \
			     */
#define LIST_DEFAULT 20

struct front {
	struct supervisor *sup;
	struct link *link; /* owned */
};

/* One request that waits for the database. */
struct ask {
	struct front *front;
	struct receipt receipt;
	struct uuid run;
	struct msg msg;         /* submit, kept for later */
	struct buf frame;       /* owned; msg points into it */
	struct link_body *body; /* owned */
	char *name;             /* owned; agent */
	struct buf reply;       /* owned; apply */
	size_t left;            /* apply: statements without an answer */
	bool failed;
};

static struct ask *
ask_new(struct front *front, const struct peer *peer, uint64_t request)
{
	struct ask *ask = MEM_NEW(struct ask);

	ask->front = front;
	ask->receipt.peer = *peer;
	ask->receipt.request = request;
	return ask;
}

static struct ask *
ask_free(struct ask *ask)
{
	buf_release(&ask->frame);
	buf_release(&ask->reply);
	link_body_free(ask->body);
	mem_free(ask->name);
	return mem_free(ask);
}

/* ---- answers ---- */

static enum front_sent
send_to(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body)
{
	struct err err = { 0 };

	if (link_send(front->link, peer, msg, body, &err) == 0)
		return FRONT_SENT;
	return err.code == EAGAIN ? FRONT_FULL : FRONT_GONE;
}

static void
reply(struct front *front, const struct receipt *to, struct slice body)
{
	struct msg msg = { .id = MSG_reply, .reply = { to->request } };

	(void)send_to(front, &to->peer, &msg, body);
}

static const char *
kind_name(const struct err *err)
{
	switch (err->kind) {
	case ERR_INPUT:
	case ERR_DB_DATA:
		return strcmp(err->sqlstate, "P0002") == 0   ? "missing"
		       : strcmp(err->sqlstate, "23505") == 0 ? "conflict"
							     : "input";
	case ERR_LIMIT:
		return "limit";
	case ERR_MISSING:
		return "missing";
	case ERR_CONFLICT:
		return "conflict";
	case ERR_BUSY:
	case ERR_PEER:
	case ERR_DB_RETRY:
	case ERR_DB_ENV:
		return "busy";
	case ERR_NONE:
	case ERR_SYSTEM:
	case ERR_DB_SCHEMA:
		return "internal";
	}
	BUG("error kind %d", (int)err->kind);
}

void
front_failed(
    struct front *front, const struct receipt *receipt, const struct err *err)
{
	struct msg msg = { .id = MSG_failed,
		.failed = { receipt->request, slice_string(kind_name(err)),
		    slice_string(err->text) } };

	(void)send_to(front, &receipt->peer, &msg, (struct slice){ 0 });
}

void
front_no_run(struct front *front, const struct peer *peer, uint64_t request,
    const struct uuid *run)
{
	struct receipt to = { .peer = *peer, .request = request };
	struct err err = { 0 };
	char id[UUID_TEXT];

	err_set(&err, ERR_MISSING, "there is no run %s", uuid_text(run, id));
	front_failed(front, &to, &err);
}

void
front_watching(struct front *front, const struct peer *peer, uint64_t request)
{
	struct receipt to = { .peer = *peer, .request = request };

	reply(front, &to, SLICE("{}"));
}

void
front_submitted(struct front *front, const struct receipt *receipt,
    const struct uuid *run, bool existing)
{
	struct msg msg = { .id = MSG_submitted,
		.submitted = { receipt->request, *run, existing } };
	struct err err = { 0 };
	/* A new run that is loaded: its first step is about to be told. */
	bool live = !existing && runs_find(front->sup->runs, run) != NULL;

	(void)send_to(front, &receipt->peer, &msg, (struct slice){ 0 });
	if (receipt->watch &&
	    watch_add(front->sup->watch, &receipt->peer, receipt->request, run,
		0, receipt->deltas, live, &err) == -1)
		front_failed(front, receipt, &err);
}

void
front_cancelled(
    struct front *front, const struct receipt *receipt, const char *state)
{
	struct buf out = BUF_INIT(256);

	buf_printf(&out, "{\"state\":\"%s\"}", state);
	reply(front, receipt, buf_slice(&out));
	buf_release(&out);
}

enum front_sent
front_event(struct front *front, const struct peer *peer,
    const struct uuid *run, uint64_t seq, const char *type, bool final,
    struct slice body)
{
	struct msg msg = { .id = MSG_event,
		.event = {
		    *run, seq, slice_string(type), final, clock_wall_ms() } };

	return send_to(front, peer, &msg, body);
}

/* ---- submit ---- */

static void
on_stored(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct ask *ask = arg;

	(void)aborted;
	if (err != NULL) {
		ask->failed = true;
		front_failed(ask->front, &ask->receipt, err);
		return;
	}
	ask->run = db_get_uuid(result, 0, 0);
	ask->receipt.kind = RECEIPT_NONE;
	ask->left = db_get_bool(result, 0, 1); /* existing */
}

static void
on_stored_synced(void *arg, const struct err *err)
{
	struct ask *ask = arg;

	if (err != NULL && !ask->failed)
		front_failed(ask->front, &ask->receipt, err);
	else if (!ask->failed) {
		front_submitted(
		    ask->front, &ask->receipt, &ask->run, ask->left != 0);
		schedule_poke(ask->front->sup->schedule);
	}
	ask_free(ask);
}

/* Into the queue, by the function that applications use. Takes ask. */
static void
submit_stored(struct front *front, struct ask *ask, struct json input,
    struct json metadata)
{
	const struct msg_submit *m = &ask->msg.submit;
	struct db *side = store_side(front->sup->store);
	struct db_params p = DB_PARAMS_INIT;

	db_uuid(&p, &m->run);
	db_text(&p, m->agent);
	db_bytes(&p, input.raw);
	db_text(&p, m->session);
	db_text(&p, m->key);
	db_int4(&p, m->priority);
	db_int8(&p, (int64_t)m->at_ms);
	db_int8(&p, (int64_t)m->delay_ms);
	db_text(&p, metadata.raw);
	db_send(side, QUERY_submit, &p, on_stored, ask);
	db_sync(side, on_stored_synced, ask);
	db_params_release(&p);
}

/* Straight to a worker: the first step is also the acceptance. Takes ask. */
static int
submit_here(struct front *front, struct ask *ask, struct agent_entry *agent,
    struct json input, struct json metadata, struct err *err)
{
	struct step step = { 0 };
	struct run *run = run_new(&ask->msg.submit.run, &agent->agent);

	run->agent_version = agent->version;
	run->priority = (int)ask->msg.submit.priority;
	if (run_set_input(run, input, &step, err) == -1) {
		run_free(run);
		step_release(&step);
		return -1;
	}
	step.priority = run->priority;
	step.metadata = arena_copy(&step.arena, metadata.raw);
	ask->receipt.kind = RECEIPT_SUBMIT;
	runs_accept(front->sup->runs, run, agent, &step, &ask->receipt);
	ask_free(ask);
	return 0;
}

/* What the body must hold. */
static int
read_submit(struct slice body, struct json *ret_input,
    struct json *ret_metadata, struct err *err)
{
	struct json root;
	unsigned marks = 0;

	if (json_parse(body, &root, &marks, err) == -1)
		return err_wrap(err, "submit: body");
	*ret_input = json_get(root, "input");
	*ret_metadata = json_get(root, "metadata");
	if (ret_metadata->type == JSON_NULL)
		ret_metadata->raw = (struct slice){ 0 };
	if (ret_input->type != JSON_STRING && ret_input->type != JSON_ARRAY)
		return err_set(err, ERR_INPUT,
		    "submit: \"input\" must be a text or an array of items");
	if (ret_metadata->type != JSON_NONE &&
	    ret_metadata->type != JSON_NULL &&
	    ret_metadata->type != JSON_OBJECT)
		return err_set(
		    err, ERR_INPUT, "submit: \"metadata\" must be an object");
	return 0;
}

static int
check_submit(const struct msg_submit *m, struct err *err)
{
	uint64_t now = clock_wall_ms(), at = uuid_ms(&m->run);

	if (at == 0 || at > now + RUN_ID_OFF_MS || at + RUN_ID_OFF_MS < now)
		return err_set(err, ERR_INPUT,
		    "submit: the run id must be a UUID of version 7 made now; "
		    "its time is off by more than a day");
	if (m->priority < -100 || m->priority > 100)
		return err_set(err, ERR_INPUT,
		    "submit: priority must be between -100 and 100");
	if (m->agent.len == 0)
		return err_set(err, ERR_INPUT, "submit: agent is empty");
	return 0;
}

/* The agent is known now, or known not to be there. Takes ask. */
static void
submit(struct front *front, struct ask *ask, struct agent_entry *agent)
{
	const struct msg_submit *m = &ask->msg.submit;
	struct slice body = ask->body == NULL ? (struct slice){ 0 }
					      : link_body_slice(ask->body);
	struct json input, metadata;
	struct err err = { 0 };
	bool plain = m->key.len == 0 && m->session.len == 0 && m->at_ms == 0 &&
		     m->delay_ms == 0;

	if (read_submit(body, &input, &metadata, &err) == -1)
		goto failed;
	if (runs_find(front->sup->runs, &m->run) != NULL) {
		front_submitted(front, &ask->receipt, &m->run, true);
		ask_free(ask);
		return;
	}
	if (!plain || !schedule_may_start(front->sup->schedule, agent)) {
		submit_stored(front, ask, input, metadata);
		return;
	}
	if (submit_here(front, ask, agent, input, metadata, &err) == 0)
		return;
failed:
	front_failed(front, &ask->receipt, &err);
	ask_free(ask);
}

static void
on_agent(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct ask *ask = arg;
	struct agents *agents = &ask->front->sup->agents;
	struct err bad = { 0 };

	(void)aborted;
	ask->failed = true;
	if (err != NULL) {
		front_failed(ask->front, &ask->receipt, err);
	} else if (PQntuples(result) == 0) {
		err_set(&bad, ERR_MISSING,
		    "there is no agent \"%s\"; apply its definition first: "
		    "reeve apply DIR",
		    ask->name);
		front_failed(ask->front, &ask->receipt, &bad);
	} else if (agents_add(agents, slice_string(ask->name),
		       (uint32_t)db_get_int(result, 0, 0), db_get(result, 0, 1),
		       true, clock_ms(), &bad) == NULL) {
		front_failed(ask->front, &ask->receipt, &bad);
	} else {
		ask->failed = false;
	}
}

static void
on_agent_synced(void *arg, const struct err *err)
{
	struct ask *ask = arg;
	struct agent_entry *agent = agents_find(
	    &ask->front->sup->agents, slice_string(ask->name), 0, clock_ms());

	if (err != NULL && !ask->failed) {
		front_failed(ask->front, &ask->receipt, err);
		ask->failed = true;
	}
	if (ask->failed || agent == NULL)
		ask_free(ask);
	else
		submit(ask->front, ask, agent);
}

static void
ask_agent(struct front *front, struct ask *ask)
{
	struct db *side = store_side(front->sup->store);
	struct db_params p = DB_PARAMS_INIT;

	db_text(&p, slice_string(ask->name));
	db_int4(&p, 0);
	db_send(side, QUERY_agent_get, &p, on_agent, ask);
	db_sync(side, on_agent_synced, ask);
	db_params_release(&p);
}

typedef void handler(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner);

static bool
refuse_while_down(struct front *front, const struct receipt *to)
{
	struct err err = { 0 };

	if (front->sup->stop_at_ms != 0)
		err_set(&err, ERR_BUSY, "the supervisor is stopping");
	else if (!store_is_up(front->sup->store))
		err_set(&err, ERR_BUSY,
		    "the database cannot be reached now; try again");
	else
		return false;
	front_failed(front, to, &err);
	return true;
}

static void
on_submit(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct ask *ask = ask_new(front, peer, msg->submit.request);
	struct agent_entry *agent;
	struct err err = { 0 };

	(void)body;
	ask->receipt.watch = msg->submit.watch;
	ask->receipt.deltas = msg->submit.deltas;
	if (refuse_while_down(front, &ask->receipt)) {
		ask_free(ask);
		return;
	}
	ask->frame = BUF_INIT(LIMIT_MESSAGE);
	if (check_submit(&msg->submit, &err) == -1 ||
	    msg_encode(msg, &ask->frame, &err) == -1 ||
	    msg_decode(&ask->msg, buf_slice(&ask->frame), &err) == -1) {
		front_failed(front, &ask->receipt, &err);
		ask_free(ask);
		return;
	}
	ask->body = link_body_take(owner);
	ask->name =
	    mem_string_n(ask->msg.submit.agent.ptr, ask->msg.submit.agent.len);
	agent = agents_find(
	    &front->sup->agents, ask->msg.submit.agent, 0, clock_ms());
	if (agent != NULL)
		submit(front, ask, agent);
	else
		ask_agent(front, ask);
}

/* ---- cancel ---- */

static void
on_cancel_result(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct ask *ask = arg;
	struct slice state;

	(void)aborted;
	if (err != NULL) {
		ask->failed = true;
		front_failed(ask->front, &ask->receipt, err);
		return;
	}
	state = db_get(result, 0, 0);
	ask->name = mem_string_n(state.ptr, state.len);
}

static void
on_cancel_synced(void *arg, const struct err *err)
{
	struct ask *ask = arg;

	if (err != NULL && !ask->failed)
		front_failed(ask->front, &ask->receipt, err);
	else if (!ask->failed) {
		front_cancelled(ask->front, &ask->receipt, ask->name);
		schedule_poke(ask->front->sup->schedule);
	}
	ask_free(ask);
}

void
front_cancel_stored(struct front *front, const struct receipt *receipt,
    const struct uuid *run, struct slice reason)
{
	struct ask *ask = ask_new(front, &receipt->peer, receipt->request);
	struct db *side = store_side(front->sup->store);
	struct db_params p = DB_PARAMS_INIT;

	db_uuid(&p, run);
	db_text(&p, reason);
	db_send(side, QUERY_cancel, &p, on_cancel_result, ask);
	db_sync(side, on_cancel_synced, ask);
	db_params_release(&p);
}

static void
on_cancel_run(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
{
	const struct msg_cancel_run *m = &msg->cancel_run;
	struct receipt to = {
		.kind = RECEIPT_CANCEL, .peer = *peer, .request = m->request
	};
	struct slot *slot = runs_find(front->sup->runs, &m->run);

	(void)body;
	(void)owner;
	if (refuse_while_down(front, &to))
		return;
	if (slot != NULL)
		runs_cancel(slot, m->reason, &to);
	else
		front_cancel_stored(front, &to, &m->run, m->reason);
}

/* ---- reading ---- */

static void
on_json(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct ask *ask = arg;

	(void)aborted;
	ask->failed = true; /* answered in any case */
	if (err != NULL)
		front_failed(ask->front, &ask->receipt, err);
	else if (PQntuples(result) == 0)
		front_no_run(ask->front, &ask->receipt.peer,
		    ask->receipt.request, &ask->run);
	else
		reply(ask->front, &ask->receipt, db_get(result, 0, 0));
}

static void
on_json_synced(void *arg, const struct err *err)
{
	struct ask *ask = arg;

	if (err != NULL && !ask->failed)
		front_failed(ask->front, &ask->receipt, err);
	ask_free(ask);
}

static void
read_json(struct ask *ask, enum db_query query, struct db_params *p)
{
	struct db *read = store_read(ask->front->sup->store);

	db_send(read, query, p, on_json, ask);
	db_sync(read, on_json_synced, ask);
	db_params_release(p);
}

/* Why a queued run waits is known here; its agent is only in its row. */
struct get {
	struct ask *ask;
	struct buf why;
};

static void
on_get_agent(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct get *get = arg;

	(void)aborted;
	if (err == NULL && PQntuples(result) == 1)
		schedule_why(get->ask->front->sup->schedule,
		    db_get(result, 0, 0), &get->why);
}

static void
on_get_agent_synced(void *arg, const struct err *err)
{
	struct get *get = arg;
	struct db_params p = DB_PARAMS_INIT;

	(void)err;
	db_uuid(&p, &get->ask->run);
	db_text(&p, buf_slice(&get->why));
	read_json(get->ask, QUERY_get, &p);
	buf_release(&get->why);
	mem_free(get);
}

static void
on_get(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct get *get = MEM_NEW(struct get);
	struct db *read = store_read(front->sup->store);
	struct db_params p = DB_PARAMS_INIT;

	(void)body;
	(void)owner;
	get->ask = ask_new(front, peer, msg->get.request);
	get->ask->run = msg->get.run;
	get->why = BUF_INIT(LIMIT_TEXT);
	db_uuid(&p, &msg->get.run);
	db_send(read, QUERY_replay_run, &p, on_get_agent, get);
	db_sync(read, on_get_agent_synced, get);
	db_params_release(&p);
}

static void
on_list(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	const struct msg_list *m = &msg->list;
	struct ask *ask = ask_new(front, peer, m->request);
	struct db_params p = DB_PARAMS_INIT;

	(void)body;
	(void)owner;
	db_text(&p, m->state);
	db_text(&p, m->agent);
	db_text(&p, m->session);
	if (uuid_is_zero(&m->before))
		db_null(&p);
	else
		db_uuid(&p, &m->before);
	db_int4(&p, m->limit == 0 ? LIST_DEFAULT : (int64_t)m->limit);
	read_json(ask, QUERY_list, &p);
}

static void
on_watch(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	const struct msg_watch *m = &msg->watch;
	struct receipt to = { .peer = *peer, .request = m->request };
	struct err err = { 0 };

	(void)body;
	(void)owner;
	if (watch_add(front->sup->watch, peer, m->request, &m->run, m->from_seq,
		m->deltas, false, &err) == -1)
		front_failed(front, &to, &err);
}

static void
on_unwatch(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct receipt to = { .peer = *peer, .request = msg->unwatch.request };

	(void)body;
	(void)owner;
	watch_remove(front->sup->watch, peer, &msg->unwatch.run);
	reply(front, &to, SLICE("{}"));
}

/* ---- apply ---- */

struct put {
	struct ask *ask;
	char *name; /* owned */
};

static void
on_agent_put(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct put *put = arg;
	struct ask *ask = put->ask;
	struct agent_name *known;

	if (err != NULL) {
		if (!aborted && !ask->failed)
			front_failed(ask->front, &ask->receipt, err);
		ask->failed = true;
	} else {
		buf_puts(&ask->reply, ask->reply.len > 11 ? "," : "");
		buf_puts(&ask->reply, "{\"name\":");
		json_put_string(&ask->reply, slice_string(put->name));
		buf_printf(&ask->reply, ",\"version\":%d,\"changed\":%s}",
		    (int)db_get_int(result, 0, 0),
		    db_get_bool(result, 0, 1) ? "true" : "false");
	}
	known = agents_name(&ask->front->sup->agents, slice_string(put->name));
	known->newest = 0; /* read anew at the next submit */
	mem_free(put->name);
	mem_free(put);
}

static void
on_apply_synced(void *arg, const struct err *err)
{
	struct ask *ask = arg;

	if (err != NULL && !ask->failed) {
		front_failed(ask->front, &ask->receipt, err);
	} else if (!ask->failed) {
		buf_puts(&ask->reply, "]}");
		reply(ask->front, &ask->receipt, buf_slice(&ask->reply));
	}
	ask_free(ask);
}

static int
check_agents(struct json list, struct err *err)
{
	struct json_iter it = json_iter(list);
	struct json value;
	size_t i = 0;

	if (list.type != JSON_ARRAY)
		return err_set(
		    err, ERR_INPUT, "apply: the body must be an array");
	while (json_next(&it, NULL, &value)) {
		struct agent agent = { 0 };

		if (agent_parse(&agent, value.raw, err) == -1)
			return err_wrap(err, "apply: definition %zu", i);
		agent_release(&agent);
		i++;
	}
	return 0;
}

static void
on_apply(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct ask *ask = ask_new(front, peer, msg->apply.request);
	struct db *side = store_side(front->sup->store);
	struct json list, value;
	struct json_iter it;
	struct err err = { 0 };

	(void)owner;
	if (refuse_while_down(front, &ask->receipt)) {
		ask_free(ask);
		return;
	}
	if (json_parse(body, &list, NULL, &err) == -1 ||
	    check_agents(list, &err) == -1) {
		front_failed(front, &ask->receipt, &err);
		ask_free(ask);
		return;
	}
	ask->reply = BUF_INIT(LIMIT_BODY);
	buf_puts(&ask->reply, "{\"agents\":[");
	it = json_iter(list);
	while (json_next(&it, NULL, &value)) {
		struct put *put = MEM_NEW(struct put);
		struct db_params p = DB_PARAMS_INIT;

		put->ask = ask;
		put->name =
		    json_string_new(json_get(value, "name"), LIMIT_NAME);
		db_text(&p, slice_string(put->name));
		db_bytes(&p, value.raw);
		db_send(side, QUERY_agent_put, &p, on_agent_put, put);
		db_params_release(&p);
	}
	db_sync(side, on_apply_synced, ask);
}

/* ---- about the supervisor ---- */

static void
on_workers(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct receipt to = { .peer = *peer, .request = msg->workers.request };
	struct buf out = BUF_INIT(LIMIT_BODY);

	(void)body;
	(void)owner;
	fleet_describe(front->sup->fleet, &out);
	reply(front, &to, buf_slice(&out));
	buf_release(&out);
}

static void
on_stats(struct front *front, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct receipt to = { .peer = *peer, .request = msg->stats.request };
	const struct supervisor *sup = front->sup;
	const struct store_stats *st = store_stats(sup->store);
	struct buf out = BUF_INIT(LIMIT_TEXT);
	struct json_writer w = json_writer(&out);
	char id[UUID_TEXT];
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "uptime_ms", clock_ms() - sup->started_ms },
		{ "active_runs", sup->runs->count },
		{ "active_runs_limit", sup->config->active_runs },
		{ "steps", st->steps },
		{ "commits", st->batches },
		{ "failed_commits", st->failed_batches },
		{ "unknown_commits", st->unknown },
		{ "steps_set_aside", st->set_aside },
		{ "database_connections_lost", st->lost },
		{ "runs_failed_by_data", sup->runs->bad },
		{ "runs_gone", sup->runs->gone },
	};

	(void)body;
	(void)owner;
	json_open(&w, '{');
	json_key(&w, "supervisor");
	json_text(&w, uuid_text(&sup->id, id));
	json_key(&w, "version");
	json_text(&w, REEVE_VERSION);
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_key(&w, rows[i].name);
		json_unum(&w, rows[i].value);
	}
	json_close(&w);
	reply(front, &to, buf_slice(&out));
	buf_release(&out);
}

static handler *const handlers[MSG_IDS] = {
	[MSG_submit] = on_submit,
	[MSG_get] = on_get,
	[MSG_list] = on_list,
	[MSG_cancel_run] = on_cancel_run,
	[MSG_watch] = on_watch,
	[MSG_unwatch] = on_unwatch,
	[MSG_apply] = on_apply,
	[MSG_workers] = on_workers,
	[MSG_stats] = on_stats,
};

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	if (handlers[msg->id] != NULL)
		handlers[msg->id](arg, peer, msg, body, owner);
}

static void
on_unreadable(void *arg, const struct peer *peer, const struct err *err)
{
	struct receipt to = { .peer = *peer };

	log_warn_slow("message refused on the front socket", log_err(err));
	front_failed(arg, &to, err);
}

int
front_new(struct front **ret_front, struct supervisor *sup,
    const char *endpoint, struct err *err)
{
	struct front *front = MEM_NEW(struct front);

	front->sup = sup;
	if (link_new(&front->link,
		&(struct link_config){ .zmq = sup->zmq,
		    .loop = &sup->loop,
		    .endpoint = endpoint,
		    .bind = true,
		    .accepts = MSG_FROM_CLIENT,
		    .on_message = on_message,
		    .on_refused = on_unreadable,
		    .arg = front },
		err) == -1) {
		mem_free(front);
		return err_wrap(err, "front socket");
	}
	*ret_front = front;
	return 0;
}

struct front *
front_free(struct front *front)
{
	if (front == NULL)
		return NULL;
	link_free(front->link, 1000);
	return mem_free(front);
}
