# shellcheck shell=bash
# What costs without doing much: a system without runs, and a thousand open
# streams that say a word each 100 ms.

idle_s=10
streams=1000

measure_idle() {
	local role before
	case=idle concurrency=0
	declare -A before
	load tools 1 1 >/dev/null
	sleep 2
	for role in "${roles[@]}"; do
		before[$role]=$(switches "$role")
	done
	cpu_snapshot >"$dir/before"
	sleep "$idle_s"
	cpu_snapshot >"$dir/after"
	note_cpu '' "$idle_s" "$dir/before" "$dir/after"
	for role in "${roles[@]}"; do
		note "wakes/$role" "$(per_run \
			$(($(switches "$role") - before[$role])) "$idle_s")"
	done
}

all_streams_play() {
	(($(model_stat playing) >= streams))
}

measure_streams() {
	local role before pid
	[[ -z $mockd ]] || return 0
	case=streams concurrency=$streams
	declare -A before
	for role in reeved reeve-model; do
		before[$role]=$(memory_kb VmRSS "$role")
	done
	load paced "$streams" "$streams" >"$dir/said" &
	pid=$!
	wait_for 30 "$streams streams" all_streams_play
	cpu_snapshot >"$dir/before"
	sleep 5
	cpu_snapshot >"$dir/after"
	note_cpu '' 5 "$dir/before" "$dir/after"
	for role in reeved reeve-model; do
		note "kb/$role" "$(per_run \
			$(($(memory_kb VmRSS "$role") - before[$role])) "$streams")"
	done
	wait "$pid" || die "a paced run failed"
}
