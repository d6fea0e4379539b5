/*
 * The account of one run for people, from the reply to `get`.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/print.h"

#define SHOW_LINES 40u /* of one text; the rest is in --json */
#define SHOW_BYTES 8000u

/* Head, input, each turn with its attempts, items and calls, and the end or
 * what the run waits for. `program` begins the commands that it names. */
void show_print(struct buf *out, struct style style, struct json reply,
    const char *program);

#endif
