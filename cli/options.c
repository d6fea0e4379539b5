/*
 * Reads the command line by the rows of options.def. Owns nothing: every text
 * is borrowed from argv. Never prints and never decides what a command takes.
 */
#include "cli/options.h"

#include <inttypes.h>

#include "cli/when.h"

enum option_kind {
	OPTION_KIND_FLAG,
	OPTION_KIND_TEXT,
	OPTION_KIND_NUMBER,
	OPTION_KIND_WHEN,
	OPTION_KIND_PAIRS,
};

static const struct {
	enum option_kind kind;
	size_t offset;
	int64_t least, most;
} rows[OPTION_COUNT] = {
#define OPTION(name, kind, value, least, most, text)                           \
	[OPTION_##name] = { OPTION_KIND_##kind,                                \
		offsetof(struct options, name), least, most },
#include "cli/options.def"
#undef OPTION
};

const struct option_text option_texts[OPTION_COUNT] = {
#define OPTION(name, kind, value, least, most, text)                           \
	[OPTION_##name] = { #name, value, text },
#include "cli/options.def"
#undef OPTION
};

static int
set_text(size_t i, const char *value, const char **ret, struct err *err)
{
	size_t len = strlen(value);

	if (len < (size_t)rows[i].least)
		return err_set(
		    err, ERR_INPUT, "--%s is empty", option_texts[i].name);
	if (len > (size_t)rows[i].most)
		return err_set(err, ERR_INPUT,
		    "--%s is %zu bytes long; at most %" PRId64,
		    option_texts[i].name, len, rows[i].most);
	*ret = value;
	return 0;
}

static int
set_number(size_t i, const char *value, int64_t *ret, struct err *err)
{
	const char *p = value + (*value == '-');
	bool negative = *value == '-', fits = *p != '\0';
	int64_t number = 0;

	for (; *p != '\0' && fits; p++)
		fits = *p >= '0' && *p <= '9' &&
		       !__builtin_mul_overflow(number, 10, &number) &&
		       !__builtin_add_overflow(number, *p - '0', &number);
	if (negative)
		number = -number;
	if (!fits || number < rows[i].least || number > rows[i].most)
		return err_set(err, ERR_INPUT,
		    "--%s '%s' is no whole number from %" PRId64 " to %" PRId64,
		    option_texts[i].name, value, rows[i].least, rows[i].most);
	*ret = number;
	return 0;
}

static int
set_when(size_t i, const char *value, struct option_when *ret, struct err *err)
{
	ret->relative = *value == '+';
	if (ret->relative && when_relative(slice_string(value), &ret->ms))
		return 0;
	if (!ret->relative && when_rfc3339(slice_string(value), &ret->ms))
		return 0;
	return err_set(err, ERR_INPUT,
	    "--%s '%s' is no time; write 2030-01-02T03:04:05Z, or +90s, +10m, "
	    "+2h, +1d from now",
	    option_texts[i].name, value);
}

static size_t
key_len(const char *pair)
{
	return (size_t)(strchrnul(pair, '=') - pair);
}

static int
add_pair(
    size_t i, const char *value, struct option_pairs *pairs, struct err *err)
{
	size_t len = key_len(value);

	if (len == 0 || value[len] == '\0')
		return err_set(err, ERR_INPUT, "--%s '%s' is not K=V",
		    option_texts[i].name, value);
	if (pairs->count == OPTIONS_PAIRS_MAX)
		return err_set(err, ERR_INPUT, "--%s stands more than %u times",
		    option_texts[i].name, OPTIONS_PAIRS_MAX);
	for (size_t n = 0; n < pairs->count; n++) {
		if (slice_eq(slice_of(value, len),
			slice_of(pairs->list[n], key_len(pairs->list[n]))))
			return err_set(err, ERR_INPUT,
			    "--%s gives '%.*s' twice", option_texts[i].name,
			    (int)len, value);
	}
	pairs->list[pairs->count++] = value;
	return 0;
}

static int
set_value(struct options *options, size_t i, const char *value, struct err *err)
{
	void *member = (char *)options + rows[i].offset;

	options->given |= 1u << i;
	switch (rows[i].kind) {
	case OPTION_KIND_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_KIND_TEXT:
		return set_text(i, value, member, err);
	case OPTION_KIND_NUMBER:
		return set_number(i, value, member, err);
	case OPTION_KIND_WHEN:
		return set_when(i, value, member, err);
	case OPTION_KIND_PAIRS:
		return add_pair(i, value, member, err);
	}
	BUG("option kind %d", (int)rows[i].kind);
}

/* What the options of one letter stand for. */
static const char *
long_name(const char *arg)
{
	if (strcmp(arg, "-h") == 0)
		return "help";
	return strcmp(arg, "-V") == 0 ? "version" : NULL;
}

/* One option at argv[*at]; moves *at to the last word it took. */
static int
take_option(
    struct options *options, int argc, char **argv, int *at, struct err *err)
{
	const char *arg = argv[*at];
	const char *letter = long_name(arg);
	const char *name = letter == NULL ? arg + 2 : letter;
	struct slice key = slice_of(name, key_len(name));
	const char *value = name[key.len] == '=' ? name + key.len + 1 : NULL;
	size_t i;

	for (i = 0; i < OPTION_COUNT; i++) {
		if (slice_is(key, option_texts[i].name))
			break;
	}
	if (i == OPTION_COUNT || (arg[1] != '-' && letter == NULL))
		return err_set(err, ERR_INPUT,
		    "there is no option '%s'; text that begins with - goes "
		    "after --",
		    arg);
	if (rows[i].kind == OPTION_KIND_FLAG && value != NULL)
		return err_set(err, ERR_INPUT, "--%s takes no value",
		    option_texts[i].name);
	if (rows[i].kind != OPTION_KIND_PAIRS && (options->given >> i & 1))
		return err_set(
		    err, ERR_INPUT, "--%s stands twice", option_texts[i].name);
	if (rows[i].kind != OPTION_KIND_FLAG && value == NULL) {
		if (*at + 1 >= argc)
			return err_set(err, ERR_INPUT,
			    "--%s lacks its value %s", option_texts[i].name,
			    option_texts[i].value);
		value = argv[++*at];
	}
	return set_value(options, i, value, err);
}

int
options_parse(
    struct options *ret_options, int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	bool words_only = false;

	for (int at = 1; at < argc; at++) {
		const char *arg = argv[at];

		if (!words_only && strcmp(arg, "--") == 0) {
			words_only = true;
			continue;
		}
		if (!words_only && arg[0] == '-' && arg[1] != '\0') {
			if (take_option(&options, argc, argv, &at, err) == -1)
				return -1;
			continue;
		}
		if (options.word_count == OPTIONS_WORDS_MAX)
			return err_set(err, ERR_INPUT,
			    "too many words; put a text in quotes");
		options.words[options.word_count++] = arg;
	}
	*ret_options = options;
	return 0;
}

int
options_allow(const struct options *options, const char *command,
    uint32_t allowed, struct err *err)
{
	uint32_t wrong = options->given & ~allowed;

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (wrong >> i & 1)
			return err_set(err, ERR_INPUT, "%s takes no --%s",
			    command, option_texts[i].name);
	}
	return 0;
}
