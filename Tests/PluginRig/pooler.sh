#!/usr/bin/env bash
# PgBouncer in transaction mode on a socket in a new folder, before the server in another one: runs until the process that
# asked for it has ended.
#   pooler.sh FOLDER PROCESS SERVER_FOLDER
set -euo pipefail
. "$(dirname "$0")/until-ended.sh"
folder=$1
process=$2

mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
as=()
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$folder"
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
cat >"$folder/pooler.ini" <<END
[databases]
* = host=$3 port=5432 user=signalbox
[pgbouncer]
listen_addr =
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
default_pool_size = 50
server_login_retry = 1
query_wait_timeout = 2
logfile = $folder/log
END
PATH=$PATH:/usr/sbin "${as[@]}" pgbouncer -q "$folder/pooler.ini" >/dev/null 2>&1 &
pooler=$!
# It inherits the signals that the tests' threads block.
trap 'kill -KILL "$pooler" 2>/dev/null || true; rm -rf "$folder"' EXIT
until [ -S "$folder/.s.PGSQL.6432" ]; do
  kill -0 "$pooler" 2>/dev/null || { echo "PgBouncer did not start: run scripts/setup.sh" >&2; exit 1; }
  sleep 0.05
done
echo ready
until_ended "$process"
