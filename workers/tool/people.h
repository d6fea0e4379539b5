/*
 * One box for people, to see what a tool sees: reeve-tool --box.
 */
#ifndef TOOL_PEOPLE_H
#define TOOL_PEOPLE_H

#include "workers/tool/catalogue.h"

/* Runs argv (ends with NULL) in a box on our own standard input, with the
 * environment and limits of `tool`, or the default ones (NULL; then without an
 * end of time), and prints the outcome to stdout as one JSON object: outcome,
 * code, stdout, stderr, text (what a model would be told), wall_ms, cpu_ms,
 * sandbox (the level). Returns the exit code for the shell: the command's own,
 * 128 + signal, 127 not found, 124 out of time; -1 with err. */
int people_run_box(struct sandbox *sandbox, const struct tool *tool,
    char *const *argv, struct err *err) CHECKED;

#endif
