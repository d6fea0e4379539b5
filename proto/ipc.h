/*
 * Unix sockets for links: who may own a path, and a listening socket on it that
 * only its owner can reach.
 */
#ifndef PROTO_IPC_H
#define PROTO_IPC_H

#include "base/err.h"

#define IPC_PATH_MAX 107u /* bytes: what the kernel takes, without NUL */

/* The path inside ipc://PATH (points into endpoint), or NULL: ERR_INPUT for
 * anything else, ERR_LIMIT past IPC_PATH_MAX. */
const char *ipc_path(const char *endpoint, struct err *err) CHECKED;

/* Locks PATH.lock, removes a socket that was left behind, and listens on path
 * with mode 0600. ERR_CONFLICT: another process holds the lock, or the path is
 * no socket. Both descriptors are then the caller's; the lock is held until its
 * descriptor is closed, the file stays. */
int ipc_listen(
    const char *path, int *ret_fd, int *ret_lock_fd, struct err *err) CHECKED;

#endif
