# shellcheck shell=bash
# Processes known by pid files. A line "PID START BOOT": the start time tells a
# process from a later one that got its number, the boot id from one before a
# restart of the machine.

# Start time in clock ticks; fails for a process that is gone or a zombie.
process_start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086 # numbers
	set -- $stat
	[[ $1 != Z && $1 != X ]] || return 1
	printf '%s\n' "${20}"
}

process_note() {
	local file=$1 pid=$2 start boot
	start=$(process_start_time "$pid") || return 1
	boot=$(</proc/sys/kernel/random/boot_id)
	printf '%s %s %s\n' "$pid" "$start" "$boot" >"$file"
}

# Prints the pid if that very process lives.
process_alive() {
	local file=$1 pid start boot
	read -r pid start boot 2>/dev/null <"$file" || return 1
	[[ $boot == "$(</proc/sys/kernel/random/boot_id)" ]] || return 1
	[[ $(process_start_time "$pid") == "$start" ]] || return 1
	printf '%s\n' "$pid"
}

# process_stop FILE SIGNAL SECONDS: signals and waits; fails if it still lives.
process_stop() {
	local file=$1 signal=$2 deadline=$((SECONDS + $3)) pid
	while pid=$(process_alive "$file"); do
		[[ -z $signal ]] || kill -s "$signal" "$pid" 2>/dev/null || true
		signal=
		((SECONDS <= deadline)) || return 1
		sleep 0.05
	done
	rm -f "$file"
}
