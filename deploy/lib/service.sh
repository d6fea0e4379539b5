# shellcheck shell=bash
# reeved of the quickstart: its files, its start, its end. Needs say.sh,
# process.sh, endpoint.sh and the variables of quickstart.

yaml_quote() {
	local text=${1//\\/\\\\}
	printf '"%s"' "${text//\"/\\\"}"
}

# Where its own user cannot come (a checkout below /root), it runs from copies.
service_install() {
	local name
	if [[ $programs == "$root/build" ]]; then
		return 0
	fi
	install -d -m 755 "$programs"
	for name in reeved reeve-model reeve-tool tests/model-server; do
		cmp -s "$root/build/$name" "$programs/${name#*/}" && continue
		install -m 755 "$root/build/$name" "$programs/.new"
		mv -T "$programs/.new" "$programs/${name#*/}"
	done
	# The tool worker holds the folder: another one only for other content.
	! diff -rq "$root/deploy/examples" "$examples" >/dev/null 2>&1 || return 0
	rm -rf "$state/etc/examples.new"
	cp -rL --no-preserve=ownership "$root/deploy/examples" \
		"$state/etc/examples.new"
	chmod -R u=rwX,go=rX "$state/etc/examples.new"
	rm -rf "$examples"
	mv -T "$state/etc/examples.new" "$examples"
}

service_models() {
	cat <<END
providers:
  - name: quickstart
    base_url: $(yaml_quote "$base_url")
END
	[[ -z $key_name ]] || printf '    key_env: %s\n' "$key_name"
	cat <<END
models:
  - name: default
    provider: quickstart
    model: $(yaml_quote "$model")
END
}

service_config() {
	cat <<END
run_dir: $(yaml_quote "$run")
database: $(yaml_quote "$(pg_conninfo reeve reeve_service)")
END
	# Workers of another user come in through their group.
	((EUID != 0)) || printf 'user: %s\nwork_group: %s\n' "$service_user" \
		"$box_user"
	cat <<END
log: {format: logfmt, level: info}
workers:
  - name: model-1
    program: $(yaml_quote "$programs/reeve-model")
    config: $(yaml_quote "$state/etc/models.yaml")
    slots: 200
END
	[[ -z $key_name ]] || printf '    env: [%s]\n' "$key_name"
	cat <<END
  - name: tool-1
    program: $(yaml_quote "$programs/reeve-tool")
    config: $(yaml_quote "$examples/tools/tools.yaml")
    slots: 4
END
	((EUID != 0)) || printf '    user: %s\n' "$box_user"
}

# Everything that a running service has read: another sum means a restart.
service_sum() {
	{
		sha256sum "$programs"/{reeved,reeve-model,reeve-tool} \
			"$state"/etc/{reeve,models}.yaml
		find -L "$examples/tools" -type f -exec sha256sum {} +
		printf '%s' "${key_name:+${!key_name}}"
	} | sha256sum
}

# It answers, has its database, and both of its workers are there: a run would
# wait for them.
service_answers() {
	local workers
	workers=$(timeout 5 "$root/build/reeve" workers </dev/null 2>&1) &&
		[[ $workers == *model-1* && $workers == *tool-1* ]] &&
		timeout 5 "$root/build/reeve" list --limit 1 </dev/null >/dev/null 2>&1
}

# wait_until SECONDS PID-FILE COMMAND...: fails when the process is gone.
wait_until() {
	local deadline=$((SECONDS + $1)) pid_file=$2
	shift 2
	until "$@" 2>/dev/null; do
		process_alive "$pid_file" >/dev/null && ((SECONDS <= deadline)) ||
			return 1
		sleep 0.05
	done
}

# Only what it needs of our environment: the key under its name.
service_exec() {
	local name key=${key_name:+${!key_name}}
	for name in $(compgen -e); do
		unset "$name" 2>/dev/null || true
	done
	export PATH=/usr/local/bin:/usr/bin:/bin HOME=$state LANG=C.UTF-8
	[[ -z $key_name ]] || export "$key_name=$key"
	cd / && exec setsid "$programs/reeved" --config "$state/etc/reeve.yaml"
}

service_start() {
	local log=$state/log/reeved.log start sum
	service_models >"$state/etc/models.yaml"
	service_config >"$state/etc/reeve.yaml"
	sum=$(service_sum)
	if [[ -e $state/sum && $(<"$state/sum") != "$sum" ]]; then
		# Workers of a service that was killed have read the old ones too.
		say "programs or settings changed: the service is restarted"
		service_stop
	elif process_alive "$state/pid/reeved" >/dev/null; then
		wait_until 10 "$state/pid/reeved" service_answers && return 0
		say "the service does not answer: it is restarted"
		service_stop
	fi
	[[ ! -e $log || $(stat -c %s "$log") -lt 20000000 ]] ||
		mv "$log" "$log.1"
	touch "$log"
	start=$(($(stat -c %s "$log") + 1))
	printf '%s\n' "$sum" >"$state/sum"
	service_exec </dev/null >>"$log" 2>&1 9>&- &
	process_note "$state/pid/reeved" $! || true
	wait_until 30 "$state/pid/reeved" service_is_ready "$start" ||
		service_failed "reeved did not start"
	wait_until 15 "$state/pid/reeved" service_answers ||
		service_failed "a worker of reeved did not start"
}

# Ends what was started; the reason is the last error that was logged.
service_failed() {
	local log=$state/log/reeved.log text
	service_stop
	text=$(tail -c "+$start" "$log" | grep -E '^reeved: |level=error' |
		tail -n 1)
	[[ $text != *' error="'* ]] || text=${text##* error=\"}
	say "$1: ${text%\"}; its log: $log"
	exit 1
}

service_is_ready() {
	tail -c "+$1" "$state/log/reeved.log" | grep -q 'event="\?ready\b'
}

# Workers outlive a supervisor that was killed. They are known by the work
# socket in their command line, their program and their user.
service_workers() {
	local file pid
	# shellcheck disable=SC2013 # paths without spaces
	for file in $(grep -lzxF "ipc://$run/work.sock" /proc/[0-9]*/cmdline \
		2>/dev/null); do
		pid=${file#/proc/}
		pid=${pid%/cmdline}
		case $(stat -c %U "/proc/$pid" 2>/dev/null) in
		root | "$service_user" | "$box_user") ;;
		*) continue ;;
		esac
		case $(head -z -n 1 "$file" 2>/dev/null | tr -d '\0') in
		"$programs/reeve-model" | "$programs/reeve-tool") echo "$pid" ;;
		esac
	done
}

# An orderly stop ends its workers too.
service_stop() {
	local pid file=$state/pid/reeved
	process_stop "$file" TERM 30 || process_stop "$file" KILL 5 || true
	for pid in $(service_workers); do
		process_note "$state/pid/left" "$pid" || continue
		process_stop "$state/pid/left" TERM 10 ||
			process_stop "$state/pid/left" KILL 5 || true
	done
	rm -f "$file"
}
