/*
 * Errors: what went wrong, whose fault it is, and a text fit to print.
 * Fixed size, no allocation. Set where it happens, wrapped on the way up,
 * logged only by a loop handler or main. Decisions use kind, never text.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/base.h"

enum err_kind {
	ERR_NONE,
	ERR_SYSTEM,   /* the operating system refused; code = errno */
	ERR_INPUT,    /* a file, a peer or a person sent something wrong */
	ERR_LIMIT,    /* input that passes a written limit */
	ERR_MISSING,  /* what was asked for does not exist */
	ERR_CONFLICT, /* it exists already and differs */
	ERR_BUSY,     /* try again later */
	ERR_PEER,     /* a peer is gone or cannot take more now */
	ERR_DB_DATA,  /* SQLSTATE class 22, 23, 54: this statement's data */
	ERR_DB_RETRY, /* 40001, 40P01, 55P03: the same again, later */
	ERR_DB_ENV, /* 08, 25006, 53, 57, 58, no SQLSTATE: connection, server */
	ERR_DB_SCHEMA, /* 42, 0A: statement and schema do not fit */
};

struct err {
	enum err_kind kind;
	int code;
	char sqlstate[6];
	char text[500];
};

/* All return -1, so that a function can end with `return err_set(...)`. err
 * may be NULL. err_set writes the text anew; err_errno appends ": strerror"
 * and keeps errno as code (kind ERR_SYSTEM); err_wrap puts its text and ": "
 * before what is there. Texts that are too long are cut at a character;
 * err_errno and err_wrap cut the context first, then the front of the cause. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
    PRINTF(3, 4);
int err_errno(struct err *err, const char *fmt, ...) PRINTF(2, 3);
int err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* "input", "system", …: for logs. Never NULL. */
const char *err_kind_name(enum err_kind kind);

#endif
