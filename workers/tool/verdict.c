/*
 * From the report of a box to an outcome and to the text that the model reads.
 * Pure. A model gets words that it can act on: what was printed, and in one
 * line what went wrong.
 */
#include "workers/tool/verdict.h"

#include <signal.h>

const char *
call_outcome_name(enum call_outcome outcome)
{
	static const char *const names[] = {
		[CALL_OK] = "ok",
		[CALL_EXIT] = "exit",
		[CALL_SIGNAL] = "signal",
		[CALL_TIMEOUT] = "timeout",
		[CALL_OUTPUT_LIMIT] = "output_limit",
		[CALL_NOT_FOUND] = "not_found",
		[CALL_SANDBOX_ERROR] = "sandbox_error",
		[CALL_CANCELLED] = "cancelled",
		[CALL_REJECTED] = "rejected",
	};

	return names[outcome];
}

static bool
used_up_cpu(const struct verdict *v)
{
	return v->report.code == SIGXCPU ||
	       (v->report.code == SIGKILL &&
		   v->report.cpu_us >=
		       (uint64_t)v->tool->limits.cpu_s * 1000000);
}

static enum call_outcome
outcome_of(const struct verdict *v)
{
	if (v->decided)
		return v->outcome;
	switch (v->report.end) {
	case BOX_EXITED:
		return v->report.code == 0 ? CALL_OK : CALL_EXIT;
	case BOX_SIGNAL:
		return used_up_cpu(v) ? CALL_TIMEOUT : CALL_SIGNAL;
	case BOX_NO_EXEC:
		return CALL_NOT_FOUND;
	case BOX_NO_BOX:
	case BOX_KILLED:
		return CALL_SANDBOX_ERROR;
	}
	BUG("end of a box: %d", (int)v->report.end);
}

static void
put_seconds(struct buf *text, uint64_t ms)
{
	if (ms % 1000 == 0)
		buf_printf(text, "%llu s", (unsigned long long)ms / 1000);
	else
		buf_printf(text, "%.1f s", (double)ms / 1000);
}

static void
put_signal(const struct verdict *v, struct buf *text)
{
	const char *name = sigabbrev_np(v->report.code);

	if (name != NULL)
		buf_printf(text, "killed by SIG%s", name);
	else
		buf_printf(text, "killed by signal %d", v->report.code);
	if (v->report.code == SIGXFSZ)
		buf_printf(
		    text, ": a file grew past %u MiB", v->tool->limits.file_mb);
}

static void
put_timeout(const struct verdict *v, struct buf *text)
{
	if (v->decided) {
		buf_puts(text, "timed out after ");
		put_seconds(text, v->limit_ms);
	} else {
		buf_printf(text, "used up its %u s of CPU time",
		    v->tool->limits.cpu_s);
	}
}

static void
put_sandbox_error(const struct verdict *v, struct buf *text)
{
	buf_puts(text, "the sandbox failed: ");
	if (v->reason[0] != '\0')
		buf_puts(text, v->reason);
	else if (v->report.text[0] != '\0')
		buf_puts(text, v->report.text);
	else
		buf_puts(text, "it was ended from outside");
}

/* The one line that says how it ended; empty for a success. */
static void
put_line(const struct verdict *v, enum call_outcome outcome, struct buf *text)
{
	switch (outcome) {
	case CALL_OK:
		break;
	case CALL_EXIT:
		buf_printf(text, "exit code %d", v->report.code);
		break;
	case CALL_SIGNAL:
		put_signal(v, text);
		break;
	case CALL_TIMEOUT:
		put_timeout(v, text);
		break;
	case CALL_OUTPUT_LIMIT:
		buf_printf(text, "stopped: it printed more than %u MiB",
		    v->tool->limits.output_mb);
		break;
	case CALL_NOT_FOUND:
		buf_printf(text,
		    "the program of this tool cannot be started: "
		    "%s",
		    v->report.text);
		break;
	case CALL_SANDBOX_ERROR:
		put_sandbox_error(v, text);
		break;
	case CALL_CANCELLED:
		buf_puts(text, "cancelled");
		break;
	case CALL_REJECTED:
		buf_puts(text, v->reason);
		break;
	}
}

/* Is the line news that comes before what was printed? */
static bool
line_is_first(enum call_outcome outcome)
{
	return outcome != CALL_EXIT && outcome != CALL_SIGNAL;
}

static void
end_line(struct buf *text)
{
	if (text->len > 0 && text->ptr[text->len - 1] != '\n')
		buf_putc(text, '\n');
}

/* What each stream gets of the text: all of it if both fit, else stderr a
 * third, and what one does not need goes to the other. */
static void
share(const struct output *out, const struct output *err, struct buf *ret_out,
    struct buf *ret_err)
{
	size_t out_count, err_count, err_max;

	output_text(out, OUTPUT_TEXT_MAX, ret_out);
	output_text(err, OUTPUT_TEXT_MAX, ret_err);
	out_count = output_characters(buf_slice(ret_out));
	err_count = output_characters(buf_slice(ret_err));
	if (out_count + err_count <= OUTPUT_TEXT_MAX)
		return;
	err_max = OUTPUT_TEXT_MAX / CALL_STDERR_SHARE;
	if (out_count < OUTPUT_TEXT_MAX - err_max)
		err_max = OUTPUT_TEXT_MAX - out_count;
	if (err_count > err_max) {
		buf_clear(ret_err);
		output_text(err, err_max, ret_err);
	} else {
		err_max = err_count;
	}
	if (out_count > OUTPUT_TEXT_MAX - err_max) {
		buf_clear(ret_out);
		output_text(out, OUTPUT_TEXT_MAX - err_max, ret_out);
	}
}

static void
put_failure(const struct verdict *v, enum call_outcome outcome,
    const struct output *out, const struct output *err, struct buf *text)
{
	struct buf out_text = BUF_INIT(OUTPUT_TEXT_BYTES);
	struct buf err_text = BUF_INIT(OUTPUT_TEXT_BYTES);

	share(out, err, &out_text, &err_text);
	if (line_is_first(outcome)) {
		put_line(v, outcome, text);
		if (out_text.len + err_text.len > 0)
			buf_putc(text, '\n');
	}
	buf_put_slice(text, buf_slice(&out_text));
	if (!line_is_first(outcome)) {
		end_line(text);
		put_line(v, outcome, text);
	}
	if (err_text.len > 0) {
		end_line(text);
		buf_put_slice(text, buf_slice(&err_text));
	}
	buf_release(&out_text);
	buf_release(&err_text);
}

void
verdict_give(const struct verdict *v, const struct output *out,
    const struct output *err, struct call_result *ret, struct buf *text)
{
	enum call_outcome outcome = outcome_of(v);

	*ret = (struct call_result){
		.outcome = outcome,
		.wall_ms = v->wall_ms,
		.stdout_bytes = out->total,
		.stderr_bytes = err->total,
		.dropped_bytes = output_dropped(out) + output_dropped(err),
	};
	if (v->has_report) {
		ret->cpu_ms = v->report.cpu_us / 1000;
		ret->rss_kb = v->report.rss_kb;
	}
	if (outcome == CALL_EXIT || outcome == CALL_SIGNAL)
		ret->code = v->report.code;
	if (outcome == CALL_OK)
		output_text(out, OUTPUT_TEXT_MAX, text);
	else
		put_failure(v, outcome, out, err, text);
}
