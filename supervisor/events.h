/*
 * What happened in a committed step, as events for watchers. The same function
 * serves live steps and steps rebuilt from rows, so that both say the same.
 * Pure.
 */
#ifndef SUPERVISOR_EVENTS_H
#define SUPERVISOR_EVENTS_H

#include "proto/step.h"

#define EVENT_SEQ(step, n) (((uint64_t)(step) << 20) + (n))
#define EVENT_BODY_MAX     LIMIT_BODY

/* at_ms: when the step was committed, ms since 1970. */
typedef void events_emit(void *arg, uint64_t seq, const char *type, bool final,
    uint64_t at_ms, struct slice body);

/* Calls emit for each event of the step, in order. step_no: of the row after
 * it. The first event of a run (accepted) has seq 1. Within a step: the turn's
 * end, items with calls, outputs, the next turn's start, starts of tools, the
 * end of the run. */
void events_of_step(
    const struct step *step, uint64_t step_no, events_emit *emit, void *arg);

#endif
