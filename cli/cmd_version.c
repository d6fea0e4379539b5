/*
 * reeve version: of the program and of the messages that it speaks.
 */
#include "cli/command.h"

static int
run_version(struct cli *cli)
{
	buf_printf(&cli->out,
	    cli->options.json ? "{\"version\":\"%s\",\"messages\":\"%u.%u\"}\n"
			      : "reeve %s, messages %u.%u\n",
	    REEVE_VERSION, MESSAGE_MAJOR, MESSAGE_MINOR);
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_version = {
	.name = "version",
	.options = OPT_json,
	.summary = "Print the versions of the program and of its messages",
	.example = "reeve version",
	.needs = COMMAND_NEEDS_NOTHING,
	.run = run_version,
};
