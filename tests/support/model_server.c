/*
 * The scripted model server: speaks the Responses API over HTTP on 127.0.0.1,
 * plays scripts, and refuses what the real service would refuse. This file is
 * options, start and end; the service is in tests/support/lib. It never talks
 * to anybody and keeps nothing on disk.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/lib/model_service.h"

#define PATH_BYTES 4096

enum option_name {
	OPTION_PORT = 256,
	OPTION_SCRIPT,
	OPTION_REPLAY,
	OPTION_CHUNK,
	OPTION_PORT_FILE,
	OPTION_DIE,
	OPTION_NO_AUTH,
	OPTION_NO_CHECK,
	OPTION_HELP,
};

struct options {
	struct model_service_config service;
	const char *port_file;
	bool die_with_parent;
};

static const char usage[] =
    "model-server [options]: a scripted Responses API on 127.0.0.1\n"
    "  --port N           listen there (0: any); prints {\"port\":N}\n"
    "  --script FILE      answer by a script (YAML or JSON)\n"
    "  --replay FILE      answer with these bytes, always\n"
    "  --chunk N          replay in HTTP chunks of N bytes\n"
    "  --port-file PATH   write the port there when ready\n"
    "  --die-with-parent  end when the starting process ends\n"
    "  --no-auth          take requests without Authorization\n"
    "  --no-check         take requests that break the API's rules\n";

static int
read_number(const char *text, uint64_t max, uint64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9' ||
	    *ret > max)
		return err_set(err, ERR_INPUT, "'%s' is no number up to %llu",
		    text, (unsigned long long)max);
	return 0;
}

static int
take_option(
    int name, const char *value, struct options *options, struct err *err)
{
	uint64_t number = 0;

	switch (name) {
	case OPTION_PORT:
		if (read_number(value, UINT16_MAX, &number, err) == -1)
			return err_wrap(err, "--port");
		options->service.port = (uint16_t)number;
		return 0;
	case OPTION_CHUNK:
		if (read_number(value, UINT32_MAX, &number, err) == -1)
			return err_wrap(err, "--chunk");
		options->service.chunk_bytes = number;
		return 0;
	case OPTION_SCRIPT:
		options->service.script = value;
		return 0;
	case OPTION_REPLAY:
		options->service.replay = value;
		return 0;
	case OPTION_PORT_FILE:
		options->port_file = value;
		return 0;
	case OPTION_DIE:
		options->die_with_parent = true;
		return 0;
	case OPTION_NO_AUTH:
		options->service.no_auth = true;
		return 0;
	case OPTION_NO_CHECK:
		options->service.no_check = true;
		return 0;
	default:
		return err_set(err, ERR_INPUT, "try --help");
	}
}

/* 0, 1 after --help, -1. */
static int
read_options(int argc, char **argv, struct options *options, struct err *err)
{
	static const struct option names[] = {
		{ "port", required_argument, NULL, OPTION_PORT },
		{ "script", required_argument, NULL, OPTION_SCRIPT },
		{ "replay", required_argument, NULL, OPTION_REPLAY },
		{ "chunk", required_argument, NULL, OPTION_CHUNK },
		{ "port-file", required_argument, NULL, OPTION_PORT_FILE },
		{ "die-with-parent", no_argument, NULL, OPTION_DIE },
		{ "no-auth", no_argument, NULL, OPTION_NO_AUTH },
		{ "no-check", no_argument, NULL, OPTION_NO_CHECK },
		{ "help", no_argument, NULL, OPTION_HELP },
		{ 0 },
	};
	int name;

	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (name == OPTION_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		if (take_option(name, optarg, options, err) == -1)
			return -1;
	}
	if (optind < argc)
		return err_set(
		    err, ERR_INPUT, "what is '%s'? try --help", argv[optind]);
	if (options->service.script != NULL && options->service.replay != NULL)
		return err_set(
		    err, ERR_INPUT, "--script and --replay exclude each other");
	return 0;
}

/* The parent may have ended before the signal was asked for. */
static int
die_with_parent(pid_t parent, struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == -1)
		return err_errno(err, "--die-with-parent");
	if (getppid() != parent)
		return err_set(err, ERR_PEER, "the parent has ended");
	return 0;
}

/* Thousands of connections need as many descriptors. */
static void
raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		log_warn("descriptor limit stays", log_num("errno", errno));
}

/* Whoever waits for the file must never read half of it. */
static int
write_port_file(const char *path, uint16_t port, struct err *err)
{
	char name[PATH_BYTES];
	FILE *file;
	int rc;

	if (snprintf(name, sizeof(name), "%s.new", path) >= (int)sizeof(name))
		return err_set(err, ERR_LIMIT, "--port-file: path too long");
	file = fopen(name, "we");
	if (file == NULL)
		return err_errno(err, "--port-file %s", name);
	rc = fprintf(file, "%u\n", (unsigned)port);
	if (fclose(file) != 0 || rc < 0 || rename(name, path) == -1) {
		err_errno(err, "--port-file %s", path);
		unlink(name);
		return -1;
	}
	return 0;
}

static int
tell_port(const struct options *options, uint16_t port, struct err *err)
{
	if (options->port_file != NULL &&
	    write_port_file(options->port_file, port, err) == -1)
		return -1;
	printf("{\"port\":%u}\n", (unsigned)port);
	if (fflush(stdout) != 0)
		return err_errno(err, "write the port");
	return 0;
}

struct server {
	struct model_service *service;
	uv_signal_t signals[2];
};

static void
on_signal(uv_signal_t *signal, int number)
{
	struct server *server = signal->data;

	(void)number;
	model_service_close(server->service);
	for (size_t i = 0; i < COUNT(server->signals); i++)
		if (!uv_is_closing((uv_handle_t *)&server->signals[i]))
			uv_close((uv_handle_t *)&server->signals[i], NULL);
}

static int
serve(uv_loop_t *loop, const struct options *options, struct err *err)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	struct server server = { 0 };
	int rc;

	rc = model_service_new(&server.service, loop, &options->service, err);
	if (rc == -1) {
		uv_run(loop, UV_RUN_DEFAULT);
		return -1;
	}
	for (size_t i = 0; i < COUNT(numbers); i++) {
		uv_signal_init(loop, &server.signals[i]);
		server.signals[i].data = &server;
		uv_signal_start(&server.signals[i], on_signal, numbers[i]);
	}
	rc = tell_port(options, model_service_port(server.service), err);
	if (rc == -1)
		on_signal(&server.signals[0], 0);
	uv_run(loop, UV_RUN_DEFAULT);
	model_service_free(server.service);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options options = { 0 };
	pid_t parent = getppid();
	struct err err = { 0 };
	uv_loop_t loop;
	int rc;

	log_setup("model-server", LOG_INFO, false);
	signal(SIGPIPE, SIG_IGN);
	rc = read_options(argc, argv, &options, &err);
	if (rc == 1)
		return 0;
	if (rc == 0 && options.die_with_parent)
		rc = die_with_parent(parent, &err);
	if (rc == 0) {
		raise_limit();
		uv_loop_init(&loop);
		rc = serve(&loop, &options, &err);
		uv_loop_close(&loop);
	}
	if (rc == -1) {
		log_error("model server stops", log_err(&err));
		return 1;
	}
	return 0;
}
