/*
 * A growing byte buffer that is born with its maximum. Appending past it marks
 * the buffer failed and drops everything that follows, so that ten calls need
 * one check at the end (buf_check).
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

struct buf {
	char *ptr; /* owned; NULL while nothing was appended */
	size_t len;
	size_t cap;
	size_t max; /* in bytes; 0 = nothing fits */
	bool failed;
};

#define BUF_INIT(max_bytes) ((struct buf){ .max = (max_bytes) })

void buf_put(struct buf *buf, const void *ptr, size_t len);
void buf_put_slice(struct buf *buf, struct slice slice);
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_put_u64(struct buf *buf, uint64_t value); /* decimal digits */
void buf_put_i64(struct buf *buf, int64_t value);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF(2, 3);

/* Room for at least n more bytes at buf->ptr + buf->len, to be filled by the
 * caller, who then adds to buf->len; NULL (and failed) past the maximum. */
char *buf_room(struct buf *buf, size_t n);

/* -1 with ERR_LIMIT, naming `what`, if anything was dropped. */
int buf_check(const struct buf *buf, const char *what, struct err *err) CHECKED;

/* Removes the first n bytes (n <= len). */
void buf_consume(struct buf *buf, size_t n);
/* Length 0, not failed, memory kept. */
void buf_clear(struct buf *buf);
/* Frees the memory; the maximum stays, so the buffer may be used again. */
void buf_release(struct buf *buf);
/* Hands the bytes over, NUL-terminated (the NUL does not count); the caller
 * frees with mem_free. Never NULL. */
char *buf_detach(struct buf *buf, size_t *ret_len);

static inline struct slice
buf_slice(const struct buf *buf)
{
	return (struct slice){ buf->ptr, buf->len };
}

/* Reads fd to its end. ERR_LIMIT past the maximum. */
int buf_read_all(struct buf *buf, int fd, struct err *err) CHECKED;
/* Reads a whole regular file; errors name the path. */
int buf_read_file(struct buf *buf, const char *path, struct err *err) CHECKED;

#endif
