/*
 * reeve-model: takes model turns from the supervisor and streams them from
 * providers. This file is options, hardening, start and end. The process holds
 * keys: it leaves no core, lets nobody trace it, and prints none.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <zmq.h>

#include "base/log.h"
#include "workers/model/turns.h"

#define SLOTS_DEFAULT    1000u
#define ORPHAN_S_DEFAULT 300u
#define ORPHAN_S_MAX     86400u

struct options {
	const char *config, *name, *endpoint;
	uint32_t slots, orphan_s;
	enum log_level level;
	bool json;
};

struct program {
	struct loop loop;
	struct models models;
	struct turns turns;
	void *zmq;
	struct http *http;
	struct worker *worker;
	uv_signal_t term, interrupt;
	bool draining;
};

static const char usage[] =
    "usage: reeve-model --config FILE --endpoint ipc://PATH [options]\n"
    "Streams model turns from the providers of FILE for a supervisor.\n"
    "  --config FILE      providers and models (YAML)\n"
    "  --endpoint URL     work socket of reeved: ipc://PATH\n"
    "  --name NAME        name of this worker (default: model)\n"
    "  --slots N          turns at once, 1 to 100000 (default: 1000)\n"
    "  --orphan SECONDS   end after so long without a supervisor (default:\n"
    "                     300; 0: never)\n"
    "  --log-format F     logfmt (default) or json\n"
    "  --log-level LEVEL  debug, info (default), warn or error\n"
    "  -V, --version      print the version\n"
    "  -h, --help         print this text\n"
    "example: reeve-model --config models.yaml --name model-1 \\\n"
    "             --endpoint ipc:///run/reeve/work.sock --slots 500\n";

/* ---- options ---- */

static int
read_number(const char *text, uint64_t least, uint64_t most, uint32_t *ret,
    struct err *err)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9' ||
	    number < least || number > most)
		return err_set(err, ERR_INPUT,
		    "\"%.100s\" must be a number from %llu to %llu", text,
		    (unsigned long long)least, (unsigned long long)most);
	*ret = (uint32_t)number;
	return 0;
}

static int
read_level(const char *text, enum log_level *ret, struct err *err)
{
	static const char *const names[] = {
		[LOG_DEBUG] = "debug",
		[LOG_INFO] = "info",
		[LOG_WARN] = "warn",
		[LOG_ERROR] = "error",
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcmp(names[i], text) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return err_set(
	    err, ERR_INPUT, "--log-level must be debug, info, warn or error");
}

static int
take_option(int c, struct options *o, struct err *err)
{
	switch (c) {
	case 'c':
		o->config = optarg;
		return 0;
	case 'e':
		o->endpoint = optarg;
		return 0;
	case 'n':
		o->name = optarg;
		return 0;
	case 's':
		if (read_number(optarg, 1, LIMIT_CREDIT, &o->slots, err) == -1)
			return err_wrap(err, "--slots");
		return 0;
	case 'o':
		if (read_number(optarg, 0, ORPHAN_S_MAX, &o->orphan_s, err) ==
		    -1)
			return err_wrap(err, "--orphan");
		return 0;
	case 'v':
		return read_level(optarg, &o->level, err);
	case 'l':
		o->json = strcmp(optarg, "json") == 0;
		if (!o->json && strcmp(optarg, "logfmt") != 0)
			return err_set(err, ERR_INPUT,
			    "--log-format must be logfmt or json");
		return 0;
	default:
		return err_set(err, ERR_INPUT, "see reeve-model --help");
	}
}

static int
check_options(const struct options *o, int argc, struct err *err)
{
	if (optind < argc)
		return err_set(
		    err, ERR_INPUT, "nothing may follow the options");
	if (o->config == NULL)
		return err_set(err, ERR_INPUT, "--config FILE is missing");
	if (o->endpoint == NULL)
		return err_set(
		    err, ERR_INPUT, "--endpoint ipc://PATH is missing");
	if (strlen(o->name) == 0 || strlen(o->name) > LIMIT_NAME)
		return err_set(err, ERR_INPUT, "--name must have 1 to %u bytes",
		    LIMIT_NAME);
	return 0;
}

/* Returns -1 to go on, else the exit code. */
static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "endpoint", required_argument, NULL, 'e' },
		{ "name", required_argument, NULL, 'n' },
		{ "slots", required_argument, NULL, 's' },
		{ "orphan", required_argument, NULL, 'o' },
		{ "log-format", required_argument, NULL, 'l' },
		{ "log-level", required_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct err err = { 0 };
	int c;

	*o = (struct options){ .name = "model",
		.slots = SLOTS_DEFAULT,
		.orphan_s = ORPHAN_S_DEFAULT,
		.level = LOG_INFO };
	while ((c = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
		if (c == 'h')
			return fputs(usage, stdout) < 0;
		if (c == 'V')
			return puts("reeve-model " REEVE_VERSION) < 0;
		if (take_option(c, o, &err) == -1)
			break;
	}
	if (err.kind == ERR_NONE && check_options(o, argc, &err) == 0)
		return -1;
	fprintf(stderr, "reeve-model: %s\n", err.text);
	return 2;
}

/* ---- the process ---- */

static int
harden(struct err *err)
{
	struct rlimit none = { 0 }, files;
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (prctl(PR_SET_DUMPABLE, 0) == -1 ||
	    setrlimit(RLIMIT_CORE, &none) == -1 ||
	    sigaction(SIGPIPE, &ignore, NULL) == -1)
		return err_errno(err, "hardening");
	/* A descriptor for each stream: as many as we may have. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return 0;
}

static void
on_drained(void *arg)
{
	struct turns *turns = arg;

	loop_stop(turns->loop);
}

/* Once: finish what runs. Twice: now. */
static void
on_signal(uv_signal_t *signal, int number)
{
	struct program *p = signal->data;

	log_info("signal", log_num("number", number));
	if (p->draining)
		loop_stop(&p->loop);
	p->draining = true;
	worker_drain(p->worker);
}

static int
start(struct program *p, const struct options *o, struct err *err)
{
	struct worker_config config = {
		.loop = &p->loop,
		.endpoint = o->endpoint,
		.kind = "model",
		.name = o->name,
		.slots = o->slots,
		.orphan_ms = o->orphan_s * 1000,
		.describe = turns_describe,
		.start = turns_start,
		.cancel = turns_cancel,
		.watch = turns_watch,
		.drained = on_drained,
		.arg = &p->turns,
	};

	if (http_new(&p->http, &p->loop, o->slots, err) == -1)
		return -1;
	p->zmq = config.zmq = zmq_ctx_new();
	if (p->zmq == NULL)
		return err_errno(err, "zmq");
	p->turns.loop = &p->loop;
	p->turns.http = p->http;
	p->turns.models = &p->models;
	if (worker_new(&p->worker, &config, err) == -1)
		return -1;
	p->turns.worker = p->worker;
	uv_signal_init(&p->loop.uv, &p->term);
	uv_signal_init(&p->loop.uv, &p->interrupt);
	p->term.data = p->interrupt.data = p;
	uv_signal_start(&p->term, on_signal, SIGTERM);
	uv_signal_start(&p->interrupt, on_signal, SIGINT);
	return 0;
}

static void
stop(struct program *p)
{
	turns_release(&p->turns);
	p->worker = worker_free(p->worker);
	p->http = http_free(p->http);
	loop_release(&p->loop);
	if (p->zmq != NULL)
		zmq_ctx_term(p->zmq);
	models_release(&p->models);
}

int
main(int argc, char **argv)
{
	struct options o;
	struct program p = { 0 };
	struct err err = { 0 };
	int code = read_options(argc, argv, &o);

	if (code != -1)
		return code;
	log_setup("reeve-model", o.level, o.json);
	if (harden(&err) == -1 ||
	    models_load(&p.models, o.config, &err) == -1 ||
	    loop_init(&p.loop, &err) == -1) {
		log_error("not started", log_err(&err));
		models_release(&p.models);
		return 1;
	}
	if (start(&p, &o, &err) == 0) {
		log_info("started", log_str("worker", o.name),
		    log_num("models", (int64_t)p.models.model_count),
		    log_num("slots", o.slots));
		loop_run(&p.loop);
		log_info("stopped", log_str("worker", o.name));
		code = 0;
	} else {
		log_error("not started", log_err(&err));
		code = 1;
	}
	stop(&p);
	return code;
}
