/*
 * How long the provider asks to wait: from its headers, or from the text of its
 * message. Values that are past, negative or no number count as absent.
 */
#include <curl/curl.h>
#include <math.h>
#include <strings.h>

#include "workers/model/errors.h"

#define WAIT_MAX_MS 1e15 /* beyond any use, within any integer */

static uint64_t
whole_ms(double ms)
{
	if (!(ms > 0) || ms > WAIT_MAX_MS)
		return 0;
	return (uint64_t)ms < 1 ? 1 : (uint64_t)ms;
}

/* A plain decimal number at the start of text. */
static bool
number(const char *text, double *ret_value, const char **ret_end)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*ret_value = strtod(text, &end);
	*ret_end = end;
	return isfinite(*ret_value);
}

static uint64_t
date_ms(const char *text, uint64_t wall_ms)
{
	time_t when = curl_getdate(text, NULL);

	if (when <= 0 || (uint64_t)when * 1000 <= wall_ms)
		return 0;
	return (uint64_t)when * 1000 - wall_ms;
}

uint64_t
retry_wait_ms(const char *after_ms, const char *after, uint64_t wall_ms)
{
	const char *end;
	double value;

	if (after_ms != NULL && number(after_ms, &value, &end) &&
	    *end == '\0' && whole_ms(value) > 0)
		return whole_ms(value);
	if (after == NULL)
		return 0;
	if (number(after, &value, &end) && *end == '\0')
		return whole_ms(value * 1000);
	return date_ms(after, wall_ms);
}

enum retry_advice
retry_advice(const char *should_retry)
{
	if (should_retry != NULL && strcasecmp(should_retry, "true") == 0)
		return RETRY_YES;
	if (should_retry != NULL && strcasecmp(should_retry, "false") == 0)
		return RETRY_NO;
	return RETRY_UNSAID;
}

/* Milliseconds of one unit; 0 = no unit. Longer names come first. */
static double
unit_ms(const char **text)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {
		{ "milliseconds", 1 },
		{ "ms", 1 },
		{ "seconds", 1000 },
		{ "second", 1000 },
		{ "minutes", 60000 },
		{ "minute", 60000 },
		{ "hours", 3600000 },
		{ "hour", 3600000 },
		{ "s", 1000 },
		{ "m", 60000 },
		{ "h", 3600000 },
	};

	while (**text == ' ')
		(*text)++;
	for (size_t i = 0; i < COUNT(units); i++) {
		size_t len = strlen(units[i].name);

		if (strncasecmp(*text, units[i].name, len) == 0) {
			*text += len;
			return units[i].ms;
		}
	}
	return 0;
}

uint64_t
retry_text_ms(const char *message)
{
	const char *p = strcasestr(message, "try again in ");
	double value, unit, total = 0;

	if (p == NULL)
		return 0;
	p += strlen("try again in ");
	while (number(p, &value, &p)) {
		unit = unit_ms(&p);
		if (unit == 0)
			break;
		total += value * unit;
	}
	return whole_ms(total);
}
