/*
 * A command of `reeve`: one struct per file cmd_*.c, one table of them all.
 * Help and docs/commands.md are printed from it.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/cli.h"

enum command_needs {
	COMMAND_NEEDS_NOTHING,
	COMMAND_NEEDS_FRONT,    /* cli->client is there */
	COMMAND_NEEDS_DATABASE, /* opens a connection of its own */
};

struct command {
	const char *name;
	const char *args; /* "AGENT INPUT", for help; NULL = none */
	size_t least_args, most_args;
	uint32_t options;    /* OPT_*; --socket and --help come by themselves */
	const char *session; /* what --session means here; NULL = as usual */
	const char *summary; /* one line */
	const char *text;    /* a paragraph more, or NULL */
	const char *example; /* command lines as they can be typed */
	enum command_needs needs;
	int (*run)(struct cli *cli); /* returns enum cli_exit */
};

extern const struct command cmd_run, cmd_submit, cmd_show, cmd_tail, cmd_list,
    cmd_cancel, cmd_apply, cmd_workers, cmd_stats, cmd_migrate, cmd_version,
    cmd_help;

/* NULL when there is none of that name. */
const struct command *command_find(const char *name);
/* The i-th command, NULL behind the last. */
const struct command *command_at(size_t i);
/* What options_allow needs. */
uint32_t command_options(const struct command *command);

/* The overview, one command, and all of it as docs/commands.md. */
void command_print_all(struct buf *out, struct style style);
void command_print(
    const struct command *command, struct buf *out, struct style style);
void command_print_markdown(struct buf *out);

#endif
