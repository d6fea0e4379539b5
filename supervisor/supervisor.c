/*
 * Holds the parts together: who is told of what, the tick, start and stop.
 * Decides nothing about runs.
 */
#include "supervisor/supervisor.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/front.h"
#include "supervisor/held.h"
#include "supervisor/runs.h"
#include "supervisor/schedule.h"
#include "supervisor/watch.h"

#define STOOD_STILL_MS 1500u /* a tick that late: this process was stopped */
#define TICK_MS        250u
#define KILL_AFTER_MS  3000u /* from SIGTERM to SIGKILL of local workers */
#define BYE_MS                                                                 \
	12000u /* past the limit of a stop: the database may take no longer */

/* ---- what the parts tell ---- */

static void
on_answer(void *arg, struct store_entry *entry, enum store_answer answer)
{
	struct supervisor *sup = arg;

	runs_answer(sup->runs, entry, answer);
}

static void
on_side_up(void *arg, bool first)
{
	struct supervisor *sup = arg;

	if (first)
		log_info("ready", log_uuid("supervisor", &sup->id),
		    log_str("front", sup->config->front_endpoint));
	schedule_find_mine(sup->schedule);
}

static void
leave(struct supervisor *sup, const char *why, int exit_code)
{
	fleet_say_bye(sup->fleet, why, false);
	sup->exit_code = exit_code;
	loop_stop(&sup->loop);
}

static void
on_deposed(void *arg)
{
	struct supervisor *sup = arg;

	log_error("deposed: another supervisor took over; starting anew");
	sup->start_anew = true;
	leave(sup, "deposed", 1);
}

static void
on_rewound(void *arg)
{
	struct supervisor *sup = arg;

	runs_drop_all(sup->runs);
	schedule_find_mine(sup->schedule);
}

static void
on_fatal(void *arg, const struct err *err)
{
	log_error("cannot go on", log_err(err));
	leave(arg, "stopped by an error", 1);
}

static void
on_result(void *arg, const struct fleet_result *result)
{
	struct supervisor *sup = arg;
	struct slot *slot = runs_find(sup->runs, &result->run);

	if (slot != NULL)
		runs_result(slot, result);
	else
		runs_forward(sup, result);
}

static void
on_delta(void *arg, const struct msg *msg, struct slice body)
{
	struct supervisor *sup = arg;

	watch_delta(sup->watch, msg, body);
}

static void
on_credit(void *arg)
{
	struct supervisor *sup = arg;

	sup->runs->feed = true;
}

static void
on_listed(void *arg, const struct uuid *process, const struct map *listed)
{
	held_check(arg, process, listed);
}

static void
on_session(void *arg)
{
	struct supervisor *sup = arg;

	runs_judge(sup->runs);
	watch_tell_all(sup->watch);
	schedule_poke(sup->schedule);
}

static uint64_t
on_connected(void *arg, const char *name)
{
	struct supervisor *sup = arg;

	return fleet_pid_of(sup->fleet, name);
}

static void
on_worker_ended(void *arg, uint64_t pid)
{
	struct supervisor *sup = arg;

	fleet_pid_ended(sup->fleet, pid);
}

/* Only who starts reeved can make that process anew, with its rights. */
static void
on_children_lost(void *arg)
{
	struct err err = { 0 };

	err_set(&err, ERR_SYSTEM,
	    "the process that starts workers is gone; start reeved again");
	on_fatal(arg, &err);
}

static void
on_pass(void *arg)
{
	struct supervisor *sup = arg;

	runs_pass(sup->runs);
}

/* ---- the tick and the stop ---- */

static void
on_bye(void *arg, const struct err *err)
{
	struct supervisor *sup = arg;

	if (err != NULL)
		log_warn("rows not given back", log_err(err));
	loop_stop(&sup->loop);
}

/* Workers first, then the rows: results that still come are stored. */
static void
stop_step(struct supervisor *sup)
{
	uint64_t now = clock_ms();
	bool over = now >= sup->stop_at_ms;
	size_t running = children_running(sup->children);

	if (running > 0 && over && now < sup->stop_at_ms + KILL_AFTER_MS) {
		children_stop(sup->children);
		return;
	}
	if (running > 0 && now >= sup->stop_at_ms + KILL_AFTER_MS)
		children_kill(sup->children);
	if (running > 0 && now < sup->stop_at_ms + 2 * KILL_AFTER_MS)
		return;
	if (!store_is_idle(sup->store) && !over)
		return;
	if (!sup->bye_sent) {
		sup->bye_sent = true;
		fleet_say_bye(sup->fleet, "the supervisor stops", false);
		store_bye(sup->store, on_bye, sup);
	} else if (now >= sup->stop_at_ms + BYE_MS) {
		log_warn("rows not given back: the database does not answer");
		loop_stop(&sup->loop);
	}
}

void
supervisor_stop(struct supervisor *sup)
{
	if (sup->stop_at_ms != 0)
		return;
	log_info("stopping", log_num("active_runs", (int64_t)sup->runs->count),
	    log_num("limit_ms", (int64_t)sup->config->stop_ms));
	sup->stop_at_ms = clock_ms() + sup->config->stop_ms;
	schedule_stop(sup->schedule);
	fleet_close(sup->fleet);
	fleet_say_bye(sup->fleet, "the supervisor stops", true);
	/* Those that are not connected. */
	children_stop(sup->children);
}

static void
on_tick(uv_timer_t *timer)
{
	struct supervisor *sup = timer->data;
	uint64_t now = clock_ms();

	if (now - sup->ticked_ms > STOOD_STILL_MS)
		fleet_pardon(sup->fleet);
	sup->ticked_ms = now;
	fleet_tick(sup->fleet);
	runs_tick(sup->runs);
	watch_tick(sup->watch);
	if (sup->stop_at_ms != 0) {
		stop_step(sup);
		return;
	}
	schedule_tick(sup->schedule);
	children_tick(sup->children);
}

/* ---- start ---- */

/* Workers of another user reach the work socket through a group. */
static int
open_work_socket(const struct config *config, struct err *err)
{
	const char *path = config->work_endpoint + strlen("ipc://");
	const struct group *group;

	if (config->work_group == NULL)
		return 0;
	group = getgrnam(config->work_group);
	if (group == NULL)
		return err_set(err, ERR_INPUT,
		    "work_group: there is no group %s", config->work_group);
	if (chown(path, (uid_t)-1, group->gr_gid) == -1 ||
	    chmod(path, 0660) == -1)
		return err_errno(err, "work_group: %s for group %s", path,
		    config->work_group);
	if (chmod(config->run_dir, 0711) == -1)
		return err_errno(err, "%s", config->run_dir);
	return 0;
}

static int
open_sockets(struct supervisor *sup, struct err *err)
{
	struct fleet_config fleet = { .loop = &sup->loop,
		.zmq = sup->zmq,
		.endpoint = sup->config->work_endpoint,
		.supervisor = sup->id,
		.on_result = on_result,
		.on_delta = on_delta,
		.on_credit = on_credit,
		.on_listed = on_listed,
		.on_session = on_session,
		.arg = sup };

	if (fleet_new(&sup->fleet, &fleet, err) == -1 ||
	    open_work_socket(sup->config, err) == -1)
		return -1;
	return front_new(&sup->front, sup, sup->config->front_endpoint, err);
}

static void
open_store(struct supervisor *sup)
{
	sup->store = store_new(&(struct store_config){
	    .loop = &sup->loop,
	    .conninfo = sup->config->database,
	    .supervisor = sup->id,
	    .name = sup->name,
	    .host = sup->host,
	    .on_answer = on_answer,
	    .on_side_up = on_side_up,
	    .on_deposed = on_deposed,
	    .on_rewound = on_rewound,
	    .on_fatal = on_fatal,
	    .arg = sup,
	});
}

int
supervisor_init(struct supervisor *sup, const struct config *config,
    struct children *children, bool after_crash, struct err *err)
{
	struct children_hooks hooks = { on_connected, on_worker_ended,
		on_children_lost, sup };

	*sup = (struct supervisor){ .config = config, .children = children };
	sup->id = uuid_v4();
	sup->started_ms = sup->ticked_ms = clock_ms();
	gethostname(sup->host, sizeof(sup->host) - 1);
	snprintf(
	    sup->name, sizeof(sup->name), "%s:%s", sup->host, config->run_dir);
	if (loop_init(&sup->loop, err) == -1)
		return -1;
	sup->zmq = zmq_ctx_new();
	zmq_ctx_set(sup->zmq, ZMQ_MAX_SOCKETS, 1024);
	sup->runs = runs_new(sup);
	sup->schedule = schedule_new(sup);
	sup->watch = watch_new(sup);
	if (open_sockets(sup, err) == -1 || children_begin(children, &sup->loop,
						after_crash, &hooks, err) == -1)
		return -1;
	open_store(sup);
	uv_timer_init(&sup->loop.uv, &sup->tick);
	sup->tick.data = sup;
	uv_timer_start(&sup->tick, on_tick, TICK_MS, TICK_MS);
	loop_add_pass(&sup->loop, &sup->pass, on_pass, sup);
	return 0;
}

void
supervisor_run(struct supervisor *sup)
{
	loop_run(&sup->loop);
}

void
supervisor_release(struct supervisor *sup)
{
	front_free(sup->front);
	runs_free(sup->runs);
	watch_free(sup->watch);
	schedule_free(sup->schedule);
	fleet_free(sup->fleet);
	store_free(sup->store);
	children_free(sup->children);
	loop_release(&sup->loop);
	agents_release(&sup->agents);
	if (sup->zmq != NULL)
		zmq_ctx_term(sup->zmq);
}
