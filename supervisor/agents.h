/*
 * Agents by name and version, read from the database when first needed and
 * kept: a version never changes. Owns them until the end of the process.
 */
#ifndef SUPERVISOR_AGENTS_H
#define SUPERVISOR_AGENTS_H

#include "base/map.h"
#include "proto/agent.h"

struct agent_entry {
	struct agent agent;
	uint32_t version;
	struct buf tools;     /* JSON array for requests; made by the fleet */
	uint64_t tools_epoch; /* of the fleet's catalogue, 0 = never made */
};

/* Runs of one agent name, whatever their version. */
struct agent_name {
	uint32_t active;
	uint32_t newest;   /* version; 0 = not known */
	uint64_t known_ms; /* when the newest version was asked for */
	uint32_t limit;    /* of the newest definition; 0 = none */
	bool backlog;      /* runs of it are queued that its limit keeps back */
	char *name;
};

struct agents {
	struct map by_version; /* "name\0version" -> agent_entry */
	struct map by_name;    /* name -> agent_name */
};

#define AGENTS_FRESH_MS 2000u /* how long the newest version is believed */

/* NULL when it is not known (yet). version 0: the newest, if still fresh. */
struct agent_entry *agents_find(const struct agents *agents, struct slice name,
    uint32_t version, uint64_t now_ms);
/* Adds what the database holds. NULL with err when the definition is bad. */
struct agent_entry *agents_add(struct agents *agents, struct slice name,
    uint32_t version, struct slice definition, bool newest, uint64_t now_ms,
    struct err *err);
struct agent_name *agents_name(struct agents *agents, struct slice name);
void agents_release(struct agents *agents);

#endif
