/*
 * Configuration files: YAML, checked against a JSON Schema that the program
 * carries, so that whoever reads a value knows that it is there and in range.
 * Errors read "FILE:LINE: /path: what is wrong; what is allowed".
 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include "base/yaml.h"

/* Loads a file and checks it. schema_json is a JSON Schema as a C string
 * literal; BUG if it is none that schema_check can apply. A file without any
 * value counts as {}. ERR_INPUT, ERR_LIMIT, ERR_SYSTEM. The caller releases
 * with yaml_release. */
int config_load(struct yaml *ret_yaml, const char *path,
    const char *schema_json, struct err *err) CHECKED;
/* The same for a text in memory; `name` stands for the file in errors. */
int config_parse(struct yaml *ret_yaml, const char *name, struct slice text,
    const char *schema_json, struct err *err) CHECKED;
/* For what a schema cannot say: puts "FILE:LINE: " of `where`, a value or key
 * inside yaml->json, before what err holds. Returns -1. */
int config_err(const struct yaml *yaml, struct json where, struct err *err);

/* Members of a checked object (any value); a missing key or another type gives
 * the fallback, as does a number outside of int64_t. What JSON Schema calls an
 * integer is one here (1.0, 1e3). config_str returns a new string (mem_free),
 * NULL only for fallback NULL. */
char *config_str(struct json object, const char *key, const char *fallback);
int64_t config_num(struct json object, const char *key, int64_t fallback);
double config_real(struct json object, const char *key, double fallback);
bool config_bool(struct json object, const char *key, bool fallback);

#endif
