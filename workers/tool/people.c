/*
 * Runs a command by hand as a tool would run: same box, same limits, same
 * environment, but with the caller's standard input, and tells the outcome as
 * JSON. Owns the pipes from the box and what was kept of its output.
 */
#include "workers/tool/people.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "workers/tool/verdict.h"

#define PEOPLE_ENV  (CATALOGUE_ENV + 16u)
#define PEOPLE_ARGV 256u
#define PEOPLE_PATH 4096u
#define PEOPLE_READ (64u * 1024)
#define PEOPLE_JSON (4u << 20) /* bytes of the outcome */
#define MIB         (1024ull * 1024)

#define EXIT_TIMEOUT   124 /* as timeout(1) */
#define EXIT_NO_EXEC   126 /* as a shell */
#define EXIT_NOT_FOUND 127
#define EXIT_SIGNAL    128

struct stream {
	int fd; /* read end, owned; -1 after its end */
	struct output output;
};

struct person {
	struct box box;
	struct sandbox *sandbox; /* borrowed */
	bool started, failed;
	struct err why; /* it failed */
	struct stream out, err;
	int stop_fd; /* borrowed */
	struct verdict verdict;
	bool asked;
	uint64_t started_ms, until_ms; /* 0 = no end */
};

static const char *const folders[] = { "/usr/local/bin", "/usr/bin" };

/* A name without a slash is looked up as a shell would inside. */
static const char *
find_program(const char *name, char path[PEOPLE_PATH])
{
	struct stat st;

	if (strchr(name, '/') != NULL)
		return name;
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, PEOPLE_PATH, "%s/%s", folders[i], name);
		if (stat(path, &st) == 0)
			return path;
	}
	return name;
}

static int
watch_interrupts(struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd == -1 ? err_errno(err, "signalfd") : fd;
}

/* ---- the box runs ---- */

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void
on_started(struct box *box, const struct err *err)
{
	struct person *p = CONTAINER_OF(box, struct person, box);

	p->started = err == NULL;
	p->failed = err != NULL;
	if (err != NULL)
		p->why = *err;
}

static void
decide(struct person *p, enum call_outcome outcome)
{
	if (p->verdict.decided)
		return;
	p->verdict.decided = true;
	p->verdict.outcome = outcome;
}

/* As the end of a call: first SIGTERM, after the grace everything. */
static void
stop(struct person *p, enum call_outcome outcome)
{
	decide(p, outcome);
	if (!p->asked) {
		box_stop(p->sandbox, &p->box, BOX_ASK);
		p->until_ms = clock_ms() + CALL_GRACE_MS;
	} else {
		box_stop(p->sandbox, &p->box, BOX_KILL);
		p->until_ms = 0;
	}
	p->asked = true;
	p->stop_fd = -1;
}

static void
read_stream(struct stream *stream)
{
	char bytes[PEOPLE_READ];
	ssize_t n = read(stream->fd, bytes, sizeof(bytes));

	if (n > 0)
		output_add(&stream->output, bytes, (size_t)n);
	else if (n == 0)
		close_fd(&stream->fd);
}

static void
check_output(struct person *p)
{
	uint64_t most = p->verdict.tool->limits.output_mb * MIB;

	if (p->out.output.total + p->err.output.total <= most || p->asked)
		return;
	p->asked = true; /* no grace: it would print on */
	stop(p, CALL_OUTPUT_LIMIT);
}

/* What its pipes still hold when nobody is left to write. */
static void
drain(struct stream *stream)
{
	uint64_t before;

	while (stream->fd != -1) {
		before = stream->output.total;
		read_stream(stream);
		if (stream->output.total == before)
			return;
	}
}

static int
poll_wait_ms(const struct person *p)
{
	uint64_t now = clock_ms();

	if (p->until_ms == 0 || !p->started)
		return -1;
	return p->until_ms > now ? (int)(p->until_ms - now) : 0;
}

static int
await_end(struct person *p, struct err *err)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = sandbox_fd(p->sandbox), .events = POLLIN },
			{ .fd = p->out.fd, .events = POLLIN },
			{ .fd = p->err.fd, .events = POLLIN },
			{ .fd = p->box.pidfd, .events = POLLIN },
			{ .fd = p->started ? p->stop_fd : -1,
			    .events = POLLIN },
		};
		int n = poll(fds, COUNT(fds), poll_wait_ms(p));

		if (n == -1 && errno != EINTR)
			return err_errno(err, "poll");
		if (n == 0)
			stop(p, CALL_TIMEOUT);
		if (n <= 0)
			continue;
		if (fds[0].revents != 0 && sandbox_read(p->sandbox, err) == -1)
			return -1;
		if (p->failed)
			return err_set(err, p->why.kind, "%s", p->why.text);
		if (fds[1].revents != 0)
			read_stream(&p->out);
		if (fds[2].revents != 0)
			read_stream(&p->err);
		check_output(p);
		if (fds[3].revents != 0)
			return 0;
		if (fds[4].revents != 0)
			stop(p, CALL_CANCELLED);
	}
}

static int
make_pipe(int *ret_read, int *ret_write, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return err_errno(err, "pipe");
	*ret_read = fds[0];
	*ret_write = fds[1];
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) == -1)
		return err_errno(err, "pipe");
	return 0;
}

static int
run_to_end(struct person *p, struct box_spec *spec, struct err *err)
{
	int rc = -1;

	spec->fds[0] = STDIN_FILENO;
	spec->fds[1] = spec->fds[2] = -1;
	if (make_pipe(&p->out.fd, &spec->fds[1], err) == 0 &&
	    make_pipe(&p->err.fd, &spec->fds[2], err) == 0)
		rc = sandbox_start(p->sandbox, &p->box, spec, on_started, err);
	if (rc == 1)
		rc = err_set(err, ERR_BUSY, "the spawner is behind");
	close_fd(&spec->fds[1]);
	close_fd(&spec->fds[2]);
	if (rc == -1 || await_end(p, err) == -1)
		return -1;
	p->verdict.wall_ms = clock_ms() - p->started_ms;
	drain(&p->out);
	drain(&p->err);
	box_collect(&p->box, &p->verdict.report);
	p->verdict.has_report = true;
	return 0;
}

/* ---- what is told ---- */

static void
put_output(struct json_writer *j, const char *key, const struct output *output)
{
	struct buf text = BUF_INIT(OUTPUT_TEXT_BYTES);

	output_text(output, OUTPUT_TEXT_MAX, &text);
	json_key(j, key);
	json_str(j, buf_slice(&text));
	buf_release(&text);
}

/* For the shell that called us. */
static int
exit_code(const struct person *p, const struct call_result *result)
{
	switch (result->outcome) {
	case CALL_OK:
	case CALL_EXIT:
		return result->code;
	case CALL_SIGNAL:
		return EXIT_SIGNAL + result->code;
	case CALL_TIMEOUT:
		return EXIT_TIMEOUT;
	case CALL_NOT_FOUND:
		return p->verdict.report.code == ENOENT ? EXIT_NOT_FOUND
							: EXIT_NO_EXEC;
	case CALL_CANCELLED:
		return EXIT_SIGNAL + SIGINT;
	case CALL_OUTPUT_LIMIT:
	case CALL_SANDBOX_ERROR:
	case CALL_REJECTED:
		return EXIT_FAILURE;
	}
	BUG("outcome %d", (int)result->outcome);
}

static int
tell(const struct person *p, struct err *err)
{
	struct buf out = BUF_INIT(PEOPLE_JSON);
	struct buf text = BUF_INIT(VERDICT_TEXT_MAX);
	struct json_writer j = json_writer(&out);
	struct call_result result;
	int rc;

	verdict_give(
	    &p->verdict, &p->out.output, &p->err.output, &result, &text);
	json_open(&j, '{');
	json_key(&j, "outcome");
	json_text(&j, call_outcome_name(result.outcome));
	json_key(&j, "code");
	json_num(&j, result.code);
	put_output(&j, "stdout", &p->out.output);
	put_output(&j, "stderr", &p->err.output);
	json_key(&j, "text");
	json_str(&j, buf_slice(&text));
	json_key(&j, "wall_ms");
	json_unum(&j, result.wall_ms);
	json_key(&j, "cpu_ms");
	json_unum(&j, result.cpu_ms);
	json_key(&j, "sandbox");
	json_text(&j, sandbox_level_name(sandbox_level(p->sandbox)));
	json_close(&j);
	buf_putc(&out, '\n');
	rc = buf_check(&out, "the outcome", err);
	if (rc == 0 && (fwrite(out.ptr, 1, out.len, stdout) != out.len ||
			   fflush(stdout) != 0))
		rc = err_errno(err, "cannot write the outcome");
	buf_release(&out);
	buf_release(&text);
	return rc == -1 ? -1 : exit_code(p, &result);
}

/* ---- the command ---- */

static int
copy_words(const char *words[PEOPLE_ARGV + 1], char *const *argv,
    char path[PEOPLE_PATH], struct err *err)
{
	size_t n = 0;

	for (; argv[n] != NULL; n++) {
		if (n == PEOPLE_ARGV)
			return err_set(
			    err, ERR_LIMIT, "more than %u words", PEOPLE_ARGV);
		words[n] = argv[n];
	}
	if (n == 0)
		return err_set(err, ERR_INPUT, "no command");
	words[0] = find_program(argv[0], path);
	return 0;
}

static int
run_person(struct sandbox *sandbox, const struct tool *tool, uint64_t wall_ms,
    struct box_spec *spec, struct err *err)
{
	struct person p = {
		.sandbox = sandbox,
		.verdict = { .tool = tool, .limit_ms = wall_ms },
		.started_ms = clock_ms(),
		.stop_fd = watch_interrupts(err),
		.box = { .pidfd = -1, .report = -1 },
	};
	int stop_fd = p.stop_fd, rc;

	if (stop_fd == -1)
		return -1;
	p.until_ms = wall_ms == 0 ? 0 : p.started_ms + wall_ms;
	p.out.fd = p.err.fd = -1;
	output_init(&p.out.output);
	output_init(&p.err.output);
	rc = run_to_end(&p, spec, err);
	if (rc == 0)
		rc = tell(&p, err);
	box_release(&p.box);
	close_fd(&p.out.fd);
	close_fd(&p.err.fd);
	output_release(&p.out.output);
	output_release(&p.err.output);
	close_fd(&stop_fd);
	return rc;
}

int
people_run_box(struct sandbox *sandbox, const struct tool *tool,
    char *const *argv, struct err *err)
{
	const struct tool usual = { .limits = BOX_LIMITS_DEFAULT };
	const char *words[PEOPLE_ARGV + 1] = { 0 };
	const char *env[PEOPLE_ENV] = { "PATH=" BOX_PATH, "USER=" BOX_USER,
		"LOGNAME=" BOX_USER, "TMPDIR=/tmp", "LANG=C.UTF-8",
		"TERM=dumb" };
	char home[PEOPLE_PATH], path[PEOPLE_PATH];
	struct box_spec spec = {
		.argv = words,
		.env = env,
		.limits = tool != NULL ? tool->limits : usual.limits,
	};
	uint64_t wall_ms = tool != NULL ? tool->limits.wall_s * 1000ull : 0;
	size_t n = 6;

	if (copy_words(words, argv, path, err) == -1)
		return -1;
	snprintf(home, sizeof(home), "HOME=%s", sandbox_work_dir(sandbox));
	env[n++] = home;
	for (size_t i = 0; tool != NULL && i < tool->envc; i++)
		env[n++] = tool->env[i];
	return run_person(
	    sandbox, tool != NULL ? tool : &usual, wall_ms, &spec, err);
}
