/*
 * Watchers by run. Live events come from the step just committed; whoever has
 * another state than that step's predecessor is served from rows.
 */
#include "supervisor/watch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/front.h"
#include "supervisor/replay.h"

struct group {
	struct uuid run;
	struct list watchers;
};

struct watcher {
	struct list link; /* in its group */
	struct group *group;
	struct peer peer;
	uint64_t request;
	uint64_t seq;  /* last event sent */
	uint64_t step; /* last step sent whole */
	bool deltas;
	bool answered;           /* the client was told that the run exists */
	bool replaying, removed; /* removed: freed when the replay ends */
	bool behind;             /* must be served from rows */
	bool gap;    /* the turn in flight is not known here: a snapshot, or its
		      * first delta, must come first */
	bool resync; /* deltas were left out: the client must be told */
	uint64_t look_ms, pause_ms; /* the next look into rows */
	uint64_t sent_ms;           /* when something was sent last */
};

#define LOOK_FIRST_MS 250u /* doubles while nothing comes of it */
#define LOOK_MAX_MS   4000u
#define KEEPALIVE_MS  30000u /* a client that is gone is found by it */

struct watch {
	struct supervisor *sup;
	struct map groups; /* run -> group */
	size_t count;
};

/* ---- sending ---- */

static void
leave(struct watch *watch, struct watcher *w)
{
	struct group *group = w->group;

	list_remove(&w->link);
	watch->count--;
	if (list_is_empty(&group->watchers)) {
		map_remove(&watch->groups, uuid_slice(&group->run));
		mem_free(group);
	}
	w->group = NULL;
	if (w->replaying)
		w->removed = true;
	else
		mem_free(w);
}

/* false: the client cannot take it now; it is behind or gone. */
static bool
send_event(struct watch *watch, struct watcher *w, uint64_t seq,
    const char *type, bool final, uint64_t at_ms, struct slice body)
{
	enum front_sent sent = front_event(watch->sup->front, &w->peer,
	    &w->group->run, seq, type, final, at_ms, body);

	if (sent == FRONT_SENT) {
		w->sent_ms = clock_ms();
		w->pause_ms = LOOK_FIRST_MS;
		return true;
	}
	w->behind = true;
	if (sent == FRONT_GONE)
		w->removed = true;
	return false;
}

struct emitting {
	struct watch *watch;
	struct watcher *watcher;
	bool final;
};

static void
emit_one(void *arg, uint64_t seq, const char *type, bool final, uint64_t at_ms,
    struct slice body)
{
	struct emitting *e = arg;
	struct watcher *w = e->watcher;

	if (seq <= w->seq || w->behind || w->removed)
		return;
	if (!send_event(e->watch, w, seq, type, final, at_ms, body))
		return;
	w->seq = seq;
	e->final |= final;
}

/* ---- from rows ---- */

static void
tell_turn(struct watch *watch, const struct uuid *run, bool on)
{
	struct slot *slot = runs_find(watch->sup->runs, run);

	if (slot != NULL && slot->run->turn_open && !slot->open)
		fleet_watch_turn(watch->sup->fleet, &slot->run->turn_at.process,
		    run, slot->run->turn, slot->run->attempt, on);
}

static void
on_replayed(void *arg, bool found, uint64_t step, const struct err *err)
{
	struct emitting *e = arg;
	struct watcher *w = e->watcher;
	struct watch *watch = e->watch;

	w->replaying = false;
	if (w->group != NULL && found && !w->answered) {
		w->answered = true;
		front_watching(watch->sup->front, &w->peer, w->request);
	}
	if (w->group == NULL) {
		mem_free(w);
	} else if (w->removed || e->final) {
		leave(watch, w);
	} else if (err != NULL) {
		w->behind = true;
	} else if (!found) {
		front_no_run(
		    watch->sup->front, &w->peer, w->request, &w->group->run);
		leave(watch, w);
	} else if (!w->behind) {
		w->step = step;
		if (w->gap && !w->resync)
			tell_turn(watch, &w->group->run, true);
	}
	mem_free(e);
}

static void
replay(struct watch *watch, struct watcher *w)
{
	struct emitting *e = MEM_NEW(struct emitting);

	e->watch = watch;
	e->watcher = w;
	w->replaying = true;
	w->behind = false;
	w->look_ms = clock_ms() + w->pause_ms;
	w->pause_ms =
	    w->pause_ms * 2 > LOOK_MAX_MS ? LOOK_MAX_MS : w->pause_ms * 2;
	replay_run(
	    watch->sup, &w->group->run, w->step, emit_one, on_replayed, e);
}

/* After deltas were left out: the client forgets the turn in flight and gets
 * all of it again. */
static void
close_gap(struct watch *watch, struct watcher *w)
{
	if (front_event(watch->sup->front, &w->peer, &w->group->run, w->seq,
		"resync", false, clock_wall_ms(), SLICE("{}")) != FRONT_SENT)
		return;
	w->resync = false;
	tell_turn(watch, &w->group->run, true);
}

/* false: the client is gone and the watcher with it. */
static bool
keep_alive(struct watch *watch, struct watcher *w, uint64_t now)
{
	if (now - w->sent_ms < KEEPALIVE_MS)
		return true;
	w->sent_ms = now;
	if (front_event(watch->sup->front, &w->peer, &w->group->run, w->seq,
		"keepalive", false, clock_wall_ms(), SLICE("{}")) != FRONT_GONE)
		return true;
	leave(watch, w);
	return false;
}

/* The group may be gone with its last watcher. */
static void
serve_group(struct watch *watch, struct group *group, bool at_once)
{
	bool here = runs_find(watch->sup->runs, &group->run) != NULL;
	uint64_t now = clock_ms();
	struct watcher *w;

	LIST_EACH (w, next, &group->watchers, struct watcher, link) {
		bool last = next == &group->watchers;

		if (w->replaying || !keep_alive(watch, w, now)) {
			if (last)
				return;
			continue;
		}
		if ((w->behind || !here) && (at_once || now >= w->look_ms))
			replay(watch, w);
		else if (w->resync)
			close_gap(watch, w);
		else if (w->gap)
			tell_turn(watch, &group->run, true);
	}
}

void
watch_tick(struct watch *watch)
{
	size_t pos = 0;
	void *group;

	if (!db_is_up(store_read(watch->sup->store)))
		return;
	while (map_next(&watch->groups, &pos, NULL, &group))
		serve_group(watch, group, false);
}

/* ---- live ---- */

void
watch_step(struct watch *watch, const struct slot *slot)
{
	struct group *group =
	    map_get(&watch->groups, uuid_slice(&slot->run->id));
	struct watcher *w;
	uint64_t step_no = slot->run->step;
	bool more = group != NULL;

	if (!more)
		return;
	LIST_EACH (w, next, &group->watchers, struct watcher, link) {
		struct emitting e = { watch, w, false };
		bool last = next == &group->watchers;

		if (w->replaying || w->behind || w->step + 1 != step_no) {
			w->behind = true;
		} else {
			events_of_step(&slot->step, step_no, emit_one, &e);
			w->step = w->behind ? w->step : step_no;
		}
		if (e.final || (w->removed && !w->replaying))
			leave(watch, w);
		if (last)
			break; /* the group may be gone with its last one */
	}
}

void
watch_lost(struct watch *watch, const struct uuid *run)
{
	struct group *group = map_get(&watch->groups, uuid_slice(run));

	if (group != NULL && db_is_up(store_read(watch->sup->store)))
		serve_group(watch, group, true);
}

/* A watcher that does not know the turn so far waits for its beginning. */
static void
give_delta(struct watch *watch, struct watcher *w, bool snapshot,
    uint64_t offset, struct slice body)
{
	if (!w->deltas || w->replaying || w->behind || w->resync ||
	    (w->gap && !snapshot && offset != 0))
		return;
	w->gap = w->resync =
	    front_event(watch->sup->front, &w->peer, &w->group->run, w->seq,
		snapshot ? "snapshot" : "delta", false, clock_wall_ms(),
		body) == FRONT_FULL;
}

void
watch_delta(struct watch *watch, const struct msg *msg, struct slice body)
{
	const struct msg_turn_delta *d = &msg->turn_delta;
	bool snapshot = msg->id == MSG_turn_snapshot;
	struct group *group = map_get(&watch->groups, uuid_slice(&d->run));
	struct buf out = BUF_INIT(LIMIT_BODY);
	struct json checked;
	struct watcher *w;

	/* Both messages have the same fields in the same order. */
	if (group == NULL || json_parse(body, &checked, NULL, NULL) == -1)
		return;
	buf_printf(&out,
	    "{\"turn\":%llu,\"attempt\":%llu,\"offset\":%llu,\"deltas\":",
	    (unsigned long long)d->turn, (unsigned long long)d->attempt,
	    (unsigned long long)d->offset);
	buf_put_slice(&out, checked.raw);
	buf_putc(&out, '}');
	if (out.failed)
		goto out; /* the events of the rows bring it */
	LIST_EACH (w, next, &group->watchers, struct watcher, link) {
		give_delta(watch, w, snapshot, d->offset, buf_slice(&out));
	}
out:
	buf_release(&out);
}

bool
watch_wants_deltas(const struct watch *watch, const struct uuid *run)
{
	const struct group *group = map_get(&watch->groups, uuid_slice(run));
	struct watcher *w;

	if (group == NULL)
		return false;
	LIST_EACH (w, next, &group->watchers, struct watcher, link) {
		if (w->deltas)
			return true;
	}
	return false;
}

/* ---- coming and going ---- */

void
watch_tell(struct watch *watch, const struct uuid *run)
{
	if (watch_wants_deltas(watch, run))
		tell_turn(watch, run, true);
}

void
watch_tell_all(struct watch *watch)
{
	size_t pos = 0;
	void *group;

	while (map_next(&watch->groups, &pos, NULL, &group))
		watch_tell(watch, &((struct group *)group)->run);
}

int
watch_add(struct watch *watch, const struct peer *peer, uint64_t request,
    const struct uuid *run, uint64_t from_seq, bool deltas, bool live,
    struct err *err)
{
	struct group *group = map_get(&watch->groups, uuid_slice(run));
	struct watcher *w;

	if (watch->count >= WATCHERS_MAX)
		return err_set(err, ERR_BUSY,
		    "%u watchers are served already; try again later",
		    WATCHERS_MAX);
	if (group == NULL) {
		group = MEM_NEW(struct group);
		group->run = *run;
		list_init(&group->watchers);
		map_set(&watch->groups, uuid_slice(run), group);
	}
	w = MEM_NEW(struct watcher);
	w->group = group;
	w->peer = *peer;
	w->request = request;
	w->seq = from_seq;
	w->deltas = deltas;
	w->gap = deltas && !live;
	w->pause_ms = LOOK_FIRST_MS;
	w->sent_ms = clock_ms();
	w->answered = live; /* it was accepted this moment */
	/* The step of from_seq may have been sent in part. */
	w->step = from_seq >> 20 > 0 ? (from_seq >> 20) - 1 : 0;
	list_append(&group->watchers, &w->link);
	watch->count++;
	if (!live)
		replay(watch, w);
	return 0;
}

void
watch_remove(
    struct watch *watch, const struct peer *peer, const struct uuid *run)
{
	struct group *group = map_get(&watch->groups, uuid_slice(run));
	struct watcher *w, *found = NULL;

	if (group == NULL)
		return;
	LIST_EACH (w, next, &group->watchers, struct watcher, link) {
		if (slice_eq(peer_slice(&w->peer), peer_slice(peer)))
			found = w;
	}
	if (found == NULL)
		return;
	leave(watch, found);
	if (!watch_wants_deltas(watch, run))
		tell_turn(watch, run, false);
}

struct watch *
watch_new(struct supervisor *sup)
{
	struct watch *watch = MEM_NEW(struct watch);

	watch->sup = sup;
	return watch;
}

struct watch *
watch_free(struct watch *watch)
{
	size_t pos = 0;
	void *value;

	if (watch == NULL)
		return NULL;
	while (map_next(&watch->groups, &pos, NULL, &value)) {
		struct group *group = value;

		while (!list_is_empty(&group->watchers)) {
			struct watcher *w =
			    LIST_FIRST(&group->watchers, struct watcher, link);

			list_remove(&w->link);
			mem_free(w);
		}
		mem_free(group);
	}
	map_release(&watch->groups);
	return mem_free(watch);
}
