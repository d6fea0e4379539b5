/*
 * Inputs on their way into a run: from workers, clients, the inbox. Each owns
 * what it borrows, so that it can wait. Also sends on what belongs to a run
 * that is not loaded here.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "supervisor/runs_internal.h"
#include "supervisor/schedule.h"

struct queued *
queued_free(struct queued *q)
{
	buf_release(&q->frame);
	link_body_free(q->body);
	mem_free(q->text);
	mem_free(q->inbox_kind);
	mem_free(q->inbox_key);
	return mem_free(q);
}

struct queued *
queued_first(struct list *list)
{
	return LIST_FIRST(list, struct queued, link);
}

void
queued_free_all(struct list *list)
{
	while (!list_is_empty(list)) {
		struct queued *q = queued_first(list);

		list_remove(&q->link);
		queued_free(q);
	}
}

/* ---- inputs ---- */

void
runs_make_ready(struct slot *slot)
{
	if (!slot->open && !list_is_empty(&slot->inputs) &&
	    !list_is_linked(&slot->ready))
		list_append(&slot->sup->runs->ready, &slot->ready);
}

struct queued *
runs_queue(struct slot *slot, enum input_kind kind)
{
	struct queued *q = MEM_NEW(struct queued);

	q->input.kind = kind;
	list_append(&slot->inputs, &q->link);
	runs_make_ready(slot);
	return q;
}

void
runs_input(struct slot *slot, enum input_kind kind)
{
	(void)runs_queue(slot, kind);
}

void
runs_cancel(
    struct slot *slot, struct slice reason, const struct receipt *receipt)
{
	struct queued *q = runs_queue(slot, INPUT_CANCEL);

	q->text = mem_string_n(reason.ptr, reason.len);
	q->input.text = slice_of(q->text, reason.len);
	q->receipt = *receipt;
}

static enum input_kind
kind_of(const struct msg *msg, bool tool)
{
	if (msg->id == MSG_turn_done)
		return INPUT_TURN_DONE;
	if (msg->id == MSG_turn_failed)
		return INPUT_TURN_FAILED;
	if (msg->id == MSG_tool_done)
		return INPUT_TOOL_DONE;
	return tool ? INPUT_TOOL_REFUSED : INPUT_TURN_REFUSED;
}

/* A copy of a message that stands on its own bytes. */
static void
keep_message(struct queued *q, const struct msg *msg)
{
	struct err err = { 0 };

	q->frame = BUF_INIT(LIMIT_MESSAGE);
	if (msg_encode(msg, &q->frame, &err) == -1 ||
	    msg_decode(&q->msg, buf_slice(&q->frame), &err) == -1)
		BUG("a decoded message cannot be encoded: %s", err.text);
	q->input.msg = &q->msg;
}

static void
name_attempt(struct queued *q, const struct fleet_result *r)
{
	q->input.turn = (uint32_t)r->turn;
	q->input.call = (uint32_t)r->call;
	q->input.attempt = (uint32_t)r->attempt;
}

/* The same result in the list, or NULL. */
static struct queued *
find_result(struct list *list, const struct fleet_result *r)
{
	struct queued *q;

	LIST_EACH (q, next, list, struct queued, link) {
		if (q->receipt.kind == RECEIPT_WORKER &&
		    q->input.turn == r->turn && q->input.call == r->call &&
		    q->input.attempt == r->attempt)
			return q;
	}
	return NULL;
}

void
runs_result(struct slot *slot, const struct fleet_result *r)
{
	struct queued *q = find_result(&slot->inputs, r);

	if (q == NULL)
		q = find_result(&slot->consumed, r);
	if (q != NULL && r->msg->id != MSG_refused) {
		q->receipt.peer = *r->peer; /* perhaps in a new session */
		q->receipt.repeats++;
		return;
	}
	q = runs_queue(slot, kind_of(r->msg, r->call != 0));
	keep_message(q, r->msg);
	name_attempt(q, r);
	q->body = link_body_take(r->owner);
	if (q->body != NULL)
		q->input.body = link_body_slice(q->body);
	if (r->msg->id != MSG_refused)
		q->receipt = (struct receipt){ .kind = RECEIPT_WORKER,
			.peer = *r->peer };
}

static bool
is_queued(struct list *list, struct slice kind, struct slice key)
{
	struct queued *q;

	LIST_EACH (q, next, list, struct queued, link) {
		if (q->inbox_kind != NULL && slice_is(kind, q->inbox_kind) &&
		    slice_is(key, q->inbox_key))
			return true;
	}
	return false;
}

/* A stored result; false when the row cannot be read (it is then dropped). */
static bool
inbox_result(struct queued *q, struct slice frame, struct slice body)
{
	struct err err = { 0 };

	q->frame = BUF_INIT(LIMIT_MESSAGE);
	buf_put_slice(&q->frame, frame);
	if (msg_decode(&q->msg, buf_slice(&q->frame), &err) == -1) {
		log_warn("inbox row cannot be read", log_err(&err));
		return false;
	}
	q->text = mem_string_n(body.ptr, body.len);
	q->input.body = slice_of(q->text, body.len);
	q->input.msg = &q->msg;
	q->input.kind = kind_of(&q->msg, q->msg.id == MSG_tool_done);
	if (q->msg.id == MSG_tool_done)
		name_attempt(
		    q, &(struct fleet_result){ .turn = q->msg.tool_done.turn,
			   .call = q->msg.tool_done.call,
			   .attempt = q->msg.tool_done.attempt });
	else /* turn_done and turn_failed begin alike */
		name_attempt(
		    q, &(struct fleet_result){ .turn = q->msg.turn_done.turn,
			   .attempt = q->msg.turn_done.attempt });
	return true;
}

void
runs_inbox(struct slot *slot, struct slice kind, struct slice key,
    struct slice note, struct slice frame, struct slice body)
{
	struct queued *q;

	if (is_queued(&slot->inputs, kind, key) ||
	    is_queued(&slot->consumed, kind, key))
		return;
	q = runs_queue(slot, INPUT_CANCEL);
	q->inbox_kind = mem_string_n(kind.ptr, kind.len);
	q->inbox_key = mem_string_n(key.ptr, key.len);
	if (slice_is(kind, "cancel")) {
		q->text = mem_string_n(note.ptr, note.len);
		q->input.text = slice_of(q->text, note.len);
	} else if (!inbox_result(q, frame, body)) {
		q->input.kind = INPUT_PLACE; /* deletes the row, does nothing */
	}
}

/* ---- results for others ---- */

struct forward {
	struct supervisor *sup;
	struct peer peer;
	struct uuid run;
	uint64_t turn, call, attempt;
	bool failed;
};

static void
on_put(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct forward *f = arg;

	(void)aborted;
	if (err != NULL) {
		f->failed = true;
		log_warn("result not stored for its owner",
		    log_uuid("run", &f->run), log_err(err));
	} else if (db_get_int(result, 0, 0) == 0) {
		log_info("late result", log_uuid("run", &f->run),
		    log_num("turn", (int64_t)f->turn),
		    log_num("call", (int64_t)f->call),
		    log_num("attempt", (int64_t)f->attempt));
	}
}

static void
on_put_synced(void *arg, const struct err *err)
{
	struct forward *f = arg;

	if (err == NULL && !f->failed) {
		fleet_ack(f->sup->fleet, &f->peer, &f->run, f->turn, f->call,
		    f->attempt);
		schedule_poke(f->sup->schedule);
	}
	mem_free(f); /* not stored: the worker says it again */
}

void
runs_forward(struct supervisor *sup, const struct fleet_result *r)
{
	struct db *side = store_side(sup->store);
	struct db_params p = DB_PARAMS_INIT;
	struct buf frame = BUF_INIT(LIMIT_MESSAGE);
	struct forward *f;
	struct err err = { 0 };
	char key[80];

	if (!db_is_up(side) || r->msg->id == MSG_refused)
		return;
	if (msg_encode(r->msg, &frame, &err) == -1)
		BUG("a decoded message cannot be encoded: %s", err.text);
	f = MEM_NEW(struct forward);
	*f = (struct forward){ sup, *r->peer, r->run, r->turn, r->call,
		r->attempt, false };
	snprintf(key, sizeof(key), "%u/%u/%u", (unsigned)r->turn,
	    (unsigned)r->call, (unsigned)r->attempt);
	db_uuid(&p, &r->run);
	db_int4(&p, (int64_t)r->turn);
	db_int4(&p, (int64_t)r->call);
	db_int4(&p, (int64_t)r->attempt);
	db_text(&p, slice_string(key));
	db_bytes(&p, buf_slice(&frame));
	db_bytes(&p, r->body);
	db_send(side, QUERY_result_put, &p, on_put, f);
	db_sync(side, on_put_synced, f);
	db_params_release(&p);
	buf_release(&frame);
}
