/*
 * Regular expressions (PCRE2) whose work is counted: patterns and texts come
 * from models and from tools of other machines. The dialect is that of JSON
 * Schema as far as PCRE2 has it: \d and \w are ASCII, $ is the very end, \uHHHH
 * is a character.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/err.h"
#include "base/slice.h"

#define PATTERN_MAX       4096u    /* bytes of an expression */
#define PATTERN_HEAP_KB   16384u   /* memory of one match */
#define PATTERN_MATCH_MAX 1000000u /* PCRE2's own count, per starting place */

struct pattern; /* one compiled expression; defined in pattern.c */

/* ERR_INPUT says where the expression is wrong; ERR_LIMIT past PATTERN_MAX. */
int pattern_new(
    struct pattern **ret_pattern, struct slice text, struct err *err) CHECKED;
/* NULL is fine; returns NULL. */
struct pattern *pattern_free(struct pattern *pattern);
/* Bytes of the compiled form. */
size_t pattern_size(const struct pattern *pattern);

/* 1: some part of text (UTF-8) matches, 0: none does, -1: ERR_LIMIT, it would
 * take more than *work units (about a byte looked at) or PATTERN_HEAP_KB;
 * *work is lowered by what was used. */
int pattern_match(struct pattern *pattern, struct slice text, size_t *work,
    struct err *err) CHECKED;

#endif
