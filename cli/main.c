/*
 * reeve: the command line for people and scripts. Reads the options, finds the
 * command in the table, connects when it needs the supervisor, runs it, and
 * ends with its code. Keeps no state and no file of its own.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"

/* The front's client, for a command that needs one. */
static int
connect_front(struct cli *cli, char **ret_path, struct err *err)
{
	char *path;

	if (client_find(cli->options.socket, &path, &cli->source, err) == -1)
		return -1;
	*ret_path = path;
	cli->path = path;
	return client_new(
	    &cli->client, &(const struct client_config){ .path = path }, err);
}

static int
run_command(struct cli *cli, const struct command *command)
{
	struct err err = { 0 };
	char *path = NULL;
	int code;

	if (command->needs == COMMAND_NEEDS_FRONT &&
	    connect_front(cli, &path, &err) == -1)
		code = cli_fail(cli, &err);
	else
		code = command->run(cli);
	cli->client = client_free(cli->client);
	mem_free(path);
	return code;
}

static int
show_help(struct cli *cli, const struct command *command)
{
	if (command == NULL)
		command_print_all(&cli->out, cli->style);
	else
		command_print(command, &cli->out, cli->style);
	return cli_flush(cli, CLI_COMPLETED);
}

/* Does the command take these words? */
static int
check_words(
    const struct cli *cli, const struct command *command, struct err *err)
{
	if (cli->arg_count < command->least_args)
		return err_set(err, ERR_INPUT, "%s needs %s", command->name,
		    command->args);
	if (cli->arg_count > command->most_args)
		return err_set(err, ERR_INPUT,
		    "%s does not take '%s'; put a text in quotes",
		    command->name, cli->args[command->most_args]);
	return options_allow(
	    &cli->options, command->name, command_options(command), err);
}

/* The command that a line was meant for, before its options are understood. */
static const char *
command_meant(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (command_find(argv[i]) != NULL)
			return argv[i];
	}
	return NULL;
}

/* `reeve --version`, as other programs have it. */
static int
show_version(struct cli *cli)
{
	struct err err = { 0 };

	if (options_allow(&cli->options, "--version",
		command_options(&cmd_version) | OPT_version, &err) == -1)
		return cli_usage(cli, cmd_version.name, &err);
	return run_command(cli, &cmd_version);
}

static int
dispatch(struct cli *cli)
{
	const struct options *options = &cli->options;
	const struct command *command;
	struct err err = { 0 };

	if (options->word_count == 0 && options->help)
		return show_help(cli, NULL);
	if (options->word_count == 0 && options->version)
		return show_version(cli);
	if (options->word_count == 0) {
		command_print_all(&cli->out, style_of(stderr));
		return print_flush(&cli->out, stderr, &err) == 0 ? CLI_USAGE
								 : CLI_FAILED;
	}
	command = command_find(options->words[0]);
	if (command == NULL) {
		err_set(&err, ERR_INPUT, "there is no command '%s'",
		    options->words[0]);
		return cli_usage(cli, NULL, &err);
	}
	if (options->help)
		return show_help(cli, command);
	cli->args = options->words + 1;
	cli->arg_count = options->word_count - 1;
	if (check_words(cli, command, &err) == -1)
		return cli_usage(cli, command->name, &err);
	return run_command(cli, command);
}

int
main(int argc, char **argv)
{
	struct cli cli = {
		.program = argc > 0 ? argv[0] : "reeve",
		.out = BUF_INIT(PRINT_MAX),
		.style = style_of(stdout),
	};
	struct err err = { 0 };
	int code;

	log_setup("reeve", LOG_ERROR, false);
	if (options_parse(&cli.options, argc, argv, &err) == -1)
		code = cli_usage(&cli, command_meant(argc, argv), &err);
	else
		code = dispatch(&cli);
	buf_release(&cli.out);
	return code;
}
