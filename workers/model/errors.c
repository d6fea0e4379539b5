/*
 * Classes of failures, and what of a provider's answer they are made of.
 * Decides nothing about retries beyond the table; never logs.
 */
#include "workers/model/errors.h"

#include <stdarg.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/utf8.h"

static const struct {
	const char *name, *short_name;
	bool retry;
} classes[] = {
#define ERROR(name, short_name, retry, meaning)                                \
	[ERROR_##name] = { #name, short_name, retry },
#include "proto/errors.def"
#undef ERROR
};

const char *error_name(enum error_class class)
{
	return classes[class].name;
}

const char *error_short_name(enum error_class class)
{
	return classes[class].short_name;
}

bool error_may_retry(enum error_class class)
{
	return classes[class].retry;
}

void
failure_release(struct failure *failure)
{
	failure->message = mem_free(failure->message);
}

/* ---- what was said ---- */

/* Takes the longer one of two messages, cut at a character. */
static void
set_message(struct failure *failure, struct slice text)
{
	size_t len =
	    text.len <= LIMIT_TEXT ? text.len : utf8_cut(text, LIMIT_TEXT);
	char *p;

	if (failure->message != NULL && strlen(failure->message) >= len)
		return;
	p = mem_string_n(text.ptr, len);
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '\0')
			p[i] = ' ';
	}
	mem_free(failure->message);
	failure->message = p;
}

void
failure_set(struct failure *failure, const char *code, const char *fmt, ...)
{
	struct buf text = BUF_INIT(LIMIT_TEXT);
	char *room = buf_room(&text, LIMIT_TEXT);
	va_list ap;

	if (failure->code[0] == '\0')
		snprintf(failure->code, sizeof(failure->code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(room, LIMIT_TEXT, fmt, ap);
	va_end(ap);
	failure->message = mem_free(failure->message);
	set_message(failure, slice_string(room));
	buf_release(&text);
}

/* A string, or a number as its digits; keeps what is there already. */
static void
set_word(char word[LIMIT_NAME + 1], struct json value)
{
	struct buf text = BUF_INIT(4096);
	size_t len;

	if (word[0] != '\0')
		return;
	if (value.type == JSON_STRING)
		json_decode(value, &text);
	else if (value.type == JSON_NUMBER)
		buf_put_slice(&text, value.raw);
	len = text.len <= LIMIT_NAME ? text.len
				     : utf8_cut(buf_slice(&text), LIMIT_NAME);
	if (len > 0 && memchr(text.ptr, '\0', len) == NULL) {
		memcpy(word, text.ptr, len);
		word[len] = '\0';
	}
	buf_release(&text);
}

static bool
take_message(struct failure *failure, struct json value)
{
	struct buf text = BUF_INIT(LIMIT_BODY);

	json_decode(value, &text);
	if (text.len > 0 && !text.failed)
		set_message(failure, buf_slice(&text));
	buf_release(&text);
	return value.type == JSON_STRING;
}

/* code, type, param, message of one object. */
static bool
take_object(struct failure *failure, struct json object, bool typed)
{
	struct json code = json_get(object, "code");
	int64_t number;

	if (object.type != JSON_OBJECT)
		return false;
	set_word(failure->code, code);
	if (json_i64(code, &number) && number >= 400 && number <= 599 &&
	    failure->status < 400)
		failure->status = (unsigned)number;
	if (typed)
		set_word(failure->type, json_get(object, "type"));
	set_word(failure->param, json_get(object, "param"));
	return take_message(failure, json_get(object, "message")) ||
	       take_message(failure, json_get(object, "msg")) ||
	       failure->code[0] != '\0';
}

static struct json
first_of(struct json value)
{
	struct json_iter it = json_iter(value);
	struct json first;

	if (value.type == JSON_ARRAY && json_next(&it, NULL, &first))
		return first;
	return value;
}

bool
failure_read(struct failure *failure, struct json value)
{
	struct json error = json_get(value, "error");
	struct json detail = first_of(json_get(value, "detail"));

	if (error.type == JSON_OBJECT)
		return take_object(failure, error, true);
	if (error.type == JSON_STRING) {
		set_word(failure->code, json_get(value, "code"));
		return take_message(failure, error);
	}
	if (json_get(value, "message").type == JSON_STRING ||
	    json_get(value, "code").type == JSON_STRING)
		return take_object(failure, value, false);
	if (detail.type == JSON_STRING)
		return take_message(failure, detail);
	if (detail.type == JSON_OBJECT)
		return take_object(failure, detail, false);
	return take_object(failure, first_of(json_get(value, "errors")), true);
}

struct slice
json_prefix(struct slice text)
{
	size_t depth = 0;
	bool string = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				string = false;
			continue;
		}
		if (c == '"')
			string = true;
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && depth > 0 && --depth == 0)
			return slice_of(text.ptr, i + 1);
	}
	return (struct slice){ 0 };
}

#define BODY_TEXT_MAX 512u

/* The text of a page: tags out, white space together. */
static void
take_page(struct failure *failure, struct slice body)
{
	struct buf text = BUF_INIT(BODY_TEXT_MAX), clean;
	bool tag = false, space = false;

	clean = BUF_INIT(4 * BODY_TEXT_MAX);
	for (size_t i = 0; i < body.len && text.len < BODY_TEXT_MAX - 1; i++) {
		char c = body.ptr[i];

		if (c == '<')
			tag = true;
		if (tag || (unsigned char)c <= ' ') {
			space = true;
			tag = tag && c != '>';
			continue;
		}
		if (space && text.len > 0)
			buf_putc(&text, ' ');
		space = false;
		buf_putc(&text, c);
	}
	utf8_clean(buf_slice(&text), &clean);
	if (clean.len > 0)
		set_message(failure, buf_slice(&clean));
	buf_release(&text);
	buf_release(&clean);
}

void
failure_read_body(struct failure *failure, struct slice body)
{
	struct json value;

	while (body.len > 0 && (unsigned char)*body.ptr <= ' ')
		body = slice_of(body.ptr + 1, body.len - 1);
	if (body.len > 0 && *body.ptr == '{' &&
	    json_parse(json_prefix(body), &value, NULL, NULL) == 0 &&
	    failure_read(failure, value))
		return;
	take_page(failure, body);
}

/* ---- what it means ---- */

static bool
code_fits(const char *pattern, const char *code)
{
	size_t len = strlen(pattern), n = strlen(code);

	if (pattern[0] == '*')
		return n >= len - 1 &&
		       strcmp(code + n - (len - 1), pattern + 1) == 0;
	if (pattern[len - 1] == '*')
		return strncmp(code, pattern, len - 1) == 0;
	return strcmp(code, pattern) == 0;
}

static bool
class_of_code(const char *code, enum error_class *ret_class)
{
	static const struct {
		const char *pattern;
		enum error_class class;
	} codes[] = {
#define CODE(pattern, class) { pattern, ERROR_##class },
#define STATUS(from, to, class)
#define TEXT(text, from, class)
#include "workers/model/codes.def"
#undef CODE
#undef STATUS
#undef TEXT
	};

	for (size_t i = 0; code[0] != '\0' && i < COUNT(codes); i++) {
		if (code_fits(codes[i].pattern, code)) {
			*ret_class = codes[i].class;
			return true;
		}
	}
	return false;
}

static enum error_class
class_of_status(unsigned status)
{
	static const struct {
		unsigned from, to;
		enum error_class class;
	} statuses[] = {
#define CODE(pattern, class)
#define STATUS(from, to, class) { from, to, ERROR_##class },
#define TEXT(text, from, class)
#include "workers/model/codes.def"
#undef CODE
#undef STATUS
#undef TEXT
	};

	for (size_t i = 0; i < COUNT(statuses); i++) {
		if (status >= statuses[i].from && status <= statuses[i].to)
			return statuses[i].class;
	}
	return ERROR_server;
}

static enum error_class
class_of_text(const char *message, enum error_class class)
{
	static const struct {
		const char *text;
		enum error_class from, class;
	} texts[] = {
#define CODE(pattern, class)
#define STATUS(from, to, class)
#define TEXT(text, from, class) { text, ERROR_##from, ERROR_##class },
#include "workers/model/codes.def"
#undef CODE
#undef STATUS
#undef TEXT
	};

	for (size_t i = 0; message != NULL && i < COUNT(texts); i++) {
		if (texts[i].from == class &&
		    strcasestr(message, texts[i].text) != NULL)
			return texts[i].class;
	}
	return class;
}

void
failure_classify(struct failure *failure)
{
	enum error_class class;
	/* This type stands in answers of every status from 400 on. */
	bool vague = failure->status >= 400 &&
		     strcmp(failure->type, "invalid_request_error") == 0;

	if (!class_of_code(failure->code, &class) &&
	    (vague || !class_of_code(failure->type, &class)))
		class = class_of_status(failure->status);
	if (!failure->decided)
		failure->class = class_of_text(failure->message, class);
	if (failure->code[0] == '\0')
		memcpy(failure->code, failure->type, sizeof(failure->code));
	if (failure->wait_ms == 0 && failure->message != NULL)
		failure->wait_ms = retry_text_ms(failure->message);
}

bool
failure_may_retry(const struct failure *failure, bool output)
{
	bool may = error_may_retry(failure->class);

	if (failure->advice != RETRY_UNSAID)
		may = failure->advice == RETRY_YES;
	return may && !output && failure->wait_ms <= RETRY_WAIT_MAX_MS;
}

void
failure_hide(struct failure *failure, const char *secret)
{
	size_t len = strlen(secret);
	struct buf text = BUF_INIT(4 * LIMIT_TEXT);
	const char *p = failure->message, *hit;

	if (p == NULL || len < 4 || strstr(p, secret) == NULL)
		return;
	while ((hit = strstr(p, secret)) != NULL) {
		buf_put(&text, p, (size_t)(hit - p));
		buf_puts(&text, "[hidden]");
		p = hit + len;
	}
	buf_puts(&text, p);
	failure->message = mem_free(failure->message);
	set_message(failure, buf_slice(&text));
	buf_release(&text);
}
