/*
 * Bytes to and from the scripted model server over a bare connection.
 */
#ifndef TESTS_MODEL_WIRE_H
#define TESTS_MODEL_WIRE_H

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "tests/unit/model/model_server.h"

static inline int
server_connect(const struct server *peer)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_port = htons((uint16_t)peer->port);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static inline void
server_send(int fd, struct slice bytes)
{
	while (bytes.len > 0) {
		ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
}

/* A whole request for a bare connection. */
static inline void
server_put_request(struct buf *out, const char *body)
{
	buf_printf(out,
	    "POST /v1/responses HTTP/1.1\r\nHost: x\r\n"
	    "Authorization: Bearer k\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n\r\n%s",
	    strlen(body), body);
}

/* Reads until the text has come (NULL: to the end); false at an end before
 * it, with errno ECONNRESET or 0, or when nothing comes for too long. */
static inline bool
server_read(int fd, const char *until, struct buf *out)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char bytes[65536];
	ssize_t n;

	for (;;) {
		if (until != NULL && out->len > 0 &&
		    memmem(out->ptr, out->len, until, strlen(until)) != NULL)
			return true;
		errno = ETIMEDOUT;
		if (poll(&poll_fd, 1, SERVER_WAIT_S * 1000) != 1)
			return false;
		errno = 0;
		n = recv(fd, bytes, sizeof(bytes), 0);
		if (n <= 0)
			return n == 0 && until == NULL;
		buf_put(out, bytes, (size_t)n);
	}
}

#endif
