/*
 * The clients' socket: one table of handlers, and the answers. Asks nobody by
 * itself. All input is hostile.
 */
#include "supervisor/front_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/watch.h"

#define CLIENT_QUEUE 2000  /* messages that a slow client may leave unread */
#define ASKS_MAX     4096u /* requests that may wait for the database */

struct ask *
ask_new(struct front *front, const struct peer *peer, uint64_t request)
{
	struct ask *ask = MEM_NEW(struct ask);

	front->asks++;
	ask->front = front;
	ask->receipt.peer = *peer;
	ask->receipt.request = request;
	return ask;
}

struct ask *
ask_free(struct ask *ask)
{
	ask->front->asks--;
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

void
front_reply(struct front *front, const struct receipt *to, struct slice body)
{
	struct msg msg = { .id = MSG_reply, .reply = { to->request } };
	struct err err = { 0 };

	if (body.len <= LIMIT_BODY) {
		(void)send_to(front, &to->peer, &msg, body);
		return;
	}
	err_set(&err, ERR_LIMIT,
	    "the answer has %zu bytes; a message has at most %u: read it in "
	    "the database",
	    body.len, LIMIT_BODY);
	front_failed(front, to, &err);
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

/* What the database says of locks means nothing to a client. */
static struct slice
reason_of(const struct err *err)
{
	if (err->kind == ERR_DB_RETRY)
		return SLICE(
		    "an open transaction of somebody else holds what this "
		    "needs (a submit holds its key); try again");
	return slice_string(err->text);
}

void
front_failed(
    struct front *front, const struct receipt *receipt, const struct err *err)
{
	struct msg msg = { .id = MSG_failed,
		.failed = { receipt->request, slice_string(kind_name(err)),
		    reason_of(err) } };

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

	front_reply(front, &to, SLICE("{}"));
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
	front_reply(front, receipt, buf_slice(&out));
	buf_release(&out);
}

enum front_sent
front_event(struct front *front, const struct peer *peer,
    const struct uuid *run, uint64_t seq, const char *type, bool final,
    uint64_t at_ms, struct slice body)
{
	struct msg msg = { .id = MSG_event,
		.event = { *run, seq, slice_string(type), final, at_ms } };

	return send_to(front, peer, &msg, body);
}

bool
front_refuses(struct front *front, const struct receipt *to)
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

/* ---- the socket ---- */

static front_handler *const handlers[MSG_IDS] = {
	[MSG_submit] = front_on_submit,
	[MSG_get] = front_on_get,
	[MSG_list] = front_on_list,
	[MSG_cancel_run] = front_on_cancel_run,
	[MSG_watch] = front_on_watch,
	[MSG_unwatch] = front_on_unwatch,
	[MSG_apply] = front_on_apply,
	[MSG_workers] = front_on_workers,
	[MSG_stats] = front_on_stats,
};

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct front *front = arg;
	/* Every request of a client begins with its number. */
	struct receipt to = { .peer = *peer, .request = msg->get.request };
	struct err err = { 0 };

	if (handlers[msg->id] == NULL)
		return;
	if (front->asks < ASKS_MAX) {
		handlers[msg->id](front, peer, msg, body, owner);
		return;
	}
	err_set(&err, ERR_BUSY, "%zu requests wait for the database; try again",
	    front->asks);
	front_failed(front, &to, &err);
}

static void
on_unreadable(void *arg, const struct peer *peer, const struct err *err)
{
	struct receipt to = { 0 };

	log_warn_slow("message refused on the front socket", log_err(err));
	if (peer == NULL)
		return; /* its id is too long to answer */
	to.peer = *peer;
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
		    .queue = CLIENT_QUEUE,
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
