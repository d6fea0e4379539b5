/*
 * The runs loaded here: each with a queue of inputs and at most one step that
 * is not committed. Owns the runs; feeds the loop, hands steps to the store,
 * releases effects when a step stands.
 */
#ifndef SUPERVISOR_RUNS_H
#define SUPERVISOR_RUNS_H

#include "supervisor/supervisor.h"

#define RUNS_HAND_BACK_MS 10000u

/* Whom to tell when an input stands (or cannot be). */
struct receipt {
	enum {
		RECEIPT_NONE,
		RECEIPT_WORKER, /* ack to peer */
		RECEIPT_SUBMIT, /* submitted to peer */
		RECEIPT_CANCEL, /* reply to peer */
	} kind;
	struct peer peer;
	uint64_t request;
	uint32_t
	    repeats; /* RECEIPT_WORKER: how often it came again meanwhile */
	bool watch, deltas; /* RECEIPT_SUBMIT: the client wants events */
};

/* An input with everything it borrows. */
struct queued {
	struct list link;
	struct input input;
	struct msg msg;
	struct buf frame;       /* owned; what msg points into */
	struct link_body *body; /* owned */
	char *text;             /* owned; body or reason from the inbox */
	struct receipt receipt;
	char *inbox_kind, *inbox_key; /* owned; set when it is an inbox row */
};

struct slot {
	struct list link;  /* in runs->all */
	struct list ready; /* linked while inputs wait and no step is open */
	struct supervisor *sup;
	struct run *run; /* owned */
	struct agent_entry *agent;
	struct list inputs;   /* struct queued, not yet in a step */
	struct list consumed; /* struct queued, in the open step */
	struct step step;
	struct store_entry entry;
	struct effect *starts, *cancels; /* of the open step, in its arena */
	size_t start_count, cancel_count;
	bool open;    /* a step is in the store, or waits for release */
	bool held;    /* committed, but release must wait for a beat */
	bool starved; /* something of it waits for credit */
	bool expired; /* INPUT_DEADLINE was given */
	uint64_t claimed_ms, deadline_ms, wake_ms, starved_ms;
};

struct runs {
	struct supervisor *sup;
	struct map by_id; /* run id -> slot */
	struct list all, ready;
	size_t count;
	bool feed;          /* credit came: look at the starved */
	struct effects fx;  /* scratch of the step being built */
	uint64_t bad, gone; /* counters */
};

struct runs *runs_new(struct supervisor *sup);
struct runs *runs_free(struct runs *runs);

struct slot *runs_find(const struct runs *runs, const struct uuid *id);
/* Takes the run. */
struct slot *runs_add(
    struct runs *runs, struct run *owned, struct agent_entry *agent);
/* A new run, whose input items lie in `step` already: it goes to the store
 * with its first turn. Takes run and step. */
void runs_accept(struct runs *runs, struct run *owned,
    struct agent_entry *agent, struct step *step,
    const struct receipt *receipt);

/* The run is submitted again. True: its row does not stand yet, the client is
 * told when it does. */
bool runs_accept_again(struct slot *slot, const struct receipt *receipt);

/* Queues an input; the rest is made of it here. */
void runs_input(struct slot *slot, enum input_kind kind);
void runs_cancel(
    struct slot *slot, struct slice reason, const struct receipt *receipt);
/* One that waits here already is not kept twice, however often it comes. */
void runs_result(struct slot *slot, const struct fleet_result *result);
/* A row of the inbox; ignored when it is queued already. */
void runs_inbox(struct slot *slot, struct slice kind, struct slice key,
    struct slice note, struct slice frame, struct slice body);

/* End of a loop pass: builds steps of all ready runs. */
void runs_pass(struct runs *runs);
/* The store's answer. */
void runs_answer(
    struct runs *runs, struct store_entry *entry, enum store_answer answer);
/* Attempts whose workers are gone or never had them; deadlines; held steps. */
void runs_judge(struct runs *runs);
void runs_tick(struct runs *runs);
/* Drops everything: the database went back in time. */
void runs_drop_all(struct runs *runs);

/* A result for a run that is not loaded here goes to its owner through the
 * inbox, and is acked when that stands. */
void runs_forward(struct supervisor *sup, const struct fleet_result *result);

#endif
