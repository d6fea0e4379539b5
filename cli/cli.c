/*
 * What commands share. Owns nothing; prints errors, and nothing else, to
 * stderr.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/alloc.h"

#define LINE_MAX_BYTES 8192u

void
cli_say(const char *fmt, ...)
{
	struct buf safe = BUF_INIT(PRINT_MAX);
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_word(&safe, slice_string(text), 0);
	fprintf(stderr, "%.*s\n", SLICE_ARGS(buf_slice(&safe)));
	buf_release(&safe);
}

int
cli_flush(struct cli *cli, int code)
{
	struct err err = { 0 };

	if (print_flush(&cli->out, stdout, &err) == -1)
		return cli_fail(cli, &err);
	return code;
}

/* The database's functions begin their errors with our name, too. */
static const char *
without_name(const char *text)
{
	return strncmp(text, "reeve: ", 7) == 0 ? text + 7 : text;
}

int
cli_fail(const struct cli *cli, const struct err *err)
{
	const char *todo =
	    err->code == EACCES
		? "only root and the user that reeved runs as may connect"
		: "start the service (./deploy/quickstart) or name another "
		  "socket with --socket or REEVE_SOCKET";

	if (err->kind == ERR_PEER && cli->path != NULL) {
		cli_say("reeve: %s (%s); %s", err->text, cli->source, todo);
		return CLI_UNREACHABLE;
	}
	cli_say("reeve: %s", without_name(err->text));
	if (err->kind == ERR_PEER || err->kind == ERR_BUSY ||
	    err->kind == ERR_DB_ENV)
		return CLI_UNREACHABLE;
	return CLI_FAILED;
}

int
cli_usage(const struct cli *cli, const char *command, const struct err *err)
{
	char *program = cli_program(cli);

	cli_say("reeve: %s; see: %s help%s%s", err->text, program,
	    command == NULL ? "" : " ", command == NULL ? "" : command);
	mem_free(program);
	return CLI_USAGE;
}

/* Nothing but characters that no shell looks at twice. */
static bool
is_plain(const char *text)
{
	return *text != '\0' &&
	       text[strspn(text,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		   "0123456789_./:@%+=,-")] == '\0';
}

static void
put_quoted(struct buf *out, const char *text)
{
	if (is_plain(text)) {
		buf_puts(out, text);
		return;
	}
	buf_putc(out, '\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *text);
	}
	buf_putc(out, '\'');
}

void
cli_put_program(const struct cli *cli, struct buf *out)
{
	put_quoted(out, cli->program);
	if (cli->options.socket != NULL) {
		buf_puts(out, " --socket ");
		put_quoted(out, cli->options.socket);
	}
}

char *
cli_program(const struct cli *cli)
{
	struct buf out = BUF_INIT(LINE_MAX_BYTES);

	cli_put_program(cli, &out);
	return buf_detach(&out, NULL);
}

int
cli_run_id(
    const struct cli *cli, size_t i, struct uuid *ret_id, struct err *err)
{
	if (uuid_parse(slice_string(cli->args[i]), ret_id, NULL) == 0)
		return 0;
	return err_set(err, ERR_INPUT,
	    "'%s' is no run id; an id has 36 characters, as list prints it",
	    cli->args[i]);
}

int
cli_ask(struct cli *cli, const struct msg *msg, struct slice body,
    const char *name, struct client_answer *ret_answer, struct err *err)
{
	struct client_answer answer;

	if (client_ask(cli->client, msg, body, &answer, err) == -1)
		return -1;
	if (answer.body.type != JSON_OBJECT ||
	    (name != NULL && json_get(answer.body, name).type == JSON_NONE)) {
		client_answer_release(&answer);
		return err_set(err, ERR_SYSTEM,
		    "the supervisor's answer to %s is not understood; are "
		    "reeve and reeved of the same version?",
		    msg_name(msg->id));
	}
	*ret_answer = answer;
	return 0;
}
