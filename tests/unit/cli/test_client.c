/*
 * Promises of cli/client.c: one question, its own answer, or a reason that a
 * person can use. The front is a ROUTER in the same loop.
 */
#include "base/alloc.h"
#include "tests/unit/cli/front.h"
#include "tests/unit/suite.h"

static struct front front;
static struct client *client;

static void
setup_with(uint32_t connect_ms, uint32_t answer_ms)
{
	struct client_config config = { .connect_ms = connect_ms,
		.answer_ms = answer_ms };
	struct err err = { 0 };

	front = (struct front){ 0 };
	front_place(&front);
	config.path = front.path;
	ck_assert_msg(client_new(&client, &config, &err) == 0, "%s", err.text);
}

static void
setup(void)
{
	setup_with(5000, 5000);
}

/* Where nobody is reached, or nobody answers. */
static void
setup_absent(void)
{
	setup_with(200, 200);
}

static void
setup_silent(void)
{
	setup_with(5000, 200);
}

static void
teardown(void)
{
	link_free(front.link, 0);
	client_free(client);
	front_release(&front);
}

static int
ask_stats(struct client_answer *answer, struct err *err)
{
	struct msg msg = { .id = MSG_stats };

	msg.stats.request = client_request(client);
	return client_ask(client, &msg, (struct slice){ 0 }, answer, err);
}

/* ---- answers ---- */

static void
reply_to_others_first(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	ck_assert_int_eq(msg->id, MSG_stats);
	front_reply(f, msg->stats.request + 1, "{\"a\":1}");
	front_reply(f, msg->stats.request, "{\"a\":2}");
}

START_TEST(takes_the_answer_to_its_own_request)
{
	struct client_answer answer;
	struct err err = { 0 };
	uint64_t a;

	front.on_message = reply_to_others_first;
	front_join(&front, client);
	for (int i = 0; i < 3; i++) {
		ck_assert_msg(ask_stats(&answer, &err) == 0, "%s", err.text);
		ck_assert(json_u64(json_get(answer.body, "a"), &a));
		ck_assert_uint_eq(a, 2);
		client_answer_release(&answer);
	}
	ck_assert_uint_eq(front.count, 3);
}
END_TEST

static void
reply_large(struct front *f, const struct msg *msg, struct slice body)
{
	char *text = mem_new(1000000);

	(void)body;
	snprintf(text, 1000000, "{\"a\":\"%0900000d\"}", 7);
	front_reply(f, msg->stats.request, text);
	mem_free(text);
}

START_TEST(keeps_a_large_answer_until_it_is_released)
{
	struct client_answer answer;

	front.on_message = reply_large;
	front_join(&front, client);
	ck_assert_int_eq(ask_stats(&answer, NULL), 0);
	ck_assert_uint_eq(json_get(answer.body, "a").raw.len, 900002);
	client_answer_release(&answer);
}
END_TEST

static void
accept_submit(struct front *f, const struct msg *msg, struct slice body)
{
	struct msg answer = { .id = MSG_submitted };

	ck_assert_int_eq(msg->id, MSG_submit);
	ck_assert(slice_is(body, "{\"input\":\"x\"}"));
	ck_assert(slice_is(msg->submit.agent, "a"));
	answer.submitted.request = msg->submit.request;
	answer.submitted.run = msg->submit.run;
	answer.submitted.existing = true;
	front_send(f, &answer, NULL);
}

START_TEST(tells_which_run_was_accepted)
{
	struct msg msg = { .id = MSG_submit };
	struct client_answer answer;

	front.on_message = accept_submit;
	front_join(&front, client);
	msg.submit.request = client_request(client);
	msg.submit.run = uuid_v7();
	msg.submit.agent = SLICE("a");
	ck_assert_int_eq(
	    client_ask(client, &msg, SLICE("{\"input\":\"x\"}"), &answer, NULL),
	    0);
	ck_assert(uuid_eq(&answer.run, &msg.submit.run));
	ck_assert(answer.existing);
	ck_assert_int_eq(answer.body.type, JSON_NONE);
	client_answer_release(&answer);
}
END_TEST

static const struct {
	const char *name;
	enum err_kind kind;
} kinds[] = {
	{ "input", ERR_INPUT },
	{ "missing", ERR_MISSING },
	{ "conflict", ERR_CONFLICT },
	{ "busy", ERR_BUSY },
	{ "limit", ERR_LIMIT },
	{ "version", ERR_INPUT },
	{ "internal", ERR_SYSTEM },
	{ "something new", ERR_SYSTEM },
};

static void
refuse(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	front_refuse(f, msg->stats.request, f->arg, "because");
}

START_TEST(gives_a_refusal_with_its_kind_and_text)
{
	struct client_answer answer;
	struct err err = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "%s", kinds[_i].name);
	front.arg = name;
	front.on_message = refuse;
	front_join(&front, client);
	ck_assert_int_eq(ask_stats(&answer, &err), -1);
	ck_assert_int_eq(err.kind, kinds[_i].kind);
	ck_assert_str_eq(err.text, "because");
}
END_TEST

static void
refuse_unread(struct front *f, const struct msg *msg, struct slice body)
{
	(void)msg, (void)body;
	front_refuse(f, 0, "version", "speaks 2.0");
}

START_TEST(takes_a_refusal_without_number_as_its_own)
{
	struct client_answer answer;
	struct err err = { 0 };

	front.on_message = refuse_unread;
	front_join(&front, client);
	ck_assert_int_eq(ask_stats(&answer, &err), -1);
	ck_assert_str_eq(err.text, "speaks 2.0");
}
END_TEST

static void
reply_garbage(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	front_reply(f, msg->stats.request, "{\"a\":");
}

START_TEST(gives_no_body_when_the_answer_is_not_json)
{
	struct client_answer answer;

	front.on_message = reply_garbage;
	front_join(&front, client);
	ck_assert_int_eq(ask_stats(&answer, NULL), 0);
	ck_assert_int_eq(answer.body.type, JSON_NONE);
	client_answer_release(&answer);
}
END_TEST

/* ---- nobody answers ---- */

START_TEST(says_that_there_is_no_socket)
{
	struct client_answer answer;
	struct err err = { 0 };

	ck_assert_int_eq(ask_stats(&answer, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_int_ne(err.code, CLIENT_MAYBE);
	ck_assert_ptr_nonnull(strstr(err.text, front.path));
	ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
}
END_TEST

START_TEST(says_that_nobody_listens_on_the_socket)
{
	struct client_answer answer;
	struct err err = { 0 };
	FILE *file = fopen(front.path, "w");

	ck_assert_ptr_nonnull(file);
	fclose(file);
	ck_assert_int_eq(ask_stats(&answer, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_ptr_nonnull(strstr(err.text, "refused"));
}
END_TEST

static void
say_nothing(struct front *f, const struct msg *msg, struct slice body)
{
	(void)f, (void)msg, (void)body;
}

START_TEST(says_that_the_supervisor_is_silent)
{
	struct client_answer answer;
	struct err err = { 0 };

	front.on_message = say_nothing;
	front_join(&front, client);
	ck_assert_int_eq(ask_stats(&answer, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_int_eq(err.code, CLIENT_MAYBE);
	ck_assert_ptr_nonnull(strstr(err.text, "no answer"));
	ck_assert_uint_eq(front.count, 1);
}
END_TEST

/* ---- the connection breaks ---- */

static void
come_back(struct front *f)
{
	front_up(f);
}

static void
break_once(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (f->count > 1) {
		front_reply(f, msg->stats.request, "{}");
		return;
	}
	front_down(f);
	front_later(f, 50, come_back);
}

START_TEST(asks_again_when_the_connection_broke_before_the_answer)
{
	struct client_answer answer;
	struct err err = { 0 };

	front.on_message = break_once;
	front_join(&front, client);
	ck_assert_msg(ask_stats(&answer, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(front.count, 2);
	client_answer_release(&answer);
}
END_TEST

static void
go_away(struct front *f, const struct msg *msg, struct slice body)
{
	(void)msg, (void)body;
	front_down(f);
}

START_TEST(says_that_the_fate_of_a_broken_request_is_unknown)
{
	struct client_answer answer;
	struct err err = { 0 };

	front.on_message = go_away;
	front_join(&front, client);
	ck_assert_int_eq(ask_stats(&answer, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_int_eq(err.code, CLIENT_MAYBE);
}
END_TEST

/* ---- events ---- */

static const struct uuid run = { { 1 } };

static void
event_then_reply(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	front_event(f, &run, 5, "x", false, "{\"a\":1}");
	front_reply(f, msg->stats.request, "{}");
}

static void
on_event(void *arg, const struct msg_event *event, struct json body)
{
	unsigned *seen = arg;

	(*seen)++;
	ck_assert_uint_eq(event->seq, 5);
	ck_assert(slice_is(body.raw, "{\"a\":1}"));
}

START_TEST(hands_events_on_while_it_waits_for_an_answer)
{
	unsigned seen = 0;
	const struct client_listener listener = { .on_event = on_event,
		.arg = &seen };
	struct client_answer answer;

	front.on_message = event_then_reply;
	front_join(&front, client);
	client_listen(client, &listener);
	ck_assert_int_eq(ask_stats(&answer, NULL), 0);
	ck_assert_uint_eq(seen, 1);
	client_answer_release(&answer);
	client_listen(client, NULL);
	ck_assert_int_eq(ask_stats(&answer, NULL), 0);
	ck_assert_uint_eq(seen, 1);
	client_answer_release(&answer);
}
END_TEST

/* ---- where the front is ---- */

START_TEST(finds_the_socket_by_option_then_variable_then_default)
{
	static const struct {
		const char *option, *variable, *path, *source;
	} places[] = {
		{ "/a", "/b", "/a", "from --socket" },
		{ "ipc:///a", "/b", "/a", "from --socket" },
		{ NULL, "/b", "/b", "from REEVE_SOCKET" },
		{ NULL, "ipc:///b", "/b", "from REEVE_SOCKET" },
		{ NULL, "", "/run/reeve/front.sock", "the default" },
		{ NULL, NULL, "/run/reeve/front.sock", "the default" },
	};

	for (size_t i = 0; i < COUNT(places); i++) {
		const char *source;
		char *path;

		unsetenv("REEVE_SOCKET");
		if (places[i].variable != NULL)
			setenv("REEVE_SOCKET", places[i].variable, 1);
		ck_assert_int_eq(
		    client_find(places[i].option, &path, &source, NULL), 0);
		ck_assert_str_eq(path, places[i].path);
		ck_assert_str_eq(source, places[i].source);
		mem_free(path);
	}
}
END_TEST

START_TEST(refuses_a_path_that_no_socket_can_have)
{
	char path[300];
	struct client_config config = { .path = path };
	struct client *none = NULL;
	struct err err = { 0 };

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(client_new(&none, &config, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_ptr_null(none);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/client");
	TCase *answer = tcase_create("answers"),
	      *broken = tcase_create("breaks");
	TCase *event = tcase_create("events"), *place = tcase_create("places");
	TCase *absent = tcase_create("absence");
	TCase *silent = tcase_create("silence");
	TCase *patient[] = { answer, broken, event, place };

	tcase_add_test(answer, takes_the_answer_to_its_own_request);
	tcase_add_test(answer, keeps_a_large_answer_until_it_is_released);
	tcase_add_test(answer, tells_which_run_was_accepted);
	tcase_add_loop_test(
	    answer, gives_a_refusal_with_its_kind_and_text, 0, COUNT(kinds));
	tcase_add_test(answer, takes_a_refusal_without_number_as_its_own);
	tcase_add_test(answer, gives_no_body_when_the_answer_is_not_json);
	tcase_add_test(absent, says_that_there_is_no_socket);
	tcase_add_test(absent, says_that_nobody_listens_on_the_socket);
	tcase_add_test(silent, says_that_the_supervisor_is_silent);
	tcase_add_test(
	    broken, asks_again_when_the_connection_broke_before_the_answer);
	tcase_add_test(
	    silent, says_that_the_fate_of_a_broken_request_is_unknown);
	tcase_add_test(event, hands_events_on_while_it_waits_for_an_answer);
	tcase_add_test(
	    place, finds_the_socket_by_option_then_variable_then_default);
	tcase_add_test(place, refuses_a_path_that_no_socket_can_have);
	for (size_t i = 0; i < COUNT(patient); i++) {
		tcase_add_checked_fixture(patient[i], setup, teardown);
		suite_add_tcase(suite, patient[i]);
	}
	tcase_add_checked_fixture(absent, setup_absent, teardown);
	suite_add_tcase(suite, absent);
	tcase_add_checked_fixture(silent, setup_silent, teardown);
	suite_add_tcase(suite, silent);
	return run_suite(suite);
}
