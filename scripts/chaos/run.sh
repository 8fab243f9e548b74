#!/usr/bin/env bash
# Runs one of the scripts of this folder on the release build, or on SIGNALBOX_BUILD=debug (wire, host); each says its
# options with --help.
#   scripts/chaos/run.sh fleet|soak|wire|host [OPTIONS]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=${1:?usage: scripts/chaos/run.sh fleet|soak|wire|host [OPTIONS]}
shift
[ -x "$here/../../.build/${SIGNALBOX_BUILD:-release}/signalbox" ] || { echo "$name: make build first" >&2; exit 1; }
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/$name.py" "$@"
