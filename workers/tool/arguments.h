/*
 * The arguments of one call.
 */
#ifndef TOOL_ARGUMENTS_H
#define TOOL_ARGUMENTS_H

#include "workers/tool/catalogue.h"

/* Do they fit the tool? Nothing or blanks become "{}". The error's text is fit
 * for the model. */
int arguments_check(
    const struct tool *tool, struct slice *text, struct err *err) CHECKED;

/* A descriptor of sealed memory that holds them, for the tool's stdin: it never
 * blocks, has an end, and cannot be written. -1 on error. */
int arguments_open(struct slice arguments, struct err *err) CHECKED;

#endif
