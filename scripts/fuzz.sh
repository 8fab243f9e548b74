#!/usr/bin/env bash
# Runs the fuzz targets of Fuzz/, one after another, and prints a table; fails if one of them has crashed.
#   scripts/fuzz.sh SECONDS [TARGET,...]
# RUNS=N ends a target after N inputs if that is sooner.
set -euo pipefail
cd "$(dirname "$0")/.."

time=$1 only=${2:-} runs=${RUNS:--1}
out=${FUZZ_OUT:-.build/fuzz}
mkdir -p "$out/bin" "$out/log" "$out/crashes"
crashes=$(realpath "$out/crashes")

# Debian's gold cannot link what the sanitizers make, so lld does.
swift_flags=(-Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing -Xswiftc -use-ld=lld)
c_flags=(-g -O1 -Wall -Wextra -Werror -Iinclude -D_GNU_SOURCE -fno-sanitize-recover=undefined)
c_targets=(smtp_reply smtp_address bus_events simdjson kit)

wants() { case ",$only," in ,,|*",$1,"*) ;; *) return 1 ;; esac; }

# Whether a target is wanted that is part of the Swift program.
wants_swift() {
  local name
  [ -n "$only" ] || return 0
  for name in ${only//,/ }; do case " ${c_targets[*]} " in *" $name "*) ;; *) return 0 ;; esac; done
  return 1
}

build_swift() {
  swift build -c release ${JOBS:+-j "$JOBS"} --product fuzz --package-path Fuzz --scratch-path "$out/swift" "${swift_flags[@]}"
}

build_c() {
  local shim=Sources/CLibraries/CSimdjson
  clang++ "${c_flags[@]}" -std=c++17 -fsanitize=fuzzer-no-link,address,undefined -I$shim/include \
    -c $shim/CSimdjson.cpp -o "$out/bin/CSimdjson.o"
  for name in "${c_targets[@]}"; do
    clang "${c_flags[@]}" -std=gnu11 -fsanitize=fuzzer-no-link,address,undefined -c "Fuzz/C/$name.c" -o "$out/bin/$name.o"
    clang++ -fuse-ld=lld -fsanitize=fuzzer,address,undefined "$out/bin/$name.o" "$out/bin/CSimdjson.o" -lsimdjson \
      -o "$out/bin/$name"
  done
}

# The program of a target, with its arguments.
program() {
  if [ -x "$out/bin/$1" ]; then printf '%s\n' "$out/bin/$1"; else printf '%s\n' "$out/swift/release/fuzz" "$1"; fi
}

# Swift's own backtraces would take the place of libFuzzer's report.
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}

! wants_swift || build_swift
build_c
mapfile -t targets < <(! wants_swift || "$out/swift/release/fuzz"; printf '%s\n' "${c_targets[@]}")

faults=()
rows=()
for name in "${targets[@]}"; do
  wants "$name" || continue
  mapfile -t command < <(program "$name")
  mkdir -p "$out/corpus/$name"
  flags=(-max_total_time="$time" -runs="$runs" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1
    -artifact_prefix="$crashes/$name-")
  [ -e "Fuzz/Dictionaries/$name.dict" ] && flags+=(-dict="Fuzz/Dictionaries/$name.dict")
  log=$out/log/$name
  status=0
  "${command[@]}" "${flags[@]}" "$out/corpus/$name" "Fuzz/Corpus/$name" > "$log" 2>&1 || status=$?
  count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log" | tail -n 1)
  cov=$(grep -ao 'cov: [0-9]*' "$log" | tail -n 1 | cut -c6-) || cov=
  found=0
  if [ "$status" -ne 0 ]; then
    found=1
    input=$(sed -n 's/^.*Test unit written to //p' "$log" | tail -n 1)
    faults+=("$name: see $log; again: SWIFT_BACKTRACE=enable=no ${command[*]} ${input:-(no input was written)}")
  fi
  rows+=("$(printf '%-14s %12s %12s %10s %8s' "$name" "${count:-?}" "${rate:-?}" "${cov:-?}" "$found")")
  printf '%s\n' "${rows[-1]}"
done

[ "${#rows[@]}" -gt 0 ] || { printf 'fuzz: no such target: %s; there are: %s\n' "$only" "${targets[*]}" >&2; exit 2; }
printf '\n%-14s %12s %12s %10s %8s\n' target executions "per second" coverage crashes
printf '%s\n' "${rows[@]}"
for fault in "${faults[@]}"; do printf 'fuzz: %s\n' "$fault" >&2; done
[ "${#faults[@]}" -eq 0 ]
