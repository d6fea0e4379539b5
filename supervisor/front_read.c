/*
 * What clients ask about: runs, events, agents, workers, the supervisor. JSON
 * comes from the database as it is passed on.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "supervisor/front_internal.h"
#include "supervisor/schedule.h"
#include "supervisor/watch.h"

#define LIST_DEFAULT 20

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
		front_reply(ask->front, &ask->receipt, db_get(result, 0, 0));
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

void
front_on_get(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
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

void
front_on_list(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
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

void
front_on_watch(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
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

void
front_on_unwatch(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
{
	struct receipt to = { .peer = *peer, .request = msg->unwatch.request };

	(void)body;
	(void)owner;
	watch_remove(front->sup->watch, peer, &msg->unwatch.run);
	front_reply(front, &to, SLICE("{}"));
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
		front_reply(ask->front, &ask->receipt, buf_slice(&ask->reply));
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

void
front_on_apply(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
{
	struct ask *ask = ask_new(front, peer, msg->apply.request);
	struct db *side = store_side(front->sup->store);
	struct json list, value;
	struct json_iter it;
	struct err err = { 0 };

	(void)owner;
	if (front_refuses(front, &ask->receipt)) {
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

void
front_on_workers(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
{
	struct receipt to = { .peer = *peer, .request = msg->workers.request };
	struct buf out = BUF_INIT(LIMIT_BODY);

	(void)body;
	(void)owner;
	fleet_describe(front->sup->fleet, &out);
	front_reply(front, &to, buf_slice(&out));
	buf_release(&out);
}

void
front_on_stats(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
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
		{ "database_connection_failures", st->lost },
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
	front_reply(front, &to, buf_slice(&out));
	buf_release(&out);
}
