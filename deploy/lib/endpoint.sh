# shellcheck shell=bash
# Which model endpoint the quickstart talks to, from the environment. Sets
# base_url, model, key_name (the variable with the key, or empty) and scripted
# (yes or no). Keys are named in files, never written there. Needs say.sh.

endpoint_choose() {
	scripted=no
	model=${REEVE_MODEL:-}
	key_name=
	if [[ -n ${REEVE_BASE_URL:-} ]]; then
		base_url=${REEVE_BASE_URL%/}
		[[ $base_url =~ ^https?://[^[:space:]]+$ ]] || die "REEVE_BASE_URL is" \
			"no http:// or https:// address: $REEVE_BASE_URL"
		[[ -n $model ]] || die "REEVE_BASE_URL is set, REEVE_MODEL is not:" \
			"name a model of that endpoint"
		[[ -z ${REEVE_API_KEY:-} ]] || key_name=REEVE_API_KEY
	elif [[ -n ${OPENAI_API_KEY:-}${REEVE_API_KEY:-} ]]; then
		base_url=https://api.openai.com/v1
		model=${model:-gpt-5.1}
		key_name=OPENAI_API_KEY
		[[ -z ${REEVE_API_KEY:-} ]] || key_name=REEVE_API_KEY
	else
		scripted=yes
		model=scripted
	fi
}

# What to change after the endpoint refused, by its HTTP status.
endpoint_hint() {
	local key=${key_name:-REEVE_API_KEY} url=REEVE_BASE_URL
	[[ -n ${REEVE_BASE_URL:-} ]] || url="REEVE_BASE_URL (not set)"
	case $1 in
	400 | 422)
		say "$base_url answered $1: does it know the model \"$model\"?" \
			"Set REEVE_MODEL to one that it serves"
		;;
	401 | 403) say "$base_url answered $1: check the key in $key" ;;
	404)
		say "$base_url answered 404: check the address in $url and the" \
			"model in REEVE_MODEL ($model)"
		;;
	esac
}

# The scripted model server: ours, on a loopback port, for this machine only.
scripted_start() {
	local pid_file=$state/pid/model-server port_file=$run/model.port log
	log=$state/log/model-server.log
	if ! process_alive "$pid_file" >/dev/null || [[ ! -s $port_file ]]; then
		scripted_stop
		(cd / && exec setsid "${as_service[@]}" "$model_server" --port 0 \
			--port-file "$port_file" --no-auth) \
			</dev/null >>"$log" 2>&1 9>&- &
		process_note "$pid_file" $! || true
		wait_until 10 "$pid_file" test -s "$port_file" || {
			say "the scripted model server did not start; its log: $log"
			say_log "$log" 5
			exit 1
		}
	fi
	base_url=http://127.0.0.1:$(<"$port_file")/v1
	say "no OPENAI_API_KEY or REEVE_BASE_URL is set: the answers come from a" \
		"small scripted model server, not from a model"
}

scripted_stop() {
	process_stop "$state/pid/model-server" TERM 5 ||
		process_stop "$state/pid/model-server" KILL 5 || true
	rm -f "$run/model.port"
}
