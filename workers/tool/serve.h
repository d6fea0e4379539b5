/*
 * Tool calls for a supervisor: joins the catalogue, the running calls and the
 * skeleton of a worker.
 */
#ifndef TOOL_SERVE_H
#define TOOL_SERVE_H

#include "workers/tool/call.h"

struct serve_config {
	const char *endpoint;
	const char *name;
	uint32_t slots;
	uint32_t orphan_ms;
	const struct catalogue *catalogue;
	struct sandbox *sandbox;
};

/* Works until SIGTERM or SIGINT, a drain, or the loss of the supervisor for
 * orphan_ms; what runs is finished, a second signal ends it at once. -1 when it
 * could not start, or the spawner died. All of config is borrowed. */
int serve(const struct serve_config *config, struct err *err) CHECKED;

#endif
