/*
 * Memory. Out of memory ends the process with one line: every buffer and list
 * has a limit, so that no peer can cause it. The only file that calls malloc.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include "base/base.h"

/* All return memory that mem_free gives back; size 0 is allowed. mem_new and
 * mem_array return zeroed memory; mem_array refuses (BUG) an overflow of
 * n * size. mem_grow keeps the content and does not zero what it adds. */
void *mem_new(size_t size);
void *mem_array(size_t n, size_t size);
void *mem_grow(void *ptr, size_t size);
void *mem_copy(const void *ptr, size_t size);
char *mem_string(const char *text);
char *mem_string_n(const char *text, size_t len);

/* NULL is fine; returns NULL. */
void *mem_free(void *ptr);

/* Allocates a zeroed struct: MEM_NEW(struct run). */
#define MEM_NEW(type) ((type *)mem_new(sizeof(type)))

/* Test hook: the n-th allocation from now (1 = next) calls `fail`, which may
 * longjmp or _exit. n = 0 switches it off. */
void mem_fail_at(size_t n, void (*fail)(void));

#endif
