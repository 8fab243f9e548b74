#!/usr/bin/env bash
# Writes the files that follow from the contract's headers: generate.sh [--check]
set -euo pipefail
exec python3 -B "$(dirname "$0")/generate" "$@"
