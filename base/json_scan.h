/*
 * Small steps over JSON bytes, shared by the json files and by nobody else.
 * They never read at or past `end`. Owns nothing.
 */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <endian.h>

#include "base/json.h"

static inline const char *
json_space(const char *p, const char *end)
{
	while (p < end && (unsigned char)*p <= ' ' &&
	       (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* For each byte of word that is 0: its top bit. Above the first such byte
 * there may be false ones; the lowest set bit is always right. */
static inline uint64_t
json_zero_bytes(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word &
	       UINT64_C(0x8080808080808080);
}

/* The first quote, backslash or control character, or end. */
static inline const char *
json_plain(const char *p, const char *end)
{
	uint64_t word, stop;

	while (end - p >= (ptrdiff_t)sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		word = le64toh(word);
		stop = json_zero_bytes(word ^ UINT64_C(0x2222222222222222)) |
		       json_zero_bytes(word ^ UINT64_C(0x5c5c5c5c5c5c5c5c)) |
		       json_zero_bytes(word & UINT64_C(0xe0e0e0e0e0e0e0e0));
		if (stop != 0)
			return p + __builtin_ctzll(stop) / 8;
		p += sizeof(word);
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' ')
		p++;
	return p;
}

/* The first quote or backslash, or end: enough in a checked string. */
static inline const char *
json_quote(const char *p, const char *end)
{
	uint64_t word, stop;

	while (end - p >= (ptrdiff_t)sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		word = le64toh(word);
		stop = json_zero_bytes(word ^ UINT64_C(0x2222222222222222)) |
		       json_zero_bytes(word ^ UINT64_C(0x5c5c5c5c5c5c5c5c));
		if (stop != 0)
			return p + __builtin_ctzll(stop) / 8;
		p += sizeof(word);
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* p stands after the opening quote of a checked string: behind its closing
 * quote. ret_escaped: does it hold a backslash? */
static inline const char *
json_skip_string(const char *p, const char *end, bool *ret_escaped)
{
	*ret_escaped = false;
	for (p = json_quote(p, end); p < end; p = json_quote(p, end)) {
		if (*p == '"')
			return p + 1;
		*ret_escaped = true;
		if (end - p < 2)
			break;
		p += 2;
	}
	return end;
}

/* The value whose bytes are first..last. */
static inline struct json
json_at(const char *first, const char *last)
{
	static const uint8_t types[256] = {
		['{'] = JSON_OBJECT,
		['['] = JSON_ARRAY,
		['"'] = JSON_STRING,
		['t'] = JSON_TRUE,
		['f'] = JSON_FALSE,
		['n'] = JSON_NULL,
	};
	enum json_type type = types[(unsigned char)*first];

	return (struct json){
		.type = type == JSON_NONE ? JSON_NUMBER : type,
		.raw = slice_of(first, (size_t)(last - first)),
	};
}

/* Reads one escape, p at its backslash: behind it, or NULL if it is none.
 * Half a surrogate pair gives its own code point. */
const char *json_unescape(const char *p, const char *end, uint32_t *ret_code);

static inline bool
json_is_surrogate(uint32_t code)
{
	return code >= 0xd800 && code <= 0xdfff;
}

#endif
