/*
 * Providers: where models are served, by which protocol and with which key.
 * The key is read once, at the start, and kept only inside the header that
 * carries it and in the list of texts that never may be printed.
 */
#ifndef MODEL_PROVIDER_H
#define MODEL_PROVIDER_H

#include <curl/curl.h>

#include "base/config.h"
#include "workers/model/body.h"

struct model;

/* A protocol: how a turn becomes a request. One row of the table in
 * provider.c; a further protocol is a further row and a file of its own. */
struct protocol {
	const char *name; /* as the models file calls it */
	const char *path; /* behind the base URL */
	/* Appends the body of the request. start: the body of turn_start. */
	int (*request)(struct buf *out, const struct model *model,
	    struct json start, struct err *err);
};

/* NULL when there is none of this name. */
const struct protocol *protocol_find(const char *name);

struct timeouts {
	uint32_t connect_ms;  /* until the request can be sent */
	uint32_t headers_ms;  /* then until the response headers */
	uint32_t idle_ms;     /* without any byte */
	uint32_t progress_ms; /* without any event that says something */
	uint32_t turn_ms;     /* the whole attempt */
};

struct provider {
	char *name; /* owned, as all below */
	const struct protocol *protocol;
	char *url;      /* of the endpoint; holds no secret */
	char *key_name; /* "variable X" or "file X"; NULL = no key */
	char *ca_file;  /* NULL = those of the system */
	char *proxy;    /* NULL = none */
	bool http1;     /* never HTTP/2 */
	struct timeouts timeouts;
	struct body_quirks quirks;
	struct curl_slist *headers; /* all that a request carries */
	char **secrets; /* secret_count texts that never leave this process */
	size_t secret_count;
};

/* Reads one provider of a checked file. Errors name file, line, and the
 * variable or file of a key that is missing. */
int provider_load(struct provider *ret_provider, const struct yaml *yaml,
    struct json value, struct err *err) CHECKED;
void provider_release(struct provider *provider);

#endif
