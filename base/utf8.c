/*
 * UTF-8: checking, repairing, cutting and writing. Pure: owns nothing, reads
 * nothing but the bytes it is given. A bad part is what the Unicode standard
 * calls a maximal subpart: the longest start of a character that was broken
 * off, else one byte.
 */
#include "base/utf8.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

static bool
is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t
utf8_step(struct slice text, uint32_t *ret_code_point)
{
	const unsigned char *p = (const unsigned char *)text.ptr;
	unsigned char low = 0x80, high = 0xbf;
	uint32_t code = p[0];
	size_t more;

	*ret_code_point = UTF8_BAD;
	if (code < 0x80) {
		*ret_code_point = code;
		return 1;
	}
	if (code < 0xc2 || code > 0xf4)
		return 1;
	more = code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
	/* The second byte decides about overlong forms, surrogates and the
	 * end of the code space. */
	if (code == 0xe0)
		low = 0xa0;
	else if (code == 0xed)
		high = 0x9f;
	else if (code == 0xf0)
		low = 0x90;
	else if (code == 0xf4)
		high = 0x8f;
	code &= 0x3fu >> more;
	for (size_t i = 1; i <= more; i++) {
		if (i >= text.len || p[i] < low || p[i] > high)
			return i;
		code = code << 6 | (p[i] & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	*ret_code_point = code;
	return more + 1;
}

/* Behind all the ASCII at the start. */
static const char *
skip_ascii(const char *p, const char *end)
{
	uint64_t word;

	while (end - p >= (ptrdiff_t)sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		if ((word & HIGH_BITS) != 0)
			break;
		p += sizeof(word);
	}
	while (p < end && (unsigned char)*p < 0x80)
		p++;
	return p;
}

/* Behind all characters of two and three bytes that the first byte alone
 * shows to be well formed: most text that is not English. */
static const char *
skip_common(const char *p, const char *end)
{
	while (end - p >= 3) {
		unsigned char lead = (unsigned char)*p;

		if (lead >= 0xc2 && lead <= 0xdf && is_continuation(p[1]))
			p += 2;
		else if (lead >= 0xe1 && lead <= 0xec &&
			 is_continuation(p[1]) && is_continuation(p[2]))
			p += 3;
		else
			break;
	}
	return p;
}

size_t
utf8_valid(struct slice text)
{
	const char *p = text.ptr, *end;
	uint32_t code;

	if (text.len == 0)
		return 0;
	end = p + text.len;
	while (p < end) {
		p = skip_common(skip_ascii(p, end), end);
		if (p == end)
			break;
		size_t len = utf8_step(slice_of(p, (size_t)(end - p)), &code);

		if (code == UTF8_BAD)
			break;
		p += len;
	}
	return (size_t)(p - text.ptr);
}

size_t
utf8_clean(struct slice text, struct buf *out)
{
	uint32_t code;
	size_t bad = 0;

	while (text.len > 0) {
		size_t good = utf8_valid(text);

		buf_put(out, text.ptr, good);
		text = slice_of(text.ptr + good, text.len - good);
		if (text.len == 0)
			break;
		size_t len = utf8_step(text, &code);

		text = slice_of(text.ptr + len, text.len - len);
		utf8_put(out, UTF8_BAD);
		bad++;
	}
	return bad;
}

size_t
utf8_cut(struct slice text, size_t max)
{
	size_t at = max;
	uint32_t code;

	if (text.len <= max)
		return text.len;
	while (at > 0 && max - at < 3 && is_continuation(text.ptr[at]))
		at--;
	/* Only a character that reaches over the edge moves the cut. */
	size_t len = utf8_step(slice_of(text.ptr + at, text.len - at), &code);

	return at + len > max ? at : max;
}

void
utf8_put(struct buf *out, uint32_t code)
{
	char bytes[4];
	size_t len;

	if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		code = 0xfffd;
	if (code < 0x80) {
		buf_putc(out, (char)code);
		return;
	}
	if (code < 0x800) {
		bytes[0] = (char)(0xc0 | code >> 6);
		len = 2;
	} else if (code < 0x10000) {
		bytes[0] = (char)(0xe0 | code >> 12);
		len = 3;
	} else {
		bytes[0] = (char)(0xf0 | code >> 18);
		len = 4;
	}
	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	buf_put(out, bytes, len);
}
