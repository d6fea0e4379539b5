# shellcheck shell=bash
# Figures as a table for people, with the marks, or as JSON lines. The file
# holds "CASE CONCURRENCY NAME VALUE" lines; of a name that stands more than
# once the smallest value counts, of rates the biggest.

machine() {
	printf '%s, %s cores, %s, Linux %s' "$(date +%F)" "$(nproc)" \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
		"$(uname -r)"
}

best() {
	awk '{
		key = $1 " " $2 " " $3
		if (!(key in value)) {
			order[++n] = key
			value[key] = $4
		} else if ($3 ~ /runs_s$/ ? $4 > value[key] : $4 < value[key]) {
			value[key] = $4
		}
	}
	END {
		for (i = 1; i <= n; i++)
			print order[i], value[order[i]]
	}' "$figures"
}

# One object for each case and concurrency.
print_json() {
	best | awk '
	{
		key = "{\"case\":\"" $1 "\",\"concurrency\":" $2
		if (!(key in body))
			order[++n] = key
		body[key] = body[key] ",\"" $3 "\":" $4
	}
	END {
		for (i = 1; i <= n; i++)
			print order[i] body[order[i]] "}"
	}'
}

print_table() {
	best | awk -v cs="${concurrencies[*]}" '
	BEGIN {
		n = split(cs, at, " ")
	}
	{
		value[$1, $2, $3] = $4
	}
	function head(title) {
		printf "\n%-34s", title
		for (i = 1; i <= n; i++)
			printf "%10s", "C = " at[i]
		print ""
	}
	function row(text, name, format) {
		printf "%-34s", "  " text
		for (i = 1; i <= n; i++)
			printf "%10s", sprintf(format, value[which, at[i], name])
		print ""
	}
	function ratio(text, a, b) {
		printf "%-34s", "  " text
		for (i = 1; i <= n; i++)
			printf "%10.2f", value[which, at[i], a] / value[which, at[i], b]
		print ""
	}
	function table(name, title) {
		which = name
		head(title)
		row("runs/s", "runs_s", "%.0f")
		row("ms a run, p50", "p50_ms", "%.2f")
		row("ms a run, p99", "p99_ms", "%.2f")
		row("commits a run", "commits", "%.2f")
		row("transactions a run, reads too", "transactions", "%.2f")
		row("WAL flushes a run", "flushes", "%.2f")
		row("CPU ms a run: reeved", "cpu/reeved", "%.3f")
		row("  reeve-model", "cpu/reeve-model", "%.3f")
		if (name == "tools")
			row("  reeve-tool", "cpu/reeve-tool", "%.3f")
		row("  PostgreSQL", "cpu/postgres", "%.3f")
		row("  all of these", "cpu/system", "%.3f")
		if (name == "tools")
			row("  boxes and what makes them", "cpu/boxes", "%.3f")
		row("  model server", "cpu/model-server", "%.3f")
		row("yardstick: runs/s", "floor/runs_s", "%.0f")
		row("  ms a run, p50", "floor/p50_ms", "%.2f")
		row("  CPU ms a run: its own", "floor/cpu/own", "%.3f")
		row("  PostgreSQL", "floor/cpu/postgres", "%.3f")
		ratio("runs/s, of the yardstick", "runs_s", "floor/runs_s")
		ratio("CPU, of the yardstick", "cpu/system", "floor/cpu/system")
	}
	END {
		table("tools", "two turns and one tool call")
		table("text", "one turn of text")
		print "\npeak of resident memory, biggest process, MB"
		m = split("reeved reeve-model reeve-tool boxes postgres model-server",
		    role, " ")
		for (i = 1; i <= m; i++)
			printf "  %-32s%10.1f\n", role[i],
			    value["all", 0, "peak_kb/" role[i]] / 1024
	}'
}

print_marks() {
	best | awk '
	{
		value[$1, $2, $3] = $4
		known[$1, $2] = 1
	}
	function mark(c, name, most, strict, text,    v, is_ok) {
		if (!(("tools", c) in known))
			return
		v = value["tools", c, name]
		is_ok = strict ? v < most : v <= most
		printf "%-6s %s: %.3f\n", is_ok ? "ok" : "not ok", text, v
	}
	END {
		print "\nmarks, for two turns and one tool call"
		mark(1, "commits", 4.05, 0, "at most 4 commits a run at C = 1")
		mark(256, "flushes", 0.5, 1, "less than 0.5 WAL flushes a run at C = 256")
		mark(256, "cpu/reeved", 0.2, 0, "supervisor at most 0.2 ms CPU a run at C = 256")
		mark(256, "cpu/system", 0.6, 0, "all without tool processes at most 0.6 ms CPU a run at C = 256")
		mark(256, "cpu/system", 0.25, 0, "goal: 0.25 ms")
	}'
}

print_figures() {
	if [[ $json == yes ]]; then
		print_json
		return
	fi
	machine
	printf '\nbest of %s, fsync on, %s\n' "$repeats" \
		"$(IFS=,; printf '%s' "${postgres_settings[*]}")"
	print_table
	print_marks
}

print_idle() {
	if [[ $json == yes ]]; then
		print_json
		return
	fi
	machine
	printf '\n'
	best | awk -v streams="$streams" '
	{
		value[$1, $3] = $4
	}
	END {
		n = split("reeved reeve-model reeve-tool postgres model-server",
		    role, " ")
		printf "\n%-16s%16s%16s\n", "no runs", "CPU ms/s", "wake-ups/s"
		for (i = 1; i <= n; i++)
			printf "  %-14s%16.2f%16.1f\n", role[i],
			    value["idle", "cpu/" role[i]],
			    value["idle", "wakes/" role[i]]
		if (!(("streams", "kb/reeved") in value))
			exit
		printf "\n%-16s%16s%16s\n", streams " streams", "CPU us/delta",
		    "kB a stream"
		for (i = 1; i <= n; i++)
			printf "  %-14s%16.2f%16s\n", role[i],
			    value["streams", "cpu/" role[i]] * 100 / streams,
			    (("streams", "kb/" role[i]) in value) ? sprintf("%.1f",
				value["streams", "kb/" role[i]]) : ""
	}'
}
