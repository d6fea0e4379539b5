/*
 * reeve show: everything about one run.
 */
#include "base/alloc.h"
#include "cli/command.h"
#include "cli/show.h"

static int
run_show(struct cli *cli)
{
	struct msg msg = { .id = MSG_get };
	struct client_answer answer;
	struct err err = { 0 };
	char *program;

	if (cli_run_id(cli, 0, &msg.get.run, &err) == -1)
		return cli_usage(cli, "show", &err);
	msg.get.request = client_request(cli->client);
	if (cli_ask(cli, &msg, (struct slice){ 0 }, "run", &answer, &err) == -1)
		return cli_fail(cli, &err);
	if (cli->options.json) {
		print_json_line(&cli->out, answer.body);
	} else {
		program = cli_program(cli);
		show_print(&cli->out, cli->style, answer.body, program);
		mem_free(program);
	}
	client_answer_release(&answer);
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_show = {
	.name = "show",
	.args = "ID",
	.least_args = 1,
	.most_args = 1,
	.options = OPT_json,
	.summary = "Show a run: its state, turns, calls and texts",
	.text =
	    "A run that has not ended says what it waits for. Long texts are "
	    "cut; --json has all of it. Ends with 0 when the run was found, "
	    "whatever its state.",
	.example = "reeve show 0190a8b2-5d7c-7e11-8f3a-0242ac120002",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_show,
};
