/*
 * Memory: what callers may count on, and that each allocation can be made to
 * fail, alone and in the middle of other work.
 */
#include "base/alloc.h"

#include <check.h>
#include <setjmp.h>
#include <signal.h>

#include "base/json.h"
#include "base/map.h"
#include "tests/unit/base/apart.h"
#include "tests/unit/suite.h"

#define FAILED_HERE 7

static const size_t sizes[] = { 0, 1, 7, 8, 4096, 1000000 };

static bool
is_zero(const char *ptr, size_t size)
{
	while (size > 0 && *ptr == 0) {
		ptr++;
		size--;
	}
	return size == 0;
}

START_TEST(new_memory_is_zeroed)
{
	size_t size = sizes[_i];
	char *one = mem_new(size), *many = mem_array(size, 3);

	ck_assert_ptr_nonnull(one);
	ck_assert_ptr_nonnull(many);
	ck_assert(is_zero(one, size));
	ck_assert(is_zero(many, size * 3));
	mem_free(one);
	mem_free(many);
}
END_TEST

START_TEST(growing_keeps_the_content)
{
	char *ptr = mem_grow(NULL, 0);

	ck_assert_ptr_nonnull(ptr);
	ptr = mem_grow(ptr, 3);
	memcpy(ptr, "abc", 3);
	ptr = mem_grow(ptr, 100000);
	ck_assert_mem_eq(ptr, "abc", 3);
	ptr = mem_grow(ptr, 2);
	ck_assert_mem_eq(ptr, "ab", 2);
	ptr = mem_grow(ptr, 0);
	ck_assert_ptr_nonnull(ptr);
	mem_free(ptr);
}
END_TEST

START_TEST(copies_are_whole)
{
	char *copy = mem_copy("a\0b", 3);
	char *text = mem_string("text");
	char *part = mem_string_n("a\0bcd", 4);
	char *none = mem_string_n(NULL, 0);
	void *empty = mem_copy(NULL, 0);

	ck_assert_mem_eq(copy, "a\0b", 3);
	ck_assert_str_eq(text, "text");
	ck_assert_mem_eq(part, "a\0bc", 5);
	ck_assert_str_eq(none, "");
	ck_assert_ptr_nonnull(empty);
	mem_free(copy);
	mem_free(text);
	mem_free(part);
	mem_free(none);
	mem_free(empty);
}
END_TEST

START_TEST(freeing_null_is_fine_and_returns_null)
{
	ck_assert_ptr_null(mem_free(NULL));
	ck_assert_ptr_null(mem_free(mem_new(1)));
}
END_TEST

static void
array_too_large(void)
{
	mem_array(SIZE_MAX / 2, 3);
}

START_TEST(refuses_an_array_whose_size_overflows)
{
	struct apart apart;

	apart_run(&apart, array_too_large);
	ck_assert(apart_aborted(&apart));
	ck_assert_ptr_nonnull(strstr(apart.text, "alloc.c:"));
}
END_TEST

static void
nothing(void)
{
}

static void
run_out_of_memory(void)
{
	mem_fail_at(1, nothing);
	mem_new(123);
}

START_TEST(out_of_memory_ends_the_process_with_one_line)
{
	struct apart apart;

	apart_run(&apart, run_out_of_memory);
	ck_assert(WIFEXITED(apart.status));
	ck_assert_int_eq(WEXITSTATUS(apart.status), EXIT_FAILURE);
	ck_assert_uint_eq(apart.writes, 1);
	ck_assert_str_eq(apart.text, "out of memory: 123 bytes refused\n");
}
END_TEST

static jmp_buf back;

static void
jump_back(void)
{
	longjmp(back, 1);
}

static void *
allocate(int how)
{
	switch (how) {
	case 0:
		return mem_new(1);
	case 1:
		return mem_array(1, 1);
	case 2:
		return mem_grow(NULL, 1);
	case 3:
		return mem_copy("a", 1);
	case 4:
		return mem_string("a");
	default:
		return mem_string_n("a", 1);
	}
}

START_TEST(every_way_to_allocate_can_be_made_to_fail)
{
	void *volatile first = NULL, *volatile second = NULL;

	mem_fail_at(2, jump_back);
	if (setjmp(back) == 0) {
		first = allocate(_i);
		second = allocate(_i);
	}
	mem_fail_at(0, NULL);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(second);
	mem_free(first);
}
END_TEST

START_TEST(a_hook_at_zero_is_off)
{
	mem_fail_at(1, jump_back);
	mem_fail_at(0, jump_back);
	if (setjmp(back) != 0)
		ck_abort_msg("it failed");
	mem_free(mem_new(1));
}
END_TEST

static size_t fail_at;

static void
leave(void)
{
	_exit(FAILED_HERE);
}

/* Reads names from JSON into a map and writes them out again. */
static void
composite(void)
{
	static const char text[] =
	    "{\"\\u0061 name that is longer than any entry holds\":1,"
	    "\"b\":\"\\n\",\"c\":[2,3]}";
	struct slice names[3];
	struct buf out = BUF_INIT(4096);
	struct map map = MAP_INIT;
	struct json value, key, member;
	struct json_iter it;
	size_t count = 0;

	mem_fail_at(fail_at, leave);
	if (json_parse(slice_string(text), &value, NULL, NULL) == -1)
		_exit(1);
	it = json_iter(value);
	while (json_next(&it, &key, &member) && count < COUNT(names)) {
		char *name = json_string_new(key, 100);

		map_set(&map, slice_string(name), &names[count]);
		names[count++] = slice_string(name);
	}
	json_pretty(value, &out);
	if (count != COUNT(names) || map.count != COUNT(names) || out.failed)
		_exit(1);
	for (size_t i = 0; i < COUNT(names); i++)
		if (map_get(&map, names[i]) != &names[i])
			_exit(1);
}

/* Buffer, map and JSON together: whichever allocation fails, the process ends
 * there and nowhere else. */
START_TEST(each_allocation_of_a_composite_can_fail)
{
	struct apart apart;
	int code;

	fail_at = 0;
	do {
		fail_at++;
		apart_run(&apart, composite);
		ck_assert(WIFEXITED(apart.status));
		code = WEXITSTATUS(apart.status);
		ck_assert(code == FAILED_HERE || code == 0);
	} while (code == FAILED_HERE && fail_at < 1000);
	/* Table, long key, three names, the output: at least that many. */
	ck_assert_uint_gt(fail_at, 6);
	ck_assert_uint_lt(fail_at, 1000);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/alloc");
	TCase *memory = tcase_create("memory");
	TCase *failure = tcase_create("failure");

	tcase_add_loop_test(memory, new_memory_is_zeroed, 0, COUNT(sizes));
	tcase_add_test(memory, growing_keeps_the_content);
	tcase_add_test(memory, copies_are_whole);
	tcase_add_test(memory, freeing_null_is_fine_and_returns_null);
	suite_add_tcase(suite, memory);
	tcase_add_test(failure, refuses_an_array_whose_size_overflows);
	tcase_add_test(failure, out_of_memory_ends_the_process_with_one_line);
	tcase_add_loop_test(
	    failure, every_way_to_allocate_can_be_made_to_fail, 0, 6);
	tcase_add_test(failure, a_hook_at_zero_is_off);
	tcase_add_test(failure, each_allocation_of_a_composite_can_fail);
	suite_add_tcase(suite, failure);
	return run_suite(suite);
}
