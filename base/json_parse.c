/*
 * The check of a JSON text, done once before cursors read it: RFC 8259 to the
 * letter, plus marks for what is lawful there and trouble elsewhere. Owns
 * nothing; keeps its place on a stack of bits, so that depth costs no memory
 * and never recursion.
 */
#include "base/json_scan.h"
#include "base/utf8.h"

#define STACK_WORDS (JSON_DEPTH_MAX / 64)

struct check {
	const char *start, *end;
	const char *at;  /* where it went wrong */
	const char *why; /* set on failure */
	bool too_deep;
	unsigned marks;
	unsigned depth;
	uint64_t objects[STACK_WORDS]; /* a bit per depth: object or array */
};

static const char *
fail(struct check *c, const char *at, const char *why)
{
	c->at = at;
	c->why = why;
	return NULL;
}

static bool
in_object(const struct check *c)
{
	unsigned top = c->depth - 1;

	return (c->objects[top / 64] >> top % 64 & 1) != 0;
}

static const char *
push(struct check *c, const char *p)
{
	unsigned top = c->depth;
	uint64_t bit = UINT64_C(1) << top % 64;

	if (top == JSON_DEPTH_MAX) {
		c->too_deep = true;
		return fail(c, p, "nested too deep");
	}
	if (*p == '{')
		c->objects[top / 64] |= bit;
	else
		c->objects[top / 64] &= ~bit;
	c->depth++;
	return p + 1;
}

static const char *
check_escape(struct check *c, const char *p)
{
	uint32_t code;
	const char *next = json_unescape(p, c->end, &code);

	if (next == NULL)
		return fail(c, p, "no such escape");
	if (code == 0)
		c->marks |= JSON_MARK_NUL;
	else if (json_is_surrogate(code))
		c->marks |= JSON_MARK_SURROGATE;
	return next;
}

/* p stands after the opening quote. */
static const char *
check_string(struct check *c, const char *p)
{
	while (p != NULL) {
		p = json_plain(p, c->end);
		if (p == c->end)
			return fail(c, p, "a string has no end");
		if (*p == '"')
			return p + 1;
		if (*p != '\\')
			return fail(c, p, "control character in a string");
		p = check_escape(c, p);
	}
	return NULL;
}

static bool
is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static const char *
digits(const char *p, const char *end)
{
	while (is_digit(p, end))
		p++;
	return p;
}

static const char *
check_number(struct check *c, const char *p)
{
	const char *end = c->end;

	if (*p == '-')
		p++;
	if (!is_digit(p, end))
		return fail(c, p, "a digit is missing");
	p = *p == '0' ? p + 1 : digits(p, end);
	if (p < end && *p == '.') {
		if (!is_digit(++p, end))
			return fail(c, p, "a digit is missing");
		p = digits(p, end);
	}
	if (p < end && (*p | 0x20) == 'e') {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		if (!is_digit(p, end))
			return fail(c, p, "a digit is missing");
		p = digits(p, end);
	}
	return p;
}

static const char *
check_word(struct check *c, const char *p, struct slice word)
{
	if ((size_t)(c->end - p) < word.len ||
	    memcmp(p, word.ptr, word.len) != 0)
		return fail(c, p, "a value is missing");
	return p + word.len;
}

/* A name and its colon: where its value begins. */
static const char *
check_name(struct check *c, const char *p)
{
	p = json_space(p, c->end);
	if (p == c->end || *p != '"')
		return fail(c, p, "a name in quotes is missing");
	p = check_string(c, p + 1);
	if (p == NULL)
		return NULL;
	p = json_space(p, c->end);
	if (p == c->end || *p != ':')
		return fail(c, p, "a colon is missing");
	return p + 1;
}

static const char *
check_scalar(struct check *c, const char *p)
{
	switch (*p) {
	case '"':
		return check_string(c, p + 1);
	case 't':
		return check_word(c, p, SLICE("true"));
	case 'f':
		return check_word(c, p, SLICE("false"));
	case 'n':
		return check_word(c, p, SLICE("null"));
	case '-':
		return check_number(c, p);
	default:
		if (is_digit(p, c->end))
			return check_number(c, p);
		return fail(c, p, "a value is missing");
	}
}

/* Behind a value: where the next one begins, or the end when depth is 0. */
static const char *
check_after(struct check *c, const char *p)
{
	while (c->depth > 0) {
		bool object = in_object(c);

		p = json_space(p, c->end);
		if (p == c->end)
			return fail(c, p,
			    object ? "an object has no end"
				   : "an array has no end");
		if (*p == ',')
			return object ? check_name(c, p + 1) : p + 1;
		if (*p != (object ? '}' : ']'))
			return fail(c, p,
			    object ? "a comma or } is missing"
				   : "a comma or ] is missing");
		p++;
		c->depth--;
	}
	return p;
}

/* p at an opening bracket: where the first value inside begins; an empty one
 * counts as a value that ended. */
static const char *
check_open(struct check *c, const char *p, bool *ret_ended)
{
	char close = *p == '{' ? '}' : ']';

	*ret_ended = false;
	p = push(c, p);
	if (p == NULL)
		return NULL;
	p = json_space(p, c->end);
	if (p < c->end && *p == close) {
		c->depth--;
		*ret_ended = true;
		return p + 1;
	}
	return close == '}' ? check_name(c, p) : p;
}

static const char *
check_value(struct check *c, const char *p)
{
	bool ended;

	do {
		p = json_space(p, c->end);
		if (p == c->end)
			return fail(c, p, "a value is missing");
		ended = true;
		if (*p == '{' || *p == '[')
			p = check_open(c, p, &ended);
		else
			p = check_scalar(c, p);
		if (p != NULL && ended)
			p = check_after(c, p);
	} while (p != NULL && (c->depth > 0 || !ended));
	return p;
}

static int
refuse(const struct check *c, struct err *err)
{
	size_t line = 1, column = 1;

	for (const char *p = c->start; p < c->at; p++) {
		if (*p == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)*p & 0xc0) != 0x80) {
			column++;
		}
	}
	return err_set(err, c->too_deep ? ERR_LIMIT : ERR_INPUT,
	    "JSON line %zu column %zu: %s", line, column, c->why);
}

int
json_parse(struct slice text, struct json *ret_value, unsigned *ret_marks,
    struct err *err)
{
	struct check c = { .start = text.ptr == NULL ? "" : text.ptr };
	const char *first, *last;

	c.end = c.start + text.len;
	first = json_space(c.start, c.end);
	last = check_value(&c, first);
	if (last != NULL && json_space(last, c.end) != c.end) {
		c.at = json_space(last, c.end);
		c.why = "something follows the value";
		last = NULL;
	}
	if (last == NULL)
		return refuse(&c, err);
	/* Outside strings all is ASCII, and a quote ends what was broken off:
	 * so the strings are UTF-8 exactly when the whole text is. */
	if (utf8_valid(text) != text.len)
		c.marks |= JSON_MARK_UTF8;
	*ret_value = json_at(first, last);
	if (ret_marks != NULL)
		*ret_marks = c.marks;
	return 0;
}
