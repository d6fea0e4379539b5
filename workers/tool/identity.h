/*
 * Who tools run as. Root must not: a worker that is started as root becomes an
 * unprivileged user before it takes any work.
 */
#ifndef TOOL_IDENTITY_H
#define TOOL_IDENTITY_H

#include <sys/types.h>

#include "base/err.h"

#define IDENTITY_NAME      64u
#define IDENTITY_DEFAULT   "reeve-box" /* where that user exists, */
#define IDENTITY_FALL_BACK "nobody"    /* else this one */

struct identity {
	bool switches; /* from root */
	char name[IDENTITY_NAME];
	uid_t uid;
	gid_t gid;
};

/* As root: the user `name`, or the default if NULL. As another user only that
 * user itself may be named. ERR_MISSING, ERR_INPUT. */
int identity_find(
    struct identity *ret_identity, const char *name, struct err *err) CHECKED;
/* For good, with the groups of that user; nothing to do where nothing
 * switches. */
int identity_become(const struct identity *identity, struct err *err) CHECKED;

#endif
