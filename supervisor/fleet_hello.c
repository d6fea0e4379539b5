/*
 * What a hello says: who the worker is, what it offers, what it holds. Reads
 * hostile JSON; owns the catalogue's tools.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/fleet_internal.h"

#define SCHEMA_MAX (256u * 1024)

struct slice
fleet_attempt_key(char key[ATTEMPT_KEY], const struct uuid *run, uint64_t turn,
    uint64_t call, uint64_t attempt)
{
	uint64_t rest[3] = { turn, call, attempt };

	memcpy(key, run->bytes, sizeof(run->bytes));
	memcpy(key + sizeof(run->bytes), rest, sizeof(rest));
	return slice_of(key, ATTEMPT_KEY);
}

struct fleet_attempt
fleet_attempt_of(struct slice key)
{
	struct fleet_attempt a;
	uint64_t rest[3];

	memcpy(a.run.bytes, key.ptr, sizeof(a.run.bytes));
	memcpy(rest, key.ptr + sizeof(a.run.bytes), sizeof(rest));
	a.turn = rest[0];
	a.call = rest[1];
	a.attempt = rest[2];
	return a;
}

struct session *
session_free(struct session *session)
{
	if (session == NULL)
		return NULL;
	for (size_t i = 0; i < session->offer_count; i++)
		mem_free(session->offers[i]);
	mem_free(session->offers);
	mem_free(session->kind);
	mem_free(session->name);
	mem_free(session->version);
	mem_free(session->host);
	mem_free(session->sandbox);
	map_release(&session->listed);
	return mem_free(session);
}

static char *
copy(struct slice text)
{
	return mem_string_n(text.ptr, text.len);
}

static int
read_offers(struct session *s, struct json list, struct err *err)
{
	struct json_iter it = json_iter(list);
	struct json value;

	if (json_count(list) > FLEET_OFFERS_MAX)
		return err_set(err, ERR_LIMIT,
		    "the worker announces %zu names; at most %u are allowed",
		    json_count(list), FLEET_OFFERS_MAX);
	s->offers = mem_array(json_count(list) + 1, sizeof(char *));
	while (json_next(&it, NULL, &value)) {
		char *name =
		    json_string_new(json_get(value, "name"), LIMIT_NAME);

		if (name == NULL || name[0] == '\0') {
			mem_free(name);
			return err_set(err, ERR_INPUT,
			    "an announced tool or model has no usable name");
		}
		s->offers[s->offer_count++] = name;
	}
	return 0;
}

static int
read_in_flight(struct session *s, struct json list, struct err *err)
{
	struct json_iter it = json_iter(list);
	struct json value;

	if (json_count(list) > LIMIT_CREDIT)
		return err_set(err, ERR_LIMIT, "too many attempts in flight");
	while (json_next(&it, NULL, &value)) {
		char *id = json_string_new(json_get(value, "run"), UUID_TEXT);
		uint64_t turn = 0, call = 0, attempt = 0;
		char key[ATTEMPT_KEY];
		struct uuid run;
		bool ok = id != NULL &&
			  uuid_parse(slice_string(id), &run, NULL) == 0 &&
			  json_u64(json_get(value, "turn"), &turn) &&
			  json_u64(json_get(value, "call"), &call) &&
			  json_u64(json_get(value, "attempt"), &attempt);

		mem_free(id);
		if (!ok)
			return err_set(err, ERR_INPUT,
			    "in_flight holds something that names no attempt");
		map_set(&s->listed,
		    fleet_attempt_key(key, &run, turn, call, attempt), s);
		/* What has ended takes no slot: no credit will come for it. */
		if (!json_true(json_get(value, "finished")))
			s->flights++;
	}
	return 0;
}

struct session *
session_new(const struct peer *peer, const struct msg_hello *hello,
    struct slice body, struct err *err)
{
	struct session *s = MEM_NEW(struct session);
	struct json root;

	s->peer = *peer;
	s->kind = copy(hello->kind);
	s->name = copy(hello->name);
	s->version = copy(hello->version);
	s->host = copy(hello->host);
	s->sandbox = copy(hello->sandbox);
	s->process = hello->process;
	s->number = hello->session;
	s->pid = hello->pid;
	s->slots = hello->slots;
	s->credit = hello->credit;
	s->hello_ms = s->heard_ms = clock_ms();
	s->tools_worker = slice_is(hello->kind, "tool");
	if (!s->tools_worker && !slice_is(hello->kind, "model")) {
		err_set(err, ERR_INPUT,
		    "kind %.*s is unknown; it is model or tool",
		    SLICE_ARGS(hello->kind));
		return session_free(s);
	}
	if (json_parse(body, &root, NULL, err) == -1 ||
	    read_offers(s, json_get(root, s->tools_worker ? "tools" : "models"),
		err) == -1 ||
	    read_in_flight(s, json_get(root, "in_flight"), err) == -1)
		return session_free(s);
	return s;
}

/* ---- the catalogue ---- */

static struct tool *
tool_free(struct tool *tool)
{
	if (tool == NULL)
		return NULL;
	mem_free(tool->name);
	mem_free(tool->definition);
	return mem_free(tool);
}

/* The tool as a model is offered it. */
static struct tool *
tool_new(struct json value, const char *name, struct err *err)
{
	struct tool *tool = MEM_NEW(struct tool);
	struct json parameters = json_get(value, "parameters");
	struct json description = json_get(value, "description");
	struct buf out = BUF_INIT(SCHEMA_MAX);
	size_t at;

	buf_puts(&out, "{\"type\":\"function\",\"name\":");
	json_put_string(&out, slice_string(name));
	buf_puts(&out, ",\"description\":");
	if (description.type == JSON_STRING)
		buf_put_slice(&out, description.raw);
	else
		buf_puts(&out, "\"\"");
	buf_puts(&out, ",\"parameters\":");
	at = out.len;
	if (parameters.type == JSON_OBJECT)
		buf_put_slice(&out, parameters.raw);
	else
		buf_puts(&out, "{\"type\":\"object\",\"properties\":{}}");
	tool->schema.len = out.len - at;
	buf_puts(&out, ",\"strict\":false}");
	if (buf_check(&out, name, err) == -1) {
		buf_release(&out);
		return mem_free(tool);
	}
	tool->name = mem_string(name);
	tool->definition = buf_detach(&out, NULL);
	tool->schema.ptr = tool->definition + at;
	tool->idempotent = json_true(json_get(value, "idempotent"));
	tool->needs_approval = json_true(json_get(value, "needs_approval"));
	return tool;
}

/* Nobody else may offer it with another schema; the last who offered it may
 * come back with a new one. */
static int
learn_one(
    struct fleet *fleet, struct json value, const char *name, struct err *err)
{
	struct tool *known = map_get(&fleet->tools, slice_string(name));
	struct tool *tool = tool_new(value, name, err);

	if (tool == NULL)
		return -1;
	if (known != NULL && known->offered > 0 &&
	    !slice_eq(known->schema, tool->schema)) {
		tool_free(tool);
		return err_set(err, ERR_CONFLICT,
		    "tool %s is offered by another worker with other "
		    "parameters; give one of them another name",
		    name);
	}
	if (known != NULL && strcmp(known->definition, tool->definition) == 0 &&
	    known->idempotent == tool->idempotent) {
		tool_free(tool);
		known->offered++;
		return 0;
	}
	tool->offered = known == NULL ? 1 : known->offered + 1;
	tool_free(map_set(&fleet->tools, slice_string(tool->name), tool));
	fleet->tools_epoch++;
	return 0;
}

int
fleet_learn(struct fleet *fleet, struct session *session, struct slice body,
    struct err *err)
{
	struct json root, value;
	struct json_iter it;
	size_t i = 0;

	if (!session->tools_worker)
		return 0;
	if (json_parse(body, &root, NULL, err) == -1)
		return -1;
	it = json_iter(json_get(root, "tools"));
	while (json_next(&it, NULL, &value)) {
		if (learn_one(fleet, value, session->offers[i], err) == -1) {
			/* Only those before it were counted. */
			for (; i > 0; i--) {
				struct tool *t = map_get(&fleet->tools,
				    slice_string(session->offers[i - 1]));

				t->offered--;
			}
			return -1;
		}
		i++;
	}
	return 0;
}

void
fleet_forget(struct fleet *fleet, struct session *session)
{
	if (!session->tools_worker)
		return;
	for (size_t i = 0; i < session->offer_count; i++) {
		struct tool *tool =
		    map_get(&fleet->tools, slice_string(session->offers[i]));

		if (tool != NULL && tool->offered > 0)
			tool->offered--;
	}
}
