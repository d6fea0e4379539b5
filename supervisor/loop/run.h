/*
 * A run and its loop: a pure machine. run_step is given one input and changes
 * the run, appends rows to a step and lists effects. It does no I/O, reads no
 * clock, draws no random number; time, chance and free workers come in with
 * the input. Only run_step writes run->state.
 */
#ifndef SUPERVISOR_LOOP_RUN_H
#define SUPERVISOR_LOOP_RUN_H

#include "proto/agent.h"
#include "proto/message.h"
#include "proto/step.h"

enum run_state {
#define STATE(name, final, meaning) RUN_##name,
#define EVENT(name, meaning)
#define ON(state, event, action, next)
#include "supervisor/loop/run_table.def"
#undef STATE
#undef EVENT
#undef ON
	RUN_STATES
};

enum run_event {
#define STATE(name, final, meaning)
#define EVENT(name, meaning) RUN_ON_##name,
#define ON(state, event, action, next)
#include "supervisor/loop/run_table.def"
#undef STATE
#undef EVENT
#undef ON
	RUN_EVENTS,
	RUN_ON_nothing = RUN_EVENTS
};

#define RUN_TURN_ATTEMPTS                                                      \
	3u /* failed attempts of one turn, the first included */
#define RUN_TURN_LOSSES    5u   /* attempts of one turn whose worker vanished */
#define RUN_CALL_ATTEMPTS  3u   /* attempts of an idempotent call */
#define RUN_RESPONSE_ITEMS 512u /* items of one response */
#define RUN_PARK_MS        30000u /* a longer wait gives the run back */
#define RUN_WAIT_MAX_MS                                                        \
	120000u /* a provider's longer wait is not obeyed, the run fails */
#define RUN_BACKOFF_MS 1000u /* doubles with each attempt, full jitter */

/* One stored item; the run owns the text. */
struct run_item {
	uint32_t turn, idx;
	enum item_category category;
	char *text;
	size_t len;
};

enum call_state {
	CALL_QUEUED,
	CALL_DISPATCHED,
	CALL_DONE,
};

/* Where an attempt is; the worker's name is kept for rows and people. */
struct flight {
	uint32_t turn, call, attempt; /* call 0: the model turn */
	struct uuid process;
	uint64_t session;
	char worker[LIMIT_NAME + 1];
};

/* A call of the current turn. Strings lie in run->calls_arena. */
struct run_call {
	uint32_t call, item_idx, attempt;
	enum call_state state;
	bool idempotent;
	struct slice call_id, name;
	struct slice arguments; /* decoded text, "" means {} */
	struct flight at;       /* while dispatched */
	uint64_t not_before_ms;
	uint32_t refusals;
};

struct run {
	struct uuid id;
	const struct agent *agent; /* borrowed; outlives the run */
	uint32_t agent_version;
	char *session; /* owned, NULL when there is none */
	int priority;
	uint64_t claim, step;
	enum run_state state;
	uint32_t turn; /* turns begun */

	struct run_item *items; /* owned; earlier runs of the session first */
	size_t item_count, item_cap, item_bytes;
	size_t history; /* how many of them belong to earlier runs */

	bool turn_open; /* an attempt is dispatched: turn_at says where */
	struct flight turn_at;
	uint32_t attempt; /* attempts of this turn so far, refused ones too */
	uint32_t failures, losses, refusals; /* of this turn */
	uint64_t not_before_ms;              /* the next attempt's time */
	uint64_t queued_ms; /* since when the turn waits for credit */

	struct run_call *calls; /* of the current turn, in calls_arena */
	size_t call_count;
	struct arena calls_arena;

	struct usage usage;
	uint64_t age_before_ms; /* from its acceptance to its load here */
	uint64_t active_before_ms,
	    loaded_ms; /* active time = before + now - loaded */
};

enum input_kind {
	INPUT_START,
	INPUT_PLACE,
	INPUT_TURN_DONE,    /* msg turn_done, body items */
	INPUT_TURN_FAILED,  /* msg turn_failed */
	INPUT_TURN_LOST,    /* its worker vanished */
	INPUT_TURN_REFUSED, /* it never started */
	INPUT_TOOL_DONE,    /* msg tool_done, body text */
	INPUT_TOOL_LOST,
	INPUT_TOOL_REFUSED,
	INPUT_CANCEL, /* text: reason */
	INPUT_DEADLINE,
	INPUT_HAND_BACK, /* nothing is in flight, nobody here offers what it
			    needs */
};

struct input {
	enum input_kind kind;
	uint64_t now_ms;
	uint32_t random;              /* for jitter */
	uint32_t turn, call, attempt; /* results, losses, refusals */
	const struct msg *msg;        /* borrowed for the call */
	struct slice body, text;      /* borrowed for the call */
};

/* What must be free somewhere before an attempt can leave. */
struct need {
	bool tool;
	struct slice name; /* of the model or the tool */
	const struct run *run;
};

struct effect {
	uint32_t turn, call, attempt; /* call 0: the model turn */
	struct placement at;
};

#define EFFECTS_MAX (LIMIT_TURN_CALLS + 1)

struct effects {
	/* Reserves credit at a worker, or says that there is none now and in
	 * `why` what is missing (borrowed until the step is sealed). The
	 * strings in ret_at are good until the step is released. */
	bool (*place)(void *arg, const struct need *need,
	    struct placement *ret_at, struct slice *why);
	void *arg;

	struct step *step; /* rows; borrowed */
	bool changed;      /* the step must be committed */
	struct effect starts[EFFECTS_MAX];
	size_t start_count;
	struct effect cancels[EFFECTS_MAX];
	size_t cancel_count;
	uint64_t timer_ms; /* ask for INPUT_PLACE after this time; 0 = no */
	bool starved;      /* something is queued because place said no */
	struct slice why;  /* what place said last */
};

enum run_answer {
	RUN_TAKEN,   /* the input moved the run (see effects->changed) */
	RUN_STALE,   /* a result for an attempt that is not current: ack it */
	RUN_REFUSED, /* cannot happen in this state: log it */
};

/* The one door. Several inputs may go into one step before it is committed.
 * Never called for a run in a final state. */
enum run_answer run_step(
    struct run *run, const struct input *input, struct effects *fx);

/* Fills step->run (the run's own row) from the run: call once, when the step
 * is complete. */
void run_seal(struct run *run, struct effects *fx, uint64_t now_ms);

/* A new run with its input: JSON text, or an array of items that was checked.
 * Copies. -1 with ERR_INPUT or ERR_LIMIT; the run is then to be freed. */
struct run *run_new(const struct uuid *id, const struct agent *agent);
int run_set_input(struct run *run, struct json input, struct step *step,
    struct err *err) CHECKED;
/* Appends an item that is stored already (loading). Copies. */
void run_add_item(struct run *run, uint32_t turn, enum item_category category,
    uint32_t idx, struct slice item);
/* Room for the calls of the current turn while loading; zeroed. */
struct run_call *run_make_calls(struct run *run, size_t count);
struct run *run_free(struct run *run); /* NULL is fine; returns NULL */

bool run_is_final(const struct run *run);
const char *run_state_name(enum run_state state);
bool run_state_by_name(struct slice name, enum run_state *ret_state);
const char *run_event_name(enum run_event event);
/* The arguments of a call of the current turn, or NULL. */
struct run_call *run_find_call(struct run *run, uint32_t call);
/* Finds name, call_id, arguments of a stored function_call item for a call. */
void run_fill_call(struct run *run, struct run_call *call);
/* Counts of attempts in flight, and each of them (n from 0). */
const struct flight *run_flight(const struct run *run, size_t n);

/* The body of turn_start: instructions, tools (JSON array as offered to the
 * model), settings and the items as stored, byte for byte. */
void run_request(const struct run *run, struct slice tools, struct buf *out);

/* Where an event leads from a state; false when that cell is empty. For tests
 * and pictures. */
bool run_table_next(
    enum run_state state, enum run_event event, enum run_state *ret_next);
/* The machine as Markdown and as a dot graph, for README and people. */
void run_print_table(struct buf *out);
void run_print_dot(struct buf *out);

#endif
