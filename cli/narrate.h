/*
 * Tells a run's events to a person: text as it streams, calls and results as
 * they happen, a closing line. Knows what of the turn in flight stands on the
 * screen already, so that a snapshot or the stored item after it adds only what
 * is missing.
 */
#ifndef CLI_NARRATE_H
#define CLI_NARRATE_H

#include "base/uuid.h"
#include "cli/print.h"

#define NARRATE_HELD_MAX  (1u << 20) /* bytes of a turn's text compared */
#define NARRATE_LINES     12u        /* shown of a tool's result */
#define NARRATE_BYTES     2000u
#define NARRATE_ARGUMENTS 200u /* characters of a call's arguments */

enum narrate_kind {
	NARRATE_TEXT,
	NARRATE_REASONING,
	NARRATE_KINDS,
};

/* What the current line of the screen holds. */
enum narrate_line {
	NARRATE_LINE_EMPTY,
	NARRATE_LINE_TEXT,
	NARRATE_LINE_REASONING,
};

struct narrator {
	struct buf *out; /* borrowed: what is to be printed */
	struct style style;
	struct uuid run;
	uint64_t turn, attempt; /* whose text is held */
	/* The delta that comes next. Behind: some are missing, so nothing more
	 * is said until a snapshot or the stored item tells. */
	uint64_t next;
	bool behind;
	uint64_t item; /* the output item that streams */
	struct {
		struct buf held; /* owned: printed of this attempt */
		size_t stored;   /* of it, seen in stored items */
	} streams[NARRATE_KINDS];
	enum narrate_line line;
	bool at_line_start; /* the text of that line ended in a newline */
};

void narrator_init(struct narrator *narrator, struct buf *out,
    struct style style, const struct uuid *run);
void narrator_release(struct narrator *narrator);

/* Appends what this event adds. Unknown types add nothing. */
void narrate(struct narrator *narrator, struct slice type, struct json body);
/* Ends the line that is being written, so that something else can be printed.
 */
void narrate_break(struct narrator *narrator);
/* A dim line of its own; not in the middle of streaming text. */
void narrate_aside(struct narrator *narrator, struct json text);

#endif
