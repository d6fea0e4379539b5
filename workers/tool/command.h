/*
 * Command line and environment of one call.
 */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include "workers/tool/call.h"

struct command {
	struct arena arena; /* of the strings that are made for the call */
	const char **argv;  /* both end with NULL; borrow from the tool too */
	const char **env;
};

void command_build(struct command *ret_command, const struct sandbox *sandbox,
    const struct call_request *request);
void command_release(struct command *command);

#endif
