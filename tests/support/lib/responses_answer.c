/*
 * Holds an answer: an array of items and one buffer for all their bytes, both
 * used again for the next request. Knows nothing of HTTP or events.
 */
#include "tests/support/lib/responses_answer.h"

#include "base/alloc.h"

#define ITEMS_FIRST 8

struct answer
answer_init(void)
{
	return (struct answer){ .text = BUF_INIT(ANSWER_TEXT_MAX) };
}

void
answer_clear(struct answer *answer)
{
	struct answer clear = {
		.text = answer->text,
		.items = answer->items,
		.cap = answer->cap,
	};

	*answer = clear;
	buf_clear(&answer->text);
}

void
answer_release(struct answer *answer)
{
	buf_release(&answer->text);
	mem_free(answer->items);
	*answer = answer_init();
}

struct answer_item *
answer_add(struct answer *answer, enum answer_kind kind)
{
	if (answer->count == ANSWER_ITEMS_MAX)
		return NULL;
	if (answer->count == answer->cap) {
		answer->cap = answer->cap == 0 ? ITEMS_FIRST : answer->cap * 2;
		answer->items = mem_grow(
		    answer->items, answer->cap * sizeof(*answer->items));
	}
	answer->items[answer->count] = (struct answer_item){ .kind = kind };
	return &answer->items[answer->count++];
}

struct span
answer_keep(struct answer *answer, struct slice bytes)
{
	size_t from = answer->text.len;

	buf_put_slice(&answer->text, bytes);
	return answer_since(answer, from);
}

struct span
answer_since(const struct answer *answer, size_t from)
{
	return (struct span){ from, answer->text.len - from };
}

struct slice
answer_slice(const struct answer *answer, struct span span)
{
	if (span.len == 0)
		return (struct slice){ "", 0 };
	return slice_of(answer->text.ptr + span.at, span.len);
}
