/*
 * The turns in flight: starts them, finds them again, gives their ends to the
 * worker skeleton. What main hands to it.
 */
#ifndef MODEL_TURNS_H
#define MODEL_TURNS_H

#include "base/map.h"
#include "workers/model/stream.h"

struct turns {
	struct loop *loop; /* borrowed, as all but the map */
	struct http *http;
	const struct models *models;
	struct worker *worker; /* set before the loop runs */
	struct map streams;    /* attempt -> struct stream */
};

void turns_release(struct turns *turns);

/* Callbacks for struct worker_config; arg is struct turns. */
void turns_describe(void *arg, struct json_writer *w);
void turns_start(void *arg, const struct attempt *attempt,
    const struct msg *msg, struct slice body);
void turns_cancel(void *arg, const struct attempt *attempt);
void turns_watch(void *arg, const struct attempt *attempt, bool on);

#endif
