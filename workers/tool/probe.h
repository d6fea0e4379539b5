/*
 * Does the sandbox hold?
 */
#ifndef TOOL_PROBE_H
#define TOOL_PROBE_H

#include "workers/tool/sandbox.h"

/* Runs the check in a box. The error names the wall or the step that is
 * missing. */
int probe_sandbox(struct sandbox *sandbox, struct err *err) CHECKED;

#endif
