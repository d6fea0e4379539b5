/*
 * From a rule of a script to an answer.
 */
#ifndef SUPPORT_SCRIPT_FILL_H
#define SUPPORT_SCRIPT_FILL_H

#include "tests/support/lib/responses_answer.h"
#include "tests/support/lib/responses_request.h"

/* rule: one that the schema has passed; answer: a clear one. Errors: the file
 * of a replay cannot be read. */
int script_fill(struct answer *answer, struct json rule,
    const struct request *request, struct err *err) CHECKED;

#endif
