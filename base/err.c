/*
 * Errors of fixed size: formatting, wrapping, cutting. Owns nothing, allocates
 * nothing, logs nothing. Arguments may point into the error's own text. When
 * all does not fit, the end stays: the cause stands there.
 */
#include "base/err.h"

#include <stdarg.h>

#include "base/utf8.h"

#define TEXT_MAX (sizeof(((struct err *)0)->text) - 1)
/* One character more than fits, so that a cut can see what it cuts. */
#define ROOM (TEXT_MAX + 5)
/* What a context may take of a text that is too long. */
#define PREFIX_MAX (TEXT_MAX / 3)
#define GAP        "\xe2\x80\xa6"

/* Formats and cuts to `max` bytes; returns the length. */
static size_t format_cut(char text[ROOM], size_t max, const char *fmt,
    va_list ap) __attribute__((format(printf, 3, 0)));

static size_t
format_cut(char text[ROOM], size_t max, const char *fmt, va_list ap)
{
	int len = vsnprintf(text, ROOM, fmt, ap);
	size_t have = len < 0 ? 0 : (size_t)len;

	if (have > ROOM - 1)
		have = ROOM - 1;
	have = utf8_cut(slice_of(text, have), max);
	text[have] = '\0';
	return have;
}

/* PREFIX: CAUSE, shortened in the middle if need be. */
static void join(struct err *err, const char *fmt, va_list ap,
    const char *cause) __attribute__((format(printf, 2, 0)));

static void
join(struct err *err, const char *fmt, va_list ap, const char *cause)
{
	static const char gap[] = ": " GAP;
	size_t cause_len = strlen(cause), sep = cause_len == 0 ? 0 : 2;
	size_t room, prefix_len;
	char prefix[ROOM], tail[TEXT_MAX + 1];

	memcpy(tail, cause, cause_len + 1);
	room = cause_len + sep < TEXT_MAX - PREFIX_MAX
		   ? TEXT_MAX - sep - cause_len
		   : PREFIX_MAX;
	prefix_len = format_cut(prefix, room, fmt, ap);
	cause = tail;
	if (prefix_len + sep + cause_len > TEXT_MAX) {
		sep = sizeof(gap) - 1;
		cause += cause_len - (TEXT_MAX - prefix_len - sep);
		while (((unsigned char)*cause & 0xc0) == 0x80)
			cause++;
		cause_len = strlen(cause);
	}
	memcpy(err->text, prefix, prefix_len);
	memcpy(err->text + prefix_len, gap, sep);
	memcpy(err->text + prefix_len + sep, cause, cause_len + 1);
}

int
err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	char text[ROOM];
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	size_t len = format_cut(text, TEXT_MAX, fmt, ap);

	va_end(ap);
	*err = (struct err){ .kind = kind };
	memcpy(err->text, text, len + 1);
	return -1;
}

int
err_errno(struct err *err, const char *fmt, ...)
{
	int code = errno;
	char space[128];
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	join(err, fmt, ap, strerror_r(code, space, sizeof(space)));
	va_end(ap);
	err->kind = ERR_SYSTEM;
	err->code = code;
	err->sqlstate[0] = '\0';
	errno = code;
	return -1;
}

int
err_wrap(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	join(err, fmt, ap, err->text);
	va_end(ap);
	return -1;
}

const char *
err_kind_name(enum err_kind kind)
{
	switch (kind) {
	case ERR_NONE:
		return "none";
	case ERR_SYSTEM:
		return "system";
	case ERR_INPUT:
		return "input";
	case ERR_LIMIT:
		return "limit";
	case ERR_MISSING:
		return "missing";
	case ERR_CONFLICT:
		return "conflict";
	case ERR_BUSY:
		return "busy";
	case ERR_PEER:
		return "peer";
	case ERR_DB_DATA:
		return "db_data";
	case ERR_DB_RETRY:
		return "db_retry";
	case ERR_DB_ENV:
		return "db_env";
	case ERR_DB_SCHEMA:
		return "db_schema";
	}
	return "unknown";
}
