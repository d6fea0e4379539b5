/*
 * reeve-tool: runs tool calls in sandboxes. Reads options and the tools file,
 * starts the spawner before anything else is there, gives root up, and serves
 * a supervisor; or runs one box for people.
 */
#include <getopt.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "proto/limits.h"
#include "workers/tool/identity.h"
#include "workers/tool/people.h"
#include "workers/tool/serve.h"

#define EXIT_USAGE       2
#define SLOTS_MAX        1024u
#define SLOTS_PER_CPU    4u
#define ORPHAN_S_DEFAULT 300u
#define ORPHAN_S_MAX     86400u

static const char help[] =
    "reeve-tool runs the tool calls of agents, each in a sandbox of its own.\n"
    "\n"
    "usage: reeve-tool --config FILE --name NAME --endpoint ENDPOINT [options]\n"
    "       reeve-tool --box [--config FILE [--tool TOOL]] -- COMMAND...\n"
    "\n"
    "  --config FILE       the tools of this machine (YAML); its folder is\n"
    "                      shown to them, read-only, as /tools\n"
    "  --name NAME         stable name of this worker\n"
    "  --endpoint ENDPOINT work socket of the supervisor: ipc://PATH\n"
    "  --slots N           calls held at once (default: 4 per processor)\n"
    "  --user NAME         started as root: who tools run as (default:\n"
    "                      reeve-box, else nobody)\n"
    "  --orphan SECONDS    exit after so long without a supervisor (default:\n"
    "                      300; 0: never)\n"
    "  --allow-no-sandbox  work even if the sandbox does not: tools then run\n"
    "                      as plain processes of this user\n"
    "  --work-dir DIR      where tools run without a sandbox (default: /tmp)\n"
    "  --box               run COMMAND in a box with our standard input and\n"
    "                      print the outcome as JSON; --tool: with the limits\n"
    "                      of TOOL\n"
    "  --log-format FORMAT logfmt (default) or json\n"
    "  --log-level LEVEL   debug, info (default), warn or error\n"
    "  -V, --version       print the version\n"
    "  -h, --help          print this\n"
    "\n"
    "example: reeve-tool --box -- sh -c 'id; ls /; cat /proc/1/comm'\n";

struct options {
	const char *config, *name, *endpoint, *user, *work_dir, *tool;
	uint32_t slots, orphan_s;
	enum log_level log_level;
	bool allow_off, box, json;
	char **command; /* ends with NULL; for --box */
};

enum {
	OPTION_CONFIG = 256,
	OPTION_NAME,
	OPTION_ENDPOINT,
	OPTION_SLOTS,
	OPTION_USER,
	OPTION_ORPHAN_S,
	OPTION_ALLOW_NO_SANDBOX,
	OPTION_WORK_DIR,
	OPTION_BOX,
	OPTION_TOOL,
	OPTION_LOG_FORMAT,
	OPTION_LOG_LEVEL,
};

static const struct option option_table[] = {
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "name", required_argument, NULL, OPTION_NAME },
	{ "endpoint", required_argument, NULL, OPTION_ENDPOINT },
	{ "slots", required_argument, NULL, OPTION_SLOTS },
	{ "user", required_argument, NULL, OPTION_USER },
	{ "orphan", required_argument, NULL, OPTION_ORPHAN_S },
	{ "allow-no-sandbox", no_argument, NULL, OPTION_ALLOW_NO_SANDBOX },
	{ "work-dir", required_argument, NULL, OPTION_WORK_DIR },
	{ "box", no_argument, NULL, OPTION_BOX },
	{ "tool", required_argument, NULL, OPTION_TOOL },
	{ "log-format", required_argument, NULL, OPTION_LOG_FORMAT },
	{ "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int
read_number(const char *name, const char *text, uint32_t min, uint32_t max,
    uint32_t *ret, struct err *err)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
	    value < min || value > max)
		return err_set(err, ERR_INPUT,
		    "--%s %s: give a number from %u to %u", name, text, min,
		    max);
	*ret = (uint32_t)value;
	return 0;
}

static int
read_format(struct options *o, const char *text, struct err *err)
{
	o->json = strcmp(text, "json") == 0;
	if (o->json || strcmp(text, "logfmt") == 0)
		return 0;
	return err_set(err, ERR_INPUT, "--log-format %s: logfmt or json", text);
}

static int
read_level(struct options *o, const char *text, struct err *err)
{
	static const char *const names[] = {
		[LOG_DEBUG] = "debug",
		[LOG_INFO] = "info",
		[LOG_WARN] = "warn",
		[LOG_ERROR] = "error",
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			o->log_level = (enum log_level)i;
			return 0;
		}
	}
	return err_set(
	    err, ERR_INPUT, "--log-level %s: debug, info, warn or error", text);
}

NORETURN static void
print_and_exit(const char *text)
{
	fputs(text, stdout);
	exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int
read_option(struct options *o, int option, const char *text, struct err *err)
{
	switch (option) {
	case OPTION_CONFIG:
		o->config = text;
		return 0;
	case OPTION_NAME:
		o->name = text;
		return 0;
	case OPTION_ENDPOINT:
		o->endpoint = text;
		return 0;
	case OPTION_SLOTS:
		return read_number("slots", text, 1, SLOTS_MAX, &o->slots, err);
	case OPTION_USER:
		o->user = text;
		return 0;
	case OPTION_ORPHAN_S:
		return read_number(
		    "orphan", text, 0, ORPHAN_S_MAX, &o->orphan_s, err);
	case OPTION_ALLOW_NO_SANDBOX:
		o->allow_off = true;
		return 0;
	case OPTION_WORK_DIR:
		o->work_dir = text;
		return 0;
	case OPTION_BOX:
		o->box = true;
		return 0;
	case OPTION_TOOL:
		o->tool = text;
		return 0;
	case OPTION_LOG_FORMAT:
		return read_format(o, text, err);
	case OPTION_LOG_LEVEL:
		return read_level(o, text, err);
	case 'V':
		print_and_exit("reeve-tool " REEVE_VERSION "\n");
	case 'h':
		print_and_exit(help);
	default: /* getopt has said what is wrong */
		return err_set(err, ERR_INPUT, "see reeve-tool --help");
	}
}

/* What is needed, and what does not go together. */
static int
check_options(const struct options *o, struct err *err)
{
	if (o->box) {
		if (o->command[0] == NULL)
			return err_set(err, ERR_INPUT,
			    "--box needs a command: reeve-tool --box -- id");
		if (o->tool != NULL && o->config == NULL)
			return err_set(
			    err, ERR_INPUT, "--tool needs --config FILE");
		return 0;
	}
	if (o->command[0] != NULL)
		return err_set(err, ERR_INPUT, "%s: a command goes with --box",
		    o->command[0]);
	if (o->config == NULL || o->name == NULL || o->endpoint == NULL)
		return err_set(err, ERR_INPUT,
		    "--config, --name and --endpoint are needed; see "
		    "reeve-tool --help");
	if (o->name[0] == '\0' || strlen(o->name) > LIMIT_NAME)
		return err_set(
		    err, ERR_INPUT, "--name: 1 to %u bytes", LIMIT_NAME);
	return 0;
}

static int
read_options(struct options *o, int argc, char **argv, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int option;

	*o = (struct options){
		.slots = SLOTS_PER_CPU * (uint32_t)(cpus < 1 ? 1 : cpus),
		.orphan_s = ORPHAN_S_DEFAULT,
		.log_level = LOG_INFO,
	};
	if (o->slots > SLOTS_MAX)
		o->slots = SLOTS_MAX;
	while (
	    (option = getopt_long(argc, argv, "+Vh", option_table, NULL)) != -1)
		if (read_option(o, option, optarg, err) == -1)
			return -1;
	o->command = argv + optind;
	return check_options(o, err);
}

/* The spawner comes first: nothing big may be there when it is forked. Then
 * root goes. */
static int
start_sandbox(const struct options *o, const struct catalogue *catalogue,
    struct sandbox **ret_sandbox, struct err *err)
{
	struct identity identity;
	struct sandbox_config config = {
		.tools_dir = catalogue->folder,
		.work_dir = o->work_dir,
		.allow_off = o->allow_off,
	};

	if (identity_find(&identity, o->user, err) == -1)
		return -1;
	config.switch_user = identity.switches;
	config.uid = identity.uid;
	config.gid = identity.gid;
	if (sandbox_new(ret_sandbox, &config, err) == -1) {
		err_wrap(err, "no working sandbox (--allow-no-sandbox goes on "
			      "without)");
		return -1;
	}
	return identity_become(&identity, err);
}

static int
run_box(const struct options *o, const struct catalogue *catalogue,
    struct sandbox *sandbox, struct err *err)
{
	const struct tool *tool = NULL;

	if (o->tool != NULL) {
		tool = catalogue_find(catalogue, slice_string(o->tool));
		if (tool == NULL)
			return err_set(err, ERR_MISSING, "%s: no tool %s",
			    o->config, o->tool);
	}
	return people_run_box(sandbox, tool, o->command, err);
}

static int
run_worker(const struct options *o, const struct catalogue *catalogue,
    struct sandbox *sandbox, struct err *err)
{
	enum sandbox_level level = sandbox_level(sandbox);
	const struct serve_config config = {
		.endpoint = o->endpoint,
		.name = o->name,
		.slots = o->slots,
		.orphan_ms = o->orphan_s * 1000,
		.catalogue = catalogue,
		.sandbox = sandbox,
	};

	if (level == SANDBOX_OFF)
		log_warn("tools run without a sandbox",
		    log_str("reason", sandbox_lack(sandbox)));
	loop_raise_limits();
	log_info("started", log_str("worker", o->name),
	    log_num("tools", (int64_t)catalogue->count),
	    log_num("slots", o->slots),
	    log_str("sandbox", sandbox_level_name(level)),
	    log_num("uid", geteuid()));
	return serve(&config, err);
}

static int
run(const struct options *o, struct err *err)
{
	struct catalogue catalogue = { 0 };
	struct sandbox *sandbox = NULL;
	int rc = -1;

	if (o->config != NULL &&
	    catalogue_load(&catalogue, o->config, err) == -1)
		return -1;
	if (start_sandbox(o, &catalogue, &sandbox, err) == 0)
		rc = o->box ? run_box(o, &catalogue, sandbox, err)
			    : run_worker(o, &catalogue, sandbox, err);
	sandbox_free(sandbox);
	catalogue_release(&catalogue);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options options;
	struct err err = { 0 };
	int rc;

	if (read_options(&options, argc, argv, &err) == -1) {
		fprintf(stderr, "reeve-tool: %s\n", err.text);
		return EXIT_USAGE;
	}
	log_setup("reeve-tool", options.log_level, options.json);
	rc = run(&options, &err);
	if (rc == -1 && options.box)
		fprintf(stderr, "reeve-tool: %s\n", err.text);
	else if (rc == -1)
		log_error("stopped", log_err(&err));
	return rc == -1 ? EXIT_FAILURE : rc;
}
