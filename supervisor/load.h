/*
 * Claims runs and brings them into memory, in one transaction.
 */
#ifndef SUPERVISOR_LOAD_H
#define SUPERVISOR_LOAD_H

#include "supervisor/runs.h"

/* Claims what is still free of these runs, loads them, gives each what lies in
 * its inbox and then its start. Their agents are known. Calls done at the end;
 * refused: the database answered with an error, nothing was claimed, and fewer
 * runs at once may do better. */
void load_claim(struct supervisor *sup, const struct uuid *ids, size_t count,
    void (*done)(void *arg, bool refused), void *arg);
/* Gives the rows of inbox_mine to the runs that are loaded. */
void load_inbox(struct runs *runs, const PGresult *rows);

#endif
