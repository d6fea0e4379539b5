/*
 * proto/ipc.c: one owner per path, reachable by its owner alone.
 */
#include "proto/ipc.h"

#include <check.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/suite.h"

static char dir[TEMP_PATH], path[128], lock_path[140];
static struct err err;

static void
set_up(void)
{
	memset(&err, 0, sizeof(err));
	temp_folder(dir);
	snprintf(path, sizeof(path), "%s/sock", dir);
	snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
}

static void
tear_down(void)
{
	unlink(path);
	unlink(lock_path);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* 0 when somebody answers at the path, else errno. */
static int
call(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), code = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) ==
	    -1)
		code = errno;
	close(fd);
	return code;
}

START_TEST(a_listener_can_be_called)
{
	int fd, lock;

	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), 0);
	ck_assert_int_eq(call(), 0);
	close(fd);
	close(lock);
}
END_TEST

START_TEST(only_its_owner_may_call)
{
	mode_t mask = umask(0);
	int fd, lock, rc = ipc_listen(path, &fd, &lock, &err);
	struct stat st;

	umask(mask);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(stat(lock_path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	close(fd);
	close(lock);
}
END_TEST

/* bind alone would take the path away from the first. */
START_TEST(a_path_has_one_owner_at_a_time)
{
	int fd, lock, second, second_lock;

	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), 0);
	ck_assert_int_eq(ipc_listen(path, &second, &second_lock, &err), -1);
	ck_assert_int_eq(err.kind, ERR_CONFLICT);
	ck_assert_int_eq(call(), 0);
	close(fd);
	close(lock);
	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), 0);
	close(fd);
	close(lock);
}
END_TEST

START_TEST(a_socket_left_behind_is_replaced)
{
	int fd, lock;

	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), 0);
	close(fd);
	close(lock);
	ck_assert_int_eq(call(), ECONNREFUSED);
	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), 0);
	ck_assert_int_eq(call(), 0);
	close(fd);
	close(lock);
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_left_alone)
{
	int fd, lock;

	close(open(path, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), -1);
	ck_assert_int_eq(err.kind, ERR_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.text, "is no socket"));
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

/* Somebody who may write there could point the lock at another file. */
START_TEST(a_lock_is_not_taken_through_a_link)
{
	int fd, lock;

	ck_assert_int_eq(symlink("/dev/null", lock_path), 0);
	ck_assert_int_eq(ipc_listen(path, &fd, &lock, &err), -1);
	ck_assert_int_eq(err.kind, ERR_SYSTEM);
}
END_TEST

START_TEST(a_missing_directory_is_named)
{
	int fd, lock;

	ck_assert_int_eq(
	    ipc_listen("/nonexistent/reeve/sock", &fd, &lock, &err), -1);
	ck_assert_int_eq(err.kind, ERR_SYSTEM);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/reeve/sock"));
}
END_TEST

/* 107 bytes fit into the kernel's address, the 108th would be its NUL. */
START_TEST(a_path_may_have_107_bytes)
{
	char endpoint[200] = "ipc://";
	int fd, lock;

	snprintf(endpoint + 6, sizeof(endpoint) - 6, "%s/", dir);
	memset(endpoint + strlen(endpoint), 's',
	    6 + 107 + (size_t)_i - strlen(endpoint));
	if (_i == 1) {
		ck_assert_ptr_null(ipc_path(endpoint, &err));
		ck_assert_int_eq(err.kind, ERR_LIMIT);
		ck_assert_ptr_nonnull(strstr(err.text, "108 bytes"));
		ck_assert_ptr_nonnull(strstr(err.text, "107"));
		return;
	}
	ck_assert_ptr_eq(ipc_path(endpoint, &err), endpoint + 6);
	ck_assert_int_eq(ipc_listen(endpoint + 6, &fd, &lock, &err), 0);
	snprintf(path, sizeof(path), "%.107s", endpoint + 6);
	snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
	ck_assert_int_eq(call(), 0);
	close(fd);
	close(lock);
}
END_TEST

static const char *const no_endpoints[] = { "", "ipc", "/run/reeve/sock",
	"tcp://127.0.0.1:5000", "inproc://x", "ipc://", "ipc://@abstract",
	"ipc://*" };

START_TEST(other_endpoints_are_refused)
{
	ck_assert_ptr_null(ipc_path(no_endpoints[_i], &err));
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "ipc://PATH"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("ipc");
	TCase *owner = tcase_create("one owner per path");
	TCase *names = tcase_create("paths");

	tcase_add_checked_fixture(owner, set_up, tear_down);
	tcase_add_checked_fixture(names, set_up, tear_down);
	suite_add_tcase(s, owner);
	suite_add_tcase(s, names);
	tcase_add_test(owner, a_listener_can_be_called);
	tcase_add_test(owner, only_its_owner_may_call);
	tcase_add_test(owner, a_path_has_one_owner_at_a_time);
	tcase_add_test(owner, a_socket_left_behind_is_replaced);
	tcase_add_test(owner, a_file_that_is_no_socket_is_left_alone);
	tcase_add_test(owner, a_lock_is_not_taken_through_a_link);
	tcase_add_test(names, a_missing_directory_is_named);
	tcase_add_loop_test(names, a_path_may_have_107_bytes, 0, 2);
	tcase_add_loop_test(
	    names, other_endpoints_are_refused, 0, COUNT(no_endpoints));
	return run_suite(s);
}
