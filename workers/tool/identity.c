/*
 * The change from root to the user of the boxes. Looks the user up, once, and
 * gives root up for good.
 */
#include "workers/tool/identity.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

static int
take(struct identity *ret, const struct passwd *user, struct err *err)
{
	if (user->pw_uid == 0)
		return err_set(err, ERR_INPUT,
		    "tools do not run as root; name another user with --user");
	if (strlen(user->pw_name) >= sizeof(ret->name))
		return err_set(err, ERR_LIMIT, "user %s: the name is too long",
		    user->pw_name);
	snprintf(ret->name, sizeof(ret->name), "%s", user->pw_name);
	ret->switches = true;
	ret->uid = user->pw_uid;
	ret->gid = user->pw_gid;
	return 0;
}

static int
check_own(const char *name, struct err *err)
{
	const struct passwd *user = name == NULL ? NULL : getpwnam(name);

	if (name == NULL || (user != NULL && user->pw_uid == geteuid()))
		return 0;
	return err_set(err, ERR_INPUT,
	    "--user %s: only root can become another user", name);
}

int
identity_find(struct identity *ret, const char *name, struct err *err)
{
	const char *wanted = name == NULL ? IDENTITY_DEFAULT : name;
	const struct passwd *user;

	*ret = (struct identity){ .uid = geteuid(), .gid = getegid() };
	if (geteuid() != 0)
		return check_own(name, err);
	user = getpwnam(wanted);
	if (user == NULL && name == NULL) {
		wanted = IDENTITY_FALL_BACK;
		user = getpwnam(wanted);
	}
	if (user == NULL)
		return err_set(err, ERR_MISSING, "there is no user %s", wanted);
	return take(ret, user, err);
}

int
identity_become(const struct identity *identity, struct err *err)
{
	if (!identity->switches)
		return 0;
	if (initgroups(identity->name, identity->gid) == -1 ||
	    setresgid(identity->gid, identity->gid, identity->gid) == -1 ||
	    setresuid(identity->uid, identity->uid, identity->uid) == -1)
		return err_errno(err, "change to user %s", identity->name);
	return 0;
}
