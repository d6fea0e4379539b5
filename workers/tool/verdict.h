/*
 * How a call ended, from what is known about it, and the words for the model.
 */
#ifndef TOOL_VERDICT_H
#define TOOL_VERDICT_H

#include "workers/tool/call.h"
#include "workers/tool/output.h"

#define VERDICT_TEXT_MAX (2u * OUTPUT_TEXT_BYTES)

struct verdict {
	const struct tool *tool;
	bool decided; /* by the worker: whatever the box reports */
	enum call_outcome outcome;
	char reason[sizeof(((struct err *)NULL)->text)]; /* why it never ran */
	bool has_report;                                 /* of a box that ran */
	struct box_report report;
	uint64_t limit_ms; /* wall time that it had */
	uint64_t wall_ms;  /* and took */
};

/* Fills ret_result and appends the text. */
void verdict_give(const struct verdict *verdict, const struct output *out,
    const struct output *err, struct call_result *ret_result, struct buf *text);

#endif
