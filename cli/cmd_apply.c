/*
 * reeve apply: stores agents. Files are read and checked here, all of them
 * before the first is sent; the supervisor gets definitions, never paths.
 */
#include "cli/command.h"
#include "proto/agent.h"

static int
on_agent(void *arg, const char *path, struct slice json,
    const struct agent *agent, struct err *err)
{
	struct json_writer *j = arg;

	(void)agent;
	json_raw(j, json);
	return buf_check(j->out, path, err);
}

static void
print_agents(struct cli *cli, struct json agents)
{
	static const char *const heads[] = { "AGENT", "VERSION", "" };
	struct json_iter it = json_iter(agents);
	struct json key, agent;
	struct table table;

	table_init(&table, heads, COUNT(heads));
	while (json_next(&it, &key, &agent)) {
		table_value(&table, json_get(agent, "name"), 0);
		table_value(&table, json_get(agent, "version"), 0);
		table_cell(&table,
		    json_true(json_get(agent, "changed")) ? SLICE("stored")
							  : SLICE("unchanged"),
		    0);
	}
	table_print(&table, cli->style, &cli->out);
	table_release(&table);
}

static int
read_agents(const char *path, struct buf *body, struct err *err)
{
	struct json_writer j = json_writer(body);

	json_open(&j, '[');
	if (agent_load_dir(path, on_agent, &j, err) == -1)
		return -1;
	json_close(&j);
	return buf_check(body, "the agents", err);
}

static int
run_apply(struct cli *cli)
{
	struct buf body = BUF_INIT(LIMIT_BODY);
	struct msg msg = { .id = MSG_apply };
	struct client_answer answer;
	struct err err = { 0 };
	struct json_iter it;
	struct json key, agent;
	int code;

	msg.apply.request = client_request(cli->client);
	if (read_agents(cli->args[0], &body, &err) == -1 ||
	    cli_ask(cli, &msg, buf_slice(&body), "agents", &answer, &err) ==
		-1) {
		code = cli_fail(cli, &err);
	} else {
		it = json_iter(json_get(answer.body, "agents"));
		if (!cli->options.json)
			print_agents(cli, json_get(answer.body, "agents"));
		while (cli->options.json && json_next(&it, &key, &agent))
			print_json_line(&cli->out, agent);
		client_answer_release(&answer);
		code = cli_flush(cli, CLI_COMPLETED);
	}
	buf_release(&body);
	return code;
}

const struct command cmd_apply = {
	.name = "apply",
	.args = "DIR|FILE",
	.least_args = 1,
	.most_args = 1,
	.options = OPT_json,
	.summary = "Store agents from YAML files",
	.text =
	    "DIR: every *.yaml and *.yml in it. All are checked before one is "
	    "stored. A changed agent gets a new version; runs that were "
	    "accepted keep theirs.",
	.example = "reeve apply deploy/examples/agents",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_apply,
};
