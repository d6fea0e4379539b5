/*
 * The scripted Responses API as a service on a libuv loop: routes, checks,
 * the choice of an answer and its playing in time.
 */
#ifndef SUPPORT_MODEL_SERVICE_H
#define SUPPORT_MODEL_SERVICE_H

#include <uv.h>

#include "base/err.h"

struct model_service; /* defined in model_service.c */

struct model_service_config {
	uint16_t port;        /* 0: any */
	const char *script;   /* path, or NULL: the built-in model */
	const char *replay;   /* path, or NULL */
	uint64_t chunk_bytes; /* of a replay; 0: one chunk */
	bool no_auth;         /* Authorization may be missing */
	bool no_check;        /* bodies are only parsed */
};

/* Listens once it returns 0. */
int model_service_new(struct model_service **ret_service, uv_loop_t *loop,
    const struct model_service_config *config, struct err *err) CHECKED;
uint16_t model_service_port(const struct model_service *service);
/* Closes all connections; then the loop ends by itself. */
void model_service_close(struct model_service *service);
/* After the loop has ended. NULL is fine; returns NULL. */
struct model_service *model_service_free(struct model_service *service);

#endif
