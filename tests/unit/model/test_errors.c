/*
 * workers/model/errors.c and retry.c: what a failure is, in every shape that
 * providers give it, and how long to wait.
 */
#include <check.h>

#include "base/alloc.h"
#include "tests/unit/suite.h"
#include "workers/model/errors.h"

#define JSON_TEXT(...) #__VA_ARGS__

/* ---- what was said ---- */

/* clang-format off */
static const struct {
	const char *json, *code, *message;
	unsigned status;
} shapes[] = {
	{ JSON_TEXT({"error":{"message":"m","type":"t","param":null,
	    "code":"c"}}), "c", "m", 0 },
	{ JSON_TEXT({"error":{"message":"m","type":"t","code":null}}),
	    "t", "m", 0 },
	{ JSON_TEXT({"code":"invalid-argument","error":"no such model"}),
	    "invalid-argument", "no such model", 0 },
	{ JSON_TEXT({"error":{"code":502,"message":"m"}}), "502", "m", 502 },
	{ JSON_TEXT({"error":{"code":7,"message":"m"}}), "7", "m", 0 },
	{ JSON_TEXT({"type":"error","code":"c","message":"m"}), "c", "m", 0 },
	{ JSON_TEXT({"object":"error","message":"m"}), "", "m", 0 },
	{ JSON_TEXT({"detail":"m"}), "", "m", 0 },
	{ JSON_TEXT({"detail":[{"loc":["body"],"msg":"m"}]}), "", "m", 0 },
	{ JSON_TEXT({"errors":[{"message":"m","code":"c"},{"message":"n"}]}),
	    "c", "m", 0 },
	{ JSON_TEXT({"error":null,"message":"m"}), "", "m", 0 },
};
/* clang-format on */

START_TEST(finds_code_and_message_in_every_shape)
{
	struct failure failure = { 0 };
	struct json value;

	ck_assert_int_eq(
	    json_parse(slice_string(shapes[_i].json), &value, NULL, NULL), 0);
	ck_assert(failure_read(&failure, value));
	failure_classify(&failure);
	ck_assert_str_eq(failure.code, shapes[_i].code);
	ck_assert_str_eq(failure.message, shapes[_i].message);
	ck_assert_uint_eq(failure.status, shapes[_i].status);
	failure_release(&failure);
}
END_TEST

START_TEST(finds_nothing_where_nothing_is_said)
{
	static const char *const texts[] = { "{}", "{\"error\":null}",
		"{\"a\":1}", "[]", "null", "{\"error\":{}}" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct failure failure = { 0 };
		struct json value;

		ck_assert_int_eq(
		    json_parse(slice_string(texts[i]), &value, NULL, NULL), 0);
		ck_assert(!failure_read(&failure, value));
		ck_assert_ptr_null(failure.message);
	}
}
END_TEST

START_TEST(keeps_the_first_code_and_the_longer_message)
{
	static const char *const texts[] = {
		"{\"error\":{\"code\":null,\"message\":\"short\"}}",
		"{\"error\":{\"code\":\"first\",\"message\":\"much longer\"}}",
		"{\"error\":{\"code\":\"second\",\"message\":\"mid one\"}}",
	};
	struct failure failure = { 0 };
	struct json value;

	for (size_t i = 0; i < COUNT(texts); i++) {
		ck_assert_int_eq(
		    json_parse(slice_string(texts[i]), &value, NULL, NULL), 0);
		failure_read(&failure, value);
	}
	ck_assert_str_eq(failure.code, "first");
	ck_assert_str_eq(failure.message, "much longer");
	failure_release(&failure);
}
END_TEST

static const struct {
	const char *body, *code, *message;
} bodies[] = {
	{ "\n\n {\"error\":{\"message\":\"m\",\"code\":\"c\"}}", "c", "m" },
	/* JSON glued to an event */
	{ "{\"error\":{\"message\":\"m}\\\"{\",\"type\":\"t\"}}event: x\ndata:"
	  " {}\n\n",
	    "t", "m}\"{" },
	{ "<html><head><title>502</title></head>\n<body>Bad  gateway</body>",
	    "", "502 Bad gateway" },
	{ "upstream gone", "", "upstream gone" },
	{ "{\"error\":{\"message\":\"cut of", "",
	    "{\"error\":{\"message\":\"cut of" },
	{ "a\xFF\xFE"
	  "b",
	    "",
	    "a\xEF\xBF\xBD\xEF\xBF\xBD"
	    "b" },
};

START_TEST(reads_a_body_of_any_kind)
{
	struct failure failure = { 0 };

	failure_read_body(&failure, slice_string(bodies[_i].body));
	failure_classify(&failure);
	ck_assert_str_eq(failure.code, bodies[_i].code);
	ck_assert_str_eq(failure.message, bodies[_i].message);
	failure_release(&failure);
}
END_TEST

START_TEST(cuts_a_long_message_between_characters)
{
	struct failure failure = { 0 };
	struct buf text = BUF_INIT(100000);

	buf_puts(&text, "x");
	for (size_t i = 0; i < 5000; i++)
		buf_puts(&text, "\xE2\x82\xAC");
	buf_putc(&text, '\0');
	failure_set(&failure, "client_x", "%s", text.ptr);
	ck_assert_uint_le(strlen(failure.message), LIMIT_TEXT);
	ck_assert_uint_gt(strlen(failure.message), LIMIT_TEXT - 5);
	ck_assert_uint_eq(strlen(failure.message) % 3, 1);
	failure_release(&failure);
	buf_release(&text);
}
END_TEST

START_TEST(hides_a_secret_wherever_it_stands)
{
	struct failure failure = { 0 };

	failure_set(&failure, "c", "sk-1234 and sk-1234sk-1234, sk-123");
	failure_hide(&failure, "sk-1234");
	ck_assert_str_eq(
	    failure.message, "[hidden] and [hidden][hidden], sk-123");
	failure_release(&failure);
}
END_TEST

/* ---- what it means ---- */

static const struct {
	const char *code, *type, *message;
	unsigned status;
	const char *name, *short_name;
	bool retry;
} meanings[] = {
#define R "rate_limited", "rate", true
#define S "server", "server", true
#define I "invalid_request", "request", false
#define A "auth", "auth", false
#define Q "quota", "quota", false
#define C "context_length", "context", false
#define T "state", "state", false
#define O "overloaded", "overload", true
#define F "content_filter", "request", false
	{ "rate_limit_exceeded", "tokens", "", 0, R },
	{ "", "requests", "", 429, R },
	{ "slow_down", "", "", 0, R },
	{ "", "", "", 429, R },
	{ "rate_limit_exceeded", "tokens", "Request too large: must be reduced",
	    429, I },
	{ "server_is_overloaded", "", "", 0, O },
	{ "", "service_unavailable_error", "", 0, O },
	{ "", "", "", 503, O },
	{ "", "", "", 529, O },
	{ "insufficient_quota", "insufficient_quota", "", 429, Q },
	{ "monthly_spend_limit_exceeded", "", "", 429, Q },
	{ "", "", "", 402, Q },
	{ "context_length_exceeded", "invalid_request_error", "", 400, C },
	{ "", "invalid_request_error",
	    "Your input exceeds the context window of this model", 400, C },
	{ "invalid_api_key", "invalid_request_error", "", 401, A },
	{ "", "invalid_request_error", "You provided no key", 401, A },
	{ "", "", "", 403, A },
	{ "client_html", "", "", 403, A },
	{ "", "invalid_request_error", "", 400, I },
	{ "", "invalid_request_error", "", 0, I },
	{ "model_not_found", "", "", 404, I },
	{ "", "", "", 422, I },
	{ "image_too_large", "", "", 400, I },
	{ "image_content_policy_violation", "", "", 400, F },
	{ "cyber_policy", "", "", 400, F },
	{ "previous_response_not_found", "", "", 400, T },
	{ "invalid_encrypted_content", "", "", 400, T },
	{ "", "invalid_request_error",
	    "Item with id 'rs_1' not found. Items are not persisted", 404, T },
	{ "continuation_unavailable", "", "", 409, T },
	{ "", "", "The reasoning_text in the thinking mode must be passed back",
	    400, T },
	{ "server_error", "", "", 200, S },
	{ "", "upstream_error", "", 502, S },
	{ "", "", "", 500, S },
	{ "", "", "", 524, S },
	{ "client_html", "", "", 200, S },
	{ "", "", "", 0, S },
	{ "never_seen_before", "neither", "", 0, S },
	{ "", "", "", 408, "timeout", "server", true },
	{ "", "", "", 302, "protocol", "config", false },
	{ "client_event_too_large", "", "", 200, "protocol", "config", false },
#undef R
#undef S
#undef I
#undef A
#undef Q
#undef C
#undef T
#undef O
#undef F
};

START_TEST(puts_each_failure_into_its_class)
{
	struct failure failure = { .status = meanings[_i].status };

	failure_set(&failure, meanings[_i].code, "%s", meanings[_i].message);
	snprintf(failure.type, sizeof(failure.type), "%s", meanings[_i].type);
	failure_classify(&failure);
	ck_assert_str_eq(error_name(failure.class), meanings[_i].name);
	ck_assert_str_eq(
	    error_short_name(failure.class), meanings[_i].short_name);
	ck_assert_int_eq(
	    failure_may_retry(&failure, false), meanings[_i].retry);
	ck_assert(!failure_may_retry(&failure, true));
	failure_release(&failure);
}
END_TEST

START_TEST(a_class_that_was_decided_stays)
{
	struct failure failure = { .class = ERROR_cut, .decided = true };

	failure_set(&failure, "server_error", "x");
	failure_classify(&failure);
	ck_assert_int_eq(failure.class, ERROR_cut);
	failure_release(&failure);
}
END_TEST

START_TEST(the_providers_advice_wins_but_for_a_long_wait)
{
	struct failure failure = { .class = ERROR_rate_limited };

	failure.advice = RETRY_NO;
	ck_assert(!failure_may_retry(&failure, false));
	failure.class = ERROR_invalid_request;
	failure.advice = RETRY_YES;
	ck_assert(failure_may_retry(&failure, false));
	failure.wait_ms = 120000;
	ck_assert(failure_may_retry(&failure, false));
	failure.wait_ms = 120001;
	ck_assert(!failure_may_retry(&failure, false));
}
END_TEST

/* ---- waits ---- */

#define WALL 1445412480000u /* Wed, 21 Oct 2015 07:28:00 GMT */

static const struct {
	const char *after_ms, *after;
	uint64_t wait;
} waits[] = {
	{ NULL, NULL, 0 },
	{ NULL, "30", 30000 },
	{ NULL, "0.25", 250 },
	{ "1250.5", "30", 1250 },
	{ "0", "30", 30000 },
	{ "-5", "30", 30000 },
	{ "soon", "30", 30000 },
	{ "nan", "inf", 0 },
	{ NULL, "-1", 0 },
	{ NULL, "0", 0 },
	{ NULL, "1e300", 0 },
	{ NULL, "121", 121000 },
	{ NULL, "30 apples", 0 },
	{ NULL, "Wed, 21 Oct 2015 07:28:05 GMT", 5000 },
	{ NULL, "Wed, 21 Oct 2015 07:28:00 GMT", 0 },
	{ NULL, "Wed, 21 Oct 2015 07:27:00 GMT", 0 },
	{ "0.2", NULL, 1 },
};

START_TEST(reads_how_long_to_wait_from_the_headers)
{
	ck_assert_uint_eq(
	    retry_wait_ms(waits[_i].after_ms, waits[_i].after, WALL),
	    waits[_i].wait);
}
END_TEST

static const struct {
	const char *text;
	uint64_t wait;
} texts[] = {
	{ "Please try again in 11.054s. Visit x", 11054 },
	{ "please Try Again In 28ms.", 28 },
	{ "try again in 35 seconds", 35000 },
	{ "try again in 1 second.", 1000 },
	{ "try again in 1m53.425s", 113425 },
	{ "try again in 2h", 7200000 },
	{ "try again in 6m0s", 360000 },
	{ "try again later", 0 },
	{ "try again in a while", 0 },
	{ "try again in 7 apples", 0 },
	{ "try again in ", 0 },
	{ "11.054s", 0 },
	{ "", 0 },
};

START_TEST(reads_how_long_to_wait_from_the_message)
{
	ck_assert_uint_eq(retry_text_ms(texts[_i].text), texts[_i].wait);
}
END_TEST

START_TEST(a_wait_in_the_message_counts_when_no_header_said_one)
{
	struct failure failure = { 0 };

	failure_set(&failure, "rate_limit_exceeded", "try again in 3s");
	failure_classify(&failure);
	ck_assert_uint_eq(failure.wait_ms, 3000);
	failure.wait_ms = 500;
	failure_classify(&failure);
	ck_assert_uint_eq(failure.wait_ms, 500);
	failure_release(&failure);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("errors");
	TCase *said = tcase_create("said");
	TCase *means = tcase_create("means");
	TCase *wait = tcase_create("wait");

	tcase_add_loop_test(
	    said, finds_code_and_message_in_every_shape, 0, (int)COUNT(shapes));
	tcase_add_test(said, finds_nothing_where_nothing_is_said);
	tcase_add_test(said, keeps_the_first_code_and_the_longer_message);
	tcase_add_loop_test(
	    said, reads_a_body_of_any_kind, 0, (int)COUNT(bodies));
	tcase_add_test(said, cuts_a_long_message_between_characters);
	tcase_add_test(said, hides_a_secret_wherever_it_stands);
	suite_add_tcase(s, said);
	tcase_add_loop_test(
	    means, puts_each_failure_into_its_class, 0, (int)COUNT(meanings));
	tcase_add_test(means, a_class_that_was_decided_stays);
	tcase_add_test(means, the_providers_advice_wins_but_for_a_long_wait);
	suite_add_tcase(s, means);
	tcase_add_loop_test(wait, reads_how_long_to_wait_from_the_headers, 0,
	    (int)COUNT(waits));
	tcase_add_loop_test(wait, reads_how_long_to_wait_from_the_message, 0,
	    (int)COUNT(texts));
	tcase_add_test(
	    wait, a_wait_in_the_message_counts_when_no_header_said_one);
	suite_add_tcase(s, wait);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
