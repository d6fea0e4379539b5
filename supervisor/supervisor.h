/*
 * The supervisor: what its parts share. One thread, one loop. Each part owns
 * what its header says; this struct only holds them together.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include "schema/store.h"
#include "supervisor/agents.h"
#include "supervisor/children.h"
#include "supervisor/config.h"
#include "supervisor/fleet.h"

struct front;
struct runs;
struct schedule;
struct watch;

struct supervisor {
	struct loop loop;
	const struct config *config; /* borrowed from main */
	struct uuid id;              /* this process start */
	char name[400]; /* host:run_dir, the same after a restart */
	char host[256];
	void *zmq;

	struct store *store;
	struct fleet *fleet;
	struct runs *runs;
	struct schedule *schedule;
	struct watch *watch;
	struct front *front;
	struct children *children;
	struct agents agents;

	uv_timer_t tick;
	struct loop_pass pass;
	uint64_t started_ms, ticked_ms;
	uint64_t stop_at_ms; /* 0 while not stopping */
	bool bye_sent;
	int exit_code;
	bool start_anew; /* deposed: execute myself again */
};

/* children: taken, also on failure; its process was started before anything
 * else. after_crash: the predecessor did not stop in order. */
int supervisor_init(struct supervisor *sup, const struct config *config,
    struct children *children, bool after_crash, struct err *err) CHECKED;
void supervisor_run(struct supervisor *sup);
/* Begins an orderly stop. */
void supervisor_stop(struct supervisor *sup);
void supervisor_release(struct supervisor *sup);

#endif
