/*
 * What a worker says it holds when it comes: attempts that nobody waits for any
 * more are cancelled, so that they end before their own limits do.
 */
#ifndef SUPERVISOR_HELD_H
#define SUPERVISOR_HELD_H

#include "supervisor/supervisor.h"

/* Asks the database about the attempts of a hello (keys as in
 * fleet_attempt_key) and cancels the stale ones at that process. */
void held_check(struct supervisor *sup, const struct uuid *process,
    const struct map *listed);

#endif
