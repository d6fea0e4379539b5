# shellcheck shell=bash
# What the system tests share: a database cluster, a scripted model, reeved
# with its workers, waiting for what anybody can see, and the end of it all.
#
# A test is a list of promises, each a function that says in its name what
# holds; it runs in a subshell with errexit, and everything that it learns about
# processes is in files, so that promises share a running system.

set -euo pipefail
umask 022

dir=$REEVE_TEST_DIR
build=$REEVE_BUILD
root=$REEVE_ROOT
instance=reeved
run=$dir/run
tools=$dir/tools
pids=$dir/pid
front=$run/front.sock
. "$root/deploy/lib/process.sh"

promises=0
broken=0
mkdir -p "$pids" "$tools" "$dir/agents"
export ASAN_OPTIONS=${ASAN_OPTIONS:-} UBSAN_OPTIONS=${UBSAN_OPTIONS:-}
export PGCONNECT_TIMEOUT=5

# ---- promises ----

# promise FUNCTION [ARGUMENT...]
promise() {
	local name="${*//_/ }" status start
	promises=$((promises + 1))
	start=$(now_ms)
	set +e
	(
		set -e
		"$@"
	) >"$dir/said" 2>&1
	status=$?
	set -e
	if ((status == 0)); then
		start=$(($(now_ms) - start))
		printf 'ok - %s (%s.%s s)\n' "$name" $((start / 1000)) \
			$((start % 1000 / 100))
		return
	fi
	broken=$((broken + 1))
	printf 'not ok - %s\n' "$name"
	sed 's/^/    /' "$dir/said"
}

fail() {
	printf '%s\n' "$*"
	exit 1
}

# expect WHAT GOT WANTED
expect() {
	[[ $2 == "$3" ]] || fail "$1: expected \"$3\", got \"$2\""
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || fail "waited in vain: $what"
		sleep 0.05
	done
}

now_ms() {
	printf '%s' $((${EPOCHREALTIME/./} / 1000))
}

# ---- processes ----

# start NAME COMMAND...: in the background; output to log NAME.
start() {
	local name=$1
	shift
	setsid "$@" >>"$dir/$name.log" 2>&1 </dev/null &
	process_note "$pids/$name" $! || fail "$name ended at once:" \
		"$(tail -n 3 "$dir/$name.log")"
	disown $! # bash would tell of its death
}

# converse NAME COMMAND...: started as above, its input are the lines given to
# say NAME LINE.
converse() {
	local name=$1
	shift
	rm -f "$dir/$name.in"
	mkfifo "$dir/$name.in"
	# shellcheck disable=SC2016 # the inner shell's
	start "$name" bash -c 'exec "$@" <>"$0"' "$dir/$name.in" "$@"
}

say() {
	printf '%s\n' "$2" >"$dir/$1.in"
}

# answers NAME PATTERN: waits for a line, prints it.
answers() {
	wait_for 10 "an answer with $2" grep -qE -- "$2" "$dir/$1.log"
	grep -E -- "$2" "$dir/$1.log" | tail -n 1
}

pid_of() {
	process_alive "$pids/$1"
}

# end NAME SIGNAL SECONDS
end() {
	process_stop "$pids/$1" "$2" "$3" || fail "$1 did not end on SIG$2"
}

is_gone() {
	! process_start_time "$1" >/dev/null
}

# Pids of workers by their command line: of the folder, else of the supervisor
# at hand.
workers() {
	local file pid
	# shellcheck disable=SC2013 # paths without spaces
	for file in $(grep -lz "^ipc://${1:-$run}/" /proc/[0-9]*/cmdline \
		2>/dev/null); do
		pid=${file#/proc/}
		pid=${pid%/cmdline}
		is_gone "$pid" || printf '%s\n' "$pid"
	done
}

# workers_named NAME: those that were given this name.
workers_named() {
	local pid
	for pid in $(workers); do
		! grep -qzxF -- "$1" "/proc/$pid/cmdline" 2>/dev/null ||
			printf '%s\n' "$pid"
	done
}

# Pid of the connected worker of this name.
worker_pid() {
	local pid
	pid=$(reeve workers --json |
		sed -n "s/^{\"name\":\"$1\",.*\"pid\":\([0-9]*\),.*/\1/p")
	[[ $pid =~ ^[0-9]+$ ]] || return 1
	printf '%s\n' "$pid"
}

# ---- the database ----

# As durable as a real one if the variable durable is set.
database_start() {
	"$root/tests/support/cluster" start "$dir" ${durable:+--durable} \
		>/dev/null
	"$root/tests/support/cluster" newdb "$dir" reeve >/dev/null
	"$build/reeve" migrate --database "$(conninfo reeve_owner)" >/dev/null
}

conninfo() {
	"$root/tests/support/cluster" conninfo "$dir" reeve "$1"
}

# As the cluster's superuser; SQL as argument or on stdin.
sql() {
	if (($# > 0)); then
		psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$(conninfo postgres)" -c "$1"
	else
		psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$(conninfo postgres)"
	fi
}

# is QUERY: does it say t?
is() {
	[[ $(sql "$1" 2>/dev/null) == t ]]
}

# session NAME ROLE: a session that stays open; what it is told with tell
# NAME SQL is answered into log NAME.
session() {
	converse "$1" psql -X -q -A -t -d "$(conninfo "$2")"
}

tell() {
	say "$1" "$2;"
}

# ---- the model ----

# Takes any port; the same one again when it is started anew.
model_start() {
	local port=0
	[[ ! -s $dir/model.port ]] || port=$(<"$dir/model.port")
	start model "$build/tests/model-server" --port "$port" \
		--port-file "$dir/model.port" --no-auth
	wait_for 10 "the model server" test -s "$dir/model.port"
}

# http METHOD PATH [BODY]: prints the body of the answer.
http() {
	local socket body=${3-} LC_ALL=C
	exec {socket}<>"/dev/tcp/127.0.0.1/$(<"$dir/model.port")"
	printf '%s %s HTTP/1.1\r\nHost: model\r\nConnection: close\r\n' \
		"$1" "$2" >&"$socket"
	printf 'Content-Length: %s\r\n\r\n%s' "${#body}" "$body" >&"$socket"
	sed '1,/^\r$/d' <&"$socket"
	exec {socket}>&-
}

# Rules on stdin, in place of those before; counters go back to zero.
model_script() {
	local said
	said=$(http POST /script "$(cat)")
	[[ $said != *'"error"'* ]] || fail "script refused: $said"
	http POST /reset >/dev/null
}

model_stat() {
	http GET /stats | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# How many requests hold this text.
model_requests() {
	http GET /requests | grep -cF -- "$1" || true
}

no_request_was_refused() {
	local stats
	stats=$(http GET /stats)
	[[ $stats == *'"refused":0,'* ]] || fail "$stats"
}

# ---- tools ----

# tool NAME IDEMPOTENT [KEY: VALUE...]: a shell script on stdin.
tool() {
	local name=$1 idempotent=$2
	shift 2
	cat >"$tools/$name.sh"
	[[ -s $tools/tools.yaml ]] || printf 'tools:\n' >"$tools/tools.yaml"
	cat >>"$tools/tools.yaml" <<-END
		  - name: $name
		    description: A tool of the tests.
		    parameters: {type: object, properties: {}}
		    argv: [/usr/bin/sh, $name.sh]
		    idempotent: $idempotent
		    needs_approval: false
	END
	(($# == 0)) || printf '    %s\n' "$@" >>"$tools/tools.yaml"
}

# A pipe through which tools tell what they did: their folder is read-only, a
# pipe in it is not. Lines go to the log marks.
marks_start() {
	mkfifo -m 666 "$tools/marks"
	# shellcheck disable=SC2016 # the inner shell's
	start marks bash -c 'exec cat <>"$0"' "$tools/marks"
}

marks() {
	grep -cxF -- "$1" "$dir/marks.log" || true
}

has_mark() {
	grep -qxF -- "$1" "$dir/marks.log"
}

# ---- reeve ----

# A second supervisor on the same database: second FUNCTION...
second() {
	local instance=second run=$dir/run2 front=$dir/run2/front.sock
	"$@"
}

# agent NAME [LINE...]
agent() {
	local name=$1
	shift
	{
		printf 'name: %s\nmodel: default\n' "$name"
		printf 'instructions: Do as you are told.\n'
		(($# == 0)) || printf '%s\n' "$@"
	} >"$dir/agents/$name.yaml"
}

# When we are root, tools run as another user, who must reach the socket.
work_group() {
	((EUID != 0)) || printf 'work_group: %s\n' \
		"$(id -gn reeve-box 2>/dev/null || id -gn nobody)"
}

local_workers() {
	cat <<END
workers:
  - name: model-1
    program: $build/reeve-model
    config: $dir/models.yaml
    slots: ${model_slots:-400}
    env: [REEVE_TEST_DIR, ASAN_OPTIONS, UBSAN_OPTIONS]
END
	[[ -e $tools/tools.yaml ]] || return 0
	cat <<END
  - name: tool-1
    program: $build/reeve-tool
    config: $tools/tools.yaml
    slots: ${tool_slots:-8}
    env: [REEVE_TEST_DIR, ASAN_OPTIONS, UBSAN_OPTIONS]
END
}

# Writes reeve.yaml and models.yaml. Variables that change what is written:
# database (conninfo), settings (further lines), model_slots, tool_slots.
configure() {
	{
		printf 'run_dir: %s\ndatabase: "%s"\n' "$run" \
			"${database:-$(conninfo reeve_service)}"
		work_group
		[[ -z ${settings:-} ]] || printf '%s\n' "$settings"
		local_workers
	} >"$dir/$instance.yaml"
	cat >"$dir/models.yaml" <<END
providers:
  - name: scripted
    base_url: http://127.0.0.1:$(<"$dir/model.port")/v1
models:
  - name: default
    provider: scripted
    model: scripted
END
}

reeve() {
	timeout 20 "$build/reeve" "$1" --socket "$front" "${@:2}"
}

reeved_start() {
	start "$instance" "$build/reeved" --config "$dir/$instance.yaml"
}

reeved_kill() {
	end "$instance" KILL 5
}

# Until clients are served and the local workers are there.
reeved_ready() {
	wait_for 20 "the front socket" reeve list --limit 1
	wait_for 20 "the model worker" worker_pid model-1
	[[ ! -e $tools/tools.yaml ]] ||
		wait_for 20 "the tool worker" worker_pid tool-1
}

# An orderly stop, which ends the workers too.
supervisor_and_workers_stop_in_order() {
	end "$instance" TERM 25
	wait_for 10 "the end of the workers" no_workers
}

no_workers() {
	[[ -z $(workers) ]]
}

apply() {
	reeve apply "$dir/agents" >/dev/null
}

# submit AGENT INPUT [OPTION...]: prints the id.
submit() {
	reeve submit "$@"
}

state_of() {
	sql "SELECT state FROM reeve.runs WHERE id = '$1'"
}

run_is() {
	is "SELECT state = '$2' FROM reeve.runs WHERE id = '$1'"
}

run_has_ended() {
	is "SELECT finished_at IS NOT NULL FROM reeve.runs WHERE id = '$1'"
}

# ends RUN STATE [SECONDS]
ends() {
	wait_for "${3:-15}" "the end of run $1: $(describe "$1")" run_has_ended "$1"
	[[ $(state_of "$1") == "$2" ]] || fail "not $2: $(describe "$1")"
}

all_have_ended() {
	is "SELECT count(*) = 0 FROM reeve.runs WHERE finished_at IS NULL"
}

describe() {
	sql "SELECT state, reason, waits_for, error, step FROM reeve.runs
		WHERE id = '$1'"
	sql "SELECT turn, attempt, state, error FROM reeve.turns
		WHERE run = '$1'"
	sql "SELECT turn, call, attempt, state, outcome FROM reeve.tool_calls
		WHERE run = '$1'"
} 2>&1

output_of() {
	sql "SELECT output FROM reeve.runs WHERE id = '$1'"
}

# What must hold whatever was killed: every ended run has its whole transcript,
# each call exactly one output, and nothing of an ended run is open.
transcripts_are_whole() {
	local bad
	bad=$(sql <<'END'
SELECT 'a call of ' || c.run || ' has ' || count(o) || ' outputs'
FROM reeve.items c
JOIN reeve.runs r ON r.id = c.run AND r.finished_at IS NOT NULL
LEFT JOIN reeve.items o ON o.run = c.run AND o.call_id = c.call_id
    AND o.type = 'function_call_output'
WHERE c.type = 'function_call'
GROUP BY c.run, c.turn, c.call_id HAVING count(o) <> 1;
SELECT 'an output of ' || o.run || ' without its call'
FROM reeve.items o WHERE o.type = 'function_call_output' AND NOT EXISTS (
    SELECT FROM reeve.items c WHERE c.run = o.run AND c.call_id = o.call_id
        AND c.type = 'function_call');
SELECT 'run ' || r.id || ' has ended, turn ' || t.turn || ' is open'
FROM reeve.runs r JOIN reeve.turns t ON t.run = r.id
WHERE r.finished_at IS NOT NULL AND t.state = 'dispatched';
SELECT 'run ' || r.id || ' has ended, a call is open'
FROM reeve.runs r JOIN reeve.tool_calls c ON c.run = r.id
WHERE r.finished_at IS NOT NULL AND c.state IN ('queued', 'dispatched');
SELECT 'run ' || run || ' has two answers for turn ' || turn
FROM reeve.turns WHERE state = 'done' GROUP BY run, turn HAVING count(*) > 1;
SELECT 'completed run ' || id || ' has no answer' FROM reeve.runs
WHERE state = 'completed' AND output IS NULL;
END
	)
	[[ -z $bad ]] || fail "$bad"
}

# ---- the end ----

end_everything() {
	local file pid
	for file in "$pids"/*; do
		process_stop "$file" TERM 15 || process_stop "$file" KILL 5 || true
	done
	for pid in $(workers "$dir"); do
		process_note "$pids/left" "$pid" || continue
		process_stop "$pids/left" KILL 5 || true
	done
	"$root/tests/support/cluster" stop "$dir" || true
}

finish() {
	local status=$?
	trap - EXIT
	end_everything >"$dir/end.log" 2>&1
	printf '100%%: Checks: %s, Failures: %s, Errors: 0\n' "$promises" \
		"$broken"
	((status != 0 || broken == 0)) || status=1
	exit "$status"
}
trap finish EXIT
