/*
 * Any bytes into the JSON reader. What json_parse accepts must then hold: walks
 * stay inside the text, the scrubbed copy is accepted without marks and has the
 * same structure, the indented copy is the same value, decoded strings survive
 * being written again. What it refuses must leave the caller's value alone.
 */
#include "base/json.h"

#define OUT_MAX (1u << 24)

/* What each copy may change: strings only. */
enum same { SAME_BYTES, SAME_DECODED };

static void
inside(struct slice text, struct slice part)
{
	if (part.ptr < text.ptr || part.len > text.len ||
	    part.ptr + part.len > text.ptr + text.len)
		BUG("a part of the text lies outside");
}

/* Decoding turns NUL into a NUL byte, scrubbing into U+FFFD. */
static void
decode_clean(struct json value, struct buf *out)
{
	struct buf plain = BUF_INIT(OUT_MAX);

	json_decode(value, &plain);
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.ptr[i] == '\0')
			buf_puts(out, "\xef\xbf\xbd");
		else
			buf_putc(out, plain.ptr[i]);
	}
	buf_release(&plain);
}

static void
compare_strings(struct json a, struct json b, enum same same)
{
	struct buf left = BUF_INIT(OUT_MAX), right = BUF_INIT(OUT_MAX);

	if (same == SAME_BYTES && !slice_eq(a.raw, b.raw))
		BUG("a string changed");
	decode_clean(a, &left);
	decode_clean(b, &right);
	if (!slice_eq(buf_slice(&left), buf_slice(&right)))
		BUG("a decoded string changed");
	buf_release(&left);
	buf_release(&right);
}

static void
compare_scalars(struct json a, struct json b, enum same same)
{
	if (a.type != b.type)
		BUG("type %d became %d", (int)a.type, (int)b.type);
	if (a.type == JSON_STRING)
		compare_strings(a, b, same);
	else if (a.type != JSON_ARRAY && a.type != JSON_OBJECT &&
		 !slice_eq(a.raw, b.raw))
		BUG("a number or word changed");
}

/* Walks both texts side by side. */
static void
compare(struct json a, struct json b, enum same same)
{
	struct json_iter left[JSON_DEPTH_MAX + 1], right[JSON_DEPTH_MAX + 1];
	struct json text_a = a, text_b = b, key_a, key_b;
	size_t depth = 0;

	compare_scalars(a, b, same);
	left[0] = json_iter(a);
	right[0] = json_iter(b);
	for (;;) {
		bool more = json_next(&left[depth], &key_a, &a);

		if (json_next(&right[depth], &key_b, &b) != more)
			BUG("another number of members");
		if (!more && depth-- == 0)
			return;
		if (!more)
			continue;
		inside(text_a.raw, a.raw);
		inside(text_b.raw, b.raw);
		compare_scalars(key_a, key_b, same);
		compare_scalars(a, b, same);
		if (a.type != JSON_ARRAY && a.type != JSON_OBJECT)
			continue;
		if (++depth > JSON_DEPTH_MAX)
			BUG("deeper than accepted");
		left[depth] = json_iter(a);
		right[depth] = json_iter(b);
	}
}

static void
parse_copy(struct buf *copy, struct json *ret_value, unsigned *ret_marks)
{
	struct err err = { 0 };

	if (json_parse(buf_slice(copy), ret_value, ret_marks, &err) == -1)
		BUG("a copy is refused: %s", err.text);
}

static void
check_scrub(struct json value, unsigned marks)
{
	struct buf copy = BUF_INIT(OUT_MAX);
	struct json again;
	unsigned left;

	json_scrub(value, &copy);
	parse_copy(&copy, &again, &left);
	if (left != 0)
		BUG("marks %u are left", left);
	if (marks == 0 && !slice_eq(value.raw, buf_slice(&copy)))
		BUG("a clean text was changed");
	compare(value, again, SAME_DECODED);
	buf_release(&copy);
}

static void
check_pretty(struct json value, unsigned marks)
{
	struct buf copy = BUF_INIT(OUT_MAX), twice = BUF_INIT(OUT_MAX);
	struct json again;
	unsigned left;

	json_pretty(value, &copy);
	parse_copy(&copy, &again, &left);
	if (left != marks)
		BUG("marks %u became %u", marks, left);
	compare(value, again, SAME_BYTES);
	json_pretty(again, &twice);
	if (!slice_eq(buf_slice(&copy), buf_slice(&twice)))
		BUG("indenting twice changes the text");
	buf_release(&copy);
	buf_release(&twice);
}

static void
check_string(struct json value)
{
	struct buf text = BUF_INIT(OUT_MAX), copy = BUF_INIT(OUT_MAX);
	struct json again;
	unsigned left;

	json_decode(value, &text);
	json_put_string(&copy, buf_slice(&text));
	parse_copy(&copy, &again, &left);
	if ((left & ~(unsigned)JSON_MARK_NUL) != 0)
		BUG("a written string has marks %u", left);
	compare_strings(value, again, SAME_DECODED);
	buf_release(&text);
	buf_release(&copy);
}

/* Everything that reads one value, and its members by name. */
static void
check_reads(struct json value)
{
	struct json_iter it = json_iter(value);
	struct json key, member;
	uint64_t u64;
	int64_t i64;
	double number;
	size_t count = 0;

	if (json_i64(value, &i64) && i64 >= 0 &&
	    (!json_u64(value, &u64) || u64 != (uint64_t)i64))
		BUG("two integers of one number");
	(void)json_double(value, &number);
	(void)json_no_duplicates(value, NULL);
	(void)json_is(value, "\xef\xbf\xbd");
	(void)json_get(value, "type");
	while (json_next(&it, &key, &member)) {
		count++;
		if (key.type == JSON_STRING)
			check_string(key);
		if (member.type == JSON_STRING)
			check_string(member);
	}
	if (count != json_count(value))
		BUG("two counts of one value");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json value = { .type = JSON_NONE };
	unsigned marks = 0;

	if (json_parse(slice_of(data, size), &value, &marks, NULL) == -1) {
		if (value.type != JSON_NONE)
			BUG("a refused text has a value");
		return 0;
	}
	inside(slice_of(data, size), value.raw);
	check_reads(value);
	check_scrub(value, marks);
	check_pretty(value, marks);
	return 0;
}
