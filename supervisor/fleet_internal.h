/*
 * Sessions and tools, shared by the files of the fleet.
 */
#ifndef SUPERVISOR_FLEET_INTERNAL_H
#define SUPERVISOR_FLEET_INTERNAL_H

#include "base/json.h"
#include "base/list.h"
#include "base/map.h"
#include "supervisor/fleet.h"

#define FLEET_SESSIONS_MAX LIMIT_PEERS
#define FLEET_OFFERS_MAX   1024u /* tools or models of one worker */
#define FLEET_DEAD_MAX     256u  /* ended processes that are remembered */

/* A tool as some worker announced it; lives while a session offers it, and
 * after that as long as the catalogue remembers the name. */
struct tool {
	char *name;
	char *definition;    /* as offered to the model, JSON */
	struct slice schema; /* of the parameters, inside the definition */
	bool idempotent, needs_approval;
	unsigned offered; /* sessions */
};

struct session {
	struct list link;
	struct peer peer;
	char *kind, *name, *version, *host, *sandbox; /* owned */
	struct uuid process;
	uint64_t number, pid, slots, credit, flights;
	uint64_t hello_ms, heard_ms;
	bool inbox_read; /* since its hello */
	bool tools_worker;
	char **offers; /* owned names of tools or models */
	size_t offer_count;
	/* Attempts that the hello named: "run turn call attempt" -> session */
	struct map listed;
};

struct fleet {
	struct fleet_config config;
	struct link *link;
	struct list sessions;
	size_t session_count;
	struct map by_peer;    /* peer -> session */
	struct map by_process; /* process -> session */
	struct map tools;      /* name -> tool */
	uint64_t tools_epoch;
	struct uuid dead[FLEET_DEAD_MAX]; /* ring */
	size_t dead_next;
	bool closed;
	char host[LIMIT_NAME + 1];
	char why[LIMIT_TEXT]; /* of the last refused placement */
};

#define ATTEMPT_KEY 40
struct slice fleet_attempt_key(char key[ATTEMPT_KEY], const struct uuid *run,
    uint64_t turn, uint64_t call, uint64_t attempt);

/* ---- fleet_hello.c ---- */

/* A new session from a hello, not yet in the fleet; NULL with err. */
struct session *session_new(const struct peer *peer,
    const struct msg_hello *hello, struct slice body, struct err *err);
struct session *session_free(struct session *session);
/* Adds the tools of a hello to the catalogue. -1 with err when one is known
 * with another schema. */
int fleet_learn(struct fleet *fleet, struct session *session, struct slice body,
    struct err *err);
void fleet_forget(struct fleet *fleet, struct session *session);

#endif
