/*
 * Inside one box: its first process. Runs in a fresh copy of the spawner that
 * allocates nothing and returns never.
 */
#ifndef TOOL_BOX_H
#define TOOL_BOX_H

#include "workers/tool/policy.h"
#include "workers/tool/sandbox.h"

/* What the spawner has prepared; borrowed for ever. */
struct box_plan {
	enum sandbox_level level;
	const struct policy *policy;
	const char *work_dir;
	int spawner; /* pidfd of the spawner */
	uid_t uid;   /* of the spawner, in its own user namespace */
	gid_t gid;
	char *const *argv;
	char *const *env;
	struct box_limits limits;
	int fds[3];
	int report; /* write end */
};

/* What goes over the report pipe, once: as struct box_report, but with the
 * step that failed instead of a text. */
struct box_record {
	enum box_end end;
	int code;
	uint64_t cpu_us;
	uint64_t rss_kb;
	char step[32];
};

/* Signal that makes the first process of a box at level off end all others;
 * elsewhere the kernel does that when the first process dies. */
#define BOX_SIGNAL_END SIGUSR1

/* Flags for clone3 by which the first process is made. */
uint64_t box_clone_flags(enum sandbox_level level);

NORETURN void box_main(const struct box_plan *plan);

#endif
