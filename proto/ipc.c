/*
 * Listening on a Unix socket. A lock beside the path tells a living owner from
 * a file that was left behind: bind alone would steal the path from a living
 * process, which then hears nobody any more. Keeps no state.
 */
#include "proto/ipc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SCHEME  "ipc://"
#define BACKLOG 1024

const char *
ipc_path(const char *endpoint, struct err *err)
{
	const char *path;

	if (strncmp(endpoint, SCHEME, strlen(SCHEME)) != 0) {
		err_set(err, ERR_INPUT, "must be ipc://PATH, nothing else");
		return NULL;
	}
	path = endpoint + strlen(SCHEME);
	if (path[0] == '\0' || path[0] == '@' || path[0] == '*') {
		err_set(err, ERR_INPUT, "must name a file, ipc://PATH");
		return NULL;
	}
	if (strlen(path) > IPC_PATH_MAX) {
		err_set(err, ERR_LIMIT,
		    "the path has %zu bytes, a socket's path may have %u: "
		    "choose a shorter directory",
		    strlen(path), IPC_PATH_MAX);
		return NULL;
	}
	return path;
}

/* The lock's file is never deleted, since a lock on a deleted file locks nobody
 * out. */
static int
lock_path(const char *path, int *ret_fd, struct err *err)
{
	char name[IPC_PATH_MAX + sizeof(".lock")];
	int fd;

	snprintf(name, sizeof(name), "%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1)
		return err_errno(err, "open %s", name);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*ret_fd = fd;
		return 0;
	}
	if (errno == EWOULDBLOCK)
		err_set(
		    err, ERR_CONFLICT, "another process is bound to %s", path);
	else
		err_errno(err, "lock %s", name);
	close(fd);
	return -1;
}

static int
remove_stale(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? 0 : err_errno(err, "stat %s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(
		    err, ERR_CONFLICT, "%s exists and is no socket", path);
	if (unlink(path) == -1)
		return err_errno(err, "remove %s", path);
	return 0;
}

/* The mode of a socket's file is that of the descriptor when it is bound, so
 * that no moment exists at which others may connect. */
static int
bind_listener(int fd, const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, strlen(path));
	if (fchmod(fd, 0600) == -1)
		return err_errno(err, "mode of %s", path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == -1)
		return err_errno(err, "bind %s", path);
	if (listen(fd, BACKLOG) == -1)
		return err_errno(err, "listen %s", path);
	return 0;
}

int
ipc_listen(const char *path, int *ret_fd, int *ret_lock_fd, struct err *err)
{
	int lock = -1, fd = -1;

	if (lock_path(path, &lock, err) == -1)
		return -1;
	if (remove_stale(path, err) == -1)
		goto fail;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		err_errno(err, "socket");
		goto fail;
	}
	if (bind_listener(fd, path, err) == -1)
		goto fail;
	*ret_fd = fd;
	*ret_lock_fd = lock;
	return 0;
fail:
	if (fd != -1)
		close(fd);
	close(lock);
	return -1;
}
