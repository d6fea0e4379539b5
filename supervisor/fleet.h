/*
 * The fleet: worker sessions on the work socket, what each offers, credit, and
 * the way of starts, results and acks. Owns the sessions and the catalogue of
 * tools. Knows attempts, never runs.
 */
#ifndef SUPERVISOR_FLEET_H
#define SUPERVISOR_FLEET_H

#include "proto/link.h"
#include "supervisor/agents.h"
#include "supervisor/loop/run.h"

struct fleet; /* defined in fleet.c */

/* What came back for an attempt. Borrowed for the call; the body can be kept
 * with link_body_take. */
struct fleet_result {
	const struct peer *peer; /* to ack */
	struct uuid run;
	uint64_t turn, call, attempt;
	const struct msg *msg; /* turn_done turn_failed tool_done refused */
	struct slice body;
	struct link_body *owner;
};

struct fleet_config {
	struct loop *loop; /* borrowed, as all below */
	void *zmq;
	const char *endpoint;
	struct uuid supervisor;
	void (*on_result)(void *arg, const struct fleet_result *result);
	/* turn_delta or turn_snapshot */
	void (*on_delta)(void *arg, const struct msg *msg, struct slice body);
	/* More may be placed than before. */
	void (*on_credit)(void *arg);
	/* A worker came and named what it holds. */
	void (*on_listed)(
	    void *arg, const struct uuid *process, const struct map *listed);
	/* A session began or ended: attempts must be judged anew. */
	void (*on_session)(void *arg);
	void *arg;
};

/* An attempt as the key of a map of attempts. */
struct fleet_attempt {
	struct uuid run;
	uint64_t turn, call, attempt;
};
struct fleet_attempt fleet_attempt_of(struct slice key);

int fleet_new(struct fleet **ret_fleet, const struct fleet_config *config,
    struct err *err) CHECKED;
struct fleet *fleet_free(struct fleet *fleet);

/* As effects->place: reserves one credit at the least loaded fitting worker. */
bool fleet_place(void *fleet, const struct need *need, struct placement *ret_at,
    struct slice *why);
/* Could it be placed now? Reserves nothing. */
bool fleet_has_room(const struct fleet *fleet, const struct need *need);
/* Does any worker offer what the run's next start needs, busy or not? */
bool fleet_offers_next(const struct fleet *fleet, const struct run *run);
/* Could something of what the run has queued be placed now? */
bool fleet_has_room_next(const struct fleet *fleet, const struct run *run);
/* A reservation that leads to no start. */
void fleet_give_back(struct fleet *fleet, const struct placement *at);
/* No new placements from now on: the supervisor stops. */
void fleet_close(struct fleet *fleet);

/* Sends a start to the session that the placement names. -1: that session is
 * over; the attempt never started. Takes the body's memory. */
int fleet_start(struct fleet *fleet, const struct placement *at,
    struct msg *msg, struct buf *body) CHECKED;
void fleet_cancel(struct fleet *fleet, const struct uuid *process,
    const struct uuid *run, uint64_t turn, uint64_t call, uint64_t attempt);
void fleet_watch_turn(struct fleet *fleet, const struct uuid *process,
    const struct uuid *run, uint64_t turn, uint64_t attempt, bool on);
void fleet_ack(struct fleet *fleet, const struct peer *peer,
    const struct uuid *run, uint64_t turn, uint64_t call, uint64_t attempt);

enum fleet_fate {
	FLEET_THERE,  /* its worker has it, or may still get it */
	FLEET_NEVER,  /* its worker said hello later and did not name it */
	FLEET_ABSENT, /* no session of that process: see since when */
	FLEET_DEAD,   /* the process is known to have ended */
};
/* What is known about an attempt that a row says was dispatched. */
enum fleet_fate fleet_fate(const struct fleet *fleet, const struct uuid *run,
    const struct flight *flight);
/* The inbox was read by a query sent at since_ms: hellos before it may be
 * believed about what they did not name. */
void fleet_inbox_read(struct fleet *fleet, uint64_t since_ms);
/* A local worker's process has ended. */
void fleet_pid_ended(struct fleet *fleet, uint64_t pid);
bool fleet_has_pid(const struct fleet *fleet, uint64_t pid);
/* Pid of the newest session of a worker by name on this host, or 0. */
uint64_t fleet_pid_of(const struct fleet *fleet, const char *name);
/* This process stood still: silence since then says nothing about workers. */
void fleet_pardon(struct fleet *fleet);
/* Lapsed sessions end. Call a few times a second. */
void fleet_tick(struct fleet *fleet);

/* The tools of an agent as the JSON array of a request, made anew when the
 * catalogue changed; false with the missing name when a tool is not known. */
bool fleet_agent_tools(
    struct fleet *fleet, struct agent_entry *agent, struct slice *ret_missing);
/* What this fleet can do, for claims: "model:NAME", "tool:NAME". Strings are
 * written into the arena. */
size_t fleet_offers(
    const struct fleet *fleet, struct arena *arena, struct slice **ret_offers);
/* drain to every worker of this host (the supervisor stops), bye to others. */
void fleet_say_bye(struct fleet *fleet, const char *reason, bool drain_local);
/* Attempts in flight at workers of this host. */
size_t fleet_local_flights(const struct fleet *fleet);
/* {"workers":[…]} */
void fleet_describe(const struct fleet *fleet, struct buf *out);

#endif
