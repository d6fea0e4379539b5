/*
 * The cache of agent definitions. Asks nobody: whoever misses one loads it.
 */
#include "supervisor/agents.h"

#include "base/alloc.h"
#include "proto/limits.h"

#define KEY_MAX (LIMIT_NAME + 16)

static struct slice
version_key(struct slice name, uint32_t version, char key[KEY_MAX])
{
	int len = snprintf(key, KEY_MAX, "%.*s/%u",
	    (int)(name.len > LIMIT_NAME ? LIMIT_NAME : name.len), name.ptr,
	    (unsigned)version);

	return slice_of(key, (size_t)len);
}

struct agent_name *
agents_name(struct agents *agents, struct slice name)
{
	struct agent_name *found = map_get(&agents->by_name, name);

	if (found != NULL)
		return found;
	found = MEM_NEW(struct agent_name);
	found->name = mem_string_n(name.ptr, name.len);
	map_set(&agents->by_name, name, found);
	return found;
}

struct agent_entry *
agents_find(const struct agents *agents, struct slice name, uint32_t version,
    uint64_t now_ms)
{
	const struct agent_name *known = map_get(&agents->by_name, name);
	char key[KEY_MAX];

	if (version == 0) {
		if (known == NULL || known->newest == 0 ||
		    now_ms - known->known_ms > AGENTS_FRESH_MS)
			return NULL;
		version = known->newest;
	}
	return map_get(&agents->by_version, version_key(name, version, key));
}

struct agent_entry *
agents_add(struct agents *agents, struct slice name, uint32_t version,
    struct slice definition, bool newest, uint64_t now_ms, struct err *err)
{
	struct agent_entry *e;
	struct agent_name *known;
	char key[KEY_MAX];

	e = map_get(&agents->by_version, version_key(name, version, key));
	if (e == NULL) {
		e = MEM_NEW(struct agent_entry);
		if (agent_parse(&e->agent, definition, err) == -1) {
			mem_free(e);
			return NULL;
		}
		e->version = version;
		e->tools = BUF_INIT(16u * 1024 * 1024);
		map_set(
		    &agents->by_version, version_key(name, version, key), e);
	}
	known = agents_name(agents, name);
	if (newest) {
		known->newest = version;
		known->known_ms = now_ms;
		known->limit = e->agent.max_active;
	}
	return e;
}

void
agents_release(struct agents *agents)
{
	size_t pos = 0;
	void *value;

	while (map_next(&agents->by_version, &pos, NULL, &value)) {
		struct agent_entry *e = value;

		agent_release(&e->agent);
		buf_release(&e->tools);
		mem_free(e);
	}
	pos = 0;
	while (map_next(&agents->by_name, &pos, NULL, &value)) {
		struct agent_name *n = value;

		mem_free(n->name);
		mem_free(n);
	}
	map_release(&agents->by_version);
	map_release(&agents->by_name);
}
