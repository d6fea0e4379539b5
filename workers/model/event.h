/*
 * One event of a response stream, read: its row of events.def, and its members
 * found in one walk. Borrows the text of the event.
 */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include "workers/model/output.h"

enum action {
	ACTION_NONE,
	ACTION_DELTA,
	ACTION_TEXT,
	ACTION_PART,
	ACTION_ADDED,
	ACTION_DONE,
	ACTION_CREATED,
	ACTION_NEWS,
	ACTION_END,
	ACTION_FAILED,
};

struct rule {
	struct slice type;
	enum action action;
	enum output_type item;
	enum part_kind part;
	const char *value;
};

/* An event's members, borrowed from its data. */
struct event {
	const struct rule *rule; /* NULL: it means nothing */
	struct json whole;
	struct json type, index, item_id, content_index, summary_index, delta,
	    item, response, sequence, error, object;
	unsigned marks;
};

/* The members of a response object that matter. */
struct answer {
	struct json whole;
	struct json id, model, status, incomplete, usage, tools, output;
};

/* name: of the `event` line, or empty. Either side, the line or the data, may
 * say what it is; an error on either side is an error. */
struct event event_read(struct slice name, struct json whole, unsigned marks);
struct answer answer_read(struct json response);

/* Whole numbers however they are written: 5, 5.0, 5e0. */
bool whole_number(struct json value, uint64_t *ret);

#endif
