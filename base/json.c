/*
 * Reading checked JSON: cursors over arrays and objects, members by name,
 * strings and numbers. Borrows the text, owns nothing, allocates only what it
 * hands to the caller. Never reads outside the value it was given.
 */
#include "base/json.h"

#include <math.h>

#include "base/alloc.h"
#include "base/json_scan.h"
#include "base/utf8.h"

static int
hex4(const char *p)
{
	int code = 0;

	for (int i = 0; i < 4; i++) {
		int c = (unsigned char)p[i];

		if (c >= '0' && c <= '9')
			c -= '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			c = (c | 0x20) - 'a' + 10;
		else
			return -1;
		code = code << 4 | c;
	}
	return code;
}

static const char *
unescape_unicode(const char *p, const char *end, uint32_t *ret_code)
{
	int high, low;

	if (end - p < 6 || (high = hex4(p + 2)) < 0)
		return NULL;
	*ret_code = (uint32_t)high;
	p += 6;
	if (high < 0xd800 || high > 0xdbff || end - p < 6 || p[0] != '\\' ||
	    p[1] != 'u')
		return p;
	low = hex4(p + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return p;
	*ret_code = 0x10000 + ((uint32_t)high - 0xd800) * 0x400 +
		    (uint32_t)low - 0xdc00;
	return p + 6;
}

const char *
json_unescape(const char *p, const char *end, uint32_t *ret_code)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (end - p < 2)
		return NULL;
	if (p[1] == 'u')
		return unescape_unicode(p, end, ret_code);
	found = memchr(from, p[1], sizeof(from) - 1);
	if (found == NULL)
		return NULL;
	*ret_code = (unsigned char)to[found - from];
	return p + 2;
}

/* p at a bracket: behind the bracket that closes it. */
static const char *
skip_nested(const char *p, const char *end)
{
	size_t depth = 0;
	bool escaped;

	while (p < end) {
		switch (*p++) {
		case '"':
			p = json_skip_string(p, end, &escaped);
			break;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0)
				return p;
			break;
		default:
			break;
		}
	}
	return end;
}

/* Numbers and words end at a comma or white space, if not with what holds
 * them, whose bracket is at `end`. */
static const char *
skip_plain(const char *p, const char *end)
{
	static const bool ends[256] = {
		['\t'] = true,
		['\n'] = true,
		['\r'] = true,
		[' '] = true,
		[','] = true,
	};

	while (p < end && !ends[(unsigned char)*p])
		p++;
	return p;
}

/* p at the first byte of a value: behind it. */
static inline const char *
skip_value(const char *p, const char *end)
{
	bool escaped;

	if (*p == '"')
		return json_skip_string(p + 1, end, &escaped);
	if (*p == '{' || *p == '[')
		return skip_nested(p, end);
	return skip_plain(p, end);
}

struct json_iter
json_iter(struct json value)
{
	if (value.type != JSON_ARRAY && value.type != JSON_OBJECT)
		return (struct json_iter){ 0 };
	return (struct json_iter){
		.p = value.raw.ptr + 1,
		.end = value.raw.ptr + value.raw.len - 1,
		.object = value.type == JSON_OBJECT,
	};
}

/* Where the next member begins, or NULL. */
static inline const char *
next_start(const char *p, const char *end)
{
	p = json_space(p, end);
	if (p < end && *p == ',')
		p = json_space(p + 1, end);
	return p < end ? p : NULL;
}

/* p behind a name: where its value begins. */
static inline const char *
behind_colon(const char *p, const char *end)
{
	p = json_space(p, end);
	return json_space(p + 1, end);
}

bool
json_next(struct json_iter *it, struct json *ret_key, struct json *ret_value)
{
	const char *end = it->end, *p = next_start(it->p, end), *start = p;
	struct json key = { 0 };
	bool escaped;

	if (p == NULL)
		return false;
	if (it->object) {
		p = json_skip_string(p + 1, end, &escaped);
		key.type = JSON_STRING;
		key.raw = slice_of(start, (size_t)(p - start));
		start = p = behind_colon(p, end);
	}
	it->p = p = skip_value(p, end);
	if (ret_key != NULL)
		*ret_key = key;
	if (ret_value != NULL)
		*ret_value = json_at(start, p);
	return true;
}

/* Decodes and compares; for strings that are not just their bytes. */
static bool
decodes_to(struct json value, struct slice text)
{
	struct buf buf = BUF_INIT(text.len);
	bool same;

	json_decode(value, &buf);
	same = !buf.failed && slice_eq(buf_slice(&buf), text);
	buf_release(&buf);
	return same;
}

/* Text that is compared byte by byte with strings that have no escapes. Other
 * text may be what bad bytes decode to (U+FFFD), or hold bad bytes itself. */
static bool
is_ascii(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}

/* Does value, a string, decode to text? */
static inline bool
is_text(struct json value, struct slice text, bool compare_bytes)
{
	if (!compare_bytes)
		return decodes_to(value, text);
	return value.raw.len == text.len + 2 &&
	       memcmp(value.raw.ptr + 1, text.ptr, text.len) == 0;
}

struct json
json_get(struct json object, const char *name)
{
	struct slice want = slice_string(name);
	struct json key = { .type = JSON_STRING }, found = { 0 };
	bool escaped, same, ascii = is_ascii(want);
	const char *p, *start, *end;

	if (object.type != JSON_OBJECT)
		return found;
	end = object.raw.ptr + object.raw.len - 1;
	for (p = next_start(object.raw.ptr + 1, end); p != NULL;
	     p = next_start(p, end)) {
		start = p;
		p = json_skip_string(p + 1, end, &escaped);
		key.raw = slice_of(start, (size_t)(p - start));
		same = is_text(key, want, ascii && !escaped);
		start = behind_colon(p, end);
		p = skip_value(start, end);
		if (same)
			found = json_at(start, p);
	}
	return found;
}

size_t
json_count(struct json value)
{
	struct json_iter it = json_iter(value);
	size_t count = 0;

	while (json_next(&it, NULL, NULL))
		count++;
	return count;
}

bool
json_is(struct json value, const char *text)
{
	struct slice want = slice_string(text);
	bool escaped;

	if (value.type != JSON_STRING)
		return false;
	escaped = memchr(value.raw.ptr, '\\', value.raw.len) != NULL;
	return is_text(value, want, is_ascii(want) && !escaped);
}

void
json_decode(struct json value, struct buf *out)
{
	const char *p, *end;
	uint32_t code;

	if (value.type != JSON_STRING)
		return;
	p = value.raw.ptr + 1;
	end = value.raw.ptr + value.raw.len - 1;
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
		utf8_put(out, code);
	}
}

char *
json_string_new(struct json value, size_t max)
{
	struct buf buf = BUF_INIT(max);

	if (value.type != JSON_STRING)
		return NULL;
	json_decode(value, &buf);
	if (buf.failed ||
	    (buf.len > 0 && memchr(buf.ptr, '\0', buf.len) != NULL)) {
		buf_release(&buf);
		return NULL;
	}
	return buf_detach(&buf, NULL);
}

/* The digits of an integer as a number; false if it is none or too large. */
static bool
read_integer(struct json value, bool *ret_minus, uint64_t *ret)
{
	const char *p = value.raw.ptr, *end;
	uint64_t sum = 0;

	if (value.type != JSON_NUMBER)
		return false;
	end = p + value.raw.len;
	*ret_minus = *p == '-';
	if (*ret_minus)
		p++;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9' ||
		    __builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
			return false;
	}
	*ret = sum;
	return true;
}

bool
json_i64(struct json value, int64_t *ret)
{
	uint64_t sum;
	bool minus;

	if (!read_integer(value, &minus, &sum))
		return false;
	if (sum > (uint64_t)INT64_MAX + minus)
		return false;
	*ret = minus ? (int64_t)(0 - sum) : (int64_t)sum;
	return true;
}

bool
json_u64(struct json value, uint64_t *ret)
{
	uint64_t sum;
	bool minus;

	if (!read_integer(value, &minus, &sum) || (minus && sum > 0))
		return false;
	*ret = sum;
	return true;
}

bool
json_double(struct json value, double *ret)
{
	char small[64], *text = small;
	double number;

	if (value.type != JSON_NUMBER)
		return false;
	if (value.raw.len >= sizeof(small))
		text = mem_string_n(value.raw.ptr, value.raw.len);
	else
		*(char *)mempcpy(small, value.raw.ptr, value.raw.len) = '\0';
	number = strtod(text, NULL);
	if (text != small)
		mem_free(text);
	if (!isfinite(number))
		return false;
	*ret = number;
	return true;
}

bool
json_true(struct json value)
{
	return value.type == JSON_TRUE;
}
