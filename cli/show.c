/*
 * Tells the story of a run from its rows. Pure; trusts no text. Items, attempts
 * and calls come in order of their turns; calls stand below the item that asked
 * for them.
 */
#include "cli/show.h"

#include <inttypes.h>

#define LABEL_WIDTH 10
#define ID_MAX      256u

struct show {
	struct buf *out;
	struct style style;
	struct json run, turns, calls, items;
	uint64_t turn; /* whose heading was printed; 0 = the input's */
	struct json_iter turn_calls; /* at the first call of that turn */
};

/* ---- head ---- */

static void
put_label(struct show *s, const char *label)
{
	print_look(s->out, s->style, PRINT_DIM);
	buf_printf(s->out, "%-*s", LABEL_WIDTH, label);
	print_look(s->out, s->style, PRINT_PLAIN);
}

static void
put_field(struct show *s, const char *label, struct json value)
{
	if (!print_has(value))
		return;
	put_label(s, label);
	print_value_word(s->out, value, 0);
	buf_putc(s->out, '\n');
}

static void
put_time(struct show *s, const char *label, const char *member)
{
	struct json value = json_get(s->run, member);

	if (!print_has(value))
		return;
	put_label(s, label);
	print_time(s->out, value);
	buf_putc(s->out, '\n');
}

static void
put_state(struct show *s)
{
	put_label(s, "state");
	print_look(s->out, s->style, PRINT_BOLD);
	print_value_word(s->out, json_get(s->run, "state"), 0);
	print_look(s->out, s->style, PRINT_PLAIN);
	if (print_has(json_get(s->run, "reason"))) {
		buf_puts(s->out, " (");
		print_value_word(s->out, json_get(s->run, "reason"), 0);
		buf_putc(s->out, ')');
	}
	if (print_has(json_get(s->run, "waits_for"))) {
		buf_puts(s->out, ", waits for ");
		print_value_word(s->out, json_get(s->run, "waits_for"), 0);
	}
	buf_putc(s->out, '\n');
}

static void
put_usage(struct show *s)
{
	put_label(s, "usage");
	print_count(s->out, print_u64(json_get(s->run, "turns")), "turn");
	buf_puts(s->out, ", ");
	print_count(
	    s->out, print_u64(json_get(s->run, "total_tokens")), "token");
	buf_printf(s->out,
	    ": %" PRIu64 " in (%" PRIu64 " cached), %" PRIu64 " out (%" PRIu64
	    " reasoning)\n",
	    print_u64(json_get(s->run, "input_tokens")),
	    print_u64(json_get(s->run, "cached_tokens")),
	    print_u64(json_get(s->run, "output_tokens")),
	    print_u64(json_get(s->run, "reasoning_tokens")));
}

static void
put_head(struct show *s)
{
	put_field(s, "run", json_get(s->run, "id"));
	put_label(s, "agent");
	print_value_word(s->out, json_get(s->run, "agent"), 0);
	buf_printf(s->out, " (version %" PRIu64 ")\n",
	    print_u64(json_get(s->run, "agent_version")));
	put_state(s);
	put_field(s, "error", json_get(s->run, "error"));
	put_field(s, "session", json_get(s->run, "session"));
	if (print_u64(json_get(s->run, "priority")) != 0 ||
	    !slice_is(json_get(s->run, "priority").raw, "0"))
		put_field(s, "priority", json_get(s->run, "priority"));
	put_time(s, "created", "created_at");
	put_time(s, "started", "started_at");
	put_time(s, "finished", "finished_at");
	put_usage(s);
	put_field(s, "metadata", json_get(s->run, "metadata"));
}

/* ---- turns ---- */

static void
put_optional_ms(struct show *s, const char *what, struct json ms)
{
	if (ms.type != JSON_NUMBER)
		return;
	buf_printf(s->out, ", %s ", what);
	print_ms(s->out, print_u64(ms));
}

static void
put_attempt(struct show *s, struct json t)
{
	uint64_t attempt = print_u64(json_get(t, "attempt"));

	buf_puts(s->out, "  ");
	print_look(s->out, s->style, PRINT_DIM);
	if (attempt > 1)
		buf_printf(s->out, "attempt %" PRIu64 ": ", attempt);
	print_value_word(s->out, json_get(t, "model"), 0);
	buf_puts(s->out, " at ");
	print_value_word(s->out, json_get(t, "worker"), 0);
	buf_puts(s->out, ": ");
	print_value_word(s->out, json_get(t, "state"), 0);
	if (print_has(json_get(t, "finish"))) {
		buf_puts(s->out, " (");
		print_value_word(s->out, json_get(t, "finish"), 0);
		buf_putc(s->out, ')');
	}
	put_optional_ms(s, "first text after", json_get(t, "first_ms"));
	put_optional_ms(s, "took", json_get(t, "total_ms"));
	if (print_has(json_get(t, "total_tokens"))) {
		buf_puts(s->out, ", ");
		print_count(
		    s->out, print_u64(json_get(t, "total_tokens")), "token");
	}
	print_look(s->out, s->style, PRINT_PLAIN);
	buf_putc(s->out, '\n');
	if (!print_has(json_get(t, "error_class")))
		return;
	buf_puts(s->out, "    ");
	print_value_word(s->out, json_get(t, "error_class"), 0);
	buf_puts(s->out, ": ");
	print_value_word(s->out, json_get(t, "error"), 0);
	buf_putc(s->out, '\n');
}

static void
put_heading(struct show *s, uint64_t turn)
{
	buf_putc(s->out, '\n');
	print_look(s->out, s->style, PRINT_BOLD);
	if (turn == 0)
		buf_puts(s->out, "input");
	else
		buf_printf(s->out, "turn %" PRIu64, turn);
	print_look(s->out, s->style, PRINT_PLAIN);
	buf_putc(s->out, '\n');
	s->turn = turn;
}

/* Headings with attempts for the turns up to `turn` that had none yet. */
static void
enter_turn(struct show *s, uint64_t turn)
{
	struct json_iter it = json_iter(s->turns);
	uint64_t shown = s->turn, number;
	struct json key, t;

	while (json_next(&it, &key, &t)) {
		number = print_u64(json_get(t, "turn"));
		if (number <= shown || number > turn)
			continue;
		if (number != s->turn)
			put_heading(s, number);
		put_attempt(s, t);
	}
	if (turn > s->turn && turn != UINT64_MAX)
		put_heading(s, turn);
}

/* ---- calls ---- */

static void
put_outcome(struct show *s, struct json call)
{
	if (!print_has(json_get(call, "outcome"))) {
		print_value_word(s->out, json_get(call, "state"), 0);
	} else {
		print_value_word(s->out, json_get(call, "outcome"), 0);
		if (json_get(call, "code").type == JSON_NUMBER &&
		    !json_is(json_get(call, "outcome"), "ok")) {
			buf_putc(s->out, ' ');
			print_value_word(s->out, json_get(call, "code"), 0);
		}
	}
	put_optional_ms(s, "took", json_get(call, "wall_ms"));
	if (print_u64(json_get(call, "attempt")) > 1)
		buf_printf(s->out, ", attempt %" PRIu64,
		    print_u64(json_get(call, "attempt")));
	if (print_has(json_get(call, "worker"))) {
		buf_puts(s->out, ", at ");
		print_value_word(s->out, json_get(call, "worker"), 0);
	}
	if (print_u64(json_get(call, "dropped_bytes")) > 0)
		buf_printf(s->out, ", %" PRIu64 " bytes dropped",
		    print_u64(json_get(call, "dropped_bytes")));
}

/* Walks the calls of the current turn; calls are ordered by turn. */
static bool
next_call(const struct show *s, struct json_iter *it, struct json *ret_call)
{
	struct json key;

	return json_next(it, &key, ret_call) &&
	       print_u64(json_get(*ret_call, "turn")) == s->turn;
}

static bool
find_call(struct show *s, struct json call_id, struct json *ret_call)
{
	struct json_iter it, ahead = s->turn_calls;
	struct json key, call;

	while (json_next(&ahead, &key, &call) &&
	       print_u64(json_get(call, "turn")) < s->turn)
		s->turn_calls = ahead;
	it = s->turn_calls;
	while (next_call(s, &it, &call)) {
		if (!slice_eq(json_get(call, "call_id").raw, call_id.raw))
			continue;
		*ret_call = call;
		return true;
	}
	return false;
}

/* The ledger's line and the result of the call that an item asked for. */
static void
put_call_result(struct show *s, struct json item)
{
	struct buf text = BUF_INIT(PRINT_MAX);
	struct json call;

	if (!find_call(s, json_get(item, "call_id"), &call))
		return;
	buf_puts(s->out, "  ← ");
	put_outcome(s, call);
	buf_putc(s->out, '\n');
	print_raw(&text, json_get(call, "output"));
	print_block(s->out, buf_slice(&text), "    ", SHOW_LINES, SHOW_BYTES);
	buf_release(&text);
}

/* ---- items ---- */

static void
put_text(struct show *s, struct json who, const char *else_who,
    struct json text, enum print_look look)
{
	struct buf decoded = BUF_INIT(PRINT_MAX);

	if (!print_has(text))
		return;
	buf_puts(s->out, "  ");
	print_look(s->out, s->style, PRINT_DIM);
	if (print_has(who))
		print_value_word(s->out, who, 0);
	else
		buf_puts(s->out, else_who);
	print_look(s->out, s->style, PRINT_PLAIN);
	buf_putc(s->out, '\n');
	print_look(s->out, s->style, look);
	print_raw(&decoded, text);
	print_block(
	    s->out, buf_slice(&decoded), "    ", SHOW_LINES, SHOW_BYTES);
	print_look(s->out, s->style, PRINT_PLAIN);
	buf_release(&decoded);
}

static void
put_call(struct show *s, struct json item)
{
	buf_puts(s->out, "  → ");
	print_look(s->out, s->style, PRINT_BOLD);
	print_value_word(s->out, json_get(item, "name"), 0);
	print_look(s->out, s->style, PRINT_PLAIN);
	buf_putc(s->out, ' ');
	print_value_word(s->out, json_get(item, "arguments"), SHOW_BYTES);
	buf_putc(s->out, '\n');
	put_call_result(s, item);
}

static void
put_item(struct show *s, struct json item)
{
	static const struct json none = { 0 };
	struct json type = json_get(item, "type"), call;

	if (json_is(type, "message")) {
		put_text(s, json_get(item, "role"), "message",
		    json_get(item, "text"), PRINT_PLAIN);
	} else if (json_is(type, "reasoning")) {
		put_text(
		    s, none, "reasoning", json_get(item, "text"), PRINT_DIM);
	} else if (json_is(type, "function_call")) {
		put_call(s, item);
	} else if (json_is(type, "function_call_output")) {
		/* Shown below the call already, unless it came as input. */
		if (!find_call(s, json_get(item, "call_id"), &call))
			put_text(s, none, "tool", json_get(item, "output"),
			    PRINT_PLAIN);
	} else {
		put_text(s, type, "item", json_get(item, "item"), PRINT_DIM);
	}
}

static void
put_items(struct show *s)
{
	struct json_iter it = json_iter(s->items);
	struct json key, item;

	put_heading(s, 0);
	while (json_next(&it, &key, &item)) {
		enter_turn(s, print_u64(json_get(item, "turn")));
		put_item(s, item);
	}
	enter_turn(s, UINT64_MAX);
}

/* ---- what to do next ---- */

static void
put_next(struct show *s, const char *program)
{
	struct buf id = BUF_INIT(ID_MAX);

	print_value_word(&id, json_get(s->run, "id"), 0);
	buf_putc(s->out, '\n');
	if (print_has(json_get(s->run, "finished_at")))
		buf_printf(s->out, "all of it: %s show %.*s --json\n", program,
		    SLICE_ARGS(buf_slice(&id)));
	else
		buf_printf(s->out,
		    "follow: %s tail %.*s\ncancel: %s cancel %.*s\n", program,
		    SLICE_ARGS(buf_slice(&id)), program,
		    SLICE_ARGS(buf_slice(&id)));
	buf_release(&id);
}

void
show_print(
    struct buf *out, struct style style, struct json reply, const char *program)
{
	struct show s = {
		.out = out,
		.style = style,
		.run = json_get(reply, "run"),
		.turns = json_get(reply, "turns"),
		.calls = json_get(reply, "calls"),
		.items = json_get(reply, "items"),
	};

	s.turn_calls = json_iter(s.calls);
	put_head(&s);
	put_items(&s);
	put_next(&s, program);
}
