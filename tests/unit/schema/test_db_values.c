/*
 * PostgreSQL's binary format, judged by the server: what is sent arrives, what
 * it sends is read.
 */
#include "tests/unit/schema/house.h"

#include <inttypes.h>

#include "schema/db.h"

static PGconn *conn; /* one for all tests of a process */

static void
open_conn(void)
{
	house_again(&conn, "reeve_service");
}

/* Runs a statement with these parameters, results in the binary format. */
static PGresult *
run(const char *text, struct db_params *p)
{
	const char *values[DB_PARAMS_MAX];
	int formats[DB_PARAMS_MAX];
	PGresult *result;

	ck_assert(!p->bytes.failed);
	db_params_point(p, values);
	for (int i = 0; i < p->count; i++)
		formats[i] = 1;
	result = PQexecParams(
	    conn, text, p->count, NULL, values, p->lengths, formats, 1);
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s\n%s", text,
	    PQerrorMessage(conn));
	db_params_release(p);
	return result;
}

/* The first column of the first row is true. */
static void
is_true(const char *text, struct db_params *p)
{
	PGresult *result = run(text, p);

	ck_assert_msg(db_get_bool(result, 0, 0), "false: %s", text);
	PQclear(result);
}

/* ---- single values ---- */

static const struct {
	int64_t value;
	const char *text;
} numbers[] = {
	{ 0, "0" },
	{ 1, "1" },
	{ -1, "-1" },
	{ INT16_MAX, "32767" },
	{ INT16_MIN, "-32768" },
	{ INT32_MAX, "2147483647" },
	{ INT32_MIN, "-2147483648" },
	{ 9007199254740993, "9007199254740993" },
	{ INT64_MAX, "9223372036854775807" },
	{ INT64_MIN, "-9223372036854775808" },
};

static void
number_both_ways(const char *text, void (*put)(struct db_params *, int64_t),
    int64_t value, const char *want)
{
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result;

	put(&p, value);
	db_text(&p, slice_string(want));
	result = run(text, &p);
	ck_assert_msg(db_get_bool(result, 0, 0), "%s: %s", text, want);
	ck_assert_int_eq(db_get_int(result, 0, 1), value);
	PQclear(result);
}

START_TEST(numbers_arrive_and_come_back)
{
	int64_t v = numbers[_i].value;
	const char *text = numbers[_i].text;

	number_both_ways(
	    "select $1::int8::text = $2::text, $1", db_int8, v, text);
	if (v >= INT32_MIN && v <= INT32_MAX)
		number_both_ways(
		    "select $1::int4::text = $2::text, $1", db_int4, v, text);
	if (v >= INT16_MIN && v <= INT16_MAX)
		number_both_ways(
		    "select $1::int2::text = $2::text, $1", db_int2, v, text);
}
END_TEST

START_TEST(booleans_arrive_and_come_back)
{
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result;

	db_bool(&p, true);
	db_bool(&p, false);
	result = run("select $1::bool and not $2::bool, $2", &p);
	ck_assert(db_get_bool(result, 0, 0));
	ck_assert(!db_get_bool(result, 0, 1));
	PQclear(result);
}
END_TEST

START_TEST(uuids_arrive_and_come_back)
{
	static const char text[] = "0190b0a1-1122-7334-8455-66778899aabb";
	struct db_params p = DB_PARAMS_INIT;
	struct err err = { 0 };
	struct uuid uuid, back;
	PGresult *result;

	ck_assert_int_eq(uuid_parse(slice_string(text), &uuid, &err), 0);
	db_uuid(&p, &uuid);
	db_text(&p, slice_string(text));
	result = run("select $1::uuid::text = $2::text, $1", &p);
	ck_assert(db_get_bool(result, 0, 0));
	back = db_get_uuid(result, 0, 1);
	ck_assert(uuid_eq(&uuid, &back));
	PQclear(result);
}
END_TEST

START_TEST(bytes_arrive_and_come_back)
{
	char all[256];
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	db_bytes(&p, slice_of(all, sizeof(all)));
	result = run("select length($1::bytea) = 256 and get_byte($1, 0) = 0 "
		     "and get_byte($1, 255) = 255, $1",
	    &p);
	ck_assert(db_get_bool(result, 0, 0));
	ck_assert(slice_eq(db_get(result, 0, 1), slice_of(all, sizeof(all))));
	PQclear(result);
}
END_TEST

START_TEST(text_and_json_keep_every_byte)
{
	static const char json[] =
	    "{ \"b\" : 1.10,\t\"a\": \"\\u0000\", \"b\":9007199254740993 }";
	static const char text[] = "Zwölf Boxkämpfer 🥊 '\\\"";
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result;

	db_bytes(&p, slice_string(json));
	db_text(&p, slice_string(text));
	result = run("select $1::json, $2::text", &p);
	ck_assert(slice_is(db_get(result, 0, 0), json));
	ck_assert(slice_is(db_get(result, 0, 1), text));
	PQclear(result);
}
END_TEST

START_TEST(an_empty_text_is_null_and_empty_bytes_are_empty)
{
	struct db_params p = DB_PARAMS_INIT;

	db_text(&p, (struct slice){ 0 });
	db_bytes(&p, (struct slice){ 0 });
	is_true("select $1::text is null and $2::text = ''", &p);
}
END_TEST

START_TEST(null_stands_between_values)
{
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result;

	db_int4(&p, 1);
	db_null(&p);
	db_int4(&p, 3);
	result = run("select $1::int4 = 1 and $2::int4 is null and $3::int4 = "
		     "3, $2, $3",
	    &p);
	ck_assert(db_get_bool(result, 0, 0));
	ck_assert(db_is_null(result, 0, 1));
	ck_assert(!db_is_null(result, 0, 2));
	PQclear(result);
}
END_TEST

/* ---- what is read from nulls and other kinds ---- */

START_TEST(a_null_is_read_as_nothing)
{
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result =
	    run("select null::int8, null::bool, null::text, null::uuid", &p);
	struct uuid uuid = db_get_uuid(result, 0, 3);

	ck_assert_int_eq(db_get_int(result, 0, 0), 0);
	ck_assert(!db_get_bool(result, 0, 1));
	ck_assert_uint_eq(db_get(result, 0, 2).len, 0);
	ck_assert(uuid_is_zero(&uuid));
	PQclear(result);
}
END_TEST

START_TEST(a_value_of_another_size_is_read_as_nothing)
{
	struct db_params p = DB_PARAMS_INIT;
	PGresult *result = run("select 'abc'::text, 7::int2", &p);
	struct uuid uuid = db_get_uuid(result, 0, 0);

	ck_assert_int_eq(db_get_int(result, 0, 0), 0);
	ck_assert(!db_get_bool(result, 0, 1));
	ck_assert(uuid_is_zero(&uuid));
	PQclear(result);
}
END_TEST

/* ---- arrays ---- */

START_TEST(arrays_of_every_kind_arrive)
{
	static const char id[] = "0190b0a1-1122-7334-8455-66778899aabb";
	struct db_params p = DB_PARAMS_INIT;
	struct err err = { 0 };
	struct uuid uuid;

	ck_assert_int_eq(uuid_parse(slice_string(id), &uuid, &err), 0);
	db_array(&p, DB_INT2);
	db_int2(&p, -2);
	db_int2(&p, 2);
	db_array_end(&p);
	db_array(&p, DB_INT4);
	db_int4(&p, 4);
	db_array_end(&p);
	db_array(&p, DB_INT8);
	db_int8(&p, INT64_MIN);
	db_array_end(&p);
	db_array(&p, DB_BOOL);
	db_bool(&p, true);
	db_bool(&p, false);
	db_array_end(&p);
	db_array(&p, DB_UUID);
	db_uuid(&p, &uuid);
	db_array_end(&p);
	db_array(&p, DB_TEXT);
	db_bytes(&p, SLICE("a,b"));
	db_bytes(&p, SLICE(""));
	db_array_end(&p);
	db_array(&p, DB_JSON);
	db_bytes(&p, SLICE("{\"a\": 1}"));
	db_array_end(&p);
	db_array(&p, DB_BYTEA);
	db_bytes(&p, slice_of("\0x", 2));
	db_array_end(&p);
	is_true("select $1::int2[] = '{-2,2}' and $2::int4[] = '{4}' and "
		"$3::int8[] = '{-9223372036854775808}' and "
		"$4::bool[] = '{t,f}' and $5::uuid[] = "
		"'{0190b0a1-1122-7334-8455-66778899aabb}' and "
		"$6::text[] = '{\"a,b\",\"\"}' and "
		"$7::json[]::text = '{\"{\\\"a\\\": 1}\"}' and "
		"$8::bytea[] = array['\\x0078'::bytea]",
	    &p);
}
END_TEST

START_TEST(an_empty_array_is_empty_not_null)
{
	struct db_params p = DB_PARAMS_INIT;

	db_array(&p, DB_TEXT);
	db_array_end(&p);
	db_array(&p, DB_INT8);
	db_array_end(&p);
	is_true("select $1::text[] = '{}' and cardinality($2::int8[]) = 0 and "
		"'x' <> all($1) and (select count(*) from unnest($1)) = 0",
	    &p);
}
END_TEST

START_TEST(nulls_keep_their_place_in_an_array)
{
	struct db_params p = DB_PARAMS_INIT;

	db_array(&p, DB_TEXT);
	db_null(&p);
	db_text(&p, SLICE("b"));
	db_text(&p, SLICE(""));
	db_array_end(&p);
	db_array(&p, DB_INT8);
	db_int8(&p, 1);
	db_null(&p);
	db_array_end(&p);
	db_array(&p, DB_UUID);
	db_null(&p);
	db_array_end(&p);
	db_int4(&p, 7);
	is_true("select $1::text[] is not distinct from array[null,'b',null] "
		"and $2::int8[] is not distinct from array[1,null]::int8[] "
		"and $3::uuid[] is not distinct from array[null]::uuid[] "
		"and $4::int4 = 7",
	    &p);
}
END_TEST

START_TEST(a_large_array_arrives_whole)
{
	struct db_params p = DB_PARAMS_INIT;

	db_array(&p, DB_INT8);
	for (int64_t i = 1; i <= 100000; i++)
		db_int8(&p, i);
	db_array_end(&p);
	is_true("select count(*) = 100000 and sum(v) = 5000050000 "
		"from unnest($1::int8[]) v",
	    &p);
}
END_TEST

START_TEST(parameters_are_used_again_after_clear)
{
	struct db_params p = DB_PARAMS_INIT;

	for (int round = 0; round < 3; round++) {
		db_params_clear(&p);
		db_null(&p);
		db_array(&p, DB_INT4);
		db_null(&p);
		db_array_end(&p);
	}
	db_params_clear(&p);
	db_int4(&p, 5);
	ck_assert_int_eq(p.count, 1);
	is_true("select $1::int4 = 5", &p);
}
END_TEST

/* Past its limit everything is dropped, and nothing is written outside. */
START_TEST(parameters_past_their_limit_are_marked)
{
	struct db_params p = { .bytes = BUF_INIT(64) };
	char big[128] = "";

	for (int i = 0; i < 8; i++) {
		db_array(&p, DB_TEXT);
		db_null(&p);
		db_bytes(&p, slice_of(big, (size_t)i * 9));
		db_array_end(&p);
		db_bytes(&p, slice_of(big, 30));
	}
	ck_assert(p.bytes.failed);
	ck_assert_uint_le(p.bytes.len, 64);
	db_params_release(&p);
}
END_TEST

/* ---- errors ---- */

static const struct {
	const char *sqlstate;
	enum err_kind kind;
} kinds[] = {
	{ "22P02", ERR_DB_DATA },
	{ "22021", ERR_DB_DATA },
	{ "23505", ERR_DB_DATA },
	{ "54000", ERR_DB_DATA },
	{ "P0001", ERR_DB_DATA },
	{ "40001", ERR_DB_RETRY },
	{ "40P01", ERR_DB_RETRY },
	{ "55P03", ERR_DB_RETRY },
	{ "08006", ERR_DB_ENV },
	{ "25006", ERR_DB_ENV },
	{ "53100", ERR_DB_ENV },
	{ "53300", ERR_DB_ENV },
	{ "57014", ERR_DB_ENV },
	{ "57P01", ERR_DB_ENV },
	{ "58030", ERR_DB_ENV },
	{ "XX000", ERR_DB_ENV },
	{ "42703", ERR_DB_SCHEMA },
	{ "42P01", ERR_DB_SCHEMA },
	{ "0A000", ERR_DB_SCHEMA },
	{ "26000", ERR_DB_SCHEMA },
	{ "", ERR_DB_ENV },
	{ NULL, ERR_DB_ENV },
};

START_TEST(a_sqlstate_says_whose_fault_it_is)
{
	ck_assert_msg(db_error_kind(kinds[_i].sqlstate) == kinds[_i].kind, "%s",
	    kinds[_i].sqlstate);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/db_values");
	TCase *c = tcase_create("values");

	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_loop_test(c, numbers_arrive_and_come_back, 0, COUNT(numbers));
	tcase_add_test(c, booleans_arrive_and_come_back);
	tcase_add_test(c, uuids_arrive_and_come_back);
	tcase_add_test(c, bytes_arrive_and_come_back);
	tcase_add_test(c, text_and_json_keep_every_byte);
	tcase_add_test(c, an_empty_text_is_null_and_empty_bytes_are_empty);
	tcase_add_test(c, null_stands_between_values);
	tcase_add_test(c, a_null_is_read_as_nothing);
	tcase_add_test(c, a_value_of_another_size_is_read_as_nothing);
	suite_add_tcase(suite, c);

	c = tcase_create("arrays");
	tcase_add_checked_fixture(c, open_conn, NULL);
	tcase_add_test(c, arrays_of_every_kind_arrive);
	tcase_add_test(c, an_empty_array_is_empty_not_null);
	tcase_add_test(c, nulls_keep_their_place_in_an_array);
	tcase_add_test(c, a_large_array_arrives_whole);
	tcase_add_test(c, parameters_are_used_again_after_clear);
	tcase_add_test(c, parameters_past_their_limit_are_marked);
	suite_add_tcase(suite, c);

	c = tcase_create("errors");
	tcase_add_loop_test(
	    c, a_sqlstate_says_whose_fault_it_is, 0, COUNT(kinds));
	suite_add_tcase(suite, c);
	return house_main_sql(suite, NULL);
}
