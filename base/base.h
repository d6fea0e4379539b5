/*
 * What every file of reeve may use: attributes, small macros, banned calls.
 * Knows no domain word and owns nothing.
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
#define CHECKED	       __attribute__((warn_unused_result))
#define PRINTF(fmt, n) __attribute__((format(printf, fmt, n)))
#define NORETURN       __attribute__((noreturn))

/* The struct that holds `member`, from a pointer to that member. */
#define CONTAINER_OF(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* A broken invariant: says where, writes no core with secrets, aborts.
 * Never for data that comes from outside. */
#define BUG(...) base_bug(__FILE__, __LINE__, __VA_ARGS__)
NORETURN PRINTF(3, 4) void base_bug(
    const char *file, int line, const char *fmt, ...);

#define REEVE_VERSION "0.1.0"

#ifndef BASE_ALLOWS_ALL
#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets
#pragma GCC poison atoi atol gmtime localtime ctime asctime popen
#endif

#endif
