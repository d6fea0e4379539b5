/*
 * reeve.yaml, read.
 */
#ifndef SUPERVISOR_CONFIG_H
#define SUPERVISOR_CONFIG_H

#include "base/log.h"
#include "base/yaml.h"

#define CONFIG_WORKERS_MAX 64u
#define CONFIG_ENV_MAX     32u
#define CONFIG_PATH_MAX    107u /* of a socket, the system's limit */

/* A local worker that the supervisor starts and restarts. Strings owned. */
struct config_worker {
	char *name, *program, *config, *user;
	uint32_t slots;
	char *env[CONFIG_ENV_MAX];
	size_t env_count;
};

struct config {
	char *run_dir, *database, *user;
	char *work_group; /* group that may use the work socket, or NULL */
	char *front_endpoint, *work_endpoint;
	enum log_level log_level;
	bool log_json;
	uint32_t active_runs;
	struct json agent_limits; /* object: name -> count; lies in yaml */
	uint64_t stop_ms;
	struct config_worker workers[CONFIG_WORKERS_MAX];
	size_t worker_count;
	struct yaml yaml;
};

/* Errors name file, line, key and what is allowed. */
int config_read(
    struct config *ret_config, const char *path, struct err *err) CHECKED;
void config_release(struct config *config);
/* Runs of this agent that may be active at once by the configuration; 0 = no
 * limit. */
uint32_t config_agent_limit(const struct config *config, const char *agent);

#endif
