/*
 * For tests that talk to the scripted model server: starts and ends the built
 * program, sends requests with libcurl, or bytes over a bare connection.
 */
#ifndef TESTS_MODEL_SERVER_H
#define TESTS_MODEL_SERVER_H

#include <arpa/inet.h>
#include <check.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"

#define REPLY_MAX     (64u << 20)
#define SERVER_ARGS   12
#define SERVER_WAIT_S 10

/* A running server. */
struct server {
	pid_t pid;
	int port;
	int out; /* its standard output */
};

static inline const char *
server_path(void)
{
	static char path[4096];
	const char *build = getenv("REEVE_BUILD");
	ssize_t n;

	if (build != NULL) {
		snprintf(path, sizeof(path), "%s/tests/model-server", build);
		return path;
	}
	n = readlink("/proc/self/exe", path, sizeof(path) - 40);
	ck_assert_int_gt(n, 0);
	while (n > 0 && path[n - 1] != '/')
		n--;
	snprintf(path + n, sizeof(path) - (size_t)n, "../model-server");
	return path;
}

/* args: ended by NULL. Its log goes nowhere. */
static inline void
server_spawn(struct server *server, const char *const args[])
{
	char *argv[SERVER_ARGS + 2] = { 0 };
	char name[] = "model-server";
	int ends[2];

	argv[0] = name;
	for (size_t i = 0; args[i] != NULL && i < SERVER_ARGS; i++)
		memcpy(&argv[i + 1], &args[i], sizeof(char *));
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	server->pid = fork();
	ck_assert_int_ge(server->pid, 0);
	if (server->pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDERR_FILENO);
		execv(server_path(), argv);
		_exit(127);
	}
	close(ends[1]);
	server->out = ends[0];
}

static inline void
server_start(struct server *server, const char *const args[])
{
	char line[64] = "";
	ssize_t n;

	server_spawn(server, args);
	n = read(server->out, line, sizeof(line) - 1);
	ck_assert_msg(
	    n > 0 && sscanf(line, "{\"port\":%d}", &server->port) == 1,
	    "%s did not start: '%s'", server_path(), line);
}

/* The exit status, or -1 after an end by a signal. */
static inline int
server_wait(struct server *server)
{
	int status = 0;

	ck_assert_int_eq(waitpid(server->pid, &status, 0), server->pid);
	close(server->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int
server_stop(struct server *server)
{
	kill(server->pid, SIGTERM);
	return server_wait(server);
}

/* What came back for one request. */
struct reply {
	CURLcode code;
	long status;
	long connects; /* connections that had to be made for it */
	struct buf head;
	struct buf body;
};

#define REPLY_INIT                                                             \
	((struct reply){                                                       \
	    .head = BUF_INIT(REPLY_MAX), .body = BUF_INIT(REPLY_MAX) })

static inline void
reply_release(struct reply *reply)
{
	buf_release(&reply->head);
	buf_release(&reply->body);
}

static inline bool
reply_has(const struct reply *reply, const char *text)
{
	return reply->body.len > 0 &&
	       memmem(reply->body.ptr, reply->body.len, text, strlen(text));
}

static inline size_t
reply_write(char *ptr, size_t size, size_t n, void *buf)
{
	buf_put(buf, ptr, size * n);
	return size * n;
}

/* On the caller's easy handle, which keeps connections. body NULL: GET. */
static inline void
server_ask_on(CURL *curl, const struct server *server, const char *path,
    const char *const headers[], const char *body, struct reply *reply)
{
	struct curl_slist *list = NULL;
	char url[200];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", server->port, path);
	buf_clear(&reply->head);
	buf_clear(&reply->body);
	curl_easy_reset(curl);
	for (size_t i = 0; headers[i] != NULL; i++)
		list = curl_slist_append(list, headers[i]);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)SERVER_WAIT_S);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, reply_write);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply->body);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, &reply->head);
	if (body != NULL) {
		curl_easy_setopt(
		    curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	}
	reply->code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status);
	curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &reply->connects);
	curl_slist_free_all(list);
}

static const char *const server_headers[] = {
	"Authorization: Bearer key",
	"Content-Type: application/json",
	"Expect:",
	NULL,
};

static inline void
server_ask(const struct server *server, const char *path, const char *body,
    struct reply *reply)
{
	CURL *curl = curl_easy_init();

	server_ask_on(curl, server, path, server_headers, body, reply);
	curl_easy_cleanup(curl);
}

static inline int
server_connect(const struct server *server)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_port = htons((uint16_t)server->port);
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
