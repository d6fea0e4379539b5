/*
 * Calls in real boxes: what comes back, where a call ends, and what a hostile
 * tool can not do.
 */
#include "tests/unit/tool/kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/utf8.h"

#define CANARY "canary-4711"
#define SYSCALLS                                                               \
	"import ctypes as c,errno as e,os\n"                                   \
	"l=c.CDLL(None,use_errno=True)\n"                                      \
	"f=lambda n,*a:(l.syscall(n,*a),e.errorcode.get(c.get_errno()))\n"

static void
check_outcome(const struct kit *kit, enum call_outcome want)
{
	ck_assert_msg(kit->result.outcome == want, "%s, not %s: %s",
	    call_outcome_name(kit->result.outcome), call_outcome_name(want),
	    kit->text.ptr);
}

static void
check_says(const struct kit *kit, const char *part)
{
	ck_assert_msg(strstr(kit->text.ptr, part) != NULL,
	    "\"%s\" is not in: %s", part, kit->text.ptr);
}

/* After every call, however it ended. */
static void
check_nothing_is_left(const struct kit *kit)
{
	struct slice text = slice_of(kit->text.ptr, kit->text.len - 1);

	ck_assert(kit_is_empty(kit));
	ck_assert_uint_eq(utf8_valid(text), text.len);
	ck_assert_uint_eq(strlen(kit->text.ptr), text.len);
}

/* ---- the contract ---- */

static const struct {
	const char *script;
	const char *arguments;
	enum call_outcome outcome;
	int code;
	const char *text;
} contract[] = {
	{ "cat", "{\"n\": 12345678901234567890, \"n2\":1.10}", CALL_OK, 0,
	    "{\"n\": 12345678901234567890, \"n2\":1.10}" },
	{ "cat", " {\n\"a\" :1e400 }\n", CALL_OK, 0, " {\n\"a\" :1e400 }\n" },
	{ "cat", "", CALL_OK, 0, "{}" },
	{ "cat", " \n\t", CALL_OK, 0, "{}" },
	{ "cat; read -r x; echo eof=$?", "{}", CALL_OK, 0, "{}eof=1\n" },
	{ ":", "{}", CALL_OK, 0, "" },
	{ "echo out; echo err >&2", "{}", CALL_OK, 0, "out\n" },
	{ "exit 3", "{}", CALL_EXIT, 3, "exit code 3" },
	{ "echo out; echo err >&2; exit 1", "{}", CALL_EXIT, 1,
	    "out\nexit code 1\nerr\n" },
	{ "printf out; exit 255", "{}", CALL_EXIT, 255, "out\nexit code 255" },
	{ "exit 137", "{}", CALL_EXIT, 137, "exit code 137" },
	{ "kill -9 $$", "{}", CALL_SIGNAL, SIGKILL, "killed by SIGKILL" },
	{ "echo x; kill -SEGV $$", "{}", CALL_SIGNAL, SIGSEGV,
	    "x\nkilled by SIGSEGV" },
	{ "trap '' PIPE; exec 1>&-; exit 0", "{}", CALL_OK, 0, "" },
	{ "pwd; echo $HOME $USER $LOGNAME $TMPDIR $LANG $TERM", "{}", CALL_OK,
	    0, "/workspace\n/workspace tool tool /tmp C.UTF-8 dumb\n" },
	{ "echo $REEVE_RUN_ID $REEVE_CALL_ID $REEVE_IDEMPOTENCY_KEY", "{}",
	    CALL_OK, 0, "run-1 call-1 key-1\n" },
	{ "id -u; id -un; umask; hostname", "{}", CALL_OK, 0,
	    "1000\ntool\n0022\nbox\n" },
	{ "touch a && chmod +x a && mkdir b && ls", "{}", CALL_OK, 0,
	    "a\nb\n" },
	{ "echo x 1<>/proc/self/fd/0 2>/dev/null", "{}", CALL_EXIT, 1, NULL },
	{ "ulimit -n; ulimit -c; ulimit -t", "{}", CALL_OK, 0, "512\n0\n60\n" },
};

START_TEST(a_call_gives_what_the_contract_says)
{
	struct kit kit;

	kit_start(&kit);
	kit_run_with(
	    &kit, contract[_i].script, slice_string(contract[_i].arguments));
	check_outcome(&kit, contract[_i].outcome);
	ck_assert_int_eq(kit.result.code, contract[_i].code);
	if (contract[_i].text != NULL)
		ck_assert_str_eq(kit.text.ptr, contract[_i].text);
	check_nothing_is_left(&kit);
	kit_end(&kit);
}
END_TEST

START_TEST(time_and_memory_and_bytes_are_told)
{
	struct kit kit;

	kit_start(&kit);
	kit_run(&kit,
	    "python3 -c 'x = bytearray(50 << 20); print(sum(range(9999999)))'"
	    "; head -c 2000000 /dev/zero; echo abc >&2");
	check_outcome(&kit, CALL_OK);
	ck_assert_uint_gt(kit.result.rss_kb, 50u << 10);
	ck_assert_uint_gt(kit.result.cpu_ms, 20);
	ck_assert_uint_ge(kit.result.wall_ms + 20, kit.result.cpu_ms);
	ck_assert_uint_eq(kit.result.stdout_bytes, 2000000 + 15);
	ck_assert_uint_eq(kit.result.stderr_bytes, 4);
	ck_assert_uint_eq(kit.result.dropped_bytes, 2000015 - (1024u * 1024));
	kit_end(&kit);
}
END_TEST

START_TEST(both_streams_share_the_text_when_both_are_long)
{
	size_t third = OUTPUT_TEXT_MAX / 3;
	const char *code;
	struct kit kit;

	kit_start(&kit);
	kit_run(&kit,
	    "head -c 99999 /dev/zero | tr '\\0' o; head -c 99999 /dev/zero | "
	    "tr '\\0' e >&2; exit 2");
	code = strstr(kit.text.ptr, "\nexit code 2\n");
	ck_assert_ptr_nonnull(code);
	ck_assert_uint_ge(strlen(code), third);
	ck_assert_uint_lt(strlen(code), third + 100);
	ck_assert_uint_lt(kit.text.len, OUTPUT_TEXT_MAX + 200);
	/* What one does not need, the other gets. */
	kit_run(&kit,
	    "echo short; head -c 99999 /dev/zero | tr '\\0' e >&2; exit 2");
	ck_assert_uint_gt(kit.text.len, OUTPUT_TEXT_MAX - 50);
	kit_end(&kit);
}
END_TEST

static const struct {
	const char *schema, *arguments, *says;
} misfits[] = {
	{ "{\"type\":\"object\",\"required\":[\"city\"]}", "{}", "city" },
	{ "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}",
	    "{\"n\":\"x\"}", "/n" },
	{ "{\"type\":\"object\"}", "[1]", "object" },
	{ "{\"type\":\"object\"}", "{\"a\":", "not valid JSON" },
	{ "{\"type\":\"object\",\"additionalProperties\":false}", "{\"a\":1}",
	    "a" },
};

START_TEST(arguments_that_do_not_fit_are_rejected_with_the_reason)
{
	struct err err = { 0 };
	struct kit kit;

	kit_start(&kit);
	ck_assert_int_eq(json_parse(slice_string(misfits[_i].schema),
			     &kit.tool.parameters, NULL, &err),
	    0);
	kit_run_with(&kit, "echo ran", slice_string(misfits[_i].arguments));
	check_outcome(&kit, CALL_REJECTED);
	check_says(&kit, misfits[_i].says);
	check_says(&kit, "arguments");
	kit_end(&kit);
}
END_TEST

START_TEST(a_mebibyte_of_arguments_arrives_and_no_byte_more)
{
	struct buf text = BUF_INIT(CALL_ARGUMENTS_MAX + 16);
	struct kit kit;

	kit_start(&kit);
	buf_puts(&text, "{\"a\":\"");
	while (text.len < CALL_ARGUMENTS_MAX - 2)
		buf_putc(&text, 'x');
	buf_puts(&text, "\"}");
	ck_assert_uint_eq(text.len, CALL_ARGUMENTS_MAX);
	kit_run_with(&kit, "wc -c", buf_slice(&text));
	ck_assert_str_eq(kit.text.ptr, "1048576\n");
	buf_putc(&text, ' ');
	kit_run_with(&kit, "wc -c", buf_slice(&text));
	check_outcome(&kit, CALL_REJECTED);
	check_says(&kit, "larger than");
	kit_end(&kit);
	buf_release(&text);
}
END_TEST

START_TEST(a_program_that_can_not_run_is_not_found)
{
	struct kit kit;

	kit_start(&kit);
	kit.argv[0].text = "/usr/bin/no-such-program";
	kit_run(&kit, ":");
	check_outcome(&kit, CALL_NOT_FOUND);
	check_says(&kit, "No such file");
	kit.argv[0].text = "/usr/share";
	kit_run(&kit, ":");
	check_outcome(&kit, CALL_NOT_FOUND);
	check_says(&kit, "Permission denied");
	check_nothing_is_left(&kit);
	kit_end(&kit);
}
END_TEST

START_TEST(a_tool_of_the_folder_is_run_from_there)
{
	const char text[] = "#!/bin/sh\necho \"$0 $1\"; ls -ld /tools\n";
	char path[128];
	struct kit kit;
	int fd;

	kit_start(&kit);
	snprintf(path, sizeof(path), "%s/own.sh", kit.folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	kit.argv[0] = (struct tool_word){ "own.sh", true };
	kit.tool.argc = 2;
	kit_run(&kit, NULL);
	check_outcome(&kit, CALL_OK);
	check_says(&kit, "/tools/own.sh -c\ndrwxr-xr-x");
	unlink(path);
	kit_end(&kit);
}
END_TEST

/* ---- limits ---- */

/* A call that obeys SIGTERM ends before the grace is over, one that does not
 * right after it. */
static const struct limited {
	const char *script;
	uint32_t wall_s;
	enum call_outcome outcome;
	const char *says;
	uint64_t least_ms, most_ms;
} limited[] = {
	{ "echo before; sleep 1000", 1, CALL_TIMEOUT,
	    "timed out after 1 s\nbefore\n", 1000, 2900 },
	{ "while :; do :; done", 1, CALL_TIMEOUT, "timed out", 1000, 2900 },
	{ "trap '' TERM INT HUP QUIT; while :; do :; done", 1, CALL_TIMEOUT,
	    "timed out", 3000, 9000 },
	{ "trap 'echo caught; exit 0' TERM; while :; do :; done", 1,
	    CALL_TIMEOUT, "caught", 1000, 2900 },
	{ "kill -STOP $$", 1, CALL_TIMEOUT, "timed out", 3000, 9000 },
	{ "setsid -f bash -c 'trap \"\" TERM; while :; do sleep 9; done'; "
	  "sleep 100",
	    1, CALL_TIMEOUT, "timed out", 1000, 2900 },
	{ "sleep 1000 & echo done", 30, CALL_OK, "done\n", 0, 9000 },
	{ "setsid -f sleep 1000; echo done", 30, CALL_OK, "done\n", 0, 9000 },
	{ "(trap '' TERM HUP; sleep 1000) & disown; echo done", 30, CALL_OK,
	    "done\n", 0, 9000 },
	{ "yes flood", 30, CALL_OUTPUT_LIMIT, "more than 16 MiB\nflood\n", 0,
	    9000 },
	{ "yes flood >&2", 30, CALL_OUTPUT_LIMIT, "more than 16 MiB\nflood\n",
	    0, 9000 },
	{ "head -c 100000000 /dev/zero; exit 0", 30, CALL_OUTPUT_LIMIT,
	    "more than 16 MiB", 0, 9000 },
};

START_TEST(calls_end_at_their_limits_with_all_that_they_started)
{
	static struct kit ones[COUNT(limited)]; /* tool, result and text */
	struct kit kit;

	kit_start(&kit);
	for (size_t i = 0; i < COUNT(limited); i++) {
		struct kit *one = &ones[i];

		*one = kit;
		one->text = BUF_INIT(OUTPUT_TEXT_BYTES);
		one->argv[2].text = limited[i].script;
		one->tool.argv = one->argv;
		one->tool.limits.wall_s = limited[i].wall_s;
		call_start(&kit.calls, &(const struct call_request){
					   .tool = &one->tool,
					   .arguments = SLICE("{}"),
					   .on_done = kit_on_done,
					   .arg = one,
				       });
	}
	for (size_t i = 0; i < COUNT(limited); i++) {
		struct kit *one = &ones[i];

		while (one->done == 0)
			uv_run(&kit.loop, UV_RUN_ONCE);
		check_outcome(one, limited[i].outcome);
		check_says(one, limited[i].says);
		ck_assert_uint_ge(one->result.wall_ms, limited[i].least_ms);
		ck_assert_uint_le(one->result.wall_ms, limited[i].most_ms);
		buf_release(&one->text);
	}
	ck_assert(kit_is_empty(&kit));
	kit_end(&kit);
}
END_TEST

START_TEST(the_time_of_the_run_is_the_limit_when_it_is_shorter)
{
	struct call_request request;
	struct kit kit;

	kit_start(&kit);
	kit.argv[2].text = "sleep 100";
	request = (struct call_request){
		.tool = &kit.tool,
		.arguments = SLICE("{}"),
		.left_ms = 300,
		.on_done = kit_on_done,
		.arg = &kit,
	};
	call_start(&kit.calls, &request);
	kit_wait(&kit, 1);
	check_outcome(&kit, CALL_TIMEOUT);
	check_says(&kit, "timed out after 0.3 s");
	kit_end(&kit);
}
END_TEST

START_TEST(cpu_time_is_limited)
{
	struct kit kit;

	kit_start(&kit);
	kit.tool.limits.cpu_s = 1;
	kit_run(&kit, "exec python3 -c 'while 1: pass'");
	check_outcome(&kit, CALL_TIMEOUT);
	check_says(&kit, "1 s of CPU time");
	kit_end(&kit);
}
END_TEST

START_TEST(files_are_limited)
{
	struct kit kit;

	kit_start(&kit);
	kit.tool.limits.file_mb = 1;
	kit_run(&kit, "head -c 1M /dev/zero >x; exec head -c 2M /dev/zero >x");
	check_outcome(&kit, CALL_SIGNAL);
	ck_assert_int_eq(kit.result.code, SIGXFSZ);
	check_says(&kit, "killed by SIGXFSZ: a file grew past 1 MiB");
	kit_end(&kit);
}
END_TEST

START_TEST(a_cancelled_call_says_so_and_leaves_nothing)
{
	struct call *call;
	struct kit kit;

	kit_start(&kit);
	kit.argv[2].text = _i == 0 ? "sleep 100" : "trap '' TERM; sleep 100";
	call = kit_call(&kit, SLICE("{}"));
	if (_i == 0) /* before it has started */
		call_cancel(call);
	else
		while (kit_children(sandbox_spawner(kit.sandbox),
			   (char[64]){ 0 }, 64) == 0)
			uv_run(&kit.loop, UV_RUN_ONCE);
	call_cancel(call);
	kit_wait(&kit, 1);
	check_outcome(&kit, CALL_CANCELLED);
	check_says(&kit, "cancelled");
	check_nothing_is_left(&kit);
	kit_end(&kit);
}
END_TEST

START_TEST(many_calls_run_at_once)
{
	struct kit kit;

	kit_start(&kit);
	kit.argv[2].text = "sleep 0.1; echo end";
	for (int i = 0; i < 100; i++)
		kit_call(&kit, SLICE("{}"));
	kit_wait(&kit, 100);
	ck_assert_str_eq(kit.text.ptr, "end\n");
	check_nothing_is_left(&kit);
	kit_end(&kit);
}
END_TEST

START_TEST(calls_that_never_ended_are_given_back)
{
	struct kit kit;

	kit_start(&kit);
	kit.argv[2].text = "sleep 1000";
	for (int i = 0; i < 10; i++) {
		kit_call(&kit, SLICE("{}"));
		uv_run(&kit.loop, UV_RUN_NOWAIT);
	}
	kit_end(&kit);
	ck_assert_uint_eq(kit.done, 0);
}
END_TEST

/* ---- the spawner's death ---- */

START_TEST(calls_are_told_when_the_spawner_dies)
{
	struct kit kit;

	kit_start(&kit);
	kit.argv[2].text = "trap '' TERM; sleep 1000";
	for (int i = 0; i < 5; i++)
		kit_call(&kit, SLICE("{}"));
	while (kit_children(
		   sandbox_spawner(kit.sandbox), (char[64]){ 0 }, 64) == 0)
		uv_run(&kit.loop, UV_RUN_NOWAIT);
	ck_assert_int_eq(kill(sandbox_spawner(kit.sandbox), SIGKILL), 0);
	kit_wait(&kit, 5);
	check_outcome(&kit, CALL_SANDBOX_ERROR);
	check_says(&kit, "the sandbox failed");
	while (kit.lost == 0)
		uv_run(&kit.loop, UV_RUN_ONCE);
	kit_run(&kit, ":");
	check_outcome(&kit, CALL_SANDBOX_ERROR);
	kit_end(&kit);
}
END_TEST

/* ---- attacks ---- */

struct attack {
	const char *name;
	const char *script;
	const char *says;     /* must be there, or NULL */
	const char *never[3]; /* must not */
};

static const struct attack attacks[] = {
	{ "fork bomb", "b(){ b|b& }; b 2>&1; sleep 1; echo end", NULL, { 0 } },
	{ "forks without end",
	    "python3 -c 'import os\nwhile 1:\n if os.fork()==0: os._exit(0)' "
	    "2>&1",
	    "temporarily unavailable", { 0 } },
	{ "memory", "python3 -c 'bytearray(3<<30)' 2>&1", "MemoryError",
	    { 0 } },
	{ "full /tmp",
	    "head -c 60M /dev/zero >/tmp/x; head -c 60M /dev/zero >/dev/shm/x; "
	    "stat -c %s /tmp/x /dev/shm/x",
	    "33554432\n16777216\n", { 0 } },
	{ "full workspace",
	    "for i in 1 2 3; do head -c 30M /dev/zero >f$i; done; "
	    "du -m . | cut -f1; i=0; rm f*; while : >g$i; do i=$((i+1)); done "
	    "2>/dev/null; echo $i files",
	    "64\n4095 files\n", { 0 } },
	{ "command line of the worker", "tr -d '\\0' </proc/1/cmdline; echo",
	    "reeve-spawner\n", { 0 } },
	{ "the first process",
	    "kill -9 1; kill -TERM 1; kill -STOP 1; "
	    "kill -9 -1; sleep 0.1; echo alive",
	    "alive\n", { "exit code" } },
	{ "processes of the host",
	    "ls -d /proc/[0-9]* | wc -l; kill -0 $PPID && echo init; "
	    "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
	    "init\n", { "test_call", "tool-call", "reeve-tool" } },
	{ "memory of the first process",
	    "head -c1 /proc/1/mem; cat /proc/1/environ /proc/1/maps; "
	    "ls /proc/1/fd /proc/1/root/; dd if=/dev/zero of=/proc/1/mem "
	    "bs=1 count=1; echo end",
	    "end\n", { "records out", CANARY, "usr" } },
	{ "files of the host",
	    "cat /etc/shadow /root/.bashrc /proc/1/root/etc/shadow; ls /home "
	    "/var /run /sys /root /boot /opt /srv /mnt; echo end",
	    "end\n", { "root:", "log" } },
	{ "writing",
	    "for p in /x /usr/x /etc/x /etc/passwd /dev/x /tools/x "
	    "/proc/sys/kernel/core_pattern /proc/sysrq-trigger; do echo y >$p "
	    "&& echo WROTE $p; done; echo end",
	    "end\n", { "WROTE" } },
	{ "namespaces",
	    "unshare -Ur true && echo ESCAPED; nsenter -t 1 -m true && echo "
	    "ESCAPED; python3 -c \"" SYSCALLS
	    "print(f(272,0x10000000),f(56,0x10000011,0,0,0,0),f(435,0,88),"
	    "f(308,os.open('/proc/self/ns/mnt',0),0))\"",
	    "(-1, 'EPERM') (-1, 'EPERM') (-1, 'ENOSYS') (-1, 'EPERM')",
	    { "ESCAPED" } },
	{ "more namespaces", "cat /proc/sys/user/max_user_namespaces", "0\n",
	    { 0 } },
	{ "mounts",
	    "mount -t tmpfs x /tmp && echo MOUNTED; umount /workspace && echo "
	    "MOUNTED; umount -l /proc && echo MOUNTED; echo end",
	    "end\n", { "MOUNTED" } },
	{ "address families",
	    "python3 -c 'import socket as s\nfor a in (16,17,40,38,44,29,31,15,"
	    "2,10):\n try: s.socket(a,3); print(\"OPEN\",a)\n except OSError "
	    "as e: print(e.errno)' | sort -u",
	    "97\n", { "OPEN" } },
	{ "inherited descriptors", "ls /proc/self/fd; cat <&100",
	    "0\n1\n2\n3\n", { "100\n", CANARY } },
	{ "io_uring",
	    "python3 -c \"" SYSCALLS
	    "print(f(425,4,c.create_string_buffer(120)))\"",
	    "(-1, 'ENOSYS')", { 0 } },
	{ "keys",
	    "python3 -c \"" SYSCALLS "print(f(248,b'user',b'k',b'x',1,-3),"
	    "f(250,0,-3,0),f(249,b'user',b'k',0,0))\"",
	    "(-1, 'EPERM') (-1, 'EPERM') (-1, 'EPERM')", { 0 } },
	{ "calls newer than the filter",
	    "python3 -c \"" SYSCALLS "print(f(451,0),f(9999,0))\"",
	    "(-1, 'ENOSYS') (-1, 'ENOSYS')", { 0 } },
	{ "terminal injection",
	    "python3 -c \"" SYSCALLS "print(f(16,0,0x5412,b'x'),"
	    "f(16,0,c.c_ulong(0x100005412),b'x'))\"",
	    "(-1, 'EPERM') (-1, 'EPERM')", { 0 } },
	{ "tracing",
	    "python3 -c \"" SYSCALLS "print(f(101,16,os.getppid(),0,0))"
	    "\"",
	    "(-1, 'EPERM')", { 0 } },
	{ "core files",
	    "ulimit -c unlimited; sh -c 'kill -SEGV $$'; [ -e core ] || echo none",
	    "none\n", { 0 } },
	{ "the launcher's program",
	    "for p in /proc/1/exe /proc/self/exe /proc/$PPID/exe; do exec "
	    "9<>$p && echo OPENED; done; echo end",
	    "end\n", { "OPENED" } },
	{ "environment", "env; cat /proc/self/environ",
	    "PATH=", { CANARY, "REEVE_SECRET" } },
	{ "capabilities", "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status",
	    "CapEff:\t0000000000000000", { "1ff", "NoNewPrivs:\t0" } },
	{ "deep folders",
	    "python3 -c 'import os\nfor i in range(3000): os.mkdir(\"d\"); "
	    "os.chdir(\"d\")'; mkdir z; chmod 000 z; touch \"$(printf "
	    "'a\\nb\\xff')\"; printf '\\xff\\xfe\\033[31m\\0x'",
	    "\xef\xbf\xbd\xef\xbf\xbdx", { "\033" } },
	{ "kernel log and clock",
	    "dmesg; date -s 2001-01-01 >/dev/null; date +%Y", "20",
	    { "Linux version", "2001\n" } },
	{ "more limits",
	    "ulimit -n 100000; ulimit -u 100000; ulimit -f "
	    "unlimited; ulimit -n; ulimit -u",
	    "512\n64\n", { 0 } },
};

START_TEST(an_attack_does_not_get_out)
{
	const struct attack *a = &attacks[_i];
	char script[4096];
	struct kit kit;

	ck_assert_int_eq(setenv("REEVE_SECRET", CANARY, 1), 0);
	ck_assert_int_eq(dup2(open("/etc/passwd", O_RDONLY), 100), 100);
	kit_start(&kit);
	snprintf(script, sizeof(script), "%s\n%s", "exec 2>&1", a->script);
	kit_run(&kit, script);
	if (a->says != NULL)
		check_says(&kit, a->says);
	for (size_t i = 0; i < COUNT(a->never); i++)
		ck_assert_msg(a->never[i] == NULL ||
				  strstr(kit.text.ptr, a->never[i]) == NULL,
		    "%s: \"%s\" is in: %s", a->name, a->never[i], kit.text.ptr);
	check_nothing_is_left(&kit);
	kit_run(&kit, "echo next");
	ck_assert_str_eq(kit.text.ptr, "next\n");
	kit_end(&kit);
	close(100);
}
END_TEST

static int
listen_on(const struct sockaddr *address, socklen_t len)
{
	int fd = socket(
	    address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(bind(fd, address, len), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	return fd;
}

START_TEST(no_socket_of_the_host_hears_of_a_tool)
{
	struct sockaddr_in inet = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(inet);
	char folder[TEMP_PATH], script[1024];
	struct kit kit;
	int fds[3];

	kit_start(&kit);
	fds[0] = listen_on((struct sockaddr *)&inet, len);
	ck_assert_int_eq(
	    getsockname(fds[0], (struct sockaddr *)&inet, &len), 0);
	temp_folder(folder);
	snprintf(file.sun_path, sizeof(file.sun_path), "%s/socket", folder);
	snprintf(abstract.sun_path + 1, 40, "reeve-%d", getpid());
	fds[1] = listen_on((struct sockaddr *)&file, sizeof(file));
	fds[2] = listen_on((struct sockaddr *)&abstract, sizeof(abstract));
	snprintf(script, sizeof(script),
	    "echo >/dev/tcp/127.0.0.1/%d\npython3 -c 'import socket as s\n"
	    "for a in (\"%s\", \"\\0\" + \"reeve-%d\".ljust(107, \"\\0\")):\n"
	    " try: s.socket(s.AF_UNIX).connect(a); print(\"CONNECTED\")\n"
	    " except OSError as e: print(e.errno)'",
	    ntohs(inet.sin_port), file.sun_path, getpid());
	kit_run(&kit, script);
	/* ENOENT, ECONNREFUSED */
	ck_assert_str_eq(kit.text.ptr, "2\n111\n");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(accept(fds[i], NULL, NULL), -1);
		close(fds[i]);
	}
	kit_end(&kit);
}
END_TEST

/* ---- nothing grows ---- */

static size_t
rss_kb(pid_t pid)
{
	char path[32], text[64];
	long pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	kit_read(path, text, sizeof(text));
	ck_assert_int_eq(sscanf(text, "%*d %ld", &pages), 1);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that the compiler uses
extern void __asan_init(void) __attribute__((weak));

START_TEST(two_hundred_calls_leave_no_trace)
{
	size_t fds[2], rss[2];
	pid_t pids[2] = { getpid() };
	struct kit kit;

	kit_start(&kit);
	pids[1] = sandbox_spawner(kit.sandbox);
	for (int i = 0; i < 220; i++) {
		for (int p = 0; i == 20 && p < 2; p++) {
			fds[p] = kit_count_fds(pids[p]);
			rss[p] = rss_kb(pids[p]);
		}
		kit_run(&kit, i % 10 == 0 ? "head -c 3M /dev/zero" : "echo $$");
		ck_assert(kit_is_empty(&kit));
	}
	for (int p = 0; p < 2; p++) {
		ck_assert_uint_eq(kit_count_fds(pids[p]), fds[p]);
		/* AddressSanitizer keeps what was freed for a while. */
		if (__asan_init == NULL)
			ck_assert_uint_le(rss_kb(pids[p]), rss[p] + 1024);
	}
	kit_end(&kit);
}
END_TEST

static Suite *
make_suite(void)
{
	Suite *suite = suite_create("tool/call");
	TCase *outcome = tcase_create("outcome");
	TCase *limit = tcase_create("limit");
	TCase *attack = tcase_create("attack");
	TCase *trace = tcase_create("trace");
	TCase *all[] = { outcome, limit, attack, trace };

	for (size_t i = 0; i < COUNT(all); i++) {
		tcase_set_timeout(all[i], KIT_TIMEOUT_S);
		suite_add_tcase(suite, all[i]);
	}
	tcase_add_loop_test(
	    outcome, a_call_gives_what_the_contract_says, 0, COUNT(contract));
	tcase_add_test(outcome, time_and_memory_and_bytes_are_told);
	tcase_add_test(outcome, both_streams_share_the_text_when_both_are_long);
	tcase_add_loop_test(outcome,
	    arguments_that_do_not_fit_are_rejected_with_the_reason, 0,
	    COUNT(misfits));
	tcase_add_test(
	    outcome, a_mebibyte_of_arguments_arrives_and_no_byte_more);
	tcase_add_test(outcome, a_program_that_can_not_run_is_not_found);
	tcase_add_test(outcome, a_tool_of_the_folder_is_run_from_there);
	tcase_add_test(
	    limit, calls_end_at_their_limits_with_all_that_they_started);
	tcase_add_test(
	    limit, the_time_of_the_run_is_the_limit_when_it_is_shorter);
	tcase_add_test(limit, cpu_time_is_limited);
	tcase_add_test(limit, files_are_limited);
	tcase_add_loop_test(
	    limit, a_cancelled_call_says_so_and_leaves_nothing, 0, 2);
	tcase_add_test(limit, many_calls_run_at_once);
	tcase_add_test(limit, calls_that_never_ended_are_given_back);
	tcase_add_test(limit, calls_are_told_when_the_spawner_dies);
	tcase_add_loop_test(
	    attack, an_attack_does_not_get_out, 0, COUNT(attacks));
	tcase_add_test(attack, no_socket_of_the_host_hears_of_a_tool);
	tcase_add_test(trace, two_hundred_calls_leave_no_trace);
	return suite;
}

int
main(void)
{
	return twice_main(make_suite);
}
