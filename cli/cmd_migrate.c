/*
 * reeve migrate: brings the database to the schema of this program. The only
 * command that opens a database connection.
 */
#include "cli/command.h"
#include "schema/migrate.h"

struct migrate {
	struct cli *cli; /* borrowed */
	size_t lines;
};

static void
on_line(void *arg, const char *line)
{
	struct migrate *migrate = arg;
	struct cli *cli = migrate->cli;
	struct json_writer j = json_writer(&cli->out);

	if (cli->options.json) {
		json_open(&j, '{');
		json_key(&j, "message");
		json_text(&j, line);
		json_close(&j);
	} else {
		print_word(&cli->out, slice_string(line), 0);
	}
	buf_putc(&cli->out, '\n');
	migrate->lines++;
	if (cli_flush(cli, 0) != 0)
		exit(CLI_FAILED);
}

static int
run_migrate(struct cli *cli)
{
	struct migrate migrate = { .cli = cli };
	const char *conninfo = cli->options.database;
	struct err err = { 0 };

	if (conninfo == NULL)
		conninfo = getenv("REEVE_DATABASE");
	if (conninfo == NULL || *conninfo == '\0') {
		err_set(&err, ERR_INPUT,
		    "which database? give --database CONNINFO or set "
		    "REEVE_DATABASE");
		return cli_usage(cli, "migrate", &err);
	}
	if (migrate_run(
		conninfo, cli->options.check, on_line, &migrate, &err) == -1)
		return cli_fail(cli, &err);
	if (migrate.lines == 0)
		on_line(
		    &migrate, "nothing to do: the schema is this program's");
	return CLI_COMPLETED;
}

const struct command cmd_migrate = {
	.name = "migrate",
	.options = OPT_database | OPT_check | OPT_json,
	.summary = "Bring the database to this program's schema",
	.text =
	    "Each migration runs in a transaction of its own, one process at a "
	    "time. Running it again changes nothing. The role must own the "
	    "schema.",
	.example =
	    "reeve migrate --database \"host=/run/postgresql dbname=reeve\"",
	.needs = COMMAND_NEEDS_DATABASE,
	.run = run_migrate,
};
