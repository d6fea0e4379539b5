/*
 * UTF-8 by the book (RFC 3629): no surrogates, no overlong forms, at most
 * U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/buf.h"

#define UTF8_BAD UINT32_MAX

/* Length of the first character of a text that is not empty, and its code
 * point; for bad bytes the length of the first bad part, and UTF8_BAD. */
size_t utf8_step(struct slice text, uint32_t *ret_code_point);
/* Length of the longest valid prefix; == text.len when all of it is valid. */
size_t utf8_valid(struct slice text);
/* Appends text with each maximal bad part as U+FFFD; returns how many. */
size_t utf8_clean(struct slice text, struct buf *out);
/* The largest n <= max at which text can be cut between characters. */
size_t utf8_cut(struct slice text, size_t max);
/* Appends one code point; surrogates and too large ones become U+FFFD. */
void utf8_put(struct buf *out, uint32_t code_point);

#endif
