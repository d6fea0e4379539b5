/*
 * Building a step: rows in arrays that grow inside the step's arena. Owns
 * nothing beside it; knows neither SQL nor the loop's rules.
 */
#include "proto/step.h"

/* Room for one more of `size` bytes in an array inside the arena. */
static void *
grow(struct step *step, void *array, size_t count, size_t *cap, size_t size)
{
	void *more;

	if (count < *cap)
		return array;
	if (count >= STEP_ROWS_MAX)
		BUG("step: %zu rows", count);
	*cap = *cap == 0 ? 8 : *cap * 2;
	more = arena_new(&step->arena, *cap * size);
	if (count > 0)
		memcpy(more, array, count * size);
	return more;
}

struct item_row *
step_add_item(struct step *step)
{
	step->items = grow(step, step->items, step->item_count, &step->item_cap,
	    sizeof(*step->items));
	return &step->items[step->item_count++];
}

struct call_row *
step_add_call(struct step *step)
{
	step->calls = grow(step, step->calls, step->call_count, &step->call_cap,
	    sizeof(*step->calls));
	return &step->calls[step->call_count++];
}

struct inbox_key *
step_add_inbox(struct step *step)
{
	step->inbox = grow(step, step->inbox, step->inbox_count,
	    &step->inbox_cap, sizeof(*step->inbox));
	return &step->inbox[step->inbox_count++];
}

void
step_release(struct step *step)
{
	arena_release(&step->arena);
	memset(step, 0, sizeof(*step));
}
