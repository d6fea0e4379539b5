/*
 * What the files of the loop share with each other and with nobody else.
 */
#ifndef SUPERVISOR_LOOP_INTERNAL_H
#define SUPERVISOR_LOOP_INTERNAL_H

#include "base/json.h"
#include "supervisor/loop/run.h"

/* What happened with a model attempt: run_event plus what its action needs. */
struct finding {
	enum run_event event;
	const char *reason; /* for the run's row */
	struct slice error; /* for the run's row; in the step's arena */
	uint64_t wait_ms;   /* before another attempt */
};

/* ---- turn.c: model attempts ---- */

/* Is this the attempt that is open? */
bool turn_is_current(const struct run *run, const struct input *input);
/* Looks at a result and says what happened; stores nothing yet. */
struct finding turn_judge(
    struct run *run, const struct input *input, struct step *step);
/* Begins the next turn, or goes on placing the one that waits. */
void turn_begin(struct run *run, const struct input *input, struct effects *fx);
void turn_place(struct run *run, const struct input *input, struct effects *fx);
/* Writes the open attempt's end. */
void turn_close(struct run *run, const struct input *input, struct effects *fx,
    const char *state);
/* Stores the items of a response. */
void turn_store(struct run *run, const struct input *input, struct effects *fx);

/* ---- response.c: sorting the output ---- */

enum item_class {
	CLASS_MESSAGE,
	CLASS_REASONING,
	CLASS_CALL,   /* function_call: ours to answer */
	CLASS_HOSTED, /* ran at the provider */
	CLASS_OTHER,  /* stored and replayed, not looked at */
};
enum item_class response_class(struct json item);
/* The event that a whole response stands for. */
struct finding response_judge(
    const struct run *run, const struct input *input, struct step *step);

/* ---- calls.c: calls of the current turn ---- */

/* Binds the calls of the response just stored; answers those that cannot be
 * dispatched; places the rest. */
void calls_bind(struct run *run, const struct input *input, struct effects *fx);
/* Answers the calls of a response that was cut short, and runs none. */
void calls_leave(struct run *run, struct effects *fx);
void calls_place(
    struct run *run, const struct input *input, struct effects *fx);
/* What a tool's result or loss means. */
struct finding calls_judge(struct run *run, const struct input *input);
bool calls_is_current(struct run *run, const struct input *input);
/* Stores one output and ends the call. */
void calls_answer(struct run *run, struct run_call *call, struct effects *fx,
    const struct msg_tool_done *done, const char *outcome, struct slice text);
/* Ends every open call with an outcome and a text, and cancels its attempt. */
void calls_close(
    struct run *run, struct effects *fx, const char *outcome, const char *text);
bool calls_open(const struct run *run);
/* The event when no call is open: another turn, or why there is none. more:
 * bytes of the output that is about to be stored. */
enum run_event calls_over(const struct run *run, size_t more);

/* ---- run.c ---- */

/* Stores a new item in the run and as a row; takes the text and returns it,
 * borrowed from the run. */
struct slice run_store_item(struct run *run, struct effects *fx, uint32_t turn,
    enum item_category category, uint32_t idx, unsigned marks,
    struct slice type, struct buf *text);

#endif
