/*
 * Keeps the streams of this process by attempt. Owns them until they end.
 */
#include "workers/model/turns.h"

#include "base/log.h"

#define KEY_BYTES (16u + 8u + 8u)

static struct slice
key_of(const struct attempt *attempt, char key[KEY_BYTES])
{
	memcpy(key, attempt->run.bytes, 16);
	memcpy(key + 16, &attempt->turn, 8);
	memcpy(key + 24, &attempt->attempt, 8);
	return slice_of(key, KEY_BYTES);
}

static struct stream *
find(const struct turns *turns, const struct attempt *attempt)
{
	char key[KEY_BYTES];

	return map_get(&turns->streams, key_of(attempt, key));
}

static void
log_end(const struct attempt *attempt, const struct msg *msg)
{
	const struct msg_turn_failed *failed = &msg->turn_failed;

	if (msg->id == MSG_turn_done)
		log_debug("turn done", log_uuid("run", &attempt->run),
		    log_num("turn", (int64_t)attempt->turn),
		    log_num("attempt", (int64_t)attempt->attempt),
		    log_slice("finish", msg->turn_done.finish),
		    log_num("bytes", (int64_t)msg->turn_done.size),
		    log_num("ms", (int64_t)msg->turn_done.total_ms));
	else
		log_warn("turn failed", log_uuid("run", &attempt->run),
		    log_num("turn", (int64_t)attempt->turn),
		    log_num("attempt", (int64_t)attempt->attempt),
		    log_slice("class", failed->class),
		    log_slice("code", failed->code),
		    log_num("status", (int64_t)failed->http_status),
		    log_slice("request", failed->request_id),
		    log_slice("error", failed->message));
}

static void
on_done(void *arg, const struct attempt *attempt, const struct msg *msg,
    struct buf *body)
{
	struct turns *turns = arg;
	char key[KEY_BYTES];

	map_remove(&turns->streams, key_of(attempt, key));
	log_end(attempt, msg);
	worker_done(turns->worker, attempt, msg, body);
}

static void
on_delta(void *arg, const struct msg *msg, struct slice body)
{
	struct turns *turns = arg;

	worker_delta(turns->worker, msg, body);
}

void
turns_describe(void *arg, struct json_writer *w)
{
	struct turns *turns = arg;

	json_key(w, "labels");
	json_open(w, '{');
	json_close(w);
	models_describe(turns->models, w);
}

void
turns_start(void *arg, const struct attempt *attempt, const struct msg *msg,
    struct slice body)
{
	struct turns *turns = arg;
	const struct msg_turn_start *start = &msg->turn_start;
	struct stream_config config = {
		.loop = turns->loop,
		.http = turns->http,
		.model = models_find(turns->models, start->model),
		.done = on_done,
		.delta = on_delta,
		.arg = turns,
	};
	struct stream *stream;
	char key[KEY_BYTES];

	if (config.model == NULL) {
		worker_refuse(turns->worker, attempt, "unknown model");
		return;
	}
	stream = stream_start(&config, attempt, start, body);
	if (stream != NULL)
		map_set(&turns->streams, key_of(attempt, key), stream);
}

void
turns_cancel(void *arg, const struct attempt *attempt)
{
	struct stream *stream = find(arg, attempt);

	if (stream != NULL)
		stream_cancel(stream);
}

void
turns_watch(void *arg, const struct attempt *attempt, bool on)
{
	struct stream *stream = find(arg, attempt);

	if (stream != NULL)
		stream_watch(stream, on);
}

void
turns_release(struct turns *turns)
{
	size_t at = 0;
	void *stream;

	while (map_next(&turns->streams, &at, NULL, &stream))
		stream_free(stream);
	map_release(&turns->streams);
}
