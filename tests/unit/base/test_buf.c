/*
 * Buffers: what goes in comes out, the maximum holds, failure stays.
 */
#include "base/buf.h"

#include <check.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/unit/suite.h"

START_TEST(appends_follow_each_other)
{
	struct buf buf = BUF_INIT(100);

	buf_put(&buf, "a\0b", 3);
	buf_put(&buf, NULL, 0);
	buf_put_slice(&buf, SLICE("cd"));
	buf_put_slice(&buf, (struct slice){ 0 });
	buf_puts(&buf, "ef");
	buf_putc(&buf, 'g');
	buf_printf(&buf, "<%d>", 42);
	ck_assert(slice_eq(buf_slice(&buf), SLICE("a\0bcdefg<42>")));
	ck_assert_int_eq(buf_check(&buf, "text", NULL), 0);
	buf_release(&buf);
}
END_TEST

static const uint64_t numbers[] = { 0, 1, 9, 10, 99, 100, 12345678901234567,
	INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX };

START_TEST(numbers_are_decimal_digits)
{
	struct buf buf = BUF_INIT(100);
	uint64_t number = numbers[_i];
	char want[100];
	int len =
	    snprintf(want, sizeof(want), "%" PRIu64 " %" PRId64 " %" PRId64,
		number, (int64_t)number, (int64_t)(0 - number));

	buf_put_u64(&buf, number);
	buf_putc(&buf, ' ');
	buf_put_i64(&buf, (int64_t)number);
	buf_putc(&buf, ' ');
	buf_put_i64(&buf, (int64_t)(0 - number));
	ck_assert(slice_eq(buf_slice(&buf), slice_of(want, (size_t)len)));
	buf_release(&buf);
}
END_TEST

START_TEST(a_format_is_never_cut)
{
	struct buf buf = BUF_INIT(4000);
	char text[1200];

	memset(text, 'x', sizeof(text));
	for (int len = 0; len < (int)sizeof(text); len++) {
		buf_clear(&buf);
		buf_printf(&buf, "[%.*s]", len, text);
		ck_assert_uint_eq(buf.len, (size_t)len + 2);
		ck_assert_int_eq(buf.ptr[len + 1], ']');
	}
	buf_release(&buf);
}
END_TEST

START_TEST(a_format_may_read_the_buffer_itself)
{
	struct buf buf = BUF_INIT(4000);

	buf_puts(&buf, "abc");
	for (int i = 0; i < 8; i++) {
		int len = (int)buf.len;

		buf_printf(&buf, "%.*s", len, buf.ptr);
		ck_assert_uint_eq(buf.len, (size_t)len * 2);
	}
	ck_assert_mem_eq(buf.ptr + buf.len - 6, "abcabc", 6);
	buf_release(&buf);
}
END_TEST

/* Each way to append, 3 bytes at a time. */
static void
append(struct buf *buf, int how)
{
	char *room;

	switch (how) {
	case 0:
		buf_put(buf, "abc", 3);
		return;
	case 1:
		buf_puts(buf, "abc");
		return;
	case 2:
		buf_printf(buf, "%s", "abc");
		return;
	case 3:
		buf_put_u64(buf, 123);
		return;
	case 4:
		buf_put_i64(buf, -12);
		return;
	default:
		room = buf_room(buf, 3);
		if (room == NULL)
			return;
		memset(room, 'x', 3);
		buf->len += 3;
		return;
	}
}

START_TEST(what_passes_the_maximum_is_dropped_with_all_that_follows)
{
	struct buf buf = BUF_INIT(8);
	struct err err = { 0 };

	append(&buf, _i);
	append(&buf, _i);
	ck_assert_int_eq(buf_check(&buf, "the name", &err), 0);
	append(&buf, _i);
	ck_assert_uint_eq(buf.len, 6);
	buf_putc(&buf, 'y');
	buf_put(&buf, "y", 1);
	buf_printf(&buf, "y");
	ck_assert_ptr_null(buf_room(&buf, 0));
	ck_assert_uint_eq(buf.len, 6);
	ck_assert_int_eq(buf_check(&buf, "the name", &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_str_eq(err.text, "the name: more than 8 bytes");
	buf_release(&buf);
}
END_TEST

START_TEST(the_maximum_itself_fits)
{
	struct buf buf = BUF_INIT(6);

	append(&buf, _i);
	append(&buf, _i);
	ck_assert_int_eq(buf_check(&buf, "x", NULL), 0);
	ck_assert_uint_eq(buf.len, 6);
	ck_assert_uint_le(buf.cap, 6);
	append(&buf, _i);
	ck_assert_int_eq(buf_check(&buf, "x", NULL), -1);
	buf_release(&buf);
}
END_TEST

START_TEST(a_maximum_of_zero_takes_nothing)
{
	struct buf buf = BUF_INIT(0);

	buf_put(&buf, "", 0);
	buf_puts(&buf, "");
	buf_printf(&buf, "%s", "");
	ck_assert_int_eq(buf_check(&buf, "x", NULL), 0);
	buf_putc(&buf, 'a');
	ck_assert_int_eq(buf_check(&buf, "x", NULL), -1);
	buf_release(&buf);
}
END_TEST

START_TEST(sizes_near_the_end_of_the_address_space_are_refused)
{
	struct buf buf = BUF_INIT(1000);

	buf_puts(&buf, "abc");
	ck_assert_ptr_null(buf_room(&buf, SIZE_MAX));
	buf_clear(&buf);
	ck_assert_ptr_null(buf_room(&buf, SIZE_MAX - 2));
	buf_release(&buf);
}
END_TEST

START_TEST(room_is_there_as_asked)
{
	struct buf buf = BUF_INIT(100000);

	for (size_t n = 0; n < 300; n++) {
		char *room = buf_room(&buf, n);

		ck_assert_ptr_nonnull(room);
		ck_assert_ptr_eq(room, buf.ptr + buf.len);
		memset(room, 'r', n);
		buf.len += n;
	}
	ck_assert_uint_eq(buf.len, 299 * 300 / 2);
	buf_release(&buf);
}
END_TEST

START_TEST(consuming_takes_from_the_front)
{
	struct buf buf = BUF_INIT(100);

	buf_consume(&buf, 0);
	buf_puts(&buf, "abcdef");
	buf_consume(&buf, 0);
	buf_consume(&buf, 2);
	ck_assert(slice_is(buf_slice(&buf), "cdef"));
	buf_consume(&buf, 4);
	ck_assert_uint_eq(buf.len, 0);
	buf_release(&buf);
}
END_TEST

START_TEST(clearing_forgets_failure_and_keeps_memory)
{
	struct buf buf = BUF_INIT(3);
	char *ptr;

	buf_puts(&buf, "abc");
	ptr = buf.ptr;
	buf_puts(&buf, "d");
	buf_clear(&buf);
	ck_assert_int_eq(buf_check(&buf, "x", NULL), 0);
	ck_assert_uint_eq(buf.len, 0);
	buf_puts(&buf, "efg");
	ck_assert_ptr_eq(buf.ptr, ptr);
	ck_assert(slice_is(buf_slice(&buf), "efg"));
	buf_release(&buf);
}
END_TEST

START_TEST(a_released_buffer_may_be_used_again)
{
	struct buf buf = BUF_INIT(3);

	buf_puts(&buf, "abcd");
	buf_release(&buf);
	buf_release(&buf);
	ck_assert_ptr_null(buf.ptr);
	buf_puts(&buf, "abc");
	ck_assert(slice_is(buf_slice(&buf), "abc"));
	buf_puts(&buf, "d");
	ck_assert_int_eq(buf_check(&buf, "x", NULL), -1);
	buf_release(&buf);
}
END_TEST

START_TEST(detached_bytes_end_in_nul)
{
	struct buf buf = BUF_INIT(500);
	size_t len = 999;

	for (size_t n = 0; n < 500; n++) {
		for (size_t i = 0; i < n; i++)
			buf_putc(&buf, 'd');
		char *owned = buf_detach(&buf, &len);

		ck_assert_uint_eq(len, n);
		ck_assert_uint_eq(strlen(owned), n);
		ck_assert_ptr_null(buf.ptr);
		ck_assert_uint_eq(buf.max, 500);
		mem_free(owned);
	}
	mem_free(buf_detach(&buf, NULL));
}
END_TEST

static char content[140001]; /* of the file that file_of made last */

static int
file_of(size_t size, char path[TEMP_PATH])
{
	int fd = temp_file(path);

	for (size_t i = 0; i < size; i++)
		content[i] = (char)('a' + i % 26);
	ck_assert_int_eq(pwrite(fd, content, size, 0), (ssize_t)size);
	return fd;
}

static const size_t file_sizes[] = { 0, 1, 1000, 70000, 140000 };

START_TEST(a_file_is_read_to_its_end)
{
	size_t size = file_sizes[_i];
	struct buf buf = BUF_INIT(size);
	char path[TEMP_PATH];
	int fd = file_of(size, path);

	ck_assert_int_eq(buf_read_all(&buf, fd, NULL), 0);
	ck_assert_uint_eq(buf.len, size);
	buf_clear(&buf);
	ck_assert_int_eq(buf_read_file(&buf, path, NULL), 0);
	ck_assert_uint_eq(buf.len, size);
	if (size > 0)
		ck_assert_mem_eq(buf.ptr, content, size);
	buf_release(&buf);
	close(fd);
}
END_TEST

START_TEST(a_file_past_the_maximum_is_refused)
{
	size_t size = file_sizes[_i];
	struct buf buf = BUF_INIT(size);
	struct err err = { 0 };
	char path[TEMP_PATH];
	int fd = file_of(size + 1, path);

	ck_assert_int_eq(buf_read_file(&buf, path, &err), -1);
	ck_assert_int_eq(err.kind, ERR_LIMIT);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	buf_release(&buf);
	close(fd);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
	struct buf buf = BUF_INIT(10);
	struct err err = { 0 };

	ck_assert_int_eq(
	    buf_read_file(&buf, "/nonexistent/reeve.yaml", &err), -1);
	ck_assert_int_eq(err.kind, ERR_SYSTEM);
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_str_eq(err.text,
	    "open /nonexistent/reeve.yaml: No such file or directory");
}
END_TEST

START_TEST(only_regular_files_are_read_by_name)
{
	struct buf buf = BUF_INIT(10);
	struct err err = { 0 };
	char path[TEMP_PATH];
	int fd = file_of(0, path);

	close(fd);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(buf_read_file(&buf, path, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert_int_eq(buf_read_file(&buf, "/tmp", &err), -1);
	ck_assert_str_eq(err.text, "/tmp: not a regular file");
	ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(a_failing_read_says_why)
{
	struct buf buf = BUF_INIT(10);
	struct err err = { 0 };

	ck_assert_int_eq(buf_read_all(&buf, -1, &err), -1);
	ck_assert_int_eq(err.kind, ERR_SYSTEM);
	ck_assert_int_eq(err.code, EBADF);
	buf_release(&buf);
}
END_TEST

START_TEST(a_pipe_is_read_until_its_writer_leaves)
{
	struct buf buf = BUF_INIT(10);
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "0123456789", 10), 10);
	close(ends[1]);
	ck_assert_int_eq(buf_read_all(&buf, ends[0], NULL), 0);
	ck_assert(slice_is(buf_slice(&buf), "0123456789"));
	close(ends[0]);
	buf_release(&buf);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/buf");
	TCase *put = tcase_create("append");
	TCase *limit = tcase_create("limit");
	TCase *life = tcase_create("life");
	TCase *file = tcase_create("read");

	tcase_add_test(put, appends_follow_each_other);
	tcase_add_loop_test(put, numbers_are_decimal_digits, 0, COUNT(numbers));
	tcase_add_test(put, a_format_is_never_cut);
	tcase_add_test(put, a_format_may_read_the_buffer_itself);
	tcase_add_test(put, room_is_there_as_asked);
	suite_add_tcase(suite, put);
	tcase_add_loop_test(limit,
	    what_passes_the_maximum_is_dropped_with_all_that_follows, 0, 6);
	tcase_add_loop_test(limit, the_maximum_itself_fits, 0, 6);
	tcase_add_test(limit, a_maximum_of_zero_takes_nothing);
	tcase_add_test(
	    limit, sizes_near_the_end_of_the_address_space_are_refused);
	suite_add_tcase(suite, limit);
	tcase_add_test(life, consuming_takes_from_the_front);
	tcase_add_test(life, clearing_forgets_failure_and_keeps_memory);
	tcase_add_test(life, a_released_buffer_may_be_used_again);
	tcase_add_test(life, detached_bytes_end_in_nul);
	suite_add_tcase(suite, life);
	tcase_add_loop_test(
	    file, a_file_is_read_to_its_end, 0, COUNT(file_sizes));
	tcase_add_loop_test(
	    file, a_file_past_the_maximum_is_refused, 0, COUNT(file_sizes));
	tcase_add_test(file, a_missing_file_is_named);
	tcase_add_test(file, only_regular_files_are_read_by_name);
	tcase_add_test(file, a_failing_read_says_why);
	tcase_add_test(file, a_pipe_is_read_until_its_writer_leaves);
	suite_add_tcase(suite, file);
	return run_suite(suite);
}
