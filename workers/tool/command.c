/*
 * What a box executes: the words of the tools file and an environment made from
 * nothing. Nothing of the worker's own environment is in it, and nothing that a
 * model wrote but the id of its call.
 */
#include "workers/tool/command.h"

#define COMMAND_SET_ENV 10 /* variables that are always set */

static const char *
variable(struct command *c, const char *name, struct slice value)
{
	struct buf text = BUF_INIT(BOX_SPEC_MAX);
	const char *copy;

	buf_puts(&text, name);
	buf_putc(&text, '=');
	buf_put_slice(&text, value);
	copy = arena_string(&c->arena, buf_slice(&text));
	buf_release(&text);
	return copy;
}

/* The whole environment: nothing of the worker's own is in it. */
static void
build_env(struct command *c, const struct sandbox *sandbox,
    const struct call_request *r)
{
	const struct tool *tool = r->tool;
	struct slice home = slice_string(sandbox_work_dir(sandbox));
	size_t n = 0;

	c->env = ARENA_ARRAY(
	    &c->arena, COMMAND_SET_ENV + tool->envc + 1, const char *);
	c->env[n++] = "PATH=" BOX_PATH;
	c->env[n++] = variable(c, "HOME", home);
	c->env[n++] = "USER=" BOX_USER;
	c->env[n++] = "LOGNAME=" BOX_USER;
	c->env[n++] = "TMPDIR=/tmp";
	c->env[n++] = "LANG=C.UTF-8";
	c->env[n++] = "TERM=dumb";
	c->env[n++] = variable(c, "REEVE_RUN_ID", r->run_id);
	c->env[n++] = variable(c, "REEVE_CALL_ID", r->call_id);
	c->env[n++] = variable(c, "REEVE_IDEMPOTENCY_KEY", r->key);
	for (size_t i = 0; i < tool->envc; i++)
		c->env[n++] = tool->env[i];
}

static void
build_argv(
    struct command *c, const struct sandbox *sandbox, const struct tool *tool)
{
	const char *folder = sandbox_tools_dir(sandbox);

	c->argv = ARENA_ARRAY(&c->arena, tool->argc + 1, const char *);
	for (size_t i = 0; i < tool->argc; i++) {
		struct buf path = BUF_INIT(BOX_SPEC_MAX);

		c->argv[i] = tool->argv[i].text;
		if (!tool->argv[i].in_folder)
			continue;
		buf_printf(&path, "%s/%s", folder, tool->argv[i].text);
		c->argv[i] = arena_string(&c->arena, buf_slice(&path));
		buf_release(&path);
	}
}

void
command_build(struct command *ret_command, const struct sandbox *sandbox,
    const struct call_request *request)
{
	*ret_command = (struct command){ 0 };
	build_argv(ret_command, sandbox, request->tool);
	build_env(ret_command, sandbox, request);
}

void
command_release(struct command *command)
{
	arena_release(&command->arena);
}
