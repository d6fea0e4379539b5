/*
 * Builds the root that boxes copy, with the mount calls that take descriptors:
 * sources are opened while the host is still in sight, the tree is put together
 * on a tmpfs of our own, and then the host is let go of. Mounts are only made
 * on that tmpfs, never on a path that somebody else could have prepared.
 */
#include "workers/tool/root.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "workers/tool/sandbox.h"

#define ROOT_OPTIONS  "size=4m,nr_inodes=256,mode=755"
#define ROOT_FILE_MAX (2u << 20) /* a file of /etc that is copied */

enum { READ_ONLY = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

/* What is shown of the host, and where. Optional ones may be missing. */
static const struct shown {
	const char *from, *to;
	uint64_t attributes;
	bool optional;
	bool file;
} shown[] = {
	{ "/usr", "usr", READ_ONLY, false, false },
	{ "/etc/alternatives", "etc/alternatives", READ_ONLY, true, false },
	{ "/etc/ssl/certs", "etc/ssl/certs", READ_ONLY, true, false },
	{ "/proc", "proc", 0, false, false },
	{ "/dev/null", "dev/null", MOUNT_ATTR_NOEXEC, false, true },
	{ "/dev/zero", "dev/zero", MOUNT_ATTR_NOEXEC, false, true },
	{ "/dev/full", "dev/full", MOUNT_ATTR_NOEXEC, false, true },
	{ "/dev/random", "dev/random", MOUNT_ATTR_NOEXEC, false, true },
	{ "/dev/urandom", "dev/urandom", MOUNT_ATTR_NOEXEC, false, true },
	{ "", "tools", READ_ONLY, false, false }, /* the current directory */
};

static const char *const folders[] = {
	"etc",
	"etc/ssl",
	"etc/ssl/certs",
	"etc/alternatives",
	"dev",
	"dev/shm",
	"proc",
	"tmp",
	"tools",
	"usr",
	"workspace",
};

/* On Debian these lead into /usr. */
static const char *const links[] = {
	"bin",
	"sbin",
	"lib",
	"lib32",
	"lib64",
	"libx32",
};

static const struct {
	const char *path, *to;
} dev_links[] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
};

static const struct {
	const char *path, *text;
} files[] = {
	{ "etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n" BOX_USER
			":x:1000:1000::" BOX_WORKSPACE ":/bin/sh\n"
			"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "etc/group", "root:x:0:\n" BOX_USER ":x:1000:\nnogroup:x:65534:\n" },
	{ "etc/hosts", "127.0.0.1 localhost box\n::1 localhost\n" },
	{ "etc/nsswitch.conf",
	    "passwd: files\ngroup: files\nhosts: files\nservices: files\n" },
};

static const char *const copied[] = {
	"/etc/ld.so.cache",
	"/etc/localtime",
};

int
root_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd == -1)
		return -1;
	n = write(fd, text, len);
	close(fd);
	return n == (ssize_t)len ? 0 : -1;
}

int
root_map_ids(uid_t uid, gid_t gid)
{
	char line[40];

	if (root_write("/proc/self/setgroups", "deny") == -1)
		return -1;
	snprintf(line, sizeof(line), "%u %u 1\n", ROOT_GID, gid);
	if (root_write("/proc/self/gid_map", line) == -1)
		return -1;
	snprintf(line, sizeof(line), "%u %u 1\n", ROOT_UID, uid);
	return root_write("/proc/self/uid_map", line);
}

int
root_drop_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { { 0 } };

	for (unsigned long cap = 0; cap <= 63; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1)
			break; /* EINVAL: past the last one */
	if (prctl(PR_SET_SECUREBITS,
		(SECURE_ALL_BITS & ~SECBIT_KEEP_CAPS) | SECURE_ALL_LOCKS, 0, 0,
		0) == -1)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return -1;
	if (syscall(SYS_capset, &head, none) == -1)
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* A copy of a tree of the host with attributes set, not yet mounted. -2: not
 * there. */
static int
take_tree(const struct shown *what, struct err *err)
{
	struct mount_attr attributes = {
		.attr_set = what->attributes | MOUNT_ATTR_NOSUID,
	};
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	int fd;

	if (!what->file)
		flags |= AT_RECURSIVE;
	if (what->from[0] == '\0') /* which needs no right to search it */
		flags |= AT_EMPTY_PATH;
	fd = open_tree(AT_FDCWD, what->from, flags);
	if (fd == -1 && errno == ENOENT && what->optional)
		return -2;
	if (fd == -1)
		return err_errno(err, "open_tree for /%s", what->to);
	if (mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
		sizeof(attributes)) == -1) {
		err_errno(err, "mount_setattr for /%s", what->to);
		close(fd);
		return -1;
	}
	return fd;
}

static int
make_file(const char *path, const void *bytes, size_t len, struct err *err)
{
	int fd = open(
	    path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	ssize_t n;

	if (fd == -1)
		return err_errno(err, "create %s", path);
	n = len == 0 ? 0 : write(fd, bytes, len);
	close(fd);
	if (n != (ssize_t)len)
		return err_errno(err, "write %s", path);
	return 0;
}

static int
copy_file(const char *path, struct err *err)
{
	struct buf content = BUF_INIT(ROOT_FILE_MAX);
	int rc = 0;

	if (access(path, R_OK) == 0 &&
	    (rc = buf_read_file(&content, path, err)) == 0)
		rc = make_file(path + 1, content.ptr, content.len, err);
	buf_release(&content);
	return rc;
}

static int
link_like_host(const char *name, struct err *err)
{
	char path[16], target[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/%s", name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len == -1 && errno == ENOENT)
		return 0;
	if (len == -1)
		return err_errno(err, "%s is no link into /usr", path);
	target[len] = '\0';
	if (symlink(target, name) == -1)
		return err_errno(err, "link %s", name);
	return 0;
}

/* In the current directory, an empty tmpfs. */
static int
build_skeleton(struct err *err)
{
	for (size_t i = 0; i < COUNT(folders); i++)
		if (mkdir(folders[i], 0755) == -1)
			return err_errno(err, "mkdir %s", folders[i]);
	for (size_t i = 0; i < COUNT(links); i++)
		if (link_like_host(links[i], err) == -1)
			return -1;
	for (size_t i = 0; i < COUNT(dev_links); i++)
		if (symlink(dev_links[i].to, dev_links[i].path) == -1)
			return err_errno(err, "link %s", dev_links[i].path);
	for (size_t i = 0; i < COUNT(files); i++)
		if (make_file(files[i].path, files[i].text,
			strlen(files[i].text), err) == -1)
			return -1;
	for (size_t i = 0; i < COUNT(shown); i++)
		if (shown[i].file && make_file(shown[i].to, NULL, 0, err) == -1)
			return -1;
	return 0;
}

static int
pivot(struct err *err)
{
	struct mount_attr read_only = { .attr_set = READ_ONLY };

	if (syscall(SYS_pivot_root, ".", ".") == -1)
		return err_errno(err, "pivot_root");
	if (umount2(".", MNT_DETACH) == -1)
		return err_errno(err, "umount of the old root");
	if (chdir("/") == -1)
		return err_errno(err, "chdir /");
	if (mount_setattr(AT_FDCWD, "/", 0, &read_only, sizeof(read_only)) ==
	    -1)
		return err_errno(err, "read-only root");
	return 0;
}

static int
build(const int trees[], struct err *err)
{
	/* Any folder will do to hang the new root into: only we see it. */
	if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV,
		ROOT_OPTIONS) == -1)
		return err_errno(err, "mount of a tmpfs");
	if (chdir("/tmp") == -1)
		return err_errno(err, "chdir");
	if (build_skeleton(err) == -1)
		return -1;
	for (size_t i = 0; i < COUNT(shown); i++)
		if (trees[i] >= 0 &&
		    move_mount(trees[i], "", AT_FDCWD, shown[i].to,
			MOVE_MOUNT_F_EMPTY_PATH) == -1)
			return err_errno(err, "mount of %s", shown[i].to);
	return 0;
}

static int
enter_namespaces(struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1)
		return err_errno(err,
		    "no user namespace for unprivileged users (sysctl "
		    "user.max_user_namespaces, "
		    "kernel.unprivileged_userns_clone, AppArmor)");
	if (root_map_ids(uid, gid) == -1)
		return err_errno(err, "ids of the user namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return err_errno(err, "private mounts");
	return 0;
}

int
root_enter(bool with_tools, struct err *err)
{
	int trees[COUNT(shown)];
	int rc = -1;

	for (size_t i = 0; i < COUNT(shown); i++)
		trees[i] = -2;
	if (enter_namespaces(err) == -1)
		return -1;
	for (size_t i = 0; i < COUNT(shown); i++) {
		if (shown[i].from[0] == '\0' && !with_tools)
			continue;
		trees[i] = take_tree(&shown[i], err);
		if (trees[i] == -1)
			goto out;
	}
	/* The files of /etc are copied while the host's are still in sight,
	 * that is before pivot and after the tmpfs is there. */
	if (build(trees, err) == -1)
		goto out;
	for (size_t i = 0; i < COUNT(copied); i++)
		if (copy_file(copied[i], err) == -1)
			goto out;
	rc = pivot(err);
out:
	for (size_t i = 0; i < COUNT(shown); i++)
		if (trees[i] >= 0)
			close(trees[i]);
	return rc;
}
