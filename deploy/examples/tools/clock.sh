#!/usr/bin/sh
# The time now, in UTC. Takes no arguments; the empty object is read and left.
cat >/dev/null
exec date -u '+%Y-%m-%d %H:%M:%S UTC (%A)'
