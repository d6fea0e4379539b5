/*
 * The {{words}} of scripts, by which an answer repeats parts of its request.
 */
#ifndef SUPPORT_SCRIPT_TEMPLATE_H
#define SUPPORT_SCRIPT_TEMPLATE_H

#include "tests/support/lib/responses_request.h"

/* ERR_INPUT naming the first {{word}} that there is not. */
int template_check(struct slice text, struct err *err) CHECKED;

/* Appends text with its {{words}} filled in. quoted: text is JSON, and what
 * stands inside its strings is escaped accordingly. */
void template_expand(struct slice text, const struct request *request,
    bool quoted, struct buf *out);

#endif
