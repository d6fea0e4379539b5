/*
 * Do two JSON values mean the same? Objects whatever their order, numbers by
 * their value (1, 1.0 and 10e-1 are one), strings by their characters.
 */
#ifndef BASE_JSON_EQUAL_H
#define BASE_JSON_EQUAL_H

#include "base/json.h"

/* Both lower *work by about a unit a byte that they read. When it is used up
 * they stop: *work is 0 then and the result means nothing. */
bool json_equal(struct json a, struct json b, size_t *work);
/* Equal values have equal hashes. Not keyed: for sorting, not for tables. */
uint64_t json_hash(struct json value, size_t *work);

/* Two strings of checked texts. */
bool json_string_equal(struct json a, struct json b);

#endif
