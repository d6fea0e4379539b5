/*
 * How an attempt ended, as the message that tells it.
 */
#ifndef MODEL_REPORT_H
#define MODEL_REPORT_H

#include "proto/message.h"
#include "workers/model/deadline.h"
#include "workers/model/models.h"
#include "workers/worker.h"

struct report {
	const struct attempt *attempt; /* borrowed, as all here */
	const struct model *model;
	struct body *body; /* after body_end, or failed */
	const struct times *times;
	const char *request_id; /* NULL: none */
	uint64_t wait_ms;       /* from the headers */
	uint64_t now_ms;
};

/* Closes the response and makes MSG_turn_done with its items, or
 * MSG_turn_failed with a message for people: what was said, by whom, and what
 * to look at; never a key. Strings in ret_msg borrow from the body and the
 * report. */
void report_make(
    struct report *report, struct msg *ret_msg, struct buf *ret_items);

#endif
