/*
 * The clocks of the kernel, and the hook by which tests stand in for them.
 * Owns only that hook's values. Never waits.
 */
#include "base/clock.h"

#include <time.h>

static struct {
	uint64_t boot_ms, wall_ms;
} fixed; /* both 0: the real clocks */

static bool
is_fixed(void)
{
	return fixed.boot_ms != 0 || fixed.wall_ms != 0;
}

static uint64_t
read_us(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) == -1)
		BUG("clock %d: errno %d", (int)id, errno);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

uint64_t
clock_us(void)
{
	return is_fixed() ? fixed.boot_ms * 1000 : read_us(CLOCK_BOOTTIME);
}

uint64_t
clock_wall_ms(void)
{
	return is_fixed() ? fixed.wall_ms : read_us(CLOCK_REALTIME) / 1000;
}

void
clock_set(uint64_t boot_ms, uint64_t wall_ms)
{
	fixed.boot_ms = boot_ms;
	fixed.wall_ms = wall_ms;
}

/* Writes `value` with leading zeros into `width` places before `end`. */
static void
digits(char *end, int width, uint64_t value)
{
	for (; width > 0; width--, value /= 10)
		*--end = (char)('0' + value % 10);
}

const char *
clock_text(uint64_t wall_ms, char text[CLOCK_TEXT])
{
	/* 9999-12-31T23:59:59.999Z: the last time that has four year digits. */
	const uint64_t last = UINT64_C(253402300799999);
	struct tm tm = { 0 };

	if (wall_ms > last)
		wall_ms = last;
	time_t seconds = (time_t)(wall_ms / 1000);

	if (gmtime_r(&seconds, &tm) == NULL)
		BUG("gmtime of %llu", (unsigned long long)wall_ms);
	memcpy(text, "0000-00-00T00:00:00.000Z", CLOCK_TEXT);
	digits(text + 4, 4, (uint64_t)tm.tm_year + 1900);
	digits(text + 7, 2, (uint64_t)tm.tm_mon + 1);
	digits(text + 10, 2, (uint64_t)tm.tm_mday);
	digits(text + 13, 2, (uint64_t)tm.tm_hour);
	digits(text + 16, 2, (uint64_t)tm.tm_min);
	digits(text + 19, 2, (uint64_t)tm.tm_sec);
	digits(text + 23, 3, wall_ms % 1000);
	return text;
}
