/*
 * A ROUTER or DEALER that speaks the catalogue. Owns the ZeroMQ socket, the
 * listening socket's file and its lock. Keeps nothing per peer: ZeroMQ knows
 * who is connected, and an attacker decides how many those are. Never waits:
 * what cannot be sent or read now is an error or comes later.
 */
#include "proto/link.h"

#include "base/alloc.h"
#include "proto/ipc.h"

#include <unistd.h>
#include <zmq.h>

#define FRAMES_MAX       3u  /* peer, message, body */
#define DROP_AT_ONCE     64u /* frames of a message that is too long */
#define QUEUE_MESSAGES   100000
#define HANDSHAKE_MS     5000
#define RECONNECT_MS     50
#define RECONNECT_MAX_MS 1000

struct link_body {
	zmq_msg_t msg;
	struct slice bytes; /* of msg */
};

struct link {
	struct link_config config; /* endpoint: see path */
	char *path;                /* owned */
	void *socket;              /* owned */
	void *monitor;             /* owned; NULL without on_connection */
	struct loop_socket in_loop;
	struct loop_socket monitor_in_loop;
	struct buf head; /* the message frame being sent */
	int lock_fd;     /* -1 on a DEALER */
	int linger_ms;
	unsigned open_sockets; /* in the loop */
	bool skipping;         /* inside a message with too many frames */
};

static int
err_zmq(struct err *err, const char *what)
{
	return err_set(
	    err, ERR_SYSTEM, "%s: %s", what, zmq_strerror(zmq_errno()));
}

/* ---- receiving ---- */

/* The frames of one message as they came. */
struct parcel {
	zmq_msg_t frames[FRAMES_MAX];
	size_t count;
};

static void
parcel_release(struct parcel *parcel)
{
	for (size_t i = 0; i < parcel->count; i++)
		zmq_msg_close(&parcel->frames[i]);
}

static struct slice
frame_slice(zmq_msg_t *frame)
{
	return slice_of(zmq_msg_data(frame), zmq_msg_size(frame));
}

static void
refuse(struct link *link, const struct peer *peer, const struct err *err)
{
	if (link->config.on_refused != NULL)
		link->config.on_refused(link->config.arg, peer, err);
}

/* Reads on in a message of too many frames, a bounded number at a time: the
 * sender alone decides how many there are. */
static void
skip_frames(struct link *link)
{
	for (unsigned i = 0; link->skipping && i < DROP_AT_ONCE; i++) {
		zmq_msg_t frame;

		zmq_msg_init(&frame);
		if (zmq_msg_recv(&frame, link->socket, ZMQ_DONTWAIT) == -1)
			link->skipping = false;
		else
			link->skipping = zmq_msg_more(&frame) != 0;
		zmq_msg_close(&frame);
	}
}

/* False when there is no message. Frames of one message arrive together, so
 * only the first one can be missing. */
static bool
receive(struct link *link, struct parcel *parcel)
{
	size_t most = link->config.bind ? FRAMES_MAX : FRAMES_MAX - 1;
	bool more = true;

	while (more && parcel->count < most) {
		zmq_msg_t *frame = &parcel->frames[parcel->count];

		zmq_msg_init(frame);
		if (zmq_msg_recv(frame, link->socket, ZMQ_DONTWAIT) == -1) {
			zmq_msg_close(frame);
			return parcel->count > 0;
		}
		parcel->count++;
		more = zmq_msg_more(frame) != 0;
	}
	link->skipping = more;
	return true;
}

static bool
sender_is_wrong(const struct link *link, enum msg_id id)
{
	enum msg_from from = msg_sender(id);

	return from != MSG_FROM_BOTH && link->config.accepts != MSG_FROM_BOTH &&
	       from != link->config.accepts;
}

/* Decodes the frames after the peer's. `body` is NULL when there is none. */
static int
open_parcel(struct link *link, zmq_msg_t *head, zmq_msg_t *body,
    struct msg *ret_msg, struct err *err)
{
	bool wanted;

	if (link->skipping)
		return err_set(err, ERR_INPUT,
		    "too many frames, allowed are message and body");
	if (msg_decode(ret_msg, frame_slice(head), err) == -1)
		return -1;
	if (sender_is_wrong(link, ret_msg->id))
		return err_set(err, ERR_INPUT, "%s: is not for this side",
		    msg_name(ret_msg->id));
	wanted = msg_body_kind(ret_msg->id) != MSG_BODY_NONE;
	if (wanted != (body != NULL))
		return err_set(err, ERR_INPUT, "%s: %s", msg_name(ret_msg->id),
		    wanted ? "the body frame is missing"
			   : "has a body frame, must have none");
	return 0;
}

static void
deliver(struct link *link, const struct peer *peer, zmq_msg_t *head,
    zmq_msg_t *body)
{
	struct link_body owner;
	struct slice bytes = { 0 };
	struct err err = { 0 };
	struct msg msg;

	if (open_parcel(link, head, body, &msg, &err) == -1) {
		refuse(link, peer, &err);
		return;
	}
	if (body == NULL) {
		link->config.on_message(
		    link->config.arg, peer, &msg, bytes, NULL);
		return;
	}
	zmq_msg_init(&owner.msg);
	zmq_msg_move(&owner.msg, body);
	bytes = frame_slice(&owner.msg);
	link->config.on_message(link->config.arg, peer, &msg, bytes, &owner);
	zmq_msg_close(&owner.msg);
}

static void
deliver_from_peer(struct link *link, struct parcel *parcel)
{
	struct slice id = frame_slice(&parcel->frames[0]);
	struct err err = { 0 };
	struct peer peer;

	if (id.len > sizeof(peer.bytes)) {
		err_set(&err, ERR_LIMIT,
		    "routing id of %zu bytes, allowed are at most %zu", id.len,
		    sizeof(peer.bytes));
		refuse(link, NULL, &err);
		return;
	}
	peer.len = (uint8_t)id.len;
	memcpy(peer.bytes, id.ptr, id.len);
	if (parcel->count < 2) {
		err_set(&err, ERR_INPUT, "a message without frames");
		refuse(link, &peer, &err);
		return;
	}
	deliver(link, &peer, &parcel->frames[1],
	    parcel->count > 2 ? &parcel->frames[2] : NULL);
}

static bool
on_ready(void *arg)
{
	struct link *link = arg;
	struct parcel parcel = { .count = 0 };

	if (link->skipping) {
		skip_frames(link);
		return true;
	}
	if (!receive(link, &parcel))
		return false;
	if (link->config.bind)
		deliver_from_peer(link, &parcel);
	else
		deliver(link, NULL, &parcel.frames[0],
		    parcel.count > 1 ? &parcel.frames[1] : NULL);
	parcel_release(&parcel);
	return true;
}

/* ---- the monitor of a DEALER's connection ---- */

/* An event is two frames: number (16 bits) and value, then the endpoint. */
static bool
on_monitor(void *arg)
{
	struct link *link = arg;
	uint8_t event[6];
	char endpoint[256];
	uint16_t number;

	if (zmq_recv(link->monitor, event, sizeof(event), ZMQ_DONTWAIT) !=
	    (int)sizeof(event))
		return false;
	zmq_recv(link->monitor, endpoint, sizeof(endpoint), ZMQ_DONTWAIT);
	memcpy(&number, event, sizeof(number));
	if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
		link->config.on_connection(link->config.arg, true);
	else if (number == ZMQ_EVENT_DISCONNECTED)
		link->config.on_connection(link->config.arg, false);
	return true;
}

static int
monitor_open(struct link *link, struct err *err)
{
	struct uuid uuid = uuid_v4();
	char name[64], text[UUID_TEXT];
	int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;

	snprintf(name, sizeof(name), "inproc://%s", uuid_text(&uuid, text));
	if (zmq_socket_monitor(link->socket, name, events) == -1)
		return err_zmq(err, "monitor");
	link->monitor = zmq_socket(link->config.zmq, ZMQ_PAIR);
	if (link->monitor == NULL)
		return err_zmq(err, "monitor");
	if (zmq_connect(link->monitor, name) == -1)
		return err_zmq(err, "monitor");
	if (loop_add_socket(link->config.loop, &link->monitor_in_loop,
		link->monitor, on_monitor, link, err) == -1)
		return -1;
	link->open_sockets++;
	return 0;
}

/* ---- opening ---- */

static int
set_int(struct link *link, int option, int value)
{
	return zmq_setsockopt(link->socket, option, &value, sizeof(value));
}

static int
set_router(struct link *link)
{
	return set_int(link, ZMQ_ROUTER_MANDATORY, 1) == -1 ||
		       set_int(link, ZMQ_ROUTER_HANDOVER, 1) == -1
		   ? -1
		   : 0;
}

/* Ids are fresh per start, so that nobody is taken for a predecessor. A first
 * byte of 0 is kept for ids that ZeroMQ makes. */
static int
set_dealer(struct link *link)
{
	struct uuid id = uuid_v4();

	if (id.bytes[0] == 0)
		id.bytes[0] = 1;
	return zmq_setsockopt(link->socket, ZMQ_ROUTING_ID, id.bytes,
		   sizeof(id.bytes)) == -1 ||
		       set_int(link, ZMQ_IMMEDIATE, 1) == -1 ||
		       set_int(link, ZMQ_RECONNECT_IVL, RECONNECT_MS) == -1 ||
		       set_int(link, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS) ==
			   -1
		   ? -1
		   : 0;
}

static int
set_options(struct link *link, struct err *err)
{
	int queue =
	    link->config.queue == 0 ? QUEUE_MESSAGES : link->config.queue;
	int64_t largest = LIMIT_BODY;

	if (set_int(link, ZMQ_LINGER, 0) == -1 ||
	    set_int(link, ZMQ_SNDHWM, queue) == -1 ||
	    set_int(link, ZMQ_RCVHWM, queue) == -1 ||
	    set_int(link, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) == -1 ||
	    zmq_setsockopt(
		link->socket, ZMQ_MAXMSGSIZE, &largest, sizeof(largest)) == -1)
		return err_zmq(err, "socket options");
	if ((link->config.bind ? set_router(link) : set_dealer(link)) == -1)
		return err_zmq(err, "socket options");
	return 0;
}

/* libzmq is given a listening socket: one that it makes itself it also deletes,
 * some time after the close, when the path may be a successor's. */
static int
open_router(struct link *link, struct err *err)
{
	int fd;

	if (ipc_listen(link->path, &fd, &link->lock_fd, err) == -1)
		return -1;
	if (set_int(link, ZMQ_USE_FD, fd) == 0 &&
	    zmq_bind(link->socket, link->config.endpoint) == 0)
		return 0;
	err_zmq(err, "bind");
	close(fd);
	unlink(link->path);
	return -1;
}

static int
link_open(struct link *link, struct err *err)
{
	const char *path = ipc_path(link->config.endpoint, err);

	if (path == NULL)
		return -1;
	link->path = mem_string(path);
	link->socket = zmq_socket(
	    link->config.zmq, link->config.bind ? ZMQ_ROUTER : ZMQ_DEALER);
	if (link->socket == NULL)
		return err_zmq(err, "socket");
	if (set_options(link, err) == -1)
		return -1;
	if (!link->config.bind && link->config.on_connection != NULL &&
	    monitor_open(link, err) == -1)
		return -1;
	if (link->config.bind) {
		if (open_router(link, err) == -1)
			return -1;
	} else if (zmq_connect(link->socket, link->config.endpoint) == -1) {
		return err_zmq(err, "connect");
	}
	if (loop_add_socket(link->config.loop, &link->in_loop, link->socket,
		on_ready, link, err) == -1)
		return -1;
	link->open_sockets++;
	return 0;
}

int
link_new(
    struct link **ret_link, const struct link_config *config, struct err *err)
{
	struct link *link = MEM_NEW(struct link);

	link->config = *config;
	link->lock_fd = -1;
	link->head = BUF_INIT(LIMIT_MESSAGE);
	if (link_open(link, err) == -1) {
		err_wrap(err, "%s", config->endpoint);
		link_free(link, 0);
		return -1;
	}
	link->config.endpoint = NULL; /* borrowed for the call only */
	*ret_link = link;
	return 0;
}

/* ---- closing ---- */

static void
link_release(struct link *link)
{
	if (link->monitor != NULL)
		zmq_close(link->monitor);
	if (link->socket != NULL) {
		set_int(link, ZMQ_LINGER, link->linger_ms);
		zmq_close(link->socket);
	}
	if (link->lock_fd != -1)
		close(link->lock_fd);
	buf_release(&link->head);
	mem_free(link->path);
	mem_free(link);
}

static void
on_closed(void *arg)
{
	struct link *link = arg;

	if (--link->open_sockets == 0)
		link_release(link);
}

struct link *
link_free(struct link *link, int linger_ms)
{
	unsigned open_sockets;

	if (link == NULL)
		return NULL;
	link->linger_ms = linger_ms;
	open_sockets = link->open_sockets;
	if (link->monitor != NULL)
		zmq_socket_monitor(link->socket, NULL, 0);
	if (link->in_loop.loop != NULL) {
		if (link->config.bind)
			unlink(link->path);
		loop_remove_socket(&link->in_loop, on_closed);
	}
	if (link->monitor_in_loop.loop != NULL)
		loop_remove_socket(&link->monitor_in_loop, on_closed);
	if (open_sockets == 0)
		link_release(link);
	return NULL;
}

/* ---- sending ---- */

static int
err_peer(struct err *err, const char *what)
{
	int code = zmq_errno();

	if (code != EHOSTUNREACH && code != EAGAIN)
		return err_zmq(err, what);
	err_set(err, ERR_PEER,
	    code == EAGAIN ? "%s: the peer takes no more now"
			   : "%s: the peer is gone",
	    what);
	if (err != NULL)
		err->code = code;
	return -1;
}

/* Whether a message can leave is decided at its first frame. */
static int
send_frames(struct link *link, const struct peer *peer, const char *name,
    zmq_msg_t *body, struct err *err)
{
	int more = body == NULL ? 0 : ZMQ_SNDMORE;

	if (link->config.bind && zmq_send(link->socket, peer->bytes, peer->len,
				     ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1)
		return err_peer(err, name);
	if (zmq_send(link->socket, link->head.ptr, link->head.len,
		more | ZMQ_DONTWAIT) == -1)
		return err_peer(err, name);
	if (body != NULL &&
	    zmq_msg_send(body, link->socket, ZMQ_DONTWAIT) == -1)
		return err_peer(err, name);
	return 0;
}

static int
encode_head(
    struct link *link, const struct msg *msg, size_t body_len, struct err *err)
{
	const char *name = msg_name(msg->id);

	if (body_len > 0 && msg_body_kind(msg->id) == MSG_BODY_NONE)
		BUG("%s with a body", name);
	if (body_len > LIMIT_BODY)
		return err_set(err, ERR_LIMIT,
		    "%s: body of %zu bytes, allowed are at most %u", name,
		    body_len, LIMIT_BODY);
	buf_clear(&link->head);
	return msg_encode(msg, &link->head, err);
}

int
link_send(struct link *link, const struct peer *peer, const struct msg *msg,
    struct slice body, struct err *err)
{
	const char *name = msg_name(msg->id);
	zmq_msg_t frame;
	int rc;

	if (encode_head(link, msg, body.len, err) == -1)
		return -1;
	if (msg_body_kind(msg->id) == MSG_BODY_NONE)
		return send_frames(link, peer, name, NULL, err);
	if (zmq_msg_init_size(&frame, body.len) == -1)
		return err_zmq(err, name);
	if (body.len > 0)
		memcpy(zmq_msg_data(&frame), body.ptr, body.len);
	rc = send_frames(link, peer, name, &frame, err);
	if (rc == -1)
		zmq_msg_close(&frame);
	return rc;
}

/* Runs in a thread of ZeroMQ. */
static void
free_body(void *data, void *hint)
{
	(void)hint;
	mem_free(data);
}

int
link_send_take(struct link *link, const struct peer *peer,
    const struct msg *msg, struct buf *body, struct err *err)
{
	const char *name = msg_name(msg->id);
	zmq_msg_t frame;
	int rc = -1;

	if (body->len == 0 || body->failed ||
	    msg_body_kind(msg->id) == MSG_BODY_NONE) {
		rc = buf_check(body, name, err);
		if (rc == 0)
			rc = link_send(link, peer, msg, buf_slice(body), err);
		buf_release(body);
		return rc;
	}
	if (encode_head(link, msg, body->len, err) == -1 ||
	    zmq_msg_init_data(&frame, body->ptr, body->len, free_body, NULL) ==
		-1) {
		buf_release(body);
		return -1;
	}
	*body = BUF_INIT(body->max);
	rc = send_frames(link, peer, name, &frame, err);
	if (rc == -1)
		zmq_msg_close(&frame);
	return rc;
}

/* ---- bodies that are kept ---- */

struct link_body *
link_body_take(struct link_body *owner)
{
	struct link_body *body;

	if (owner == NULL)
		return NULL;
	body = MEM_NEW(struct link_body);
	zmq_msg_init(&body->msg);
	zmq_msg_move(&body->msg, &owner->msg);
	body->bytes = frame_slice(&body->msg);
	return body;
}

struct slice
link_body_slice(const struct link_body *body)
{
	if (body == NULL)
		return (struct slice){ 0 };
	return body->bytes;
}

struct link_body *
link_body_free(struct link_body *body)
{
	if (body != NULL)
		zmq_msg_close(&body->msg);
	return mem_free(body);
}
