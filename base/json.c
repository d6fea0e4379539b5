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

/* Numbers and words end where punctuation or white space begins. */
static const char *
skip_plain(const char *p, const char *end)
{
	while (p < end && *p != ',' && *p != ']' && *p != '}' && *p > ' ')
		p++;
	return p;
}

/* p at the first byte of a value: behind it. */
static inline const char *
read_value(const char *p, const char *end, struct json *ret_value)
{
	const char *start = p;
	bool escaped;

	switch (*p) {
	case '"':
		ret_value->type = JSON_STRING;
		p = json_skip_string(p + 1, end, &escaped);
		break;
	case '{':
		ret_value->type = JSON_OBJECT;
		p = skip_nested(p, end);
		break;
	case '[':
		ret_value->type = JSON_ARRAY;
		p = skip_nested(p, end);
		break;
	case 't':
		ret_value->type = JSON_TRUE;
		p = skip_plain(p, end);
		break;
	case 'f':
		ret_value->type = JSON_FALSE;
		p = skip_plain(p, end);
		break;
	case 'n':
		ret_value->type = JSON_NULL;
		p = skip_plain(p, end);
		break;
	default:
		ret_value->type = JSON_NUMBER;
		p = skip_plain(p, end);
		break;
	}
	ret_value->raw = slice_of(start, (size_t)(p - start));
	return p;
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

/* Reads the member that comes next; key_escaped is set in objects only. */
static inline bool
next_member(struct json_iter *it, struct json *ret_key, bool *ret_key_escaped,
    struct json *ret_value)
{
	const char *p = json_space(it->p, it->end), *start;

	if (p < it->end && *p == ',')
		p = json_space(p + 1, it->end);
	if (p >= it->end)
		return false;
	if (it->object) {
		start = p;
		p = json_skip_string(p + 1, it->end, ret_key_escaped);
		*ret_key = (struct json){ JSON_STRING,
			slice_of(start, (size_t)(p - start)) };
		p = json_space(p, it->end);
		p = json_space(p + 1, it->end);
	}
	it->p = read_value(p, it->end, ret_value);
	return true;
}

bool
json_next(struct json_iter *it, struct json *ret_key, struct json *ret_value)
{
	struct json key = { 0 }, value;
	bool escaped;

	if (!next_member(it, &key, &escaped, &value))
		return false;
	if (ret_key != NULL)
		*ret_key = key;
	if (ret_value != NULL)
		*ret_value = value;
	return true;
}

/* A string's bytes without its quotes. */
static struct slice
inside(struct json value)
{
	return slice_of(value.raw.ptr + 1, value.raw.len - 2);
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

struct json
json_get(struct json object, const char *name)
{
	struct json_iter it = json_iter(object);
	struct slice want = slice_string(name);
	struct json key = { 0 }, value, found = { 0 };
	bool escaped = false;

	if (object.type != JSON_OBJECT)
		return found;
	while (next_member(&it, &key, &escaped, &value))
		if (escaped ? decodes_to(key, want)
			    : slice_eq(inside(key), want))
			found = value;
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

	if (value.type != JSON_STRING)
		return false;
	if (memchr(value.raw.ptr, '\\', value.raw.len) != NULL)
		return decodes_to(value, want);
	return slice_eq(inside(value), want) && utf8_valid(want) == want.len;
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
	const char *p = value.raw.ptr, *end = p + value.raw.len;
	uint64_t sum = 0;

	if (value.type != JSON_NUMBER)
		return false;
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
