/*
 * reeve list: runs, newest first.
 */
#include "base/alloc.h"
#include "cli/command.h"

#define NAME_WIDTH   24u
#define RESULT_WIDTH 60u
#define LIST_USUAL   20u

static const char *const states[] = { "queued", "running", "waiting_approval",
	"completed", "incomplete", "failed", "cancelled" };

static int
check_state(const char *state, struct err *err)
{
	if (state == NULL)
		return 0;
	for (size_t i = 0; i < COUNT(states); i++) {
		if (strcmp(states[i], state) == 0)
			return 0;
	}
	return err_set(err, ERR_INPUT,
	    "there is no state '%s'; there are queued, running, completed, "
	    "incomplete, failed and cancelled",
	    state);
}

static void
add_row(struct table *table, struct json run)
{
	struct buf time = BUF_INIT(LIMIT_TEXT);
	struct json last = json_get(run, "output");

	if (!print_has(last))
		last = json_get(run, "error");
	if (!print_has(last))
		last = json_get(run, "waits_for");
	print_time(&time, json_get(run, "created_at"));
	table_value(table, json_get(run, "id"), 0);
	table_value(table, json_get(run, "state"), 0);
	table_value(table, json_get(run, "agent"), NAME_WIDTH);
	table_value(table, json_get(run, "session"), NAME_WIDTH);
	table_cell(table, buf_slice(&time), 0);
	table_value(table, json_get(run, "turns"), 0);
	table_value(table, json_get(run, "total_tokens"), 0);
	table_value(table, last, RESULT_WIDTH);
	buf_release(&time);
}

static void
print_runs(struct cli *cli, struct json runs)
{
	static const char *const heads[] = { "ID", "STATE", "AGENT", "SESSION",
		"CREATED", "TURNS", "TOKENS", "RESULT" };
	struct json_iter it = json_iter(runs);
	struct json key, run;
	struct table table;
	char *program;

	if (json_count(runs) == 0) {
		program = cli_program(cli);
		buf_printf(&cli->out,
		    "no such runs; start one: %s run AGENT INPUT\n", program);
		mem_free(program);
		return;
	}
	table_init(&table, heads, COUNT(heads));
	while (json_next(&it, &key, &run))
		add_row(&table, run);
	table_print(&table, cli->style, &cli->out);
	table_release(&table);
}

static int
run_list(struct cli *cli)
{
	const struct options *o = &cli->options;
	struct client_answer answer;
	struct err err = { 0 };
	struct msg msg = { .id = MSG_list };
	struct json_iter it;
	struct json key, run;

	if (check_state(o->state, &err) == -1)
		return cli_usage(cli, "list", &err);
	msg.list = (struct msg_list){
		.request = client_request(cli->client),
		.state = slice_string(o->state),
		.agent = slice_string(o->agent),
		.session = slice_string(o->session),
		.limit = o->limit > 0 ? (uint64_t)o->limit : LIST_USUAL,
	};
	if (cli_ask(cli, &msg, (struct slice){ 0 }, "runs", &answer, &err) ==
	    -1)
		return cli_fail(cli, &err);
	it = json_iter(json_get(answer.body, "runs"));
	if (!o->json)
		print_runs(cli, json_get(answer.body, "runs"));
	while (o->json && json_next(&it, &key, &run))
		print_json_line(&cli->out, run);
	client_answer_release(&answer);
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_list = {
	.name = "list",
	.options = OPT_state | OPT_agent | OPT_session | OPT_limit | OPT_json,
	.session = "only runs of this session",
	.summary = "List runs, newest first",
	.text = "RESULT is the output, the error, or what the run waits for. "
		"States: queued, running, completed, incomplete, failed, "
		"cancelled.",
	.example = "reeve list --state failed --limit 5",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_list,
};
