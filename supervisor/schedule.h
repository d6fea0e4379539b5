/*
 * Which runs work here: a query every SCHEDULE_MS (and whenever there is
 * reason) finds queued runs that may start, runs without an owner, and inbox
 * rows; what fits the limits is claimed and loaded. Owns no run.
 */
#ifndef SUPERVISOR_SCHEDULE_H
#define SUPERVISOR_SCHEDULE_H

#include "supervisor/supervisor.h"

#define SCHEDULE_MS 250u
#define SCHEDULE_CLAIM                                                         \
	64u /* runs of a kind looked for at once; what has begun may pass the  \
	       limit of active runs by so many */

struct schedule; /* defined in schedule.c */

struct schedule *schedule_new(struct supervisor *sup);
struct schedule *schedule_free(struct schedule *schedule);
/* Look again soon: something came or became free. */
void schedule_poke(struct schedule *schedule);
/* A run of this agent ended here: others may have waited for its place. */
void schedule_freed(struct schedule *schedule, const struct run *run);
/* The periodic look. */
void schedule_tick(struct schedule *schedule);
/* Look also for runs that carry my name without being loaded: a claim whose
 * answer was lost, a memory that was dropped. */
void schedule_find_mine(struct schedule *schedule);
void schedule_stop(struct schedule *schedule);

/* May a run of this agent be started at once, passing nobody by? */
bool schedule_may_start(
    const struct schedule *schedule, const struct agent_entry *agent);
/* Why a queued run of this agent is not started, for people; empty when it is
 * only a matter of moments. */
void schedule_why(
    const struct schedule *schedule, struct slice agent, struct buf *out);

#endif
