/*
 * The life of a loaded run between the loop and the store. One step at a time:
 * inputs wait until the effects of the last step were released or dropped.
 */
#include "supervisor/runs_internal.h"

#include <sodium.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/front.h"
#include "supervisor/schedule.h"
#include "supervisor/watch.h"

static void release(struct slot *slot);

/* ---- slots ---- */

static void
slot_free(struct slot *slot)
{
	struct runs *runs = slot->sup->runs;

	map_remove(&runs->by_id, uuid_slice(&slot->run->id));
	list_remove(&slot->link);
	list_remove(&slot->ready);
	list_remove(&slot->entry.link);
	runs->count--;
	agents_name(&slot->sup->agents, slice_string(slot->agent->agent.name))
	    ->active--;
	queued_free_all(&slot->inputs);
	queued_free_all(&slot->consumed);
	step_release(&slot->step);
	run_free(slot->run);
	mem_free(slot);
}

struct slot *
runs_find(const struct runs *runs, const struct uuid *id)
{
	return map_get(&runs->by_id, uuid_slice(id));
}

struct slot *
runs_add(struct runs *runs, struct run *owned, struct agent_entry *agent)
{
	struct slot *slot = MEM_NEW(struct slot);
	uint64_t now = clock_ms(), used = owned->active_before_ms;
	uint64_t limit = agent->agent.deadline_ms;

	slot->sup = runs->sup;
	slot->run = owned;
	slot->agent = agent;
	list_init(&slot->inputs);
	list_init(&slot->consumed);
	owned->loaded_ms = slot->claimed_ms = now;
	slot->deadline_ms = now + (limit > used ? limit - used : 0);
	map_set(&runs->by_id, uuid_slice(&owned->id), slot);
	list_append(&runs->all, &slot->link);
	runs->count++;
	agents_name(&runs->sup->agents, slice_string(agent->agent.name))
	    ->active++;
	return slot;
}

/* ---- receipts ---- */

static void
give_receipt(struct slot *slot, const struct queued *q)
{
	const struct receipt *r = &q->receipt;
	const struct input *in = &q->input;

	switch (r->kind) {
	case RECEIPT_NONE:
		break;
	case RECEIPT_WORKER:
		for (uint32_t n = 0; n <= r->repeats; n++)
			fleet_ack(slot->sup->fleet, &r->peer, &slot->run->id,
			    in->turn, in->call, in->attempt);
		break;
	case RECEIPT_SUBMIT:
		front_submitted(slot->sup->front, r, &slot->run->id, false);
		break;
	case RECEIPT_CANCEL:
		front_cancelled(
		    slot->sup->front, r, run_state_name(slot->run->state));
		break;
	}
}

static void
give_receipts(struct slot *slot)
{
	while (!list_is_empty(&slot->consumed)) {
		struct queued *q = queued_first(&slot->consumed);

		list_remove(&q->link);
		give_receipt(slot, q);
		queued_free(q);
	}
}

/* ---- building a step ---- */

static bool
place(void *arg, const struct need *need, struct placement *ret_at,
    struct slice *why)
{
	struct runs *runs = arg;

	/* Bytes of names must outlive the fleet's session. */
	if (!fleet_place(runs->sup->fleet, need, ret_at, why))
		return false;
	ret_at->worker = arena_copy(&runs->fx.step->arena, ret_at->worker);
	return true;
}

static void
begin_step(struct slot *slot)
{
	struct runs *runs = slot->sup->runs;
	struct run *run = slot->run;

	runs->fx.place = place;
	runs->fx.arg = runs;
	runs->fx.step = &slot->step;
	runs->fx.changed = false;
	runs->fx.start_count = runs->fx.cancel_count = 0;
	runs->fx.timer_ms = 0;
	runs->fx.starved = false;
	runs->fx.why = (struct slice){ 0 };
	if (slot->step.accept)
		return; /* its rows so far came with the submit */
	slot->step.run_id = run->id;
	slot->step.claim = run->claim;
	slot->step.step = run->step;
}

/* False when the run had no use for it. */
static bool
consume(struct slot *slot, struct queued *q, uint64_t now)
{
	struct effects *fx = &slot->sup->runs->fx;
	enum run_answer answer;

	q->input.now_ms = now;
	if (q->input.kind == INPUT_TURN_FAILED) /* a system call */
		q->input.random = randombytes_random();
	list_remove(&q->link);
	list_append(&slot->consumed, &q->link);
	answer = run_step(slot->run, &q->input, fx);
	if (answer == RUN_REFUSED)
		log_warn("input refused in this state",
		    log_uuid("run", &slot->run->id),
		    log_num("input", (int64_t)q->input.kind),
		    log_str("state", run_state_name(slot->run->state)));
	if (answer == RUN_STALE && q->receipt.kind == RECEIPT_WORKER)
		log_info("late result", log_uuid("run", &slot->run->id),
		    log_num("turn", q->input.turn),
		    log_num("call", q->input.call),
		    log_num("attempt", q->input.attempt));
	if (q->inbox_kind != NULL) {
		struct inbox_key *key = step_add_inbox(&slot->step);

		key->kind = slice_string(q->inbox_kind);
		key->key = slice_string(q->inbox_key);
		fx->changed = true;
	}
	return answer == RUN_TAKEN;
}

/* An attempt that a predecessor dispatched may still lie in its worker's
 * socket: what ends it waits until the worker has said hello, or cannot take a
 * start any more. */
static bool
must_wait(struct slot *slot)
{
	const struct queued *q = queued_first(&slot->inputs);
	const struct flight *f;

	if (q->input.kind != INPUT_CANCEL && q->input.kind != INPUT_DEADLINE)
		return false;
	for (size_t n = 0; (f = run_flight(slot->run, n)) != NULL; n++) {
		if (fleet_fate(slot->sup->fleet, &slot->run->id, f) ==
			FLEET_ABSENT &&
		    clock_ms() - slot->claimed_ms < LEASE_WORKER_MS)
			return true;
	}
	return false;
}

/* Outputs that came together go into one step; nothing goes behind a start,
 * whose row the same statement could not change again. */
static bool
goes_on(struct slot *slot, const struct effects *fx)
{
	const struct queued *q = queued_first(&slot->inputs);

	if (q == NULL || run_is_final(slot->run) || must_wait(slot))
		return false;
	return !fx->changed ||
	       (fx->start_count == 0 && slot->run->state == RUN_tools &&
		   q->input.kind == INPUT_TOOL_DONE);
}

static void
keep_effects(struct slot *slot, const struct effects *fx)
{
	struct arena *arena = &slot->step.arena;

	slot->start_count = fx->start_count;
	slot->cancel_count = fx->cancel_count;
	slot->starts = ARENA_ARRAY(arena, fx->start_count, struct effect);
	slot->cancels = ARENA_ARRAY(arena, fx->cancel_count, struct effect);
	memcpy(slot->starts, fx->starts, fx->start_count * sizeof(*fx->starts));
	memcpy(slot->cancels, fx->cancels,
	    fx->cancel_count * sizeof(*fx->cancels));
}

static void
build(struct slot *slot)
{
	struct runs *runs = slot->sup->runs;
	struct effects *fx = &runs->fx;
	uint64_t now = clock_ms();
	bool taken = false;

	begin_step(slot);
	do {
		taken |= consume(slot, queued_first(&slot->inputs), now);
	} while (goes_on(slot, fx));
	if (taken) {
		slot->starved_ms =
		    fx->starved && slot->starved ? slot->starved_ms : now;
		slot->starved = fx->starved;
		slot->wake_ms = fx->timer_ms == 0 ? 0 : now + fx->timer_ms;
	}
	if (!fx->changed) {
		give_receipts(slot);
		step_release(&slot->step);
		runs_make_ready(slot);
		return;
	}
	run_seal(slot->run, fx, now);
	keep_effects(slot, fx);
	slot->open = true;
	store_add(slot->sup->store, &slot->entry, &slot->step);
}

void
runs_accept(struct runs *runs, struct run *owned, struct agent_entry *agent,
    struct step *step, const struct receipt *receipt)
{
	struct slot *slot = runs_add(runs, owned, agent);
	struct queued *q = runs_queue(slot, INPUT_START);

	q->receipt = *receipt;
	owned->claim = 1;
	owned->step = 0;
	slot->step = *step;
	slot->step.accept = true;
	slot->step.run_id = owned->id;
	slot->step.claim = 1;
	slot->step.step = 0;
	slot->step.agent = slice_string(agent->agent.name);
	slot->step.agent_version = agent->version;
}

bool
runs_accept_again(struct slot *slot, const struct receipt *receipt)
{
	struct queued *q;

	if (!slot->step.accept)
		return false;
	q = MEM_NEW(struct queued);
	q->receipt = *receipt;
	list_append(&slot->consumed, &q->link);
	return true;
}

/* Credit goes to those who wait, in the order in which they were claimed:
 * priority, then time. Each takes what it can before the next one looks. */
static void
feed_starved(struct runs *runs)
{
	struct slot *slot;

	runs->feed = false;
	LIST_EACH (slot, next, &runs->all, struct slot, link) {
		if (!slot->starved || slot->open ||
		    !list_is_empty(&slot->inputs) ||
		    !fleet_has_room_next(runs->sup->fleet, slot->run))
			continue;
		runs_input(slot, INPUT_PLACE);
		list_remove(&slot->ready);
		build(slot);
	}
}

void
runs_pass(struct runs *runs)
{
	size_t left = runs->count;

	while (!list_is_empty(&runs->ready) && left-- > 0) {
		struct slot *slot =
		    LIST_FIRST(&runs->ready, struct slot, ready);

		list_remove(&slot->ready);
		if (!must_wait(slot)) /* else the tick makes it ready again */
			build(slot);
	}
	if (runs->feed)
		feed_starved(runs);
	store_set_runs(runs->sup->store, runs->count);
	store_flush(runs->sup->store);
}

/* ---- answers and release ---- */

/* Somebody else must answer what waits here. exists: the run has a row. */
static void
pass_on(struct slot *slot, const struct queued *q, bool exists)
{
	struct supervisor *sup = slot->sup;
	const struct fleet_result r = { .peer = &q->receipt.peer,
		.run = slot->run->id,
		.turn = q->input.turn,
		.call = q->input.call,
		.attempt = q->input.attempt,
		.msg = q->input.msg,
		.body = q->input.body };
	struct err err = { 0 };

	switch (q->receipt.kind) {
	case RECEIPT_NONE:
		break;
	case RECEIPT_WORKER:
		runs_forward(sup, &r);
		break;
	case RECEIPT_SUBMIT:
		err_set(&err, ERR_BUSY,
		    "the database went back in time; submit again");
		if (exists)
			front_submitted(
			    sup->front, &q->receipt, &slot->run->id, true);
		else
			front_failed(sup->front, &q->receipt, &err);
		break;
	case RECEIPT_CANCEL:
		front_cancel_stored(
		    sup->front, &q->receipt, &slot->run->id, q->input.text);
		break;
	}
}

/* What nobody will commit any more: reservations go back, results go to
 * whoever owns the run now. */
static void
drop(struct slot *slot, bool exists)
{
	struct supervisor *sup = slot->sup;

	for (size_t i = 0; i < slot->start_count; i++)
		fleet_give_back(sup->fleet, &slot->starts[i].at);
	list_remove(&slot->link);
	for (int pass = 0; pass < 2; pass++) {
		struct list *list = pass == 0 ? &slot->consumed : &slot->inputs;

		while (!list_is_empty(list)) {
			struct queued *q = queued_first(list);

			list_remove(&q->link);
			pass_on(slot, q, exists);
			queued_free(q);
		}
	}
	watch_lost(sup->watch, &slot->run->id);
	schedule_freed(sup->schedule, slot->run);
	slot_free(slot);
}

static uint64_t
left_ms(const struct slot *slot)
{
	uint64_t now = clock_ms();

	return slot->deadline_ms > now ? slot->deadline_ms - now : 1;
}

static int
start_turn(struct slot *slot, const struct effect *e)
{
	struct supervisor *sup = slot->sup;
	struct run *run = slot->run;
	struct buf body = BUF_INIT(LIMIT_BODY);
	struct slice missing = { 0 };
	struct msg msg = { .id = MSG_turn_start };

	if (!fleet_agent_tools(sup->fleet, slot->agent, &missing))
		BUG("tool %.*s went out of the catalogue", SLICE_ARGS(missing));
	run_request(run, buf_slice(&slot->agent->tools), &body);
	msg.turn_start = (struct msg_turn_start){ e->at.session, run->id,
		e->turn, e->attempt, run->claim, left_ms(slot),
		slice_string(run->agent->model),
		watch_wants_deltas(sup->watch, &run->id) };
	return fleet_start(sup->fleet, &e->at, &msg, &body);
}

static int
start_tool(struct slot *slot, const struct effect *e)
{
	struct run *run = slot->run;
	const struct run_call *call = run_find_call(run, e->call);
	struct buf body = BUF_INIT(LIMIT_BODY);
	struct msg msg = { .id = MSG_tool_start };
	char key[LIMIT_KEY], id[UUID_TEXT];
	int len = snprintf(key, sizeof(key), "%s:%u:%u",
	    uuid_text(&run->id, id), (unsigned)e->turn, (unsigned)e->call);

	buf_put_slice(
	    &body, call->arguments.len > 0 ? call->arguments : SLICE("{}"));
	msg.tool_start = (struct msg_tool_start){ e->at.session, run->id,
		e->turn, e->call, e->attempt, run->claim, left_ms(slot),
		call->name, call->call_id, slice_of(key, (size_t)len) };
	return fleet_start(slot->sup->fleet, &e->at, &msg, &body);
}

static void
send_start(struct slot *slot, const struct effect *e)
{
	struct queued *q;
	int rc = e->call == 0 ? start_turn(slot, e) : start_tool(slot, e);

	if (rc == 0)
		return;
	q = runs_queue(
	    slot, e->call == 0 ? INPUT_TURN_REFUSED : INPUT_TOOL_REFUSED);
	q->input.turn = e->turn;
	q->input.call = e->call;
	q->input.attempt = e->attempt;
}

/* Order: starts and cancels, acks, events, replies. */
static void
release(struct slot *slot)
{
	struct supervisor *sup = slot->sup;
	bool final = run_is_final(slot->run), parked = slot->step.run.park;

	if (!store_may_release(sup->store)) {
		slot->held = true;
		return;
	}
	slot->held = false;
	/* Who watches from the start must be known before the turn leaves. */
	if (slot->step.accept)
		give_receipts(slot);
	for (size_t i = 0; i < slot->start_count; i++)
		send_start(slot, &slot->starts[i]);
	for (size_t i = 0; i < slot->cancel_count; i++) {
		const struct effect *e = &slot->cancels[i];

		fleet_cancel(sup->fleet, &e->at.process, &slot->run->id,
		    e->turn, e->call, e->attempt);
	}
	slot->run->step++;
	slot->step.at_ms = clock_wall_ms();
	give_receipts(slot);
	watch_step(sup->watch, slot);
	slot->start_count = slot->cancel_count = 0;
	step_release(&slot->step);
	slot->open = false;
	if (final || parked) {
		drop(slot, true);
		return;
	}
	/* Credit that came while the step was open passed it by. */
	if (slot->starved && fleet_has_room_next(sup->fleet, slot->run))
		sup->runs->feed = true;
	runs_make_ready(slot);
}

void
runs_answer(
    struct runs *runs, struct store_entry *entry, enum store_answer answer)
{
	struct slot *slot = CONTAINER_OF(entry, struct slot, entry);

	switch (answer) {
	case STORE_COMMITTED:
		release(slot);
		return;
	case STORE_GONE:
		runs->gone++;
		log_info("run is not mine any more",
		    log_uuid("run", &slot->run->id));
		break;
	case STORE_BAD:
		runs->bad++;
		log_error("run failed: the database refused its data",
		    log_uuid("run", &slot->run->id),
		    log_str("sqlstate", entry->err.sqlstate));
		while (!list_is_empty(&slot->consumed)) {
			struct queued *q = queued_first(&slot->consumed);

			list_remove(&q->link);
			if (q->receipt.kind == RECEIPT_SUBMIT)
				front_failed(
				    slot->sup->front, &q->receipt, &entry->err);
			else
				give_receipt(slot, q);
			queued_free(q);
		}
		break;
	}
	drop(slot, true);
	/* Moved by somebody else, or by a claim of mine that was made twice. */
	if (answer == STORE_GONE)
		schedule_find_mine(runs->sup->schedule);
}

/* ---- judging ---- */

static void
lose(struct slot *slot, const struct flight *f, bool never)
{
	enum input_kind kind =
	    f->call == 0 ? (never ? INPUT_TURN_REFUSED : INPUT_TURN_LOST)
			 : (never ? INPUT_TOOL_REFUSED : INPUT_TOOL_LOST);
	struct queued *q;

	LIST_EACH (q, next, &slot->inputs, struct queued, link) {
		if (q->input.turn == f->turn && q->input.call == f->call &&
		    q->input.attempt == f->attempt)
			return; /* something is known already */
	}
	log_warn(never ? "attempt never started" : "attempt lost",
	    log_uuid("run", &slot->run->id), log_num("turn", f->turn),
	    log_num("call", f->call), log_num("attempt", f->attempt),
	    log_str("worker", f->worker));
	q = runs_queue(slot, kind);
	q->input.turn = f->turn;
	q->input.call = f->call;
	q->input.attempt = f->attempt;
}

static void
judge(struct slot *slot, uint64_t now)
{
	const struct flight *f;

	for (size_t n = 0; (f = run_flight(slot->run, n)) != NULL; n++) {
		switch (fleet_fate(slot->sup->fleet, &slot->run->id, f)) {
		case FLEET_THERE:
			break;
		case FLEET_NEVER:
			lose(slot, f, true);
			break;
		case FLEET_ABSENT:
			if (now - slot->claimed_ms >= LEASE_WORKER_MS)
				lose(slot, f, false);
			break;
		case FLEET_DEAD:
			lose(slot, f, false);
			break;
		}
	}
}

void
runs_judge(struct runs *runs)
{
	uint64_t now = clock_ms();
	struct slot *slot;

	LIST_EACH (slot, next, &runs->all, struct slot, link) {
		/* With a step open, a start may not have left yet. */
		if (!slot->open)
			judge(slot, now);
	}
}

/* Only when no worker here offers it at all: a busy one will be free. */
static void
hand_back(struct slot *slot, uint64_t now)
{
	slot->starved_ms = now;
	if (!fleet_offers_next(slot->sup->fleet, slot->run))
		runs_input(slot, INPUT_HAND_BACK);
}

void
runs_tick(struct runs *runs)
{
	uint64_t now = clock_ms();
	struct slot *slot;

	runs_judge(runs);
	LIST_EACH (slot, next, &runs->all, struct slot, link) {
		if (slot->held) {
			release(slot);
			continue;
		}
		runs_make_ready(slot);
		if (now >= slot->deadline_ms && !slot->expired) {
			slot->expired = true;
			runs_input(slot, INPUT_DEADLINE);
		}
		if (slot->starved && !slot->open &&
		    list_is_empty(&slot->inputs) &&
		    run_flight(slot->run, 0) == NULL &&
		    now - slot->starved_ms >= RUNS_HAND_BACK_MS)
			hand_back(slot, now);
		if (slot->wake_ms != 0 && now >= slot->wake_ms) {
			slot->wake_ms = 0;
			runs_input(slot, INPUT_PLACE);
		}
	}
}

void
runs_drop_all(struct runs *runs)
{
	while (!list_is_empty(&runs->all)) {
		struct slot *slot = LIST_FIRST(&runs->all, struct slot, link);

		drop(slot, false);
	}
}

/* ---- life ---- */

struct runs *
runs_new(struct supervisor *sup)
{
	struct runs *runs = MEM_NEW(struct runs);

	runs->sup = sup;
	list_init(&runs->all);
	list_init(&runs->ready);
	return runs;
}

struct runs *
runs_free(struct runs *runs)
{
	if (runs == NULL)
		return NULL;
	while (!list_is_empty(&runs->all))
		slot_free(CONTAINER_OF(runs->all.next, struct slot, link));
	map_release(&runs->by_id);
	return mem_free(runs);
}
