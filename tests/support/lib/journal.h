/*
 * The requests that a scripted server received, for tests to read back: body
 * and the headers of interest. Never a secret: of Authorization only whether it
 * was there.
 */
#ifndef SUPPORT_JOURNAL_H
#define SUPPORT_JOURNAL_H

#include "base/json.h"
#include "base/list.h"
#include "tests/support/lib/http_head.h"

#define JOURNAL_MAX (128u * 1024 * 1024) /* bytes; the oldest go first */

struct journal_entry {
	struct list link;
	uint64_t number; /* from 1 since the last reset */
	uint64_t at_ms;  /* since 1970 */
	struct buf head; /* owned; JSON members of the headers */
	struct buf body; /* owned */
	bool is_json;
	int status; /* that it was answered with; 0: not yet */
};

struct journal {
	struct list entries;
	uint64_t count, dropped;
	size_t bytes;
};

void journal_init(struct journal *journal);
void journal_release(struct journal *journal);
/* Forgets all, counts from 1 again. */
void journal_reset(struct journal *journal);
/* Takes the body's memory. The entry is borrowed until the next add. */
struct journal_entry *journal_add(struct journal *journal,
    const struct http_head *head, struct buf *owned_body);
/* One line of JSON for each entry. */
void journal_print(struct journal *journal, struct buf *out);

#endif
