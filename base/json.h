/*
 * JSON over byte slices, without trees: a text is checked once, then read by
 * cursors that borrow it. Numbers keep their digits, strings their bytes.
 * What RFC 8259 refuses is refused; what models really send and databases
 * refuse (U+0000, lone surrogates, invalid UTF-8) is tolerated and marked.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

enum json_type {
	JSON_NONE, /* no value: a missing key, the end of a walk */
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* A value inside a checked text. Borrows the text. */
struct json {
	enum json_type type;
	struct slice raw; /* strings with their quotes */
};

enum json_mark {
	JSON_MARK_NUL = 1,       /* a U+0000 */
	JSON_MARK_SURROGATE = 2, /* half a surrogate pair */
	JSON_MARK_UTF8 = 4,      /* bytes that are not UTF-8 */
	JSON_MARK_DUPLICATE = 8, /* never by json_parse: json_no_duplicates */
};

#define JSON_DEPTH_MAX 128

/* Checks one whole text (a value with white space around it). Errors: ERR_INPUT
 * with line and column, ERR_LIMIT past JSON_DEPTH_MAX. ret_marks (may be NULL)
 * gets what must be scrubbed before a database sees the text. */
int json_parse(struct slice text, struct json *ret_value, unsigned *ret_marks,
    struct err *err) CHECKED;

/* Walks an array or object of a checked text:
 *	struct json_iter it = json_iter(value);
 *	while (json_next(&it, &key, &member)) …
 * key is JSON_STRING in objects, JSON_NONE in arrays. Other types: empty. */
struct json_iter {
	const char *p, *end;
	bool object;
};
struct json_iter json_iter(struct json value);
bool json_next(
    struct json_iter *it, struct json *ret_key, struct json *ret_value);

/* Member by name (the last one of that name, as most readers do), or JSON_NONE;
 * JSON_NONE too when `object` is no object. */
struct json json_get(struct json object, const char *name);
/* Members of an array or object, else 0. */
size_t json_count(struct json value);

/* Is it a string that decodes to exactly `text`? */
bool json_is(struct json value, const char *text);
/* Appends the decoded string (escapes resolved; marks become U+FFFD, but NUL
 * stays a NUL byte). Nothing for other types. */
void json_decode(struct json value, struct buf *out);
/* Decodes into a new NUL-terminated string of at most max bytes (mem_free), or
 * NULL if it is no string, too long, or holds NUL. */
char *json_string_new(struct json value, size_t max);
/* Integers by their digits: false for fractions, exponents, out of range. */
bool json_i64(struct json value, int64_t *ret);
bool json_u64(struct json value, uint64_t *ret);
/* The nearest double; false past its range. */
bool json_double(struct json value, double *ret);
/* JSON_TRUE -> true; everything else -> false. */
bool json_true(struct json value);

/* Copies a checked text with U+0000, lone surrogates and bad UTF-8 as U+FFFD
 * and everything else byte for byte. The copy may be longer: bad bytes become
 * three each. */
void json_scrub(struct json value, struct buf *out);

/* ERR_INPUT naming the first name that stands twice in one object, anywhere. */
int json_no_duplicates(struct json value, struct err *err) CHECKED;

/* ---- writing ---- */

/* Appends text as a JSON string with quotes; bad UTF-8 becomes U+FFFD, a NUL
 * byte becomes \u0000. */
void json_put_string(struct buf *out, struct slice text);

/* Writes commas where they belong.
 *	struct json_writer w = json_writer(&out);
 *	json_open(&w, '{'); json_key(&w, "id"); json_str(&w, s); json_close(&w);
 */
struct json_writer {
	struct buf *out;  /* borrowed */
	uint64_t objects; /* bit per depth */
	unsigned depth;
	bool comma;
};
struct json_writer json_writer(struct buf *out);
/* '{' or '['; BUG past a depth of 60. */
void json_open(struct json_writer *w, char bracket);
void json_close(struct json_writer *w);
void json_key(struct json_writer *w, const char *name);
void json_key_slice(struct json_writer *w, struct slice name);
void json_str(struct json_writer *w, struct slice text);
void json_text(struct json_writer *w, const char *text); /* NULL writes null */
/* Must be JSON; empty writes null. */
void json_raw(struct json_writer *w, struct slice json);
void json_num(struct json_writer *w, int64_t num);
void json_unum(struct json_writer *w, uint64_t num);
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);

/* Indented, for people; colour none. */
void json_pretty(struct json value, struct buf *out);

#endif
