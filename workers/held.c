/*
 * Attempts held by a worker. A result is encoded once, when it ends: that
 * copies its strings and proves that it can be sent. It stays until it is
 * acked, and is sent again in growing pauses, since an ack may be lost, and in
 * bounded bursts, since thousands of bodies may wait for one supervisor.
 */
#include "workers/held.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"

#define PAUSE_FIRST_MS 3000u
#define PAUSE_MAX_MS   30000u

static struct slice
key_of(const struct attempt *attempt)
{
	_Static_assert(sizeof(struct attempt) == sizeof(struct uuid) + 3 * 8,
	    "padding would be part of the key");
	return slice_of(attempt, sizeof(*attempt));
}

void
held_set_init(struct held_set *set)
{
	*set =
	    (struct held_set){ .by_attempt = MAP_INIT, .due_ms = UINT64_MAX };
	list_init(&set->all);
}

static void
held_free(struct held *held)
{
	buf_release(&held->frame);
	buf_release(&held->body);
	mem_free(held);
}

void
held_set_release(struct held_set *set)
{
	struct held *held;

	LIST_EACH (held, next, &set->all, struct held, link)
		held_free(held);
	map_release(&set->by_attempt);
	held_set_init(set);
}

struct held *
held_set_find(const struct held_set *set, const struct attempt *attempt)
{
	return map_get(&set->by_attempt, key_of(attempt));
}

struct held *
held_set_add(struct held_set *set, const struct attempt *attempt)
{
	struct held *held = MEM_NEW(struct held);

	held->attempt = *attempt;
	if (map_set(&set->by_attempt, key_of(attempt), held) != NULL)
		BUG("attempt held twice");
	list_append(&set->all, &held->link);
	set->count++;
	set->running++;
	return held;
}

void
held_set_remove(struct held_set *set, struct held *held)
{
	map_remove(&set->by_attempt, key_of(&held->attempt));
	list_remove(&held->link);
	set->count--;
	if (!held->finished)
		set->running--;
	held_free(held);
}

void
held_set_describe(const struct held_set *set, struct json_writer *w)
{
	const struct held *held;
	char text[UUID_TEXT];

	json_key(w, "in_flight");
	json_open(w, '[');
	LIST_EACH (held, next, &set->all, struct held, link) {
		json_open(w, '{');
		json_key(w, "run");
		json_text(w, uuid_text(&held->attempt.run, text));
		json_key(w, "turn");
		json_unum(w, held->attempt.turn);
		json_key(w, "call");
		json_unum(w, held->attempt.call);
		json_key(w, "attempt");
		json_unum(w, held->attempt.attempt);
		json_key(w, "finished");
		json_bool(w, held->finished);
		json_close(w);
	}
	json_close(w);
}

static void
set_due(struct held_set *set, struct held *held, uint64_t due_ms)
{
	held->due_ms = due_ms;
	if (due_ms < set->due_ms)
		set->due_ms = due_ms;
}

void
held_set_offer(struct held_set *set, uint64_t now_ms)
{
	struct held *held;

	LIST_EACH (held, next, &set->all, struct held, link) {
		held->taken = false;
		held->pause_ms = PAUSE_FIRST_MS;
		if (held->finished)
			set_due(set, held, now_ms);
	}
}

void
held_set_send(struct held_set *set, struct link *link, uint64_t now_ms)
{
	struct held *held;
	size_t sent = 0;

	if (now_ms < set->due_ms)
		return;
	set->due_ms = UINT64_MAX;
	LIST_EACH (held, next, &set->all, struct held, link) {
		if (!held->finished)
			continue;
		if (held->due_ms > now_ms)
			set_due(set, held, held->due_ms);
		else if (sent >= HELD_BURST)
			set_due(set, held, now_ms + HELD_BURST_MS);
		else
			sent += held->frame.len +
				held_send(set, held, link, now_ms);
	}
}

/* ---- results ---- */

/* The result names its attempt as the start did, whatever the worker wrote. */
static void
name_attempt(
    struct msg *msg, const struct attempt *attempt, uint64_t body_bytes)
{
	if (msg->id == MSG_turn_done && attempt->call == 0) {
		msg->turn_done.run = attempt->run;
		msg->turn_done.turn = attempt->turn;
		msg->turn_done.attempt = attempt->attempt;
		msg->turn_done.size = body_bytes;
	} else if (msg->id == MSG_turn_failed && attempt->call == 0) {
		msg->turn_failed.run = attempt->run;
		msg->turn_failed.turn = attempt->turn;
		msg->turn_failed.attempt = attempt->attempt;
	} else if (msg->id == MSG_tool_done && attempt->call != 0) {
		msg->tool_done.run = attempt->run;
		msg->tool_done.turn = attempt->turn;
		msg->tool_done.call = attempt->call;
		msg->tool_done.attempt = attempt->attempt;
		msg->tool_done.size = body_bytes;
	} else {
		BUG("message %d cannot end this attempt", (int)msg->id);
	}
}

static int
encode(struct held *held, const struct msg *msg, struct err *err)
{
	struct msg named = *msg;

	if (buf_check(&held->body, "result", err) == -1)
		return -1;
	if (held->body.len > LIMIT_BODY)
		return err_set(err, ERR_LIMIT,
		    "the result has %zu bytes, allowed are at most %u",
		    held->body.len, LIMIT_BODY);
	name_attempt(&named, &held->attempt, held->body.len);
	return msg_encode(&named, &held->frame, err);
}

static void
encode_failure(struct held *held, const struct err *err)
{
	struct slice why = slice_string(err->text);
	struct msg msg = { .id = MSG_tool_done };
	struct err none;

	log_error("result cannot be sent", log_uuid("run", &held->attempt.run),
	    log_num("turn", (int64_t)held->attempt.turn),
	    log_num("call", (int64_t)held->attempt.call), log_err(err));
	buf_release(&held->body);
	held->body = BUF_INIT(sizeof(err->text));
	if (held->attempt.call == 0) {
		msg.id = MSG_turn_failed;
		msg.turn_failed.class = SLICE("protocol");
		msg.turn_failed.message = why;
		msg.turn_failed.output = true;
	} else {
		msg.tool_done.outcome = err->kind == ERR_LIMIT
					    ? SLICE("output_limit")
					    : SLICE("sandbox_error");
		buf_put_slice(&held->body, why);
	}
	if (encode(held, &msg, &none) == -1)
		BUG("failure cannot be encoded: %s", none.text);
}

void
held_finish(struct held_set *set, struct held *held, const struct msg *msg,
    struct buf *body)
{
	struct err err;

	held->finished = true;
	held->pause_ms = PAUSE_FIRST_MS;
	set->running--;
	held->frame = BUF_INIT(LIMIT_MESSAGE);
	if (body != NULL) {
		held->body = *body;
		*body = BUF_INIT(body->max);
	}
	if (encode(held, msg, &err) == -1)
		encode_failure(held, &err);
}

size_t
held_send(
    struct held_set *set, struct held *held, struct link *link, uint64_t now_ms)
{
	struct slice body = buf_slice(&held->body);
	struct err err;
	struct msg msg;

	if (body.len > LIMIT_BODY_HELD && !held->taken)
		body = (struct slice){ 0 };
	if (msg_decode(&msg, buf_slice(&held->frame), &err) == -1)
		BUG("result cannot be read: %s", err.text);
	set_due(set, held, now_ms + held->pause_ms);
	held->pause_ms *= 2;
	if (held->pause_ms > PAUSE_MAX_MS)
		held->pause_ms = PAUSE_MAX_MS;
	if (link_send(link, NULL, &msg, body, &err) == -1)
		log_warn_slow("result not sent",
		    log_uuid("run", &held->attempt.run), log_err(&err));
	return body.len;
}
