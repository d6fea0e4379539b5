/*
 * Checks of schemas and values that are written with ' for ".
 */
#ifndef TESTS_SCHEMA_TEXT_H
#define TESTS_SCHEMA_TEXT_H

#include "base/schema_check.h"
#include "tests/unit/base/json_text.h"

static inline int
check_self(const char *text, struct err *err)
{
	char *memory;
	struct json schema = parse(text, &memory);
	int rc = schema_check_self(schema, err);

	mem_free(memory);
	return rc;
}

static inline int
check_raw(const char *schema_text, const char *value_text, struct err *err)
{
	char *a, *b;
	struct json schema = parse(schema_text, &a);
	struct json value = parse(value_text, &b);
	int rc;

	*err = (struct err){ 0 };
	rc = schema_check(schema, value, NULL, err);
	mem_free(a);
	mem_free(b);
	return rc;
}

/* Of a schema that can be applied. */
static inline int
check(const char *schema_text, const char *value_text, struct err *err)
{
	if (check_self(schema_text, err) == -1)
		ck_abort_msg("%s: %s", schema_text, err->text);
	return check_raw(schema_text, value_text, err);
}

#endif
