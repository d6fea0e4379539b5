/*
 * One tool call: arguments in, outcome and text for the model out. Many run at
 * once in one event loop.
 */
#ifndef TOOL_CALL_H
#define TOOL_CALL_H

#include <uv.h>

#include "workers/tool/catalogue.h"

#define CALL_ARGUMENTS_MAX (1024u * 1024)
#define CALL_GRACE_MS      2000u /* between SIGTERM and the end */
#define CALL_STDERR_SHARE  3u    /* stderr gets at least a third of the text */

/* Names as in the message tool_done; see call_outcome_name. */
enum call_outcome {
	CALL_OK,
	CALL_EXIT,    /* with a code that is not 0 */
	CALL_SIGNAL,  /* ended by one */
	CALL_TIMEOUT, /* wall time or CPU time */
	CALL_OUTPUT_LIMIT,
	CALL_NOT_FOUND, /* the program could not be executed */
	CALL_SANDBOX_ERROR,
	CALL_CANCELLED,
	CALL_REJECTED, /* the arguments do not fit; never started */
};

const char *call_outcome_name(enum call_outcome outcome);

struct call_result {
	enum call_outcome outcome;
	int code;                         /* exit code or signal */
	uint64_t wall_ms, cpu_ms, rss_kb; /* cpu and rss: 0 = not known */
	uint64_t stdout_bytes, stderr_bytes, dropped_bytes;
};

struct call;

/* The end of a call, exactly once; never from inside call_start. text is the
 * text for the model, valid UTF-8; its memory may be taken. The call is freed
 * afterwards. */
typedef void call_done(
    void *arg, const struct call_result *result, struct buf *text);

/* All calls of a worker; embedded by whoever runs them. */
struct calls {
	uv_loop_t *loop;         /* borrowed */
	struct sandbox *sandbox; /* borrowed */
	uv_poll_t answers;       /* of the spawner */
	struct list waiting;     /* in order, for room at the spawner */
	struct list all;
	bool lost; /* the spawner has died */
	struct err loss;
	/* The spawner has died and all calls have been told; maybe again after
	 * calls that are started nevertheless. */
	void (*on_lost)(void *arg, const struct err *err);
	void *arg;
};

/* What one call is. Borrowed for the call of call_start, but the tool as long
 * as the call lives. */
struct call_request {
	const struct tool *tool;
	struct slice arguments;            /* JSON, passed on byte for byte */
	struct slice run_id, call_id, key; /* NUL bytes end them */
	uint64_t left_ms; /* of the run, by then the call ends; 0 = no limit */
	call_done *on_done;
	void *arg;
};

int calls_init(struct calls *calls, uv_loop_t *loop, struct sandbox *sandbox,
    void (*on_lost)(void *arg, const struct err *err), void *arg,
    struct err *err) CHECKED;
/* Forgets calls that still run (their boxes end with the sandbox) without a
 * word to on_done. The structs are free when the loop has run once more. */
void calls_release(struct calls *calls);

/* Never fails: what goes wrong is an outcome. The call is valid until on_done
 * has been called. */
struct call *call_start(
    struct calls *calls, const struct call_request *request);
/* Stops it as a timeout does, with outcome cancelled. */
void call_cancel(struct call *call);

#endif
