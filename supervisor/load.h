/*
 * Claims runs and brings them into memory, in one transaction.
 */
#ifndef SUPERVISOR_LOAD_H
#define SUPERVISOR_LOAD_H

#include "supervisor/supervisor.h"

/* Claims what is still free of these runs, loads them, gives each its start,
 * then calls done (also after an error). Their agents are known. */
void load_claim(struct supervisor *sup, const struct uuid *ids, size_t count,
    void (*done)(void *arg), void *arg);

#endif
