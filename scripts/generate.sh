#!/usr/bin/env bash
# Generates files from the contract's headers: generate.sh [--check]
set -euo pipefail
exec python3 -B "$(dirname "$0")/generate" "$@"
