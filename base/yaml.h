/*
 * YAML files (libyaml) as JSON text, with the line of each value, so that a
 * check of the JSON can name file and line. Anchors, aliases, tags, several
 * documents, duplicate and non-scalar keys are refused.
 * Plain scalars: null ~ (empty), true, false and JSON numbers are typed; all
 * else is a string ("no", "on", 1.2.3, 0777 stay strings). NUL, and the line
 * breaks that only YAML knows (U+0085, U+2028, U+2029), are refused too: what a
 * file shows is what is read.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

struct yaml {
	struct buf json;         /* owned; checked JSON text */
	struct json root;        /* the value inside json */
	struct yaml_line *lines; /* owned; by position in the text */
	size_t count;
	char *name; /* owned; file name for errors */
};

#define YAML_FILE_MAX (1u << 20)

/* Errors: ERR_INPUT "FILE:LINE: what is wrong". */
int yaml_parse(struct yaml *ret_yaml, const char *name, struct slice text,
    struct err *err) CHECKED;
int yaml_load(struct yaml *ret_yaml, const char *path, struct err *err) CHECKED;
void yaml_release(struct yaml *yaml);
struct json yaml_value(const struct yaml *yaml);
/* The line (from 1) on which `value`, a value or key inside yaml->json, starts;
 * 1 for what lies elsewhere. */
unsigned yaml_line_of(const struct yaml *yaml, struct json value);

#endif
