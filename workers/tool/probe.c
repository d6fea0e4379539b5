/*
 * The start-up check: a real box with a command that looks for each wall from
 * the inside. Flags and return codes prove nothing; a namespace that is still
 * the host's does.
 */
#include "workers/tool/probe.h"

#include <fcntl.h>
#include <unistd.h>

#define PROBE_MS   10000 /* for the whole check */
#define PROBE_TEXT 300   /* bytes of what it says */
#define PROBE_LINK 40    /* bytes of the name of a namespace */

static const char *const probed_namespaces[] = { "user", "mnt", "pid", "ipc",
	"uts", "net", "cgroup" };

/* Run inside a real box: what it looks for are the walls, not the flags by
 * which they were asked for. Its only words name the wall that is missing.
 * Arguments: the namespaces of the worker. */
static const char probe_script[] =
    "fail() { echo \"$1\" >&2; exit 1; }\n"
    "[ \"$(id -u)\" = 1000 ] || fail 'the user id is not mapped'\n"
    "read -r name </proc/1/comm && [ \"$name\" = reeve-box ] ||\n"
    "	fail 'no /proc of its own'\n"
    "for host; do\n"
    "	[ \"$(readlink \"/proc/self/ns/${host%%:*}\")\" != \"$host\" ] ||\n"
    "		fail \"no namespace of its own: $host\"\n"
    "done\n"
    "for dir in /home /root /run /sys /var /boot /etc/shadow; do\n"
    "	[ ! -e $dir ] || fail \"$dir of the host can be seen\"\n"
    "done\n"
    "for dir in / /usr /etc /dev /tools; do\n"
    "	! (: >$dir/probe) 2>/dev/null || fail \"$dir can be written\"\n"
    "done\n"
    "for dir in /tmp /workspace /dev/shm; do\n"
    "	(: >$dir/probe) || fail \"$dir cannot be written\"\n"
    "done\n"
    "while read -r key value; do case $key in\n"
    "	CapEff: | CapPrm: | CapBnd: | CapAmb:)\n"
    "		[ $value = 0000000000000000 ] || fail 'it has capabilities' ;;\n"
    "	NoNewPrivs:) [ $value = 1 ] || fail 'no_new_privs is not set' ;;\n"
    "	Seccomp:) [ $value = 2 ] || fail 'no system call filter' ;;\n"
    "esac; done </proc/self/status\n";

static const char *
box_end_name(enum box_end end)
{
	switch (end) {
	case BOX_EXITED:
		return "exit code";
	case BOX_SIGNAL:
		return "signal";
	case BOX_NO_EXEC:
		return "no shell, errno";
	case BOX_NO_BOX:
		return "no box, errno";
	case BOX_KILLED:
		return "killed";
	}
	BUG("end of a box: %d", (int)end);
}

static void
own_namespace(const char *kind, char name[PROBE_LINK])
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	n = readlink(path, name, PROBE_LINK - 1);
	name[n < 0 ? 0 : n] = '\0';
}

int
probe_sandbox(struct sandbox *s, struct err *err)
{
	enum { WORDS = 4 };
	const char *argv[WORDS + COUNT(probed_namespaces) + 1] = { "/bin/sh",
		"-c", probe_script, "probe" };
	char names[COUNT(probed_namespaces)][PROBE_LINK];
	const char *const env[] = { "PATH=" BOX_PATH, NULL };
	struct box_spec spec = {
		.argv = argv,
		.env = env,
		.limits = BOX_LIMITS_DEFAULT,
	};
	struct box_report report;
	char text[PROBE_TEXT];
	int pipe_fds[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	ssize_t n;
	int rc;

	for (size_t i = 0; i < COUNT(probed_namespaces); i++) {
		own_namespace(probed_namespaces[i], names[i]);
		argv[WORDS + i] = names[i];
	}
	if (null == -1 || pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return err_errno(err, "start-up check");
	spec.fds[0] = spec.fds[1] = null;
	spec.fds[2] = pipe_fds[1];
	rc = sandbox_run(s, &spec, PROBE_MS, -1, &report, err);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n - 1 : 0] = '\0';
	if (rc == 0 && (report.end != BOX_EXITED || report.code != 0))
		rc = err_set(err, ERR_SYSTEM, "check in a box: %s%s (%s %d)",
		    report.text, text, box_end_name(report.end), report.code);
	close(null);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return rc;
}
