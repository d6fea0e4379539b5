/*
 * Glue between libcurl and libuv: one poll handle a socket, freed after it was
 * closed. Owns the multi handle and these polls.
 */
#include "workers/model/lane.h"

#include "base/alloc.h"

/* A socket of libcurl. */
struct watch {
	uv_poll_t poll;
	curl_socket_t socket;
	struct lane *lane;
};

static void
act(struct lane *lane, curl_socket_t socket, int events)
{
	int running;
	CURLMcode code;

	code = curl_multi_socket_action(lane->multi, socket, events, &running);
	if (code != CURLM_OK)
		BUG("curl: %s", curl_multi_strerror(code));
	lane->acted = true;
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	int flags = 0;

	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	act(watch->lane, watch->socket, flags);
}

static void
on_watch_closed(uv_handle_t *handle)
{
	mem_free(handle->data);
}

static void
unwatch(struct watch *watch)
{
	if (watch == NULL)
		return;
	uv_poll_stop(&watch->poll);
	uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}

static struct watch *
watch_new(struct lane *lane, curl_socket_t socket)
{
	struct watch *watch = MEM_NEW(struct watch);

	watch->socket = socket;
	watch->lane = lane;
	if (uv_poll_init_socket(&lane->loop->uv, &watch->poll, socket) != 0)
		BUG("cannot watch socket %d", socket);
	watch->poll.data = watch;
	curl_multi_assign(lane->multi, socket, watch);
	return watch;
}

static int
on_socket(CURL *easy, curl_socket_t socket, int what, void *arg, void *known)
{
	struct lane *lane = arg;
	struct watch *watch = known;
	int events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		unwatch(watch);
		return 0;
	}
	if (watch == NULL)
		watch = watch_new(lane, socket);
	if (what != CURL_POLL_OUT)
		events |= UV_READABLE;
	if (what != CURL_POLL_IN)
		events |= UV_WRITABLE;
	uv_poll_start(&watch->poll, events, on_poll);
	return 0;
}

static void
on_lane_timer(uv_timer_t *timer)
{
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int
on_timer(CURLM *multi, long ms, void *arg)
{
	struct lane *lane = arg;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(&lane->timer);
	else
		uv_timer_start(&lane->timer, on_lane_timer, (uint64_t)ms, 0);
	return 0;
}

int
lane_init(
    struct lane *lane, struct loop *loop, unsigned connections, struct err *err)
{
	*lane = (struct lane){ .loop = loop, .multi = curl_multi_init() };
	if (lane->multi == NULL)
		return err_set(err, ERR_SYSTEM, "curl does not start");
	uv_timer_init(&loop->uv, &lane->timer);
	lane->timer.data = lane;
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
	curl_multi_setopt(
	    lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections);
	curl_multi_setopt(
	    lane->multi, CURLMOPT_MAXCONNECTS, (long)LANE_IDLE_MAX);
	return 0;
}

void
lane_release(struct lane *lane)
{
	curl_multi_cleanup(lane->multi);
	uv_close((uv_handle_t *)&lane->timer, NULL);
}
