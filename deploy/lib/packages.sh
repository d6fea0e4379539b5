# shellcheck shell=bash
# What deploy/packages.txt names and this machine lacks. Needs say.sh.

# The names whose need is one of the arguments and that are not installed.
packages_missing() {
	local names installed name
	names=$(awk -v needs=" $* " \
		'!/^#/ && NF && index(needs, " " $2 " ") { print $1 }' \
		"$root/deploy/packages.txt")
	# shellcheck disable=SC2086,SC2016 # one name a word; dpkg's own ${}
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
		$names 2>/dev/null) || true
	for name in $names; do
		grep -qxF "installed $name" <<<"$installed" || printf '%s\n' "$name"
	done
}

# Installs what is missing of these needs; quick when nothing is.
packages_need() {
	local missing log as_root=()
	command -v dpkg-query >/dev/null ||
		die "this is no Debian system (no dpkg-query); reeve needs Debian 12"
	missing=$(packages_missing "$@")
	missing=${missing//$'\n'/ }
	[[ -n $missing ]] || return 0
	command -v apt-get >/dev/null ||
		die "no apt-get here to install what is missing: $missing"
	if ((EUID != 0)); then
		command -v sudo >/dev/null || die "packages are missing and there" \
			"is no sudo; as root: apt-get install $missing"
		as_root=(sudo)
		[[ -t 0 && -t 2 ]] || as_root=(sudo -n)
		"${as_root[@]}" true 2>/dev/null || die "packages are missing and" \
			"sudo refuses; as root: apt-get install $missing"
	fi
	log=$(mktemp "${TMPDIR:-/tmp}/reeve-apt.XXXXXX") ||
		die "cannot write to ${TMPDIR:-/tmp}"
	say "installing packages: $missing"
	# shellcheck disable=SC2086 # one name a word
	if ! "${as_root[@]}" sh "$root/deploy/lib/install-packages" $missing \
		>"$log" 2>&1 </dev/null; then
		say "installing packages failed; all of it: $log"
		say_log "$log" 8
		exit 1
	fi
	rm -f "$log"
}
