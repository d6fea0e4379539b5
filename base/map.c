/*
 * Hash map: open addressing with linear probing over SipHash. Owns the table
 * and its copies of the keys (short ones lie in the entry itself), never the
 * values. A removal leaves a mark and moves nothing, so that walks stay right;
 * marks go when the table is built anew.
 */
#include "base/map.h"

#include <sodium/crypto_shorthash.h>
#include <sys/auxv.h>

#include "base/alloc.h"

#define FIRST_CAP  16u
#define INLINE_KEY 16u

struct map_entry {
	uint32_t hash; /* without a value: REMOVED or FREE */
	uint32_t key_len;
	void *value; /* NULL: nothing here */
	union {
		char bytes[INLINE_KEY];
		char *ptr; /* owned; keys longer than INLINE_KEY */
	} key;
};

enum { FREE = 0, REMOVED = 1 };

static const char *
key_of(const struct map_entry *e)
{
	return e->key_len <= INLINE_KEY ? e->key.bytes : e->key.ptr;
}

static bool
is_free(const struct map_entry *e)
{
	return e->value == NULL && e->hash == FREE;
}

static uint32_t
hash_of(const struct map *map, struct slice key)
{
	unsigned char out[crypto_shorthash_BYTES];
	uint32_t hash;

	crypto_shorthash(
	    out, (const unsigned char *)key.ptr, key.len, map->seed);
	memcpy(&hash, out, sizeof(hash));
	return hash;
}

/* The entry of the key, or NULL. */
static struct map_entry *
find(const struct map *map, struct slice key, uint32_t hash)
{
	size_t mask = map->cap - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct map_entry *e = &map->entries[i];

		if (is_free(e))
			return NULL;
		if (e->value != NULL && e->hash == hash &&
		    slice_eq(slice_of(key_of(e), e->key_len), key))
			return e;
	}
}

/* The first slot that a new entry of this hash may take. */
static struct map_entry *
slot_for(const struct map *map, uint32_t hash)
{
	size_t mask = map->cap - 1, i = hash & mask;

	while (map->entries[i].value != NULL)
		i = (i + 1) & mask;
	return &map->entries[i];
}

/* A new table, so large that half of it is free. */
static void
rebuild(struct map *map)
{
	struct map old = *map;
	size_t cap = FIRST_CAP;

	while (cap < (map->count + 1) * 2)
		cap *= 2;
	map->entries = mem_array(cap, sizeof(struct map_entry));
	map->cap = cap;
	map->used = map->count;
	for (size_t i = 0; i < old.cap; i++)
		if (old.entries[i].value != NULL)
			*slot_for(map, old.entries[i].hash) = old.entries[i];
	mem_free(old.entries);
}

/* The kernel gives each process 16 random bytes; SipHash does not tell what
 * they are. */
static void
seed(struct map *map)
{
	unsigned long address = getauxval(AT_RANDOM);

	_Static_assert(crypto_shorthash_KEYBYTES == 16, "seed");
	if (address == 0)
		BUG("no AT_RANDOM from the kernel");
	map->seed = (const void *)address;
}

void *
map_get(const struct map *map, struct slice key)
{
	struct map_entry *e;

	if (map->count == 0)
		return NULL;
	e = find(map, key, hash_of(map, key));
	return e == NULL ? NULL : e->value;
}

static void
fill(struct map_entry *e, struct slice key, uint32_t hash, void *value)
{
	e->hash = hash;
	e->key_len = (uint32_t)key.len;
	if (key.len > INLINE_KEY)
		e->key.ptr = mem_copy(key.ptr, key.len);
	else if (key.len > 0)
		memcpy(e->key.bytes, key.ptr, key.len);
	e->value = value;
}

void *
map_set(struct map *map, struct slice key, void *value)
{
	struct map_entry *e;
	uint32_t hash;

	if (value == NULL || key.len > UINT32_MAX)
		BUG("map_set of %p, key of %zu bytes", value, key.len);
	if (map->seed == NULL)
		seed(map);
	if ((map->used + 1) * 4 > map->cap * 3)
		rebuild(map);
	hash = hash_of(map, key);
	e = find(map, key, hash);
	if (e != NULL) {
		void *before = e->value;

		e->value = value;
		return before;
	}
	e = slot_for(map, hash);
	map->used += is_free(e);
	fill(e, key, hash, value);
	map->count++;
	return NULL;
}

/* Marks before a free slot keep nothing together. */
static void
drop_marks(struct map *map, size_t i)
{
	size_t mask = map->cap - 1;

	if (!is_free(&map->entries[(i + 1) & mask]))
		return;
	while (
	    map->entries[i].value == NULL && map->entries[i].hash == REMOVED) {
		map->entries[i].hash = FREE;
		map->used--;
		i = (i - 1) & mask;
	}
}

void *
map_remove(struct map *map, struct slice key)
{
	struct map_entry *e;
	void *value;

	if (map->count == 0)
		return NULL;
	e = find(map, key, hash_of(map, key));
	if (e == NULL)
		return NULL;
	if (e->key_len > INLINE_KEY)
		mem_free(e->key.ptr);
	value = e->value;
	*e = (struct map_entry){ .hash = REMOVED };
	map->count--;
	drop_marks(map, (size_t)(e - map->entries));
	return value;
}

bool
map_next(
    const struct map *map, size_t *pos, struct slice *ret_key, void **ret_value)
{
	while (*pos < map->cap) {
		const struct map_entry *e = &map->entries[(*pos)++];

		if (e->value == NULL)
			continue;
		if (ret_key != NULL)
			*ret_key = slice_of(key_of(e), e->key_len);
		*ret_value = e->value;
		return true;
	}
	return false;
}

void
map_release(struct map *map)
{
	for (size_t i = 0; i < map->cap; i++)
		if (map->entries[i].value != NULL &&
		    map->entries[i].key_len > INLINE_KEY)
			mem_free(map->entries[i].key.ptr);
	mem_free(map->entries);
	*map = MAP_INIT;
}
