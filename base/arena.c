/*
 * Arena: a chain of chunks that double in size. Owns the chunks; hands out
 * pointers into them that stay valid until arena_release.
 */
#include "base/arena.h"

#include "base/alloc.h"

#define ARENA_FIRST   1024u
#define ARENA_LARGEST (64u * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, cap;
	max_align_t data[];
};

static struct arena_chunk *
chunk_add(struct arena *arena, size_t least)
{
	size_t cap = arena->chunk == NULL ? ARENA_FIRST : arena->chunk->cap * 2;
	struct arena_chunk *chunk;

	if (cap > ARENA_LARGEST)
		cap = ARENA_LARGEST;
	if (cap < least)
		cap = least;
	chunk = mem_new(sizeof(*chunk) + cap);
	chunk->cap = cap;
	chunk->next = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

void *
arena_new(struct arena *arena, size_t size)
{
	size_t need =
	    (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	struct arena_chunk *chunk = arena->chunk;
	void *ptr;

	if (need < size)
		BUG("arena: size %zu", size);
	if (chunk == NULL || chunk->cap - chunk->used < need)
		chunk = chunk_add(arena, need);
	ptr = (char *)chunk->data + chunk->used;
	chunk->used += need;
	return ptr;
}

struct slice
arena_copy(struct arena *arena, struct slice text)
{
	char *copy = arena_new(arena, text.len + 1);

	if (text.len > 0)
		memcpy(copy, text.ptr, text.len);
	return slice_of(copy, text.len);
}

const char *
arena_string(struct arena *arena, struct slice text)
{
	return arena_copy(arena, text).ptr;
}

void
arena_release(struct arena *arena)
{
	while (arena->chunk != NULL) {
		struct arena_chunk *next = arena->chunk->next;

		mem_free(arena->chunk);
		arena->chunk = next;
	}
}
