/*
 * Claims by the rules A4 of the commit protocol. One look at a time, all of it
 * on the side connection; never on the way of a step.
 */
#include "supervisor/schedule.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/load.h"
#include "supervisor/runs.h"

#define AGENTS_ASKED_MAX 64u

enum origin { FROM_QUEUE, FROM_ORPHANS, FROM_MINE };

struct candidate {
	struct uuid id;
	char agent[LIMIT_NAME + 1];
	uint32_t version;
	enum origin from;
	bool taken;
};

struct schedule {
	struct supervisor *sup;
	bool busy, again, stopped;
	bool mine;         /* the next look asks for runs that carry my name */
	bool backlog;      /* more was queued than could be taken */
	uint64_t inbox_ms; /* when the inbox query of this look was sent */
	struct candidate found[SCHEDULE_CLAIM * 3];
	size_t found_count;
	size_t asked; /* how many queued runs were asked for */
	size_t queued_found;
	struct uuid ids[SCHEDULE_CLAIM * 3]; /* of the claim in flight */
	size_t id_count, id_at;
	bool singly; /* all at once were refused: one by one from id_at */
};

static void look(struct schedule *s);

/* ---- limits ---- */

static uint32_t
agent_limit(const struct supervisor *sup, const struct agent_name *name)
{
	uint32_t own = name->limit;
	uint32_t ours = config_agent_limit(sup->config, name->name);

	if (own == 0 || (ours != 0 && ours < own))
		return ours;
	return own;
}

static bool
agent_is_full(const struct supervisor *sup, const struct agent_name *name)
{
	uint32_t limit = agent_limit(sup, name);

	return limit != 0 && name->active >= limit;
}

/* How many more may be active. A queue that is never empty must not keep back
 * what has begun, nor a limit a cancel: for those there is room beyond it. */
static size_t
room_for(const struct supervisor *sup, enum origin from)
{
	size_t limit = sup->config->active_runs;

	if (from != FROM_QUEUE)
		limit += SCHEDULE_CLAIM;
	return sup->runs->count >= limit ? 0 : limit - sup->runs->count;
}

static size_t
capacity(const struct supervisor *sup)
{
	return room_for(sup, FROM_QUEUE);
}

bool
schedule_may_start(const struct schedule *s, const struct agent_entry *agent)
{
	struct supervisor *sup = s->sup;
	struct run stand_in = { .agent = &agent->agent };
	struct need need = { .name = slice_string(agent->agent.model),
		.run = &stand_in };
	struct agent_name *name =
	    agents_name(&sup->agents, slice_string(agent->agent.name));

	return !s->stopped && !s->backlog && !name->backlog &&
	       capacity(sup) > 0 && !agent_is_full(sup, name) &&
	       fleet_has_room(sup->fleet, &need);
}

void
schedule_why(const struct schedule *s, struct slice agent, struct buf *out)
{
	struct supervisor *sup = s->sup;
	struct agent_name *name = agents_name(&sup->agents, agent);

	if (s->stopped)
		buf_puts(out, "the supervisor to start again");
	else if (capacity(sup) == 0)
		buf_printf(out,
		    "an active run to end: the limit of %u active runs "
		    "(limits.active_runs) is reached",
		    (unsigned)sup->config->active_runs);
	else if (agent_is_full(sup, name))
		buf_printf(out,
		    "a run of agent %s to end: its limit of %u active runs is "
		    "reached",
		    name->name, (unsigned)agent_limit(sup, name));
	else if (s->backlog)
		buf_puts(out, "runs before it in the queue");
}

/* ---- a look ---- */

static void
add_found(struct schedule *s, const PGresult *result, enum origin from)
{
	for (int row = 0;
	     row < PQntuples(result) && s->found_count < COUNT(s->found);
	     row++) {
		struct candidate *c = &s->found[s->found_count];
		struct slice agent = db_get(result, row, 1);

		c->id = db_get_uuid(result, row, 0);
		if (runs_find(s->sup->runs, &c->id) != NULL)
			continue;
		snprintf(c->agent, sizeof(c->agent), "%.*s", SLICE_ARGS(agent));
		c->version = (uint32_t)db_get_int(result, row, 2);
		c->from = from;
		c->taken = false;
		s->found_count++;
	}
}

/* false: there is no result. */
static bool
came(bool aborted, const struct err *err)
{
	if (err != NULL && !aborted)
		log_warn_slow("runs cannot be looked for", log_err(err));
	return err == NULL;
}

static void
on_queued(
    void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct schedule *s = arg;

	if (!came(aborted, err))
		return;
	s->queued_found = (size_t)PQntuples(result);
	add_found(s, result, FROM_QUEUE);
}

static void
on_found(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	if (came(aborted, err))
		add_found(arg, result, FROM_ORPHANS);
}

static void
on_mine(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct schedule *s = arg;

	if (came(aborted, err))
		add_found(s, result, FROM_MINE);
	if (err != NULL || s->found_count == COUNT(s->found))
		s->mine = true; /* not all of them */
}

static void
on_inbox(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct schedule *s = arg;

	if (!came(aborted, err))
		return;
	load_inbox(s->sup->runs, result);
	fleet_inbox_read(s->sup->fleet, s->inbox_ms);
}

/* ---- agents that candidates need ---- */

struct asked {
	struct schedule *s;
	char name[LIMIT_NAME + 1];
	uint32_t version;
};

static void
on_agent(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct asked *a = arg;
	struct err bad = { 0 };

	(void)aborted;
	if (err == NULL && PQntuples(result) == 1 &&
	    agents_add(&a->s->sup->agents, slice_string(a->name), a->version,
		db_get(result, 0, 1), false, clock_ms(), &bad) == NULL)
		log_error("agent cannot be read", log_str("agent", a->name),
		    log_num("version", a->version), log_err(&bad));
	mem_free(a);
}

static void
ask_agent(struct schedule *s, const struct candidate *c)
{
	struct db_params p = DB_PARAMS_INIT;
	struct asked *a = MEM_NEW(struct asked);

	a->s = s;
	a->version = c->version;
	snprintf(a->name, sizeof(a->name), "%s", c->agent);
	db_text(&p, slice_string(c->agent));
	db_int4(&p, c->version);
	db_send(store_side(s->sup->store), QUERY_agent_get, &p, on_agent, a);
	db_params_release(&p);
}

static struct agent_entry *
agent_of(struct schedule *s, const struct candidate *c)
{
	return agents_find(
	    &s->sup->agents, slice_string(c->agent), c->version, clock_ms());
}

/* ---- the claim ---- */

static void
look_done(struct schedule *s)
{
	s->busy = false;
	if (s->again && !s->stopped)
		look(s);
}

static void
on_loaded(void *arg, bool refused)
{
	struct schedule *s = arg;

	if (refused)
		s->mine = true;
	if (refused && !s->singly && s->id_count > 1) {
		s->singly = true;
		s->id_at = 0;
	}
	if (s->singly && s->id_at < s->id_count &&
	    db_is_up(store_side(s->sup->store))) {
		load_claim(s->sup, &s->ids[s->id_at++], 1, on_loaded, s);
		return;
	}
	s->singly = false;
	if (s->backlog)
		s->again = true;
	look_done(s);
}

/* An agent that is full was not asked for: its queue is not known. */
static void
forget_backlogs(struct schedule *s)
{
	size_t pos = 0;
	void *value;

	while (map_next(&s->sup->agents.by_name, &pos, NULL, &value)) {
		struct agent_name *name = value;

		name->backlog = agent_is_full(s->sup, name);
	}
}

/* Takes candidates of one origin in their order, as far as limits allow. */
static void
take(struct schedule *s, enum origin from)
{
	size_t room = room_for(s->sup, from);

	for (size_t i = 0; i < s->found_count; i++) {
		struct candidate *c = &s->found[i];
		struct agent_entry *agent = agent_of(s, c);
		struct agent_name *name =
		    agents_name(&s->sup->agents, slice_string(c->agent));

		if (c->from != from)
			continue;
		if (agent != NULL && name->limit == 0)
			name->limit = agent->agent.max_active;
		if (agent == NULL || s->id_count >= room) {
			s->backlog |= from == FROM_QUEUE;
			s->mine |= from == FROM_MINE;
		} else if (from == FROM_QUEUE && agent_is_full(s->sup, name)) {
			name->backlog = true;
		} else {
			/* Counted for good when it is loaded. */
			name->active++;
			c->taken = true;
			s->ids[s->id_count++] = c->id;
		}
	}
}

static void
claim(struct schedule *s)
{
	s->id_count = 0;
	s->backlog = s->queued_found >= s->asked;
	forget_backlogs(s);
	take(s, FROM_MINE);
	take(s, FROM_ORPHANS);
	take(s, FROM_QUEUE);
	for (size_t i = 0; i < s->found_count; i++) {
		if (s->found[i].taken)
			agents_name(
			    &s->sup->agents, slice_string(s->found[i].agent))
			    ->active--;
	}
	if (s->id_count == 0)
		look_done(s);
	else
		load_claim(s->sup, s->ids, s->id_count, on_loaded, s);
}

static void
on_agents_synced(void *arg, const struct err *err)
{
	struct schedule *s = arg;

	if (err != NULL)
		look_done(s);
	else
		claim(s);
}

static void
on_looked(void *arg, const struct err *err)
{
	struct schedule *s = arg;
	bool asked = false;

	if (err != NULL || s->stopped) {
		look_done(s);
		return;
	}
	for (size_t i = 0; i < s->found_count; i++) {
		if (agent_of(s, &s->found[i]) == NULL) {
			ask_agent(s, &s->found[i]);
			asked = true;
		}
	}
	if (asked)
		db_sync(store_side(s->sup->store), on_agents_synced, s);
	else
		claim(s);
}

/* Names whose limit is reached: they would only stand in the way. */
static void
put_full_agents(struct schedule *s, struct db_params *p)
{
	size_t pos = 0;
	void *value;

	db_array(p, DB_TEXT);
	while (map_next(&s->sup->agents.by_name, &pos, NULL, &value)) {
		const struct agent_name *name = value;

		if (agent_is_full(s->sup, name))
			db_bytes(p, slice_string(name->name));
	}
	db_array_end(p);
}

static void
ask_queued(struct schedule *s, struct db *side, struct db_params *p)
{
	size_t room = capacity(s->sup);

	s->asked = room < SCHEDULE_CLAIM ? room : SCHEDULE_CLAIM;
	s->queued_found = 0;
	if (s->asked == 0)
		return;
	db_params_clear(p);
	put_full_agents(s, p);
	db_int4(p, (int64_t)s->asked);
	db_send(side, QUERY_queue_pick, p, on_queued, s);
}

static void
ask_orphans(struct schedule *s, struct db *side, struct db_params *p)
{
	static const struct uuid none;
	struct arena arena = { 0 };
	struct slice *offers;
	size_t count = fleet_offers(s->sup->fleet, &arena, &offers);

	db_params_clear(p);
	db_uuid(p, &none);
	db_array(p, DB_TEXT);
	for (size_t i = 0; i < count; i++)
		db_bytes(p, offers[i]);
	db_array_end(p);
	db_int4(p, SCHEDULE_CLAIM);
	db_send(side, QUERY_adopt_pick, p, on_found, s);
	arena_release(&arena);
}

static void
look(struct schedule *s)
{
	struct db *side = store_side(s->sup->store);
	struct db_params p = DB_PARAMS_INIT;

	s->again = false;
	if (!db_is_up(side) || !store_is_up(s->sup->store))
		return;
	s->busy = true;
	s->found_count = 0;
	ask_queued(s, side, &p);
	ask_orphans(s, side, &p);
	db_params_clear(&p);
	db_uuid(&p, &s->sup->id);
	if (s->mine) {
		s->mine = false;
		db_send(side, QUERY_mine, &p, on_mine, s);
	}
	s->inbox_ms = clock_ms();
	db_send(side, QUERY_inbox_mine, &p, on_inbox, s);
	db_sync(side, on_looked, s);
	db_params_release(&p);
}

void
schedule_poke(struct schedule *s)
{
	if (s == NULL || s->stopped)
		return;
	if (s->busy)
		s->again = true;
	else
		look(s);
}

void
schedule_freed(struct schedule *s, const struct run *run)
{
	const struct agent_name *name =
	    agents_name(&s->sup->agents, slice_string(run->agent->name));

	if (s->backlog || name->backlog || run->session != NULL)
		schedule_poke(s);
}

void
schedule_tick(struct schedule *s)
{
	if (!s->busy && !s->stopped)
		look(s);
}

void
schedule_find_mine(struct schedule *s)
{
	s->mine = true;
	schedule_poke(s);
}

void
schedule_stop(struct schedule *s)
{
	s->stopped = true;
}

struct schedule *
schedule_new(struct supervisor *sup)
{
	struct schedule *s = MEM_NEW(struct schedule);

	s->sup = sup;
	return s;
}

struct schedule *
schedule_free(struct schedule *s)
{
	return mem_free(s);
}
