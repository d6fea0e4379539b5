/*
 * Speaks with the supervisor's front. Owns the ZeroMQ context, the loop and the
 * link. A request whose connection broke before the answer is sent once more
 * (every request may be: runs carry ids). Never prints.
 */
#include "cli/client.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"

#define SEND_AGAIN_MS 20u
#define SERVICE_FILE  "../var/service"
#define DEFAULT_PATH  "/run/reeve/front.sock"
#define ENDPOINT_MAX  2048u
#define SERVICE_MAX   4096u

/* What client_ask waits for. */
struct wait {
	const struct msg *msg; /* NULL: nothing */
	struct slice body;
	uint64_t request;
	uint64_t until_ms; /* of sending, then of the answer */
	bool sent, sent_again;
	int rc;
	struct client_answer *answer;
	struct err *err;
};

struct client {
	char *path; /* owned */
	uint32_t connect_ms, answer_ms;
	void *zmq; /* owned */
	bool has_loop;
	struct loop loop;
	struct link *link; /* owned */
	uv_timer_t timer;
	uint64_t request;
	struct wait wait;
	const struct client_listener *listener; /* borrowed */
};

/* ---- where the front is ---- */

static const char *
without_scheme(const char *path)
{
	return strncmp(path, "ipc://", 6) == 0 ? path + 6 : path;
}

/* The first line of the service file, or NULL when there is no such file. */
static int
read_service_file(char **ret_path, struct err *err)
{
	char exe[SERVICE_MAX], path[SERVICE_MAX + sizeof(SERVICE_FILE)];
	struct buf text = BUF_INIT(SERVICE_MAX);
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe));
	int rc = 0;

	while (len > 0 && exe[len - 1] != '/')
		len--;
	if (len <= 0 || (size_t)len == sizeof(exe))
		return 0;
	snprintf(path, sizeof(path), "%.*s%s", (int)len, exe, SERVICE_FILE);
	if (access(path, F_OK) == 0) {
		rc = buf_read_file(&text, path, err);
		buf_putc(&text, '\0');
	}
	if (rc == 0 && text.len > 0) {
		text.ptr[strcspn(text.ptr, "\r\n")] = '\0';
		if (*text.ptr != '\0')
			*ret_path = mem_string(without_scheme(text.ptr));
	}
	buf_release(&text);
	return rc;
}

int
client_find(const char *option, char **ret_path, const char **ret_source,
    struct err *err)
{
	const char *variable = getenv("REEVE_SOCKET");
	char *path = NULL;

	if (option != NULL) {
		path = mem_string(without_scheme(option));
		*ret_source = "from --socket";
	} else if (variable != NULL && *variable != '\0') {
		path = mem_string(without_scheme(variable));
		*ret_source = "from REEVE_SOCKET";
	} else if (read_service_file(&path, err) == -1) {
		return -1;
	} else if (path != NULL) {
		*ret_source = "from var/service";
	} else {
		path = mem_string(DEFAULT_PATH);
		*ret_source = "the default";
	}
	*ret_path = path;
	return 0;
}

/* ---- what comes ---- */

enum err_kind
client_refusal(const struct msg_failed *failed)
{
	static const struct {
		const char *name;
		enum err_kind kind;
	} kinds[] = {
		{ "input", ERR_INPUT },
		{ "missing", ERR_MISSING },
		{ "conflict", ERR_CONFLICT },
		{ "busy", ERR_BUSY },
		{ "limit", ERR_LIMIT },
		{ "version", ERR_INPUT },
	};

	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (slice_is(failed->kind, kinds[i].name))
			return kinds[i].kind;
	}
	return ERR_SYSTEM;
}

static void
wait_end(struct client *client, int rc)
{
	client->wait.rc = rc;
	client->wait.msg = NULL;
	loop_stop(&client->loop);
}

/* Every answer begins with the number of its request. */
static bool
request_of(const struct msg *msg, uint64_t *ret)
{
	if (msg->id == MSG_submitted)
		*ret = msg->submitted.request;
	else if (msg->id == MSG_reply)
		*ret = msg->reply.request;
	else if (msg->id == MSG_failed)
		*ret = msg->failed.request;
	else
		return false;
	return true;
}

static struct json
parse(struct slice body)
{
	struct json value = { 0 };

	if (json_parse(body, &value, NULL, NULL) == -1)
		return (struct json){ 0 };
	return value;
}

/* Answers the waiting client_ask. */
static void
wait_answer(
    struct client *client, const struct msg *msg, struct link_body *owner)
{
	struct client_answer *answer = client->wait.answer;

	if (msg->id == MSG_failed) {
		err_set(client->wait.err, client_refusal(&msg->failed), "%.*s",
		    SLICE_ARGS(msg->failed.message));
		wait_end(client, -1);
		return;
	}
	if (msg->id == MSG_submitted) {
		answer->run = msg->submitted.run;
		answer->existing = msg->submitted.existing;
	} else {
		answer->held = link_body_take(owner);
		answer->body = parse(link_body_slice(answer->held));
	}
	wait_end(client, 0);
}

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct client *client = arg;
	const struct client_listener *listener = client->listener;
	uint64_t request;

	(void)peer;
	if (msg->id == MSG_event) {
		if (listener != NULL && listener->on_event != NULL)
			listener->on_event(
			    listener->arg, &msg->event, parse(body));
		return;
	}
	if (!request_of(msg, &request))
		return;
	/* 0: the front could not read the message, so it names none. */
	if (client->wait.msg != NULL &&
	    (request == client->wait.request || request == 0))
		wait_answer(client, msg, owner);
	else if (listener != NULL && listener->on_answer != NULL)
		listener->on_answer(listener->arg, msg, parse(body));
}

/* What the front says cannot be read, most likely another major version. */
static void
on_refused(void *arg, const struct peer *peer, const struct err *err)
{
	struct client *client = arg;

	(void)peer;
	if (client->wait.msg == NULL)
		return;
	err_set(client->wait.err, err->kind,
	    "the answer cannot be read: %s; are reeve and reeved of the same "
	    "version?",
	    err->text);
	wait_end(client, -1);
}

/* ---- asking ---- */

int
client_unreachable(const struct client *client, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(client->path);
	int fd = -1, reason = ENAMETOOLONG;

	if (len < sizeof(address.sun_path)) {
		memcpy(address.sun_path, client->path, len + 1);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		reason = errno;
	}
	if (fd != -1) {
		reason = connect(fd, (const struct sockaddr *)&address,
			     sizeof(address)) == 0
			     ? 0
			     : errno;
		close(fd);
	}
	if (reason == 0)
		return err_set(err, ERR_PEER,
		    "no answer from %s: something listens there, but did not "
		    "answer in time",
		    client->path);
	err_set(err, ERR_PEER, "cannot reach %s: %s", client->path,
	    strerror(reason));
	err->code = reason;
	return -1;
}

static void
on_timer(uv_timer_t *timer)
{
	struct client *client = timer->data;
	struct wait *wait = &client->wait;

	if (wait->msg == NULL)
		return;
	if (!wait->sent &&
	    client_send(client, wait->msg, wait->body, wait->err) == 0) {
		wait->sent = true;
		wait->until_ms = clock_ms() + client->answer_ms;
	} else if (!wait->sent && wait->err->kind != ERR_PEER) {
		wait_end(client, -1);
	} else if (clock_ms() >= wait->until_ms) {
		client_unreachable(client, wait->err);
		if (wait->sent || wait->sent_again)
			wait->err->code = CLIENT_MAYBE;
		wait_end(client, -1);
	}
}

static void
on_connection(void *arg, bool up)
{
	struct client *client = arg;
	const struct client_listener *listener = client->listener;
	struct wait *wait = &client->wait;

	if (!up && wait->msg != NULL && wait->sent && !wait->sent_again) {
		wait->sent = false;
		wait->sent_again = true;
		wait->until_ms = clock_ms() + client->answer_ms;
	}
	if (up && wait->msg != NULL)
		on_timer(&client->timer);
	if (listener != NULL && listener->on_connection != NULL)
		listener->on_connection(listener->arg, up);
}

int
client_ask(struct client *client, const struct msg *msg, struct slice body,
    struct client_answer *ret_answer, struct err *err)
{
	struct err ignored = { 0 };
	struct client_answer answer = { 0 };

	client->wait = (struct wait){
		.msg = msg,
		.body = body,
		.request = client->request,
		.until_ms = clock_ms() + client->connect_ms,
		.answer = &answer,
		.err = err == NULL ? &ignored : err,
	};
	if (uv_timer_start(&client->timer, on_timer, 0, SEND_AGAIN_MS) != 0)
		BUG("the timer does not start");
	while (client->wait.msg != NULL)
		loop_run(&client->loop);
	uv_timer_stop(&client->timer);
	if (client->wait.rc == 0)
		*ret_answer = answer;
	return client->wait.rc;
}

int
client_send(struct client *client, const struct msg *msg, struct slice body,
    struct err *err)
{
	return link_send(client->link, NULL, msg, body, err);
}

void
client_listen(struct client *client, const struct client_listener *listener)
{
	client->listener = listener;
}

void
client_answer_release(struct client_answer *answer)
{
	link_body_free(answer->held);
	*answer = (struct client_answer){ 0 };
}

struct loop *
client_loop(struct client *client)
{
	return &client->loop;
}

uint64_t
client_request(struct client *client)
{
	return ++client->request;
}

/* ---- birth and death ---- */

int
client_new(struct client **ret_client, const struct client_config *config,
    struct err *err)
{
	struct client *client = MEM_NEW(struct client);
	char endpoint[ENDPOINT_MAX];

	client->path = mem_string(config->path);
	client->connect_ms =
	    config->connect_ms > 0 ? config->connect_ms : CLIENT_CONNECT_MS;
	client->answer_ms =
	    config->answer_ms > 0 ? config->answer_ms : CLIENT_ANSWER_MS;
	snprintf(endpoint, sizeof(endpoint), "ipc://%s", config->path);
	client->zmq = zmq_ctx_new();
	if (client->zmq == NULL) {
		err_errno(err, "zmq_ctx_new");
		goto fail;
	}
	if (loop_init(&client->loop, err) == -1)
		goto fail;
	client->has_loop = true;
	client->timer.data = client;
	if (uv_timer_init(&client->loop.uv, &client->timer) != 0)
		BUG("uv_timer_init");
	if (link_new(&client->link,
		&(const struct link_config){
		    .zmq = client->zmq,
		    .loop = &client->loop,
		    .endpoint = endpoint,
		    .accepts = MSG_FROM_SUPERVISOR,
		    .on_message = on_message,
		    .on_refused = on_refused,
		    .on_connection = on_connection,
		    .arg = client,
		},
		err) == -1)
		goto fail;
	*ret_client = client;
	return 0;
fail:
	client_free(client);
	return -1;
}

struct client *
client_free(struct client *client)
{
	if (client == NULL)
		return NULL;
	link_free(client->link, 0);
	if (client->has_loop)
		loop_release(&client->loop);
	if (client->zmq != NULL)
		zmq_ctx_term(client->zmq);
	mem_free(client->path);
	return mem_free(client);
}
