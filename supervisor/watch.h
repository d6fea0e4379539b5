/*
 * Watchers of runs: committed events from rows, then live ones, then deltas of
 * the turn in flight. A watcher never misses a committed event: whoever could
 * not be served live is served from rows. Owns the list of watchers.
 */
#ifndef SUPERVISOR_WATCH_H
#define SUPERVISOR_WATCH_H

#include "supervisor/runs.h"

#define WATCHERS_MAX 10000u /* at once; more are refused as busy */

struct watch; /* defined in watch.c */

struct watch *watch_new(struct supervisor *sup);
struct watch *watch_free(struct watch *watch);

/* Begins. from_seq: what the client has. live: the run begins now and here, no
 * look into rows is needed. */
int watch_add(struct watch *watch, const struct peer *peer, uint64_t request,
    const struct uuid *run, uint64_t from_seq, bool deltas, bool live,
    struct err *err) CHECKED;
void watch_remove(
    struct watch *watch, const struct peer *peer, const struct uuid *run);

/* A step of a loaded run was committed and its rows are still there. */
void watch_step(struct watch *watch, const struct slot *slot);
/* The run left this supervisor's memory. */
void watch_lost(struct watch *watch, const struct uuid *run);
void watch_delta(struct watch *watch, const struct msg *msg, struct slice body);
bool watch_wants_deltas(const struct watch *watch, const struct uuid *run);
/* A turn that somebody watches may be in flight since before this process: ask
 * its worker for a snapshot and deltas. After a load; after a hello, for all.
 */
void watch_tell(struct watch *watch, const struct uuid *run);
void watch_tell_all(struct watch *watch);
/* Serves from rows whoever needs it. */
void watch_tick(struct watch *watch);

#endif
