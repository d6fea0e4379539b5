/*
 * The request of a turn: what turn_start brought, with items and tools byte for
 * byte, and what every request carries.
 */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include "workers/model/models.h"

#define REQUEST_MAX (LIMIT_BODY + (1u << 20))

/* Appends the body of POST /responses. start: {"instructions", "tools",
 * "settings", "input"}; its settings go in as they are, except those that every
 * request fixes (stream, store, include, …) and nulls. Errors: ERR_INPUT when a
 * member has the wrong type; ERR_LIMIT. */
int request_build(struct buf *out, const struct model *model, struct json start,
    struct err *err) CHECKED;

#endif
