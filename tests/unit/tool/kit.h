/*
 * What the tests of boxes share: a sandbox with a loop, scripts run as tools,
 * and looks at processes from outside.
 */
#ifndef TESTS_TOOL_KIT_H
#define TESTS_TOOL_KIT_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/tool/twice.h"
#include "workers/tool/call.h"
#include "workers/tool/output.h"

#define KIT_WAIT_MS   10000u
#define KIT_TIMEOUT_S 60.0

struct kit {
	uv_loop_t loop;
	struct sandbox *sandbox;
	struct calls calls;
	char folder[TEMP_PATH]; /* shown as /tools */
	struct tool tool;
	struct tool_word argv[3];
	struct json parameters;
	/* Of the last call. */
	unsigned done;
	struct call_result result;
	struct buf text;
	unsigned lost;
};

/* ---- looks from outside ---- */

static inline size_t
kit_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, size - 1);

	if (fd != -1)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? 0 : (size_t)n;
}

/* Process ids of the children of a process, zombies too, as text. */
static inline size_t
kit_children(pid_t pid, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	return kit_read(path, text, size);
}

/* Until the spawner has reaped what it made. */
static inline bool
kit_is_empty(const struct kit *kit)
{
	uint64_t until = clock_ms() + KIT_WAIT_MS;
	char text[256];

	while (kit_children(sandbox_spawner(kit->sandbox), text, sizeof(text)) >
	       0) {
		if (clock_ms() > until)
			return false;
		sched_yield();
	}
	return true;
}

static inline size_t
kit_count_fds(pid_t pid)
{
	char path[32];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static inline bool
kit_wait_readable(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, (int)KIT_WAIT_MS) == 1;
}

/* ---- start and end ---- */

static inline void
kit_on_lost(void *arg, const struct err *err)
{
	struct kit *kit = arg;

	ck_assert_int_eq(err->kind, ERR_PEER);
	kit->lost++;
}

static inline struct sandbox_config
kit_config(const char *folder)
{
	return (struct sandbox_config){
		.tools_dir = folder,
		.switch_user = geteuid() == 0,
		.uid = TWICE_NOBODY,
		.gid = TWICE_NOBODY,
	};
}

static inline void
kit_start(struct kit *kit)
{
	struct sandbox_config config;
	struct err err = { 0 };

	*kit = (struct kit){ .text = BUF_INIT(4u * OUTPUT_TEXT_BYTES) };
	temp_folder(kit->folder);
	ck_assert_int_eq(chmod(kit->folder, 0755), 0);
	config = kit_config(kit->folder);
	ck_assert_msg(
	    sandbox_new(&kit->sandbox, &config, &err) == 0, "%s", err.text);
	ck_assert_int_eq(uv_loop_init(&kit->loop), 0);
	ck_assert_int_eq(calls_init(&kit->calls, &kit->loop, kit->sandbox,
			     kit_on_lost, kit, &err),
	    0);
	ck_assert_int_eq(json_parse(SLICE("{\"type\":\"object\"}"),
			     &kit->parameters, NULL, &err),
	    0);
	kit->tool = (struct tool){
		.name = "script",
		.description = "runs a script",
		.parameters = kit->parameters,
		.limits = BOX_LIMITS_DEFAULT,
		.argv = kit->argv,
		.argc = 3,
	};
	/* The box of the start-up check may still be there. */
	ck_assert(kit_is_empty(kit));
	kit->argv[0].text = "/bin/bash";
	kit->argv[1].text = "-c";
}

static inline void
kit_end(struct kit *kit)
{
	calls_release(&kit->calls);
	uv_run(&kit->loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&kit->loop), 0);
	sandbox_free(kit->sandbox);
	buf_release(&kit->text);
}

/* ---- calls ---- */

static inline void
kit_on_done(void *arg, const struct call_result *result, struct buf *text)
{
	struct kit *kit = arg;

	kit->done++;
	kit->result = *result;
	buf_clear(&kit->text);
	buf_put_slice(&kit->text, buf_slice(text));
	buf_putc(&kit->text, '\0'); /* for strstr */
}

static inline struct call *
kit_call(struct kit *kit, struct slice arguments)
{
	return call_start(&kit->calls, &(const struct call_request){
					   .tool = &kit->tool,
					   .arguments = arguments,
					   .run_id = SLICE("run-1"),
					   .call_id = SLICE("call-1"),
					   .key = SLICE("key-1"),
					   .on_done = kit_on_done,
					   .arg = kit,
				       });
}

static inline void
kit_wait(struct kit *kit, unsigned done)
{
	while (kit->done < done)
		uv_run(&kit->loop, UV_RUN_ONCE);
}

/* Runs a bash script as a tool, to its end. */
static inline void
kit_run_with(struct kit *kit, const char *script, struct slice arguments)
{
	kit->argv[2].text = script;
	kit_call(kit, arguments);
	kit_wait(kit, kit->done + 1);
}

static inline void
kit_run(struct kit *kit, const char *script)
{
	kit_run_with(kit, script, SLICE("{}"));
}

#endif
