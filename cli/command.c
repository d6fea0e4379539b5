/*
 * The table of commands, and help made from it. Pure.
 */
#include "cli/command.h"

#define TEXT_COLUMN 22 /* where summaries and option texts begin */
#define WIDTH       76

static const struct command *const commands[] = {
	&cmd_run,
	&cmd_submit,
	&cmd_show,
	&cmd_tail,
	&cmd_list,
	&cmd_cancel,
	&cmd_apply,
	&cmd_workers,
	&cmd_stats,
	&cmd_migrate,
	&cmd_version,
	&cmd_help,
};

static const char *const exit_codes[] = {
	[CLI_COMPLETED] = "completed, or the command did what it was told",
	[CLI_FAILED] = "failed; also a run that is incomplete or cancelled",
	[CLI_USAGE] = "wrong usage",
	[CLI_UNREACHABLE] = "not reached, or busy: try again",
	[CLI_WAITING] = "the run waits, or goes on without us",
};

const struct command *
command_at(size_t i)
{
	return i < COUNT(commands) ? commands[i] : NULL;
}

const struct command *
command_find(const char *name)
{
	for (size_t i = 0; i < COUNT(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

uint32_t
command_options(const struct command *command)
{
	return command->options | OPT_help |
	       (command->needs == COMMAND_NEEDS_FRONT ? OPT_socket : 0);
}

static void
put_call(const struct command *command, struct buf *out)
{
	buf_printf(out, "reeve %s", command->name);
	if (command->args != NULL)
		buf_printf(out, " %s", command->args);
}

static const char *
option_text(const struct command *command, size_t i)
{
	if (i == OPTION_session && command->session != NULL)
		return command->session;
	return option_texts[i].text;
}

static void
put_option(size_t i, struct buf *out)
{
	buf_printf(out, "--%s", option_texts[i].name);
	if (*option_texts[i].value != '\0')
		buf_printf(out, " %s", option_texts[i].value);
}

/* Blanks from a line's start up to TEXT_COLUMN, at least two. */
static void
pad(struct buf *out, size_t line_start)
{
	do
		buf_putc(out, ' ');
	while (!out->failed && out->len - line_start < TEXT_COLUMN);
}

/* A paragraph in lines of at most WIDTH characters. */
static void
put_wrapped(struct buf *out, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t bytes = strcspn(text, " "), width = 0;

		for (size_t i = 0; i < bytes; i++)
			width += (text[i] & 0xc0) != 0x80;
		if (column > 0 && column + 1 + width > WIDTH) {
			buf_putc(out, '\n');
			column = 0;
		} else if (column > 0) {
			buf_putc(out, ' ');
			column++;
		}
		buf_put(out, text, bytes);
		column += width;
		text += bytes + strspn(text + bytes, " ");
	}
	buf_putc(out, '\n');
}

static void
put_head(struct buf *out, struct style style, const char *head)
{
	print_look(out, style, PRINT_BOLD);
	buf_puts(out, head);
	print_look(out, style, PRINT_PLAIN);
	buf_putc(out, '\n');
}

void
command_print_all(struct buf *out, struct style style)
{
	put_head(out, style, "usage: reeve COMMAND [WORDS] [--OPTIONS]");
	buf_putc(out, '\n');
	for (size_t i = 0; i < COUNT(commands); i++) {
		size_t start = out->len;

		buf_printf(out, "  %s", commands[i]->name);
		if (commands[i]->args != NULL)
			buf_printf(out, " %s", commands[i]->args);
		pad(out, start);
		buf_printf(out, "%s\n", commands[i]->summary);
	}
	buf_puts(out,
	    "\nreeve help COMMAND shows options and an example; -V, --version "
	    "prints the\nversion.\n\n");
	put_head(out, style, "exit codes");
	for (size_t i = 0; i < COUNT(exit_codes); i++)
		buf_printf(out, "  %zu  %s\n", i, exit_codes[i]);
}

void
command_print(
    const struct command *command, struct buf *out, struct style style)
{
	print_look(out, style, PRINT_BOLD);
	buf_puts(out, "usage: ");
	put_call(command, out);
	print_look(out, style, PRINT_PLAIN);
	buf_printf(out, "\n%s\n", command->summary);
	if (command->text != NULL) {
		buf_putc(out, '\n');
		put_wrapped(out, command->text);
	}
	buf_putc(out, '\n');
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		size_t start = out->len;

		if (!(command_options(command) >> i & 1))
			continue;
		buf_puts(out, "  ");
		put_option(i, out);
		pad(out, start);
		buf_printf(out, "%s\n", option_text(command, i));
	}
	buf_putc(out, '\n');
	put_head(out, style, "example");
	print_block(out, slice_string(command->example), "  ", 0, 0);
}

static void
put_markdown(const struct command *command, struct buf *out)
{
	buf_printf(out, "\n## %s\n\n    ", command->name);
	put_call(command, out);
	buf_printf(out, "\n\n%s.\n\n", command->summary);
	if (command->text != NULL)
		buf_printf(out, "%s\n\n", command->text);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!(command->options >> i & 1))
			continue;
		buf_puts(out, "- `");
		put_option(i, out);
		buf_printf(out, "` – %s\n", option_text(command, i));
	}
	if (command->options != 0)
		buf_putc(out, '\n');
	buf_puts(out, "Example:\n\n");
	print_block(out, slice_string(command->example), "    ", 0, 0);
}

void
command_print_markdown(struct buf *out)
{
	buf_puts(out,
	    "# The commands of `reeve`\n\n"
	    "Printed by `reeve help --markdown`; a test compares. `reeve help "
	    "COMMAND` shows the same in a terminal.\n\n"
	    "Words and options may stand in any order; `--` ends the options; "
	    "`--name VALUE` and `--name=VALUE` are the same. Ids are written "
	    "in full.\n\n"
	    "The supervisor is found by `--socket PATH`, which every command "
	    "that talks to it takes, else by the variable `REEVE_SOCKET`, else "
	    "by the first line of `../var/service` beside the folder of the "
	    "program (what `deploy/quickstart` writes), else at "
	    "`/run/reeve/front.sock`.\n\n");
	buf_puts(out, "Exit codes:\n\n");
	for (size_t i = 0; i < COUNT(exit_codes); i++)
		buf_printf(out, "- %zu – %s\n", i, exit_codes[i]);
	buf_putc(out, '\n');
	buf_puts(out,
	    "Text of models and tools is printed without control characters. "
	    "Colours show only on a terminal and without `NO_COLOR`. With "
	    "`--json` every line of stdout is one JSON object; messages about "
	    "what went wrong are always text on stderr.\n");
	for (size_t i = 0; i < COUNT(commands); i++)
		put_markdown(commands[i], out);
}
