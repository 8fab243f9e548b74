#!/usr/bin/env bash
# Counts what one webhook with two pushes costs the built gateway, with the shipped gateway.yaml against the simulators:
# JSON parses, allocations and their bytes, and voluntary context switches. Prints one line of JSON.
#   scripts/measure/event-cost.sh [EVENTS]
# The webhooks are sent one after another, 10 ms apart. The cost of an idle gateway over the
# same time is subtracted.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
signalbox="$root/.build/release/signalbox"
[ -x "$signalbox" ] || { echo "event-cost: make build first" >&2; exit 1; }
counter=$(mktemp --suffix=.so)
trap 'rm -f "$counter"' EXIT
cc -O2 -shared -fPIC -o "$counter" "$root/scripts/measure/count.c"
python3 "$root/scripts/measure/event-cost.py" "$signalbox" "$counter" "$root/gateway.yaml" "${1:-500}"
