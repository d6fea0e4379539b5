/*
 * The seam: everything that starts a process for a tool goes through
 * sandbox_start and struct box_spec. Behind it stands a spawner, a small
 * single-threaded process forked before ZeroMQ and threads exist, so that no
 * big process ever forks. In front of it nobody knows how a box is made.
 *
 * A box ends when its pidfd becomes readable: then no process of it is left.
 * Its pipes may have no end (a tool may pass them on), so nobody waits for EOF.
 */
#ifndef TOOL_SANDBOX_H
#define TOOL_SANDBOX_H

#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"

enum sandbox_level {
	SANDBOX_OFF, /* bare processes with rlimits and a system call filter */
	SANDBOX_NO_CGROUP, /* namespaces, own root, rlimits, filter; no cgroup
			    */
};

/* As announced to the supervisor: "off", "no-cgroup". */
const char *sandbox_level_name(enum sandbox_level level);

struct sandbox_config {
	const char *tools_dir; /* seen read-only at /tools; NULL: empty */
	const char *work_dir;  /* level off: where tools run */
	bool switch_user;      /* from root to uid and gid, without groups */
	uid_t uid;
	gid_t gid;
	bool allow_off; /* no working sandbox: go on bare, at level off */
};

#define BOX_TOOLS     "/tools"
#define BOX_WORKSPACE "/workspace"
#define BOX_PATH      "/usr/local/bin:/usr/bin:/bin"
#define BOX_USER      "tool"

/* Sizes in MiB, times in s. wall_s and output_mb are kept by whoever runs the
 * box, the others by the box itself. */
struct box_limits {
	uint32_t wall_s;
	uint32_t cpu_s; /* of each process */
	uint32_t
	    memory_mb; /* without a cgroup: address space is 4 times this */
	uint32_t processes; /* all of the box; not kept at level off */
	uint32_t file_mb;   /* largest file */
	uint32_t tmp_mb;    /* /tmp */
	uint32_t output_mb; /* stdout and stderr together */
	uint32_t open_files;
};

#define BOX_LIMITS_DEFAULT                                                     \
	((struct box_limits){ .wall_s = 30,                                    \
	    .cpu_s = 60,                                                       \
	    .memory_mb = 512,                                                  \
	    .processes = 64,                                                   \
	    .file_mb = 64,                                                     \
	    .tmp_mb = 32,                                                      \
	    .output_mb = 16,                                                   \
	    .open_files = 512 })

/* All borrowed for the call of sandbox_start. */
struct box_spec {
	const char *const *argv; /* ends with NULL; argv[0] is a path */
	const char *const *env;  /* all of the environment; ends with NULL */
	struct box_limits limits;
	int fds[3]; /* stdin, stdout, stderr of the tool; stay the caller's */
};

#define BOX_SPEC_MAX (64u * 1024) /* bytes of argv and env together */

struct sandbox; /* defined in sandbox.c */
struct box;

/* The spawner has answered. err == NULL: it runs, box->pidfd is there. Else it
 * never began (err says why) and the box may be released. */
typedef void box_started(struct box *box, const struct err *err);

/* One running box, embedded by its owner. */
struct box {
	struct list link; /* in the sandbox until the spawner has answered */
	uint64_t id;
	int pidfd;  /* owned; -1 until started */
	int report; /* owned; read end of the pipe with the report */
	box_started *on_started;
};

enum box_end {
	BOX_EXITED,  /* code = exit status of the tool */
	BOX_SIGNAL,  /* code = signal that ended it */
	BOX_NO_EXEC, /* code = errno: the program could not be executed */
	BOX_NO_BOX,  /* the box could not be made; text says what failed */
	BOX_KILLED,  /* ended from outside before it could report */
};

struct box_report {
	enum box_end end;
	int code;
	uint64_t cpu_us; /* of all its processes; 0 = not known */
	uint64_t rss_kb; /* of the largest process; 0 = not known */
	char text[120];
};

/* Forks the spawner, proves by a real box that the sandbox holds, and falls
 * back to level off only with allow_off. To be called before any thread or
 * ZeroMQ context is made. The error names what is missing. */
int sandbox_new(struct sandbox **ret_sandbox,
    const struct sandbox_config *config, struct err *err) CHECKED;
/* Ends the spawner and every box. NULL is fine; returns NULL. */
struct sandbox *sandbox_free(struct sandbox *sandbox);

enum sandbox_level sandbox_level(const struct sandbox *sandbox);
/* Why the level is off; "" otherwise. */
const char *sandbox_lack(const struct sandbox *sandbox);
/* Where a tool sees the folder of the tools file, and where it starts. */
const char *sandbox_tools_dir(const struct sandbox *sandbox);
const char *sandbox_work_dir(const struct sandbox *sandbox);
pid_t sandbox_spawner(const struct sandbox *sandbox);

/* Starts a box. 0: asked for, on_started will be called by sandbox_read; 1:
 * the spawner is behind, try again after its next answer; -1: ERR_LIMIT (argv
 * and env too long), ERR_SYSTEM, ERR_PEER (the spawner is gone). */
int sandbox_start(struct sandbox *sandbox, struct box *box,
    const struct box_spec *spec, box_started *on_started,
    struct err *err) CHECKED;

/* Readable when the spawner has answered or is gone. */
int sandbox_fd(const struct sandbox *sandbox);
/* Handles all answers. ERR_PEER: the spawner is gone and its boxes with it;
 * boxes that waited for an answer have been told. */
int sandbox_read(struct sandbox *sandbox, struct err *err) CHECKED;

enum box_stop {
	BOX_ASK,  /* SIGTERM to the tool and its process group */
	BOX_KILL, /* the end of every process, not to be escaped */
};
/* Of a box that was started; one that has ended is fine. */
void box_stop(
    const struct sandbox *sandbox, struct box *box, enum box_stop how);
/* How it ended; once, after pidfd became readable. */
void box_collect(struct box *box, struct box_report *ret_report);
/* Closes what it holds. Only before it was started or after its end. */
void box_release(struct box *box);

/* Runs a box to its end and waits; for the start-up check and for people.
 * timeout_ms 0 = none. stop_fd (-1 = none): readable means kill it. */
int sandbox_run(struct sandbox *sandbox, const struct box_spec *spec,
    int timeout_ms, int stop_fd, struct box_report *ret_report,
    struct err *err) CHECKED;

#endif
