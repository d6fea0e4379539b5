/* Promises of cli/show.c: a run's rows become an account that can be read. */
#include "cli/show.h"

#include <check.h>

#include "tests/unit/suite.h"

static const char finished[] =
    "{\"run\":{\"id\":\"01234567-89ab-7def-8123-456789abcdef\","
    "\"agent\":\"assistant\",\"agent_version\":3,\"session\":\"s 1\","
    "\"state\":\"completed\",\"reason\":null,\"waits_for\":null,"
    "\"error\":null,\"priority\":-5,"
    "\"created_at\":\"2026-01-02T03:04:05.678+00:00\","
    "\"started_at\":\"2026-01-02T03:04:06+00:00\","
    "\"finished_at\":\"2026-01-02T03:04:07+00:00\",\"turns\":2,"
    "\"input_tokens\":400,\"output_tokens\":31,\"cached_tokens\":100,"
    "\"reasoning_tokens\":9,\"total_tokens\":431,\"output\":\"3 C.\","
    "\"metadata\":{\"a\": \"b\"}},"
    "\"turns\":["
    "{\"turn\":1,\"attempt\":1,\"state\":\"failed\",\"worker\":\"m1\","
    "\"model\":\"gpt\",\"error_class\":\"overloaded\",\"error\":\"busy\"},"
    "{\"turn\":1,\"attempt\":2,\"state\":\"done\",\"worker\":\"m1\","
    "\"model\":\"gpt\",\"finish\":\"tool_calls\",\"first_ms\":300,"
    "\"total_ms\":1200,\"total_tokens\":200},"
    "{\"turn\":2,\"attempt\":1,\"state\":\"done\",\"worker\":\"m2\","
    "\"model\":\"gpt\",\"finish\":\"stop\",\"total_tokens\":231}],"
    "\"calls\":[{\"turn\":1,\"call\":1,\"call_id\":\"c\",\"name\":\"weather\","
    "\"state\":\"done\",\"attempt\":1,\"worker\":\"t1\",\"outcome\":\"ok\","
    "\"code\":0,\"output\":\"rain\\u001b[2J\\n3 C\",\"wall_ms\":43},"
    "{\"turn\":1,\"call\":2,\"call_id\":\"d\",\"name\":\"fail\","
    "\"state\":\"done\",\"attempt\":2,\"worker\":\"t1\",\"outcome\":\"exit\","
    "\"code\":7,\"output\":\"\",\"wall_ms\":2,\"dropped_bytes\":12}],"
    "\"items\":["
    "{\"turn\":0,\"category\":\"input\",\"index\":0,\"type\":\"message\","
    "\"role\":\"user\",\"text\":\"Weather?\\nIn Oslo.\"},"
    "{\"turn\":1,\"category\":\"response\",\"index\":0,"
    "\"type\":\"reasoning\",\"text\":\"hm\"},"
    "{\"turn\":1,\"category\":\"response\",\"index\":1,"
    "\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"weather\","
    "\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"},"
    "{\"turn\":1,\"category\":\"response\",\"index\":2,"
    "\"type\":\"function_call\",\"call_id\":\"d\",\"name\":\"fail\","
    "\"arguments\":\"{}\"},"
    "{\"turn\":1,\"category\":\"tool_output\",\"index\":1,"
    "\"type\":\"function_call_output\",\"call_id\":\"c\","
    "\"output\":\"rain\\u001b[2J\\n3 C\"},"
    "{\"turn\":2,\"category\":\"response\",\"index\":0,"
    "\"type\":\"message\",\"role\":\"assistant\",\"text\":\"3 C.\"},"
    "{\"turn\":2,\"category\":\"response\",\"index\":1,"
    "\"type\":\"web_search_call\",\"item\":{\"id\": 1}}]}";

static const char finished_text[] =
    "run       01234567-89ab-7def-8123-456789abcdef\n"
    "agent     assistant (version 3)\n"
    "state     completed\n"
    "session   s 1\n"
    "priority  -5\n"
    "created   2026-01-02 03:04:05\n"
    "started   2026-01-02 03:04:06\n"
    "finished  2026-01-02 03:04:07\n"
    "usage     2 turns, 431 tokens: 400 in (100 cached), 31 out "
    "(9 reasoning)\n"
    "metadata  {\"a\": \"b\"}\n"
    "\n"
    "input\n"
    "  user\n"
    "    Weather?\n"
    "    In Oslo.\n"
    "\n"
    "turn 1\n"
    "  gpt at m1: failed\n"
    "    overloaded: busy\n"
    "  attempt 2: gpt at m1: done (tool_calls), first text after 300 ms, "
    "took 1.2 s, 200 tokens\n"
    "  reasoning\n"
    "    hm\n"
    "  → weather {\"city\":\"Oslo\"}\n"
    "  ← ok, took 43 ms, at t1\n"
    "    rain[2J\n"
    "    3 C\n"
    "  → fail {}\n"
    "  ← exit 7, took 2 ms, attempt 2, at t1, 12 bytes dropped\n"
    "\n"
    "turn 2\n"
    "  gpt at m2: done (stop), 231 tokens\n"
    "  assistant\n"
    "    3 C.\n"
    "  web_search_call\n"
    "    {\"id\": 1}\n"
    "\n"
    "all of it: ./reeve show 01234567-89ab-7def-8123-456789abcdef --json\n";

static const char waiting[] =
    "{\"run\":{\"id\":\"01234567-89ab-7def-8123-456789abcdef\","
    "\"agent\":\"a\",\"agent_version\":1,\"state\":\"running\","
    "\"waits_for\":\"a worker with tool weather\",\"priority\":0,"
    "\"turns\":1},"
    "\"turns\":[{\"turn\":1,\"attempt\":1,\"state\":\"done\","
    "\"worker\":\"m1\",\"model\":\"gpt\"},"
    "{\"turn\":2,\"attempt\":1,\"state\":\"dispatched\",\"worker\":\"m1\","
    "\"model\":\"gpt\"}],"
    "\"calls\":[{\"turn\":1,\"call\":1,\"call_id\":\"c\","
    "\"name\":\"weather\",\"state\":\"queued\",\"attempt\":0}],"
    "\"items\":[{\"turn\":1,\"type\":\"function_call\",\"call_id\":\"c\","
    "\"name\":\"weather\",\"arguments\":\"{}\"}]}";

static const char waiting_text[] =
    "run       01234567-89ab-7def-8123-456789abcdef\n"
    "agent     a (version 1)\n"
    "state     running, waits for a worker with tool weather\n"
    "usage     1 turn, 0 tokens: 0 in (0 cached), 0 out (0 reasoning)\n"
    "\n"
    "input\n"
    "\n"
    "turn 1\n"
    "  gpt at m1: done\n"
    "  → weather {}\n"
    "  ← queued\n"
    "\n"
    "turn 2\n"
    "  gpt at m1: dispatched\n"
    "\n"
    "follow: ./reeve tail 01234567-89ab-7def-8123-456789abcdef\n"
    "cancel: ./reeve cancel 01234567-89ab-7def-8123-456789abcdef\n";

static const struct {
	const char *reply, *text;
} accounts[] = {
	{ finished, finished_text },
	{ waiting, waiting_text },
};

static void
show(const char *reply, struct buf *out)
{
	struct json value;

	setenv("TZ", "UTC", 1);
	ck_assert_int_eq(
	    json_parse(slice_string(reply), &value, NULL, NULL), 0);
	show_print(out, (struct style){ 0 }, value, "./reeve");
	buf_putc(out, '\0');
}

START_TEST(tells_what_happened_and_what_to_do_next)
{
	struct buf out = BUF_INIT(PRINT_MAX);

	show(accounts[_i].reply, &out);
	ck_assert_str_eq(out.ptr, accounts[_i].text);
	buf_release(&out);
}
END_TEST

START_TEST(survives_replies_that_make_no_sense)
{
	static const char *const replies[] = { "{}", "[]", "null", "7",
		"{\"run\":7,\"turns\":{},\"calls\":\"x\",\"items\":null}",
		"{\"run\":{\"id\":[]},\"turns\":[7,{}],\"calls\":[null]}",
		"{\"items\":[7,{\"type\":\"function_call\"},{\"turn\":-1}]}",
		"{\"items\":[{\"turn\":99999999999999999999}]}" };
	struct buf out = BUF_INIT(PRINT_MAX);

	show(replies[_i], &out);
	ck_assert(!out.failed);
	buf_release(&out);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/show");
	TCase *account = tcase_create("accounts");

	tcase_add_loop_test(account, tells_what_happened_and_what_to_do_next, 0,
	    COUNT(accounts));
	tcase_add_loop_test(account, survives_replies_that_make_no_sense, 0, 8);
	suite_add_tcase(suite, account);
	return run_suite(suite);
}
