/*
 * An agent: what a run works with. Its definition is a JSON object, the same in
 * a YAML file, in an `apply` message and in the database; agent_schema is the
 * one description of it. struct agent is the definition read, with every
 * default filled in. Tools and models are names only: what they are belongs to
 * the workers' machines.
 */
#ifndef PROTO_AGENT_H
#define PROTO_AGENT_H

#include "base/json.h"

#define AGENT_DEFINITION_MAX (1u << 20) /* bytes of the JSON text */
#define AGENT_FILES_MAX      10000u     /* files of one agent_load_dir */
#define AGENT_MAX_TURNS      10u        /* defaults */
#define AGENT_DEADLINE_S     86400u

/* The JSON Schema of a definition: its keys, ranges and their descriptions. */
extern const char agent_schema[];

/* The model calls a tool that the agent does not have. */
enum agent_unknown_tool {
	AGENT_UNKNOWN_TOOL_FAIL, /* the run fails */
	AGENT_UNKNOWN_TOOL_TELL, /* the model is told and goes on */
};

/* A model turn ended early after output had been received. */
enum agent_on_cut {
	AGENT_ON_CUT_FAIL,
	AGENT_ON_CUT_RETRY, /* another attempt, its output is paid again */
};

/* Nobody knows whether a tool call that is not idempotent was carried out. */
enum agent_on_unknown_outcome {
	AGENT_ON_UNKNOWN_OUTCOME_TELL, /* the model is told and goes on */
	AGENT_ON_UNKNOWN_OUTCOME_FAIL,
};

struct agent {
	char *name;         /* owned, as all below; [A-Za-z0-9_.-]{1,64} */
	char *description;  /* "" when there is none */
	char *instructions; /* "" when there are none */
	char *model;
	char *settings; /* JSON object as written; "{}" when there is none */
	char **tools;   /* tool_count names, each once */
	size_t tool_count;
	uint32_t max_turns;
	uint32_t
	    max_active; /* runs of this agent active at once; 0 = no limit */
	uint64_t deadline_ms; /* active time of a run */
	enum agent_unknown_tool unknown_tool;
	enum agent_on_cut on_cut;
	enum agent_on_unknown_outcome on_unknown_outcome;
};

/* Reads a definition; copies what it needs. Errors: ERR_INPUT "/path: what is
 * wrong; what is allowed", also for U+0000 and half surrogate pairs, which a
 * database would refuse, and for a name that stands twice in one object;
 * ERR_LIMIT past AGENT_DEFINITION_MAX. */
int agent_parse(
    struct agent *ret_agent, struct slice text, struct err *err) CHECKED;
/* The same for a value of a checked text, without the check of characters and
 * double names. ret_where gets what offends, on ERR_INPUT. */
int agent_from_json(struct agent *ret_agent, struct json json,
    struct json *ret_where, struct err *err) CHECKED;
void agent_release(struct agent *agent);

/* The settings as a JSON object, which borrows from the agent. */
struct json agent_settings(const struct agent *agent);
bool agent_has_tool(const struct agent *agent, struct slice name);

/* One agent of a file: its path, the definition as JSON (key order as in the
 * file) and the same read; all borrowed for the call. -1 with err ends the
 * load. */
typedef int agent_handler(void *arg, const char *path, struct slice json,
    const struct agent *agent, struct err *err);

/* Reads agents from YAML: `path` is one file, or a folder whose *.yaml and
 * *.yml (not hidden, not deeper) are read in name order. Every file holds one
 * agent. All files are read before the handler is called for the first one, so
 * that an error in the last changes nothing. Errors: "FILE:LINE: /path: what
 * is wrong; what is allowed"; ERR_CONFLICT: two files with one agent name;
 * ERR_MISSING: no such file, or no agent in the folder. */
int agent_load_dir(const char *path, agent_handler *handler, void *arg,
    struct err *err) CHECKED;

#endif
