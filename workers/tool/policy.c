/*
 * The system call filter. Known calls are allowed, so that compilers,
 * interpreters and version control just work; what widens the attack surface of
 * the kernel or reaches outside the box is refused: with EPERM where programs
 * expect a refusal, with ENOSYS where they then fall back to something older.
 * Calls newer than the newest one that was looked at do not exist for tools.
 * Programs of a foreign architecture are killed.
 */
#include "workers/tool/policy.h"

#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#define SYSCALL_NEWEST 450u        /* set_mempolicy_home_node, Linux 5.17 */
#define SYSCALL_X32    0x40000000u /* judged as a foreign architecture */

static const char *const refused[] = {
	/* keys, tracing, other processes */
	"add_key",
	"request_key",
	"keyctl",
	"bpf",
	"perf_event_open",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"kcmp",
	"pidfd_getfd",
	"userfaultfd",
	"uselib",
	"modify_ldt",
	"vmsplice",
	"lookup_dcookie",
	/* namespaces and mounts */
	"mount",
	"umount",
	"umount2",
	"pivot_root",
	"chroot",
	"setns",
	"unshare",
	"sethostname",
	"setdomainname",
	"quotactl",
	"quotactl_fd",
	"open_by_handle_at",
	"name_to_handle_at",
	"fanotify_init",
	"fanotify_mark",
	/* the machine */
	"reboot",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"create_module",
	"swapon",
	"swapoff",
	"acct",
	"syslog",
	"iopl",
	"ioperm",
	"vhangup",
	"nfsservctl",
	"_sysctl",
	"settimeofday",
	"stime",
	"clock_settime",
	"clock_settime64",
	"adjtimex",
	"clock_adjtime",
	"clock_adjtime64",
	/* memory placement */
	"mbind",
	"migrate_pages",
	"move_pages",
	"get_mempolicy",
	"set_mempolicy",
	"set_mempolicy_home_node",
};

static const char *const absent[] = {
	"clone3",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"open_tree",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"landlock_create_ruleset",
	"landlock_add_rule",
	"landlock_restrict_self",
};

static const uint64_t new_namespaces[] = {
	CLONE_NEWNS,
	CLONE_NEWCGROUP,
	CLONE_NEWUTS,
	CLONE_NEWIPC,
	CLONE_NEWUSER,
	CLONE_NEWPID,
	CLONE_NEWNET,
};

/* Put bytes into a terminal's input or take its output. */
static const uint64_t terminal_tricks[] = {
	TIOCSTI,
	TIOCLINUX,
	TIOCCONS,
	TIOCSCTTY,
};

static int
refuse_names(
    scmp_filter_ctx ctx, const char *const *names, size_t count, int error)
{
	for (size_t i = 0; i < count; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);
		int rc;

		if (nr < 0) /* unknown here, or of another architecture */
			continue;
		rc = seccomp_rule_add(
		    ctx, SCMP_ACT_ERRNO((uint32_t)error), nr, 0);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
refuse_if(scmp_filter_ctx ctx, int error, int nr, struct scmp_arg_cmp is)
{
	return seccomp_rule_add_array(
	    ctx, SCMP_ACT_ERRNO((uint32_t)error), nr, 1, &is);
}

/* Refuses the call when the argument has one of these values under the mask (0:
 * the bits of the value itself). */
static int
refuse_values(scmp_filter_ctx ctx, int nr, unsigned arg, uint64_t mask,
    const uint64_t *values, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		struct scmp_arg_cmp is = {
			.arg = arg,
			.op = SCMP_CMP_MASKED_EQ,
			.datum_a = mask == 0 ? values[i] : mask,
			.datum_b = values[i],
		};

		rc = refuse_if(ctx, EPERM, nr, is);
	}
	return rc;
}

static int
refuse_all_but(
    scmp_filter_ctx ctx, int error, int nr, unsigned arg, uint64_t value)
{
	struct scmp_arg_cmp is = {
		.arg = arg,
		.op = SCMP_CMP_NE,
		.datum_a = value,
	};

	return refuse_if(ctx, error, nr, is);
}

static int
refuse_arguments(scmp_filter_ctx ctx)
{
	int rc;

	rc = refuse_values(
	    ctx, SCMP_SYS(clone), 0, 0, new_namespaces, COUNT(new_namespaces));
	/* The kernel reads the low 32 bits only: a filter must not look at
	 * more. */
	if (rc == 0)
		rc = refuse_values(ctx, SCMP_SYS(ioctl), 1, UINT32_MAX,
		    terminal_tricks, COUNT(terminal_tricks));
	if (rc == 0)
		rc = refuse_all_but(ctx, EPERM, SCMP_SYS(personality), 0, 0);
	if (rc == 0)
		rc = refuse_all_but(
		    ctx, EAFNOSUPPORT, SCMP_SYS(socket), 0, AF_UNIX);
	if (rc == 0)
		rc = refuse_all_but(
		    ctx, EAFNOSUPPORT, SCMP_SYS(socketpair), 0, AF_UNIX);
	return rc;
}

static int
add_rules(scmp_filter_ctx ctx)
{
	int rc;

	rc = seccomp_attr_set(
	    ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc == 0) /* a tree of comparisons instead of a list */
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = refuse_names(ctx, refused, COUNT(refused), EPERM);
	if (rc == 0)
		rc = refuse_names(ctx, absent, COUNT(absent), ENOSYS);
	if (rc == 0)
		rc = refuse_arguments(ctx);
	return rc;
}

/* Reads what libseccomp wrote behind a first look at the call's number. */
static int
read_code(struct policy *policy, int fd, struct err *err)
{
	const struct sock_filter look[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYSCALL_X32, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYSCALL_NEWEST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	off_t size = lseek(fd, 0, SEEK_END);

	if (size <= 0 || (size_t)size % sizeof(policy->code[0]) != 0)
		return err_errno(err, "system call filter");
	if ((size_t)size > sizeof(policy->code) - sizeof(look))
		return err_set(err, ERR_LIMIT, "system call filter: too long");
	memcpy(policy->code, look, sizeof(look));
	if (pread(fd, policy->code + COUNT(look), (size_t)size, 0) != size)
		return err_errno(err, "system call filter");
	policy->len = (unsigned short)(COUNT(look) +
				       (size_t)size / sizeof(policy->code[0]));
	return 0;
}

int
policy_build(struct policy *ret_policy, struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int fd = -1, rc = -1, failed;

	if (ctx == NULL)
		return err_set(err, ERR_SYSTEM, "libseccomp: no filter");
	failed = add_rules(ctx);
	if (failed != 0) {
		errno = -failed;
		err_errno(err, "libseccomp: rules");
		goto out;
	}
	fd = memfd_create("policy", MFD_CLOEXEC);
	if (fd == -1) {
		err_errno(err, "memfd_create");
		goto out;
	}
	failed = seccomp_export_bpf(ctx, fd);
	if (failed != 0) {
		errno = -failed;
		err_errno(err, "libseccomp: export");
		goto out;
	}
	rc = read_code(ret_policy, fd, err);
out:
	seccomp_release(ctx);
	if (fd != -1)
		close(fd);
	return rc;
}

int
policy_load(const struct policy *policy)
{
	/* The kernel's struct lacks const; it only reads. */
	struct sock_fprog program = {
		.len = policy->len,
		.filter = (struct sock_filter *)(uintptr_t)policy->code,
	};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
