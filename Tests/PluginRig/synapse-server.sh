#!/usr/bin/env bash
# A Matrix homeserver (Synapse) in a new folder, on a port of this machine: runs until the process that asked for it
# has ended. The first call installs it from PyPI into .build/synapse (about half a minute, 240 MB).
#   synapse-server.sh install
#   synapse-server.sh FOLDER PROCESS PORT
set -euo pipefail
. "$(dirname "$0")/until-ended.sh"
version=1.163.2
root=$(cd "$(dirname "$0")/../.." && pwd)
home=$root/.build/synapse

install() {
  mkdir -p "$root/.build"
  exec 9>"$home.lock"
  flock 9
  [ "$(cat "$home/installed" 2>/dev/null || true)" = "$version" ] && return
  rm -rf "$home"
  python3 -m venv "$home" || { echo "python3-venv is missing: run scripts/setup.sh"; exit 1; }
  "$home/bin/pip" install --quiet --disable-pip-version-check "matrix-synapse==$version" >&2 ||
    { echo "Synapse $version could not be installed from PyPI: is the network up?"; exit 1; }
  echo "$version" >"$home/installed"
}
install
exec 9>&-
[ "$1" = install ] && exit 0

folder=$1
process=$2
port=$3
mkdir -p "$folder"
server=
stop() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT
"$home/bin/python" - "$folder/signing.key" <<'PYTHON'
import sys
from signedjson.key import generate_signing_key, write_signing_keys

with open(sys.argv[1], "w") as file:
    write_signing_keys(file, (generate_signing_key("a_1"),))
PYTHON
cat >"$folder/log.yaml" <<YAML
version: 1
formatters: { lines: { format: "%(asctime)s %(levelname)s %(name)s %(message)s" } }
handlers: { file: { class: logging.FileHandler, formatter: lines, filename: "$folder/log" } }
root: { level: INFO, handlers: [file] }
YAML
# Pushes go to this machine, so its addresses are allowed; nothing else is reached.
cat >"$folder/homeserver.yaml" <<YAML
server_name: example.org
report_stats: false
signing_key_path: "$folder/signing.key"
media_store_path: "$folder/media"
log_config: "$folder/log.yaml"
database: { name: sqlite3, args: { database: "$folder/homeserver.db" } }
listeners:
  - { port: $port, bind_addresses: [127.0.0.1], type: http, tls: false, resources: [{ names: [client] }] }
macaroon_secret_key: of-a-test
form_secret: of-a-test
enable_registration: true
enable_registration_without_verification: true
ip_range_whitelist: [127.0.0.1/32]
trusted_key_servers: []
suppress_key_server_warning: true
rc_message: { per_second: 1000, burst_count: 1000 }
YAML
cd "$folder"
"$home/bin/python" -m synapse.app.homeserver -c homeserver.yaml >"$folder/output" 2>&1 9>&- &
server=$!
for _ in $(seq 300); do
  if curl -s -o "$folder/versions" "http://127.0.0.1:$port/_matrix/client/versions"; then
    echo ready
    until_ended "$process"
    exit 0
  fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
echo "Synapse did not start: $(tail -n 5 "$folder/output" "$folder/log" 2>/dev/null)"
exit 1
