/*
 * Submit and cancel: straight to the loop when the run is (or may be) here,
 * else through the database. Owns nothing beyond a waiting request.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "supervisor/front_internal.h"
#include "supervisor/schedule.h"

#define RUN_ID_OFF_MS                                                          \
	(24u * 3600 * 1000) /* how far an id's time may be off                 \
			     */

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
	ask->existing = db_get_bool(result, 0, 1);
}

static void
on_stored_synced(void *arg, const struct err *err)
{
	struct ask *ask = arg;

	if (err != NULL && !ask->failed)
		front_failed(ask->front, &ask->receipt, err);
	else if (!ask->failed) {
		front_submitted(
		    ask->front, &ask->receipt, &ask->run, ask->existing);
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
	struct json input = { 0 }, metadata = { 0 };
	struct slot *slot;
	struct err err = { 0 };
	bool plain = m->key.len == 0 && m->session.len == 0 && m->at_ms == 0 &&
		     m->delay_ms == 0;

	if (read_submit(body, &input, &metadata, &err) == -1)
		goto failed;
	ask->receipt.kind = RECEIPT_SUBMIT;
	slot = runs_find(front->sup->runs, &m->run);
	if (slot != NULL) {
		if (!runs_accept_again(slot, &ask->receipt))
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

void
front_on_submit(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
{
	struct ask *ask = ask_new(front, peer, msg->submit.request);
	struct agent_entry *agent;
	struct err err = { 0 };

	(void)body;
	ask->receipt.watch = msg->submit.watch;
	ask->receipt.deltas = msg->submit.deltas;
	if (front_refuses(front, &ask->receipt)) {
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

void
front_on_cancel_run(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner)
{
	const struct msg_cancel_run *m = &msg->cancel_run;
	struct receipt to = {
		.kind = RECEIPT_CANCEL, .peer = *peer, .request = m->request
	};
	struct slot *slot = runs_find(front->sup->runs, &m->run);

	(void)body;
	(void)owner;
	if (front_refuses(front, &to))
		return;
	if (slot != NULL)
		runs_cancel(slot, m->reason, &to);
	else
		front_cancel_stored(front, &to, &m->run, m->reason);
}
