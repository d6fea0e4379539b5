/*
 * Waiting in tests of what lives in the loop: until a condition holds, looked
 * at once a pass; a guard fails the test when it never does.
 */
#ifndef TESTS_UNIT_PROTO_WAIT_H
#define TESTS_UNIT_PROTO_WAIT_H

#include "base/loop.h"

#include <check.h>

#define WAIT_GUARD_MS 3000
#define WAIT_PASS_MS                                                           \
	1 /* passes go on without events, for what clocks bring                \
	   */

static struct loop loop;
static uv_timer_t wait_guard, wait_ticker;
static struct loop_pass wait_pass;
static bool (*wait_done)(void);

static inline void
on_wait_guard(uv_timer_t *timer)
{
	(void)timer;
	ck_abort_msg("what the test waits for did not come");
}

static inline void
on_wait_tick(uv_timer_t *timer)
{
	(void)timer;
}

static inline void
on_wait_pass(void *arg)
{
	(void)arg;
	if (wait_done != NULL && wait_done())
		loop_stop(&loop);
}

static inline void
wait_for(bool (*done)(void))
{
	wait_done = done;
	uv_timer_start(&wait_guard, on_wait_guard, WAIT_GUARD_MS, 0);
	uv_timer_start(&wait_ticker, on_wait_tick, WAIT_PASS_MS, WAIT_PASS_MS);
	if (!done())
		loop_run(&loop);
	uv_timer_stop(&wait_guard);
	uv_timer_stop(&wait_ticker);
	wait_done = NULL;
}

static inline void
wait_set_up(void)
{
	struct err err = { 0 };

	ck_assert_int_eq(loop_init(&loop, &err), 0);
	uv_timer_init(&loop.uv, &wait_guard);
	uv_timer_init(&loop.uv, &wait_ticker);
	wait_pass = (struct loop_pass){ 0 };
	loop_add_pass(&loop, &wait_pass, on_wait_pass, NULL);
}

#endif
