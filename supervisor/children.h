/*
 * Local workers. A small process, forked before anything else was started,
 * executes them, as their own users where reeved began as root, and tells of
 * their ends. The supervisor never forks. Workers outlive both.
 */
#ifndef SUPERVISOR_CHILDREN_H
#define SUPERVISOR_CHILDREN_H

#include <sys/types.h>

#include "base/loop.h"
#include "supervisor/config.h"

#define CHILDREN_WAIT_MS      2000u /* after a start: do the old ones come back? */
#define CHILDREN_PAUSE_MS     100u /* first pause before a restart; doubles */
#define CHILDREN_PAUSE_MAX_MS 10000u
#define CHILDREN_STEADY_MS    30000u /* alive this long: the pause starts anew */

struct children; /* defined in children.c */

/* Forks the small process. Call before threads, sockets and drop of rights. */
int children_fork(struct children **ret_children, const struct config *config,
    struct err *err) CHECKED;

struct children_hooks {
	/* Pid of the worker of this name that is connected, or 0. */
	uint64_t (*connected)(void *arg, const char *name);
	/* A process that was started here, or taken over, has ended. */
	void (*ended)(void *arg, uint64_t pid);
	/* The small process is gone: nothing can be started any more. */
	void (*lost)(void *arg);
	void *arg;
};
/* Begins to start workers. after_crash: those of a predecessor may be about to
 * connect by themselves and get CHILDREN_WAIT_MS for it. */
int children_begin(struct children *children, struct loop *loop,
    bool after_crash, const struct children_hooks *hooks,
    struct err *err) CHECKED;
/* Call a few times a second. */
void children_tick(struct children *children);
/* No restarts from now on; SIGTERM to each. */
void children_stop(struct children *children);
/* SIGKILL to those that are still there. Neither signals a process that runs
 * another program than the configuration names. */
void children_kill(struct children *children);
/* How many are known to run. */
size_t children_running(const struct children *children);
struct children *children_free(struct children *children);

#endif
