/*
 * Reads times. Pure: never looks at a clock and knows no time zone but the one
 * that stands in the text.
 */
#include "cli/when.h"

#define DAY_S        86400u
#define RELATIVE_MAX (UINT64_C(3650) * DAY_S * 1000)

static const struct {
	char unit;
	uint32_t seconds;
} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY_S } };

struct cursor {
	const char *p, *end;
	bool failed;
};

static bool
cursor_is_digit(const struct cursor *c)
{
	return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

/* Exactly `digits` digits with a value from least to most. */
static uint32_t
cursor_number(struct cursor *c, int digits, uint32_t least, uint32_t most)
{
	uint32_t value = 0;

	for (int i = 0; i < digits; i++, c->p++) {
		if (!cursor_is_digit(c)) {
			c->failed = true;
			return least;
		}
		value = value * 10 + (uint32_t)(*c->p - '0');
	}
	if (value < least || value > most)
		c->failed = true;
	return value;
}

static char
cursor_one_of(struct cursor *c, const char *allowed)
{
	if (c->p < c->end && *c->p != '\0' && strchr(allowed, *c->p) != NULL)
		return *c->p++;
	c->failed = true;
	return '\0';
}

/* Milliseconds of ".678…"; further digits are dropped. */
static uint32_t
cursor_fraction(struct cursor *c)
{
	uint32_t ms = 0, scale = 100;

	if (c->p == c->end || *c->p != '.')
		return 0;
	c->p++;
	if (!cursor_is_digit(c))
		c->failed = true;
	for (; cursor_is_digit(c); c->p++, scale /= 10)
		ms += (uint32_t)(*c->p - '0') * scale;
	return ms;
}

static bool
is_leap(uint32_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static uint32_t
days_of_month(uint32_t year, uint32_t month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };

	return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days from 1970-01-01 to the first of January of `year`. */
static uint32_t
days_before_year(uint32_t year)
{
	uint32_t y = year - 1;

	return y * 365 + y / 4 - y / 100 + y / 400 - 719162;
}

static int64_t
cursor_date(struct cursor *c)
{
	uint32_t year = cursor_number(c, 4, 1970, 9999), month, day, days;

	cursor_one_of(c, "-");
	month = cursor_number(c, 2, 1, 12);
	if (c->failed)
		return 0;
	cursor_one_of(c, "-");
	day = cursor_number(c, 2, 1, days_of_month(year, month));
	days = days_before_year(year) + day - 1;
	for (uint32_t m = 1; m < month; m++)
		days += days_of_month(year, m);
	return (int64_t)days * DAY_S;
}

static int64_t
cursor_time(struct cursor *c)
{
	uint32_t hour, minute, second;

	hour = cursor_number(c, 2, 0, 23);
	cursor_one_of(c, ":");
	minute = cursor_number(c, 2, 0, 59);
	cursor_one_of(c, ":");
	second = cursor_number(c, 2, 0, 60);
	return (int64_t)hour * 3600 + minute * 60 + second;
}

/* Seconds east of Greenwich. "+02" without minutes is what PostgreSQL prints.
 */
static int64_t
cursor_zone(struct cursor *c)
{
	char sign = cursor_one_of(c, "Zz+-");
	int64_t seconds;

	if (sign != '+' && sign != '-')
		return 0;
	seconds = (int64_t)cursor_number(c, 2, 0, 23) * 3600;
	if (c->p != c->end) {
		cursor_one_of(c, ":");
		seconds += (int64_t)cursor_number(c, 2, 0, 59) * 60;
	}
	return sign == '-' ? -seconds : seconds;
}

bool
when_rfc3339(struct slice text, uint64_t *ret_ms)
{
	struct cursor c = { text.ptr, text.ptr + text.len, text.len == 0 };
	int64_t seconds;
	uint32_t ms;

	seconds = cursor_date(&c);
	cursor_one_of(&c, "Tt ");
	seconds += cursor_time(&c);
	ms = cursor_fraction(&c);
	seconds -= cursor_zone(&c);
	if (c.failed || c.p != c.end || seconds < 0)
		return false;
	*ret_ms = (uint64_t)seconds * 1000 + ms;
	return true;
}

bool
when_relative(struct slice text, uint64_t *ret_ms)
{
	uint64_t value = 0;
	size_t i;

	if (text.len < 3 || text.ptr[0] != '+')
		return false;
	for (i = 1; i + 1 < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.ptr[i] - '0');
		if (value > RELATIVE_MAX)
			return false;
	}
	for (size_t u = 0; u < COUNT(units); u++) {
		if (units[u].unit != text.ptr[i])
			continue;
		value *= (uint64_t)units[u].seconds * 1000;
		if (value > RELATIVE_MAX)
			return false;
		*ret_ms = value;
		return true;
	}
	return false;
}
