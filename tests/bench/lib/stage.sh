# shellcheck shell=bash
# The stage of a benchmark: a durable PostgreSQL of its own, a model server,
# reeved with one model worker and one tool worker, two agents. Everything lies
# in $dir and is ended by stage_end.

. "$root/deploy/lib/process.sh"

# What is not PostgreSQL's default. Checkpoints are started between cases, so
# that none falls into one by chance; the rest makes room for what a case writes.
postgres_settings=(
	"shared_buffers = '256MB'"
	"max_wal_size = '8GB'"
	"checkpoint_timeout = '30min'"
)
model_slots=2048
tool_slots=8

die() {
	printf 'bench: %s\n' "$*" >&2
	exit 1
}

# wait_for SECONDS WHAT COMMAND...
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || die "waited in vain: $what; see $dir"
		sleep 0.05
	done
}

start() {
	local name=$1
	shift
	setsid "$@" >>"$dir/$name.log" 2>&1 </dev/null &
	process_note "$dir/pid/$name" $! ||
		die "$name ended at once: $(tail -n 3 "$dir/$name.log")"
	disown $!
}

pid_of() {
	process_alive "$dir/pid/$1"
}

cluster() {
	"$root/tests/support/cluster" "$@"
}

# ---- the database ----

database_start() {
	local setting
	conninfo=$(cluster start "$dir/cluster" --durable)
	for setting in "${postgres_settings[@]}"; do
		psql -X -q -d "$conninfo" -c "alter system set $setting"
	done
	cluster halt "$dir/cluster"
	cluster start "$dir/cluster" >/dev/null
	cluster newdb "$dir/cluster" reeve >/dev/null
	cluster newdb "$dir/cluster" floor >/dev/null
	"$build/reeve" migrate --database \
		"$(cluster conninfo "$dir/cluster" reeve reeve_owner)" >/dev/null
	floor_conninfo=$(cluster conninfo "$dir/cluster" floor postgres)
	postmaster=$(cluster pid "$dir/cluster")
	asker_start
}

# One session asks for all figures, so that its process can be left out.
asker_start() {
	mkfifo "$dir/questions" "$dir/answers"
	# shellcheck disable=SC2016 # the inner shell's
	start asker bash -c 'exec psql -X -q -A -t -d "$1" <"$2" >"$3" 2>&1' \
		asker "$conninfo" "$dir/questions" "$dir/answers"
	exec {questions}>"$dir/questions" {answers}<"$dir/answers"
	ask 'select pg_backend_pid()'
	asker_backend=$answer
}

# Sets answer; the query gives one row.
ask() {
	printf '%s;\n' "$1" >&"$questions"
	read -r -t 60 answer <&"$answers" || die "the database does not answer"
	[[ $answer != *ERROR* ]] || die "$answer"
}

# ---- the model ----

free_port() {
	local port
	while port=$((20000 + RANDOM % 12000)); do
		(: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	printf '%s\n' "$port"
}

model_answers() {
	: <>"/dev/tcp/127.0.0.1/$model_port"
}

model_start() {
	if [[ -n $mockd ]]; then
		cc -O2 -w -o "$dir/mockd" "$mockd" -lpthread
		model_port=$(free_port)
		start model "$dir/mockd" -p "$model_port"
	else
		start model "$build/tests/model-server" --port 0 \
			--port-file "$dir/model.port" --no-auth
		wait_for 10 "the model server" test -s "$dir/model.port"
		model_port=$(<"$dir/model.port")
	fi
	wait_for 10 "the model server" model_answers
}

# Prints one counter of the scripted server.
model_stat() {
	local socket
	exec {socket}<>"/dev/tcp/127.0.0.1/$model_port"
	printf 'GET /stats HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n' \
		>&"$socket"
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" <&"$socket"
	exec {socket}>&-
}

# ---- reeve ----

write_tools() {
	mkdir -p "$dir/tools"
	cp "$build/tests/bench-tool" "$dir/tools/"
	cat >"$dir/tools/tools.yaml" <<'END'
tools:
  - name: weather
    description: The weather in a city.
    parameters:
      type: object
      properties: {city: {type: string}}
      required: [city]
      additionalProperties: false
    argv: [bench-tool]
    idempotent: false
    needs_approval: false
END
}

# agent NAME MODEL [LINE...]: each agent has a model of its own.
agent() {
	local name=$1 model=$2
	shift 2
	{
		printf 'name: %s\nmodel: %s\n' "$name" "$model"
		printf 'instructions: Do as you are told.\n'
		(($# == 0)) || printf '%s\n' "$@"
	} >"$dir/agents/$name.yaml"
	printf '  - {name: %s, provider: scripted, model: %s}\n' "$model" \
		"$model" >>"$dir/models.yaml"
}

write_agents() {
	mkdir -p "$dir/agents"
	cat >"$dir/models.yaml" <<END
providers:
  - {name: scripted, base_url: "http://127.0.0.1:$model_port/v1"}
models:
END
	agent tools bench-tools-1 'tools: [weather]'
	agent text bench-text-16
	agent paced bench-paced-100x100
}

write_config() {
	{
		printf 'run_dir: %s\ndatabase: "%s"\n' "$dir/run" \
			"$(cluster conninfo "$dir/cluster" reeve reeve_service)"
		# Tools run as another user then, who must reach the socket.
		((EUID != 0)) || printf 'work_group: %s\n' \
			"$(id -gn reeve-box 2>/dev/null || id -gn nobody)"
		cat <<END
limits: {active_runs: $model_slots}
workers:
  - name: model-1
    program: $build/reeve-model
    config: $dir/models.yaml
    slots: $model_slots
  - name: tool-1
    program: $build/reeve-tool
    config: $dir/tools/tools.yaml
    slots: $tool_slots
END
	} >"$dir/reeve.yaml"
}

reeve() {
	timeout 20 "$build/reeve" "$1" --socket "$dir/run/front.sock" "${@:2}"
}

worker_pid() {
	local pid
	pid=$(reeve workers --json |
		sed -n "s/^{\"name\":\"$1\",.*\"pid\":\([0-9]*\),.*/\1/p")
	[[ $pid =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' "$pid"
}

reeve_start() {
	write_tools
	write_agents
	write_config
	start reeved "$build/reeved" --config "$dir/reeve.yaml"
	wait_for 20 "the model worker" worker_pid model-1
	wait_for 20 "the tool worker" worker_pid tool-1
	reeve apply "$dir/agents" >/dev/null
	reeved_pid=$(pid_of reeved)
	model_pid=$(worker_pid model-1)
	tool_pid=$(worker_pid tool-1)
	server_pid=$(pid_of model)
}

# load AGENT RUNS CONCURRENCY: prints what bench-load says.
load() {
	"$build/tests/bench-load" --socket "$dir/run/front.sock" --agent "$1" \
		--runs "$2" --concurrency "$3" ||
		die "$1: not all of $2 runs at concurrency $3 completed"
}

stage_start() {
	mkdir -p "$dir/pid"
	database_start
	model_start
	reeve_start
}

stage_end() {
	process_stop "$dir/pid/reeved" TERM 25 ||
		process_stop "$dir/pid/reeved" KILL 5 || true
	process_stop "$dir/pid/model" TERM 5 || true
	process_stop "$dir/pid/asker" TERM 5 || true
	cluster stop "$dir/cluster" || true
}
