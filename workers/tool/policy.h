/*
 * Which system calls a tool may make: one filter, built once by the spawner,
 * loaded by each tool just before its program starts.
 */
#ifndef TOOL_POLICY_H
#define TOOL_POLICY_H

#include <linux/filter.h>

#include "base/err.h"

#define POLICY_CODE_MAX 1024

struct policy {
	unsigned short len;
	struct sock_filter code[POLICY_CODE_MAX];
};

/* ERR_SYSTEM, ERR_LIMIT: a filter longer than POLICY_CODE_MAX. */
int policy_build(struct policy *ret_policy, struct err *err) CHECKED;
/* Needs no_new_privs; not to be undone. 0, or -1 with errno. Allocates
 * nothing. */
int policy_load(const struct policy *policy) CHECKED;

#endif
