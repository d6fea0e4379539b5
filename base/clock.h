/*
 * Clocks. Tests may set them; code that waits takes its time from here.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/base.h"

/* Milliseconds of CLOCK_BOOTTIME: counts while the machine sleeps, never
 * steps. For leases, limits, timings. */
uint64_t clock_ms(void);
/* Microseconds of the same clock. */
uint64_t clock_us(void);
/* Milliseconds since 1970 (CLOCK_REALTIME): only for what people read. */
uint64_t clock_wall_ms(void);
/* Test hook: all three stand at these values until clock_set(0, 0). */
void clock_set(uint64_t boot_ms, uint64_t wall_ms);

#define CLOCK_TEXT 25 /* 2026-01-02T03:04:05.678Z and NUL */
const char *clock_text(uint64_t wall_ms, char text[CLOCK_TEXT]);

#endif
