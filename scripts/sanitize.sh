#!/usr/bin/env bash
# Tests under sanitizers and valgrind. Fails if one of them reports anything, and shows what and where.
#   scripts/sanitize.sh [PART,...]      thread, address (with undefined), rust, valgrind; all without an argument
# SANITIZE_OUT=FOLDER has the builds (.build/sanitize), JOBS=N builds with so many jobs. See docs/sanitizers.md.
set -euo pipefail
cd "$(dirname "$0")/.."

only=${1:-}
out=${SANITIZE_OUT:-.build/sanitize}
mkdir -p "$out"
out=$(realpath "$out")
tools=$PWD/scripts/sanitize
jobs=(${JOBS:+-j "$JOBS"})
# Swift's own backtraces would take the place of a report.
export SWIFT_BACKTRACE=enable=no

fail() { printf 'sanitize: %s\n' "$*" >&2; exit 1; }
wants() { case ",$only," in ,,|*",$1,"*) ;; *) return 1 ;; esac; }
joined() { local IFS='|'; printf '%s' "$*"; }

# Targets of Tests/.
suites=(
  SignalboxConfigTests SignalboxCoreTests SignalboxCryptoTests SignalboxDispatchTests SignalboxHTTPTests SignalboxJSONTests
  SignalboxObservabilityTests SignalboxPatternTests SignalboxPluginHostTests SignalboxPluginKitTests SignalboxStoreTests
  SignalboxTests SignalboxThreadsTests
)
# Plugins with a parser of their own in C, run against servers in the test.
address_suites=("${suites[@]}" PluginTests)

# Left out with every sanitizer:
left_out=(
  # The limits on memory and system calls that they set leave no room for the sanitizer's own.
  SandboxTests
  # Its 24 MB of key updates take longer than the connection waits for an answer to PING, which ends it first.
  'a peer that floods a connection and reads nothing'
)
# Left out with ThreadSanitizer:
thread_left_out=(
  # One thread, and all of the processor for minutes: state machines of a lane against a simulated gateway.
  LaneSimulationTests
  # What a task reads after a continuation that another thread has resumed is reported now and then: docs/sanitizers.md.
  OutcomeStreamTests WirePeerTests
  # 100,000 log lines through a pipe within a minute.
  'one that logs without end is served'
)
# Left out with AddressSanitizer:
address_left_out=(
  # Limit the address space of their processes to that of some more threads.
  'threads without memory for them fail with words'
  # Run cargo and compilers; the part "rust" has the kit's own tests.
  RustPluginKitTests RustTemplateTests
)

# Runs suites of a build with a sanitizer: NAME "SUITES" "LEFT OUT" OPTIONS OF swift test
run_suites() {
  local name=$1 filter=$2 skip=$3
  shift 3
  local reports=$out/reports-$name status=0
  rm -rf "$reports" && mkdir -p "$reports"
  # Plugins of some tests crash on purpose, in processes of their own. A crash that nobody wants fails its test.
  local crashes="handle_segv=0 handle_sigbus=0 handle_sigfpe=0 handle_sigill=0 handle_abort=0"
  TSAN_OPTIONS="log_path=$reports/report history_size=4 $crashes ${TSAN_OPTIONS:-}" \
  ASAN_OPTIONS="log_path=$reports/report detect_leaks=0 $crashes ${ASAN_OPTIONS:-}" \
  UBSAN_OPTIONS="log_path=$reports/report print_stacktrace=1 ${UBSAN_OPTIONS:-}" \
  TESTS_OUT=$out/$name-tests TESTS_WIDTH=4 \
    scripts/swift-test.sh --sanitize "$name" --scratch-path "$out/$name" "$@" --filter "^($filter)\\." --skip "$skip" || status=$?
  local found
  found=$(cat "$reports"/report.* 2>/dev/null | grep -aE '^SUMMARY:|runtime error:' | sort | uniq -c) || true
  if [ -n "$found" ] || [ -n "$(ls "$reports")" ]; then
    printf '%s\n' "$found" >&2
    fail "$name: reported; all of it is in $reports"
  fi
  # A process whose files the sanitizer cannot write says it on standard error.
  ! grep -aE 'SUMMARY: (Thread|Address|UndefinedBehavior)Sanitizer' "$out/$name-tests/"tests*.log >&2 ||
    fail "$name: reported; see $out/$name-tests"
  [ "$status" -eq 0 ] || fail "$name: the tests ended with $status"
  printf 'sanitize: %s: no report\n' "$name"
}

# Swift's Mutex needs a library that tells ThreadSanitizer about it: see mutex.c. First whether that works.
run_thread() {
  local mutex=$out/libmutex.so probe=$out/probe
  clang -std=gnu11 -O1 -g -Wall -Wextra -Werror -fPIC -shared "$tools/mutex.c" -o "$mutex"
  swiftc -sanitize=thread -g "$tools/probe.swift" -o "$probe"
  LD_PRELOAD=$mutex "$probe" lock > "$probe.log" 2>&1 || { cat "$probe.log" >&2; fail "thread: a contended lock is reported"; }
  ! LD_PRELOAD=$mutex "$probe" race > "$probe.log" 2>&1 || fail "thread: a race is not reported"
  grep -q 'WARNING: ThreadSanitizer' "$probe.log" || { cat "$probe.log" >&2; fail "thread: a race is not reported"; }

  # The program's runtime, for plugins: the linker exports these only if it is asked to.
  local exports=() name
  for name in __tsan_external_read __tsan_external_write __tsan_ignore_thread_begin __tsan_ignore_thread_end; do
    exports+=(-Xlinker "--export-dynamic-symbol=$name")
  done
  swift build "${jobs[@]}" --build-tests --sanitize=thread --scratch-path "$out/thread" "${exports[@]}"
  LD_PRELOAD=$mutex run_suites thread "$(joined "${suites[@]}")" "$(joined "${left_out[@]}" "${thread_left_out[@]}")" \
    "${exports[@]}"
}

# Our C and C++, and that of packages, has UndefinedBehaviorSanitizer, too. `vptr` needs the runtime for C++.
run_address() {
  local flags=(-Xcc -fsanitize=undefined -Xcc -fno-sanitize=vptr -Xcc -fno-sanitize-recover=undefined)
  swift build "${jobs[@]}" --build-tests --sanitize=address --scratch-path "$out/address" "${flags[@]}"
  run_suites address "$(joined "${address_suites[@]}")" "$(joined "${left_out[@]}" "${address_left_out[@]}")" "${flags[@]}"
}

# The kit's tests have a host in Rust that passes its tables as a program in C would.
kit=Sources/RustPluginKit/Cargo.toml
triple=$(uname -m)-unknown-linux-gnu
run_rust() {
  # rustc has the runtime where Rust's own builds come from, Debian's has not. -Z is for nightly, or with this variable.
  if ! ls "$(rustc --print sysroot)/lib/rustlib/$triple/lib/"librustc-*_rt.asan.a >/dev/null 2>&1; then
    fail "rust: $(rustc --version) has no runtime of AddressSanitizer; take rustup's, or run ONLY=valgrind, which has these tests, too"
  fi
  RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address -Cforce-frame-pointers=yes' \
  ASAN_OPTIONS=fast_unwind_on_malloc=0:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1 \
    cargo test --offline --locked --quiet --manifest-path "$kit" --target "$triple" --target-dir "$out/rust" --lib --tests ||
    fail "rust: reported, or a test failed: see above"
  echo 'sanitize: rust: no report'
}

run_valgrind() {
  local valgrind=(valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite
    --errors-for-leak-kinds=definite --num-callers=40 "--suppressions=$tools/valgrind.supp")
  local runner
  runner=CARGO_TARGET_$(printf '%s' "$triple" | tr 'a-z-' 'A-Z_')_RUNNER
  env "$runner=${valgrind[*]}" cargo test --offline --locked --quiet --manifest-path "$kit" --target "$triple" \
    --target-dir "$out/cargo" --lib --tests -- --test-threads 1 || fail "valgrind: the Rust kit: see above"

  # The host in C with the library and plugins that `make install` installs, with their symbols. valgrind cannot read
  # Swift's debug information.
  make --no-print-directory build
  local prefix=$out/prefix host=$out/host
  rm -rf "$prefix" "$host"
  KEEP_NAMES=1 scripts/install.sh "$prefix"
  find "$prefix" -type f \( -name '*.so' -o -name '*.so.1' -o -path '*/bin/signalbox' \) -exec strip -g {} +
  cp -R Examples/hosts/c "$host"
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig make -C "$host" CC='cc -g'
  "${valgrind[@]}" "$host/host" "$host/data" || fail "valgrind: the host in C: see above"
  echo 'sanitize: valgrind: no report'
}

parts=()
for part in thread address rust valgrind; do
  if wants "$part" || { [ "$part" = address ] && wants undefined; }; then parts+=("$part"); fi
done
case ${#parts[@]} in
  0)
    echo "sanitize: no such part: $only; there are: thread, address, undefined, rust, valgrind" >&2
    exit 2 ;;
  1)
    "run_${parts[0]}"
    printf 'sanitize: %s took %d min %d s\n' "${parts[0]}" $((SECONDS / 60)) $((SECONDS % 60)) ;;
  *)
    # Each by itself: one that fails keeps none of the others from running.
    failed=()
    for part in "${parts[@]}"; do "scripts/sanitize.sh" "$part" || failed+=("$part"); done
    [ "${#failed[@]}" -eq 0 ] || fail "failed: ${failed[*]}" ;;
esac
