/*
 * Files and folders of a test program: all below one folder, which run_suite
 * makes and removes in the process that outlives every test, killed ones too.
 * It stands in REEVE_TEST_DIR, or in /tmp where that is not set, not writable,
 * or too long for the socket paths below it.
 */
#ifndef TESTS_UNIT_TEMP_H
#define TESTS_UNIT_TEMP_H

#include <check.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With these, the path of a socket of 15 letters in a temp_folder fits. */
#define TEMP_PATH     92 /* of a file or folder, with its NUL */
#define TEMP_ROOT_MAX (TEMP_PATH - sizeof("/XXXXXX"))
#define TEMP_OPEN_FDS 8

static char temp_root[TEMP_PATH];

/* Others may pass, as sandboxes do under their own user, but not look. */
static inline bool
temp_make_root(const char *parent)
{
	int len =
	    snprintf(temp_root, sizeof(temp_root), "%s/reeve-XXXXXX", parent);

	return len > 0 && (size_t)len <= TEMP_ROOT_MAX &&
	       mkdtemp(temp_root) != NULL && chmod(temp_root, 0711) == 0;
}

/* Ends the program when there is no place for files. */
static inline void
temp_open(void)
{
	const char *dir = getenv("REEVE_TEST_DIR");

	if ((dir != NULL && temp_make_root(dir)) || temp_make_root("/tmp"))
		return;
	perror(temp_root);
	exit(EXIT_FAILURE);
}

static inline int
temp_remove(
    const char *path, const struct stat *stat, int type, struct FTW *place)
{
	(void)stat;
	(void)type;
	(void)place;
	return remove(path);
}

static inline void
temp_close(void)
{
	if (nftw(temp_root, temp_remove, TEMP_OPEN_FDS, FTW_DEPTH | FTW_PHYS) !=
	    0)
		perror(temp_root);
}

/* A new, empty folder that only its owner enters. */
static inline void
temp_folder(char path[TEMP_PATH])
{
	snprintf(path, TEMP_PATH, "%.*s/XXXXXX", (int)TEMP_ROOT_MAX, temp_root);
	ck_assert_msg(mkdtemp(path) != NULL, "%s", path);
}

/* A new, empty file, open for reading and writing; the caller closes it. */
static inline int
temp_file(char path[TEMP_PATH])
{
	int fd;

	snprintf(path, TEMP_PATH, "%.*s/XXXXXX", (int)TEMP_ROOT_MAX, temp_root);
	fd = mkstemp(path);
	ck_assert_msg(fd != -1, "%s", path);
	return fd;
}

/* A new file with this text. */
static inline void
temp_file_of(const char *text, char path[TEMP_PATH])
{
	int fd = temp_file(path);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

#endif
