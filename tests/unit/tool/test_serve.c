/*
 * The tool worker as a supervisor sees it: the worker runs in a process of its
 * own, the test plays the supervisor on a plain ROUTER.
 */
#include "workers/tool/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "proto/message.h"
#include "tests/unit/tool/twice.h"

#define SLOTS        4u
#define HEAR_MS      15000
#define SERVE_EXIT_2 2 /* serve said that the spawner died */

static struct {
	char folder[TEMP_PATH], endpoint[128];
	void *zmq, *router;
	pid_t worker;
	zmq_msg_t peer;
	uint64_t session;
	struct uuid run;
	/* The last message that was heard. */
	zmq_msg_t frame, body;
	struct msg msg;
	uint64_t credit;
} sup;

static void
write_tools(void)
{
	static const char text[] =
	    "tools:\n"
	    "- {name: echo, description: d, argv: [/bin/cat]}\n"
	    "- name: sleep\n"
	    "  description: d\n"
	    "  argv: [/bin/sh, -c, \"echo started; sleep 1000\"]\n"
	    "  idempotent: true\n"
	    "- name: env\n"
	    "  description: d\n"
	    "  argv: [/bin/sh, -c, \"echo $REEVE_CALL_ID $REEVE_RUN_ID "
	    "$REEVE_IDEMPOTENCY_KEY\"]\n";
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/tools.yaml", sup.folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(
	    write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	close(fd);
}

/* In the child: 0 drained, SERVE_EXIT_2 spawner lost, 1 anything else. */
static int
work(void)
{
	struct sandbox_config sandbox = {
		.tools_dir = sup.folder,
		.switch_user = geteuid() == 0,
		.uid = TWICE_NOBODY,
		.gid = TWICE_NOBODY,
	};
	struct serve_config config = {
		.endpoint = sup.endpoint,
		.name = "t1",
		.slots = SLOTS,
	};
	struct catalogue catalogue;
	struct err err = { 0 };
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "%s/tools.yaml", sup.folder);
	if (catalogue_load(&catalogue, path, &err) == -1 ||
	    sandbox_new(&config.sandbox, &sandbox, &err) == -1) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	config.catalogue = &catalogue;
	rc = serve(&config, &err);
	sandbox_free(config.sandbox);
	catalogue_release(&catalogue);
	if (rc == -1 && err.kind == ERR_PEER)
		return SERVE_EXIT_2;
	return rc == 0 ? 0 : 1;
}

/* ---- the supervisor's side ---- */

static void
say_with(const struct msg *msg, struct slice body)
{
	struct buf frame = BUF_INIT(LIMIT_MESSAGE);
	bool has_body = msg_body_kind(msg->id) != MSG_BODY_NONE;
	struct err err = { 0 };
	zmq_msg_t peer;

	ck_assert_msg(msg_encode(msg, &frame, &err) == 0, "%s", err.text);
	zmq_msg_init(&peer);
	zmq_msg_copy(&peer, &sup.peer);
	ck_assert_int_ne(zmq_msg_send(&peer, sup.router, ZMQ_SNDMORE), -1);
	ck_assert_int_ne(zmq_send(sup.router, frame.ptr, frame.len,
			     has_body ? ZMQ_SNDMORE : 0),
	    -1);
	if (has_body)
		ck_assert_int_ne(
		    zmq_send(sup.router, body.ptr, body.len, 0), -1);
	buf_release(&frame);
}

static void
say(const struct msg *msg)
{
	say_with(msg, (struct slice){ 0 });
}

static void
read_one(void)
{
	zmq_msg_t id;
	struct err err = { 0 };

	zmq_msg_init(&id);
	ck_assert_int_ne(zmq_msg_recv(&id, sup.router, 0), -1);
	zmq_msg_close(&sup.peer);
	zmq_msg_init(&sup.peer);
	zmq_msg_move(&sup.peer, &id);
	zmq_msg_close(&id);
	ck_assert_int_ne(zmq_msg_recv(&sup.frame, sup.router, 0), -1);
	zmq_msg_close(&sup.body);
	zmq_msg_init(&sup.body);
	if (zmq_msg_more(&sup.frame))
		ck_assert_int_ne(zmq_msg_recv(&sup.body, sup.router, 0), -1);
	ck_assert_msg(
	    msg_decode(&sup.msg,
		slice_of(zmq_msg_data(&sup.frame), zmq_msg_size(&sup.frame)),
		&err) == 0,
	    "%s", err.text);
}

static void
welcome(void)
{
	struct msg msg = { .id = MSG_welcome };

	sup.session = sup.msg.hello.session;
	msg.welcome = (struct msg_welcome){ .supervisor = uuid_v4(),
		.session = sup.session,
		.lease_ms = LEASE_WORKER_MS };
	say(&msg);
}

/* The next message of this id; each hello is welcomed, heartbeats are answered,
 * credit is counted. */
static const struct msg *
hear(enum msg_id id)
{
	for (;;) {
		zmq_pollitem_t item = { .socket = sup.router,
			.events = ZMQ_POLLIN };

		ck_assert_msg(zmq_poll(&item, 1, HEAR_MS) == 1, "no %s came",
		    msg_name(id));
		read_one();
		if (sup.msg.id == MSG_hello)
			welcome();
		if (sup.msg.id == id)
			return &sup.msg;
		if (sup.msg.id == MSG_hello)
			continue;
		if (sup.msg.id == MSG_heartbeat)
			say(&sup.msg);
		else if (sup.msg.id == MSG_credit)
			sup.credit += sup.msg.credit.count;
		else
			ck_abort_msg("%s came, not %s", msg_name(sup.msg.id),
			    msg_name(id));
	}
}

static struct slice
body(void)
{
	return slice_of(zmq_msg_data(&sup.body), zmq_msg_size(&sup.body));
}

static bool
body_has(const char *part)
{
	struct slice text = body();

	return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void
start(uint64_t call, const char *tool, const char *arguments)
{
	struct msg msg = { .id = MSG_tool_start };

	msg.tool_start = (struct msg_tool_start){
		.session = sup.session,
		.run = sup.run,
		.turn = 1,
		.call = call,
		.attempt = 1,
		.claim = 1,
		.left_ms = 60000,
		.name = slice_string(tool),
		.call_id = SLICE("call_abc"),
		.key = SLICE("key_xyz"),
	};
	say_with(&msg, slice_string(arguments));
}

static void
ack(uint64_t call)
{
	struct msg msg = { .id = MSG_ack };

	msg.ack = (struct msg_ack){
		.run = sup.run, .turn = 1, .call = call, .attempt = 1
	};
	say(&msg);
}

static void
check_done(uint64_t call, const char *outcome)
{
	const struct msg_tool_done *done = &hear(MSG_tool_done)->tool_done;

	ck_assert_uint_eq(done->call, call);
	ck_assert_msg(slice_is(done->outcome, outcome), "%.*s: %.*s",
	    SLICE_ARGS(done->outcome), SLICE_ARGS(body()));
	ck_assert(slice_is(done->sandbox, "no-cgroup"));
	ck_assert_uint_eq(done->size, body().len);
	ack(call);
}

static void
begin(void)
{
	memset(&sup, 0, sizeof(sup));
	temp_folder(sup.folder);
	ck_assert_int_eq(chmod(sup.folder, 0755), 0);
	snprintf(
	    sup.endpoint, sizeof(sup.endpoint), "ipc://%s/work", sup.folder);
	write_tools();
	fflush(NULL);
	sup.worker = fork();
	if (sup.worker == 0)
		_exit(work());
	sup.zmq = zmq_ctx_new();
	sup.router = zmq_socket(sup.zmq, ZMQ_ROUTER);
	zmq_setsockopt(sup.router, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	ck_assert_int_eq(zmq_bind(sup.router, sup.endpoint), 0);
	zmq_msg_init(&sup.peer);
	zmq_msg_init(&sup.frame);
	zmq_msg_init(&sup.body);
	sup.run = uuid_v7();
	hear(MSG_hello);
}

/* What the worker's exit code is, if it ends by itself. */
static int
exit_code(void)
{
	int fd = pidfd_open(sup.worker, 0), status;
	struct pollfd end = { .fd = fd, .events = POLLIN };

	ck_assert_int_eq(poll(&end, 1, HEAR_MS), 1);
	close(fd);
	ck_assert_int_eq(waitpid(sup.worker, &status, 0), sup.worker);
	sup.worker = 0;
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
end(void)
{
	if (sup.worker != 0) {
		kill(sup.worker, SIGKILL);
		waitpid(sup.worker, NULL, 0);
	}
	zmq_msg_close(&sup.peer);
	zmq_msg_close(&sup.frame);
	zmq_msg_close(&sup.body);
	zmq_close(sup.router);
	zmq_ctx_term(sup.zmq);
}

/* ---- tests ---- */

START_TEST(hello_announces_the_tools_and_the_sandbox)
{
	/* The fixture has heard it; its frames are still there. */
	const struct msg_hello *hello = &sup.msg.hello;

	ck_assert(slice_is(hello->kind, "tool"));
	ck_assert(slice_is(hello->name, "t1"));
	ck_assert(slice_is(hello->sandbox, "no-cgroup"));
	ck_assert_uint_eq(hello->slots, SLOTS);
	ck_assert(body_has("\"labels\":{}"));
	ck_assert(body_has("{\"name\":\"sleep\",\"description\":\"d\",\"param"
			   "eters\":{\"type\":\"object\",\"properties\":{},"
			   "\"additionalProperties\":false},\"idempotent\":true"
			   ",\"needs_approval\":false,\"timeout_ms\":30000}"));
	ck_assert(!body_has("/bin"));
}
END_TEST

START_TEST(a_call_is_run_and_its_result_told)
{
	char text[UUID_TEXT], want[128];

	start(1, "echo", "{}");
	check_done(1, "ok");
	ck_assert(slice_is(body(), "{}"));
	start(2, "env", " ");
	check_done(2, "ok");
	snprintf(want, sizeof(want), "call_abc %s key_xyz\n",
	    uuid_text(&sup.run, text));
	ck_assert(slice_is(body(), want));
	start(3, "echo", "{\"a\":1}");
	check_done(3, "rejected");
	ck_assert(body_has("do not fit"));
}
END_TEST

START_TEST(an_unknown_tool_is_refused_and_costs_nothing)
{
	start(1, "nothing", "{}");
	ck_assert(slice_is(hear(MSG_refused)->refused.reason, "unknown tool"));
	ck_assert_uint_eq(sup.msg.refused.call, 1);
}
END_TEST

START_TEST(a_cancel_ends_that_call_alone)
{
	struct msg cancel = { .id = MSG_cancel };

	start(1, "sleep", "{}");
	start(2, "sleep", "{}");
	cancel.cancel = (struct msg_cancel){
		.run = sup.run, .turn = 1, .call = 2, .attempt = 1
	};
	say(&cancel);
	check_done(2, "cancelled");
	cancel.cancel.call = 1;
	say(&cancel);
	check_done(1, "cancelled");
	cancel.cancel.call = 7;
	say(&cancel);
	start(3, "echo", "{}");
	check_done(3, "ok");
}
END_TEST

START_TEST(a_term_lets_calls_end_and_a_second_does_not)
{
	start(1, "sleep", "{}");
	/* Handled before what is sent now. */
	start(2, "echo", "{}");
	check_done(2, "ok");
	kill(sup.worker, SIGTERM);
	if (_i == 0) {
		struct msg cancel = { .id = MSG_cancel };

		cancel.cancel = (struct msg_cancel){
			.run = sup.run, .turn = 1, .call = 1, .attempt = 1
		};
		hear(MSG_hello);
		say(&cancel);
		check_done(1, "cancelled");
		hear(MSG_bye);
	} else {
		hear(MSG_hello); /* with no credit: it is draining */
		kill(sup.worker, SIGTERM);
	}
	ck_assert_int_eq(exit_code(), 0);
}
END_TEST

static pid_t
spawner_of(pid_t worker)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)worker,
	    (int)worker);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
	fclose(file);
	return (pid_t)strtol(text, NULL, 10);
}

START_TEST(the_death_of_the_spawner_is_told_and_ends_the_worker)
{
	pid_t spawner = spawner_of(sup.worker);
	int fd = pidfd_open(spawner, 0);
	struct pollfd gone = { .fd = fd, .events = POLLIN };

	start(1, "sleep", "{}");
	start(2, "echo", "{}");
	check_done(2, "ok");
	ck_assert_int_eq(kill(spawner, SIGKILL), 0);
	check_done(1, "sandbox_error");
	ck_assert(body_has("has died"));
	ck_assert_int_eq(exit_code(), SERVE_EXIT_2);
	ck_assert_int_eq(poll(&gone, 1, HEAR_MS), 1);
	close(fd);
}
END_TEST

static Suite *
make_suite(void)
{
	Suite *suite = suite_create("tool/serve");
	TCase *serve_case = tcase_create("serve");

	tcase_set_timeout(serve_case, 60);
	tcase_add_checked_fixture(serve_case, begin, end);
	tcase_add_test(serve_case, hello_announces_the_tools_and_the_sandbox);
	tcase_add_test(serve_case, a_call_is_run_and_its_result_told);
	tcase_add_test(
	    serve_case, an_unknown_tool_is_refused_and_costs_nothing);
	tcase_add_test(serve_case, a_cancel_ends_that_call_alone);
	tcase_add_loop_test(
	    serve_case, a_term_lets_calls_end_and_a_second_does_not, 0, 2);
	tcase_add_test(
	    serve_case, the_death_of_the_spawner_is_told_and_ends_the_worker);
	suite_add_tcase(suite, serve_case);
	return suite;
}

int
main(void)
{
	return twice_main(make_suite);
}
