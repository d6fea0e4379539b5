/*
 * workers/model/turns.c with the worker skeleton: from a supervisor's start to
 * its ack, over real sockets on both sides.
 */
#include <zmq.h>

#include "tests/unit/model/answering.h"
#include "tests/unit/model/entry.h"
#include "tests/unit/proto/wait.h"
#include "tests/unit/suite.h"
#include "workers/model/turns.h"

#define ANSWER                                                                 \
	"HTTP/1.1 200 OK\r\nx-generation-id: gen_1\r\n\r\n"                    \
	"data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n"
#define END "data: {\"type\":\"response.completed\",\"response\":{}}\n\n"

static struct answering server;
static struct models models;
static struct turns turns;
static struct worker_config config;

/* The supervisor's side, and what it heard. */
static struct {
	struct link *link;
	struct peer peer;
	uint64_t session;
	enum msg_id last;
	char text[LIMIT_TEXT + 1], request_id[100];
	struct buf body, hello;
	bool snapshot;
	struct uuid run;
} sup;

static void
say(const struct msg *msg, const char *body)
{
	struct err err = { 0 };

	ck_assert_msg(
	    link_send(sup.link, &sup.peer, msg, slice_string(body), &err) == 0,
	    "%s", err.text);
}

static void
keep(struct buf *buf, struct slice text)
{
	buf_clear(buf);
	buf_put_slice(buf, text);
}

static void
keep_end(enum msg_id id, struct slice text, struct slice request_id)
{
	sup.last = id;
	snprintf(sup.text, sizeof(sup.text), "%.*s", SLICE_ARGS(text));
	snprintf(sup.request_id, sizeof(sup.request_id), "%.*s",
	    SLICE_ARGS(request_id));
}

static void
on_hello(const struct peer *peer, const struct msg *msg, struct slice body)
{
	struct msg welcome = { .id = MSG_welcome };

	sup.peer = *peer;
	sup.session = msg->hello.session;
	keep(&sup.hello, body);
	welcome.welcome.session = sup.session;
	welcome.welcome.lease_ms = LEASE_WORKER_MS;
	say(&welcome, "");
}

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct slice none = { 0 };

	(void)arg;
	(void)owner;
	if (msg->id == MSG_hello) {
		on_hello(peer, msg, body);
	} else if (msg->id == MSG_heartbeat) {
		say(msg, "");
	} else if (msg->id == MSG_turn_done) {
		keep(&sup.body, body);
		keep_end(
		    msg->id, msg->turn_done.finish, msg->turn_done.request_id);
	} else if (msg->id == MSG_turn_failed) {
		keep_end(msg->id, msg->turn_failed.class,
		    msg->turn_failed.request_id);
	} else if (msg->id == MSG_refused) {
		keep_end(msg->id, msg->refused.reason, none);
	} else if (msg->id == MSG_turn_snapshot) {
		keep(&sup.body, body);
		sup.snapshot = true;
	}
}

static bool
is_open(void)
{
	return worker_is_connected(turns.worker);
}

static bool
has_ended(void)
{
	return sup.last != 0;
}

static bool
has_text(void)
{
	struct msg watch = { .id = MSG_watch_turn };

	if (sup.body.len > 2)
		return true;
	watch.watch_turn.run = sup.run;
	watch.watch_turn.turn = watch.watch_turn.attempt = 1;
	watch.watch_turn.on = true;
	say(&watch, "");
	return false;
}

static void
start(const char *model)
{
	struct msg turn = { .id = MSG_turn_start };

	sup.last = 0;
	sup.run = uuid_v7();
	turn.turn_start.session = sup.session;
	turn.turn_start.run = sup.run;
	turn.turn_start.turn = turn.turn_start.attempt = 1;
	turn.turn_start.left_ms = 60000;
	turn.turn_start.model = slice_string(model);
	say(&turn, "{\"input\":[]}");
}

static void
set_up(void)
{
	char url[100], dir[TEMP_PATH], endpoint[128];
	struct link_config link = { .loop = &loop,
		.bind = true,
		.accepts = MSG_FROM_WORKER,
		.on_message = on_message };
	struct err err = { 0 };

	wait_set_up();
	answering_start(&server, &loop);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", server.port);
	entry_load_at(&models, url, "", "    model: m1\n");
	temp_folder(dir);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/w", dir);
	memset(&sup, 0, sizeof(sup));
	sup.body = sup.hello = BUF_INIT(1u << 20);
	link.zmq = zmq_ctx_new();
	link.endpoint = endpoint;
	ck_assert_msg(link_new(&sup.link, &link, &err) == 0, "%s", err.text);
	memset(&turns, 0, sizeof(turns));
	turns.loop = &loop;
	turns.models = &models;
	ck_assert_int_eq(http_new(&turns.http, &loop, 10, &err), 0);
	config = (struct worker_config){ .loop = &loop,
		.zmq = link.zmq,
		.endpoint = endpoint,
		.kind = "model",
		.name = "tester",
		.slots = 10,
		.describe = turns_describe,
		.start = turns_start,
		.cancel = turns_cancel,
		.watch = turns_watch,
		.arg = &turns };
	ck_assert_int_eq(worker_new(&turns.worker, &config, &err), 0);
	wait_for(is_open);
}

static void
tear_down(void)
{
	turns_release(&turns);
	worker_free(turns.worker);
	http_free(turns.http);
	link_free(sup.link, 0);
	answering_stop(&server);
	loop_release(&loop);
	zmq_ctx_term(config.zmq);
	models_release(&models);
	buf_release(&sup.body);
	buf_release(&sup.hello);
}

START_TEST(hello_names_the_models)
{
	ck_assert_ptr_nonnull(memmem(sup.hello.ptr, sup.hello.len,
	    "\"models\":[{\"name\":\"default\"", 27));
	ck_assert_ptr_null(memmem(sup.hello.ptr, sup.hello.len, ENTRY_KEY, 10));
}
END_TEST

START_TEST(a_start_ends_in_a_turn_that_is_done)
{
	server.step = (struct answering_step){ ANSWER END, true };
	start("default");
	wait_for(has_ended);
	ck_assert_int_eq(sup.last, MSG_turn_done);
	ck_assert_str_eq(sup.text, "stop");
	ck_assert_str_eq(sup.request_id, "gen_1");
	ck_assert_ptr_nonnull(memmem(sup.body.ptr, sup.body.len, "\"hi\"", 4));
	ck_assert_uint_eq(turns.streams.count, 0);
}
END_TEST

START_TEST(a_model_that_is_not_here_is_refused)
{
	start("other");
	wait_for(has_ended);
	ck_assert_int_eq(sup.last, MSG_refused);
	ck_assert_str_eq(sup.text, "unknown model");
	ck_assert_uint_eq(server.request_count, 0);
}
END_TEST

static void
send_cancel(void *arg)
{
	struct msg cancel = { .id = MSG_cancel };

	(void)arg;
	cancel.cancel.run = sup.run;
	cancel.cancel.turn = cancel.cancel.attempt = 1;
	say(&cancel, "");
}

START_TEST(a_cancel_reaches_the_stream)
{
	server.step = (struct answering_step){ ANSWER, false };
	server.on_request = send_cancel;
	start("default");
	wait_for(has_ended);
	ck_assert_int_eq(sup.last, MSG_turn_failed);
	ck_assert_str_eq(sup.text, "cancelled");
	ck_assert_uint_eq(turns.streams.count, 0);
}
END_TEST

START_TEST(a_watch_reaches_the_stream)
{
	server.step = (struct answering_step){ ANSWER, false };
	start("default");
	wait_for(has_text);
	ck_assert(sup.snapshot);
	ck_assert(slice_is(buf_slice(&sup.body), "[[\"text\",0,\"hi\"]]"));
	ck_assert_uint_eq(turns.streams.count, 1);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("turns");
	TCase *turn = tcase_create("turn");

	tcase_add_checked_fixture(turn, set_up, tear_down);
	tcase_add_test(turn, hello_names_the_models);
	tcase_add_test(turn, a_start_ends_in_a_turn_that_is_done);
	tcase_add_test(turn, a_model_that_is_not_here_is_refused);
	tcase_add_test(turn, a_cancel_reaches_the_stream);
	tcase_add_test(turn, a_watch_reaches_the_stream);
	suite_add_tcase(s, turn);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
