/*
 * Requests to the scripted model server by libcurl, and what came back.
 */
#ifndef TESTS_MODEL_REPLY_H
#define TESTS_MODEL_REPLY_H

#include <curl/curl.h>

#include "base/buf.h"
#include "tests/unit/model/model_server.h"

#define REPLY_MAX (64u << 20)

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
server_ask_on(CURL *curl, const struct server *peer, const char *path,
    const char *const headers[], const char *body, struct reply *reply)
{
	struct curl_slist *list = NULL;
	char url[200];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", peer->port, path);
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
server_ask(const struct server *peer, const char *path, const char *body,
    struct reply *reply)
{
	CURL *curl = curl_easy_init();

	server_ask_on(curl, peer, path, server_headers, body, reply);
	curl_easy_cleanup(curl);
}

#endif
