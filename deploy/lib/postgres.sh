# shellcheck shell=bash
# The private PostgreSQL cluster of the quickstart: durable, reached by socket
# only, peer authentication. Needs say.sh, process.sh and the variables state,
# db_run, db_user, service_user, user, as_db (array, empty unless root).

pg_bin=/usr/lib/postgresql/15/bin

pg_conninfo() {
	printf 'host=%s port=5432 dbname=%s user=%s' "$db_run" "$1" "$2"
}

# SQL on stdin, as the cluster's superuser.
pg_super() {
	(cd / && exec "${as_db[@]}" psql -X -q -A -t -v ON_ERROR_STOP=1 \
		-d "$(pg_conninfo postgres reeve_admin)" "$@") 2>&1
}

# A cluster is made beside its place and renamed, so that it is whole or absent.
pg_init() {
	local log=$state/log/initdb.log
	rm -rf "$state/db.new"
	install -d -m 700 "${own_db[@]}" "$state/db.new"
	say "making a database cluster in $state/db"
	if ! (cd / && exec "${as_db[@]}" "$pg_bin/initdb" -D "$state/db.new" \
		-U reeve_admin --auth=peer -E UTF8 --locale=C.UTF-8 \
		--data-checksums) >"$log" 2>&1; then
		say "initdb failed; all of it: $log"
		say_log "$log" 5
		exit 1
	fi
	printf "include 'reeve.conf'\n" >>"$state/db.new/postgresql.conf"
	mv -T "$state/db.new" "$state/db"
}

# Who may be whom: the map holds each system user with the roles it takes.
pg_ident() {
	printf 'reeve "%s" reeve_admin\n' "$db_user"
	printf 'reeve "%s" reeve_service\n' "$service_user"
	printf 'reeve "%s" reeve_owner\n' "$user"
	printf 'reeve "%s" "%s"\n' "$user" "$user"
}

pg_settings() {
	cat <<END
listen_addresses = ''
port = 5432
unix_socket_directories = '$db_run'
unix_socket_permissions = 0777 # the folder says who may come in
max_connections = 50
fsync = on
synchronous_commit = on
full_page_writes = on
log_line_prefix = '%m [%p] %u@%d %a '
log_timezone = 'UTC'
timezone = 'UTC'
END
}

# Writes stdin to a file of the cluster; sets changed when that made a change.
pg_put() {
	local file=$state/db/$1 text
	text=$(cat)
	[[ ! -e $file || $(<"$file") != "$text" ]] || return 0
	printf '%s\n' "$text" >"$file.new"
	chmod 600 "$file.new"
	[[ ${#own_db[@]} -eq 0 ]] || chown "$db_user:$db_user" "$file.new"
	mv -T "$file.new" "$file"
	changed=yes
}

# Does any process work in the cluster's folder, as all of a server's do?
pg_is_used() {
	local dir
	for dir in /proc/[0-9]*; do
		[[ ! $dir/cwd -ef $state/db ]] || return 0
	done
	return 1
}

# Finds a server whose pid file is lost. If there is none, what a killed one
# left must go: its number may be another process now, or a zombie that nobody
# reaps (in containers), and the next server would take that for itself.
pg_adopt() {
	local pid file=$state/db/postmaster.pid
	! process_alive "$state/pid/postgres" >/dev/null || return 0
	if [[ -r $file ]]; then
		pid=$(head -n 1 "$file")
		if [[ /proc/$pid/cwd -ef $state/db ]]; then
			process_note "$state/pid/postgres" "$pid"
			return
		fi
	fi
	pg_is_used || rm -f "$file" "$db_run"/.s.PGSQL.5432{,.lock}
}

pg_start() {
	local changed=no version log=$state/log/postgresql.log
	[[ -e $state/db/PG_VERSION ]] || pg_init
	version=$(<"$state/db/PG_VERSION")
	[[ $version == 15 ]] ||
		die "$state/db was made by PostgreSQL $version, this needs 15"
	pg_settings | pg_put reeve.conf
	pg_ident | pg_put pg_ident.conf
	printf 'local all all peer map=reeve\n' | pg_put pg_hba.conf
	pg_adopt
	if process_alive "$state/pid/postgres" >/dev/null; then
		[[ $changed == no ]] && pg_super -c 'SELECT 1' >/dev/null && return 0
		pg_stop
	fi
	touch "$log"
	[[ ${#own_db[@]} -eq 0 ]] || chown "$db_user:$db_user" "$log"
	if ! (cd / && exec "${as_db[@]}" "$pg_bin/pg_ctl" -D "$state/db" \
		-l "$log" -w -t 60 -s start) </dev/null >/dev/null 2>&1 9>&-; then
		say "PostgreSQL did not start; its log: $log"
		say_log "$log" 5
		exit 1
	fi
	process_note "$state/pid/postgres" "$(head -n 1 "$state/db/postmaster.pid")"
}

# Fast first; a server that will not end in a minute recovers at its next start.
pg_stop() {
	process_stop "$state/pid/postgres" INT 60 ||
		process_stop "$state/pid/postgres" QUIT 20 ||
		die "PostgreSQL (pid $(process_alive "$state/pid/postgres")) stays"
}

# Roles, database, tables.
pg_prepare() {
	local log=$state/log/migrate.log
	if ! pg_super -v "reader=$user" -f - <"$root/deploy/roles.sql" \
		>"$log"; then
		say "deploy/roles.sql failed; all of it: $log"
		say_log "$log" 5
		exit 1
	fi
	if ! "$root/build/reeve" migrate \
		--database "$(pg_conninfo reeve reeve_owner)" >"$log" 2>&1; then
		say "migrations failed; all of it: $log"
		say_log "$log" 5
		exit 1
	fi
}
