/*
 * Compares checked JSON texts without building trees: walks both by cursors,
 * decodes strings only where an escape stands. Recursion ends at the depth that
 * json_parse allows.
 */
#include "base/json_equal.h"

#include "base/decimal.h"

/* A byte that is no UTF-8 becomes the three of U+FFFD. */
#define DECODED_MAX(string) ((string).raw.len * 3)

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static bool
spend(size_t *work, size_t units)
{
	if (*work <= units) {
		*work = 0;
		return false;
	}
	*work -= units;
	return true;
}

static bool
has_escape(struct json string)
{
	return memchr(string.raw.ptr, '\\', string.raw.len) != NULL;
}

bool
json_string_equal(struct json a, struct json b)
{
	struct buf x, y;
	bool equal;

	if (!has_escape(a) && !has_escape(b))
		return slice_eq(a.raw, b.raw);
	x = BUF_INIT(DECODED_MAX(a));
	y = BUF_INIT(DECODED_MAX(b));
	json_decode(a, &x);
	json_decode(b, &y);
	equal = slice_eq(buf_slice(&x), buf_slice(&y));
	buf_release(&x);
	buf_release(&y);
	return equal;
}

static bool
array_equal(struct json a, struct json b, size_t *work)
{
	struct json_iter ia = json_iter(a), ib = json_iter(b);
	struct json key, x, y;

	while (json_next(&ia, &key, &x)) {
		if (!json_next(&ib, &key, &y) || !json_equal(x, y, work))
			return false;
	}
	return !json_next(&ib, &key, &y);
}

static bool
has_equal_member(
    struct json object, struct json name, struct json value, size_t *work)
{
	struct json_iter it = json_iter(object);
	struct json key, member;

	while (json_next(&it, &key, &member)) {
		if (!spend(work, key.raw.len + member.raw.len))
			return false;
		if (json_string_equal(key, name))
			return json_equal(member, value, work);
	}
	return false;
}

static bool
object_equal(struct json a, struct json b, size_t *work)
{
	struct json_iter it = json_iter(a);
	struct json key, member;

	if (json_count(a) != json_count(b))
		return false;
	while (json_next(&it, &key, &member)) {
		if (!has_equal_member(b, key, member, work))
			return false;
	}
	return true;
}

bool
json_equal(struct json a, struct json b, size_t *work)
{
	struct decimal x, y;

	if (a.type != b.type || !spend(work, a.raw.len + b.raw.len))
		return false;
	switch (a.type) {
	case JSON_NONE:
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
		return true;
	case JSON_NUMBER:
		x = decimal_read(a.raw);
		y = decimal_read(b.raw);
		return decimal_compare(&x, &y) == 0;
	case JSON_STRING:
		return json_string_equal(a, b);
	case JSON_ARRAY:
		return array_equal(a, b, work);
	case JSON_OBJECT:
		return object_equal(a, b, work);
	}
	BUG("json type %d", (int)a.type);
}

static uint64_t
mix(uint64_t hash, const void *ptr, size_t len)
{
	const unsigned char *p = ptr;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * FNV_PRIME;
	return hash;
}

static uint64_t
string_hash(struct json string)
{
	struct buf text = BUF_INIT(DECODED_MAX(string));
	uint64_t hash;

	if (!has_escape(string))
		return mix(FNV_START, string.raw.ptr + 1, string.raw.len - 2);
	json_decode(string, &text);
	hash = mix(FNV_START, text.ptr, text.len);
	buf_release(&text);
	return hash;
}

static uint64_t
number_hash(struct slice raw)
{
	struct decimal d = decimal_read(raw);
	uint64_t hash = mix(FNV_START, &d.negative, sizeof(d.negative));

	if (d.zero)
		return hash;
	hash = mix(hash, &d.magnitude, sizeof(d.magnitude));
	for (size_t i = d.first; i <= d.last; i++) {
		unsigned digit = decimal_digit(&d, i);

		hash = mix(hash, &digit, sizeof(digit));
	}
	return hash;
}

static uint64_t
members_hash(struct json value, size_t *work)
{
	struct json_iter it = json_iter(value);
	struct json key, member;
	uint64_t sum = 0, hash = FNV_START;

	while (json_next(&it, &key, &member)) {
		uint64_t one = json_hash(member, work);

		if (value.type == JSON_OBJECT)
			sum += mix(string_hash(key), &one, sizeof(one));
		else
			hash = mix(hash, &one, sizeof(one));
	}
	return mix(hash, &sum, sizeof(sum));
}

uint64_t
json_hash(struct json value, size_t *work)
{
	uint64_t hash = FNV_START;

	if (!spend(work, value.raw.len))
		return 0;
	if (value.type == JSON_NUMBER)
		hash = number_hash(value.raw);
	else if (value.type == JSON_STRING)
		hash = string_hash(value);
	else if (value.type == JSON_ARRAY || value.type == JSON_OBJECT)
		hash = members_hash(value, work);
	return mix(hash, &value.type, sizeof(value.type));
}
