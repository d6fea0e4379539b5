/*
 * libcurl on libuv. Two lanes, each a multi handle: in one HTTP/2 connections
 * are shared and bounded by their number, in the other every HTTP/1.1 call
 * has a connection of its own. Owns sockets' polls, calls and what is known of
 * hosts. Changes transfers only outside of libcurl's callbacks.
 */
#include "workers/model/http.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "workers/model/lane.h"

#define SYSTEM_CA_FILE "/etc/ssl/certs/ca-certificates.crt"
#define READ_BYTES     4096L /* of one read; each open stream keeps them */
#define HTTP2_STREAMS  100u  /* that a connection carries at least */
#define LEAVE_MS       250u  /* for the end of an answer that is known */
#define LEAVE_BYTES    65536u
#define DNS_SECONDS    300L /* a lookup is good for */
#define DNS_FRESH_MS   290000u

enum lane_name {
	LANE_SHARED, /* HTTP/2 where the server has it */
	LANE_MANY,   /* HTTP/1.1 */
	LANES,
};

/* What is known of a host and port. */
struct host {
	bool http1;               /* answered in HTTP/1.1 only */
	uint64_t fresh_until_ms;  /* its name is known to libcurl */
	struct http_call *asking; /* the call that looks the name up */
	struct list waiting;      /* calls that wait for it */
};

struct http {
	struct loop *loop; /* borrowed */
	struct lane lanes[LANES];
	struct map hosts;    /* name -> struct host, owned */
	struct list calls;   /* all, but those that were left */
	struct list leaving; /* by time */
	struct list fresh;   /* calls that got data in this read */
	uv_timer_t leave_timer;
	struct loop_pass pass;
	bool unsettled; /* hosts changed: calls wait or stand wrong */
};

struct http_call {
	struct list link;       /* calls or leaving */
	struct list host_link;  /* waiting */
	struct list fresh_link; /* fresh */
	struct http *http;
	struct host *host;
	struct lane *lane; /* NULL while waiting */
	CURL *easy;        /* owned */
	bool connected, answered, http1;
	bool left; /* nothing is told any more */
	size_t left_bytes;
	uint64_t leave_by_ms;
	const struct http_events *events;
	void *arg;
	char error[CURL_ERROR_SIZE];
};

static void
host_known(struct http_call *call)
{
	if (call->host->asking == call) {
		call->host->asking = NULL;
		call->http->unsettled = true;
	}
}

/* The call leaves every list and libcurl. Never inside a callback. */
static void
call_free(struct http_call *call)
{
	list_remove(&call->link);
	list_remove(&call->host_link);
	list_remove(&call->fresh_link);
	host_known(call);
	if (call->lane != NULL)
		curl_multi_remove_handle(call->lane->multi, call->easy);
	curl_easy_cleanup(call->easy);
	mem_free(call);
}

static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_call *call = arg;

	(void)purpose;
	call->host->fresh_until_ms = clock_ms() + DNS_FRESH_MS;
	host_known(call);
	return socket(address->family, address->socktype | SOCK_CLOEXEC,
	    address->protocol);
}

static int
on_connected(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct http_call *call = arg;

	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	host_known(call);
	if (!call->connected)
		call->events->connected(call->arg);
	call->connected = true;
	return CURL_PREREQFUNC_OK;
}

/* One line of the head, of this answer or of an interim one. */
static size_t
on_header(char *line, size_t one, size_t len, void *arg)
{
	struct http_call *call = arg;
	long status = 0, version = 0;
	size_t all = one * len;

	if (call->answered || all > 2 || (line[0] != '\r' && line[0] != '\n'))
		return all;
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return all;
	curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	if (call->lane == &call->http->lanes[LANE_SHARED] &&
	    version < CURL_HTTP_VERSION_2_0 && !call->host->http1) {
		call->host->http1 = true;
		call->http->unsettled = true;
	}
	call->answered = true;
	call->events->headers(call->arg, (unsigned)status);
	return all;
}

static size_t
on_data(char *data, size_t one, size_t len, void *arg)
{
	struct http_call *call = arg;
	size_t all = one * len;

	if (call->left) {
		call->left_bytes += all;
		return call->left_bytes > LEAVE_BYTES ? 0 : all;
	}
	if (!list_is_linked(&call->fresh_link))
		list_append(&call->http->fresh, &call->fresh_link);
	call->events->data(call->arg, slice_of(data, all));
	return all;
}

static void
set_options(CURL *easy, const struct http_request *request)
{
	const char *ca = request->ca_file;

	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.ptr);
	curl_easy_setopt(
	    easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "reeve/" REEVE_VERSION);
	/* Asks for plain text, and still unpacks what comes packed. */
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(
	    easy, CURLOPT_PROXY, request->proxy == NULL ? "" : request->proxy);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 86400000L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, READ_BYTES);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, DNS_SECONDS);
	/* With a folder of certificates there would be no cache of them. */
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(
	    easy, CURLOPT_CAINFO, ca == NULL ? SYSTEM_CA_FILE : ca);
}

static void
set_callbacks(CURL *easy, struct http_call *call)
{
	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
}

/* "https://host:port" of a URL. */
static struct slice
host_name(const char *url)
{
	const char *host = strstr(url, "://");
	size_t skip = host == NULL ? 0 : (size_t)(host - url) + 3;

	return slice_of(url, skip + strcspn(url + skip, "/?#"));
}

static struct host *
host_of(struct http *http, const char *url)
{
	struct slice name = host_name(url);
	struct host *host = map_get(&http->hosts, name);

	if (host != NULL)
		return host;
	host = MEM_NEW(struct host);
	list_init(&host->waiting);
	map_set(&http->hosts, name, host);
	return host;
}

static void
call_run(struct http_call *call)
{
	struct http *http = call->http;
	bool many = call->http1 || call->host->http1;

	call->lane = &http->lanes[many ? LANE_MANY : LANE_SHARED];
	curl_easy_setopt(call->easy, CURLOPT_HTTP_VERSION,
	    many ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(call->easy, CURLOPT_PIPEWAIT, many ? 0L : 1L);
	if (curl_multi_add_handle(call->lane->multi, call->easy) != CURLM_OK)
		BUG("curl took no further call");
}

/* One call at a time asks for the name of a host: each lookup is a thread. */
static bool
host_admits(struct http_call *call)
{
	struct host *host = call->host;

	if (host->fresh_until_ms > clock_ms())
		return true;
	if (host->asking != NULL)
		return false;
	host->asking = call;
	return true;
}

struct http_call *
http_start(struct http *http, const struct http_request *request)
{
	struct http_call *call = MEM_NEW(struct http_call);

	call->http = http;
	call->events = request->events;
	call->arg = request->arg;
	call->http1 =
	    request->http1 || strncmp(request->url, "http://", 7) == 0;
	call->host = host_of(
	    http, request->proxy == NULL ? request->url : request->proxy);
	call->easy = curl_easy_init();
	if (call->easy == NULL)
		BUG("curl has no memory");
	set_options(call->easy, request);
	set_callbacks(call->easy, call);
	list_append(&http->calls, &call->link);
	if (host_admits(call))
		call_run(call);
	else
		list_append(&call->host->waiting, &call->host_link);
	return call;
}

void
http_cancel(struct http_call *call)
{
	call_free(call);
}

static void
on_leave_timer(uv_timer_t *timer)
{
	struct http *http = timer->data;
	uint64_t now = clock_ms();
	struct http_call *call;

	LIST_EACH (call, next, &http->leaving, struct http_call, link) {
		if (call->leave_by_ms > now) {
			uv_timer_start(&http->leave_timer, on_leave_timer,
			    call->leave_by_ms - now, 0);
			return;
		}
		call_free(call);
	}
}

void
http_leave(struct http_call *call)
{
	struct http *http = call->http;

	list_remove(&call->link);
	list_remove(&call->fresh_link);
	call->left = true;
	call->leave_by_ms = clock_ms() + LEAVE_MS;
	if (list_is_empty(&http->leaving))
		uv_timer_start(&http->leave_timer, on_leave_timer, LEAVE_MS, 0);
	list_append(&http->leaving, &call->link);
}

const char *
http_header(struct http_call *call, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(call->easy, name, 0, CURLH_HEADER, -1, &header) !=
	    CURLHE_OK)
		return NULL;
	return header->value;
}

/* ---- once a pass ---- */

static void
tell_reads(struct http *http)
{
	struct http_call *call;

	while ((call = LIST_FIRST(
		    &http->fresh, struct http_call, fresh_link)) != NULL) {
		list_remove(&call->fresh_link);
		call->events->read(call->arg);
	}
}

static void
tell_end(struct http_call *call, CURLcode code)
{
	struct http_end end = {
		.clean = code == CURLE_OK,
		.connected = call->connected,
		.text = call->error[0] != '\0' ? call->error
					       : curl_easy_strerror(code),
	};

	if (!call->left)
		call->events->end(call->arg, &end);
	call_free(call);
}

static void
tell_ends(struct lane *lane)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
		struct http_call *call = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(
		    message->easy_handle, CURLINFO_PRIVATE, &call);
		tell_end(call, message->data.result);
	}
}

/* Calls to a host without HTTP/2 that still wait for a connection in the lane
 * where these are few. */
static void
change_lanes(struct http *http)
{
	struct lane *shared = &http->lanes[LANE_SHARED];
	struct http_call *call;

	LIST_EACH (call, next, &http->calls, struct http_call, link) {
		if (call->lane != shared || call->connected ||
		    !call->host->http1)
			continue;
		curl_multi_remove_handle(shared->multi, call->easy);
		call_run(call);
	}
}

static void
admit_waiting(struct host *host)
{
	struct http_call *call;

	while ((call = LIST_FIRST(
		    &host->waiting, struct http_call, host_link)) != NULL &&
	       host_admits(call)) {
		list_remove(&call->host_link);
		call_run(call);
	}
}

static void
settle_hosts(struct http *http)
{
	size_t at = 0;
	void *host;

	change_lanes(http);
	while (map_next(&http->hosts, &at, NULL, &host))
		admit_waiting(host);
}

static void
on_pass(void *arg)
{
	struct http *http = arg;

	tell_reads(http);
	for (size_t i = 0; i < LANES; i++) {
		if (http->lanes[i].acted)
			tell_ends(&http->lanes[i]);
		http->lanes[i].acted = false;
	}
	if (http->unsettled) {
		http->unsettled = false;
		settle_hosts(http);
	}
}

/* ---- the whole ---- */

int
http_new(struct http **ret_http, struct loop *loop, unsigned streams,
    struct err *err)
{
	struct http *http = MEM_NEW(struct http);
	unsigned shared = (streams + HTTP2_STREAMS - 1) / HTTP2_STREAMS + 1;

	http->loop = loop;
	list_init(&http->calls);
	list_init(&http->leaving);
	list_init(&http->fresh);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    lane_init(&http->lanes[LANE_SHARED], loop, shared, err) == -1 ||
	    lane_init(&http->lanes[LANE_MANY], loop, 0, err) == -1) {
		mem_free(http);
		return err_set(err, ERR_SYSTEM, "curl does not start");
	}
	uv_timer_init(&loop->uv, &http->leave_timer);
	http->leave_timer.data = http;
	loop_add_pass(loop, &http->pass, on_pass, http);
	*ret_http = http;
	return 0;
}

static void
drop_calls(struct list *calls)
{
	struct http_call *call;

	while ((call = LIST_FIRST(calls, struct http_call, link)) != NULL)
		call_free(call);
}

/* The timers lie in the struct: it goes when the last of them is closed. */
static void
on_leave_timer_closed(uv_handle_t *handle)
{
	mem_free(handle->data);
}

struct http *
http_free(struct http *http)
{
	size_t at = 0;
	void *host;

	if (http == NULL)
		return NULL;
	list_remove(&http->pass.link);
	drop_calls(&http->calls);
	drop_calls(&http->leaving);
	for (size_t i = 0; i < LANES; i++)
		lane_release(&http->lanes[i]);
	while (map_next(&http->hosts, &at, NULL, &host))
		mem_free(host);
	map_release(&http->hosts);
	uv_close((uv_handle_t *)&http->leave_timer, on_leave_timer_closed);
	curl_global_cleanup();
	return NULL;
}
