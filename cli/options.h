/*
 * The command line as a struct. The rows of options.def say what there is;
 * whether a command takes an option is asked with options_allow, since options
 * may stand before the command's name.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/err.h"
#include "proto/limits.h"

#define OPTIONS_WORDS_MAX 8u  /* words that are no options */
#define OPTIONS_PAIRS_MAX 64u /* --metadata */

struct option_when {
	bool relative;
	uint64_t ms; /* from now when relative, else since 1970 */
};

/* "k=v" each; the keys differ. */
struct option_pairs {
	const char *list[OPTIONS_PAIRS_MAX];
	size_t count;
};

#define OPTION_TYPE_FLAG   bool
#define OPTION_TYPE_TEXT   const char *
#define OPTION_TYPE_NUMBER int64_t
#define OPTION_TYPE_WHEN   struct option_when
#define OPTION_TYPE_PAIRS  struct option_pairs

/* Borrows argv. */
struct options {
#define OPTION(name, kind, value, least, most, text) OPTION_TYPE_##kind name;
#include "cli/options.def"
#undef OPTION
	uint32_t given; /* bits OPT_* of what stood there */
	const char *words[OPTIONS_WORDS_MAX];
	size_t word_count;
};

enum option_index {
#define OPTION(name, kind, value, least, most, text) OPTION_##name,
#include "cli/options.def"
#undef OPTION
	OPTION_COUNT
};

/* OPT_socket, OPT_json, …: bits for sets of options. */
enum option_bit {
#define OPTION(name, kind, value, least, most, text)                           \
	OPT_##name = 1 << OPTION_##name,
#include "cli/options.def"
#undef OPTION
};

/* What help prints about one option. */
struct option_text {
	const char *name;
	const char *value; /* "" for flags */
	const char *text;
};
extern const struct option_text option_texts[OPTION_COUNT];

/* Reads argv[1…]. "--name VALUE" and "--name=VALUE"; "--" ends the options;
 * "-h" is --help, "-V" --version; "-" is a word. Errors: ERR_INPUT, fit to
 * print. */
int options_parse(struct options *ret_options, int argc, char **argv,
    struct err *err) CHECKED;

/* ERR_INPUT naming the first given option that `command` does not take. */
int options_allow(const struct options *options, const char *command,
    uint32_t allowed, struct err *err) CHECKED;

#endif
