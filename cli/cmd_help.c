/*
 * reeve help: all commands, or one with its options and an example.
 */
#include "cli/command.h"

static int
run_help(struct cli *cli)
{
	const struct command *command;
	struct err err = { 0 };

	if (cli->options.markdown) {
		command_print_markdown(&cli->out);
	} else if (cli->arg_count == 0) {
		command_print_all(&cli->out, cli->style);
	} else {
		command = command_find(cli->args[0]);
		if (command == NULL) {
			err_set(&err, ERR_INPUT, "there is no command '%s'",
			    cli->args[0]);
			return cli_usage(cli, NULL, &err);
		}
		command_print(command, &cli->out, cli->style);
	}
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.most_args = 1,
	.options = OPT_markdown,
	.summary = "Explain the commands, or one of them",
	.example = "reeve help run",
	.needs = COMMAND_NEEDS_NOTHING,
	.run = run_help,
};
