# shellcheck shell=bash
# Shared by the lints: the repository's files, findings, the closing line.
# A finding is "FILE:LINE: what is wrong"; a lint that found one exits 1.

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
cd "$root" || exit 1
found=0

# A lint whose tool is not there must not pass.
require() {
	command -v "$1" >/dev/null || {
		printf '%s: no %s here\n' "${0##*/}" "$1"
		exit 1
	}
}

# Files of the project by find(1) expressions, without what is built or run.
files() {
	find . \( -name .git -o -name build -o -name 'build-*' -o -name var \
		-o -name __pycache__ \) -prune -o -type f "$@" -print |
		sed 's|^\./||' | LC_ALL=C sort
}

finding() {
	printf '%s\n' "$*"
	found=$((found + 1))
}

# Takes findings, one a line, from stdin.
findings() {
	local line
	while IFS= read -r line; do
		finding "$line"
	done
}

finish() {
	if ((found > 0)); then
		printf '%s: %s findings\n' "${0##*/}" "$found"
		exit 1
	fi
	printf '%s: fine\n' "${0##*/}"
}
