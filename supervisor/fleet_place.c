/*
 * Who may take a start, and what the fleet as a whole can do. Reserves credit;
 * sends nothing.
 */
#include <string.h>

#include "base/clock.h"
#include "supervisor/fleet_internal.h"

/* ---- placing ---- */

static bool
offers(const struct session *s, struct slice name)
{
	for (size_t i = 0; i < s->offer_count; i++) {
		if (slice_is(name, s->offers[i]))
			return true;
	}
	return false;
}

/* a is better than b when a smaller part of its slots is taken. */
static bool
less_loaded(const struct session *a, const struct session *b)
{
	return a->flights * (b->slots + 1) < b->flights * (a->slots + 1);
}

static struct session *
find_room(const struct fleet *fleet, const struct need *need, size_t *ret_fit)
{
	struct session *s, *best = NULL;

	*ret_fit = 0;
	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (s->tools_worker != need->tool || !offers(s, need->name))
			continue;
		++*ret_fit;
		/* Of equals the newest: an older one may be gone. */
		if (s->credit > 0 && (best == NULL || !less_loaded(best, s)))
			best = s;
	}
	return best;
}

bool
fleet_has_room(const struct fleet *fleet, const struct need *need)
{
	size_t fit;

	return !fleet->closed && find_room(fleet, need, &fit) != NULL;
}

/* What a run has queued: its turn, or calls. False at the end. */
static bool
next_need(const struct run *run, size_t *pos, struct need *ret)
{
	*ret = (struct need){ .name = slice_string(run->agent->model),
		.run = run };
	if (run->state == RUN_model)
		return (*pos)++ == 0 && !run->turn_open;
	ret->tool = true;
	while (run->state == RUN_tools && *pos < run->call_count) {
		const struct run_call *call = &run->calls[(*pos)++];

		ret->name = call->name;
		if (call->state == CALL_QUEUED)
			return true;
	}
	return false;
}

bool
fleet_offers_next(const struct fleet *fleet, const struct run *run)
{
	struct need need;
	size_t pos = 0, fit = 1;

	while (fit > 0 && next_need(run, &pos, &need))
		find_room(fleet, &need, &fit);
	return fit > 0;
}

static bool
has_credit(const struct fleet *fleet, bool tools)
{
	struct session *s;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (s->tools_worker == tools && s->credit > 0)
			return true;
	}
	return false;
}

bool
fleet_has_room_next(const struct fleet *fleet, const struct run *run)
{
	struct need need;
	size_t pos = 0;

	/* Thousands of runs may ask when one slot became free. */
	if (!has_credit(fleet, run->state == RUN_tools))
		return false;
	while (next_need(run, &pos, &need)) {
		if (fleet_has_room(fleet, &need))
			return true;
	}
	return false;
}

static void
say_why(
    struct fleet *fleet, const struct need *need, size_t fit, struct slice *why)
{
	const char *what = need->tool ? "tool" : "model";
	int len;

	if (fleet->closed)
		len = snprintf(fleet->why, sizeof(fleet->why),
		    "the supervisor to start again");
	else if (fit == 0)
		len = snprintf(fleet->why, sizeof(fleet->why),
		    "a worker that offers %s %.*s: none is connected", what,
		    SLICE_ARGS(need->name));
	else
		len = snprintf(fleet->why, sizeof(fleet->why),
		    "a free worker for %s %.*s: all slots of %zu are taken",
		    what, SLICE_ARGS(need->name), fit);
	*why = slice_of(fleet->why, (size_t)len);
}

/* Every tool of the agent must be known before its model may be asked. */
static bool
tools_known(struct fleet *fleet, const struct agent *agent, struct slice *why)
{
	for (size_t i = 0; i < agent->tool_count; i++) {
		int len;

		if (map_get(&fleet->tools, slice_string(agent->tools[i])) !=
		    NULL)
			continue;
		len = snprintf(fleet->why, sizeof(fleet->why),
		    "a worker that offers tool %s: none has connected yet",
		    agent->tools[i]);
		*why = slice_of(fleet->why, (size_t)len);
		return false;
	}
	return true;
}

/* Nobody can be asked yet, and without an answer such a call must not run. */
static bool
needs_person(struct fleet *fleet, const struct need *need, struct slice *why)
{
	const struct tool *tool =
	    need->tool ? map_get(&fleet->tools, need->name) : NULL;
	int len;

	if (tool == NULL || !tool->needs_approval)
		return false;
	len = snprintf(fleet->why, sizeof(fleet->why),
	    "an approval of tool %s (needs_approval), which this version cannot "
	    "ask for: cancel the run",
	    tool->name);
	*why = slice_of(fleet->why, (size_t)len);
	return true;
}

bool
fleet_place(void *arg, const struct need *need, struct placement *ret_at,
    struct slice *why)
{
	struct fleet *fleet = arg;
	struct session *s;
	const struct tool *tool;
	size_t fit = 0;

	if (!need->tool && !tools_known(fleet, need->run->agent, why))
		return false;
	if (needs_person(fleet, need, why))
		return false;
	s = fleet->closed ? NULL : find_room(fleet, need, &fit);
	if (s == NULL) {
		say_why(fleet, need, fit, why);
		return false;
	}
	tool = need->tool ? map_get(&fleet->tools, need->name) : NULL;
	s->credit--;
	s->flights++;
	*ret_at = (struct placement){ .worker = slice_string(s->name),
		.process = s->process,
		.session = s->number,
		.idempotent = tool != NULL && tool->idempotent };
	return true;
}

void
fleet_give_back(struct fleet *fleet, const struct placement *at)
{
	struct session *s =
	    map_get(&fleet->by_process, uuid_slice(&at->process));

	if (s == NULL || s->number != at->session)
		return;
	s->credit++;
	s->flights -= s->flights > 0;
	fleet->config.on_credit(fleet->config.arg);
}

void
fleet_close(struct fleet *fleet)
{
	fleet->closed = true;
}

/* ---- what the fleet can do ---- */

bool
fleet_agent_tools(
    struct fleet *fleet, struct agent_entry *agent, struct slice *ret_missing)
{
	const struct agent *a = &agent->agent;

	if (agent->tools_epoch == fleet->tools_epoch + 1)
		return true;
	buf_clear(&agent->tools);
	buf_putc(&agent->tools, '[');
	for (size_t i = 0; i < a->tool_count; i++) {
		struct tool *tool =
		    map_get(&fleet->tools, slice_string(a->tools[i]));

		if (tool == NULL) {
			*ret_missing = slice_string(a->tools[i]);
			return false;
		}
		if (i > 0)
			buf_putc(&agent->tools, ',');
		buf_puts(&agent->tools, tool->definition);
	}
	buf_putc(&agent->tools, ']');
	agent->tools_epoch = fleet->tools_epoch + 1;
	return true;
}

size_t
fleet_offers(
    const struct fleet *fleet, struct arena *arena, struct slice **ret_offers)
{
	struct session *s;
	size_t count = 0, cap = 0;

	LIST_EACH (s, next, &fleet->sessions, struct session, link)
		cap += s->offer_count;
	*ret_offers = ARENA_ARRAY(arena, cap + 1, struct slice);
	LIST_EACH (s, next2, &fleet->sessions, struct session, link) {
		for (size_t i = 0; i < s->offer_count; i++) {
			char text[LIMIT_NAME + 8];
			int len = snprintf(
			    text, sizeof(text), "%s:%s", s->kind, s->offers[i]);

			(*ret_offers)[count++] =
			    arena_copy(arena, slice_of(text, (size_t)len));
		}
	}
	return count;
}

size_t
fleet_local_flights(const struct fleet *fleet)
{
	struct session *s;
	size_t flights = 0;

	LIST_EACH (s, next, &fleet->sessions, struct session, link) {
		if (strcmp(s->host, fleet->host) == 0)
			flights += s->flights;
	}
	return flights;
}

static void
describe_session(const struct session *s, struct json_writer *w)
{
	json_open(w, '{');
	json_key(w, "name");
	json_text(w, s->name);
	json_key(w, "kind");
	json_text(w, s->kind);
	json_key(w, "host");
	json_text(w, s->host);
	json_key(w, "pid");
	json_unum(w, s->pid);
	json_key(w, "version");
	json_text(w, s->version);
	json_key(w, "session");
	json_unum(w, s->number);
	json_key(w, "slots");
	json_unum(w, s->slots);
	json_key(w, "credit");
	json_unum(w, s->credit);
	json_key(w, "in_flight");
	json_unum(w, s->flights);
	json_key(w, "sandbox");
	json_text(w, s->sandbox);
	for (int tools = 0; tools < 2; tools++) {
		json_key(w, tools ? "tools" : "models");
		json_open(w, '[');
		for (size_t i = 0;
		     s->tools_worker == (tools == 1) && i < s->offer_count; i++)
			json_text(w, s->offers[i]);
		json_close(w);
	}
	json_key(w, "connected_ms");
	json_unum(w, clock_ms() - s->hello_ms);
	json_close(w);
}

void
fleet_describe(const struct fleet *fleet, struct buf *out)
{
	struct json_writer w = json_writer(out);
	struct session *s;

	json_open(&w, '{');
	json_key(&w, "workers");
	json_open(&w, '[');
	LIST_EACH (s, next, &fleet->sessions, struct session, link)
		describe_session(s, &w);
	json_close(&w);
	json_close(&w);
}
