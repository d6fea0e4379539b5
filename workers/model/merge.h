/*
 * What the end of a response does to its output: the terminal list fills gaps,
 * items that never got `done` are built, calls get ids and arguments that can
 * be run and replayed.
 */
#ifndef MODEL_MERGE_H
#define MODEL_MERGE_H

#include "workers/model/output.h"

/* The list of the terminal event: adds items and members that are missing;
 * where it disagrees with an item that got `done`, that item stands. */
void merge_final(struct output *out, struct json list);

/* Closes the output: builds what never got `done` (with this status) and
 * repairs calls: no call_id -> the item's id, else __idx_N; a call_id that
 * stands twice -> the later one gets _2, _3…; arguments blank or missing ->
 * {}, an object -> its JSON text; text that is no JSON stays as it is. */
void merge_close(struct output *out, const char *status);

/* Drops each message that the next message begins with: some servers send a
 * message again when it has grown. */
void merge_repeats(struct output *out);

#endif
