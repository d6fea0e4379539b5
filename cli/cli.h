/*
 * What every command is given, and what all of them do alike: say what is
 * wrong, where to look, and with which code the program ends.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/client.h"
#include "cli/options.h"
#include "cli/print.h"

/* What the program ends with. */
enum cli_exit {
	CLI_COMPLETED = 0,
	CLI_FAILED = 1, /* also: the run is incomplete or was cancelled */
	CLI_USAGE = 2,
	CLI_UNREACHABLE = 3, /* supervisor or database; or busy: try again */
	CLI_WAITING = 4,     /* the run goes on without us */
};

struct cli {
	const char *program; /* as it was called, for commands to paste */
	struct options options;
	const char *const *args; /* after the command; borrowed */
	size_t arg_count;
	const char *path;      /* of the front's socket; borrowed */
	const char *source;    /* who named it */
	struct client *client; /* owned; NULL unless the command needs it */
	struct buf out;        /* printed by cli_flush */
	struct style style;    /* of stdout */
};

/* Writes what was gathered to stdout. Ends with `code`, or CLI_FAILED when
 * stdout does not take it. */
int cli_flush(struct cli *cli, int code);

/* One line on stderr: "reeve: " and the error's text, with what to do when
 * nobody was reached. Returns the code that fits. */
int cli_fail(const struct cli *cli, const struct err *err);
/* The same for a wrong command line. */
int cli_usage(
    const struct cli *cli, const char *command, const struct err *err);
/* A safe line on stderr. */
void cli_say(const char *fmt, ...) PRINTF(1, 2);

/* "./build/reeve" or "reeve --socket PATH": what a pasted command begins with.
 * Quoted for a shell. */
void cli_put_program(const struct cli *cli, struct buf *out);
/* The same as a new string, to be freed with mem_free. */
char *cli_program(const struct cli *cli);

/* args[i] as the id of a run; ERR_INPUT says what an id looks like. */
int cli_run_id(const struct cli *cli, size_t i, struct uuid *ret_id,
    struct err *err) CHECKED;

/* Asks the front and requires a JSON object with the member `name` (NULL: none)
 * in the reply. */
int cli_ask(struct cli *cli, const struct msg *msg, struct slice body,
    const char *name, struct client_answer *ret_answer,
    struct err *err) CHECKED;

#endif
