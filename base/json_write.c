/*
 * Writing JSON: strings, a writer that sets the commas, the scrubbed copy and
 * the indented copy. Borrows the buffer it writes to. Never recurses: a
 * checked text is one line of tokens, and what depth needs is a counter.
 */
#include "base/json_scan.h"
#include "base/utf8.h"

#define WRITER_DEPTH 60
#define INDENT       2

/* The short escape of a character, or 0. */
static char
short_escape(char c)
{
	switch (c) {
	case '"':
	case '\\':
		return c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

void
json_put_string(struct buf *out, struct slice text)
{
	static const char hex[] = "0123456789abcdef";
	const char *p = text.ptr == NULL ? "" : text.ptr, *end = p + text.len;
	char escape[6] = { '\\', 'u', '0', '0', 0, 0 };

	buf_putc(out, '"');
	while (p < end) {
		const char *stop = json_plain(p, end);

		utf8_clean(slice_of(p, (size_t)(stop - p)), out);
		if (stop == end)
			break;
		escape[1] = short_escape(*stop);
		if (escape[1] != 0) {
			buf_put(out, escape, 2);
		} else {
			escape[1] = 'u';
			escape[4] = hex[(unsigned char)*stop >> 4];
			escape[5] = hex[(unsigned char)*stop & 0x0f];
			buf_put(out, escape, sizeof(escape));
		}
		p = stop + 1;
	}
	buf_putc(out, '"');
}

struct json_writer
json_writer(struct buf *out)
{
	return (struct json_writer){ .out = out };
}

static void
before_value(struct json_writer *w)
{
	if (w->comma)
		buf_putc(w->out, ',');
	w->comma = true;
}

void
json_open(struct json_writer *w, char bracket)
{
	if (w->depth == WRITER_DEPTH || (bracket != '{' && bracket != '['))
		BUG("open %c at depth %u", bracket, w->depth);
	before_value(w);
	buf_putc(w->out, bracket);
	w->objects = w->objects << 1 | (bracket == '{');
	w->depth++;
	w->comma = false;
}

void
json_close(struct json_writer *w)
{
	if (w->depth == 0)
		BUG("close without open");
	buf_putc(w->out, (w->objects & 1) != 0 ? '}' : ']');
	w->objects >>= 1;
	w->depth--;
	w->comma = true;
}

void
json_key(struct json_writer *w, const char *name)
{
	json_key_slice(w, slice_string(name));
}

void
json_key_slice(struct json_writer *w, struct slice name)
{
	json_str(w, name);
	buf_putc(w->out, ':');
	w->comma = false;
}

void
json_str(struct json_writer *w, struct slice text)
{
	before_value(w);
	json_put_string(w->out, text);
}

void
json_text(struct json_writer *w, const char *text)
{
	if (text == NULL)
		json_null(w);
	else
		json_str(w, slice_string(text));
}

void
json_raw(struct json_writer *w, struct slice json)
{
	if (json.len == 0)
		json = SLICE("null");
	before_value(w);
	buf_put_slice(w->out, json);
}

void
json_num(struct json_writer *w, int64_t num)
{
	before_value(w);
	buf_put_i64(w->out, num);
}

void
json_unum(struct json_writer *w, uint64_t num)
{
	before_value(w);
	buf_put_u64(w->out, num);
}

void
json_bool(struct json_writer *w, bool value)
{
	json_raw(w, value ? SLICE("true") : SLICE("false"));
}

void
json_null(struct json_writer *w)
{
	json_raw(w, SLICE("null"));
}

void
json_scrub(struct json value, struct buf *out)
{
	const char *p = value.raw.ptr, *end;
	uint32_t code;

	if (value.type == JSON_NONE)
		return;
	end = p + value.raw.len;
	while (p < end) {
		const char *stop = memchr(p, '\\', (size_t)(end - p));

		if (stop == NULL)
			stop = end;
		utf8_clean(slice_of(p, (size_t)(stop - p)), out);
		if (stop == end)
			return;
		p = json_unescape(stop, end, &code);
		if (p == NULL)
			BUG("escape in a text that was not checked");
		if (code == 0 || json_is_surrogate(code))
			buf_puts(out, "\\ufffd");
		else
			buf_put(out, stop, (size_t)(p - stop));
	}
}

static void
new_line(struct buf *out, size_t depth)
{
	static const char spaces[] = "                                ";
	size_t left = depth * INDENT;

	buf_putc(out, '\n');
	while (left > 0) {
		size_t part =
		    left < sizeof(spaces) - 1 ? left : sizeof(spaces) - 1;

		buf_put(out, spaces, part);
		left -= part;
	}
}

/* p behind an opening bracket: an empty one stays on its line. */
static const char *
pretty_open(const char *p, const char *end, size_t *depth, struct buf *out)
{
	p = json_space(p, end);
	if (p < end && (*p == '}' || *p == ']')) {
		buf_putc(out, *p);
		return p + 1;
	}
	new_line(out, ++*depth);
	return p;
}

/* One byte outside strings. */
static const char *
pretty_token(const char *p, const char *end, size_t *depth, struct buf *out)
{
	char c = *p++;

	switch (c) {
	case ' ':
	case '\t':
	case '\n':
	case '\r':
		return p;
	case '{':
	case '[':
		buf_putc(out, c);
		return pretty_open(p, end, depth, out);
	case '}':
	case ']':
		new_line(out, --*depth);
		buf_putc(out, c);
		return p;
	case ',':
		buf_putc(out, c);
		new_line(out, *depth);
		return p;
	case ':':
		buf_puts(out, ": ");
		return p;
	default:
		buf_putc(out, c);
		return p;
	}
}

void
json_pretty(struct json value, struct buf *out)
{
	const char *p = value.raw.ptr, *end;
	size_t depth = 0;
	bool escaped;

	if (value.type == JSON_NONE)
		return;
	end = p + value.raw.len;
	while (p < end) {
		const char *start = p;

		if (*p != '"') {
			p = pretty_token(p, end, &depth, out);
			continue;
		}
		p = json_skip_string(p + 1, end, &escaped);
		buf_put(out, start, (size_t)(p - start));
	}
}
