/*
 * What every file of reeve may use: attributes and small macros. Knows no
 * domain word and owns nothing. Banned calls are listed and checked in
 * tests/lint.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define CHECKED        __attribute__((warn_unused_result))
#define PRINTF(fmt, n) __attribute__((format(printf, fmt, n)))
#define NORETURN       __attribute__((noreturn))

/* The struct that holds `member`, from a pointer to that member. */
#define CONTAINER_OF(ptr, type, member)                                        \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* A broken invariant: says where, writes no core with secrets, aborts.
 * Never for data that comes from outside. */
#define BUG(...) base_bug(__FILE__, __LINE__, __VA_ARGS__)
NORETURN PRINTF(3, 4) void base_bug(
    const char *file, int line, const char *fmt, ...);

#define REEVE_VERSION "0.1.0"

#endif
