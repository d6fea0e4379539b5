/*
 * For tests that read event streams of the scripted model server.
 */
#ifndef TESTS_MODEL_EVENTS_H
#define TESTS_MODEL_EVENTS_H

#include <check.h>

#include "base/json.h"

/* The next event of a stream, its JSON checked; false at the end. */
static inline bool
event_next(struct slice *rest, struct json *ret_event)
{
	const char *begin, *end;

	if (rest->len == 0)
		return false;
	begin = memmem(rest->ptr, rest->len, "data: ", 6);
	if (begin == NULL)
		return false;
	begin += 6;
	rest->len -= (size_t)(begin - rest->ptr);
	rest->ptr = begin;
	end = memmem(rest->ptr, rest->len, "\n\n", 2);
	ck_assert_ptr_nonnull(end);
	ck_assert_int_eq(json_parse(slice_of(begin, (size_t)(end - begin)),
			     ret_event, NULL, NULL),
	    0);
	rest->len -= (size_t)(end - rest->ptr);
	rest->ptr = end;
	return true;
}

/* The types of all events, without "response.", one after another. */
static inline void
event_types(struct slice stream, struct buf *out)
{
	struct json event;
	struct buf type = BUF_INIT(200);
	size_t skip = strlen("response.");

	while (event_next(&stream, &event)) {
		buf_clear(&type);
		json_decode(json_get(event, "type"), &type);
		if (type.len < skip || memcmp(type.ptr, "response.", skip) != 0)
			skip = 0;
		buf_put(out, type.ptr + skip, type.len - skip);
		buf_putc(out, ' ');
		skip = strlen("response.");
	}
	buf_putc(out, '\0');
	buf_release(&type);
}

#endif
