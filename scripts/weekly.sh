#!/usr/bin/env bash
# Runs every target of the Makefile that ends, one after another: once a week, on a machine that does nothing else. What
# nobody runs rots. It takes a night; each target has its log, and one that fails does not keep the others from running.
#   scripts/weekly.sh [FOLDER FOR LOGS]
set -uo pipefail
cd "$(dirname "$0")/.."
logs=${1:-.build/weekly}
mkdir -p "$logs"
# Every bundled plugin under valgrind.
export SIGNALBOX_MEMORY=all

targets=(
  lint test build demo docs sbom
  install tarball deb package-test
  bench bench-check event-cost bloat
  chaos chaos-wire chaos-host chaos-fleet soak
  fuzz sanitize
)
# What is said to a target.
words() {
  case $1 in
    install) printf 'DESTDIR=%s' "$PWD/.build/weekly-install" ;;
    bench) printf 'BENCH_JSON=%s' "$(realpath "$logs")/bench.json" ;;
    fuzz) printf 'SECONDS=120' ;;
  esac
}

failed=()
for target in "${targets[@]}"; do
  begin=$SECONDS
  mapfile -t more < <(words "$target")
  make --no-print-directory "$target" "${more[@]}" > "$logs/$target.log" 2>&1 && said=ok || said=FAILED
  [ $said = ok ] || failed+=("$target")
  printf '%-14s %-7s %6d s\n' "$target" $said $((SECONDS - begin))
done
for target in "${failed[@]}"; do printf 'weekly: %s failed, see %s/%s.log\n' "$target" "$logs" "$target" >&2; done
[ "${#failed[@]}" -eq 0 ]
