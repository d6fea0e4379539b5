/*
 * Takes each request through its stations: journal, authorization, JSON,
 * checks, the rule or built-in model that answers, the reel, the wire. Owns
 * all state of the server; an answer without pauses is sent in one write and
 * leaves nothing behind, others are plays that wait on their connection.
 */
#include "tests/support/lib/model_service.h"

#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/uuid.h"
#include "tests/support/lib/builtin_model.h"
#include "tests/support/lib/http_server.h"
#include "tests/support/lib/journal.h"
#include "tests/support/lib/model_play.h"
#include "tests/support/lib/responses_check.h"
#include "tests/support/lib/script.h"

#define JSON_TYPE     "application/json"
#define STREAM_TYPE   "text/event-stream; charset=utf-8"
#define PRINT_MAX     (512u * 1024 * 1024)
#define REEL_KEPT_MAX (1u << 20)
#define REASON_MAX    400

struct stats {
	uint64_t requests; /* to /v1/responses */
	uint64_t answered; /* begun to be answered by script or model */
	uint64_t refused;
	uint64_t bad_http;
	char last_refusal[REASON_MAX];
};

struct model_service {
	struct model_service_config config;
	struct http_server *http; /* owned, frees itself after close */
	struct script script;
	bool scripted;
	struct journal journal;
	struct stats stats;
	struct plays plays;
	struct reel_ids ids;
	/* Used anew by each request. */
	struct request request;
	struct answer answer;
	struct reel reel;
	struct buf fields;
};

/* ---- one request ---- */

static void
refuse(struct model_service *service, struct http_conn *conn,
    struct journal_entry *entry, const struct fault *fault)
{
	struct buf body = BUF_INIT(PRINT_MAX);

	service->stats.refused++;
	snprintf(service->stats.last_refusal, REASON_MAX, "%s", fault->text);
	log_warn_slow("request refused", log_num("status", fault->status),
	    log_str("why", fault->text));
	entry->status = fault->status;
	fault_body(fault, &body);
	http_reply(conn, fault->status, JSON_TYPE, (struct slice){ 0 },
	    buf_slice(&body));
	buf_release(&body);
}

static bool
is_authorized(const struct model_service *service, const struct http_head *head)
{
	struct slice value = http_head_get(head, "authorization");

	return service->config.no_auth ||
	       (value.len > strlen("Bearer ") &&
		   http_slice_is(slice_of(value.ptr, 7), "Bearer "));
}

static int
check_head(const struct model_service *service, const struct http_head *head,
    struct fault *fault)
{
	struct slice type = http_head_get(head, "content-type");

	if (!is_authorized(service, head))
		return fault_set(fault, 401, "invalid_api_key", NULL,
		    "The Authorization header holds no Bearer key.");
	if (!service->config.no_check &&
	    (type.len < strlen(JSON_TYPE) ||
		!http_slice_is(
		    slice_of(type.ptr, strlen(JSON_TYPE)), JSON_TYPE)))
		return fault_set(fault, 415, "unsupported_content_type", NULL,
		    "The Content-Type is not " JSON_TYPE ".");
	return 0;
}

static int
read_body(struct model_service *service, struct journal_entry *entry,
    struct fault *fault)
{
	struct err err = { 0 };
	struct json root;
	unsigned marks = 0;

	if (json_parse(buf_slice(&entry->body), &root, &marks, &err) == -1)
		return fault_set(fault, 400, "invalid_json", NULL,
		    "The body is no JSON: %s", err.text);
	entry->is_json = true;
	if (root.type != JSON_OBJECT)
		return fault_set(fault, 400, "invalid_json", NULL,
		    "The body is no JSON object.");
	if (!service->config.no_check &&
	    (marks & (JSON_MARK_SURROGATE | JSON_MARK_UTF8)) != 0)
		return fault_set(fault, 400, "invalid_unicode", NULL,
		    "The body holds %s.",
		    marks & JSON_MARK_UTF8 ? "bytes that are not UTF-8"
					   : "half a surrogate pair");
	if (request_read(&service->request, root, &err) == -1)
		return fault_set(
		    fault, 400, "invalid_value", "input", "%s", err.text);
	if (service->config.no_check)
		return 0;
	return check_request(&service->request, fault);
}

static int
choose_answer(struct model_service *service, struct fault *fault)
{
	const struct request *request = &service->request;
	struct answer *answer = &service->answer;
	struct err err = { 0 };
	int played = 0;

	answer_clear(answer);
	if (service->scripted)
		played = script_play(&service->script, request, answer, &err);
	if (played == -1)
		return fault_set(fault, 400, "bad_script", NULL,
		    "The rule cannot be played: %s", err.text);
	if (played == 1)
		return 0;
	if (bench_is_asked(request)) {
		if (bench_answer(request, answer, &err) == -1)
			return fault_set(fault, 404, "model_not_found", "model",
			    "%s", err.text);
		return 0;
	}
	if (service->scripted)
		return fault_set(fault, 400, "no_rule", NULL,
		    "No rule of the script fits: turn %llu, %zu items.",
		    (unsigned long long)request->rounds, request->count);
	agent_answer(request, answer);
	return 0;
}

static void
put_fields(struct model_service *service, const char *type)
{
	const struct answer *answer = &service->answer;
	struct buf *fields = &service->fields;

	buf_clear(fields);
	if (!answer->typed) {
		buf_puts(fields, "Content-Type: ");
		buf_puts(fields, type);
		buf_puts(fields, "\r\n");
	}
	buf_puts(fields, "X-Request-Id: req_");
	buf_put_u64(fields, service->stats.requests);
	buf_puts(fields, "\r\n");
	buf_put_slice(fields, answer_slice(answer, answer->headers));
}

/* A rule with an error status and no body of its own. */
static void
put_error(struct model_service *service)
{
	struct fault fault = { 0 };

	fault_set(&fault, (int)service->answer.status, "scripted_error", NULL,
	    "This status is what the script says.");
	if (fault.status == 429)
		fault.code = "rate_limit_exceeded";
	if (fault.status >= 500)
		fault.type = fault.code = "server_error";
	fault_body(&fault, &service->reel.bytes);
}

/* A body of the script's own: a cut counts bytes. */
static void
put_body(struct model_service *service)
{
	const struct answer *answer = &service->answer;
	struct buf *bytes = &service->reel.bytes;
	size_t len = answer->body.len;

	if (answer->cut == CUT_LAST)
		len /= 2;
	else if (answer->cut != CUT_NOT && answer->cut_after < len)
		len = (size_t)answer->cut_after;
	buf_put(bytes, answer_slice(answer, answer->body).ptr, len);
}

static void
send_answer(struct model_service *service, struct http_conn *conn)
{
	const struct answer *answer = &service->answer;
	bool stream = json_true(service->request.field[REQUEST_STREAM]);
	uint64_t now = clock_wall_ms() / 1000;
	struct reel *reel = &service->reel;

	reel_clear(reel);
	reel_mark(reel, answer->delay_ms);
	if (answer->body_type != NULL) {
		put_fields(service, answer->body_type);
		put_body(service);
		stream = answer->body_type[0] == STREAM_TYPE[0] &&
			 strcmp(answer->body_type, STREAM_TYPE) == 0;
	} else if (answer->status >= 400) {
		put_fields(service, JSON_TYPE);
		put_error(service);
		stream = false;
	} else if (stream) {
		put_fields(service, STREAM_TYPE);
		reel_stream(
		    reel, answer, &service->request, &service->ids, now);
	} else {
		put_fields(service, JSON_TYPE);
		reel_json(reel, answer, &service->request, &service->ids, now);
	}
	play_send(
	    &service->plays, conn, answer, reel, &service->fields, stream);
	if (reel->bytes.cap > REEL_KEPT_MAX)
		reel_release(reel);
}

static void
on_responses(struct model_service *service, struct http_conn *conn,
    struct http_request *request)
{
	struct journal_entry *entry =
	    journal_add(&service->journal, &request->head, &request->body);
	struct fault fault = { 0 };

	service->stats.requests++;
	if (check_head(service, &request->head, &fault) == -1 ||
	    read_body(service, entry, &fault) == -1 ||
	    choose_answer(service, &fault) == -1) {
		refuse(service, conn, entry, &fault);
		return;
	}
	entry->status =
	    service->answer.status == 0 ? 200 : (int)service->answer.status;
	service->stats.answered++;
	send_answer(service, conn);
}

/* ---- the other routes ---- */

static void
reply_ok(struct http_conn *conn)
{
	http_reply(
	    conn, 200, JSON_TYPE, (struct slice){ 0 }, SLICE("{\"ok\":true}"));
}

static void
on_health(struct model_service *service, struct http_conn *conn,
    struct http_request *request)
{
	(void)service;
	(void)request;
	reply_ok(conn);
}

static uint64_t
cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
		   1000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void
on_stats(struct model_service *service, struct http_conn *conn,
    struct http_request *request)
{
	const struct stats *stats = &service->stats;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "requests", stats->requests },
		{ "answered", stats->answered },
		{ "refused", stats->refused },
		{ "bad_http", stats->bad_http },
		{ "gone", service->plays.gone },
		{ "playing", service->plays.playing },
		{ "connections", http_server_accepted(service->http) },
		{ "open", http_server_open(service->http) },
		{ "forgotten", service->journal.dropped },
		{ "cpu_us", cpu_us() },
	};
	struct buf body = BUF_INIT(PRINT_MAX);
	struct json_writer w = json_writer(&body);

	(void)request;
	json_open(&w, '{');
	for (size_t i = 0; i < COUNT(numbers); i++) {
		json_key(&w, numbers[i].name);
		json_unum(&w, numbers[i].value);
	}
	json_key(&w, "last_refusal");
	json_text(&w, stats->last_refusal[0] ? stats->last_refusal : NULL);
	json_close(&w);
	http_reply(conn, 200, JSON_TYPE, (struct slice){ 0 }, buf_slice(&body));
	buf_release(&body);
}

static void
on_requests(struct model_service *service, struct http_conn *conn,
    struct http_request *request)
{
	struct buf body = BUF_INIT(PRINT_MAX);

	(void)request;
	journal_print(&service->journal, &body);
	http_reply(conn, 200, "application/x-ndjson", (struct slice){ 0 },
	    buf_slice(&body));
	buf_release(&body);
}

static void
reset(struct model_service *service)
{
	service->stats = (struct stats){ 0 };
	service->plays.gone = 0;
	journal_reset(&service->journal);
	script_rewind(&service->script);
}

static void
on_reset(struct model_service *service, struct http_conn *conn,
    struct http_request *request)
{
	(void)request;
	reset(service);
	reply_ok(conn);
}

/* An empty body gives the built-in model back. */
static void
on_script(struct model_service *service, struct http_conn *conn,
    struct http_request *request)
{
	struct err err = { 0 };
	struct fault fault;
	struct buf body = BUF_INIT(PRINT_MAX);

	if (request->body.len == 0) {
		script_release(&service->script);
		service->scripted = false;
		reply_ok(conn);
		return;
	}
	if (script_parse(&service->script, "script", buf_slice(&request->body),
		&err) == 0) {
		service->scripted = true;
		reply_ok(conn);
		return;
	}
	fault_set(&fault, 400, "bad_script", NULL, "%s", err.text);
	fault_body(&fault, &body);
	http_reply(conn, 400, JSON_TYPE, (struct slice){ 0 }, buf_slice(&body));
	buf_release(&body);
}

static const struct {
	const char *method;
	const char *path;
	void (*run)(struct model_service *service, struct http_conn *conn,
	    struct http_request *request);
} routes[] = {
	{ "POST", "/v1/responses", on_responses },
	{ "GET", "/health", on_health },
	{ "GET", "/stats", on_stats },
	{ "GET", "/requests", on_requests },
	{ "POST", "/script", on_script },
	{ "POST", "/reset", on_reset },
};

static void
on_ready(void *arg, struct http_conn *conn)
{
	struct model_service *service = arg;

	play_ready(&service->plays, conn);
}

static void
on_gone(void *arg, struct http_conn *conn)
{
	struct model_service *service = arg;

	play_gone(&service->plays, conn);
}

static void
on_request(void *arg, struct http_conn *conn, struct http_request *request)
{
	struct buf body = BUF_INIT(PRINT_MAX);
	struct fault fault;
	char allow[32] = "";

	for (size_t i = 0; i < COUNT(routes); i++) {
		if (!slice_is(request->head.path, routes[i].path))
			continue;
		if (slice_is(request->head.method, routes[i].method)) {
			routes[i].run(arg, conn, request);
			return;
		}
		snprintf(
		    allow, sizeof(allow), "Allow: %s\r\n", routes[i].method);
	}
	fault_set(&fault, allow[0] == '\0' ? 404 : 405, "unknown_url", NULL,
	    "This server has no %.*s %.*s.", SLICE_ARGS(request->head.method),
	    (int)(request->head.path.len > 200 ? 200 : request->head.path.len),
	    request->head.path.ptr);
	fault_body(&fault, &body);
	http_reply(conn, fault.status, JSON_TYPE, slice_string(allow),
	    buf_slice(&body));
	buf_release(&body);
}

static void
on_refused(void *arg, int status, const char *why)
{
	struct model_service *service = arg;

	service->stats.bad_http++;
	log_warn_slow(
	    "bad HTTP refused", log_num("status", status), log_str("why", why));
}

/* ---- life ---- */

static int
load_script(struct model_service *service, struct err *err)
{
	const struct model_service_config *config = &service->config;

	service->scripted = config->script != NULL || config->replay != NULL;
	if (config->script != NULL)
		return script_load(&service->script, config->script, err);
	if (config->replay != NULL)
		return script_replay(
		    &service->script, config->replay, config->chunk_bytes, err);
	return 0;
}

int
model_service_new(struct model_service **ret_service, uv_loop_t *loop,
    const struct model_service_config *config, struct err *err)
{
	struct model_service *service = MEM_NEW(struct model_service);
	struct http_handler handler = {
		.on_request = on_request,
		.on_ready = on_ready,
		.on_gone = on_gone,
		.on_refused = on_refused,
		.arg = service,
	};
	struct uuid start = uuid_v4();

	memcpy(&service->ids.start, start.bytes, sizeof(service->ids.start));
	service->config = *config;
	service->answer = answer_init();
	service->reel = reel_init();
	service->fields = BUF_INIT(PLAY_FIELDS_MAX);
	journal_init(&service->journal);
	if (load_script(service, err) == -1 ||
	    http_server_new(
		&service->http, loop, config->port, &handler, err) == -1) {
		model_service_free(service);
		return -1;
	}
	*ret_service = service;
	return 0;
}

uint16_t
model_service_port(const struct model_service *service)
{
	return http_server_port(service->http);
}

void
model_service_close(struct model_service *service)
{
	http_server_close(service->http);
}

struct model_service *
model_service_free(struct model_service *service)
{
	if (service == NULL)
		return NULL;
	script_release(&service->script);
	journal_release(&service->journal);
	request_release(&service->request);
	answer_release(&service->answer);
	reel_release(&service->reel);
	buf_release(&service->fields);
	mem_free(service);
	return NULL;
}
