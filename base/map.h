/*
 * Hash map from bytes to a pointer. Keys are copied, values are borrowed.
 * Keyed with a random seed per process, since peers choose keys.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/slice.h"

struct map {
	struct map_entry *entries; /* owned */
	size_t count, cap;
	size_t used; /* slots that are not free: entries and removed ones */
	const void *seed; /* of the process */
};

#define MAP_INIT ((struct map){ 0 })

/* NULL when the key is not there. */
void *map_get(const struct map *map, struct slice key);
/* Sets and returns the value that was there before, or NULL. value != NULL. */
void *map_set(struct map *map, struct slice key, void *value);
/* Removes and returns the value, or NULL when the key is not there. */
void *map_remove(struct map *map, struct slice key);
/* Walks: start with *pos = 0; false at the end. Nothing may be set during a
 * walk; removing the entry just returned is allowed. ret_key may be NULL. */
bool map_next(const struct map *map, size_t *pos, struct slice *ret_key,
    void **ret_value);
void map_release(struct map *map); /* frees the table, not the values */

#endif
