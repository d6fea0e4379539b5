/*
 * Why an attempt failed: what the provider said, in whatever shape, and the
 * class that the loop decides by. Classes and what may be retried stand in
 * proto/errors.def, codes in codes.def.
 */
#ifndef MODEL_ERRORS_H
#define MODEL_ERRORS_H

#include "base/json.h"
#include "proto/limits.h"

enum error_class {
#define ERROR(name, short_name, retry, meaning) ERROR_##name,
#include "proto/errors.def"
#undef ERROR
};

const char *error_name(enum error_class class);
const char *error_short_name(enum error_class class);
bool error_may_retry(enum error_class class);

#define RETRY_WAIT_MAX_MS 120000u /* a longer wait is never cut short */

enum retry_advice {
	RETRY_UNSAID,
	RETRY_NO, /* x-should-retry: false */
	RETRY_YES,
};

struct failure {
	enum error_class class; /* set by failure_classify, unless decided */
	bool decided;           /* the class does not hang on what was said */
	char code[LIMIT_NAME + 1]; /* as the provider gave it; "" = none */
	char type[LIMIT_NAME + 1];
	char param[LIMIT_NAME + 1]; /* the request's key that it speaks of */
	char *message;    /* owned; at most LIMIT_TEXT bytes; NULL = none */
	unsigned status;  /* HTTP status, or 0 */
	uint64_t wait_ms; /* the provider said how long; 0 = it did not */
	enum retry_advice advice;
};

void failure_release(struct failure *failure);

/* Sets code and message of our own; codes begin with "client_". */
void failure_set(struct failure *failure, const char *code, const char *fmt,
    ...) PRINTF(3, 4);

/* Adds what an error object says, in any of the known shapes: `error` object
 * or text, flat code and message, detail, errors[0]. Keeps the first code, the
 * longer message. False when nothing was found. */
bool failure_read(struct failure *failure, struct json value);

/* The same for a body: JSON at its start (whatever follows it), else its
 * text without tags, at most 512 bytes. */
void failure_read_body(struct failure *failure, struct slice body);

/* Decides the class from code, type, status and text, and takes a delay that
 * stands only in the text. Unknown is `server`. */
void failure_classify(struct failure *failure);

/* May the client alone send it again: the class, what the provider advised, no
 * output handed on, and a wait that is not too long. */
bool failure_may_retry(const struct failure *failure, bool output);

/* Replaces each occurrence of the secret. Secrets under 4 bytes are left. */
void failure_hide(struct failure *failure, const char *secret);

/* Milliseconds from the headers (either may be NULL): retry-after-ms wins over
 * retry-after (seconds, a fraction, or a date). 0 when absent, past or none. */
uint64_t retry_wait_ms(
    const char *after_ms, const char *after, uint64_t wall_ms);
/* From x-should-retry (may be NULL). */
enum retry_advice retry_advice(const char *should_retry);
/* From a text: "try again in 11.054s", "28ms", "1m30s", "35 seconds"; else 0.
 */
uint64_t retry_text_ms(const char *message);

/* The first whole JSON object or array at the start of a text, which may go on
 * behind it; empty when it does not end. Not checked further. */
struct slice json_prefix(struct slice text);

#endif
