/*
 * The yardstick of tests/bench: one bare process that does the same durable
 * work as reeve, with nothing around it. libcurl streams the turns, the tool is
 * a constant, and each step (accepted, answer, output, end) is committed before
 * the run goes on; the steps of all runs that wait share one transaction.
 *
 *	bench-floor --url URL --database CONNINFO --model NAME --runs N
 *	    --concurrency C
 *
 * Makes its tables, prints "ready", waits for a line, runs, prints one JSON
 * object, and stays until its input ends, so that what its server process used
 * can still be read.
 */
#include <curl/curl.h>
#include <getopt.h>
#include <libpq-fe.h>
#include <sys/resource.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/list.h"

#define BATCH_MAX 256u
#define TEXT_MAX  (1u << 20)
#define USER_ITEM "{\"type\":\"message\",\"role\":\"user\",\"content\":\"go\"}"
#define TOOLS                                                                  \
	"[{\"type\":\"function\",\"name\":\"weather\",\"description\":"        \
	"\"The weather in a city.\",\"strict\":true,\"parameters\":{"          \
	"\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}," \
	"\"required\":[\"city\"],\"additionalProperties\":false}}]"

struct run {
	struct list link; /* waiting, or in the batch */
	struct floor *floor;
	CURL *easy;
	uint64_t began_us;
	uint64_t number;
	unsigned steps;
	struct buf input, request, line, step;
	char *call_id; /* of a call without its output */
	bool completed, final;
};

struct floor {
	uv_loop_t loop;
	uv_timer_t timer;
	uv_poll_t database;
	uv_prepare_t pass;
	CURLM *multi;
	struct curl_slist *headers;
	PGconn *conn;
	const char *url, *conninfo, *model;
	size_t runs, concurrency, started, ended, commits, steps;
	struct list waiting, batch;
	uint32_t *took_us;
};

NORETURN static void
die(const char *what, const char *why)
{
	fprintf(stderr, "bench-floor: %s: %s\n", what, why);
	exit(1);
}

/* ---- one run ---- */

static void
step_add(struct run *run, struct slice item)
{
	buf_clear(&run->step);
	buf_put_slice(&run->step, item);
	list_append(&run->floor->waiting, &run->link);
}

static void
run_begin(struct run *run)
{
	run->number = ++run->floor->started;
	run->began_us = clock_us();
	run->steps = 0;
	run->final = false;
	buf_clear(&run->input);
	buf_puts(&run->input, USER_ITEM);
	step_add(run, SLICE(USER_ITEM));
}

static void
turn_begin(struct run *run)
{
	const struct floor *f = run->floor;

	buf_clear(&run->line);
	buf_clear(&run->request);
	buf_printf(&run->request,
	    "{\"model\":\"%s\",\"instructions\":\"Do as you are told.\","
	    "\"stream\":true,\"store\":false,"
	    "\"include\":[\"reasoning.encrypted_content\"],\"tools\":%s,"
	    "\"input\":[",
	    f->model, TOOLS);
	buf_put_slice(&run->request, buf_slice(&run->input));
	buf_puts(&run->request, "]}");
	run->completed = false;
	curl_easy_setopt(run->easy, CURLOPT_POSTFIELDS, run->request.ptr);
	curl_easy_setopt(
	    run->easy, CURLOPT_POSTFIELDSIZE, (long)run->request.len);
	curl_multi_add_handle(f->multi, run->easy);
}

static void
tool_call(struct run *run)
{
	struct buf *item = &run->step;

	buf_clear(item);
	buf_printf(item,
	    "{\"type\":\"function_call_output\",\"call_id\":\"%s\","
	    "\"output\":\"Sunny in Paris, 21 C\"}",
	    run->call_id);
	run->call_id = mem_free(run->call_id);
	buf_putc(&run->input, ',');
	buf_put_slice(&run->input, buf_slice(item));
	list_append(&run->floor->waiting, &run->link);
}

/* Its last step is committed. */
static void
run_advance(struct run *run)
{
	struct floor *f = run->floor;

	if (run->call_id != NULL) {
		tool_call(run);
	} else if (!run->final) {
		turn_begin(run);
	} else {
		f->took_us[f->ended++] = (uint32_t)(clock_us() - run->began_us);
		if (f->started < f->runs)
			run_begin(run);
		else if (f->ended == f->runs)
			uv_stop(&f->loop);
	}
}

/* ---- the stream ---- */

static void
answer_read(struct run *run, struct slice event)
{
	struct json value, output, item;
	struct json_iter it;
	struct err err = { 0 };

	if (json_parse(event, &value, NULL, &err) == -1)
		die("event", err.text);
	output = json_get(json_get(value, "response"), "output");
	if (json_count(output) == 0)
		die("event", "no output");
	it = json_iter(output);
	while (json_next(&it, NULL, &item)) {
		if (json_is(json_get(item, "type"), "function_call"))
			run->call_id =
			    json_string_new(json_get(item, "call_id"), 256);
	}
	run->final = run->call_id == NULL;
	buf_putc(&run->input, ',');
	buf_put(&run->input, output.raw.ptr + 1, output.raw.len - 2);
	buf_clear(&run->step);
	buf_put_slice(&run->step, output.raw);
	run->completed = true;
}

static void
line_read(struct run *run, struct slice line)
{
	static const char completed[] =
	    "data: {\"type\":\"response.completed\"";

	if (line.len > sizeof(completed) &&
	    memcmp(line.ptr, completed, sizeof(completed) - 1) == 0)
		answer_read(run, slice_of(line.ptr + 6, line.len - 6));
}

static size_t
on_data(char *bytes, size_t size, size_t count, void *arg)
{
	struct run *run = arg;
	const char *p = bytes, *end = bytes + size * count, *eol;

	while ((eol = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		if (run->line.len == 0) {
			line_read(run, slice_of(p, (size_t)(eol - p)));
		} else {
			buf_put(&run->line, p, (size_t)(eol - p));
			line_read(run, buf_slice(&run->line));
			buf_clear(&run->line);
		}
		p = eol + 1;
	}
	buf_put(&run->line, p, (size_t)(end - p));
	return size * count;
}

static void
turns_end(struct floor *f)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(f->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		struct run *run;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &run);
		curl_multi_remove_handle(f->multi, message->easy_handle);
		if (code != CURLE_OK || !run->completed)
			die("turn", code == CURLE_OK
					? "no end"
					: curl_easy_strerror(code));
		list_append(&f->waiting, &run->link);
	}
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct floor *f = poll->loop->data;
	uv_os_fd_t fd;
	int flags = 0, running;

	flags |= status < 0 ? CURL_CSELECT_ERR : 0;
	flags |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
	flags |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
	uv_fileno((uv_handle_t *)poll, &fd);
	curl_multi_socket_action(f->multi, fd, flags, &running);
	turns_end(f);
}

static void
on_poll_closed(uv_handle_t *handle)
{
	mem_free(handle);
}

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct floor *f = arg;
	uv_poll_t *poll = known;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		uv_close((uv_handle_t *)poll, on_poll_closed);
		curl_multi_assign(f->multi, fd, NULL);
		return 0;
	}
	if (poll == NULL) {
		poll = MEM_NEW(uv_poll_t);
		uv_poll_init(&f->loop, poll, fd);
		curl_multi_assign(f->multi, fd, poll);
	}
	uv_poll_start(poll,
	    (what & CURL_POLL_IN ? UV_READABLE : 0) |
		(what & CURL_POLL_OUT ? UV_WRITABLE : 0),
	    on_poll);
	return 0;
}

static void
on_timeout(uv_timer_t *timer)
{
	struct floor *f = timer->loop->data;
	int running;

	curl_multi_socket_action(f->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	turns_end(f);
}

static int
on_timer(CURLM *multi, long ms, void *arg)
{
	struct floor *f = arg;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(&f->timer);
	else
		uv_timer_start(&f->timer, on_timeout, (uint64_t)ms, 0);
	return 0;
}

/* ---- the database ---- */

static void
statement(
    struct floor *f, const char *name, int count, const char *const *values)
{
	if (!PQsendQueryPrepared(f->conn, name, count, values, NULL, NULL, 0))
		die(name, PQerrorMessage(f->conn));
}

static void
step_send(struct floor *f, struct run *run)
{
	char number[24], seq[24];
	const char *values[] = { number, seq, NULL };

	snprintf(
	    number, sizeof(number), "%llu", (unsigned long long)run->number);
	snprintf(seq, sizeof(seq), "%u", run->steps);
	buf_putc(&run->step, '\0');
	values[2] = run->step.ptr;
	if (run->steps == 0)
		statement(f, "begin", 1, values);
	statement(f, "item", 3, values);
	if (run->steps > 0) {
		values[2] = run->final ? "t" : "f";
		statement(f, "move", 3, values);
	}
	run->steps++;
	f->steps++;
}

static void flush(struct floor *f);

/* One batch at a time; what comes up meanwhile is the next one. */
static void
on_pass(uv_prepare_t *pass)
{
	struct floor *f = pass->data;
	unsigned count = 0;
	struct run *run;

	if (!list_is_empty(&f->batch) || list_is_empty(&f->waiting))
		return;
	LIST_EACH (run, next, &f->waiting, struct run, link) {
		if (count++ == BATCH_MAX)
			break;
		list_remove(&run->link);
		list_append(&f->batch, &run->link);
		step_send(f, run);
	}
	if (!PQpipelineSync(f->conn))
		die("sync", PQerrorMessage(f->conn));
	flush(f);
}

static void
committed(struct floor *f)
{
	struct run *run;

	f->commits++;
	LIST_EACH (run, next, &f->batch, struct run, link) {
		list_remove(&run->link);
		run_advance(run);
	}
}

static void
on_database(uv_poll_t *poll, int status, int events)
{
	struct floor *f = poll->data;

	(void)status, (void)events;
	if (!PQconsumeInput(f->conn))
		die("database", PQerrorMessage(f->conn));
	while (!list_is_empty(&f->batch) && !PQisBusy(f->conn)) {
		PGresult *result = PQgetResult(f->conn);
		ExecStatusType what = PQresultStatus(result);

		if (result != NULL && what == PGRES_COMMAND_OK &&
		    strcmp(PQcmdTuples(result), "1") != 0)
			die("database", "a row was not written");
		if (result != NULL && what != PGRES_COMMAND_OK &&
		    what != PGRES_PIPELINE_SYNC)
			die("database", PQresultErrorMessage(result));
		PQclear(result);
		if (what == PGRES_PIPELINE_SYNC)
			committed(f);
	}
	flush(f);
}

static void
flush(struct floor *f)
{
	int more = PQflush(f->conn);

	uv_poll_start(&f->database, UV_READABLE | (more == 1 ? UV_WRITABLE : 0),
	    on_database);
}

static void
database_open(struct floor *f)
{
	static const char *const statements[] = {
		"set client_min_messages = error",
		"drop table if exists floor_item, floor_run",
		"create table floor_run (id bigint primary key, final boolean"
		" not null default false, step integer not null default 0)"
		" with (fillfactor = 70)",
		"create table floor_item (run bigint, seq integer, at"
		" timestamptz not null default now(), item text not null,"
		" primary key (run, seq))",
		"prepare begin (bigint) as insert into floor_run (id)"
		" values ($1)",
		"prepare item (bigint, integer, text) as insert into floor_item"
		" (run, seq, item) values ($1, $2, $3)",
		"prepare move (bigint, integer, boolean) as update floor_run"
		" set step = $2, final = $3 where id = $1 and step = $2 - 1",
	};

	f->conn = PQconnectdb(f->conninfo);
	for (size_t i = 0; i < COUNT(statements); i++) {
		PGresult *result = PQexec(f->conn, statements[i]);

		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die(statements[i], PQerrorMessage(f->conn));
		PQclear(result);
	}
	PQenterPipelineMode(f->conn);
	PQsetnonblocking(f->conn, 1);
	uv_poll_init(&f->loop, &f->database, PQsocket(f->conn));
	f->database.data = f;
	flush(f);
}

/* Every run is there and has all its steps. */
static void
database_check(struct floor *f)
{
	char expected[48], found[48];
	PGresult *result;

	PQexitPipelineMode(f->conn);
	result = PQexec(f->conn,
	    "select (select count(*) from floor_run where final),"
	    " (select count(*) from floor_item)");
	snprintf(expected, sizeof(expected), "%zu %zu", f->runs, f->steps);
	snprintf(found, sizeof(found), "%s %s", PQgetvalue(result, 0, 0),
	    PQgetvalue(result, 0, 1));
	PQclear(result);
	if (strcmp(expected, found) != 0)
		die("rows are missing", found);
}

/* ---- the whole ---- */

static uint64_t
cpu_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
		   1000000 +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int
by_time(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void
report(struct floor *f, uint64_t us, uint64_t used_us)
{
	size_t median = f->ended / 2, late = f->ended * 99 / 100;
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	qsort(f->took_us, f->ended, sizeof(*f->took_us), by_time);
	printf("{\"runs\":%zu,\"concurrency\":%zu,\"completed\":%zu,"
	       "\"runs_s\":%.1f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,"
	       "\"seconds\":%.3f,\"cpu_ms\":%.3f,\"commits\":%zu,"
	       "\"rss_kb\":%ld}\n",
	    f->ended, f->concurrency, f->ended,
	    (double)f->ended * 1e6 / (double)us, f->took_us[median] / 1e3,
	    f->took_us[late] / 1e3, (double)us / 1e6, (double)used_us / 1e3,
	    f->commits, used.ru_maxrss);
	fflush(stdout);
}

static void
open_everything(struct floor *f)
{
	uv_loop_init(&f->loop);
	f->loop.data = f;
	list_init(&f->waiting);
	list_init(&f->batch);
	uv_timer_init(&f->loop, &f->timer);
	uv_prepare_init(&f->loop, &f->pass);
	f->pass.data = f;
	uv_prepare_start(&f->pass, on_pass);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	f->multi = curl_multi_init();
	curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
	curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
	curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, (long)f->concurrency);
	f->headers = curl_slist_append(NULL, "Content-Type: application/json");
	f->headers = curl_slist_append(f->headers, "Expect:");
	f->took_us = mem_array(f->runs, sizeof(*f->took_us));
	database_open(f);
}

static struct run *
runs_new(struct floor *f)
{
	struct run *runs = mem_array(f->concurrency, sizeof(*runs));

	for (size_t i = 0; i < f->concurrency; i++) {
		struct run *run = &runs[i];

		run->floor = f;
		run->input = run->request = BUF_INIT(TEXT_MAX);
		run->line = run->step = BUF_INIT(TEXT_MAX);
		run->easy = curl_easy_init();
		curl_easy_setopt(run->easy, CURLOPT_URL, f->url);
		curl_easy_setopt(run->easy, CURLOPT_HTTPHEADER, f->headers);
		curl_easy_setopt(run->easy, CURLOPT_WRITEFUNCTION, on_data);
		curl_easy_setopt(run->easy, CURLOPT_WRITEDATA, run);
		curl_easy_setopt(run->easy, CURLOPT_PRIVATE, run);
		curl_easy_setopt(run->easy, CURLOPT_NOSIGNAL, 1L);
	}
	return runs;
}

static void
wait_for_line(void)
{
	int c;

	while ((c = getchar()) != EOF && c != '\n')
		continue;
}

static void
measure(struct floor *f)
{
	struct run *runs = runs_new(f);
	uint64_t start_us, start_cpu_us;

	puts("ready");
	fflush(stdout);
	wait_for_line();
	start_us = clock_us();
	start_cpu_us = cpu_us();
	for (size_t i = 0; i < f->concurrency && f->started < f->runs; i++)
		run_begin(&runs[i]);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	report(f, clock_us() - start_us, cpu_us() - start_cpu_us);
	database_check(f);
	wait_for_line();
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "url", required_argument, NULL, 'u' },
		{ "database", required_argument, NULL, 'd' },
		{ "model", required_argument, NULL, 'm' },
		{ "runs", required_argument, NULL, 'n' },
		{ "concurrency", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	static struct floor f;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'u')
			f.url = optarg;
		else if (option == 'd')
			f.conninfo = optarg;
		else if (option == 'm')
			f.model = optarg;
		else if (option == 'n')
			f.runs = (size_t)strtoul(optarg, NULL, 10);
		else if (option == 'c')
			f.concurrency = (size_t)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (f.url == NULL || f.conninfo == NULL || f.model == NULL ||
	    f.runs == 0 || f.concurrency == 0)
		return 2;
	open_everything(&f);
	measure(&f);
	return 0;
}
