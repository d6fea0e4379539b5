/*
 * UUIDs: layout and examples of RFC 9562, order in time, no two the same.
 */
#include "base/uuid.h"

#include <check.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/suite.h"

/* Ids never go back in one process: each test takes a later century. */
#define YEAR_2100_MS     UINT64_C(4102444800000)
#define CENTURY_MS       UINT64_C(3155760000000)
#define CENTURY(n)       (YEAR_2100_MS + (n)*CENTURY_MS)
#define COUNTER_MIN_ROOM 2048u /* ids that one millisecond holds at least */

static void
check_layout(const struct uuid *uuid, int version)
{
	ck_assert_int_eq(uuid->bytes[6] >> 4, version);
	ck_assert_int_eq(uuid->bytes[8] >> 6, 2);
}

START_TEST(version_7_carries_the_wall_clock)
{
	clock_set(1, CENTURY(0));
	struct uuid uuid = uuid_v7();

	check_layout(&uuid, 7);
	ck_assert_uint_eq(uuid_ms(&uuid), CENTURY(0));
	clock_set(1, CENTURY(0) + 5);
	uuid = uuid_v7();
	ck_assert_uint_eq(uuid_ms(&uuid), CENTURY(0) + 5);
	clock_set(0, 0);
}
END_TEST

START_TEST(version_7_rises_while_the_clock_stands)
{
	struct uuid before, uuid;

	clock_set(1, CENTURY(1));
	before = uuid_v7();
	for (int i = 1; i < 100000; i++) {
		uuid = uuid_v7();
		if (memcmp(&before, &uuid, sizeof(uuid)) >= 0)
			ck_abort_msg("id %d does not rise", i);
		before = uuid;
	}
	check_layout(&uuid, 7);
	/* The time inside runs ahead no faster than the counter asks. */
	ck_assert_uint_ge(uuid_ms(&uuid), CENTURY(1) + 100000 / 4096 - 1);
	ck_assert_uint_le(
	    uuid_ms(&uuid), CENTURY(1) + 100000 / COUNTER_MIN_ROOM + 1);
	clock_set(0, 0);
}
END_TEST

START_TEST(version_7_rises_when_the_clock_goes_back)
{
	struct uuid before, uuid;

	clock_set(1, CENTURY(2));
	before = uuid_v7();
	for (uint64_t i = 1; i < 1000; i++) {
		clock_set(1, CENTURY(2) - i * 1000);
		uuid = uuid_v7();
		ck_assert_int_lt(memcmp(&before, &uuid, sizeof(uuid)), 0);
		before = uuid;
	}
	ck_assert_uint_eq(uuid_ms(&uuid), CENTURY(2));
	clock_set(0, 0);
}
END_TEST

START_TEST(every_random_bit_of_version_4_takes_both_values)
{
	struct uuid ones = { 0 }, zeros = { 0 };

	for (int i = 0; i < 1000; i++) {
		struct uuid uuid = uuid_v4();

		check_layout(&uuid, 4);
		for (size_t b = 0; b < sizeof(uuid.bytes); b++) {
			ones.bytes[b] |= uuid.bytes[b];
			zeros.bytes[b] |= (uint8_t)~uuid.bytes[b];
		}
	}
	for (size_t b = 0; b < sizeof(ones.bytes); b++) {
		ck_assert_int_eq(ones.bytes[b], b == 6   ? 0x4f
						: b == 8 ? 0xbf
							 : 0xff);
		ck_assert_int_eq(zeros.bytes[b], b == 6   ? 0xbf
						 : b == 8 ? 0x7f
							  : 0xff);
	}
}
END_TEST

START_TEST(every_random_bit_of_version_7_takes_both_values)
{
	uint8_t ones[8] = { 0 }, zeros[8] = { 0 };

	for (int i = 0; i < 1000; i++) {
		struct uuid uuid = uuid_v7();

		for (size_t b = 0; b < 8; b++) {
			ones[b] |= uuid.bytes[8 + b];
			zeros[b] |= (uint8_t)~uuid.bytes[8 + b];
		}
	}
	for (size_t b = 0; b < 8; b++) {
		ck_assert_int_eq(ones[b], b == 0 ? 0xbf : 0xff);
		ck_assert_int_eq(zeros[b], b == 0 ? 0x7f : 0xff);
	}
}
END_TEST

static void
draw_both(struct uuid drawn[2])
{
	drawn[0] = uuid_v4();
	drawn[1] = uuid_v7();
}

START_TEST(a_forked_child_draws_others)
{
	struct uuid here[2], there[2];
	int ends[2], status;
	pid_t pid;

	draw_both(here); /* so that there is something to inherit */
	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		draw_both(there);
		_exit(write(ends[1], there, sizeof(there)) != sizeof(there));
	}
	draw_both(here);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(ends[0], there, sizeof(there)), sizeof(there));
	ck_assert(!uuid_eq(&here[0], &there[0]));
	ck_assert_int_ne(memcmp(here[1].bytes + 8, there[1].bytes + 8, 8), 0);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* RFC 9562, appendix A: version 7 and version 4. */
static const struct uuid example_7 = { { 0x01, 0x7f, 0x22, 0xe2, 0x79, 0xb0,
    0x7c, 0xc3, 0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f } };
static const struct uuid example_4 = { { 0x91, 0x91, 0x08, 0xf7, 0x52, 0xd1,
    0x43, 0x20, 0x9b, 0xac, 0xf8, 0x47, 0xdb, 0x41, 0x48, 0xa8 } };

START_TEST(the_examples_of_the_rfc_are_read_and_written)
{
	char text[UUID_TEXT];
	struct uuid uuid;

	ck_assert_str_eq(uuid_text(&example_7, text),
	    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
	ck_assert_str_eq(uuid_text(&example_4, text),
	    "919108f7-52d1-4320-9bac-f847db4148a8");
	ck_assert_int_eq(
	    uuid_parse(
		SLICE("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), &uuid, NULL),
	    0);
	ck_assert(uuid_eq(&uuid, &example_7));
	ck_assert_int_eq(
	    uuid_parse(
		SLICE("919108f7-52d1-4320-9bac-f847db4148a8"), &uuid, NULL),
	    0);
	ck_assert(uuid_eq(&uuid, &example_4));
}
END_TEST

START_TEST(only_version_7_has_a_time)
{
	ck_assert_uint_eq(uuid_ms(&example_7), UINT64_C(1645557742000));
	ck_assert_uint_eq(uuid_ms(&example_4), 0);
}
END_TEST

START_TEST(zero_is_told_from_all_others)
{
	struct uuid uuid = { 0 };

	ck_assert(uuid_is_zero(&uuid));
	for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
		uuid.bytes[i] = 1;
		ck_assert(!uuid_is_zero(&uuid));
		ck_assert(!uuid_eq(&uuid, &(struct uuid){ 0 }));
		uuid.bytes[i] = 0;
	}
}
END_TEST

static const char *const refused[] = {
	"",
	"017f22e2",
	"017f22e2-79b0-7cc3-98c4-dc0c0c07398",
	"017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
	"017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
	"017f22e2-79b0-7cc3-98c4-dc0c0c07398 ",
	"017f22e279b0-7cc3-98c4-dc0c0c07398f0",
	"017f22e2079b0-7cc3-98c4-dc0c0c07398f",
	"017f22e2-79b0-7cc3-98c40dc0c0c07398f",
	"017f22e2 79b0 7cc3 98c4 dc0c0c07398f",
	"{017f22e2-79b0-7cc3-98c4-dc0c0c0739}",
	"017f22e279b07cc398c4dc0c0c07398f",
	"-17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
};

START_TEST(refuses_other_forms)
{
	struct uuid uuid = example_4;
	struct err err = { 0 };

	ck_assert_int_eq(
	    uuid_parse(slice_string(refused[_i]), &uuid, &err), -1);
	ck_assert_int_eq(err.kind, ERR_INPUT);
	ck_assert(uuid_eq(&uuid, &example_4));
}
END_TEST

START_TEST(reads_no_byte_behind_a_text_without_end)
{
	const char text[36] = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
	struct uuid uuid;

	for (size_t len = 0; len < sizeof(text); len++)
		ck_assert_int_eq(
		    uuid_parse(slice_of(text, len), &uuid, NULL), -1);
	ck_assert_int_eq(
	    uuid_parse(slice_of(text, sizeof(text)), &uuid, NULL), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("base/uuid");
	TCase *made = tcase_create("made");
	TCase *text = tcase_create("text");

	tcase_add_test(made, version_7_carries_the_wall_clock);
	tcase_add_test(made, version_7_rises_while_the_clock_stands);
	tcase_add_test(made, version_7_rises_when_the_clock_goes_back);
	tcase_add_test(made, every_random_bit_of_version_4_takes_both_values);
	tcase_add_test(made, every_random_bit_of_version_7_takes_both_values);
	tcase_add_test(made, a_forked_child_draws_others);
	suite_add_tcase(suite, made);
	tcase_add_test(text, the_examples_of_the_rfc_are_read_and_written);
	tcase_add_test(text, only_version_7_has_a_time);
	tcase_add_test(text, zero_is_told_from_all_others);
	tcase_add_loop_test(text, refuses_other_forms, 0, COUNT(refused));
	tcase_add_test(text, reads_no_byte_behind_a_text_without_end);
	suite_add_tcase(suite, text);
	return run_suite(suite);
}
