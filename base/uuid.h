/*
 * UUIDs: version 7 (RFC 9562, time-ordered) for ids that are stored, version 4
 * for the identity of a process start.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/err.h"
#include "base/slice.h"

struct uuid {
	uint8_t bytes[16];
};

#define UUID_TEXT 37 /* 36 characters and NUL */

/* Time from clock_wall_ms; never goes back in one process. */
struct uuid uuid_v7(void);
struct uuid uuid_v4(void);
bool uuid_is_zero(const struct uuid *uuid);
bool uuid_eq(const struct uuid *a, const struct uuid *b);
/* Milliseconds since 1970 inside a version 7 uuid; 0 for other versions. */
uint64_t uuid_ms(const struct uuid *uuid);
/* Writes 36 lower-case characters and NUL; returns `text`. */
const char *uuid_text(const struct uuid *uuid, char text[UUID_TEXT]);
/* Accepts the 36-character form in either case. */
int uuid_parse(
    struct slice text, struct uuid *ret_uuid, struct err *err) CHECKED;

static inline struct slice
uuid_slice(const struct uuid *uuid)
{
	return slice_of(uuid->bytes, sizeof(uuid->bytes));
}

#endif
