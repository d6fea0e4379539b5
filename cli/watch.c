/*
 * Joins following (follow.c) with printing (narrate.c). Owns the narrator.
 * What the run says goes to stdout, what happens to the watching to stderr.
 */
#include "cli/watch.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "cli/follow.h"
#include "cli/narrate.h"

struct watch {
	struct cli *cli; /* borrowed */
	struct uuid run;
	char id[UUID_TEXT];
	struct narrator narrator;
	struct buf waits; /* the last reason that was printed */
	int code;         /* of the run's end */
};

/* ---- events ---- */

static void
put_json(struct watch *w, const struct msg_event *event, struct json body)
{
	struct buf *out = &w->cli->out;
	struct json_writer j = json_writer(out);
	size_t start = out->len;

	json_open(&j, '{');
	json_key(&j, "run");
	json_text(&j, w->id);
	json_key(&j, "seq");
	json_unum(&j, event->seq);
	json_key(&j, "type");
	json_str(&j, event->type);
	json_key(&j, "final");
	json_bool(&j, event->final);
	json_key(&j, "at_ms");
	json_unum(&j, event->at_ms);
	json_key(&j, "body");
	json_raw(&j, body.raw);
	json_close(&j);
	print_one_line(out, start);
}

/* The answer alone: as it is for a program, safe for a terminal. */
static void
put_output(struct watch *w, struct json output)
{
	struct buf *out = &w->cli->out;
	struct json_writer j = json_writer(out);
	size_t start = out->len;

	if (w->cli->options.json) {
		json_open(&j, '{');
		json_key(&j, "output");
		json_raw(
		    &j, output.type == JSON_NONE ? SLICE("null") : output.raw);
		json_close(&j);
		print_one_line(out, start);
		return;
	}
	if (w->cli->style.width > 0)
		print_value(out, output);
	else
		print_raw(out, output);
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		buf_putc(out, '\n');
}

/* Why there is no answer. A cancelled run has no other reason than that. */
static void
say_state(const struct watch *w, struct json body)
{
	struct json state = json_get(body, "state");
	struct json reason = json_get(body, "reason");
	struct json error = json_get(body, "error");
	struct buf line = BUF_INIT(LIMIT_MESSAGE);

	buf_printf(&line, "reeve: run %s is ", w->id);
	print_value_word(&line, state, 0);
	if (print_has(reason) && !slice_eq(reason.raw, state.raw)) {
		buf_puts(&line, ": ");
		print_value_word(&line, reason, 0);
	}
	if (print_has(error) && !slice_eq(error.raw, state.raw)) {
		buf_puts(&line, ": ");
		print_value_word(&line, error, 0);
	}
	cli_say("%.*s", SLICE_ARGS(buf_slice(&line)));
	buf_release(&line);
}

static void
on_end(struct watch *w, struct json body)
{
	bool completed = json_is(json_get(body, "state"), "completed");

	w->code = completed ? CLI_COMPLETED : CLI_FAILED;
	if (!w->cli->options.output)
		return;
	put_output(w, json_get(body, "output"));
	if (!completed)
		say_state(w, body);
}

static void
on_event(void *arg, const struct msg_event *event, struct json body)
{
	struct watch *w = arg;
	const struct options *options = &w->cli->options;

	if (options->json && !options->output)
		put_json(w, event, body);
	else if (!options->output)
		narrate(&w->narrator, event->type, body);
	if (event->final)
		on_end(w, body);
	if (cli_flush(w->cli, 0) != 0)
		exit(CLI_FAILED);
}

/* ---- what happens to the watching ---- */

static void
on_waits(struct watch *w, struct json waits)
{
	const struct options *options = &w->cli->options;

	if (options->json || options->output ||
	    slice_eq(waits.raw, buf_slice(&w->waits)))
		return;
	buf_clear(&w->waits);
	buf_put_slice(&w->waits, waits.raw);
	narrate_aside(&w->narrator, waits);
	if (cli_flush(w->cli, 0) != 0)
		exit(CLI_FAILED);
}

/* There is no event left to tell: the row is all there is to say. */
static void
on_over(struct watch *w, struct json run)
{
	struct buf line = BUF_INIT(LIMIT_MESSAGE);

	print_value_word(&line, json_get(run, "state"), 0);
	if (!w->cli->options.output)
		cli_say("reeve: run %s has ended already: %.*s", w->id,
		    SLICE_ARGS(buf_slice(&line)));
	buf_release(&line);
	on_end(w, run);
	if (cli_flush(w->cli, 0) != 0)
		exit(CLI_FAILED);
}

/* Before a line on stderr: on a terminal both meet, in a file text goes on. At
 * the end of watching nothing goes on. */
static void
break_line(struct watch *w, bool at_end)
{
	if (at_end || w->cli->style.width > 0)
		narrate_break(&w->narrator);
	if (cli_flush(w->cli, 0) != 0)
		exit(CLI_FAILED);
}

static void
on_note(void *arg, enum follow_note note, struct json value)
{
	struct watch *w = arg;

	switch (note) {
	case FOLLOW_CONNECTION_LOST:
		break_line(w, false);
		cli_say("reeve: lost the supervisor; the run is safe; trying "
			"again for %u s",
		    FOLLOW_LOST_MS / 1000);
		return;
	case FOLLOW_CONNECTION_BACK:
		cli_say("reeve: the supervisor is back; going on");
		return;
	case FOLLOW_WAITS:
		on_waits(w, value);
		return;
	case FOLLOW_OVER:
		on_over(w, value);
		return;
	}
	BUG("note %d", (int)note);
}

/* The commands to paste when the watching ends before the run. */
static void
say_how_to_go_on(const struct watch *w, uint64_t seq)
{
	char *program = cli_program(w->cli);

	cli_say("follow: %s tail %s --from %" PRIu64, program, w->id, seq);
	cli_say("cancel: %s cancel %s", program, w->id);
	mem_free(program);
}

static int
finish(struct watch *w, enum follow_end end, uint64_t seq)
{
	char *program;

	switch (end) {
	case FOLLOW_DETACHED:
		break_line(w, true);
		cli_say("reeve: detached; run %s goes on", w->id);
		say_how_to_go_on(w, seq);
		return CLI_WAITING;
	case FOLLOW_ENDED:
		if (w->code == CLI_FAILED) {
			program = cli_program(w->cli);
			cli_say("look at it: %s show %s", program, w->id);
			mem_free(program);
		}
		return w->code;
	}
	BUG("follow end %d", (int)end);
}

int
watch_run(struct cli *cli, const struct uuid *run, uint64_t from_seq)
{
	struct watch w = {
		.cli = cli,
		.run = *run,
		.waits = BUF_INIT(LIMIT_MESSAGE),
		.code = CLI_FAILED,
	};
	enum follow_end end;
	struct err err = { 0 };
	uint64_t seq;
	int code;

	uuid_text(run, w.id);
	narrator_init(&w.narrator, &cli->out, cli->style, run);
	if (follow_run(
		&(const struct follow_config){
		    .client = cli->client,
		    .run = *run,
		    .from_seq = from_seq,
		    .deltas = !cli->options.output,
		    .on_event = on_event,
		    .on_note = on_note,
		    .arg = &w,
		},
		&end, &seq, &err) == 0) {
		code = finish(&w, end, seq);
	} else {
		break_line(&w, true);
		code = cli_fail(cli, &err);
		if (code == CLI_UNREACHABLE)
			say_how_to_go_on(&w, seq);
	}
	narrator_release(&w.narrator);
	buf_release(&w.waits);
	return code;
}
