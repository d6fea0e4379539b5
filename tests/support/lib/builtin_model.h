/*
 * The model that answers when no script says how: a small agent for people who
 * try reeve without a key, and the load models whose names begin with "bench".
 */
#ifndef SUPPORT_BUILTIN_MODEL_H
#define SUPPORT_BUILTIN_MODEL_H

#include "tests/support/lib/responses_answer.h"
#include "tests/support/lib/responses_request.h"

/* Does the request name a load model? */
bool bench_is_asked(const struct request *request);
/* ERR_INPUT for an option that does not exist or is out of range. */
int bench_answer(const struct request *request, struct answer *answer,
    struct err *err) CHECKED;

/* Calls `weather` and `calculator` when they are offered and asked for, tells
 * in words what tools said, or says what it is. */
void agent_answer(const struct request *request, struct answer *answer);

#endif
