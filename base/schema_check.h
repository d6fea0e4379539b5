/*
 * JSON Schema: the part of draft 2020-12 that agent files, tools and structured
 * output use. type, enum, const, properties, required, additionalProperties,
 * patternProperties, propertyNames, items, prefixItems, min/max*, multipleOf,
 * pattern (PCRE2 with match limits), anyOf, oneOf, allOf, not, $ref inside the
 * document, $defs, description; format is not checked. Unknown keywords are
 * ignored, as the draft says.
 */
#ifndef BASE_SCHEMA_CHECK_H
#define BASE_SCHEMA_CHECK_H

#include "base/json.h"

/* Is `schema` itself one that this file can apply? ERR_INPUT names the place
 * ("/properties/a/type: …"). */
int schema_check_self(struct json schema, struct err *err) CHECKED;

/* Does value fit? ERR_INPUT: "/path/key: what is wrong; what is allowed".
 * ret_where (may be NULL) gets the offending value (or the object that lacks or
 * has the key), for line numbers. Work is bounded: ERR_LIMIT past it. */
int schema_check(struct json schema, struct json value,
    struct json *ret_where, struct err *err) CHECKED;

#endif
