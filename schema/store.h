/*
 * Makes steps durable: gathers those of all runs into batches, one implicit
 * transaction each, one in flight; tells for each step whether it stands. Also
 * keeps this supervisor's row alive. Owns the four connections.
 */
#ifndef SCHEMA_STORE_H
#define SCHEMA_STORE_H

#include "proto/step.h"
#include "schema/db.h"

#define STORE_BATCH_RUNS   256u
#define STORE_BATCH_BYTES  (4u * 1024 * 1024)
#define STORE_STEP_BYTES   (192u * 1024 * 1024) /* a larger one fails its run */
#define STORE_PATIENCE     3u  /* failed batches before runs go one by one */
#define STORE_PACE_US      40u /* per loaded run between two batches */
#define STORE_PACE_MAX_US  10000u
#define STORE_RETRY_MS     10u /* doubles to STORE_RETRY_MAX_MS */
#define STORE_RETRY_MAX_MS 1000u

enum store_answer {
	STORE_COMMITTED, /* release its effects */
	STORE_GONE, /* the run is not ours or has ended: drop memory and effects
		     */
	STORE_BAD,  /* its data was refused; the run was failed, or not accepted
		     */
};

/* One step on its way. Embedded by whoever waits for the answer. */
struct store_entry {
	struct list link;
	struct step *step; /* borrowed until the answer */
	uint64_t not_before_ms;
	unsigned tries;
	bool alone, failing; /* set aside; being failed */
	int count;           /* what its statement returned */
	struct err err;
};

struct store_config {
	struct loop *loop; /* borrowed, as all below */
	const char *conninfo;
	struct uuid supervisor; /* this process start */
	const char *name;       /* of the instance: the same after a restart */
	const char *host;
	void (*on_answer)(
	    void *arg, struct store_entry *entry, enum store_answer answer);
	/* My row stands; also after each reconnect of the side connection. */
	void (*on_side_up)(void *arg, bool first);
	/* Somebody deleted my row: release nothing, exit. */
	void (*on_deposed)(void *arg);
	/* The database went back in time: drop all runs and load them anew. */
	void (*on_rewound)(void *arg);
	/* Nothing can go on (the schema does not fit). */
	void (*on_fatal)(void *arg, const struct err *err);
	void *arg;
};

struct store_stats {
	uint64_t batches, steps, failed_batches, set_aside, unknown, lost;
};

struct store; /* defined in store.c */

struct store *store_new(const struct store_config *config);
struct store *store_free(struct store *store);

/* Queues a step. Its run must have no other step in the store. */
void store_add(
    struct store *store, struct store_entry *entry, struct step *step);
/* Sends the next batch if none is in flight and none must wait; the store's own
 * timer does the rest. Call at the end of each pass. */
void store_flush(struct store *store);
/* How many runs are loaded: the more there are, the longer (up to
 * STORE_PACE_MAX_US) a batch gathers, since their steps come one by one. */
void store_set_runs(struct store *store, size_t runs);
/* May effects be released? Only while the last acknowledged beat was sent less
 * than LEASE_SELF_MS ago. */
bool store_may_release(const struct store *store);
/* Nothing queued, nothing in flight. */
bool store_is_idle(const struct store *store);
bool store_is_up(const struct store *store);

struct db *store_side(struct store *store);
struct db *store_read(struct store *store);
const struct store_stats *store_stats(const struct store *store);
/* Deletes my row and gives back my runs, then calls done. */
void store_bye(struct store *store, db_synced *done, void *arg);

/* ---- store_step.c: rows as parameters ---- */
/* Both return the statement that takes them: the cheapest that has every part.
 */
enum db_query store_step_params(
    const struct step *step, const struct uuid *me, struct db_params *p);
enum db_query store_accept_params(
    const struct step *step, const struct uuid *me, struct db_params *p);
void store_fail_params(const struct step *step, const struct uuid *me,
    const struct err *why, struct db_params *p);

#endif
