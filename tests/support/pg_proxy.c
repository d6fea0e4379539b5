/*
 * Stands between a program and PostgreSQL, and cuts a connection at a chosen
 * commit. Passes everything else on as it is; reads only as much of the
 * protocol as it needs to find the end of a transaction.
 *
 *	pg-proxy LISTEN-DIR SERVER-DIR ORDER-FILE [pool]
 *
 * With "pool" it leaves out what a pooler in transaction mode cannot keep for a
 * client: the settings of its session.
 *
 * An order is one line, put in place by a rename and taken away when it was
 * read: MODE N USE STATEMENT. It speaks of the N-th Sync from now on, on
 * connections whose application name ends in /USE, behind a prepared statement
 * whose name begins with STATEMENT ("" for any). MODE says what is lost:
 *	answer  the server commits, nobody hears of it
 *	sync    the server never gets the Sync
 *	late    the client is cut off at once, the server gets the Sync a second
 *	        later
 * Each cut is told on stdout.
 */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

#define PAIRS_MAX   64
#define BUFFER      65536u
#define HEAD        5u   /* type and length of a message */
#define NAMES_MAX   512u /* of a Bind: portal and statement */
#define STARTUP_MAX 4096u
#define LATE_MS     1000u
#define SOCKET_NAME "/.s.PGSQL.5432"

/* The stream of one direction, cut into messages. */
struct framing {
	bool started; /* the startup message has no type */
	unsigned char head[HEAD];
	size_t head_len, left;
	char kept[STARTUP_MAX]; /* beginning of the message's body */
	size_t kept_len;
};

struct pair {
	int client, server; /* -1: closed; both: the pair is free */
	struct framing from_client, from_server;
	char use[32];
	bool wanted; /* the order's statement was bound since the Sync */
	size_t owed; /* answers to a Sync that are still to come */
	bool silent; /* the client hears nothing more */
	uint64_t sync_at_ms; /* when the Sync that is held is to leave */
};

struct order {
	char mode[16], use[16], statement[32];
	unsigned long left; /* 0: none */
};

struct proxy {
	int listener;
	const char *server_path, *order_path;
	bool pool;
	struct order order;
	struct pair pairs[PAIRS_MAX];
};

static const unsigned char sync_message[HEAD] = { 'S', 0, 0, 0, 4 };

/* ---- sockets ---- */

static void
address(struct sockaddr_un *ret, const char *dir, struct err *err)
{
	int len;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(
	    ret->sun_path, sizeof(ret->sun_path), "%s" SOCKET_NAME, dir);
	if (len < 0 || (size_t)len >= sizeof(ret->sun_path))
		err_set(err, ERR_LIMIT, "%s: too long for a socket", dir);
}

static int
listen_at(const char *dir, struct err *err)
{
	struct sockaddr_un at;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address(&at, dir, err);
	if (fd == -1 || err->kind != ERR_NONE)
		return -1;
	unlink(at.sun_path);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == -1 ||
	    listen(fd, 64) == -1)
		return err_errno(err, "%s", at.sun_path);
	return fd;
}

static int
connect_to(const char *dir)
{
	struct sockaddr_un at;
	struct err err = { 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address(&at, dir, &err);
	if (fd != -1 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void
close_pair(struct pair *pair)
{
	close_fd(&pair->client);
	close_fd(&pair->server);
}

static void
send_all(int *fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (*fd != -1 && len > 0) {
		ssize_t sent = send(*fd, at, len, MSG_NOSIGNAL);

		if (sent == -1) {
			close_fd(fd);
			return;
		}
		at += sent;
		len -= (size_t)sent;
	}
}

/* ---- orders ---- */

static void
read_order(struct proxy *p)
{
	struct order o = { 0 };
	FILE *file = fopen(p->order_path, "re");

	if (file == NULL)
		return;
	if (fscanf(file, "%15s %lu %15s %31s", o.mode, &o.left, o.use,
		o.statement) >= 3)
		p->order = o;
	fclose(file);
	unlink(p->order_path);
}

static void
tell_cut(const struct proxy *p, const struct pair *pair)
{
	printf("cut %s %s\n", p->order.mode, pair->use);
	fflush(stdout);
}

/* A Sync of the client. Returns false when it must not be passed on. */
static bool
pass_sync(struct proxy *p, struct pair *pair)
{
	bool wanted = pair->wanted;

	pair->wanted = false;
	if (!wanted || p->order.left == 0 || --p->order.left > 0) {
		pair->owed++;
		return true;
	}
	tell_cut(p, pair);
	if (strcmp(p->order.mode, "answer") == 0) {
		pair->owed++;
		pair->silent = true;
		return true;
	}
	if (strcmp(p->order.mode, "late") == 0) {
		pair->silent = true;
		pair->sync_at_ms = clock_ms() + LATE_MS;
		close_fd(&pair->client);
	} else {
		close_pair(pair);
	}
	return false;
}

/* ---- messages ---- */

static size_t
length_of(const unsigned char *bytes)
{
	return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 |
	       (size_t)bytes[2] << 8 | bytes[3];
}

/* Passes the startup message on; takes the use from its
 * application_name=…/USE. */
static void
send_startup(const struct proxy *p, struct pair *pair)
{
	const struct framing *f = &pair->from_client;
	const char *at = f->kept + 4, *end = f->kept + f->kept_len;
	char out[STARTUP_MAX + 4];
	size_t len = 8;

	memcpy(out + 4, f->kept, 4);
	while (at < end && *at != '\0') {
		const char *value = at + strlen(at) + 1;
		const char *next = value + strlen(value) + 1;
		const char *use = strrchr(value, '/');

		if (strcmp(at, "application_name") == 0 && use != NULL)
			snprintf(pair->use, sizeof(pair->use), "%s", use + 1);
		if (!p->pool || strcmp(at, "options") != 0) {
			memcpy(out + len, at, (size_t)(next - at));
			len += (size_t)(next - at);
		}
		at = next;
	}
	out[len++] = '\0';
	out[0] = out[1] = 0;
	out[2] = (char)(len >> 8);
	out[3] = (char)len;
	send_all(&pair->server, out, len);
}

static void
read_bind(struct proxy *p, struct pair *pair)
{
	const struct framing *f = &pair->from_client;
	size_t portal = strnlen(f->kept, f->kept_len) + 1;
	const char *statement = f->kept + portal;

	read_order(p);
	if (p->order.left == 0 || portal >= f->kept_len ||
	    strcmp(p->order.use, pair->use) != 0)
		return;
	if (strncmp(
		statement, p->order.statement, strlen(p->order.statement)) == 0)
		pair->wanted = true;
}

/* A whole message of the client has been seen. */
static void
client_message(struct proxy *p, struct pair *pair)
{
	struct framing *f = &pair->from_client;

	f->kept[f->kept_len] = '\0';
	if (!f->started) {
		f->started = true;
		send_startup(p, pair);
	} else if (f->head[0] == 'B') {
		read_bind(p, pair);
	}
}

/* Takes the head of the next message off the bytes; false when it is not whole
 * yet. */
static bool
take_head(struct framing *f, const unsigned char **at, size_t *len)
{
	size_t size = f->started ? HEAD : HEAD - 1;

	while (*len > 0 && f->head_len < size) {
		f->head[HEAD - size + f->head_len++] = *(*at)++;
		--*len;
	}
	if (f->head_len < size)
		return false;
	f->left = length_of(f->head + 1) - 4;
	f->kept_len = 0;
	return true;
}

/* As much of the body as is there. */
static size_t
take_body(struct framing *f, const unsigned char *at, size_t len, size_t keep)
{
	size_t part = len < f->left ? len : f->left;
	size_t room = keep - f->kept_len;

	memcpy(f->kept + f->kept_len, at, part < room ? part : room);
	f->kept_len += part < room ? part : room;
	f->left -= part;
	return part;
}

static void
from_client(
    struct proxy *p, struct pair *pair, const unsigned char *at, size_t len)
{
	struct framing *f = &pair->from_client;

	while (len > 0 && pair->client != -1) {
		size_t part, keep = f->started ? NAMES_MAX : STARTUP_MAX - 1;

		if (f->left == 0 && !take_head(f, &at, &len))
			return;
		if (f->head_len > 0) {
			bool sync = f->started && f->head[0] == 'S';

			if (sync && !pass_sync(p, pair))
				return;
			if (f->started)
				send_all(&pair->server, f->head, HEAD);
			f->head_len = 0;
		}
		part = take_body(f, at, len, keep);
		if (f->started)
			send_all(&pair->server, at, part);
		at += part;
		len -= part;
		if (f->left == 0)
			client_message(p, pair);
	}
}

/* Counts the answers to a Sync; nothing else matters. */
static void
from_server(struct pair *pair, const unsigned char *bytes, size_t size)
{
	struct framing *f = &pair->from_server;
	const unsigned char *at = bytes;
	size_t len = size;

	f->started = true;
	while (len > 0) {
		size_t part;

		if (f->left == 0 && !take_head(f, &at, &len))
			break;
		f->head_len = 0;
		part = take_body(f, at, len, 1);
		at += part;
		len -= part;
		if (f->left == 0 && f->head[0] == 'Z' && pair->owed > 0)
			pair->owed--;
	}
	if (!pair->silent)
		send_all(&pair->client, bytes, size);
	else if (pair->owed == 0 && pair->sync_at_ms == 0)
		close_pair(pair);
}

/* ---- the loop ---- */

static void
accept_one(struct proxy *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

	for (size_t i = 0; fd != -1 && i < PAIRS_MAX; i++) {
		struct pair *pair = &p->pairs[i];

		if (pair->client != -1 || pair->server != -1)
			continue;
		*pair = (struct pair){ .client = fd,
			.server = connect_to(p->server_path) };
		if (pair->server == -1)
			close_pair(pair);
		return;
	}
	close_fd(&fd);
}

static void
read_from(struct proxy *p, struct pair *pair, bool client)
{
	unsigned char buffer[BUFFER];
	ssize_t got = recv(
	    client ? pair->client : pair->server, buffer, sizeof(buffer), 0);

	if (got <= 0) {
		close_pair(pair);
		return;
	}
	if (client)
		from_client(p, pair, buffer, (size_t)got);
	else
		from_server(pair, buffer, (size_t)got);
}

static void
send_late(struct pair *pair)
{
	if (pair->server == -1 || pair->sync_at_ms == 0 ||
	    clock_ms() < pair->sync_at_ms)
		return;
	pair->sync_at_ms = 0;
	pair->owed++;
	send_all(&pair->server, sync_message, sizeof(sync_message));
}

NORETURN static void
serve(struct proxy *p)
{
	struct pollfd fds[1 + PAIRS_MAX * 2];

	for (;;) {
		fds[0] = (struct pollfd){ p->listener, POLLIN, 0 };
		for (size_t i = 0; i < PAIRS_MAX; i++) {
			fds[1 + i * 2] =
			    (struct pollfd){ p->pairs[i].client, POLLIN, 0 };
			fds[2 + i * 2] =
			    (struct pollfd){ p->pairs[i].server, POLLIN, 0 };
		}
		(void)poll(fds, COUNT(fds), (int)LATE_MS / 10);
		for (size_t i = 0; i < PAIRS_MAX; i++) {
			struct pair *pair = &p->pairs[i];

			if (fds[1 + i * 2].revents != 0 && pair->client != -1)
				read_from(p, pair, true);
			if (fds[2 + i * 2].revents != 0 && pair->server != -1)
				read_from(p, pair, false);
			send_late(pair);
		}
		if (fds[0].revents != 0)
			accept_one(p);
	}
}

int
main(int argc, char **argv)
{
	static struct proxy p;
	struct err err = { 0 };

	if (argc != 4 && argc != 5) {
		fputs("usage: pg-proxy LISTEN-DIR SERVER-DIR ORDER-FILE "
		      "[pool]\n",
		    stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	p.server_path = argv[2];
	p.order_path = argv[3];
	p.pool = argc == 5;
	for (size_t i = 0; i < PAIRS_MAX; i++)
		p.pairs[i].client = p.pairs[i].server = -1;
	p.listener = listen_at(argv[1], &err);
	if (p.listener == -1) {
		fprintf(stderr, "pg-proxy: %s\n", err.text);
		return 1;
	}
	serve(&p);
}
