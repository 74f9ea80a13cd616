# Runs one PostgreSQL server and stops it when standard input ends: the other end of that pipe is
# held by the JVM alone, so the server never outlives it. A line on the pipe says that the stop is
# wanted; an end without a line means that the JVM died, and what it cannot delete is deleted here.
# Usage: sh -c <this text> payrelay-guard <marker file> <directory to delete, or empty> <command...>
set -u
marker=$1
orphan_dir=$2
shift 2

# Ctrl-C and a closed terminal reach the whole group. The JVM stops its own work first and then the
# server, so the server must not see them: it gets a session, or else a process group, of its own.
trap '' INT HUP TERM
own_session=
if command -v setsid >/dev/null 2>&1; then own_session=setsid; else set -m; fi

exec 3<&0
$own_session "$@" </dev/null 3<&- &
server=$!

(
  wanted=
  while read -r line <&3; do wanted=yes; done
  if [ -z "$wanted" ] && [ -n "$orphan_dir" ]; then : >"$marker"; fi
  # Fast stop: sessions end, a checkpoint is written. A walsender whose client hangs can hold it up;
  # then the immediate stop, after which the next start recovers.
  kill -INT "$server" 2>/dev/null
  seconds=0
  while [ "$seconds" -lt 15 ] && kill -0 "$server" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
  done
  kill -QUIT "$server" 2>/dev/null
) &
watcher=$!
exec 3<&-

wait "$server"
code=$?
kill -KILL "$watcher" 2>/dev/null
if [ -e "$marker" ]; then rm -rf "$orphan_dir" "$marker"; fi
exit "$code"
