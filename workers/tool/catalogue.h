/*
 * The tools of this worker, from its YAML file. The file and what it names
 * belong to whoever runs the machine: commands come from here and never from a
 * message or a model.
 */
#ifndef TOOL_CATALOGUE_H
#define TOOL_CATALOGUE_H

#include "base/arena.h"
#include "base/json.h"
#include "workers/tool/sandbox.h"

#define CATALOGUE_TOOLS      256u
#define CATALOGUE_ARGV       64u          /* words of one command */
#define CATALOGUE_ENV        64u          /* variables of one tool */
#define CATALOGUE_COMMAND    (48u * 1024) /* bytes of argv and env together */
#define CATALOGUE_PARAMETERS (64u * 1024) /* bytes of one schema */

/* A word of a command. What lies in the tools folder is named from there, since
 * a box sees the folder elsewhere. */
struct tool_word {
	const char *text;
	bool in_folder;
};

struct tool {
	const char *name;
	const char *description;
	struct json parameters; /* a JSON Schema of type object */
	bool idempotent;
	bool needs_approval;
	struct box_limits limits;
	const struct tool_word *argv;
	size_t argc;
	const char *const *env; /* NAME=value */
	size_t envc;
};

struct catalogue {
	struct arena arena;
	const char *folder; /* of the file; absolute, without links */
	const struct tool *tools;
	size_t count;
};

/* Reads and checks the whole file: everything that a call could stumble over
 * later is refused here, with FILE:LINE. */
int catalogue_load(
    struct catalogue *ret_catalogue, const char *path, struct err *err) CHECKED;
void catalogue_release(struct catalogue *catalogue);
/* NULL: no tool of that name. */
const struct tool *catalogue_find(
    const struct catalogue *catalogue, struct slice name);
/* The array for the member "tools" of a hello; never commands. */
void catalogue_describe(
    const struct catalogue *catalogue, struct json_writer *w);

#endif
