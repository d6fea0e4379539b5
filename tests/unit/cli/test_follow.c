/*
 * Promises of cli/follow.c: every stored event once and in order, across a
 * supervisor that goes, comes back or stands still. Limits are set to
 * milliseconds; what a test waits for is an event, never a time.
 */
#include "cli/follow.h"

#include <signal.h>

#include "tests/unit/cli/front.h"
#include "tests/unit/suite.h"

#define LOG_MAX 4096

static struct front front;
static struct client *client;
static char story[LOG_MAX]; /* what follow_run told, in words */

static struct follow_config config;

static const struct uuid run = { { 1, 2, 3 } };
static const struct uuid other_run = { { 9 } };

static void
tell(const char *text)
{
	size_t len = strlen(story);

	snprintf(story + len, sizeof(story) - len, "%s ", text);
}

static void
on_event(void *arg, const struct msg_event *event, struct json body)
{
	char text[128];

	(void)arg;
	ck_assert_int_eq(body.type, JSON_OBJECT);
	snprintf(text, sizeof(text), "%.*s:%d", SLICE_ARGS(event->type),
	    (int)event->seq);
	tell(text);
	if (slice_is(event->type, "stop"))
		raise(SIGTERM);
}

static void
on_note(void *arg, enum follow_note note, struct json value)
{
	(void)arg;
	switch (note) {
	case FOLLOW_CONNECTION_LOST:
		tell("LOST");
		return;
	case FOLLOW_CONNECTION_BACK:
		tell("BACK");
		return;
	case FOLLOW_WAITS:
		ck_assert(json_is(value, "a worker"));
		tell("WAITS");
		return;
	case FOLLOW_OVER:
		ck_assert(json_is(json_get(value, "state"), "failed"));
		tell("OVER");
		return;
	}
}

static void
setup(void)
{
	struct client_config client_config = { 0 };
	struct err err = { 0 };

	*story = '\0';
	front = (struct front){ 0 };
	front_place(&front);
	client_config.path = front.path;
	ck_assert_msg(
	    client_new(&client, &client_config, &err) == 0, "%s", err.text);
	config = (struct follow_config){
		.client = client,
		.run = run,
		.deltas = true,
		.on_event = on_event,
		.on_note = on_note,
	};
}

static void
teardown(void)
{
	link_free(front.link, 0);
	client_free(client);
	front_release(&front);
}

static void
follow_to_the_end(uint64_t from_seq, uint64_t last_seq)
{
	enum follow_end end;
	struct err err = { 0 };
	uint64_t seq;

	config.from_seq = from_seq;
	if (config.silence_ms == 0)
		config.silence_ms = 150;
	ck_assert_msg(
	    follow_run(&config, &end, &seq, &err) == 0, "%s", err.text);
	ck_assert_int_eq(end, FOLLOW_ENDED);
	ck_assert_uint_eq(seq, last_seq);
}

static void
event(uint64_t seq, const char *type)
{
	front_event(&front, &run, seq, type, strcmp(type, "end") == 0, "{}");
}

static void
check_watch(const struct msg *msg, uint64_t from_seq)
{
	ck_assert_int_eq(msg->id, MSG_watch);
	ck_assert(uuid_eq(&msg->watch.run, &run));
	ck_assert_uint_eq(msg->watch.from_seq, from_seq);
	ck_assert(msg->watch.deltas);
}

/* ---- events ---- */

static void
whole_run(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	check_watch(msg, 0);
	event(1, "a");
	event(1, "delta");
	event(1, "a");
	front_event(f, &other_run, 2, "foreign", true, "{}");
	event(3, "b");
	event(2, "old");
	event(3, "delta");
	event(4, "end");
	event(5, "after");
}

START_TEST(gives_each_stored_event_once_and_every_passing_one)
{
	front.on_message = whole_run;
	front_join(&front, client);
	follow_to_the_end(0, 4);
	ck_assert_str_eq(story, "a:1 delta:1 b:3 delta:3 end:4 ");
}
END_TEST

static void
late_events(struct front *f, const struct msg *msg, struct slice body)
{
	(void)f, (void)body;
	check_watch(msg, 7);
	event(7, "known");
	event(8, "end");
}

START_TEST(begins_behind_the_event_it_is_given)
{
	front.on_message = late_events;
	front_join(&front, client);
	follow_to_the_end(7, 8);
	ck_assert_str_eq(story, "end:8 ");
}
END_TEST

/* ---- the supervisor goes and comes back ---- */

static void
come_back(struct front *f)
{
	front_up(f);
}

static void
restart_in_between(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (f->count == 1) {
		check_watch(msg, 0);
		event(1, "a");
		event(2, "b");
		return;
	}
	check_watch(msg, 2);
	event(2, "b");
	event(3, "end");
}

static void
on_event_then_restart(void *arg, const struct msg_event *e, struct json body)
{
	on_event(arg, e, body);
	if (e->seq != 2)
		return;
	front_down(&front);
	front_later(&front, 100, come_back);
}

START_TEST(goes_on_from_the_last_event_after_a_restart)
{
	front.on_message = restart_in_between;
	front_join(&front, client);
	config.on_event = on_event_then_restart;
	follow_to_the_end(0, 3);
	ck_assert_str_eq(story, "a:1 b:2 LOST BACK end:3 ");
	ck_assert_uint_eq(front.count, 2);
}
END_TEST

static void
forgetful(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (msg->id == MSG_get)
		return;
	front_reply(f, msg->watch.request, "{}");
	if (f->count == 1) {
		event(1, "a");
	} else {
		check_watch(msg, 1);
		event(2, "end");
	}
}

START_TEST(asks_again_after_a_silence_without_a_word)
{
	front.on_message = forgetful;
	front_join(&front, client);
	follow_to_the_end(0, 2);
	ck_assert_str_eq(story, "a:1 end:2 ");
}
END_TEST

static void
lose_a_delta(struct front *f, const struct msg *msg, struct slice body)
{
	(void)msg, (void)body;
	if (f->count > 1) {
		check_watch(msg, 1);
		event(2, "end");
		return;
	}
	event(1, "a");
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":0,\"deltas\":[1,2]}");
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":3,\"deltas\":[4]}");
}

START_TEST(asks_for_a_snapshot_when_a_delta_was_lost)
{
	front.on_message = lose_a_delta;
	front_join(&front, client);
	config.silence_ms = 60000;
	config.gap_ms = 50;
	follow_to_the_end(0, 2);
	ck_assert_str_eq(story, "a:1 delta:1 delta:1 end:2 ");
}
END_TEST

static void
keep_up(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (msg->id == MSG_get) {
		event(2, "end");
		return;
	}
	ck_assert_uint_eq(f->count, 1);
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":3,\"deltas\":[4]}");
	front_event(f, &run, 1, "snapshot", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":4,\"deltas\":[1]}");
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":4,\"deltas\":[5,6]}");
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":1,\"offset\":6,\"deltas\":[7]}");
}

START_TEST(asks_for_nothing_when_deltas_are_complete)
{
	front.on_message = keep_up;
	front_join(&front, client);
	config.silence_ms = 60000;
	config.gap_ms = 50;
	config.waits_ms = 300;
	follow_to_the_end(0, 2);
}
END_TEST

static void
begin_anew(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (msg->id == MSG_get) {
		event(2, "end");
		return;
	}
	ck_assert_uint_eq(f->count, 1);
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":2,\"offset\":2,\"deltas\":[1]}");
	front_event(f, &run, 1, "delta", false,
	    "{\"turn\":1,\"attempt\":3,\"offset\":0,\"deltas\":[1]}");
}

START_TEST(forgets_a_gap_with_the_attempt)
{
	front.on_message = begin_anew;
	front_join(&front, client);
	config.silence_ms = 60000;
	config.gap_ms = 50;
	config.waits_ms = 300;
	follow_to_the_end(0, 2);
}
END_TEST

static void
one_event(struct front *f, const struct msg *msg, struct slice body)
{
	(void)msg, (void)body;
	if (f->count == 1)
		event(6, "a");
}

START_TEST(gives_up_on_a_supervisor_that_stands_still)
{
	enum follow_end end = FOLLOW_DETACHED;
	struct err err = { 0 };
	uint64_t seq = 0;

	front.mute = true;
	front.on_message = one_event;
	front_join(&front, client);
	config.silence_ms = 100;
	config.answer_ms = 1500;
	config.lost_ms = 1500;
	ck_assert_int_eq(follow_run(&config, &end, &seq, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_ptr_nonnull(strstr(err.text, front.path));
	ck_assert_uint_eq(seq, 6);
	ck_assert_int_eq(end, FOLLOW_DETACHED);
	ck_assert_str_eq(story, "a:6 LOST ");
}
END_TEST

START_TEST(gives_up_sooner_when_there_never_was_a_supervisor)
{
	enum follow_end end;
	struct err err = { 0 };
	uint64_t seq;

	config.answer_ms = 200;
	config.lost_ms = 60000;
	ck_assert_int_eq(follow_run(&config, &end, &seq, &err), -1);
	ck_assert_int_eq(err.kind, ERR_PEER);
	ck_assert_str_eq(story, "");
}
END_TEST

/* ---- refusals ---- */

static void
refuse_missing(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	front_refuse(f, msg->watch.request, "missing", "there is no such run");
}

START_TEST(says_that_there_is_no_such_run)
{
	enum follow_end end;
	struct err err = { 0 };
	uint64_t seq;

	front.on_message = refuse_missing;
	front_join(&front, client);
	ck_assert_int_eq(follow_run(&config, &end, &seq, &err), -1);
	ck_assert_int_eq(err.kind, ERR_MISSING);
	ck_assert_str_eq(err.text, "there is no such run");
}
END_TEST

static void
trouble_in_between(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (msg->id == MSG_get)
		return;
	if (f->count == 1)
		event(1, "a");
	else if (f->count == 2)
		front_refuse(f, msg->watch.request, "busy", "no database");
	else
		event(2, "end");
}

START_TEST(bears_with_trouble_once_it_was_watching)
{
	front.on_message = trouble_in_between;
	front_join(&front, client);
	follow_to_the_end(0, 2);
	ck_assert_str_eq(story, "a:1 LOST BACK end:2 ");
}
END_TEST

static void
refuse_busy(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	front_refuse(f, msg->watch.request, "busy", "no database");
}

START_TEST(does_not_wait_for_one_that_is_busy_from_the_start)
{
	enum follow_end end;
	struct err err = { 0 };
	uint64_t seq;

	front.on_message = refuse_busy;
	front_join(&front, client);
	ck_assert_int_eq(follow_run(&config, &end, &seq, &err), -1);
	ck_assert_int_eq(err.kind, ERR_BUSY);
}
END_TEST

/* ---- people ---- */

static void
say_stop(struct front *f, const struct msg *msg, struct slice body)
{
	(void)f, (void)msg, (void)body;
	event(3, "stop");
}

START_TEST(detaches_at_a_signal_and_knows_the_place)
{
	enum follow_end end;
	struct err err = { 0 };
	uint64_t seq;

	front.on_message = say_stop;
	front_join(&front, client);
	ck_assert_int_eq(follow_run(&config, &end, &seq, &err), 0);
	ck_assert_int_eq(end, FOLLOW_DETACHED);
	ck_assert_uint_eq(seq, 3);
}
END_TEST

static void
explain(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (msg->id == MSG_watch) {
		front_reply(f, msg->watch.request, "{}");
		return;
	}
	ck_assert_int_eq(msg->id, MSG_get);
	ck_assert(uuid_eq(&msg->get.run, &run));
	front_reply(
	    f, msg->get.request, "{\"run\":{\"waits_for\":\"a worker\"}}");
	event(1, "end");
}

START_TEST(asks_what_a_run_waits_for_when_nothing_happens)
{
	front.on_message = explain;
	front_join(&front, client);
	config.waits_ms = 100;
	follow_to_the_end(0, 1);
	ck_assert_str_eq(story, "WAITS end:1 ");
}
END_TEST

static void
tell_the_row_only(struct front *f, const struct msg *msg, struct slice body)
{
	(void)body;
	if (msg->id == MSG_get)
		front_reply(f, msg->get.request,
		    "{\"run\":{\"state\":\"failed\",\"finished_at\":\"x\"}}");
}

START_TEST(ends_when_the_last_event_lies_before_its_place)
{
	front.on_message = tell_the_row_only;
	front_join(&front, client);
	config.waits_ms = 50;
	follow_to_the_end(9, 9);
	ck_assert_str_eq(story, "OVER ");
}
END_TEST

static void
end_after_two_rows(struct front *f, const struct msg *msg, struct slice body)
{
	if (msg->id != MSG_get)
		return;
	if (f->count == 4) {
		event(2, "end");
		return;
	}
	tell_the_row_only(f, msg, body);
	if (f->count == 2)
		event(1, "a");
}

/* Each event that comes shows that more may come: the row is looked at anew. */
START_TEST(prefers_events_to_the_row)
{
	front.on_message = end_after_two_rows;
	front_join(&front, client);
	config.waits_ms = 50;
	config.silence_ms = 60000;
	follow_to_the_end(0, 2);
	ck_assert_str_eq(story, "a:1 end:2 ");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cli/follow");
	TCase *events = tcase_create("events"),
	      *lost = tcase_create("restarts");
	TCase *refusal = tcase_create("refusals");
	TCase *person = tcase_create("people");
	TCase *all[] = { events, lost, refusal, person };

	tcase_add_test(
	    events, gives_each_stored_event_once_and_every_passing_one);
	tcase_add_test(events, begins_behind_the_event_it_is_given);
	tcase_add_test(lost, goes_on_from_the_last_event_after_a_restart);
	tcase_add_test(lost, asks_again_after_a_silence_without_a_word);
	tcase_add_test(lost, asks_for_a_snapshot_when_a_delta_was_lost);
	tcase_add_test(lost, asks_for_nothing_when_deltas_are_complete);
	tcase_add_test(lost, forgets_a_gap_with_the_attempt);
	tcase_add_test(lost, gives_up_on_a_supervisor_that_stands_still);
	tcase_add_test(lost, gives_up_sooner_when_there_never_was_a_supervisor);
	tcase_add_test(refusal, says_that_there_is_no_such_run);
	tcase_add_test(refusal, bears_with_trouble_once_it_was_watching);
	tcase_add_test(
	    refusal, does_not_wait_for_one_that_is_busy_from_the_start);
	tcase_add_test(person, detaches_at_a_signal_and_knows_the_place);
	tcase_add_test(person, asks_what_a_run_waits_for_when_nothing_happens);
	tcase_add_test(person, ends_when_the_last_event_lies_before_its_place);
	tcase_add_test(person, prefers_events_to_the_row);
	for (size_t i = 0; i < COUNT(all); i++) {
		tcase_add_checked_fixture(all[i], setup, teardown);
		suite_add_tcase(suite, all[i]);
	}
	return run_suite(suite);
}
