/*
 * What people and programs read: the views over rows of every kind, and that
 * everything in schema reeve is described.
 */
#include "tests/unit/schema/house.h"

static PGconn *owner;

#define RUN "0190b0a1-1122-7334-8455-66778899aab0"

static void
open_owner(void)
{
	house_again(&owner, "reeve_owner");
	house_empty(owner);
}

/* ---- one truth ---- */

static const char states[] =
#define STATE(name, final, meaning) #name "\n"
#define EVENT(name, meaning)
#define ON(state, event, action, next)
#include "supervisor/loop/run_table.def"
#undef STATE
#undef EVENT
#undef ON
    "";

START_TEST(the_states_of_a_row_are_those_of_the_machine)
{
	sql_gives(owner, states,
	    "select string_agg(s::text || E'\\n', '') from "
	    "unnest(enum_range(null::reeve_store.run_state)) s");
}
END_TEST

static const struct {
	const char *type, *labels;
} enums[] = {
	{ "turn_state", "{dispatched,done,failed,refused,lost,cancelled}" },
	{ "call_state", "{queued,dispatched,done,cancelled}" },
};

START_TEST(states_of_turns_and_calls_are_those_of_a_step)
{
	sql_gives(owner, enums[_i].labels,
	    "select enum_range(null::"
	    "reeve_store.%s)",
	    enums[_i].type);
}
END_TEST

static const struct {
	const char *sqlstate, *text;
} texts[] = {
	{ "22P02", "insert into reeve_store.runs (id, root, agent, "
		   "agent_version, state) values ('" RUN "', '" RUN
		   "', 'a', 1, 'done')" },
	{ "22P02", "insert into reeve_store.turns (run, turn, attempt, state, "
		   "worker, process, worker_session, model, start_step, "
		   "queued_at) values ('" RUN "', 1, 1, 'completed', 'w', '" RUN
		   "', 1, 'm', 1, now())" },
	{ "22P02", "insert into reeve_store.tool_calls (run, turn, call, "
		   "item_idx, call_id, name, state, bound_step) values ('" RUN
		   "', 1, 1, 0, 'c', 'n', 'lost', 1)" },
	{ "23514",
	    "insert into reeve_store.inbox (run, kind, key) values ('" RUN
	    "', 'note', '')" },
};

START_TEST(a_word_that_is_not_in_the_list_is_refused)
{
	sql_refused(owner, texts[_i].sqlstate, "", "%s", texts[_i].text);
}
END_TEST

/* ---- described ---- */

START_TEST(every_schema_view_and_function_is_described)
{
	sql_gives(owner, "",
	    "select nspname from pg_namespace n where nspname like 'reeve%%' "
	    "and obj_description(oid, 'pg_namespace') is null");
	sql_gives(owner, "",
	    "select relname from pg_class where relnamespace = "
	    "'reeve'::regnamespace and obj_description(oid, 'pg_class') is "
	    "null");
	sql_gives(owner, "",
	    "select proname from pg_proc where pronamespace = "
	    "'reeve'::regnamespace and obj_description(oid, 'pg_proc') is "
	    "null");
}
END_TEST

START_TEST(every_column_of_a_view_is_described)
{
	sql_gives(owner, "",
	    "select c.relname, a.attname from pg_class c join pg_attribute a "
	    "on a.attrelid = c.oid where c.relnamespace = "
	    "'reeve'::regnamespace and c.relkind = 'v' and a.attnum > 0 and "
	    "coalesce(col_description(c.oid, a.attnum), '') !~ '^\\S.*[.…]$'");
}
END_TEST

/* ---- runs ---- */

static const struct {
	const char *state, *live, *queued, *seen;
} seen[] = {
	{ "queued", "t", "t", "queued" },
	{ "model", "t", "f", "running" },
	{ "tools", "t", "f", "running" },
	{ "waiting_approval", "t", "f", "waiting_approval" },
	{ "completed", "f", "f", "completed" },
	{ "incomplete", "f", "f", "incomplete" },
	{ "failed", "f", "f", "failed" },
	{ "cancelled", "f", "f", "cancelled" },
};

static void
add_run(const char *id, const char *columns, const char *values)
{
	sql(owner,
	    "insert into reeve_store.runs (id, root, agent, agent_version%s) "
	    "values ('%s', '%s', 'a', 1%s)",
	    columns, id, id, values);
}

START_TEST(a_state_is_shown_in_words_for_people)
{
	add_run(RUN, "", "");
	sql(owner,
	    "update reeve_store.runs set state = '%s', live = '%s', "
	    "queued = '%s'",
	    seen[_i].state, seen[_i].live, seen[_i].queued);
	sql_gives(owner, seen[_i].seen, "select state from reeve.runs");
}
END_TEST

static const struct {
	const char *columns, *values, *waits_for;
} waits[] = {
	{ "", "", "a supervisor to start it" },
	{ ", waits_for", ", 'a free worker'", "a free worker" },
	{ ", queue_at", ", '2031-02-03 04:05:06+00'",
	    "its time: 2031-02-03T04:05:06Z" },
	{ ", session", ", 's'", "an earlier run of session s" },
	{ ", session, queue_at", ", 's', '2031-02-03 04:05:06+00'",
	    "its time: 2031-02-03T04:05:06Z" },
	{ ", session, queue_at", ", 's', '2001-01-01'",
	    "an earlier run of session s" },
	{ ", session", ", 'other'", "a supervisor to start it" },
	{ ", session, state, queued, waits_for", ", 's', 'tools', false, 'x'",
	    "x" },
	{ ", state, live, queued, waits_for", ", 'failed', false, false, 'x'",
	    "" },
};

START_TEST(a_run_says_what_it_waits_for)
{
	/* One run of session s is active, an ended one waits for nothing. */
	add_run("0190b0a1-1122-7334-8455-66778899aab1",
	    ", session, state, queued", ", 's', 'model', false");
	add_run("0190b0a1-1122-7334-8455-66778899aab2",
	    ", session, state, queued, live, queue_at",
	    ", 'other', 'completed', false, false, '2001-01-01'");
	add_run(RUN, waits[_i].columns, waits[_i].values);
	sql_gives(owner, waits[_i].waits_for,
	    "select waits_for from reeve.runs where id = '" RUN "'");
}
END_TEST

static void
add_item(int turn, int category, int index, const char *type, const char *item)
{
	sql(owner,
	    "insert into reeve_store.items (run, turn, category, idx, "
	    "step, type, item) values ('" RUN "', %d, %d, %d, 1, '%s', "
	    "$j$%s$j$)",
	    turn, category, index, type, item);
}

static const struct {
	const char *item, *output;
} outputs[] = {
	{ "{\"content\":[{\"type\":\"output_text\",\"text\":\"Hel\"},"
	  "{\"type\":\"refusal\",\"refusal\":\"no\"},"
	  "{\"type\":\"output_text\",\"text\":\"lo\"}]}",
	    "Hello" },
	{ "{\"content\":[]}", "" },
	{ "{\"content\":\"text\"}", "text" },
	{ "{\"content\":{\"type\":\"output_text\"}}", "" },
	{ "{\"content\":null}", "" },
	{ "{}", "" },
	{ "{\"content\":[1,\"x\",null,[]]}", "" },
};

START_TEST(the_output_is_the_text_of_the_last_message)
{
	add_run(RUN, ", state, live, queued", ", 'completed', false, false");
	add_item(1, 1, 0, "message",
	    "{\"content\":[{\"type\":\"output_text\","
	    "\"text\":\"first\"}]}");
	add_item(2, 1, 1, "message", outputs[_i].item);
	add_item(2, 1, 2, "reasoning", "{}");
	sql_gives(owner, outputs[_i].output, "select output from reeve.runs");
	sql(owner, "update reeve_store.runs set state = 'model', live = true");
	sql_gives(owner, "t", "select output is null from reeve.runs");
}
END_TEST

/* ---- items ---- */

static const struct {
	const char *type, *item, *row;
} items[] = {
	{ "message", "{\"role\":\"user\",\"content\":\"hi\"}", "user|hi||||" },
	{ "message",
	    "{\"role\":\"assistant\",\"content\":[{\"text\":\"a\"},"
	    "{\"refusal\":\"b\"}]}",
	    "assistant|ab||||" },
	{ "reasoning", "{\"summary\":[{\"text\":\"one\"},{\"text\":\"two\"}]}",
	    "|one\n\ntwo||||" },
	{ "reasoning", "{\"summary\":\"x\"}", "|||||" },
	{ "function_call",
	    "{\"call_id\":\"c\",\"name\":\"n\",\"arguments\":\"{}\"}",
	    "||c|n|{}|" },
	{ "function_call_output", "{\"call_id\":\"c\",\"output\":\"ok\"}",
	    "||c|||ok" },
	{ "message", "{\"content\":7}", "|||||" },
	{ "message", "{\"content\":[1,\"x\",null,[]]}", "|||||" },
};

START_TEST(an_item_is_read_by_its_kind)
{
	add_run(RUN, "", "");
	add_item(1, 1, 0, items[_i].type, items[_i].item);
	sql_gives(owner, items[_i].row,
	    "select role, text, call_id, name, arguments, output from "
	    "reeve.items");
	sql(owner, "select * from reeve.transcript");
}
END_TEST

START_TEST(a_call_stands_beside_its_arguments_and_output)
{
	add_run(RUN, "", "");
	add_item(1, 1, 3, "function_call", "{\"arguments\":\"{1}\"}");
	add_item(1, 1, 4, "function_call", "{\"arguments\":\"{2}\"}");
	add_item(1, 2, 1, "function_call_output", "{\"output\":\"one\"}");
	add_item(1, 8, 2, "function_call_output", "{\"output\":\"none\"}");
	sql(owner, "insert into reeve_store.tool_calls (run, turn, call, "
		   "item_idx, call_id, name, state, bound_step) values ('" RUN
		   "', 1, 1, 3, 'c1', 't', 'done', 1), ('" RUN
		   "', 1, 2, 4, 'c2', 'u', 'done', 1), ('" RUN
		   "', 2, 1, 0, 'c3', 'v', 'queued', 1)");
	sql_gives(owner,
	    "1|1|c1|t|{1}|done|one\n1|2|c2|u|{2}|done|none\n2|1|c3|v||queued|",
	    "select turn, call, call_id, name, arguments, state, output from "
	    "reeve.tool_calls order by turn, call");
}
END_TEST

START_TEST(a_transcript_reads_in_the_order_of_speaking)
{
	add_run(RUN, "", "");
	add_item(2, 1, 0, "message",
	    "{\"role\":\"assistant\",\"content\":[{\"text\":\"bye\"}]}");
	add_item(1, 2, 1, "function_call_output", "{\"output\":\"4\"}");
	add_item(1, 1, 1, "function_call",
	    "{\"name\":\"add\",\"arguments\":\"{}\"}");
	add_item(0, 0, 0, "message", "{\"role\":\"user\",\"content\":\"hi\"}");
	add_item(1, 1, 0, "reasoning", "{\"summary\":[{\"text\":\"hm\"}]}");
	sql_gives(owner,
	    "1|0|user|message|hi\n2|1|assistant|reasoning|hm\n"
	    "3|1|assistant|function_call|add {}\n"
	    "4|1|tool|function_call_output|4\n5|2|assistant|message|bye",
	    "select position, turn, who, kind, text from reeve.transcript "
	    "where run = '" RUN "' order by position");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema/views");
	TCase *c = tcase_create("one truth");

	tcase_add_checked_fixture(c, open_owner, NULL);
	tcase_add_test(c, the_states_of_a_row_are_those_of_the_machine);
	tcase_add_loop_test(
	    c, states_of_turns_and_calls_are_those_of_a_step, 0, COUNT(enums));
	tcase_add_loop_test(
	    c, a_word_that_is_not_in_the_list_is_refused, 0, COUNT(texts));
	suite_add_tcase(suite, c);

	c = tcase_create("described");
	tcase_add_checked_fixture(c, open_owner, NULL);
	tcase_add_test(c, every_schema_view_and_function_is_described);
	tcase_add_test(c, every_column_of_a_view_is_described);
	suite_add_tcase(suite, c);

	c = tcase_create("rows");
	tcase_add_checked_fixture(c, open_owner, NULL);
	tcase_add_loop_test(
	    c, a_state_is_shown_in_words_for_people, 0, COUNT(seen));
	tcase_add_loop_test(c, a_run_says_what_it_waits_for, 0, COUNT(waits));
	tcase_add_loop_test(
	    c, the_output_is_the_text_of_the_last_message, 0, COUNT(outputs));
	tcase_add_loop_test(c, an_item_is_read_by_its_kind, 0, COUNT(items));
	tcase_add_test(c, a_call_stands_beside_its_arguments_and_output);
	tcase_add_test(c, a_transcript_reads_in_the_order_of_speaking);
	suite_add_tcase(suite, c);
	return house_main_sql(suite, NULL);
}
