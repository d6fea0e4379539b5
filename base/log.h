/*
 * Log lines on stderr: one event in lower case with fields, logfmt or JSON.
 * Never bodies, never secrets. The one place with process-wide state (format,
 * level, program name), set by main.
 *
 *	log_info("turn sent", log_uuid("run", &run->id), log_num("turn", 3));
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"
#include "base/slice.h"
#include "base/uuid.h"

enum log_level {
	LOG_DEBUG,
	LOG_INFO,  /* a state changed */
	LOG_WARN,  /* will be retried, or refused and survived */
	LOG_ERROR, /* somebody must look */
};

struct log_field {
	const char *key;
	enum {
		LOG_FIELD_END,
		LOG_FIELD_TEXT,
		LOG_FIELD_NUM,
		LOG_FIELD_UUID
	} kind;
	struct slice text; /* written escaped, cut at 500 bytes */
	int64_t num;
	struct uuid uuid;
};

/* program: borrowed for ever, e.g. "reeved". */
void log_setup(const char *program, enum log_level least, bool json);
void log_write(
    enum log_level level, const char *event, const struct log_field *fields);

#define LOG_AT(level, event, ...)                                              \
	log_write(level, event,                                                \
	    (const struct log_field[]){                                        \
		__VA_ARGS__ __VA_OPT__(, )(struct log_field){ 0 } })
#define log_debug(event, ...)                                                  \
	LOG_AT(LOG_DEBUG, event __VA_OPT__(, ) __VA_ARGS__)
#define log_info(event, ...) LOG_AT(LOG_INFO, event __VA_OPT__(, ) __VA_ARGS__)
#define log_warn(event, ...) LOG_AT(LOG_WARN, event __VA_OPT__(, ) __VA_ARGS__)
#define log_error(event, ...)                                                  \
	LOG_AT(LOG_ERROR, event __VA_OPT__(, ) __VA_ARGS__)

/* Fields borrow what they are given for the call. NULL as text prints "". */
struct log_field log_str(const char *key, const char *text);
struct log_field log_slice(const char *key, struct slice text);
struct log_field log_num(const char *key, int64_t num);
struct log_field log_uuid(const char *key, const struct uuid *uuid);
/* error=TEXT */
struct log_field log_err(const struct err *err);

/* The same line at most once a second per call site and process; the next one
 * that is written says how many were left out. */
#define log_warn_slow(event, ...)                                              \
	do {                                                                   \
		static uint64_t log_next_ms_, log_left_out_;                   \
		log_limited(&log_next_ms_, &log_left_out_, event,              \
		    (const struct log_field[]){                                \
			__VA_ARGS__ __VA_OPT__(, )(struct log_field){ 0 } });  \
	} while (0)
void log_limited(uint64_t *next_ms, uint64_t *left_out, const char *event,
    const struct log_field *fields);

#endif
