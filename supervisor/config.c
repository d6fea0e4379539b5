/*
 * Reads reeve.yaml against its schema. Owns the strings of struct config.
 */
#include "supervisor/config.h"

#include "base/alloc.h"
#include "base/config.h"

#define STOP_S      10
#define ACTIVE_RUNS 1000

static const char config_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"run_dir\",\"database\"],\"properties\":{"
    "\"run_dir\":{\"type\":\"string\",\"minLength\":1},"
    "\"database\":{\"type\":\"string\",\"minLength\":1},"
    "\"user\":{\"type\":\"string\",\"minLength\":1},"
    "\"work_group\":{\"type\":\"string\",\"minLength\":1},"
    "\"stop_s\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":600},"
    "\"log\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"properties\":{\"format\":{\"enum\":[\"logfmt\",\"json\"]},"
    "\"level\":{\"enum\":[\"debug\",\"info\",\"warn\",\"error\"]}}},"
    "\"limits\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"properties\":{\"active_runs\":{\"type\":\"integer\",\"minimum\":1,"
    "\"maximum\":100000},\"agents\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"integer\",\"minimum\":1,"
    "\"maximum\":100000}}}},"
    "\"workers\":{\"type\":\"array\",\"maxItems\":64,\"items\":{"
    "\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"name\",\"program\",\"config\"],\"properties\":{"
    "\"name\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_.-]{1,64}$\"},"
    "\"program\":{\"type\":\"string\",\"minLength\":1},"
    "\"config\":{\"type\":\"string\",\"minLength\":1},"
    "\"user\":{\"type\":\"string\",\"minLength\":1},"
    "\"slots\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000},"
    "\"env\":{\"type\":\"array\",\"maxItems\":32,\"items\":"
    "{\"type\":\"string\",\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]*$\"}}}}}}}";

static void
read_worker(struct config_worker *w, struct json value)
{
	struct json_iter it = json_iter(json_get(value, "env"));
	struct json name;

	w->name = config_str(value, "name", NULL);
	w->program = config_str(value, "program", NULL);
	w->config = config_str(value, "config", NULL);
	w->user = config_str(value, "user", NULL);
	w->slots = (uint32_t)config_num(value, "slots", 0);
	while (json_next(&it, NULL, &name) && w->env_count < CONFIG_ENV_MAX)
		w->env[w->env_count++] = json_string_new(name, 256);
}

static int
read_workers(struct config *config, struct json list, struct err *err)
{
	struct json_iter it = json_iter(list);
	struct json value;

	while (json_next(&it, NULL, &value)) {
		struct config_worker *w =
		    &config->workers[config->worker_count++];

		read_worker(w, value);
		for (size_t i = 0; i + 1 < config->worker_count; i++) {
			if (strcmp(config->workers[i].name, w->name) != 0)
				continue;
			err_set(err, ERR_INPUT,
			    "/workers: the name %s stands twice; each worker "
			    "has its own",
			    w->name);
			return config_err(&config->yaml, value, err);
		}
	}
	return 0;
}

static int
endpoint(struct config *config, const char *name, char **ret, struct err *err)
{
	struct buf text = BUF_INIT(4096);
	size_t len;

	buf_printf(&text, "ipc://%s/%s", config->run_dir, name);
	len = text.len - strlen("ipc://");
	*ret = buf_detach(&text, NULL);
	if (len <= CONFIG_PATH_MAX)
		return 0;
	err_set(err, ERR_LIMIT,
	    "/run_dir: the socket path %s is %zu bytes long; the system allows "
	    "%u: use a shorter folder",
	    *ret + strlen("ipc://"), len, CONFIG_PATH_MAX);
	return config_err(
	    &config->yaml, json_get(yaml_value(&config->yaml), "run_dir"), err);
}

static enum log_level
level_of(struct json level)
{
	if (json_is(level, "debug"))
		return LOG_DEBUG;
	if (json_is(level, "warn"))
		return LOG_WARN;
	return json_is(level, "error") ? LOG_ERROR : LOG_INFO;
}

int
config_read(struct config *ret_config, const char *path, struct err *err)
{
	struct config *c = ret_config;
	struct json root, log, limits;

	*c = (struct config){ 0 };
	if (config_load(&c->yaml, path, config_schema, err) == -1)
		return -1;
	root = yaml_value(&c->yaml);
	log = json_get(root, "log");
	limits = json_get(root, "limits");
	c->run_dir = config_str(root, "run_dir", NULL);
	c->database = config_str(root, "database", NULL);
	c->user = config_str(root, "user", NULL);
	c->work_group = config_str(root, "work_group", NULL);
	c->log_json = json_is(json_get(log, "format"), "json");
	c->log_level = level_of(json_get(log, "level"));
	c->active_runs =
	    (uint32_t)config_num(limits, "active_runs", ACTIVE_RUNS);
	c->agent_limits = json_get(limits, "agents");
	c->stop_ms = (uint64_t)config_num(root, "stop_s", STOP_S) * 1000;
	if (endpoint(c, "front.sock", &c->front_endpoint, err) == -1 ||
	    endpoint(c, "work.sock", &c->work_endpoint, err) == -1 ||
	    read_workers(c, json_get(root, "workers"), err) == -1) {
		config_release(c);
		return -1;
	}
	return 0;
}

void
config_release(struct config *config)
{
	for (size_t i = 0; i < config->worker_count; i++) {
		struct config_worker *w = &config->workers[i];

		mem_free(w->name);
		mem_free(w->program);
		mem_free(w->config);
		mem_free(w->user);
		for (size_t e = 0; e < w->env_count; e++)
			mem_free(w->env[e]);
	}
	mem_free(config->run_dir);
	mem_free(config->database);
	mem_free(config->user);
	mem_free(config->work_group);
	mem_free(config->front_endpoint);
	mem_free(config->work_endpoint);
	yaml_release(&config->yaml);
	*config = (struct config){ 0 };
}

uint32_t
config_agent_limit(const struct config *config, const char *agent)
{
	uint64_t limit = 0;

	if (!json_u64(json_get(config->agent_limits, agent), &limit))
		return 0;
	return (uint32_t)limit;
}
