/*
 * reeve tail: the events of a run, those stored and those to come.
 */
#include "cli/command.h"
#include "cli/watch.h"

static int
run_tail(struct cli *cli)
{
	struct err err = { 0 };
	struct uuid id;

	if (cli_run_id(cli, 0, &id, &err) == -1)
		return cli_usage(cli, "tail", &err);
	return watch_run(cli, &id, (uint64_t)cli->options.from);
}

const struct command cmd_tail = {
	.name = "tail",
	.args = "ID",
	.least_args = 1,
	.most_args = 1,
	.options = OPT_from | OPT_output | OPT_json,
	.summary = "Follow a run: what happened, then what happens",
	.text =
	    "Works while the run runs and long after its end. --from takes the "
	    "seq of an event (it stands in --json output) and begins behind "
	    "it.",
	.example = "reeve tail 0190a8b2-5d7c-7e11-8f3a-0242ac120002",
	.needs = COMMAND_NEEDS_FRONT,
	.run = run_tail,
};
