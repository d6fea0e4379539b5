/*
 * What the files of the runs share: the queue of inputs of a slot.
 */
#ifndef SUPERVISOR_RUNS_INTERNAL_H
#define SUPERVISOR_RUNS_INTERNAL_H

#include "supervisor/runs.h"

/* ---- runs_queue.c ---- */

/* A new input at the end of the queue. */
struct queued *runs_queue(struct slot *slot, enum input_kind kind);
/* Puts the slot among the ready if inputs wait and no step is open. */
void runs_make_ready(struct slot *slot);
struct queued *queued_free(struct queued *queued);
struct queued *queued_first(struct list *list); /* NULL when it is empty */
void queued_free_all(struct list *list);

#endif
