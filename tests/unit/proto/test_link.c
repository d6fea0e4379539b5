/*
 * proto/link.c: a ROUTER and DEALERs over ipc in one loop and one temporary
 * directory. Each wait ends by an event; a guard timer fails the test.
 */
#include "proto/link.h"

#include "base/alloc.h"
#include "tests/unit/proto/wait.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <dirent.h>
#include <unistd.h>
#include <zmq.h>

static void *zmq;
static char dir[TEMP_PATH];
static char endpoint[128];

/* What one side has heard. */
struct side {
	struct link *link;
	size_t messages, refused, ups, downs;
	size_t bytes; /* of all bodies */
	struct peer peer;
	struct msg msg;
	struct uuid run; /* of the last cancel */
	char text[LIMIT_TEXT + 1];
	struct err err;
	bool answer;
	bool keep;
	bool free_at_once;
	struct link_body *kept;
};

static struct side router, dealer;

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct side *side = arg;
	struct err err = { 0 };

	side->messages++;
	side->bytes += body.len;
	side->msg = *msg;
	if (peer != NULL)
		side->peer = *peer;
	if (body.len > 0 && body.len < sizeof(side->text)) {
		memcpy(side->text, body.ptr, body.len);
		side->text[body.len] = '\0';
	}
	if (side->keep)
		side->kept = link_body_take(owner);
	if (side->answer) {
		struct msg ack = { .id = MSG_ack };

		ck_assert_int_eq(link_send(side->link, peer, &ack,
				     (struct slice){ 0 }, &err),
		    0);
	}
	if (side->free_at_once)
		side->link = link_free(side->link, 0);
}

static void
on_refused(void *arg, const struct peer *peer, const struct err *err)
{
	struct side *side = arg;

	side->refused++;
	side->err = *err;
	if (peer != NULL)
		side->peer = *peer;
}

static void
on_connection(void *arg, bool up)
{
	struct side *side = arg;

	if (up)
		side->ups++;
	else
		side->downs++;
}

static int
open_side(struct side *side, bool bind, int queue, struct err *err)
{
	struct link_config config = {
		.zmq = zmq,
		.loop = &loop,
		.endpoint = endpoint,
		.bind = bind,
		.accepts = bind ? MSG_FROM_WORKER : MSG_FROM_SUPERVISOR,
		.queue = queue,
		.on_message = on_message,
		.on_refused = on_refused,
		.on_connection = on_connection,
		.arg = side,
	};

	return link_new(&side->link, &config, err);
}

static bool
dealer_is_up(void)
{
	return dealer.ups > dealer.downs;
}

static void
connect_both(void)
{
	struct err err = { 0 };

	ck_assert_msg(open_side(&router, true, 0, &err) == 0, "%s", err.text);
	ck_assert_msg(open_side(&dealer, false, 0, &err) == 0, "%s", err.text);
	wait_for(dealer_is_up);
}

static void
set_up(void)
{
	memset(&router, 0, sizeof(router));
	memset(&dealer, 0, sizeof(dealer));
	temp_folder(dir);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/sock", dir);
	zmq = zmq_ctx_new();
	wait_set_up();
}

static void
tear_down(void)
{
	char path[128];

	router.kept = link_body_free(router.kept);
	router.link = link_free(router.link, 0);
	dealer.link = link_free(dealer.link, 0);
	loop_release(&loop);
	zmq_ctx_term(zmq);
	snprintf(path, sizeof(path), "%s/sock.lock", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/sock", dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(rmdir(dir), 0);
}

static struct msg
credit(uint64_t count)
{
	return (struct msg){ .id = MSG_credit, .credit = { .count = count } };
}

static struct msg
tool_done(uint64_t size)
{
	return (struct msg){
		.id = MSG_tool_done,
		.tool_done = { .size = size, .outcome = SLICE("ok") },
	};
}

static void
must_send(struct side *side, const struct peer *peer, struct msg msg,
    struct slice body)
{
	struct err err = { 0 };

	ck_assert_msg(
	    link_send(side->link, peer, &msg, body, &err) == 0, "%s", err.text);
}

static bool
router_heard_one(void)
{
	return router.messages + router.refused >= 1;
}

static bool
dealer_heard_one(void)
{
	return dealer.messages + dealer.refused >= 1;
}

/* ---- messages ---- */

START_TEST(a_message_arrives_as_it_was_sent)
{
	connect_both();
	must_send(&dealer, NULL, credit(7), (struct slice){ 0 });
	wait_for(router_heard_one);
	ck_assert_int_eq(router.msg.id, MSG_credit);
	ck_assert_uint_eq(router.msg.credit.count, 7);
	ck_assert_uint_eq(router.peer.len, 16);
}
END_TEST

START_TEST(a_body_arrives_as_it_was_sent)
{
	connect_both();
	must_send(&dealer, NULL, tool_done(5), SLICE("hello"));
	wait_for(router_heard_one);
	ck_assert_int_eq(router.msg.id, MSG_tool_done);
	ck_assert_str_eq(router.text, "hello");
}
END_TEST

START_TEST(an_empty_body_arrives_as_one)
{
	connect_both();
	must_send(&dealer, NULL, tool_done(0), (struct slice){ 0 });
	wait_for(router_heard_one);
	ck_assert_uint_eq(router.messages, 1);
	ck_assert_uint_eq(router.bytes, 0);
}
END_TEST

START_TEST(an_answer_reaches_the_peer_that_asked)
{
	router.answer = true;
	connect_both();
	must_send(&dealer, NULL, credit(1), (struct slice){ 0 });
	wait_for(dealer_heard_one);
	ck_assert_int_eq(dealer.msg.id, MSG_ack);
}
END_TEST

START_TEST(a_taken_buffer_is_sent_and_given_up)
{
	struct buf body = BUF_INIT(1u << 20);
	struct msg msg = tool_done(300000);
	struct err err = { 0 };
	char *room;

	connect_both();
	room = buf_room(&body, 300000);
	memset(room, 'x', 300000);
	body.len = 300000;
	ck_assert_int_eq(
	    link_send_take(dealer.link, NULL, &msg, &body, &err), 0);
	ck_assert_ptr_null(body.ptr);
	ck_assert_uint_eq(body.len, 0);
	wait_for(router_heard_one);
	ck_assert_uint_eq(router.bytes, 300000);
}
END_TEST

START_TEST(a_taken_buffer_is_given_up_on_failure_too)
{
	struct buf body = BUF_INIT(100);
	struct msg msg = tool_done(1);
	struct err err = { 0 };
	struct peer nobody = { .len = 3, .bytes = "abc" };

	connect_both();
	buf_puts(&body, "x");
	msg = (struct msg){ .id = MSG_reply };
	ck_assert_int_eq(
	    link_send_take(router.link, &nobody, &msg, &body, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_ptr_null(body.ptr);
}
END_TEST

static const size_t body_sizes[] = { 1, 29, 33, 34, 1000, 100000 };

START_TEST(a_body_can_be_kept_beyond_the_handler)
{
	size_t len = body_sizes[_i];
	char *text = mem_new(len);

	memset(text, 'k', len);
	router.keep = true;
	connect_both();
	must_send(&dealer, NULL, tool_done(len), slice_of(text, len));
	wait_for(router_heard_one);
	must_send(&dealer, NULL, tool_done(1), SLICE("z"));
	ck_assert(slice_eq(link_body_slice(router.kept), slice_of(text, len)));
	mem_free(text);
}
END_TEST

START_TEST(a_message_without_body_has_nothing_to_keep)
{
	router.keep = true;
	connect_both();
	must_send(&dealer, NULL, credit(1), (struct slice){ 0 });
	wait_for(router_heard_one);
	ck_assert_ptr_null(router.kept);
	ck_assert_uint_eq(link_body_slice(NULL).len, 0);
}
END_TEST

static bool
router_heard_many(void)
{
	return router.messages >= 1000;
}

START_TEST(a_thousand_messages_all_arrive)
{
	connect_both();
	for (uint64_t i = 0; i < 1000; i++)
		must_send(&dealer, NULL, credit(i), (struct slice){ 0 });
	wait_for(router_heard_many);
	ck_assert_uint_eq(router.msg.credit.count, 999);
}
END_TEST

static bool
router_is_gone(void)
{
	return router.link == NULL;
}

START_TEST(a_handler_may_free_its_link)
{
	router.free_at_once = true;
	connect_both();
	must_send(&dealer, NULL, credit(1), (struct slice){ 0 });
	must_send(&dealer, NULL, credit(2), (struct slice){ 0 });
	wait_for(router_is_gone);
	ck_assert_uint_eq(router.messages, 1);
}
END_TEST

/* ---- refusals: raw frames from a peer that follows no rule ---- */

struct raw {
	const char *why;  /* part of the refusal's text */
	size_t count;     /* frames */
	const char *head; /* first frame */
	size_t len;
};

/* Hand-made frames: 93 = array of 3, cd 01 00 = 256 (version 1.0). */
static const struct raw raws[] = {
	{ "empty frame", 1, "", 0 },
	{ "message:", 1, "\xc1", 1 },
	{ "is not for this side", 1, "\x92\xcd\x01\x00\x1b", 5 }, /* drain */
	{ "has a body frame", 2, "\x93\xcd\x01\x00\x02\x05", 6 }, /* credit */
	{ "too many frames", 3, "\x93\xcd\x01\x00\x02\x05", 6 },
	{ "too many frames", 4, "\x93\xcd\x01\x00\x02\x05", 6 },
	{ "too many frames", 1000, "\x93\xcd\x01\x00\x02\x05", 6 },
	{ "version 2.0", 1, "\x93\xcd\x02\x00\x02\x05", 6 },
	{ "unknown message id 19", 1, "\x93\xcd\x01\x00\x13\x05", 6 },
};

static const struct raw good = { NULL, 1, "\x93\xcd\x01\x00\x02\x05", 6 };

static void *
raw_dealer(const char *id, size_t len)
{
	void *raw = zmq_socket(zmq, ZMQ_DEALER);
	int linger = 1000;

	zmq_setsockopt(raw, ZMQ_LINGER, &linger, sizeof(linger));
	if (len > 0)
		zmq_setsockopt(raw, ZMQ_ROUTING_ID, id, len);
	ck_assert_int_eq(zmq_connect(raw, endpoint), 0);
	return raw;
}

static void
send_raw(void *raw, const struct raw *what)
{
	for (size_t i = 0; i < what->count; i++) {
		int more = i + 1 < what->count ? ZMQ_SNDMORE : 0;

		ck_assert_int_ge(
		    i == 0 ? zmq_send(raw, what->head, what->len, more)
			   : zmq_send(raw, "junk", 4, more),
		    0);
	}
}

static bool
router_heard_two(void)
{
	return router.messages + router.refused >= 2;
}

START_TEST(a_wrong_message_is_refused_and_the_next_one_heard)
{
	struct err err = { 0 };
	void *raw;

	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	raw = raw_dealer("someone", 7);
	send_raw(raw, &raws[_i]);
	send_raw(raw, &good);
	wait_for(router_heard_two);
	ck_assert_uint_eq(router.refused, 1);
	ck_assert_uint_eq(router.messages, 1);
	ck_assert_uint_eq(router.msg.credit.count, 5);
	ck_assert_msg(strstr(router.err.text, raws[_i].why) != NULL, "%s",
	    router.err.text);
	ck_assert(slice_is(peer_slice(&router.peer), "someone"));
	zmq_close(raw);
}
END_TEST

/* A worker that lost its connection comes back under its id before the old
 * connection is known to be dead. */
START_TEST(a_newcomer_takes_over_a_routing_id)
{
	struct err err = { 0 };
	void *old, *new;
	char byte;

	router.answer = true;
	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	old = raw_dealer("someone", 7);
	send_raw(old, &good);
	wait_for(router_heard_one);
	new = raw_dealer("someone", 7);
	send_raw(new, &good);
	wait_for(router_heard_two);
	ck_assert_uint_eq(router.messages, 2);
	/* The answer goes to the newcomer. */
	ck_assert_int_gt(zmq_recv(new, &byte, 1, 0), 0);
	zmq_close(old);
	zmq_close(new);
}
END_TEST

/* libzmq itself ends the connection of who says that more will come. */
START_TEST(a_body_over_its_limit_ends_the_connection)
{
	struct err err = { 0 };
	uint8_t event[6];
	void *raw, *monitor;
	zmq_msg_t body;

	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	raw = zmq_socket(zmq, ZMQ_DEALER);
	zmq_socket_monitor(raw, "inproc://raw", ZMQ_EVENT_DISCONNECTED);
	monitor = zmq_socket(zmq, ZMQ_PAIR);
	ck_assert_int_eq(zmq_connect(monitor, "inproc://raw"), 0);
	ck_assert_int_eq(zmq_connect(raw, endpoint), 0);
	zmq_send(raw, good.head, good.len, ZMQ_SNDMORE);
	zmq_msg_init_size(&body, (size_t)LIMIT_BODY + 1);
	ck_assert_int_gt(zmq_msg_send(&body, raw, 0), 0);
	ck_assert_int_eq(zmq_recv(monitor, event, sizeof(event), 0), 6);
	zmq_socket_monitor(raw, NULL, 0);
	zmq_setsockopt(raw, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	zmq_close(raw);
	zmq_close(monitor);
	ck_assert_uint_eq(router.messages + router.refused, 0);
}
END_TEST

START_TEST(a_missing_body_is_refused)
{
	struct err err = { 0 };
	struct buf frame = BUF_INIT(1000);
	struct msg msg = tool_done(0);
	void *raw;

	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	ck_assert_int_eq(msg_encode(&msg, &frame, &err), 0);
	raw = raw_dealer("someone", 7);
	zmq_send(raw, frame.ptr, frame.len, 0);
	wait_for(router_heard_one);
	ck_assert_uint_eq(router.refused, 1);
	ck_assert_str_eq(
	    router.err.text, "tool_done: the body frame is missing");
	zmq_close(raw);
	buf_release(&frame);
}
END_TEST

START_TEST(a_first_frame_over_its_limit_is_refused)
{
	struct err err = { 0 };
	char *big = mem_new(LIMIT_MESSAGE + 1);
	struct raw what = { NULL, 1, big, LIMIT_MESSAGE + 1 };
	void *raw;

	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	raw = raw_dealer("someone", 7);
	send_raw(raw, &what);
	wait_for(router_heard_one);
	ck_assert_int_eq(router.err.kind, ERR_LIMIT);
	zmq_close(raw);
	mem_free(big);
}
END_TEST

START_TEST(a_long_routing_id_is_refused)
{
	struct err err = { 0 };
	void *raw;

	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	raw = raw_dealer("0123456789012345678901234567890123456789", 40);
	send_raw(raw, &raws[0]);
	wait_for(router_heard_one);
	ck_assert_int_eq(router.err.kind, ERR_LIMIT);
	ck_assert_uint_eq(router.peer.len, 0);
	zmq_close(raw);
}
END_TEST

START_TEST(a_dealer_refuses_what_a_worker_would_send)
{
	connect_both();
	must_send(&dealer, NULL, credit(1), (struct slice){ 0 });
	wait_for(router_heard_one);
	must_send(&router, &router.peer, credit(1), (struct slice){ 0 });
	wait_for(dealer_heard_one);
	ck_assert_uint_eq(dealer.refused, 1);
	ck_assert_str_eq(dealer.err.text, "credit: is not for this side");
}
END_TEST

/* ---- what cannot be sent ---- */

START_TEST(a_peer_that_never_was_is_said_so)
{
	struct peer nobody = { .len = 3, .bytes = "abc" };
	struct msg msg = { .id = MSG_ack };
	struct err err = { 0 };

	connect_both();
	ck_assert_int_eq(
	    link_send(router.link, &nobody, &msg, (struct slice){ 0 }, &err),
	    -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_int_eq(err.code, EHOSTUNREACH);
}
END_TEST

START_TEST(nothing_is_queued_without_a_connection)
{
	struct msg msg = credit(1);
	struct err err = { 0 };

	ck_assert_int_eq(open_side(&dealer, false, 0, &err), 0);
	ck_assert_int_eq(
	    link_send(dealer.link, NULL, &msg, (struct slice){ 0 }, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
}
END_TEST

START_TEST(a_full_queue_is_said_so)
{
	struct msg msg = tool_done(100000);
	struct err err = { 0 };
	char *body = mem_new(100000);
	int sent = 0;

	ck_assert_int_eq(open_side(&router, true, 4, &err), 0);
	ck_assert_int_eq(open_side(&dealer, false, 4, &err), 0);
	wait_for(dealer_is_up);
	/* The router's side does not read: the loop does not run. */
	while (sent < 1000 && link_send(dealer.link, NULL, &msg,
				  slice_of(body, 100000), &err) == 0)
		sent++;
	ck_assert_int_lt(sent, 1000);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_int_eq(err.code, EAGAIN);
	mem_free(body);
}
END_TEST

START_TEST(a_body_over_its_limit_is_not_sent)
{
	struct msg msg = tool_done(1);
	struct err err = { 0 };

	connect_both();
	ck_assert_int_eq(link_send(dealer.link, NULL, &msg,
			     slice_of("x", (size_t)LIMIT_BODY + 1), &err),
	    -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
}
END_TEST

/* ---- the connection ---- */

static bool
dealer_is_down(void)
{
	return dealer.downs >= 1;
}

static bool
dealer_is_up_again(void)
{
	return dealer.ups >= 2;
}

START_TEST(a_lost_connection_is_told_and_comes_back)
{
	struct err err = { 0 };

	connect_both();
	router.link = link_free(router.link, 0);
	wait_for(dealer_is_down);
	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	wait_for(dealer_is_up_again);
	must_send(&dealer, NULL, credit(9), (struct slice){ 0 });
	wait_for(router_heard_one);
	ck_assert_uint_eq(router.msg.credit.count, 9);
}
END_TEST

static size_t
open_files(void)
{
	DIR *fds = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(fds) != NULL)
		n++;
	closedir(fds);
	return n;
}

START_TEST(closing_gives_every_descriptor_back)
{
	size_t before = open_files();

	for (int i = 0; i < 5; i++) {
		dealer.ups = dealer.downs = 0;
		connect_both();
		router.link = link_free(router.link, 0);
		dealer.link = link_free(dealer.link, 0);
		loop_release(&loop);
		zmq_ctx_term(zmq);
		zmq = zmq_ctx_new();
		wait_set_up();
	}
	ck_assert_uint_eq(open_files(), before);
}
END_TEST

/* More than what sockets hold, so that most of it waits in the link. */
START_TEST(what_was_sent_leaves_before_the_socket_closes)
{
	size_t len = 16u * 1024 * 1024;
	struct msg done = tool_done(len);
	struct buf body = BUF_INIT(len);
	struct err err = { 0 };

	connect_both();
	memset(buf_room(&body, len), 'w', len);
	body.len = len;
	ck_assert_int_eq(
	    link_send_take(dealer.link, NULL, &done, &body, &err), 0);
	dealer.link = link_free(dealer.link, 3000);
	wait_for(router_heard_one);
	ck_assert_uint_eq(router.bytes, len);
}
END_TEST

/* ---- opening ---- */

START_TEST(a_path_in_use_is_a_conflict)
{
	struct err err = { 0 };
	struct side second = { 0 };
	char text[256];

	ck_assert_int_eq(open_side(&router, true, 0, &err), 0);
	ck_assert_int_eq(open_side(&second, true, 0, &err), -1);
	ck_assert_int_eq(err.kind, ERR_CONFLICT);
	snprintf(text, sizeof(text), "%s: another process is bound to %s/sock",
	    endpoint, dir);
	ck_assert_str_eq(err.text, text);
}
END_TEST

START_TEST(what_is_no_ipc_endpoint_is_refused)
{
	struct err err = { 0 };

	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:5000");
	ck_assert_int_eq(open_side(&router, _i == 0, 0, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("link");
	TCase *messages = tcase_create("messages arrive as they were sent");
	TCase *refusals = tcase_create("what is wrong disturbs nobody else");
	TCase *sending = tcase_create("what cannot be sent is said");
	TCase *connection = tcase_create("connections come and go");
	TCase *cases[] = { messages, refusals, sending, connection };

	for (size_t i = 0; i < COUNT(cases); i++) {
		tcase_add_checked_fixture(cases[i], set_up, tear_down);
		suite_add_tcase(s, cases[i]);
	}
	tcase_add_test(messages, a_message_arrives_as_it_was_sent);
	tcase_add_test(messages, a_body_arrives_as_it_was_sent);
	tcase_add_test(messages, an_empty_body_arrives_as_one);
	tcase_add_test(messages, an_answer_reaches_the_peer_that_asked);
	tcase_add_test(messages, a_taken_buffer_is_sent_and_given_up);
	tcase_add_test(messages, a_taken_buffer_is_given_up_on_failure_too);
	tcase_add_loop_test(messages, a_body_can_be_kept_beyond_the_handler, 0,
	    COUNT(body_sizes));
	tcase_add_test(messages, a_message_without_body_has_nothing_to_keep);
	tcase_add_test(messages, a_thousand_messages_all_arrive);
	tcase_add_test(messages, a_handler_may_free_its_link);
	tcase_add_loop_test(refusals,
	    a_wrong_message_is_refused_and_the_next_one_heard, 0, COUNT(raws));
	tcase_add_test(refusals, a_newcomer_takes_over_a_routing_id);
	tcase_add_test(refusals, a_body_over_its_limit_ends_the_connection);
	tcase_add_test(refusals, a_missing_body_is_refused);
	tcase_add_test(refusals, a_first_frame_over_its_limit_is_refused);
	tcase_add_test(refusals, a_long_routing_id_is_refused);
	tcase_add_test(refusals, a_dealer_refuses_what_a_worker_would_send);
	tcase_add_test(sending, a_peer_that_never_was_is_said_so);
	tcase_add_test(sending, nothing_is_queued_without_a_connection);
	tcase_add_test(sending, a_full_queue_is_said_so);
	tcase_add_test(sending, a_body_over_its_limit_is_not_sent);
	tcase_add_test(connection, a_lost_connection_is_told_and_comes_back);
	tcase_add_test(connection, closing_gives_every_descriptor_back);
	tcase_add_test(
	    connection, what_was_sent_leaves_before_the_socket_closes);
	tcase_add_test(connection, a_path_in_use_is_a_conflict);
	tcase_add_loop_test(
	    connection, what_is_no_ipc_endpoint_is_refused, 0, 2);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
