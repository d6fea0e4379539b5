/*
 * What the files of the store share.
 */
#ifndef SCHEMA_STORE_INTERNAL_H
#define SCHEMA_STORE_INTERNAL_H

#include "schema/store.h"

enum batch_state {
	BATCH_IDLE,
	BATCH_SENT,
	BATCH_UNKNOWN,  /* connection lost before the commit was seen */
	BATCH_SETTLING, /* connected again: asking what became of it */
};

struct store {
	struct store_config config;
	struct db *db[DB_USES]; /* owned */
	char application[DB_USES][80];

	struct list waiting; /* entries, in order of arrival */
	struct store_entry *batch[STORE_BATCH_RUNS];
	size_t batch_count;
	size_t given;     /* results seen of the batch in flight */
	size_t failed_at; /* first failing entry, or SIZE_MAX */
	enum batch_state state;
	size_t limit; /* runs of the next batch */
	unsigned env_failures, schema_failures;
	uint64_t pause_until_ms;
	size_t runs;       /* loaded, as last told */
	uint64_t sent_us;  /* when the last batch left */
	uv_timer_t *retry; /* flushes when a pause ends */
	uv_timer_t *ask;   /* settles again */

	char timeline[16];
	bool rewound;
	int64_t old_sessions;

	bool registered, registering, added;  /* my row */
	uint64_t beat_sent_ms, beat_acked_ms; /* when the acked one was sent */
	bool beat_open;
	uv_timer_t *beat;
	db_synced *bye_done;
	void *bye_arg;
	struct err bye_err;

	struct db_params params;
	struct store_stats stats;
};

/* ---- store_batch.c ---- */

void store_give(
    struct store *store, struct store_entry *e, enum store_answer what);
/* Empties the batch in flight into the caller's array; the store is idle. */
void store_take_batch(
    struct store *store, struct store_entry *batch[], size_t *count);
/* Back to the head of the queue, in the same order. */
void store_put_back(
    struct store *store, struct store_entry *batch[], size_t count);

/* ---- store_settle.c ---- */

/* The batch connection is there: what became of the batch that was in flight
 * when the last one was lost? */
void store_settle(struct store *store);

#endif
