# shellcheck shell=bash
# CMake and Ninja in a folder of the checkout, with progress. Needs say.sh.

# A build folder that belongs to another path or generator cannot be used.
build_is_foreign() {
	local cache=$1/CMakeCache.txt
	[[ -e $cache ]] || return 1
	! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" ||
		! grep -qxF "CMAKE_GENERATOR:INTERNAL=Ninja" "$cache"
}

build_configure() {
	local dir=$1
	shift
	if build_is_foreign "$dir"; then
		say "$dir was made for another place: made anew"
		rm -rf "$dir"
	fi
	mkdir -p "$dir" 2>/dev/null || true
	[[ -w $dir ]] ||
		die "cannot write to $dir (as $(id -un))"
	[[ ! -e $dir/build.ninja ]] || return 0
	if ! cmake -S "$root" -B "$dir" -G Ninja "$@" >"$dir/build.log" 2>&1; then
		say "cmake failed; all of it: $dir/build.log"
		say_log "$dir/build.log" 15
		return 1
	fi
}

# Passes what ninja says to the log and shows where it stands: a line that is
# written over on a terminal, else one line now and then.
build_progress() {
	local log=$1 label=$2 line shown=$SECONDS pattern='^\[([0-9]+)/([0-9]+)\]'
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$log"
		[[ $line =~ $pattern ]] || continue
		if [[ -t 2 ]]; then
			printf '\r%s: building %s %s of %s\e[K' "${0##*/}" "$label" \
				"${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
			shown=terminal
		elif ((SECONDS - shown >= 10)); then
			shown=$SECONDS
			say "building $label: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
		fi
	done
	[[ $shown != terminal ]] || printf '\r\e[K' >&2
}

# build_targets DIR LABEL NINJA-ARGUMENT...: fails with the log's end shown.
build_targets() {
	local dir=$1 label=$2 log=$1/build.log
	shift 2
	: >"$log"
	if ! NINJA_STATUS='[%f/%t] ' ninja -C "$dir" "$@" 2>&1 </dev/null |
		build_progress "$log" "$label"; then
		say "building $label failed; all of it: $log"
		grep -E -m 5 '^FAILED|error: |undefined reference|^CMake Error' \
			"$log" | sed 's/^/    /' >&2
		return 1
	fi
}
