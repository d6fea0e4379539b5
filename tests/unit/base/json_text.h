/*
 * JSON in tests, written with ' for ".
 */
#ifndef TESTS_JSON_TEXT_H
#define TESTS_JSON_TEXT_H

#include <check.h>

#include "base/alloc.h"
#include "base/json.h"

static inline char *
quoted(const char *text)
{
	char *copy = mem_string(text);

	for (char *p = copy; *p != '\0'; p++) {
		if (*p == '\'')
			*p = '"';
	}
	return copy;
}

/* A checked text; the caller frees *ret_text. */
static inline struct json
parse(const char *text, char **ret_text)
{
	struct json value;
	struct err err = { 0 };

	*ret_text = quoted(text);
	ck_assert_msg(
	    json_parse(slice_string(*ret_text), &value, NULL, &err) == 0,
	    "%s: %s", text, err.text);
	return value;
}

#endif
