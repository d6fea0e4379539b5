# shellcheck shell=bash
# Notes and errors of the scripts, on stderr, so that stdout is the answer.

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# The last lines of a log, indented, below an error.
say_log() {
	local file=$1 lines=${2:-15}
	[[ ! -s $file ]] || tail -n "$lines" "$file" | sed 's/^/    /' >&2
}
