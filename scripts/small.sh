#!/usr/bin/env bash
# Small runs of what `make test` would be too short for, on its debug build: each shows that the whole still works, and no
# more. The figures mean nothing.
#   scripts/small.sh [bench|chaos|fuzz]...
set -euo pipefail
cd "$(dirname "$0")/.."
debug=.build/debug

# Load generator, sink, and two measurements.
small_bench() {
  swift build --package-path Benchmarks
  Benchmarks/.build/debug/bench $debug/signalbox --only senders,postgres --small
}

# One power cut, and one failure of the disk.
small_chaos() {
  SIGNALBOX_BUILD=debug scripts/chaos/run.sh host --only 'power is cut,EIO of one fsync' --rounds 1
}

# The targets in C for a second each. Those in Swift are compiled against the debug build and not run: libFuzzer would need
# another build of every module.
small_fuzz() {
  local map flags=(-I $debug/Modules)
  mkdir -p .build/fuzz
  map=.build/fuzz/CFuzzer.modulemap
  printf 'module CFuzzer { header "%s" export * }\n' "$PWD/Fuzz/Sources/CFuzzer/include/CFuzzer.h" > $map
  for map in "fmodule-map-file=$map" $(grep -o 'fmodule-map-file=[^ "]*' .build/debug.yaml | sort -u); do
    flags+=(-Xcc "-$map")
  done
  for map in $(pkg-config --cflags libpq libnghttp2 libcurl openssl yaml-0.1 sqlite3); do flags+=(-Xcc "$map"); done
  swiftc -typecheck -swift-version 6 -enable-upcoming-feature ExistentialAny -warnings-as-errors -module-name fuzz \
    "${flags[@]}" Fuzz/Sources/fuzz/*.swift
  scripts/fuzz.sh 1 smtp_reply,smtp_address,bus_events,simdjson,kit
}

[ $# -gt 0 ] || set -- bench chaos fuzz
for part in "$@"; do
  printf 'small: %s\n' "$part"
  "small_$part"
done
