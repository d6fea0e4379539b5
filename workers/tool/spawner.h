/*
 * The spawner: a process of its own that makes boxes, and what it and the
 * worker say to each other over a socket pair of whole messages. Both ends are
 * the same program, so structs travel as they are.
 */
#ifndef TOOL_SPAWNER_H
#define TOOL_SPAWNER_H

#include "workers/tool/sandbox.h"

/* First message of the spawner: is the place where boxes are made ready? */
struct spawner_hello {
	bool ready;
	char text[sizeof(((struct err *)NULL)->text)]; /* what is missing */
};

/* Asks for a box. The strings follow, argv first, each with its NUL; with it
 * come SPAWNER_FDS descriptors: stdin, stdout, stderr, report. */
struct spawner_request {
	uint64_t id;
	uint32_t argc, envc;
	struct box_limits limits;
};

#define SPAWNER_FDS         4
#define SPAWNER_STRINGS     512u /* of argv and env together */
#define SPAWNER_MESSAGE_MAX (sizeof(struct spawner_request) + BOX_SPEC_MAX)

/* The answer; with error 0 comes the pidfd of the box. */
struct spawner_answer {
	uint64_t id;
	int error;
};

/* Makes boxes of one level. Never returns; ends, with all boxes, when the
 * worker's end of the socket is closed. */
NORETURN void spawner_main(
    int sock, const struct sandbox_config *config, enum sandbox_level level);

#endif
