/*
 * Growing byte buffers with a maximum. A buffer owns its memory until it is
 * released or detached. Never allocates past the maximum, never cuts an
 * append in two: what does not fit as a whole is dropped and remembered.
 */
#include "base/buf.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define FIRST_CAP  64u
#define READ_CHUNK (64u * 1024)

/* Makes room for n more bytes, n <= max - len. */
static void
grow(struct buf *buf, size_t n)
{
	size_t need = buf->len + n;
	size_t cap = buf->cap < FIRST_CAP / 2 ? FIRST_CAP : buf->cap * 2;

	if (cap > buf->max || cap < buf->cap)
		cap = buf->max;
	if (cap < need)
		cap = need;
	buf->ptr = mem_grow(buf->ptr, cap);
	buf->cap = cap;
}

char *
buf_room(struct buf *buf, size_t n)
{
	if (buf->failed || buf->len > buf->max || n > buf->max - buf->len) {
		buf->failed = true;
		return NULL;
	}
	if (buf->ptr == NULL || n > buf->cap - buf->len)
		grow(buf, n);
	return buf->ptr + buf->len;
}

void
buf_put(struct buf *buf, const void *ptr, size_t len)
{
	char *room;

	if (len == 0)
		return;
	room = buf_room(buf, len);
	if (room == NULL)
		return;
	memcpy(room, ptr, len);
	buf->len += len;
}

void
buf_put_slice(struct buf *buf, struct slice slice)
{
	buf_put(buf, slice.ptr, slice.len);
}

void
buf_puts(struct buf *buf, const char *text)
{
	buf_put(buf, text, strlen(text));
}

void
buf_putc(struct buf *buf, char c)
{
	char *room = buf_room(buf, 1);

	if (room == NULL)
		return;
	*room = c;
	buf->len++;
}

void
buf_put_u64(struct buf *buf, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	buf_put(buf, digits + at, sizeof(digits) - at);
}

void
buf_put_i64(struct buf *buf, int64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do
		digits[--at] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		digits[--at] = '-';
	buf_put(buf, digits + at, sizeof(digits) - at);
}

void
buf_printf(struct buf *buf, const char *fmt, ...)
{
	char small[256];
	char *text = small;
	va_list ap;
	int len;

	if (buf->failed)
		return;
	va_start(ap, fmt);
	len = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (len < 0 || buf->len > buf->max ||
	    (size_t)len > buf->max - buf->len) {
		buf->failed = true;
		return;
	}
	if ((size_t)len >= sizeof(small)) {
		text = mem_grow(NULL, (size_t)len + 1);
		va_start(ap, fmt);
		len = vsnprintf(text, (size_t)len + 1, fmt, ap);
		va_end(ap);
	}
	buf_put(buf, text, (size_t)len);
	if (text != small)
		mem_free(text);
}

int
buf_check(const struct buf *buf, const char *what, struct err *err)
{
	if (!buf->failed)
		return 0;
	return err_set(
	    err, ERR_LIMIT, "%s: more than %zu bytes", what, buf->max);
}

void
buf_consume(struct buf *buf, size_t n)
{
	if (n > buf->len)
		BUG("consume %zu of %zu bytes", n, buf->len);
	buf->len -= n;
	if (n > 0 && buf->len > 0)
		memmove(buf->ptr, buf->ptr + n, buf->len);
}

void
buf_clear(struct buf *buf)
{
	buf->len = 0;
	buf->failed = false;
}

void
buf_release(struct buf *buf)
{
	mem_free(buf->ptr);
	*buf = BUF_INIT(buf->max);
}

char *
buf_detach(struct buf *buf, size_t *ret_len)
{
	char *owned = buf->ptr;

	if (owned == NULL || buf->cap <= buf->len)
		owned = mem_grow(owned, buf->len + 1);
	owned[buf->len] = '\0';
	if (ret_len != NULL)
		*ret_len = buf->len;
	*buf = BUF_INIT(buf->max);
	return owned;
}

/* Up to READ_CHUNK bytes, or 1 byte past the maximum, which fails. */
static ssize_t
read_some(struct buf *buf, int fd)
{
	size_t room = buf->max > buf->len ? buf->max - buf->len : 0;
	char past, *to = &past;
	ssize_t got;

	if (room > READ_CHUNK)
		room = READ_CHUNK;
	if (room > 0)
		to = buf_room(buf, room);
	do
		got = read(fd, to, room > 0 ? room : 1);
	while (got == -1 && errno == EINTR);
	if (got > 0 && room == 0)
		buf->failed = true;
	else if (got > 0)
		buf->len += (size_t)got;
	return got;
}

int
buf_read_all(struct buf *buf, int fd, struct err *err)
{
	ssize_t got;

	do {
		got = read_some(buf, fd);
		if (got == -1)
			return err_errno(err, "read");
	} while (got > 0 && !buf->failed);
	return buf_check(buf, "read", err);
}

int
buf_read_file(struct buf *buf, const char *path, struct err *err)
{
	struct stat st;
	int rc = -1;
	/* A pipe of that name must not make us wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1)
		return err_errno(err, "open %s", path);
	if (fstat(fd, &st) == -1)
		err_errno(err, "stat %s", path);
	else if (!S_ISREG(st.st_mode))
		err_set(err, ERR_INPUT, "%s: not a regular file", path);
	else if (buf_read_all(buf, fd, err) == -1)
		err_wrap(err, "%s", path);
	else
		rc = 0;
	close(fd);
	return rc;
}
