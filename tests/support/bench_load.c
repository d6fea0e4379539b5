/*
 * Load for benchmarks: keeps C runs of one agent in flight until N have ended,
 * watching each for its committed events. Prints one JSON object: runs/s, p50,
 * p99 in ms, how many completed. A client of the front like any other.
 *
 *	bench-load --socket PATH --agent NAME --runs N --concurrency C
 */
#include <getopt.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "proto/link.h"

struct load {
	struct loop loop;
	struct link *link;
	struct map began; /* run -> its start in us + 1, as a pointer */
	struct slice agent;
	size_t runs, concurrency, sent, ended, completed;
	uint64_t start_us; /* when the connection stood */
	uint32_t *took_us;
};

static void
submit(struct load *l)
{
	struct msg msg = { .id = MSG_submit };
	struct err err = { 0 };

	msg.submit.request = ++l->sent;
	msg.submit.run = uuid_v7();
	msg.submit.agent = l->agent;
	msg.submit.watch = true;
	map_set(&l->began, uuid_slice(&msg.submit.run),
	    (void *)(uintptr_t)(clock_us() + 1));
	if (link_send(l->link, NULL, &msg, SLICE("{\"input\":\"go\"}"), &err) ==
	    -1) {
		fprintf(stderr, "bench-load: %s\n", err.text);
		exit(1);
	}
}

static void
on_message(void *arg, const struct peer *peer, const struct msg *msg,
    struct slice body, struct link_body *owner)
{
	struct load *l = arg;
	void *began;

	(void)peer;
	(void)owner;
	if (msg->id == MSG_failed) {
		fprintf(stderr, "bench-load: %.*s\n",
		    SLICE_ARGS(msg->failed.message));
		exit(1);
	}
	if (msg->id != MSG_event || !msg->event.final)
		return;
	began = map_remove(&l->began, uuid_slice(&msg->event.run));
	if (began == NULL)
		return;
	l->took_us[l->ended++] =
	    (uint32_t)(clock_us() + 1 - (uint64_t)(uintptr_t)began);
	if (memmem(body.ptr, body.len, "\"completed\"", 11) != NULL)
		l->completed++;
	if (l->sent < l->runs)
		submit(l);
	if (l->ended == l->runs)
		loop_stop(&l->loop);
}

static void
on_connection(void *arg, bool up)
{
	struct load *l = arg;

	if (!up || l->sent > 0)
		return;
	l->start_us = clock_us();
	for (size_t i = 0; i < l->concurrency && l->sent < l->runs; i++)
		submit(l);
}

static int
by_time(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void
report(struct load *l)
{
	uint64_t us = clock_us() - l->start_us;
	size_t median = l->ended / 2, late = l->ended * 99 / 100;
	double p50, p99;

	if (l->ended == 0)
		return;
	qsort(l->took_us, l->ended, sizeof(*l->took_us), by_time);
	p50 = l->took_us[median];
	p99 = l->took_us[late];
	printf("{\"runs\":%zu,\"concurrency\":%zu,\"completed\":%zu,"
	       "\"runs_s\":%.1f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,"
	       "\"seconds\":%.3f}\n",
	    l->ended, l->concurrency, l->completed,
	    (double)l->ended * 1e6 / (double)us, p50 / 1e3, p99 / 1e3,
	    (double)us / 1e6);
}

static size_t
number(const char *text)
{
	return (size_t)strtoul(text, NULL, 10);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "agent", required_argument, NULL, 'a' },
		{ "runs", required_argument, NULL, 'n' },
		{ "concurrency", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	static struct load l = { .runs = 100, .concurrency = 1 };
	struct link_config config = { .accepts = MSG_FROM_SUPERVISOR,
		.on_message = on_message,
		.on_connection = on_connection,
		.arg = &l };
	struct buf endpoint = BUF_INIT(4096);
	struct err err = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			buf_printf(&endpoint, "ipc://%s", optarg);
		else if (option == 'a')
			l.agent = slice_string(optarg);
		else if (option == 'n')
			l.runs = number(optarg);
		else if (option == 'c')
			l.concurrency = number(optarg);
		else
			return 2;
	}
	l.took_us = mem_array(l.runs, sizeof(*l.took_us));
	buf_putc(&endpoint, '\0');
	config.endpoint = endpoint.ptr;
	config.zmq = zmq_ctx_new();
	config.loop = &l.loop;
	if (loop_init(&l.loop, &err) == -1 ||
	    link_new(&l.link, &config, &err) == -1) {
		fprintf(stderr, "bench-load: %s\n", err.text);
		return 1;
	}
	loop_run(&l.loop);
	report(&l);
	link_free(l.link, 0);
	return l.completed == l.runs ? 0 : 1;
}
