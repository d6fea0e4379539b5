/*
 * One step of a run, as rows: what the agent loop decided and the store makes
 * durable with one guarded statement. Contract between the two; owns only
 * what lies in its arena.
 */
#ifndef PROTO_STEP_H
#define PROTO_STEP_H

#include "base/arena.h"
#include "base/uuid.h"
#include "proto/limits.h"

enum item_category {
	ITEM_INPUT = 0,
	ITEM_RESPONSE = 1,
	ITEM_FUNCTION_OUTPUT = 2,
	ITEM_UNKNOWN_TOOL =
	    8, /* outputs for calls of tools that are not there */
};

/* Tokens, as the provider counts: cached is part of input, reasoning of
 * output. */
struct usage {
	bool known;
	uint64_t input, output, total, cached, reasoning;
};

/* Where an attempt was sent. Filled when credit was reserved. */
struct placement {
	struct slice worker; /* its name; borrowed from the fleet or an arena */
	struct uuid process; /* process start of the worker */
	uint64_t session;    /* its session at that time */
	bool idempotent;     /* tools: may run again */
};

struct item_row {
	uint32_t turn;
	enum item_category category;
	uint32_t idx;
	unsigned marks;    /* enum json_mark that were scrubbed */
	struct slice type; /* borrowed */
	struct slice item; /* JSON text, borrowed from the run */
};

struct turn_start_row {
	uint32_t turn, attempt;
	struct placement at;
	struct slice model;
	uint64_t queued_ms; /* how long it waited for credit */
};

struct turn_end_row {
	uint32_t turn, attempt;
	const char *state; /* done failed refused lost cancelled */
	struct slice response_id, request_id, status, finish;
	struct slice error_class, error_code, error;
	uint64_t http_status, wait_ms;
	struct usage usage;
	uint64_t headers_ms, first_ms, total_ms;
};

enum call_row_kind {
	CALL_ROW_NEW,  /* insert; with an outcome if it was answered at once */
	CALL_ROW_MOVE, /* update of state and placement */
	CALL_ROW_END,  /* update with an outcome */
};

struct call_row {
	enum call_row_kind kind;
	uint32_t turn, call, attempt;
	const char *state; /* queued dispatched done cancelled */
	struct placement at;
	/* CALL_ROW_NEW */
	uint32_t item_idx;
	struct slice call_id, name;
	/* CALL_ROW_END, and CALL_ROW_NEW in state done */
	struct slice outcome, sandbox;
	int64_t code;
	uint64_t wall_ms, cpu_ms, rss_kb, stdout_bytes, stderr_bytes,
	    dropped_bytes;
	struct slice output; /* for events; the row is an item */
};

struct inbox_key {
	struct slice kind, key;
};

/* The run's own row after this step. */
struct run_row {
	const char *state;
	struct slice reason, error, waits_for, needs; /* empty = null */
	bool park;                                    /* owner becomes null */
	bool wake; /* wake_at = now + wake_ms, else null */
	uint64_t wake_ms;
	bool final;
	uint32_t turn;
	struct usage usage; /* totals so far */
	uint64_t active_ms;
	uint64_t age_ms; /* since it was accepted; for events, not stored */
};

#define STEP_ROWS_MAX 1024u /* items or calls of one step */

struct step {
	struct arena arena; /* owns the arrays and copied strings below */
	struct uuid run_id;
	uint64_t claim, step; /* guard: the row's values before this step */
	struct run_row run;

	/* A new run: an INSERT instead of the guarded UPDATE. */
	bool accept;
	struct slice agent, session, metadata;
	uint32_t agent_version;
	int priority;

	struct turn_end_row *turn_end;     /* at most one */
	struct turn_start_row *turn_start; /* at most one */
	struct item_row *items;
	size_t item_count, item_cap;
	struct call_row *calls;
	size_t call_count, call_cap;
	struct inbox_key *inbox;
	size_t inbox_count, inbox_cap;
	uint64_t at_ms; /* when it was committed, ms since 1970; for events */
	size_t bytes;   /* of items, for the size of a batch */
};

/* Appends a zeroed row; the pointer is good until the next append. */
struct item_row *step_add_item(struct step *step);
struct call_row *step_add_call(struct step *step);
struct inbox_key *step_add_inbox(struct step *step);
void step_release(struct step *step);

#endif
