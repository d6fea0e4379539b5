/*
 * reeve cancel: ends a run.
 */
#include "base/alloc.h"
#include "cli/command.h"

static void
print_answer(struct cli *cli, const struct uuid *run, struct json answer)
{
	struct json state = json_get(answer, "state");
	char *program = cli_program(cli), id[UUID_TEXT];

	uuid_text(run, id);
	if (!print_has(state) || json_is(state, "cancelling")) {
		buf_printf(&cli->out, "run %s will end as cancelled\n", id);
	} else {
		buf_printf(&cli->out, "run %s has ended: ", id);
		print_value_word(&cli->out, state, 0);
		buf_putc(&cli->out, '\n');
	}
	buf_printf(&cli->out, "look at it: %s show %s\n", program, id);
	mem_free(program);
}

static int
run_cancel(struct cli *cli)
{
	struct msg msg = { .id = MSG_cancel_run };
	struct client_answer answer;
	struct err err = { 0 };

	if (cli_run_id(cli, 0, &msg.cancel_run.run, &err) == -1)
		return cli_usage(cli, "cancel", &err);
	msg.cancel_run.request = client_request(cli->client);
	msg.cancel_run.reason = slice_string(cli->options.reason);
	if (cli_ask(cli, &msg, (struct slice){ 0 }, NULL, &answer, &err) == -1)
		return cli_fail(cli, &err);
	if (cli->options.json)
		print_json_line(&cli->out, answer.body);
	else
		print_answer(cli, &msg.cancel_run.run, answer.body);
	client_answer_release(&answer);
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_cancel = {
	.name = "cancel",
	.args = "ID",
	.least_args = 1,
	.most_args = 1,
	.options = OPT_reason | OPT_json,
	.summary = "End a run as cancelled",
	.text = "The request is stored before it is answered. A model turn in "
		"flight is cut, a running tool is stopped.",
	.example = "reeve cancel 0190a8b2-5d7c-7e11-8f3a-0242ac120002 --reason "
		   "\"not needed\"",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_cancel,
};
