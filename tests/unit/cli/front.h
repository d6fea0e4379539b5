/*
 * A front for tests of the client's side: a ROUTER in the client's own loop
 * that does what the test says with each message.
 */
#ifndef TESTS_CLI_FRONT_H
#define TESTS_CLI_FRONT_H

#include "cli/client.h"

#include <check.h>
#include <zmq.h>

#include "tests/unit/temp.h"

#define FRONT_PATH_MAX (TEMP_PATH + sizeof("/front"))

struct front {
	char path[FRONT_PATH_MAX];
	void *zmq; /* owned; not the client's */
	struct loop *loop;
	struct link *link; /* owned; NULL while the front is down */
	struct peer peer;  /* who sent the last message */
	unsigned count;    /* messages that came, without unwatch */
	bool mute;         /* unwatch is not answered */
	void (*on_message)(
	    struct front *front, const struct msg *msg, struct slice body);
	void *arg;
	uv_timer_t later;
	void (*on_later)(struct front *front);
};

static inline void
front_send(struct front *front, const struct msg *msg, const char *body)
{
	struct err err = { 0 };
	int rc =
	    link_send(front->link, &front->peer, msg, slice_string(body), &err);

	ck_assert_msg(rc == 0, "%s", err.text);
}

static inline void
front_reply(struct front *front, uint64_t request, const char *body)
{
	struct msg msg = { .id = MSG_reply };

	msg.reply.request = request;
	front_send(front, &msg, body);
}

static inline void
front_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct front *front = arg;

	(void)owner;
	front->peer = *peer;
	if (msg->id == MSG_unwatch) {
		if (!front->mute)
			front_reply(front, msg->unwatch.request, "{}");
		return;
	}
	front->count++;
	front->on_message(front, msg, body);
}

static inline void
front_up(struct front *front)
{
	char endpoint[FRONT_PATH_MAX + 8];
	struct err err = { 0 };
	int rc;

	snprintf(endpoint, sizeof(endpoint), "ipc://%s", front->path);
	rc = link_new(&front->link,
	    &(const struct link_config){
		.zmq = front->zmq,
		.loop = front->loop,
		.endpoint = endpoint,
		.bind = true,
		.accepts = MSG_FROM_CLIENT,
		.on_message = front_message,
		.arg = front,
	    },
	    &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

static inline void
front_down(struct front *front)
{
	front->link = link_free(front->link, 0);
}

static inline void
front_on_later(uv_timer_t *timer)
{
	struct front *front = timer->data;

	front->on_later(front);
}

/* Calls back once after ms. */
static inline void
front_later(
    struct front *front, uint64_t ms, void (*on_later)(struct front *front))
{
	front->on_later = on_later;
	uv_timer_start(&front->later, front_on_later, ms, 0);
}

/* A folder of its own for the socket. */
static inline void
front_place(struct front *front)
{
	char dir[TEMP_PATH];

	temp_folder(dir);
	snprintf(front->path, sizeof(front->path), "%s/front", dir);
}

/* Joins the client's loop and listens. */
static inline void
front_join(struct front *front, struct client *client)
{
	front->loop = client_loop(client);
	front->zmq = zmq_ctx_new();
	uv_timer_init(&front->loop->uv, &front->later);
	front->later.data = front;
	front_up(front);
}

/* After client_free, which closes everything in the loop. */
static inline void
front_release(struct front *front)
{
	if (front->zmq != NULL)
		zmq_ctx_term(front->zmq);
}

static inline void
front_refuse(struct front *front, uint64_t request, const char *kind,
    const char *message)
{
	struct msg msg = { .id = MSG_failed };

	msg.failed.request = request;
	msg.failed.kind = slice_string(kind);
	msg.failed.message = slice_string(message);
	front_send(front, &msg, NULL);
}

static inline void
front_event(struct front *front, const struct uuid *run, uint64_t seq,
    const char *type, bool final, const char *body)
{
	struct msg msg = { .id = MSG_event };

	msg.event.run = *run;
	msg.event.seq = seq;
	msg.event.type = slice_string(type);
	msg.event.final = final;
	front_send(front, &msg, body);
}

#endif
