/*
 * reeve workers: the fleet as the supervisor sees it.
 */
#include "cli/command.h"

#define NAME_WIDTH  32u
#define OFFER_WIDTH 200u

static void
put_names(struct buf *out, struct json names)
{
	struct json_iter it = json_iter(names);
	struct json key, name;

	while (json_next(&it, &key, &name)) {
		if (out->len > 0)
			buf_puts(out, ", ");
		print_value_word(out, name, 0);
	}
}

static void
add_row(struct table *table, struct json worker)
{
	struct buf offers = BUF_INIT(PRINT_MAX), since = BUF_INIT(LIMIT_TEXT);

	put_names(&offers, json_get(worker, "models"));
	put_names(&offers, json_get(worker, "tools"));
	print_ms(&since, print_u64(json_get(worker, "connected_ms")));
	table_value(table, json_get(worker, "name"), NAME_WIDTH);
	table_value(table, json_get(worker, "kind"), 0);
	table_value(table, json_get(worker, "host"), NAME_WIDTH);
	table_value(table, json_get(worker, "pid"), 0);
	table_value(table, json_get(worker, "slots"), 0);
	table_value(table, json_get(worker, "in_flight"), 0);
	table_cell(table, buf_slice(&since), 0);
	table_cell(table, buf_slice(&offers), OFFER_WIDTH);
	buf_release(&offers);
	buf_release(&since);
}

static void
print_workers(struct cli *cli, struct json workers)
{
	static const char *const heads[] = { "NAME", "KIND", "HOST", "PID",
		"SLOTS", "BUSY", "SINCE", "MODELS, TOOLS" };
	struct json_iter it = json_iter(workers);
	struct json key, worker;
	struct table table;

	if (json_count(workers) == 0) {
		buf_puts(&cli->out,
		    "no worker is connected; start reeve-model and "
		    "reeve-tool, or let reeved start them\n");
		return;
	}
	table_init(&table, heads, COUNT(heads));
	while (json_next(&it, &key, &worker))
		add_row(&table, worker);
	table_print(&table, cli->style, &cli->out);
	table_release(&table);
}

static int
run_workers(struct cli *cli)
{
	struct msg msg = { .id = MSG_workers };
	struct client_answer answer;
	struct err err = { 0 };
	struct json_iter it;
	struct json key, worker;

	msg.workers.request = client_request(cli->client);
	if (cli_ask(cli, &msg, (struct slice){ 0 }, "workers", &answer, &err) ==
	    -1)
		return cli_fail(cli, &err);
	it = json_iter(json_get(answer.body, "workers"));
	if (!cli->options.json)
		print_workers(cli, json_get(answer.body, "workers"));
	while (cli->options.json && json_next(&it, &key, &worker))
		print_json_line(&cli->out, worker);
	client_answer_release(&answer);
	return cli_flush(cli, CLI_COMPLETED);
}

const struct command cmd_workers = {
	.name = "workers",
	.options = OPT_json,
	.summary = "List the connected workers",
	.text =
	    "SLOTS is how many turns or calls a worker can hold at once, BUSY "
	    "how many it holds.",
	.example = "reeve workers",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_workers,
};
