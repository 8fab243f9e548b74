#!/usr/bin/env bash
# Package.resolved as it is committed: which version of each package, without what SwiftPM adds of its own (commit ids of
# where it was fetched from, and a hash of Package.swift). git asks it, once scripts/setup.sh has said so.
#   scripts/pins.sh < Package.resolved
#   scripts/pins.sh check         fails if the build took another version than the committed one; if not, git sees no change
set -euo pipefail
versions() { sed '/"originHash"/d; /"revision"/d'; }
[ "${1:-}" = check ] || { versions; exit 0; }

cd "$(dirname "$0")/.."
committed=$(git show HEAD:Package.resolved 2>/dev/null) || exit 0
case $committed in *'"revision"'*)
  echo "pins: Package.resolved was committed with commit ids: run scripts/setup.sh, and commit it once more" >&2
  exit 1 ;;
esac
[ "$committed" = "$(versions < Package.resolved)" ] || {
  diff <(printf '%s\n' "$committed") <(versions < Package.resolved) >&2 || true
  echo "pins: the build took other versions than Package.resolved names; commit it if that is meant" >&2
  exit 1
}
git update-index Package.resolved 2>/dev/null || true
