#!/usr/bin/env bash
# A PostgreSQL server in a new folder, on a socket in it: runs until the process that asked for it has ended.
#   postgres-server.sh FOLDER PROCESS [plain | tls PORT | standby-of FOLDER]
set -euo pipefail
. "$(dirname "$0")/until-ended.sh"
folder=$1
process=$2
kind=${3:-plain}

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
  # A test that was ended may have left it frozen.
  local server
  server=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null || true)
  if [ -n "$server" ]; then
    pkill -CONT -P "$server" || true
    kill -CONT "$server" 2>/dev/null || true
  fi
  "${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap stop EXIT
options="-k '$folder' -c listen_addresses='' -c max_connections=300 ${POSTGRES_OPTIONS:-}"
if [ "$kind" = standby-of ]; then
  "${as[@]}" "$bin/pg_basebackup" -h "$4" -U signalbox -D "$folder/data" -c fast -N -R >/dev/null
  # What the primary was told to be is not for its standby.
  rm -f "$folder/data/postmaster.opts"
else
  "${as[@]}" "$bin/initdb" -D "$folder/data" -U signalbox --auth=trust -E UTF8 --locale=C --no-sync >/dev/null
fi
if [ "$kind" = tls ]; then
  # For localhost alone; a client that trusts it and asks for 127.0.0.1 must refuse it.
  "${as[@]}" openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$folder/server.key" -out "$folder/server.crt" 2>/dev/null
  chmod 0600 "$folder/server.key"
  chmod 0644 "$folder/server.crt"
  chmod 0755 "$folder"
  options="$options -c listen_addresses=127.0.0.1 -c port=$4 -c ssl=on"
  options="$options -c ssl_cert_file='$folder/server.crt' -c ssl_key_file='$folder/server.key'"
  printf '%s\n' 'local all all trust' 'hostssl all all 127.0.0.1/32 scram-sha-256' >"$folder/data/pg_hba.conf"
fi
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -o "$options" start >/dev/null
echo ready
until_ended "$process"
