/*
 * A list of received requests with a limit on its bytes. Bodies are moved in,
 * not copied, and printed as JSON when they are JSON.
 */
#include "tests/support/lib/journal.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/clock.h"

#define HEAD_MAX (HTTP_HEAD_MAX * 6 + 1024) /* every byte escaped */

void
journal_init(struct journal *journal)
{
	*journal = (struct journal){ 0 };
	list_init(&journal->entries);
}

static bool
drop_first(struct journal *journal)
{
	struct journal_entry *entry =
	    LIST_FIRST(&journal->entries, struct journal_entry, link);

	if (entry == NULL)
		return false;
	journal->bytes -= entry->body.cap + entry->head.cap;
	list_remove(&entry->link);
	buf_release(&entry->head);
	buf_release(&entry->body);
	mem_free(entry);
	return true;
}

void
journal_release(struct journal *journal)
{
	while (drop_first(journal))
		continue;
}

void
journal_reset(struct journal *journal)
{
	journal_release(journal);
	journal->count = journal->dropped = 0;
}

static bool
is_of_interest(struct slice name)
{
	static const char *const names[] = {
		"content-type",
		"accept",
		"user-agent",
		"x-client-request-id",
		"openai-organization",
		"openai-project",
		"idempotency-key",
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (http_slice_is(name, names[i]))
			return true;
	return false;
}

static void
put_name(struct buf *out, struct slice name)
{
	buf_puts(out, ",\"");
	for (size_t i = 0; i < name.len; i++)
		buf_putc(out, (char)tolower((unsigned char)name.ptr[i]));
	buf_puts(out, "\":");
}

static void
put_head(struct buf *out, const struct http_head *head)
{
	struct slice rest = head->fields, name, value;
	bool authorized = false;

	while (http_head_next(&rest, &name, &value)) {
		if (http_slice_is(name, "authorization"))
			authorized = value.len > 0;
		if (!is_of_interest(name))
			continue;
		put_name(out, name);
		json_put_string(out, value);
	}
	buf_puts(out, ",\"authorization\":");
	buf_puts(out, authorized ? "\"present\"" : "\"absent\"");
}

struct journal_entry *
journal_add(struct journal *journal, const struct http_head *head,
    struct buf *owned_body)
{
	struct journal_entry *entry = MEM_NEW(struct journal_entry);

	entry->number = ++journal->count;
	entry->at_ms = clock_wall_ms();
	entry->body = *owned_body;
	*owned_body = BUF_INIT(HTTP_BODY_MAX);
	entry->head = BUF_INIT(HEAD_MAX);
	put_head(&entry->head, head);
	journal->bytes += entry->body.cap + entry->head.cap;
	list_append(&journal->entries, &entry->link);
	while (journal->bytes > JOURNAL_MAX &&
	       journal->entries.next != &entry->link) {
		drop_first(journal);
		journal->dropped++;
	}
	return entry;
}

/* Valid JSON may hold line ends between its tokens, and only there. */
static void
put_body(struct buf *out, const struct journal_entry *entry)
{
	size_t from;

	if (!entry->is_json) {
		buf_puts(out, ",\"body_text\":");
		json_put_string(out, buf_slice(&entry->body));
		return;
	}
	buf_puts(out, ",\"body\":");
	from = out->len;
	buf_put_slice(out, buf_slice(&entry->body));
	for (size_t i = from; i < out->len; i++)
		if (out->ptr[i] == '\n' || out->ptr[i] == '\r')
			out->ptr[i] = ' ';
}

void
journal_print(struct journal *journal, struct buf *out)
{
	const struct journal_entry *entry;

	LIST_EACH (entry, next, &journal->entries, struct journal_entry, link) {
		buf_puts(out, "{\"number\":");
		buf_put_u64(out, entry->number);
		buf_puts(out, ",\"at_ms\":");
		buf_put_u64(out, entry->at_ms);
		buf_puts(out, ",\"status\":");
		buf_put_i64(out, entry->status);
		buf_put_slice(out, buf_slice(&entry->head));
		put_body(out, entry);
		buf_puts(out, "}\n");
	}
}
