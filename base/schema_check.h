/*
 * JSON Schema: the part of draft 2020-12 that agent files, tools and structured
 * output use. type, enum, const, properties, required, additionalProperties,
 * patternProperties, propertyNames, dependentRequired, dependentSchemas, items,
 * prefixItems, contains, uniqueItems, all min… and max…, multipleOf, pattern
 * (PCRE2 with match limits), anyOf, oneOf, allOf, not, if/then/else, $ref
 * inside the document (# and #/pointer), $defs. format is not checked.
 * Unknown keywords are ignored, as the draft says; known ones that would be
 * needed and are not applied here (unevaluated…, $dynamicRef, $ref to other
 * documents, $id below the root) make schema_check_self refuse the schema.
 * Numbers are compared by their digits, however long; 1.0 is an integer.
 */
#ifndef BASE_SCHEMA_CHECK_H
#define BASE_SCHEMA_CHECK_H

#include "base/json.h"

#define SCHEMA_WORK_MAX (256u << 20) /* units of about a byte read */
#define SCHEMA_NEST_MAX 512u /* schemas entered at once, $ref included */

/* Is `schema` itself one that this file can apply? ERR_INPUT names the place
 * ("/properties/a/type: …"); also for a $ref that leads back to itself without
 * going deeper into the value, and for a name that stands twice. */
int schema_check_self(struct json schema, struct err *err) CHECKED;

/* Does value fit? ERR_INPUT: "/path/key: what is wrong; what is allowed".
 * ret_where (may be NULL) gets, on both, the offending value (the key, if that
 * is what offends; the object that lacks a key), for line numbers. Work is
 * bounded by SCHEMA_WORK_MAX: ERR_LIMIT past it. Of a schema that
 * schema_check_self refuses, malformed keywords are ignored. */
int schema_check(struct json schema, struct json value, struct json *ret_where,
    struct err *err) CHECKED;

#endif
