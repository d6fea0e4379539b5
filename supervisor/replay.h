/*
 * Committed steps of a run, rebuilt from rows, as events.
 */
#ifndef SUPERVISOR_REPLAY_H
#define SUPERVISOR_REPLAY_H

#include "supervisor/events.h"
#include "supervisor/supervisor.h"

/* Reads the run and emits the events of all steps after from_step (that one
 * included when it is 0), then calls done with the last step that was seen.
 * found false: there is no such run. err: try again later. */
void replay_run(struct supervisor *sup, const struct uuid *run,
    uint64_t from_step, events_emit *emit,
    void (*done)(void *arg, bool found, uint64_t step, const struct err *err),
    void *arg);

#endif
