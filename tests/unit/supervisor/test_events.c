/*
 * Promises about events: what a committed step tells watchers, in which order,
 * with growing numbers.
 */
#include <check.h>

#include "base/json.h"
#include "supervisor/events.h"
#include "tests/unit/suite.h"

#define SEEN_MAX 16

struct seen {
	size_t count;
	uint64_t seq[SEEN_MAX];
	const char *type[SEEN_MAX];
	bool final[SEEN_MAX];
	struct buf body[SEEN_MAX];
};

static void
see(void *arg, uint64_t seq, const char *type, bool final, uint64_t at_ms,
    struct slice body)
{
	struct seen *seen = arg;
	size_t i = seen->count++;
	struct json checked;

	ck_assert_uint_lt(i, SEEN_MAX);
	ck_assert_int_eq(json_parse(body, &checked, NULL, NULL), 0);
	seen->seq[i] = seq;
	seen->type[i] = type;
	seen->final[i] = final;
	ck_assert_uint_eq(at_ms, 0);
	seen->body[i] = BUF_INIT(65536);
	buf_put_slice(&seen->body[i], body);
}

static struct json
body_of(const struct seen *seen, size_t i)
{
	struct json value;

	ck_assert_int_eq(
	    json_parse(buf_slice(&seen->body[i]), &value, NULL, NULL), 0);
	return value;
}

static void
forget(struct seen *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		buf_release(&seen->body[i]);
}

#define CALL_ITEM                                                              \
	"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"t\","       \
	"\"arguments\":\"{}\"}"
#define TEXT_ITEM                                                              \
	"{\"type\":\"message\",\"content\":[{\"type\":\"output_text\","        \
	"\"text\":\"a\\u00e9\"},{\"type\":\"output_text\",\"text\":\"b\"}]}"

static void
add_item(struct step *step, enum item_category category, uint32_t idx,
    struct slice type, struct slice item)
{
	*step_add_item(step) = (struct item_row){ .turn = 1,
		.category = category,
		.idx = idx,
		.type = type,
		.item = item };
}

START_TEST(an_accepted_run_tells_its_acceptance_first)
{
	struct step step = { .accept = true, .agent = SLICE("a") };
	struct seen seen = { 0 };

	add_item(&step, ITEM_INPUT, 0, SLICE("message"), SLICE(TEXT_ITEM));
	step.turn_start = ARENA_NEW(&step.arena, struct turn_start_row);
	*step.turn_start = (struct turn_start_row){ .turn = 1,
		.attempt = 1,
		.model = SLICE("m"),
		.at.worker = SLICE("w") };
	events_of_step(&step, 1, see, &seen);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_str_eq(seen.type[0], "run_accepted");
	ck_assert_uint_eq(seen.seq[0], 1);
	ck_assert(json_is(json_get(body_of(&seen, 0), "agent"), "a"));
	ck_assert_str_eq(seen.type[1], "turn_started");
	ck_assert_uint_eq(seen.seq[1], (UINT64_C(1) << 20) + 1);
	forget(&seen);
	step_release(&step);
}
END_TEST

START_TEST(a_response_with_a_call_tells_turn_items_call_and_start)
{
	static const char *const types[] = { "turn_completed",
		"reasoning_item_created", "message_output_created",
		"tool_called", "item_created", "tool_started" };
	struct step step = { 0 };
	struct seen seen = { 0 };

	step.turn_end = ARENA_NEW(&step.arena, struct turn_end_row);
	*step.turn_end =
	    (struct turn_end_row){ .turn = 1, .attempt = 2, .state = "done" };
	add_item(&step, ITEM_RESPONSE, 0, SLICE("reasoning"), SLICE("{}"));
	add_item(&step, ITEM_RESPONSE, 1, SLICE("message"), SLICE(TEXT_ITEM));
	add_item(
	    &step, ITEM_RESPONSE, 2, SLICE("function_call"), SLICE(CALL_ITEM));
	add_item(
	    &step, ITEM_RESPONSE, 3, SLICE("web_search_call"), SLICE("{}"));
	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_NEW,
		.turn = 1,
		.call = 1,
		.attempt = 1,
		.item_idx = 2,
		.state = "dispatched",
		.at.worker = SLICE("w") };
	events_of_step(&step, 7, see, &seen);
	ck_assert_uint_eq(seen.count, COUNT(types));
	for (size_t i = 0; i < seen.count; i++) {
		ck_assert_str_eq(seen.type[i], types[i]);
		ck_assert_uint_eq(seen.seq[i], (UINT64_C(7) << 20) + i + 1);
		ck_assert(!seen.final[i]);
	}
	ck_assert(json_is(json_get(body_of(&seen, 3), "call_id"), "c1"));
	forget(&seen);
	step_release(&step);
}
END_TEST

START_TEST(another_attempt_tells_watchers_to_drop_the_turn)
{
	struct step step = { 0 };
	struct seen seen = { 0 };

	step.turn_end = ARENA_NEW(&step.arena, struct turn_end_row);
	*step.turn_end = (struct turn_end_row){ .turn = 1,
		.attempt = 1,
		.state = "failed",
		.error_class = SLICE("server") };
	step.turn_start = ARENA_NEW(&step.arena, struct turn_start_row);
	*step.turn_start = (struct turn_start_row){ .turn = 1, .attempt = 2 };
	events_of_step(&step, 3, see, &seen);
	ck_assert_uint_eq(seen.count, 3);
	ck_assert_str_eq(seen.type[0], "turn_failed");
	ck_assert_str_eq(seen.type[1], "turn_reset");
	ck_assert_str_eq(seen.type[2], "turn_started");
	forget(&seen);
	step_release(&step);
}
END_TEST

START_TEST(the_end_is_the_last_event_and_holds_the_output)
{
	struct step step = {
		.run = { .state = "completed", .final = true, .turn = 2 }
	};
	struct seen seen = { 0 };
	struct json end;

	add_item(&step, ITEM_RESPONSE, 0, SLICE("message"), SLICE(TEXT_ITEM));
	events_of_step(&step, 9, see, &seen);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_str_eq(seen.type[1], "run_ended");
	ck_assert(seen.final[1] && !seen.final[0]);
	end = body_of(&seen, 1);
	ck_assert(json_is(json_get(end, "output"), "a\xc3\xa9"
						   "b"));
	ck_assert(json_is(json_get(end, "state"), "completed"));
	ck_assert_int_eq(json_get(end, "error").type, JSON_NULL);
	forget(&seen);
	step_release(&step);
}
END_TEST

START_TEST(an_output_is_told_with_its_outcome)
{
	struct step step = { 0 };
	struct seen seen = { 0 };

	*step_add_call(&step) = (struct call_row){ .kind = CALL_ROW_END,
		.turn = 1,
		.call = 2,
		.state = "done",
		.outcome = SLICE("ok"),
		.name = SLICE("t"),
		.call_id = SLICE("c2"),
		.output = SLICE("{\"output\":\"fine\"}") };
	events_of_step(&step, 4, see, &seen);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_str_eq(seen.type[0], "tool_output");
	ck_assert(json_is(json_get(body_of(&seen, 0), "output"), "fine"));
	ck_assert(json_is(json_get(body_of(&seen, 0), "outcome"), "ok"));
	forget(&seen);
	step_release(&step);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("supervisor/events");
	TCase *events = tcase_create("events");

	tcase_add_test(events, an_accepted_run_tells_its_acceptance_first);
	tcase_add_test(
	    events, a_response_with_a_call_tells_turn_items_call_and_start);
	tcase_add_test(events, another_attempt_tells_watchers_to_drop_the_turn);
	tcase_add_test(events, the_end_is_the_last_event_and_holds_the_output);
	tcase_add_test(events, an_output_is_told_with_its_outcome);
	suite_add_tcase(suite, events);
	return run_suite(suite);
}
