/*
 * One question per hello, on the side connection. The rows decide, not what is
 * loaded here: the run may be another supervisor's.
 */
#include "supervisor/held.h"

#include "base/alloc.h"
#include "base/log.h"

struct check {
	struct supervisor *sup;
	struct uuid process;
};

static void
on_stale(void *arg, const PGresult *result, bool aborted, const struct err *err)
{
	struct check *c = arg;

	(void)aborted;
	for (int row = 0; err == NULL && row < PQntuples(result); row++) {
		struct uuid run = db_get_uuid(result, row, 0);
		uint64_t turn = (uint64_t)db_get_int(result, row, 1);
		uint64_t call = (uint64_t)db_get_int(result, row, 2);
		uint64_t attempt = (uint64_t)db_get_int(result, row, 3);

		log_info("stale attempt cancelled", log_uuid("run", &run),
		    log_num("turn", (int64_t)turn),
		    log_num("call", (int64_t)call),
		    log_num("attempt", (int64_t)attempt));
		fleet_cancel(
		    c->sup->fleet, &c->process, &run, turn, call, attempt);
	}
}

static void
on_checked(void *arg, const struct err *err)
{
	(void)err; /* not asked: the attempt ends by its own limit */
	mem_free(arg);
}

/* Column n of the attempts: the run, or one of its numbers. */
static void
put_column(struct db_params *p, const struct map *listed, unsigned n)
{
	struct slice key;
	size_t pos = 0;
	void *session;

	db_array(p, n == 0 ? DB_UUID : DB_INT4);
	while (map_next(listed, &pos, &key, &session)) {
		struct fleet_attempt a = fleet_attempt_of(key);
		uint64_t numbers[] = { 0, a.turn, a.call, a.attempt };

		if (n == 0)
			db_uuid(p, &a.run);
		else
			db_int4(p, (int32_t)numbers[n]);
	}
	db_array_end(p);
}

void
held_check(struct supervisor *sup, const struct uuid *process,
    const struct map *listed)
{
	struct db *side = store_side(sup->store);
	struct db_params p = DB_PARAMS_INIT;
	struct check *c;

	if (listed->count == 0 || !db_is_up(side))
		return;
	c = MEM_NEW(struct check);
	c->sup = sup;
	c->process = *process;
	for (unsigned n = 0; n < 4; n++)
		put_column(&p, listed, n);
	db_send(side, QUERY_attempts_stale, &p, on_stale, c);
	db_sync(side, on_checked, c);
	db_params_release(&p);
}
