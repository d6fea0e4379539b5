/*
 * What a model sends for a tool: checked against the tool's schema, and handed
 * over as a file that can be read and nothing else. Never changes a byte.
 */
#include "workers/tool/arguments.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/schema_check.h"
#include "workers/tool/call.h"

/* Models send nothing or blanks for "no arguments". */
static bool
is_blank(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (strchr(" \t\r\n", text.ptr[i]) == NULL)
			return false;
	return true;
}

int
arguments_check(const struct tool *tool, struct slice *text, struct err *err)
{
	struct json value;

	if (text->len > CALL_ARGUMENTS_MAX)
		return err_set(err, ERR_LIMIT,
		    "the arguments are larger than %u bytes",
		    CALL_ARGUMENTS_MAX);
	if (is_blank(*text))
		*text = SLICE("{}");
	if (json_parse(*text, &value, NULL, err) == -1)
		return err_wrap(err, "the arguments are not valid JSON");
	if (schema_check(tool->parameters, value, NULL, err) == -1)
		return err_wrap(err,
		    "the arguments do not fit the parameters of %s",
		    tool->name);
	return 0;
}

int
arguments_open(struct slice arguments, struct err *err)
{
	int fd = memfd_create("arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd == -1)
		return err_errno(err, "memfd_create");
	if (write(fd, arguments.ptr, arguments.len) != (ssize_t)arguments.len ||
	    lseek(fd, 0, SEEK_SET) == -1 ||
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ==
		-1) {
		err_errno(err, "arguments");
		close(fd);
		return -1;
	}
	return fd;
}
