/*
 * Follows a run on behalf of `run` and `tail`: as text for people, as JSON
 * lines, or only the answer, by the options of the command.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/cli.h"

/* Prints as events come; says on stderr how to go on when it stops before the
 * run does. Returns enum cli_exit. */
int watch_run(struct cli *cli, const struct uuid *run, uint64_t from_seq);

#endif
