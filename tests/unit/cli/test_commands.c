/*
 * Promises of the commands (cli/cmd_*.c, cli/watch.c): what they ask the
 * supervisor, what they print of its answer, and the code they end with.
 */
#include "cli/command.h"

#include <signal.h>

#include "tests/unit/cli/capture.h"
#include "tests/unit/cli/front.h"
#include "tests/unit/suite.h"

#define ID "01234567-89ab-7def-8123-456789abcdef"

static struct front front;
static struct cli cli;
static struct capture captured;
static const char *answer; /* the body of every reply */

static void
setup(void)
{
	static const struct client_config usual = { 0 };
	struct client_config config = usual;
	struct err err = { 0 };

	setenv("TZ", "UTC", 1);
	front = (struct front){ 0 };
	front_place(&front);
	config.path = front.path;
	cli = (struct cli){ .program = "reeve", .out = BUF_INIT(PRINT_MAX) };
	ck_assert_msg(
	    client_new(&cli.client, &config, &err) == 0, "%s", err.text);
}

static void
teardown(void)
{
	link_free(front.link, 0);
	client_free(cli.client);
	buf_release(&cli.out);
	front_release(&front);
}

/* Runs words as the program would, and catches what it prints. */
static int
run(const char *const *words, int count)
{
	char *argv[16] = { NULL };
	const struct command *command;
	struct err err = { 0 };
	int code;

	for (int i = 0; i < count; i++)
		argv[i + 1] = strdup(words[i]);
	ck_assert_msg(options_parse(&cli.options, count + 1, argv, &err) == 0,
	    "%s", err.text);
	command = command_find(cli.options.words[0]);
	ck_assert_ptr_nonnull(command);
	cli.args = cli.options.words + 1;
	cli.arg_count = cli.options.word_count - 1;
	capture_begin(&captured);
	code = command->run(&cli);
	capture_end(&captured);
	for (int i = 0; i < count; i++)
		free(argv[i + 1]);
	return code;
}

#define RUN(...)                                                               \
	run((const char *const[]){ __VA_ARGS__ },                              \
	    (int)(sizeof((const char *const[]){ __VA_ARGS__ }) /               \
		  sizeof(char *)))

/* ---- one question, one answer ---- */

static void
check_list(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	ck_assert_int_eq(msg->id, MSG_list);
	ck_assert(slice_is(msg->list.state, "failed"));
	ck_assert(slice_is(msg->list.agent, "a"));
	ck_assert(slice_is(msg->list.session, "s"));
	ck_assert_uint_eq(msg->list.limit, 7);
	front_reply(f, msg->list.request, answer);
}

static const char runs[] =
    "{\"runs\":[{\"id\":\"" ID "\",\"agent\":\"a\\u001b\",\"session\":null,"
    "\"state\":\"failed\",\n\"error\":\"no\\nkey\",\"turns\":2,"
    "\"total_tokens\":431,\"created_at\":\"2026-01-02T03:04:05+00:00\"}]}";

START_TEST(lists_what_was_asked_for)
{
	front.on_message = check_list;
	front_join(&front, cli.client);
	answer = runs;
	ck_assert_int_eq(RUN("list", "--state", "failed", "--agent", "a",
			     "--session", "s", "--limit", "7"),
	    CLI_COMPLETED);
	ck_assert_str_eq(captured.out,
	    "ID                                    STATE   AGENT  SESSION  "
	    "CREATED              TURNS  TOKENS  RESULT\n" ID
	    "  failed  a               2026-01-02 03:04:05  2      431     "
	    "no key\n");
	ck_assert_int_eq(RUN("list", "--json", "--state", "failed", "--agent",
			     "a", "--session", "s", "--limit", "7"),
	    CLI_COMPLETED);
	ck_assert_ptr_eq(strchr(captured.out, '\n'),
	    captured.out + strlen(captured.out) - 1);
	answer = "{\"runs\":[]}";
	ck_assert_int_eq(RUN("list", "--state", "failed", "--agent", "a",
			     "--session", "s", "--limit", "7"),
	    CLI_COMPLETED);
	ck_assert_ptr_nonnull(strstr(captured.out, "start one: reeve run"));
}
END_TEST

START_TEST(refuses_a_state_that_there_is_not)
{
	ck_assert_int_eq(RUN("list", "--state", "done"), CLI_USAGE);
	ck_assert_ptr_nonnull(strstr(captured.err, "completed"));
}
END_TEST

static void
check_cancel(struct front *f, const struct msg *msg, struct slice body)
{
	char id[UUID_TEXT];

	(void)body;
	ck_assert_int_eq(msg->id, MSG_cancel_run);
	ck_assert_str_eq(uuid_text(&msg->cancel_run.run, id), ID);
	ck_assert(slice_is(msg->cancel_run.reason, "why"));
	front_reply(f, msg->cancel_run.request, answer);
}

START_TEST(cancels_and_says_how_it_stands)
{
	front.on_message = check_cancel;
	front_join(&front, cli.client);
	answer = "{\"state\":\"cancelling\"}";
	ck_assert_int_eq(RUN("cancel", ID, "--reason", "why"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out, "run " ID " will end as cancelled\n"
				       "look at it: reeve show " ID "\n");
	answer = "{\"state\":\"completed\"}";
	ck_assert_int_eq(RUN("cancel", ID, "--reason", "why"), CLI_COMPLETED);
	ck_assert_ptr_nonnull(strstr(captured.out, "has ended: completed"));
}
END_TEST

static void
reply_to_any(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	front_reply(f, msg->stats.request, answer);
}

START_TEST(prints_the_fleet)
{
	front.on_message = reply_to_any;
	front_join(&front, cli.client);
	answer = "{\"workers\":[{\"name\":\"m\",\"kind\":\"model\","
		 "\"host\":\"h\",\"pid\":7,\"slots\":9,\"credit\":8,"
		 "\"in_flight\":1,\"models\":[\"x\",\"y\"],\"tools\":[\"z\"],"
		 "\"connected_ms\":61000}]}";
	ck_assert_int_eq(RUN("workers"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out,
	    "NAME  KIND   HOST  PID  SLOTS  BUSY  SINCE      MODELS, TOOLS\n"
	    "m     model  h     7    9      1     1 min 1 s  x, y, z\n");
	answer = "{\"workers\":[]}";
	ck_assert_int_eq(RUN("workers"), CLI_COMPLETED);
	ck_assert_ptr_nonnull(strstr(captured.out, "no worker is connected"));
}
END_TEST

START_TEST(says_when_an_answer_is_not_understood)
{
	static const char *const lines[] = { "workers", "list", "stats" };

	front.on_message = reply_to_any;
	front_join(&front, cli.client);
	answer = "[]";
	for (size_t i = 0; i < COUNT(lines); i++) {
		ck_assert_int_eq(RUN(lines[i]), CLI_FAILED);
		ck_assert_ptr_nonnull(strstr(captured.err, "same version"));
	}
}
END_TEST

static void
check_apply(struct front *f, const struct msg *msg, struct slice body)
{
	struct json list, key, agent;
	struct json_iter it;

	ck_assert_int_eq(msg->id, MSG_apply);
	ck_assert_int_eq(json_parse(body, &list, NULL, NULL), 0);
	it = json_iter(list);
	ck_assert(json_next(&it, &key, &agent));
	ck_assert(json_is(json_get(agent, "name"), "one"));
	ck_assert(json_next(&it, &key, &agent));
	ck_assert(json_is(json_get(agent, "name"), "two"));
	ck_assert(!json_next(&it, &key, &agent));
	front_reply(f, msg->apply.request,
	    "{\"agents\":[{\"name\":\"one\",\"version\":2,\"changed\":true},"
	    "{\"name\":\"two\",\"version\":1,\"changed\":false}]}");
}

static void
write_agent(const char *dir, const char *file, const char *name)
{
	char path[200];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fprintf(out, "name: %s\nmodel: m\n", name);
	fclose(out);
}

START_TEST(applies_all_agents_of_a_folder_at_once)
{
	char dir[TEMP_PATH];

	front.on_message = check_apply;
	front_join(&front, cli.client);
	temp_folder(dir);
	write_agent(dir, "1.yaml", "one");
	write_agent(dir, "2.yml", "two");
	ck_assert_int_eq(RUN("apply", dir), CLI_COMPLETED);
	ck_assert_str_eq(captured.out, "AGENT  VERSION\n"
				       "one    2        stored\n"
				       "two    1        unchanged\n");
	write_agent(dir, "2.yml", "'no name'");
	ck_assert_int_eq(RUN("apply", dir), CLI_FAILED);
	ck_assert_ptr_nonnull(strstr(captured.err, "2.yml:1"));
	ck_assert_uint_eq(front.count, 1);
}
END_TEST

/* ---- starting runs ---- */

static void
accept_run(struct front *f, const struct msg *msg, const struct uuid *run)
{
	struct msg submitted = { .id = MSG_submitted };

	submitted.submitted.request = msg->submit.request;
	submitted.submitted.run = *run;
	front_send(f, &submitted, NULL);
}

static void
check_submit(struct front *f, const struct msg *msg, struct slice body)
{
	const struct msg_submit *m = &msg->submit;
	struct uuid run;

	ck_assert_int_eq(msg->id, MSG_submit);
	ck_assert_uint_gt(uuid_ms(&m->run), 0);
	ck_assert(slice_is(m->agent, "a"));
	ck_assert(slice_is(m->session, "s"));
	ck_assert(slice_is(m->key, "k"));
	ck_assert_int_eq(m->priority, -3);
	ck_assert_uint_eq(m->delay_ms, 600000);
	ck_assert_uint_eq(m->at_ms, 0);
	ck_assert(slice_is(body, "{\"input\":\"say \\\"hi\\\"\","
				 "\"metadata\":{\"x\":\"1=2\"}}"));
	ck_assert_int_eq(uuid_parse(SLICE(ID), &run, NULL), 0);
	accept_run(f, msg, &run);
}

START_TEST(submits_with_all_options_and_prints_the_id_it_is_given)
{
	front.on_message = check_submit;
	front_join(&front, cli.client);
	ck_assert_int_eq(
	    RUN("submit", "a", "say \"hi\"", "--session", "s", "--key", "k",
		"--priority", "-3", "--at", "+10m", "--metadata", "x=1=2"),
	    CLI_COMPLETED);
	ck_assert_str_eq(captured.out, ID "\n");
}
END_TEST

START_TEST(refuses_an_input_that_is_no_text)
{
	ck_assert_int_eq(RUN("submit", "a", ""), CLI_USAGE);
	ck_assert_int_eq(RUN("submit", "a", "x\xff"), CLI_USAGE);
	ck_assert_ptr_nonnull(strstr(captured.err, "byte 2"));
}
END_TEST

/* ---- following ---- */

static const char *end_body; /* of run_ended */

static void
play_run(struct front *f, const struct msg *msg, struct slice body)
{
	struct uuid run;

	(void)body;
	ck_assert_int_eq(uuid_parse(SLICE(ID), &run, NULL), 0);
	if (msg->id == MSG_submit) {
		accept_run(f, msg, &run);
		return;
	}
	ck_assert_int_eq(msg->id, MSG_watch);
	ck_assert(uuid_eq(&msg->watch.run, &run));
	front_event(f, &run, 1, "run_accepted", false, "{\"agent\":\"a\"}");
	front_event(f, &run, 2, "run_ended", true, end_body);
}

static const char completed[] =
    "{\"state\":\"completed\",\n\"output\":\"4\\u001b[1m2\",\"turns\":1,"
    "\"total_tokens\":3,\"input_tokens\":1,\"output_tokens\":2,\"ms\":5}";
static const char incomplete[] =
    "{\"state\":\"incomplete\",\"reason\":\"max_turns\",\"error\":null,"
    "\"output\":null}";

START_TEST(prints_a_run_for_people)
{
	front.on_message = play_run;
	front_join(&front, cli.client);
	end_body = completed;
	ck_assert_int_eq(RUN("run", "a", "x"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out,
	    "run " ID " · agent a\n\ncompleted · run " ID
	    " · 1 turn · 3 tokens (1 in, 2 out) · 5 ms\n");
	ck_assert_str_eq(captured.err, "");
}
END_TEST

START_TEST(prints_a_run_for_programs)
{
	front.on_message = play_run;
	front_join(&front, cli.client);
	end_body = completed;
	ck_assert_int_eq(RUN("tail", ID, "--json"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out,
	    "{\"run\":\"" ID "\",\"seq\":1,\"type\":\"run_accepted\","
	    "\"final\":false,\"at_ms\":0,\"body\":{\"agent\":\"a\"}}\n"
	    "{\"run\":\"" ID "\",\"seq\":2,\"type\":\"run_ended\","
	    "\"final\":true,\"at_ms\":0,\"body\":{\"state\":\"completed\", "
	    "\"output\":\"4\\u001b[1m2\",\"turns\":1,\"total_tokens\":3,"
	    "\"input_tokens\":1,\"output_tokens\":2,\"ms\":5}}\n");
}
END_TEST

START_TEST(prints_only_the_answer)
{
	front.on_message = play_run;
	front_join(&front, cli.client);
	end_body = completed;
	ck_assert_int_eq(RUN("run", "a", "x", "--output"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out, "4\033[1m2\n");
	cli.style.width = 80; /* now a terminal */
	ck_assert_int_eq(RUN("run", "a", "x", "--output"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out, "4[1m2\n");
}
END_TEST

START_TEST(prints_only_the_answer_as_json_for_programs)
{
	front.on_message = play_run;
	front_join(&front, cli.client);
	end_body = completed;
	ck_assert_int_eq(
	    RUN("run", "a", "x", "--output", "--json"), CLI_COMPLETED);
	ck_assert_str_eq(captured.out, "{\"output\":\"4\\u001b[1m2\"}\n");
	end_body = incomplete;
	ck_assert_int_eq(RUN("tail", ID, "--output", "--json"), CLI_FAILED);
	ck_assert_str_eq(captured.out, "{\"output\":null}\n");
}
END_TEST

START_TEST(says_once_that_a_run_is_cancelled)
{
	front.on_message = play_run;
	front_join(&front, cli.client);
	end_body = "{\"state\":\"cancelled\",\"reason\":\"cancelled\","
		   "\"error\":null,\"output\":null}";
	ck_assert_int_eq(RUN("tail", ID, "--output"), CLI_FAILED);
	ck_assert_str_eq(captured.err, "reeve: run " ID " is cancelled\n"
				       "look at it: reeve show " ID "\n");
}
END_TEST

static void
interrupt(struct front *f)
{
	(void)f;
	raise(SIGINT);
}

/* Text without its end, then Ctrl-C. */
static void
stream_and_interrupt(struct front *f, const struct msg *msg, struct slice body)
{
	struct uuid run;

	(void)body;
	if (msg->id != MSG_watch)
		return;
	ck_assert_int_eq(uuid_parse(SLICE(ID), &run, NULL), 0);
	front_event(f, &run, 1, "turn_started", false,
	    "{\"turn\":1,\"attempt\":1,\"model\":\"m\"}");
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":0,"
	    "\"deltas\":[[\"text\",0,\"four five\"]]}");
	front_later(f, 100, interrupt); /* when the text was printed */
}

START_TEST(detaches_on_a_line_of_its_own)
{
	const char *text;

	front.on_message = stream_and_interrupt;
	front_join(&front, cli.client);
	ck_assert_int_eq(RUN("tail", ID), CLI_WAITING);
	text = strstr(captured.out, "four five");
	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, "four five\n");
	ck_assert_ptr_nonnull(
	    strstr(captured.err, "reeve: detached; run " ID " goes on\n"));
}
END_TEST

START_TEST(ends_with_1_and_a_reason_when_a_run_did_not_complete)
{
	front.on_message = play_run;
	front_join(&front, cli.client);
	end_body = incomplete;
	ck_assert_int_eq(RUN("run", "a", "x", "--output"), CLI_FAILED);
	ck_assert_str_eq(captured.out, "");
	ck_assert_str_eq(captured.err,
	    "reeve: run " ID " is incomplete: max_turns\n"
	    "look at it: reeve show " ID "\n");
	ck_assert_int_eq(RUN("tail", ID), CLI_FAILED);
	ck_assert_str_eq(captured.err, "look at it: reeve show " ID "\n");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/commands");
	TCase *ask = tcase_create("questions"), *start = tcase_create("starts");
	TCase *watch = tcase_create("following");
	TCase *all[] = { ask, start, watch };

	tcase_add_test(ask, lists_what_was_asked_for);
	tcase_add_test(ask, refuses_a_state_that_there_is_not);
	tcase_add_test(ask, cancels_and_says_how_it_stands);
	tcase_add_test(ask, prints_the_fleet);
	tcase_add_test(ask, says_when_an_answer_is_not_understood);
	tcase_add_test(ask, applies_all_agents_of_a_folder_at_once);
	tcase_add_test(
	    start, submits_with_all_options_and_prints_the_id_it_is_given);
	tcase_add_test(start, refuses_an_input_that_is_no_text);
	tcase_add_test(watch, prints_a_run_for_people);
	tcase_add_test(watch, prints_a_run_for_programs);
	tcase_add_test(watch, prints_only_the_answer);
	tcase_add_test(watch, prints_only_the_answer_as_json_for_programs);
	tcase_add_test(watch, says_once_that_a_run_is_cancelled);
	tcase_add_test(watch, detaches_on_a_line_of_its_own);
	tcase_add_test(
	    watch, ends_with_1_and_a_reason_when_a_run_did_not_complete);
	for (size_t i = 0; i < COUNT(all); i++) {
		tcase_add_checked_fixture(all[i], setup, teardown);
		suite_add_tcase(suite, all[i]);
	}
	return run_suite(suite);
}
