#!/usr/bin/env bash
# A PostgreSQL server in a new folder, on a socket in it: runs until the process that asked for it has ended.
#   postgres-server.sh FOLDER PROCESS
set -euo pipefail
folder=$1
process=$2

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo "PostgreSQL is not installed: run scripts/setup.sh" >&2; exit 1; }
mkdir -p "$folder"
# The server refuses to run as root.
as=()
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$folder"
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
cd "$folder"
stop() {
  "${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap stop EXIT
"${as[@]}" "$bin/initdb" -D "$folder/data" -U signalbox --auth=trust -E UTF8 --locale=C --no-sync >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w start \
  -o "-k '$folder' -c listen_addresses='' -c max_connections=300" >/dev/null
echo ready
exec 1>/dev/null 2>&1
tail --pid="$process" -f /dev/null
