/*
 * The story of a run for a terminal. Pure: events in, bytes out. Owns copies of
 * the turn's text as far as it was printed, never prints by itself, and trusts
 * no text: everything goes through print.c.
 */
#include "cli/narrate.h"

#include <inttypes.h>

/* ---- lines ---- */

void
narrator_init(struct narrator *n, struct buf *out, struct style style,
    const struct uuid *run)
{
	*n = (struct narrator){ .out = out, .style = style, .run = *run };
	for (size_t i = 0; i < NARRATE_KINDS; i++)
		n->streams[i].held = BUF_INIT(NARRATE_HELD_MAX);
}

void
narrator_release(struct narrator *n)
{
	for (size_t i = 0; i < NARRATE_KINDS; i++)
		buf_release(&n->streams[i].held);
}

void
narrate_break(struct narrator *n)
{
	if (n->line == NARRATE_LINE_EMPTY)
		return;
	if (n->line == NARRATE_LINE_REASONING)
		print_look(n->out, n->style, PRINT_PLAIN);
	if (!n->at_line_start)
		buf_putc(n->out, '\n');
	n->line = NARRATE_LINE_EMPTY;
}

/* Text of a kind at the end of what was printed; begins a line of its own when
 * another kind was there. */
static void
put_stream(struct narrator *n, enum narrate_kind kind, struct slice text)
{
	enum narrate_line line =
	    kind == NARRATE_TEXT ? NARRATE_LINE_TEXT : NARRATE_LINE_REASONING;

	if (text.len == 0)
		return;
	if (n->line != line)
		narrate_break(n);
	if (n->line != line && line == NARRATE_LINE_REASONING)
		print_look(n->out, n->style, PRINT_DIM);
	n->line = line;
	n->at_line_start = text.ptr[text.len - 1] == '\n';
	print_text(n->out, text);
	buf_put_slice(&n->streams[kind].held, text);
}

/* ---- the turn in flight ---- */

static void
forget_attempt(struct narrator *n)
{
	for (size_t i = 0; i < NARRATE_KINDS; i++) {
		buf_clear(&n->streams[i].held);
		n->streams[i].stored = 0;
	}
	n->next = 0;
	n->behind = false;
	n->item = 0;
}

/* The attempt whose text is on the screen came to nothing. */
static void
drop_attempt(struct narrator *n, struct json reason)
{
	narrate_break(n);
	if (n->streams[NARRATE_TEXT].held.len > 0) {
		print_look(n->out, n->style, PRINT_DIM);
		buf_puts(n->out, "(what was printed of this turn is void");
		if (print_has(reason)) {
			buf_puts(n->out, ": ");
			print_value_word(n->out, reason, 0);
		}
		buf_puts(n->out, ")\n");
		print_look(n->out, n->style, PRINT_PLAIN);
	}
	forget_attempt(n);
}

/* False for what is older than what is on the screen. */
static bool
enter_attempt(struct narrator *n, struct json body)
{
	uint64_t turn = print_u64(json_get(body, "turn"));
	uint64_t attempt = print_u64(json_get(body, "attempt"));

	if (turn == n->turn && attempt == n->attempt)
		return true;
	if (turn < n->turn || (turn == n->turn && attempt < n->attempt))
		return false;
	if (turn == n->turn)
		drop_attempt(n, json_get(body, "reason"));
	narrate_break(n);
	forget_attempt(n);
	n->turn = turn;
	n->attempt = attempt;
	return true;
}

static bool
stream_kind(struct json kind, enum narrate_kind *ret)
{
	if (json_is(kind, "text") || json_is(kind, "refusal"))
		*ret = NARRATE_TEXT;
	else if (json_is(kind, "reasoning"))
		*ret = NARRATE_REASONING;
	else
		return false;
	return true;
}

/* Splits [kind, item, text]. False when it is none that is shown. */
static bool
read_delta(struct json delta, enum narrate_kind *ret_kind, uint64_t *ret_item,
    struct buf *text)
{
	struct json_iter it = json_iter(delta);
	struct json key, kind, item, value;

	if (!json_next(&it, &key, &kind) || !json_next(&it, &key, &item) ||
	    !json_next(&it, &key, &value) || !stream_kind(kind, ret_kind))
		return false;
	*ret_item = print_u64(item);
	buf_clear(text);
	json_decode(value, text);
	return !text->failed;
}

/* Prints what `text` has beyond what was printed from `from` on, and returns
 * where it ends. When the two differ, a delta was missed: the whole text
 * follows on a new line and takes the place of what was held. */
static size_t
put_beyond(
    struct narrator *n, enum narrate_kind kind, size_t from, struct slice text)
{
	struct buf *held = &n->streams[kind].held;
	size_t there = from < held->len ? held->len - from : 0;
	size_t same = there < text.len ? there : text.len;

	if (held->failed)
		return from;
	if (same > 0 && memcmp(held->ptr + from, text.ptr, same) != 0) {
		if (kind == NARRATE_REASONING)
			return held->len;
		narrate_break(n);
		held->len = from;
		same = 0;
	}
	put_stream(n, kind, slice_of(text.ptr + same, text.len - same));
	return from + text.len;
}

static void
on_delta(struct narrator *n, struct json body)
{
	struct buf text = BUF_INIT(NARRATE_HELD_MAX);
	struct json_iter it = json_iter(json_get(body, "deltas"));
	uint64_t at = print_u64(json_get(body, "offset")), item;
	struct json key, delta;
	enum narrate_kind kind;

	if (!enter_attempt(n, body))
		return;
	n->behind |= at > n->next;
	for (; !n->behind && json_next(&it, &key, &delta); at++) {
		if (at < n->next || !read_delta(delta, &kind, &item, &text))
			continue;
		if (item != n->item)
			narrate_break(n);
		n->item = item;
		put_stream(n, kind, buf_slice(&text));
	}
	if (at > n->next)
		n->next = at;
	buf_release(&text);
}

static void
on_snapshot(struct narrator *n, struct json body)
{
	struct buf text = BUF_INIT(NARRATE_HELD_MAX);
	struct json_iter it = json_iter(json_get(body, "deltas"));
	size_t at[NARRATE_KINDS] = { 0 };
	struct json key, delta;
	enum narrate_kind kind;
	uint64_t item;

	if (!enter_attempt(n, body))
		return;
	while (json_next(&it, &key, &delta)) {
		if (!read_delta(delta, &kind, &item, &text))
			continue;
		if (item != n->item && at[kind] == n->streams[kind].held.len)
			narrate_break(n);
		n->item = item;
		at[kind] = put_beyond(n, kind, at[kind], buf_slice(&text));
	}
	n->next = print_u64(json_get(body, "offset"));
	n->behind = false;
	buf_release(&text);
}

static void
on_turn_started(struct narrator *n, struct json body)
{
	enter_attempt(n, body);
}

/* Names the attempt that failed or the one that follows it. */
static void
on_turn_reset(struct narrator *n, struct json body)
{
	if (enter_attempt(n, body))
		drop_attempt(n, json_get(body, "reason"));
}

/* A snapshot follows and tells what is really there. */
static void
on_resync(struct narrator *n, struct json body)
{
	(void)body;
	n->behind = true;
}

static void
on_turn_failed(struct narrator *n, struct json body)
{
	static const char *const why[] = { "class", "error" };
	uint64_t wait_ms = print_u64(json_get(body, "wait_ms"));

	enter_attempt(n, body);
	narrate_break(n);
	buf_printf(n->out, "turn %" PRIu64 ", attempt %" PRIu64 " ", n->turn,
	    n->attempt);
	if (print_has(json_get(body, "state")))
		print_value_word(n->out, json_get(body, "state"), 0);
	else
		buf_puts(n->out, "failed");
	for (size_t i = 0; i < COUNT(why); i++) {
		if (!print_has(json_get(body, why[i])))
			continue;
		buf_puts(n->out, ": ");
		print_value_word(n->out, json_get(body, why[i]), 0);
	}
	if (wait_ms > 0) {
		buf_puts(n->out, "; again in ");
		print_ms(n->out, wait_ms);
	}
	buf_putc(n->out, '\n');
}

/* ---- stored items ---- */

/* The texts of an item's content parts, one after the other. */
static void
item_text(struct json parts, struct buf *out)
{
	struct json_iter it = json_iter(parts);
	struct json key, part;

	while (json_next(&it, &key, &part)) {
		json_decode(json_get(part, "text"), out);
		json_decode(json_get(part, "refusal"), out);
	}
}

static void
put_item(struct narrator *n, struct json body, enum narrate_kind kind,
    struct slice text)
{
	if (print_u64(json_get(body, "turn")) > n->turn) {
		narrate_break(n);
		forget_attempt(n);
		n->turn = print_u64(json_get(body, "turn"));
		n->attempt = 0;
	}
	n->streams[kind].stored =
	    put_beyond(n, kind, n->streams[kind].stored, text);
	narrate_break(n);
}

static void
on_message_item(struct narrator *n, struct json body)
{
	struct buf text = BUF_INIT(PRINT_MAX);

	item_text(json_get(json_get(body, "item"), "content"), &text);
	put_item(n, body, NARRATE_TEXT, buf_slice(&text));
	buf_release(&text);
}

static void
on_reasoning_item(struct narrator *n, struct json body)
{
	struct json item = json_get(body, "item");
	struct buf text = BUF_INIT(PRINT_MAX);

	item_text(json_get(item, "summary"), &text);
	if (text.len == 0)
		item_text(json_get(item, "content"), &text);
	put_item(n, body, NARRATE_REASONING, buf_slice(&text));
	buf_release(&text);
}

/* ---- tools ---- */

static void
put_call(struct narrator *n, struct json name, struct json arguments)
{
	narrate_break(n);
	buf_puts(n->out, "→ ");
	print_look(n->out, n->style, PRINT_BOLD);
	print_value_word(n->out, name, 0);
	print_look(n->out, n->style, PRINT_PLAIN);
	if (print_has(arguments))
		buf_putc(n->out, ' ');
	print_value_word(n->out, arguments, NARRATE_ARGUMENTS);
	buf_putc(n->out, '\n');
}

static void
on_tool_called(struct narrator *n, struct json body)
{
	put_call(n, json_get(body, "name"), json_get(body, "arguments"));
}

/* Items of other kinds; a call among them is one that nobody carries out. */
static void
on_other_item(struct narrator *n, struct json body)
{
	struct json item = json_get(body, "item");

	if (json_is(json_get(item, "type"), "function_call"))
		put_call(
		    n, json_get(item, "name"), json_get(item, "arguments"));
	else
		put_call(n, json_get(item, "type"), (struct json){ 0 });
}

static void
on_tool_started(struct narrator *n, struct json body)
{
	uint64_t attempt = print_u64(json_get(body, "attempt"));

	if (attempt < 2)
		return;
	narrate_break(n);
	buf_printf(n->out, "→ call %" PRIu64 " again, attempt %" PRIu64 "\n",
	    print_u64(json_get(body, "call")), attempt);
}

static void
on_tool_output(struct narrator *n, struct json body)
{
	struct buf text = BUF_INIT(PRINT_MAX);

	narrate_break(n);
	buf_puts(n->out, "← ");
	print_look(n->out, n->style, PRINT_BOLD);
	print_value_word(n->out, json_get(body, "name"), 0);
	print_look(n->out, n->style, PRINT_PLAIN);
	buf_putc(n->out, ' ');
	print_value_word(n->out, json_get(body, "outcome"), 0);
	buf_puts(n->out, ", ");
	print_ms(n->out, print_u64(json_get(body, "wall_ms")));
	buf_putc(n->out, '\n');
	print_raw(&text, json_get(body, "output"));
	print_block(
	    n->out, buf_slice(&text), "  ", NARRATE_LINES, NARRATE_BYTES);
	buf_release(&text);
}

/* ---- begin and end ---- */

static void
on_run_accepted(struct narrator *n, struct json body)
{
	char id[UUID_TEXT];

	print_look(n->out, n->style, PRINT_DIM);
	buf_printf(n->out, "run %s · agent ", uuid_text(&n->run, id));
	print_value_word(n->out, json_get(body, "agent"), 0);
	if (print_has(json_get(body, "session"))) {
		buf_puts(n->out, " · session ");
		print_value_word(n->out, json_get(body, "session"), 0);
	}
	print_look(n->out, n->style, PRINT_PLAIN);
	buf_putc(n->out, '\n');
}

static void
put_why(struct narrator *n, struct json body)
{
	struct json reason = json_get(body, "reason");
	struct json error = json_get(body, "error");

	if (!print_has(reason) && !print_has(error))
		return;
	print_value_word(n->out, reason, 0);
	if (print_has(reason) && print_has(error))
		buf_puts(n->out, ": ");
	print_value_word(n->out, error, 0);
	buf_putc(n->out, '\n');
}

static void
on_run_ended(struct narrator *n, struct json body)
{
	struct json state = json_get(body, "state");
	char id[UUID_TEXT];

	narrate_break(n);
	buf_putc(n->out, '\n');
	if (!json_is(state, "completed"))
		put_why(n, body);
	print_look(n->out, n->style, PRINT_BOLD);
	print_value_word(n->out, state, 0);
	print_look(n->out, n->style, PRINT_PLAIN);
	buf_printf(n->out, " · run %s · ", uuid_text(&n->run, id));
	print_count(n->out, print_u64(json_get(body, "turns")), "turn");
	buf_puts(n->out, " · ");
	print_count(n->out, print_u64(json_get(body, "total_tokens")), "token");
	buf_printf(n->out, " (%" PRIu64 " in, %" PRIu64 " out) · ",
	    print_u64(json_get(body, "input_tokens")),
	    print_u64(json_get(body, "output_tokens")));
	print_ms(n->out, print_u64(json_get(body, "ms")));
	buf_putc(n->out, '\n');
}

void
narrate_aside(struct narrator *n, struct json text)
{
	if (n->line != NARRATE_LINE_EMPTY)
		return;
	print_look(n->out, n->style, PRINT_DIM);
	buf_puts(n->out, "waits for ");
	print_value_word(n->out, text, 0);
	print_look(n->out, n->style, PRINT_PLAIN);
	buf_putc(n->out, '\n');
}

void
narrate(struct narrator *n, struct slice type, struct json body)
{
	static const struct {
		const char *type;
		void (*run)(struct narrator *n, struct json body);
	} events[] = {
		{ "delta", on_delta },
		{ "snapshot", on_snapshot },
		{ "resync", on_resync },
		{ "run_accepted", on_run_accepted },
		{ "turn_started", on_turn_started },
		{ "turn_reset", on_turn_reset },
		{ "turn_failed", on_turn_failed },
		{ "message_output_created", on_message_item },
		{ "reasoning_item_created", on_reasoning_item },
		{ "item_created", on_other_item },
		{ "tool_called", on_tool_called },
		{ "tool_started", on_tool_started },
		{ "tool_output", on_tool_output },
		{ "run_ended", on_run_ended },
	};

	for (size_t i = 0; i < COUNT(events); i++) {
		if (slice_is(type, events[i].type)) {
			events[i].run(n, body);
			return;
		}
	}
}
