/*
 * The file system that tools see: a small read-only tree that the spawner
 * builds once, from which each box takes a copy and adds what is its own.
 */
#ifndef TOOL_ROOT_H
#define TOOL_ROOT_H

#include <sys/types.h>

#include "base/err.h"

/* Who a tool is inside; outside it is the user of the spawner. */
#define ROOT_UID 1000
#define ROOT_GID 1000

/* Moves the caller into user and mount namespaces of its own, whose root holds
 * /usr, a few files of /etc, a minimal /dev, the host's /proc (so that boxes
 * may mount their own) and empty folders; with_tools: the current directory
 * is /tools. Everything else is out of reach afterwards. */
int root_enter(bool with_tools, struct err *err) CHECKED;

/* Maps ROOT_UID to uid and ROOT_GID to gid in the caller's user namespace.
 * 0, or -1 with errno. Allocates nothing. */
int root_map_ids(uid_t uid, gid_t gid) CHECKED;

/* Replaces the content of a file by text. 0, or -1 with errno. Allocates
 * nothing. */
int root_write(const char *path, const char *text) CHECKED;

/* Gives up all capabilities for good, also those that an executed file could
 * bring. 0, or -1 with errno. Allocates nothing. */
int root_drop_caps(void) CHECKED;

#endif
