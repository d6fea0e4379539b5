/*
 * A step's rows as the parameters of step.sql, accept.sql and step_fail.sql.
 * The order here is the order there. Pure.
 */
#include "schema/store.h"

/* One column of rows: an array, or with slots that many single parameters, of
 * which the last may be null. */
#define COLUMN(p, slots, oid, rows, n, call)                                   \
	do {                                                                   \
		int first_ = column_begin(p, slots, oid);                      \
		for (size_t i_ = 0; i_ < (n); i_++) {                          \
			const __typeof__(*(rows)) *row = &(rows)[i_];          \
			call;                                                  \
		}                                                              \
		column_end(p, slots, first_);                                  \
	} while (0)

/* The same, for rows that the condition picks. */
#define COLUMN_IF(p, slots, oid, rows, n, condition, call)                     \
	COLUMN(                                                                \
	    p, slots, oid, rows, n, if (condition) { call; })

static int
column_begin(struct db_params *p, unsigned slots, enum db_oid oid)
{
	if (slots == 0)
		db_array(p, oid);
	return p->count;
}

static void
column_end(struct db_params *p, unsigned slots, int first)
{
	if (slots == 0)
		db_array_end(p);
	else
		while (p->count < first + (int)slots)
			db_null(p);
}

static void
guard(struct db_params *p, const struct step *step, const struct uuid *me)
{
	db_uuid(p, &step->run_id);
	db_uuid(p, me);
	db_int4(p, (int64_t)step->claim);
	db_int4(p, (int64_t)step->step);
}

static void
int8_or_null(struct db_params *p, bool known, int64_t value)
{
	if (known)
		db_int8(p, value);
	else
		db_null(p);
}

static void
usage_or_null(struct db_params *p, bool known, uint64_t value)
{
	int8_or_null(p, known, (int64_t)value);
}

/* For what is 0 when it was not measured, and else never. */
static void
measured_or_null(struct db_params *p, uint64_t value)
{
	int8_or_null(p, value != 0, (int64_t)value);
}

static void
run_params(struct db_params *p, const struct run_row *run)
{
	db_text(p, slice_string(run->state));
	db_text(p, run->reason);
	db_text(p, run->error);
	db_text(p, run->waits_for);
	db_text(p, run->needs);
	db_bool(p, run->park || run->final);
	int8_or_null(p, run->wake, (int64_t)run->wake_ms);
	db_int4(p, run->turn);
	db_int8(p, (int64_t)run->usage.input);
	db_int8(p, (int64_t)run->usage.output);
	db_int8(p, (int64_t)run->usage.total);
	db_int8(p, (int64_t)run->usage.cached);
	db_int8(p, (int64_t)run->usage.reasoning);
	db_int8(p, (int64_t)run->active_ms);
	db_bool(p, run->final);
}

static void
nulls(struct db_params *p, int n)
{
	while (n-- > 0)
		db_null(p);
}

static void
turn_end_params(struct db_params *p, const struct turn_end_row *end)
{
	const struct usage *u;

	if (end == NULL) {
		nulls(p, 20);
		return;
	}
	u = &end->usage;
	db_int4(p, end->turn);
	db_int4(p, end->attempt);
	db_text(p, slice_string(end->state));
	db_text(p, end->response_id);
	db_text(p, end->request_id);
	db_text(p, end->status);
	db_text(p, end->finish);
	db_text(p, end->error_class);
	db_text(p, end->error_code);
	db_text(p, end->error);
	if (end->http_status != 0)
		db_int4(p, (int64_t)end->http_status);
	else
		db_null(p);
	measured_or_null(p, end->wait_ms);
	usage_or_null(p, u->known, u->input);
	usage_or_null(p, u->known, u->output);
	usage_or_null(p, u->known, u->total);
	usage_or_null(p, u->known, u->cached);
	usage_or_null(p, u->known, u->reasoning);
	measured_or_null(p, end->headers_ms);
	measured_or_null(p, end->first_ms);
	measured_or_null(p, end->total_ms);
}

static void
turn_start_params(struct db_params *p, const struct turn_start_row *start)
{
	if (start == NULL) {
		nulls(p, 7);
		return;
	}
	db_int4(p, start->turn);
	db_int4(p, start->attempt);
	db_text(p, start->at.worker);
	db_uuid(p, &start->at.process);
	db_int8(p, (int64_t)start->at.session);
	db_text(p, start->model);
	db_int8(p, (int64_t)start->queued_ms);
}

#define ITEM(oid, call) COLUMN(p, slots, oid, items, n, call)

static void
item_params(
    struct db_params *p, unsigned slots, const struct item_row *items, size_t n)
{
	ITEM(DB_INT4, db_int4(p, row->turn));
	ITEM(DB_INT2, db_int2(p, row->category));
	ITEM(DB_INT4, db_int4(p, row->idx));
	ITEM(DB_TEXT, db_bytes(p, row->type));
	ITEM(DB_INT2, db_int2(p, row->marks));
	ITEM(DB_JSON, db_bytes(p, row->item));
}

static void
process_or_null(struct db_params *p, const struct placement *at)
{
	if (at->worker.len == 0)
		db_null(p);
	else
		db_uuid(p, &at->process);
}

static void
session_or_null(struct db_params *p, const struct placement *at)
{
	int8_or_null(p, at->worker.len > 0, (int64_t)at->session);
}

#define NEW(oid, call)                                                         \
	COLUMN_IF(p, slots, oid, calls, n, row->kind == CALL_ROW_NEW, call)

static void
new_call_params(
    struct db_params *p, unsigned slots, const struct call_row *calls, size_t n)
{
	NEW(DB_INT4, db_int4(p, row->turn));
	NEW(DB_INT4, db_int4(p, row->call));
	NEW(DB_INT4, db_int4(p, row->item_idx));
	NEW(DB_TEXT, db_bytes(p, row->call_id));
	NEW(DB_TEXT, db_bytes(p, row->name));
	NEW(DB_TEXT, db_text(p, slice_string(row->state)));
	NEW(DB_BOOL, db_bool(p, row->at.idempotent));
	NEW(DB_INT4, db_int4(p, row->attempt));
	NEW(DB_TEXT, db_text(p, row->at.worker));
	NEW(DB_UUID, process_or_null(p, &row->at));
	NEW(DB_INT8, session_or_null(p, &row->at));
	NEW(DB_TEXT, db_text(p, row->outcome));
}

/* A call that ran somewhere has numbers; one that was dispatched, lost or
 * cancelled has none. */
static bool
was_measured(const struct call_row *row)
{
	return row->kind == CALL_ROW_END &&
	       (row->code != 0 || row->wall_ms != 0 || row->cpu_ms != 0 ||
		   row->rss_kb != 0 || row->stdout_bytes != 0 ||
		   row->stderr_bytes != 0 || row->dropped_bytes != 0);
}

#define MOVED(oid, call)                                                       \
	COLUMN_IF(p, slots, oid, calls, n, row->kind != CALL_ROW_NEW, call)
#define MEASURED(value)                                                        \
	MOVED(DB_INT8, int8_or_null(p, was_measured(row), (int64_t)(value)))

static void
moved_call_params(
    struct db_params *p, unsigned slots, const struct call_row *calls, size_t n)
{
	MOVED(DB_INT4, db_int4(p, row->turn));
	MOVED(DB_INT4, db_int4(p, row->call));
	MOVED(DB_TEXT, db_text(p, slice_string(row->state)));
	MOVED(DB_BOOL, db_bool(p, row->at.idempotent));
	MOVED(DB_INT4, db_int4(p, row->attempt));
	MOVED(DB_TEXT, db_text(p, row->at.worker));
	MOVED(DB_UUID, process_or_null(p, &row->at));
	MOVED(DB_INT8, session_or_null(p, &row->at));
}

static void
outcome_params(
    struct db_params *p, unsigned slots, const struct call_row *calls, size_t n)
{
	MOVED(DB_TEXT, db_text(p, row->outcome));
	MOVED(DB_TEXT, db_text(p, row->sandbox));
	MEASURED(row->code);
	MEASURED(row->wall_ms);
	MEASURED(row->cpu_ms);
	MEASURED(row->rss_kb);
	MEASURED(row->stdout_bytes);
	MEASURED(row->stderr_bytes);
	MEASURED(row->dropped_bytes);
}

static void
inbox_params(struct db_params *p, const struct inbox_key *keys, size_t n)
{
	COLUMN(p, 0, DB_TEXT, keys, n, db_bytes(p, row->kind));
	COLUMN(p, 0, DB_TEXT, keys, n, db_bytes(p, row->key));
}

/* ---- which statement a step takes ---- */

enum part {
	PART_TURN_END = 1,
	PART_TURN_START = 2,
	PART_ITEMS = 4,
	PART_CALLS_NEW = 8,
	PART_CALLS_MOVED = 16,
	PART_INBOX = 32,
};

/* Cheapest first: every part that a statement has costs, used or not. So do
 * arrays, a third of a step: few rows go as single parameters (slots). */
#define ITEM_SLOTS 2u
#define CALL_SLOTS 1u

static const struct statement {
	enum db_query query;
	unsigned parts;
	unsigned item_slots, call_slots; /* 0: arrays */
} statements[] = {
	{ QUERY_step_final, PART_TURN_END | PART_ITEMS, ITEM_SLOTS, 0 },
	{ QUERY_step_outputs, PART_TURN_START | PART_ITEMS | PART_CALLS_MOVED,
	    ITEM_SLOTS, CALL_SLOTS },
	{ QUERY_step_calls, PART_TURN_END | PART_ITEMS | PART_CALLS_NEW,
	    ITEM_SLOTS, CALL_SLOTS },
	{ QUERY_step_calls_many, PART_TURN_END | PART_ITEMS | PART_CALLS_NEW, 0,
	    0 },
	{ QUERY_step,
	    PART_TURN_END | PART_TURN_START | PART_ITEMS | PART_CALLS_NEW |
		PART_CALLS_MOVED | PART_INBOX,
	    0, 0 },
};

static unsigned
parts_of(const struct step *step)
{
	unsigned parts = 0;

	parts |= step->turn_end != NULL ? PART_TURN_END : 0;
	parts |= step->turn_start != NULL ? PART_TURN_START : 0;
	parts |= step->item_count > 0 ? PART_ITEMS : 0;
	parts |= step->inbox_count > 0 ? PART_INBOX : 0;
	for (size_t i = 0; i < step->call_count; i++)
		parts |= step->calls[i].kind == CALL_ROW_NEW ? PART_CALLS_NEW
							     : PART_CALLS_MOVED;
	return parts;
}

static bool
takes(const struct statement *s, const struct step *step)
{
	return (parts_of(step) & ~s->parts) == 0 &&
	       (s->item_slots == 0 || step->item_count <= s->item_slots) &&
	       (s->call_slots == 0 || step->call_count <= s->call_slots);
}

enum db_query
store_step_params(
    const struct step *step, const struct uuid *me, struct db_params *p)
{
	const struct statement *s = statements;
	unsigned parts;

	while (!takes(s, step))
		s++;
	parts = s->parts;
	guard(p, step, me);
	run_params(p, &step->run);
	if (parts & PART_TURN_END)
		turn_end_params(p, step->turn_end);
	if (parts & PART_TURN_START)
		turn_start_params(p, step->turn_start);
	if (parts & PART_ITEMS)
		item_params(p, s->item_slots, step->items, step->item_count);
	if (parts & PART_CALLS_NEW)
		new_call_params(
		    p, s->call_slots, step->calls, step->call_count);
	if (parts & PART_CALLS_MOVED) {
		moved_call_params(
		    p, s->call_slots, step->calls, step->call_count);
		outcome_params(p, s->call_slots, step->calls, step->call_count);
	}
	if (parts & PART_INBOX)
		inbox_params(p, step->inbox, step->inbox_count);
	return s->query;
}

enum db_query
store_accept_params(
    const struct step *step, const struct uuid *me, struct db_params *p)
{
	bool few = step->item_count <= ITEM_SLOTS;

	db_uuid(p, &step->run_id);
	db_text(p, step->agent);
	db_int4(p, step->agent_version);
	db_text(p, step->session);
	db_int2(p, step->priority);
	db_text(p, step->metadata);
	db_text(p, slice_string(step->run.state));
	db_text(p, step->run.waits_for);
	db_uuid(p, me);
	db_int4(p, (int64_t)step->claim);
	db_int4(p, step->run.turn);
	turn_start_params(p, step->turn_start);
	item_params(p, few ? ITEM_SLOTS : 0, step->items, step->item_count);
	return few ? QUERY_accept : QUERY_accept_items;
}

void
store_fail_params(const struct step *step, const struct uuid *me,
    const struct err *why, struct db_params *p)
{
	char text[128];

	guard(p, step, me);
	snprintf(text, sizeof(text),
	    "the database refused the data of this step (SQLSTATE %s)",
	    why->sqlstate);
	db_text(p, slice_string(text));
}
