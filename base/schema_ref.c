/*
 * Finds what a $ref means: "#" and "#/a/b" (RFC 6901 in a fragment) inside the
 * schema's own document. Owns the table of those found before, as a recursive
 * schema asks again at every level. Fetches nothing from anywhere.
 */
#include "base/alloc.h"
#include "base/schema_rules.h"

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Resolves %XX. */
static void
percent_decode(struct slice in, struct buf *out)
{
	for (size_t i = 0; i < in.len; i++) {
		int high = i + 2 < in.len ? hex_digit(in.ptr[i + 1]) : -1;
		int low = i + 2 < in.len ? hex_digit(in.ptr[i + 2]) : -1;

		if (in.ptr[i] != '%' || high == -1 || low == -1) {
			buf_putc(out, in.ptr[i]);
			continue;
		}
		buf_putc(out, (char)(high * 16 + low));
		i += 2;
	}
}

/* Resolves ~0 and ~1. */
static void
tilde_decode(struct slice in, struct buf *out)
{
	for (size_t i = 0; i < in.len; i++) {
		bool escape = in.ptr[i] == '~' && i + 1 < in.len &&
			      (in.ptr[i + 1] == '0' || in.ptr[i + 1] == '1');

		if (escape)
			buf_putc(out, in.ptr[++i] == '0' ? '~' : '/');
		else
			buf_putc(out, in.ptr[i]);
	}
}

static struct json
item_at(struct json array, const char *digits)
{
	struct json_iter it = json_iter(array);
	struct json key, item;
	char *end;
	unsigned long index = strtoul(digits, &end, 10);

	if (digits[0] < '0' || digits[0] > '9' || *end != '\0' ||
	    (digits[0] == '0' && digits[1] != '\0'))
		return (struct json){ 0 };
	while (json_next(&it, &key, &item)) {
		if (index-- == 0)
			return item;
	}
	return (struct json){ 0 };
}

/* One step down; the name must hold no NUL. */
static struct json
child_of(struct schema_checker *c, struct json value, struct slice token)
{
	struct buf name = BUF_INIT(token.len + 1);
	struct json child = { 0 };

	tilde_decode(token, &name);
	buf_putc(&name, '\0');
	if (memchr(name.ptr, '\0', name.len - 1) == NULL &&
	    schema_spend(c, value.raw.len)) {
		if (value.type == JSON_OBJECT)
			child = json_get(value, name.ptr);
		else if (value.type == JSON_ARRAY)
			child = item_at(value, name.ptr);
	}
	buf_release(&name);
	return child;
}

static struct json
follow(struct schema_checker *c, struct slice pointer)
{
	struct json value = c->root;

	while (pointer.len > 0 && value.type != JSON_NONE) {
		const char *from = pointer.ptr + 1;
		size_t left = pointer.len - 1;
		const char *slash = left == 0 ? NULL : memchr(from, '/', left);
		size_t len = slash == NULL ? left : (size_t)(slash - from);

		value = child_of(c, value, slice_of(from, len));
		pointer = slice_of(from + len, left - len);
	}
	return value;
}

static struct json
resolve(struct schema_checker *c, struct json ref)
{
	struct buf text = BUF_INIT(ref.raw.len * 3);
	struct buf pointer = BUF_INIT(ref.raw.len * 3);
	struct json target = { 0 };

	json_decode(ref, &text);
	if (text.len > 0 && text.ptr[0] == '#')
		percent_decode(slice_of(text.ptr + 1, text.len - 1), &pointer);
	if (text.len == 0 || text.ptr[0] != '#')
		target.type = JSON_NONE;
	else if (pointer.len == 0)
		target = c->root;
	else if (pointer.ptr[0] == '/')
		target = follow(c, buf_slice(&pointer));
	buf_release(&text);
	buf_release(&pointer);
	return target;
}

struct json
schema_ref(struct schema_checker *c, struct json ref)
{
	struct slice address = slice_of(&ref.raw.ptr, sizeof(ref.raw.ptr));
	struct json *known = map_get(&c->refs, address);

	if (known != NULL)
		return *known;
	if (ref.type != JSON_STRING)
		return (struct json){ 0 };
	known = MEM_NEW(struct json);
	*known = resolve(c, ref);
	map_set(&c->refs, address, known);
	return *known;
}
