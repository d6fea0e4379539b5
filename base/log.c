/*
 * Log lines on stderr, one write(2) each. Owns the only process-wide settings:
 * format, level, program. Never allocates, never changes errno, never waits
 * for a line that stderr refuses. A line fits PIPE_BUF, so that the lines of
 * several processes on one pipe never mix.
 */
#include "base/log.h"

#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES PIPE_BUF
/* Kept free for what closes a line: quote, mark of a cut, brace, newline. */
#define LINE_TAIL 32u
/* Any number, any id, and the opening quote of a text. */
#define VALUE_MIN     40u
#define TEXT_MAX      500u
#define SLOW_EVERY_MS 1000u

static struct {
	const char *program; /* borrowed for ever */
	enum log_level least;
	bool json;
} settings = { "reeve", LOG_INFO, false };

struct line {
	size_t len;
	bool full; /* something was left out */
	char text[LINE_MAX_BYTES];
};

static void
put(struct line *line, const char *ptr, size_t len)
{
	if (line->full || len > sizeof(line->text) - LINE_TAIL - line->len) {
		line->full = true;
		return;
	}
	memcpy(line->text + line->len, ptr, len);
	line->len += len;
}

static void
puts_line(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

/* Into the room that put leaves. */
static void
close_with(struct line *line, const char *text)
{
	size_t len = strlen(text);

	if (len > sizeof(line->text) - line->len)
		BUG("log line without room for its end");
	memcpy(line->text + line->len, text, len);
	line->len += len;
}

/* One character, escaped as JSON does it; also what terminals obey. */
static void
put_char(struct line *line, struct slice bytes, uint32_t code)
{
	static const char hex[] = "0123456789abcdef";
	char escape[6] = { '\\', 'u', '0', '0', 0, 0 };

	if (code == UTF8_BAD) {
		puts_line(line, "\xef\xbf\xbd");
	} else if (code == '"' || code == '\\') {
		escape[1] = (char)code;
		put(line, escape, 2);
	} else if (code == '\n') {
		puts_line(line, "\\n");
	} else if (code == '\t') {
		puts_line(line, "\\t");
	} else if (code == '\r') {
		puts_line(line, "\\r");
	} else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		escape[4] = hex[code >> 4];
		escape[5] = hex[code & 0x0f];
		put(line, escape, sizeof(escape));
	} else {
		put(line, bytes.ptr, bytes.len);
	}
}

static void
put_quoted(struct line *line, struct slice text)
{
	size_t end = utf8_cut(text, TEXT_MAX);
	uint32_t code;

	put(line, "\"", 1);
	for (size_t at = 0; at < end;) {
		struct slice rest = slice_of(text.ptr + at, end - at);
		size_t len = utf8_step(rest, &code);

		put_char(line, slice_of(rest.ptr, len), code);
		at += len;
	}
	if (end < text.len)
		puts_line(line, "\xe2\x80\xa6");
	close_with(line, "\"");
}

static bool
is_bare(struct slice text)
{
	if (text.len == 0 || text.len > TEXT_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '=')
			return false;
	}
	return true;
}

static void
put_text(struct line *line, struct slice text)
{
	if (settings.json || !is_bare(text))
		put_quoted(line, text);
	else
		put(line, text.ptr, text.len);
}

static void
put_num(struct line *line, int64_t num)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%lld", (long long)num);

	put(line, digits, (size_t)len);
}

/* The key with what stands before its value; false without room for both,
 * where a text may still be cut short. */
static bool
put_key(struct line *line, const char *key)
{
	bool first = line->len == 0;
	size_t before = line->len;

	if (settings.json) {
		puts_line(line, first ? "{\"" : ",\"");
		puts_line(line, key);
		puts_line(line, "\":");
	} else {
		puts_line(line, first ? "" : " ");
		puts_line(line, key);
		puts_line(line, "=");
	}
	if (line->full ||
	    sizeof(line->text) - line->len < LINE_TAIL + VALUE_MIN) {
		line->full = true;
		line->len = before;
	}
	return !line->full;
}

static void
put_field(struct line *line, const struct log_field *field)
{
	char text[UUID_TEXT];

	if (!put_key(line, field->key))
		return;
	switch (field->kind) {
	case LOG_FIELD_TEXT:
		put_text(line, field->text);
		return;
	case LOG_FIELD_NUM:
		put_num(line, field->num);
		return;
	case LOG_FIELD_UUID:
		uuid_text(&field->uuid, text);
		put_text(line, slice_string(text));
		return;
	case LOG_FIELD_END:
		break;
	}
	BUG("log field of kind %d", (int)field->kind);
}

static const char *
level_name(enum log_level level)
{
	switch (level) {
	case LOG_DEBUG:
		return "debug";
	case LOG_INFO:
		return "info";
	case LOG_WARN:
		return "warn";
	case LOG_ERROR:
		return "error";
	}
	BUG("log level %d", (int)level);
}

static void
write_line(enum log_level level, const char *event,
    const struct log_field *fields, uint64_t left_out)
{
	struct line line = { .len = 0 };
	char now[CLOCK_TEXT];
	int saved = errno;
	ssize_t wrote;
	const struct log_field head[] = {
		log_str("t", clock_text(clock_wall_ms(), now)),
		log_str("level", level_name(level)),
		log_str("program", settings.program),
		log_str("event", event),
	};
	const struct log_field tail = log_num("left_out", (int64_t)left_out);

	for (size_t i = 0; i < COUNT(head); i++)
		put_field(&line, &head[i]);
	for (; fields->kind != LOG_FIELD_END; fields++)
		put_field(&line, fields);
	if (left_out > 0)
		put_field(&line, &tail);
	if (line.full)
		close_with(
		    &line, settings.json ? ",\"cut\":true" : " cut=true");
	close_with(&line, settings.json ? "}\n" : "\n");
	do
		wrote = write(STDERR_FILENO, line.text, line.len);
	while (wrote == -1 && errno == EINTR);
	errno = saved;
}

void
log_setup(const char *program, enum log_level least, bool json)
{
	settings.program = program;
	settings.least = least;
	settings.json = json;
}

void
log_write(
    enum log_level level, const char *event, const struct log_field *fields)
{
	if (level >= settings.least)
		write_line(level, event, fields, 0);
}

void
log_limited(uint64_t *next_ms, uint64_t *left_out, const char *event,
    const struct log_field *fields)
{
	uint64_t now = clock_ms();

	if (LOG_WARN < settings.least)
		return;
	if (now < *next_ms) {
		(*left_out)++;
		return;
	}
	write_line(LOG_WARN, event, fields, *left_out);
	*next_ms = now + SLOW_EVERY_MS;
	*left_out = 0;
}

struct log_field
log_str(const char *key, const char *text)
{
	return log_slice(key, slice_string(text));
}

struct log_field
log_slice(const char *key, struct slice text)
{
	return (struct log_field){
		.key = key, .kind = LOG_FIELD_TEXT, .text = text
	};
}

struct log_field
log_num(const char *key, int64_t num)
{
	return (
	    struct log_field){ .key = key, .kind = LOG_FIELD_NUM, .num = num };
}

struct log_field
log_uuid(const char *key, const struct uuid *uuid)
{
	return (struct log_field){
		.key = key, .kind = LOG_FIELD_UUID, .uuid = *uuid
	};
}

struct log_field
log_err(const struct err *err)
{
	return log_str("error", err->text);
}
