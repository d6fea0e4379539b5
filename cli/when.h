/*
 * Times as people write them: RFC 3339, and "+10m" from now.
 */
#ifndef CLI_WHEN_H
#define CLI_WHEN_H

#include "base/slice.h"

/* "2030-01-02T03:04:05Z", "…05.678+02:00", also with a space for the T. Years
 * 1970 to 9999; a leap second counts as the second after it. */
bool when_rfc3339(struct slice text, uint64_t *ret_ms);
/* "+90s", "+10m", "+2h", "+1d"; at most ten years. */
bool when_relative(struct slice text, uint64_t *ret_ms);

#endif
