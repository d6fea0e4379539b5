/*
 * The hash map against a plain array of what it must hold.
 */
#include "base/map.h"

#include <check.h>
#include <signal.h>

#include "tests/unit/base/apart.h"
#include "tests/unit/suite.h"

#define KEYS 500

static char values[KEYS]; /* their addresses are the values */

START_TEST(an_empty_map_has_nothing)
{
	struct map map = MAP_INIT;
	size_t pos = 0;
	void *value;

	ck_assert_ptr_null(map_get(&map, SLICE("a")));
	ck_assert_ptr_null(map_remove(&map, SLICE("a")));
	ck_assert(!map_next(&map, &pos, NULL, &value));
	map_release(&map);
	map_release(&map);
}
END_TEST

START_TEST(setting_again_returns_what_was_there)
{
	struct map map = MAP_INIT;

	ck_assert_ptr_null(map_set(&map, SLICE("key"), &values[0]));
	ck_assert_ptr_eq(map_get(&map, SLICE("key")), &values[0]);
	ck_assert_ptr_eq(map_set(&map, SLICE("key"), &values[1]), &values[0]);
	ck_assert_ptr_eq(map_get(&map, SLICE("key")), &values[1]);
	ck_assert_uint_eq(map.count, 1);
	ck_assert_ptr_eq(map_remove(&map, SLICE("key")), &values[1]);
	ck_assert_ptr_null(map_get(&map, SLICE("key")));
	ck_assert_ptr_null(map_remove(&map, SLICE("key")));
	ck_assert_uint_eq(map.count, 0);
	map_release(&map);
}
END_TEST

/* Lengths on both sides of what an entry holds itself, NUL bytes inside. */
START_TEST(keys_of_any_length_are_copied)
{
	struct map map = MAP_INIT;
	char key[64];

	for (size_t len = 0; len <= sizeof(key); len++) {
		memset(key, 0, sizeof(key));
		map_set(&map, slice_of(key, len), &values[len]);
		memset(key, 'x', sizeof(key));
	}
	memset(key, 0, sizeof(key));
	ck_assert_uint_eq(map.count, sizeof(key) + 1);
	for (size_t len = 0; len <= sizeof(key); len++)
		ck_assert_ptr_eq(
		    map_get(&map, slice_of(key, len)), &values[len]);
	for (size_t len = 0; len <= sizeof(key); len += 3)
		ck_assert_ptr_eq(
		    map_remove(&map, slice_of(key, len)), &values[len]);
	for (size_t len = 0; len <= sizeof(key); len++)
		ck_assert_ptr_eq(map_get(&map, slice_of(key, len)),
		    len % 3 == 0 ? NULL : &values[len]);
	map_release(&map);
}
END_TEST

/* A key for each number, short and long ones in turn. */
static struct slice
key_of(size_t number, char text[64])
{
	int len = snprintf(text, 64, "%zu%s", number,
	    number % 2 == 0 ? "" : " with a long tail behind it");

	return slice_of(text, (size_t)len);
}

START_TEST(any_order_of_work_leaves_what_it_should)
{
	struct map map = MAP_INIT;
	void *want[KEYS] = { 0 };
	uint64_t random = (uint64_t)_i * 77 + 1;
	size_t count = 0;
	char text[64];

	for (int step = 0; step < 20000; step++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		size_t n = (size_t)(random >> 33) % KEYS;
		struct slice key = key_of(n, text);

		/* Phases that mostly fill and phases that mostly empty. */
		bool fill = (random >> 20) % 8 < (step / 2500 % 2 == 0 ? 5 : 2);
		void *before = fill ? map_set(&map, key, &values[n])
				    : map_remove(&map, key);

		if (before != want[n])
			ck_abort_msg("step %d: another value before", step);
		count += (fill && before == NULL);
		count -= (!fill && before != NULL);
		want[n] = fill ? &values[n] : NULL;
		if (map.count != count)
			ck_abort_msg("step %d: another count", step);
	}
	for (size_t n = 0; n < KEYS; n++)
		ck_assert_ptr_eq(map_get(&map, key_of(n, text)), want[n]);
	map_release(&map);
}
END_TEST

static void
set_all(struct map *map)
{
	char text[64];

	for (size_t n = 0; n < KEYS; n++)
		map_set(map, key_of(n, text), &values[n]);
}

START_TEST(a_walk_sees_each_entry_once)
{
	struct map map = MAP_INIT;
	int seen[KEYS] = { 0 };
	size_t pos = 0;
	struct slice key;
	char text[64];
	void *value;

	set_all(&map);
	while (map_next(&map, &pos, &key, &value)) {
		size_t n = (size_t)((char *)value - values);

		ck_assert(slice_eq(key, key_of(n, text)));
		seen[n]++;
	}
	for (size_t n = 0; n < KEYS; n++)
		ck_assert_int_eq(seen[n], 1);
	map_release(&map);
}
END_TEST

/* Removes every _i-th entry on the way, the one that was just returned. */
START_TEST(a_walk_may_remove_what_it_was_given)
{
	struct map map = MAP_INIT;
	int seen[KEYS] = { 0 };
	size_t pos = 0, turn = 0, removed = 0;
	struct slice key;
	char text[64];
	void *value;

	set_all(&map);
	while (map_next(&map, &pos, &key, &value)) {
		size_t n = (size_t)((char *)value - values);

		seen[n]++;
		if (++turn % (size_t)_i != 0)
			continue;
		ck_assert_ptr_eq(map_remove(&map, key_of(n, text)), value);
		removed++;
	}
	for (size_t n = 0; n < KEYS; n++)
		ck_assert_int_eq(seen[n], 1);
	ck_assert_uint_eq(map.count, KEYS - removed);
	pos = 0;
	for (turn = 0; map_next(&map, &pos, NULL, &value);)
		turn++;
	ck_assert_uint_eq(turn, KEYS - removed);
	map_release(&map);
}
END_TEST

/* Keys that come and go must not make the table grow. */
START_TEST(the_table_stays_as_small_as_its_content)
{
	struct map map = MAP_INIT;
	char text[64];

	for (size_t n = 0; n < 200000; n++) {
		map_set(&map, key_of(n, text), &values[0]);
		if (n >= 10)
			map_remove(&map, key_of(n - 10, text));
	}
	ck_assert_uint_eq(map.count, 10);
	ck_assert_uint_le(map.cap, 64);
	ck_assert_uint_lt(map.used, map.cap);
	map_release(&map);
}
END_TEST

/* Removed entries must not fill the table with their marks. */
START_TEST(slots_are_used_only_by_what_is_there)
{
	struct map map = MAP_INIT;
	char text[64];

	for (size_t n = 0; n < KEYS; n++) {
		map_set(&map, key_of(n, text), &values[0]);
		map_remove(&map, key_of(n, text));
		ck_assert_uint_eq(map.used, 0);
	}
	set_all(&map);
	ck_assert_uint_eq(map.used, KEYS);
	map_release(&map);
}
END_TEST

static void
set_nothing(void)
{
	struct map map = MAP_INIT;

	map_set(&map, SLICE("a"), NULL);
}

START_TEST(a_value_of_null_is_a_bug)
{
	struct apart apart;

	apart_run(&apart, set_nothing);
	ck_assert(apart_aborted(&apart));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/map");
	TCase *entry = tcase_create("entry");
	TCase *walk = tcase_create("walk");

	tcase_add_test(entry, an_empty_map_has_nothing);
	tcase_add_test(entry, setting_again_returns_what_was_there);
	tcase_add_test(entry, keys_of_any_length_are_copied);
	tcase_add_loop_test(
	    entry, any_order_of_work_leaves_what_it_should, 0, 4);
	tcase_add_test(entry, the_table_stays_as_small_as_its_content);
	tcase_add_test(entry, slots_are_used_only_by_what_is_there);
	tcase_add_test(entry, a_value_of_null_is_a_bug);
	suite_add_tcase(suite, entry);
	tcase_add_test(walk, a_walk_sees_each_entry_once);
	tcase_add_loop_test(walk, a_walk_may_remove_what_it_was_given, 1, 5);
	suite_add_tcase(suite, walk);
	return run_suite(suite);
}
