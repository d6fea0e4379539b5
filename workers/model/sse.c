/*
 * Splits a body into server-sent events. Owns the bytes of an event only while
 * it is spread over several chunks; gives the memory back as soon as it was
 * handed on. Never looks into the data.
 */
#include "workers/model/sse.h"

#define KEEP_MAX 2048u /* memory that a waiting stream may keep */

static const char byte_order_mark[] = "\xEF\xBB\xBF";

void
sse_init(struct sse *sse, size_t event_max)
{
	size_t max = event_max == 0 ? SSE_EVENT_MAX : event_max;

	*sse = (struct sse){
		.line = BUF_INIT(max),
		.data = BUF_INIT(max),
	};
}

void
sse_release(struct sse *sse)
{
	buf_release(&sse->line);
	buf_release(&sse->data);
}

static void
buf_empty(struct buf *buf)
{
	if (buf->cap > KEEP_MAX)
		buf_release(buf);
	else
		buf_clear(buf);
}

/* The data so far moves from the chunk, which will not stay, into the buffer.
 */
static void
keep_lent(struct sse *sse)
{
	if (sse->lent.ptr == NULL)
		return;
	buf_put_slice(&sse->data, sse->lent);
	sse->lent = (struct slice){ 0 };
}

static void
dispatch(struct sse *sse, bool cut, sse_handler *handler, void *arg)
{
	struct sse_event event = {
		.name = slice_of(sse->name, sse->name_len),
		.data =
		    sse->lent.ptr != NULL ? sse->lent : buf_slice(&sse->data),
		.cut = cut,
	};

	if (sse->has_data && event.data.len > 0) {
		sse->events++;
		sse->stopped = !handler(arg, &event);
	}
	sse->has_data = false;
	sse->lent = (struct slice){ 0 };
	sse->name_len = 0;
	buf_empty(&sse->data);
}

/* A value of `data`. A borrowed one stays where it is as long as it is the
 * only one; an owned one lies in sse->line, whose memory it takes along. */
static void
add_data(struct sse *sse, struct slice value, bool owned)
{
	size_t before;

	if (value.len > sse->data.max) {
		sse->data.failed = true;
		return;
	}
	if (sse->has_data) {
		keep_lent(sse);
		buf_putc(&sse->data, '\n');
		buf_put_slice(&sse->data, value);
		return;
	}
	sse->has_data = true;
	if (!owned) {
		sse->lent =
		    slice_of(value.ptr == NULL ? "" : value.ptr, value.len);
		return;
	}
	before = sse->line.len - value.len;
	buf_release(&sse->data);
	sse->data = sse->line;
	sse->line = BUF_INIT(sse->data.max);
	buf_consume(&sse->data, before);
}

static void
set_name(struct sse *sse, struct slice value)
{
	size_t len = value.len < SSE_NAME_MAX ? value.len : SSE_NAME_MAX;

	if (len > 0)
		memcpy(sse->name, value.ptr, len);
	sse->name_len = (uint8_t)len;
}

/* One line without its end; owned: it lies in sse->line. */
static void
take_line(struct sse *sse, struct slice line, bool owned, sse_handler *handler,
    void *arg)
{
	struct slice field = line, value = { 0 };
	const char *colon;

	if (line.len == 0) {
		dispatch(sse, false, handler, arg);
		return;
	}
	colon = memchr(line.ptr, ':', line.len);
	if (colon != NULL) {
		field.len = (size_t)(colon - line.ptr);
		value = slice_of(colon + 1, line.len - field.len - 1);
		if (value.len > 0 && *value.ptr == ' ')
			value = slice_of(value.ptr + 1, value.len - 1);
	}
	if (slice_is(field, "data"))
		add_data(sse, value, owned);
	else if (slice_is(field, "event"))
		set_name(sse, value);
}

static struct slice
without_mark(struct sse *sse, struct slice line)
{
	size_t len = sizeof(byte_order_mark) - 1;

	if (!sse->started && line.len >= len &&
	    memcmp(line.ptr, byte_order_mark, len) == 0)
		line = slice_of(line.ptr + len, line.len - len);
	sse->started = true;
	return line;
}

/* A line ended; its last piece is `rest`. */
static void
end_line(struct sse *sse, struct slice rest, sse_handler *handler, void *arg)
{
	bool owned = sse->line.len > 0;
	struct slice line = rest;

	if (sse->skipping) {
		sse->skipping = false;
		return;
	}
	if (owned) {
		buf_put_slice(&sse->line, rest);
		if (sse->line.failed)
			return;
		line = buf_slice(&sse->line);
	}
	line = without_mark(sse, line);
	take_line(sse, line, owned, handler, arg);
	if (owned)
		buf_empty(&sse->line);
}

static bool
begins(struct slice line, const char *field)
{
	size_t len = strlen(field), n = line.len < len ? line.len : len;

	return memcmp(line.ptr, field, n) == 0;
}

/* A chunk ended inside a line: keep it, unless it can only be skipped. */
static void
keep_line(struct sse *sse, struct slice piece)
{
	struct slice line;

	if (sse->skipping || piece.len == 0)
		return;
	buf_put_slice(&sse->line, piece);
	line = buf_slice(&sse->line);
	if (sse->line.failed || !sse->started)
		return;
	if (!begins(line, "data") && !begins(line, "event")) {
		sse->skipping = true;
		buf_empty(&sse->line);
	}
}

/* Where LF and CR stand next, so that no byte is searched twice. */
struct ends {
	const char *lf, *cr;
};

static const char *
next_end(struct ends *ends, const char *p, const char *end)
{
	if (ends->lf < p)
		ends->lf = memchr(p, '\n', (size_t)(end - p));
	if (ends->lf == NULL)
		ends->lf = end;
	if (ends->cr < p)
		ends->cr = memchr(p, '\r', (size_t)(end - p));
	if (ends->cr == NULL)
		ends->cr = end;
	return ends->lf < ends->cr ? ends->lf : ends->cr;
}

static int
check(const struct sse *sse, struct err *err)
{
	if (!sse->line.failed && !sse->data.failed)
		return 0;
	return err_set(
	    err, ERR_LIMIT, "an event is larger than %zu bytes", sse->data.max);
}

int
sse_feed(struct sse *sse, struct slice chunk, sse_handler *handler, void *arg,
    struct err *err)
{
	const char *p = chunk.ptr, *end, *eol;
	struct ends ends = { 0 };

	if (chunk.len == 0)
		return check(sse, err);
	end = p + chunk.len;
	while (!sse->stopped && p < end && check(sse, err) == 0) {
		if (sse->skip_lf) {
			sse->skip_lf = false;
			if (*p == '\n') {
				p++;
				continue;
			}
		}
		eol = next_end(&ends, p, end);
		if (eol == end) {
			keep_line(sse, slice_of(p, (size_t)(end - p)));
			break;
		}
		end_line(sse, slice_of(p, (size_t)(eol - p)), handler, arg);
		sse->skip_lf = *eol == '\r';
		p = eol + 1;
	}
	keep_lent(sse);
	return check(sse, err);
}

void
sse_end(struct sse *sse, sse_handler *handler, void *arg)
{
	if (sse->stopped || check(sse, NULL) == -1)
		return;
	if (sse->line.len > 0)
		end_line(sse, (struct slice){ 0 }, handler, arg);
	keep_lent(sse);
	if (!sse->stopped && check(sse, NULL) == 0)
		dispatch(sse, true, handler, arg);
}
