/*
 * reeve stats: counters and limits of the supervisor.
 */
#include "cli/command.h"

#define VALUE_WIDTH 200u

static void
print_stats(struct cli *cli, struct json stats)
{
	static const char *const heads[] = { "NAME", "VALUE" };
	struct json_iter it = json_iter(stats);
	struct json key, value;
	struct table table;

	table_init(&table, heads, COUNT(heads));
	while (json_next(&it, &key, &value)) {
		table_value(&table, key, VALUE_WIDTH);
		table_value(&table, value, VALUE_WIDTH);
	}
	table_print(&table, cli->style, &cli->out);
	table_release(&table);
}

static int
run_stats(struct cli *cli)
{
	struct msg msg = { .id = MSG_stats };
	struct client_answer answer;
	struct err err = { 0 };

	msg.stats.request = client_request(cli->client);
	if (cli_ask(cli, &msg, (struct slice){ 0 }, NULL, &answer, &err) == -1)
		return cli_fail(cli, &err);
	if (cli->options.json)
		print_json_line(&cli->out, answer.body);
	else
		print_stats(cli, answer.body);
	client_answer_release(&answer);
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_stats = {
	.name = "stats",
	.options = OPT_json,
	.summary = "Show counters and limits of the supervisor",
	.example = "reeve stats --json",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_stats,
};
