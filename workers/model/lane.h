/*
 * libcurl's multi interface on the loop: its sockets are polled, its timer is
 * kept, and it acts when either says so. Nothing else happens inside: what came
 * of it is looked at once a pass, outside of its callbacks.
 */
#ifndef MODEL_LANE_H
#define MODEL_LANE_H

#include <curl/curl.h>

#include "base/loop.h"

#define LANE_IDLE_MAX 1000u /* connections kept for later */

struct lane {
	struct loop *loop; /* borrowed */
	CURLM *multi;      /* owned */
	uv_timer_t timer;  /* libcurl's own */
	bool acted;        /* since somebody looked; for the owner to reset */
};

/* connections: to one host at once, 0 = as many as are asked for. */
int lane_init(struct lane *lane, struct loop *loop, unsigned connections,
    struct err *err) CHECKED;
/* No call may be left. The memory must stay until the loop has closed the
 * timer. */
void lane_release(struct lane *lane);

#endif
