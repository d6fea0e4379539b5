/*
 * What the files of the front share: requests that wait for the database, and
 * the handlers in their table.
 */
#ifndef SUPERVISOR_FRONT_INTERNAL_H
#define SUPERVISOR_FRONT_INTERNAL_H

#include "supervisor/front.h"

struct front {
	struct supervisor *sup;
	struct link *link; /* owned */
	size_t asks;       /* requests that wait for the database */
};

/* One request that waits for the database. */
struct ask {
	struct front *front;
	struct receipt receipt;
	struct uuid run;
	struct msg msg;         /* submit, kept for later */
	struct buf frame;       /* owned; msg points into it */
	struct link_body *body; /* owned */
	char *name;             /* owned; agent */
	struct buf reply;       /* owned; apply */
	bool existing;          /* submit: the run was there before */
	bool failed;
};

struct ask *ask_new(
    struct front *front, const struct peer *peer, uint64_t request);
struct ask *ask_free(struct ask *ask);

void front_reply(
    struct front *front, const struct receipt *to, struct slice body);
/* Says busy and returns true while nothing can be stored. */
bool front_refuses(struct front *front, const struct receipt *to);

typedef void front_handler(struct front *front, const struct peer *peer,
    const struct msg *msg, struct slice body, struct link_body *owner);

front_handler front_on_submit, front_on_cancel_run; /* front_submit.c */
front_handler front_on_get, front_on_list, front_on_watch, front_on_unwatch,
    front_on_apply, front_on_workers, front_on_stats; /* front_read.c */

#endif
