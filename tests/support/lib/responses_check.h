/*
 * What a Responses API refuses: the rules that a client which keeps its own
 * history (store: false) must follow, checked on every request so that tests
 * can say "none was refused".
 */
#ifndef SUPPORT_RESPONSES_CHECK_H
#define SUPPORT_RESPONSES_CHECK_H

#include "tests/support/lib/responses_request.h"

#define CHECK_CALL_ID_MAX 64u /* characters */
#define CHECK_NAME_MAX    128u

/* An answer in the shape of OpenAI's errors. */
struct fault {
	int status; /* 0: no fault */
	const char *type;
	const char *code;
	char param[64]; /* "" is null */
	char text[400];
};

/* Sets the fault and returns -1. type follows from the status. */
int fault_set(struct fault *fault, int status, const char *code,
    const char *param, const char *fmt, ...) PRINTF(5, 6);
void fault_body(const struct fault *fault, struct buf *out);

/* 0, or -1 with the first fault. */
int check_request(const struct request *request, struct fault *fault) CHECKED;

#endif
