/*
 * Memory that is freed all at once: short strings and arrays that live exactly
 * as long as one thing does (a step, a decoded hello).
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena {
	struct arena_chunk *chunk; /* owned */
};

/* Zeroed, aligned for any type. */
void *arena_new(struct arena *arena, size_t size);
/* Copies, each with a NUL behind it. An empty slice gives "". */
struct slice arena_copy(struct arena *arena, struct slice text);
const char *arena_string(struct arena *arena, struct slice text);
void arena_release(struct arena *arena);

#define ARENA_NEW(arena, type) ((type *)arena_new(arena, sizeof(type)))
#define ARENA_ARRAY(arena, n, type)                                            \
	((type *)arena_new(arena, (n) * sizeof(type)))

#endif
