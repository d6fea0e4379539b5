/*
 * The scripted model server without a script: the built-in agent, the load
 * models, the shape of its streams, how it starts and ends.
 */
#include <check.h>
#include <sys/prctl.h>

#include "base/json.h"
#include "tests/unit/model/model_events.h"
#include "tests/unit/model/model_reply.h"
#include "tests/unit/model/model_wire.h"
#include "tests/unit/suite.h"

#define WEATHER "{\"type\":\"function\",\"name\":\"weather\",\"parameters\":{}}"
#define CALCULATOR                                                             \
	"{\"type\":\"function\",\"name\":\"calculator\",\"parameters\":{}}"

/* The body of a streamed request to a load model. */
#define LOAD(model)                                                            \
	"{\"model\":\"" model "\",\"store\":false,\"stream\":true,"            \
	"\"include\":[\"reasoning.encrypted_content\"],\"input\":\"x\"}"

/* Asks with these JSON texts of model, tools and input. */
static void
ask(const char *stream, const char *model, const char *tools, const char *input,
    struct reply *reply)
{
	struct buf body = BUF_INIT(REPLY_MAX);

	buf_printf(&body,
	    "{\"model\":\"%s\",\"store\":false,\"stream\":%s,"
	    "\"include\":[\"reasoning.encrypted_content\"],"
	    "\"tools\":[%s],\"input\":%s}",
	    model, stream, tools, input);
	buf_putc(&body, '\0');
	server_ask(&server, "/v1/responses", body.ptr, reply);
	buf_release(&body);
}

static void
expect_number(const char *name, int64_t want)
{
	struct reply reply = REPLY_INIT;
	struct json stats;
	int64_t number = -1;

	server_ask(&server, "/stats", NULL, &reply);
	ck_assert_int_eq(
	    json_parse(buf_slice(&reply.body), &stats, NULL, NULL), 0);
	ck_assert(json_i64(json_get(stats, name), &number));
	ck_assert_msg(number == want, "%s is %d", name, (int)number);
	reply_release(&reply);
}

/* ---- the built-in agent ---- */

static const struct {
	const char *text;
	const char *city;
	const char *sum;
} questions[] = {
	{ "What is the weather in Paris?", "Paris", NULL },
	{ "How warm is it in New York today?", "New York", NULL },
	{ "Berlin or Rome?", "Rome", NULL },
	{ "Is Monday sunny in Z\xc3\xbcrich's north?", "Z\xc3\xbcrich", NULL },
	{ "Tell me about \xc3\x85rhus", "\xc3\x85rhus", NULL },
	{ "what is the weather like", "Paris", NULL },
	{ "What is 17 * 23?", NULL, "17 * 23" },
	{ "compute 2+2.", NULL, "2+2" },
	{ "(what is (1 + 2) / 3)", NULL, "(1 + 2) / 3" },
	{ "3 x 4 please", NULL, "3 * 4" },
	{ "2^10 % 7?", NULL, "2**10 % 7" },
	{ "20% of what", NULL, NULL },
	{ "6 \xc3\x97 7 \xc3\xb7 2", NULL, "6 * 7 / 2" },
	{ "in 2024 or -5", NULL, NULL },
	{ "Weather in Oslo, and 12.5*4?", "Oslo", "12.5*4" },
	{ "hello there", NULL, NULL },
	{ "Hi", NULL, NULL },
	{ "", NULL, NULL },
};

/* The arguments of the call with that name in an answer, or nothing. */
static void
arguments_of(struct json response, const char *name, struct buf *out)
{
	struct json output = json_get(response, "output");
	struct json_iter it = json_iter(output);
	struct json key, item;

	while (json_next(&it, &key, &item))
		if (json_is(json_get(item, "type"), "function_call") &&
		    json_is(json_get(item, "name"), name))
			json_decode(json_get(item, "arguments"), out);
	buf_putc(out, '\0');
}

static void
expect_call(
    struct json response, const char *name, const char *key, const char *value)
{
	struct buf arguments = BUF_INIT(1000);
	char want[200] = "";

	if (value != NULL)
		snprintf(want, sizeof(want), "{\"%s\":\"%s\"}", key, value);
	arguments_of(response, name, &arguments);
	ck_assert_str_eq(arguments.ptr, want);
	buf_release(&arguments);
}

START_TEST(calls_the_tools_that_a_question_needs)
{
	struct reply reply = REPLY_INIT;
	struct buf input = BUF_INIT(1000);
	struct json response;

	buf_puts(&input, "[{\"role\":\"user\",\"content\":");
	json_put_string(&input, slice_string(questions[_i].text));
	buf_puts(&input, "}]");
	buf_putc(&input, '\0');
	ask("false", "gpt-5", WEATHER "," CALCULATOR, input.ptr, &reply);
	ck_assert_int_eq(reply.status, 200);
	ck_assert_int_eq(
	    json_parse(buf_slice(&reply.body), &response, NULL, NULL), 0);
	expect_call(response, "weather", "city", questions[_i].city);
	expect_call(response, "calculator", "expression", questions[_i].sum);
	if (questions[_i].city == NULL && questions[_i].sum == NULL)
		ck_assert(reply_has(&reply, "scripted model"));
	buf_release(&input);
	reply_release(&reply);
}
END_TEST

START_TEST(calls_no_tool_that_is_not_offered)
{
	struct reply reply = REPLY_INIT;

	ask("false", "gpt-5", CALCULATOR, "\"The weather in Paris?\"", &reply);
	ck_assert_int_eq(reply.status, 200);
	ck_assert(!reply_has(&reply, "function_call"));
	ck_assert(reply_has(&reply, "scripted model"));
	reply_release(&reply);
}
END_TEST

static const struct {
	const char *output;
	const char *says;
} outputs[] = {
	{ "\"Sunny, 21 degrees.\\n\"", "In Paris: Sunny, 21 degrees." },
	{ "\"{\\\"sky\\\":\\\"clear\\\",\\\"celsius\\\":21}\"",
	    "In Paris: sky clear, celsius 21." },
	{ "\"{\\\"report\\\":\\\"fog\\\"}\"", "In Paris: fog." },
	{ "\"[1,2]\"", "In Paris: [1,2]." },
	{ "[{\"type\":\"output_text\",\"text\":\"rain\"}]", "In Paris: rain." },
	{ "\"\"", "In Paris: ." },
};

START_TEST(says_in_words_what_tools_found)
{
	struct reply reply = REPLY_INIT;
	struct buf input = BUF_INIT(4000);

	buf_printf(&input,
	    "[{\"role\":\"user\",\"content\":\"Paris? 2+2?\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":"
	    "\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Paris\\\"}\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":"
	    "\"calculator\",\"arguments\":\"{\\\"expression\\\":\\\"2+2\\\"}\""
	    "},{\"type\":\"function_call_output\",\"call_id\":\"a\","
	    "\"output\":%s},{\"type\":\"function_call_output\",\"call_id\":"
	    "\"b\",\"output\":\"4\"}]",
	    outputs[_i].output);
	buf_putc(&input, '\0');
	ask("false", "gpt-5", WEATHER "," CALCULATOR, input.ptr, &reply);
	ck_assert_int_eq(reply.status, 200);
	ck_assert_msg(reply_has(&reply, outputs[_i].says), "%.*s",
	    (int)reply.body.len, reply.body.ptr);
	ck_assert(reply_has(&reply, " 2+2 = 4."));
	buf_release(&input);
	reply_release(&reply);
}
END_TEST

/* ---- streams ---- */

START_TEST(writes_the_events_of_a_text_in_their_order)
{
	struct reply reply = REPLY_INIT;
	struct buf types = BUF_INIT(10000);

	ask("true", "bench-text-2", "", "\"hi\"", &reply);
	event_types(buf_slice(&reply.body), &types);
	ck_assert_str_eq(types.ptr,
	    "created in_progress output_item.added content_part.added "
	    "output_text.delta output_text.delta output_text.done "
	    "content_part.done output_item.done completed ");
	ck_assert(memmem(reply.head.ptr, reply.head.len,
		      "Content-Type: text/event-stream", 31) != NULL);
	buf_release(&types);
	reply_release(&reply);
}
END_TEST

START_TEST(writes_the_events_of_calls_in_their_order)
{
	struct reply reply = REPLY_INIT;
	struct buf types = BUF_INIT(10000);

	ask("true", "bench-parallel-2-reason", WEATHER, "\"hi\"", &reply);
	event_types(buf_slice(&reply.body), &types);
	ck_assert_str_eq(types.ptr,
	    "created in_progress output_item.added output_item.done "
	    "output_item.added function_call_arguments.delta "
	    "function_call_arguments.done output_item.done "
	    "output_item.added function_call_arguments.delta "
	    "function_call_arguments.done output_item.done completed ");
	buf_release(&types);
	reply_release(&reply);
}
END_TEST

static const char *const lifecycle_fields[] = { "id", "object", "created_at",
	"status", "error", "incomplete_details", "instructions", "model",
	"output", "parallel_tool_calls", "tools", "tool_choice", "temperature",
	"top_p", "metadata", "usage" };

START_TEST(numbers_events_from_zero_and_names_every_field)
{
	struct reply reply = REPLY_INIT;
	struct slice rest;
	struct json event, response;
	int64_t number, next = 0;

	ask("true", "gpt-5", WEATHER, "\"And in Rome?\"", &reply);
	rest = buf_slice(&reply.body);
	while (event_next(&rest, &event)) {
		ck_assert(
		    json_i64(json_get(event, "sequence_number"), &number));
		ck_assert_int_eq(number, next++);
		response = json_get(event, "response");
		for (size_t i = 0; i < COUNT(lifecycle_fields); i++)
			ck_assert_msg(
			    response.type == JSON_NONE ||
				json_get(response, lifecycle_fields[i]).type !=
				    JSON_NONE,
			    "no %s", lifecycle_fields[i]);
	}
	ck_assert_int_gt(next, 8);
	ck_assert(json_is(json_get(event, "type"), "response.completed"));
	ck_assert(json_is(json_get(response, "status"), "completed"));
	ck_assert_uint_eq(json_count(json_get(response, "output")), 1);
	reply_release(&reply);
}
END_TEST

/* Deltas, done events and the finished item must say the same. */
START_TEST(deltas_make_up_the_text)
{
	struct reply reply = REPLY_INIT;
	struct buf text = BUF_INIT(1000), done = BUF_INIT(1000);
	struct slice rest;
	struct json event;
	int deltas = 0;

	ask("true", "gpt-5", "", "\"hello\"", &reply);
	rest = buf_slice(&reply.body);
	while (event_next(&rest, &event)) {
		struct json type = json_get(event, "type");

		if (json_is(type, "response.output_text.delta")) {
			json_decode(json_get(event, "delta"), &text);
			deltas++;
		}
		if (json_is(type, "response.output_text.done"))
			json_decode(json_get(event, "text"), &done);
	}
	ck_assert_int_gt(deltas, 20);
	ck_assert(slice_eq(buf_slice(&text), buf_slice(&done)));
	ck_assert_uint_gt(text.len, 100);
	buf_release(&text);
	buf_release(&done);
	reply_release(&reply);
}
END_TEST

START_TEST(ciphertext_is_whole_only_when_done)
{
	struct reply reply = REPLY_INIT;
	struct slice rest;
	struct json event, item, sealed;
	size_t added = 0, done = 0;

	ask("true", "bench-reason", "", "\"hi\"", &reply);
	rest = buf_slice(&reply.body);
	while (event_next(&rest, &event)) {
		item = json_get(event, "item");
		sealed = json_get(item, "encrypted_content");
		if (sealed.type != JSON_STRING)
			continue;
		if (json_is(
			json_get(event, "type"), "response.output_item.added"))
			added = sealed.raw.len;
		else
			done = sealed.raw.len;
	}
	ck_assert_uint_gt(added, 2);
	ck_assert_uint_gt(done, added);
	reply_release(&reply);
}
END_TEST

/* ---- load models ---- */

static const struct {
	const char *model;
	const char *input;
	const char *event;
	size_t want;
} loads[] = {
	{ "bench", "\"x\"", "output_text.delta", 16 },
	{ "bench-text-100", "\"x\"", "output_text.delta", 100 },
	{ "bench-tools-1", "\"x\"", "function_call_arguments.done", 1 },
	{ "bench-parallel-3", "\"x\"", "function_call_arguments.done", 3 },
	{ "bench-delay-1-parallel-2-tools-2", "\"x\"",
	    "function_call_arguments.done", 2 },
	{ "bench-paced-4x1", "\"x\"", "output_text.delta", 4 },
	{ "bench-tools-1-text-5",
	    "[{\"role\":\"user\",\"content\":\"x\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"w\","
	    "\"arguments\":\"{}\"},{\"type\":\"function_call_output\","
	    "\"call_id\":\"c\",\"output\":\"o\"}]",
	    "output_text.delta", 5 },
};

START_TEST(a_load_model_does_what_its_name_says)
{
	struct reply reply = REPLY_INIT;
	struct slice rest;
	struct json event;
	char want[100];
	size_t n = 0;

	ask("true", loads[_i].model, WEATHER, loads[_i].input, &reply);
	ck_assert_int_eq(reply.status, 200);
	snprintf(want, sizeof(want), "response.%s", loads[_i].event);
	rest = buf_slice(&reply.body);
	while (event_next(&rest, &event))
		n += json_is(json_get(event, "type"), want);
	ck_assert_uint_eq(n, loads[_i].want);
	reply_release(&reply);
}
END_TEST

static const char *const bad_loads[] = { "bench-txt-1", "bench-text",
	"bench-text-x", "bench-text-18446744073709551617", "bench-paced-5",
	"bench-paced-5x", "bench-", "bench--" };

START_TEST(a_load_model_with_a_bad_option_is_not_found)
{
	struct reply reply = REPLY_INIT;
	bool empty = _i >= (int)COUNT(bad_loads) - 2;

	ask("true", bad_loads[_i], WEATHER, "\"x\"", &reply);
	if (empty)
		ck_assert(reply.status == 200 || reply.status == 404);
	else
		ck_assert_int_eq(reply.status, 404);
	reply_release(&reply);
}
END_TEST

START_TEST(a_thousand_streams_play_at_once)
{
	static int fds[1000];
	struct buf request = BUF_INIT(1000), got = BUF_INIT(1 << 20);
	struct reply reply = REPLY_INIT;

	server_ask(&server, "/reset", "", &reply);
	server_put_request(&request, LOAD("bench-paced-3x20"));
	for (size_t i = 0; i < COUNT(fds); i++) {
		fds[i] = server_connect(&server);
		server_send(fds[i], buf_slice(&request));
	}
	for (size_t i = 0; i < COUNT(fds); i++) {
		buf_clear(&got);
		ck_assert(server_read(fds[i], "\r\n0\r\n\r\n", &got));
		ck_assert(memmem(got.ptr, got.len, "response.completed", 18));
		close(fds[i]);
	}
	expect_number("answered", COUNT(fds));
	expect_number("refused", 0);
	reply_release(&reply);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

/* ---- start and end ---- */

static const struct {
	const char *args[4];
	const char *why;
} bad_starts[] = {
	{ { "--port", "65536" }, "number too large" },
	{ { "--port", "x" }, "no number" },
	{ { "--script", "/nonexistent" }, "no script" },
	{ { "--replay", "/nonexistent" }, "no replay" },
	{ { "--replay", "/dev/null", "--script", "/dev/null" }, "both" },
	{ { "--port-file", "/nonexistent/port" }, "no folder" },
	{ { "--unknown" }, "unknown option" },
	{ { "word" }, "a word" },
};

START_TEST(refuses_to_start_wrongly)
{
	struct server wrong;
	const char *args[5] = { 0 };

	memcpy(args, bad_starts[_i].args, sizeof(bad_starts[_i].args));
	server_spawn(&wrong, args);
	ck_assert_msg(server_wait(&wrong) == 1, "%s", bad_starts[_i].why);
}
END_TEST

START_TEST(refuses_a_port_in_use)
{
	struct server second;
	char port[16];

	snprintf(port, sizeof(port), "%d", server.port);
	server_spawn(&second, (const char *const[]){ "--port", port, NULL });
	ck_assert_int_eq(server_wait(&second), 1);
}
END_TEST

START_TEST(the_port_file_holds_the_port)
{
	char path[TEMP_PATH], text[16] = "";
	struct server own;
	int fd, port = 0;

	temp_file_of("", path);
	server_start(&own, (const char *const[]){ "--port-file", path, NULL });
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	ck_assert_int_eq(sscanf(text, "%d", &port), 1);
	ck_assert_int_eq(port, own.port);
	ck_assert_int_eq(server_stop(&own), 0);
}
END_TEST

/* A child starts the server, tells its pid, and is killed. */
START_TEST(ends_with_its_parent_when_told_to)
{
	struct server own;
	int ends[2];
	pid_t parent;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0) {
		server_start(
		    &own, (const char *const[]){ "--die-with-parent", NULL });
		(void)!write(ends[1], &own, sizeof(own));
		pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ends[0], &own, sizeof(own)), sizeof(own));
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	own.out = -1;
	for (int i = 0; i < 1000 && kill(own.pid, 0) == 0; i++)
		poll(NULL, 0, 10);
	ck_assert_int_eq(kill(own.pid, 0), -1);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(ends_at_once_with_streams_open)
{
	struct server own;
	struct buf request = BUF_INIT(1000), got = BUF_INIT(1 << 20);
	int fd;

	server_start(&own, (const char *const[]){ "--no-auth", NULL });
	fd = server_connect(&own);
	server_put_request(&request, LOAD("bench-paced-9x60000"));
	server_send(fd, buf_slice(&request));
	ck_assert(server_read(fd, "output_text.delta", &got));
	ck_assert_int_eq(server_stop(&own), 0);
	close(fd);
	buf_release(&request);
	buf_release(&got);
}
END_TEST

static Suite *
model_server(void)
{
	Suite *suite = suite_create("model server");
	TCase *agent = server_case(suite, "agent", 30);
	TCase *stream = server_case(suite, "stream", 30);
	TCase *load = server_case(suite, "load", 30);
	TCase *life = server_case(suite, "life", 30);

	tcase_add_loop_test(
	    agent, calls_the_tools_that_a_question_needs, 0, COUNT(questions));
	tcase_add_test(agent, calls_no_tool_that_is_not_offered);
	tcase_add_loop_test(
	    agent, says_in_words_what_tools_found, 0, COUNT(outputs));
	tcase_add_test(stream, writes_the_events_of_a_text_in_their_order);
	tcase_add_test(stream, writes_the_events_of_calls_in_their_order);
	tcase_add_test(stream, numbers_events_from_zero_and_names_every_field);
	tcase_add_test(stream, deltas_make_up_the_text);
	tcase_add_test(stream, ciphertext_is_whole_only_when_done);
	tcase_add_loop_test(
	    load, a_load_model_does_what_its_name_says, 0, COUNT(loads));
	tcase_add_loop_test(load, a_load_model_with_a_bad_option_is_not_found,
	    0, COUNT(bad_loads));
	tcase_add_test(load, a_thousand_streams_play_at_once);
	tcase_add_loop_test(
	    life, refuses_to_start_wrongly, 0, COUNT(bad_starts));
	tcase_add_test(life, refuses_a_port_in_use);
	tcase_add_test(life, the_port_file_holds_the_port);
	tcase_add_test(life, ends_with_its_parent_when_told_to);
	tcase_add_test(life, ends_at_once_with_streams_open);
	return suite;
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return run_suite(model_server());
}
