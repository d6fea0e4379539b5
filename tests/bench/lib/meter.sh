# shellcheck shell=bash
# Figures of processes and of PostgreSQL: CPU in nanoseconds by the scheduler's
# own count, the peak of resident memory, wake-ups, transactions, WAL flushes.

roles=(reeved reeve-model reeve-tool boxes postgres model-server)

# show FILE...: those that are still there when they are read.
show() {
	cat "$@" 2>/dev/null || true
}

children_of() {
	show /proc/[0-9]*/stat | awk -v parent="$1" '{
		pid = $1
		sub(/.*\) /, "")
		if ($2 == parent)
			print pid
	}'
}

# pids ROLE. The spawner stands for the boxes that it has made and reaped.
pids() {
	case $1 in
	reeved) printf '%s\n' "$reeved_pid" ;;
	reeve-model) printf '%s\n' "$model_pid" ;;
	reeve-tool) printf '%s\n' "$tool_pid" ;;
	boxes) children_of "$tool_pid" ;;
	postgres)
		printf '%s\n' "$postmaster"
		children_of "$postmaster" | grep -vx "$asker_backend"
		;;
	model-server) printf '%s\n' "$server_pid" ;;
	esac
}

# Does the role's CPU hold that of its ended children?
has_ended_children() {
	[[ $1 == boxes || $1 == postgres ]]
}

ended_children_ns() {
	local stat
	stat=$(<"/proc/$1/stat")
	stat=${stat##*) }
	# shellcheck disable=SC2086 # numbers
	set -- $stat
	printf '%s\n' $(((${14} + ${15}) * (1000000000 / $(getconf CLK_TCK))))
}

role_cpu_ns() {
	local pid files=() more=0
	for pid in $(pids "$1"); do
		files+=("/proc/$pid"/task/*/schedstat)
		! has_ended_children "$1" ||
			more=$((more + $(ended_children_ns "$pid")))
	done
	show "${files[@]}" |
		awk -v more="$more" '{ sum += $1 } END { printf "%.0f\n", sum + more }'
}

# Prints "ROLE NANOSECONDS" for each.
cpu_snapshot() {
	local role
	for role in "${roles[@]}"; do
		printf '%s %s\n' "$role" "$(role_cpu_ns "$role")"
	done
}

# How often its threads went to sleep, so were woken.
switches() {
	local pid files=()
	for pid in $(pids "$1"); do
		files+=("/proc/$pid"/task/*/status)
	done
	show "${files[@]}" |
		awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum + 0 }'
}

# memory_kb FIELD ROLE: the biggest of its processes (VmHWM, VmRSS, …).
memory_kb() {
	local pid
	for pid in $(pids "$2"); do
		show "/proc/$pid/status"
	done | awk -v field="$1:" '$1 == field && $2 > most { most = $2 }
		END { print most + 0 }'
}

# Sets transactions (that took an id, so that wrote), commits (of all kinds, in
# reeve's database) and flushes. Backends hand in the latter two late: whoever
# asks has made them do it before (settle).
read_counters() {
	ask "select pg_snapshot_xmax(pg_current_snapshot()), xact_commit, wal_sync
		from pg_stat_database, pg_stat_wal where datname = 'reeve'"
	IFS='|' read -r transactions commits flushes <<<"$answer"
}
