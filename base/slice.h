/*
 * Borrowed bytes: a pointer and a length. Owns nothing; whoever holds one
 * knows whose bytes they are.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "base/base.h"

struct slice {
	const char *ptr; /* NULL only with len 0 */
	size_t len;
};

/* SLICE("literal") */
#define SLICE(text) ((struct slice){ "" text, sizeof(text) - 1 })
/* For printf("%.*s"). */
#define SLICE_ARGS(s) (int)(s).len, (s).ptr == NULL ? "" : (s).ptr

static inline struct slice
slice_of(const void *ptr, size_t len)
{
	return (struct slice){ (const char *)ptr, len };
}

static inline struct slice
slice_string(const char *text)
{
	return (struct slice){ text, text == NULL ? 0 : strlen(text) };
}

static inline bool
slice_eq(struct slice a, struct slice b)
{
	return a.len == b.len &&
	       (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool
slice_is(struct slice a, const char *text)
{
	return slice_eq(a, slice_string(text));
}

#endif
