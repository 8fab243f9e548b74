#!/usr/bin/env bash
# Runs tests of a finished build, and says once more at the end what failed: their output is long.
#   scripts/swift-test.sh [OPTIONS OF swift test]
set -uo pipefail
cd "$(dirname "$0")/.."

# As in the program: a test's own client may write to a connection that the gateway has closed.
trap '' PIPE
log=.build/tests.log
# At most a dozen at once: with all of them at once, one that waits for an answer starves on a slow machine.
swift test --skip-build --experimental-maximum-parallelization-width 12 "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] && exit 0

printf '\ntests: swift test ended with %s; from %s:\n' "$status" "$log"
grep -E '✘|error:|Fatal error|Program crashed' "$log" | cut -c1-400 | tail -n 60
if ! grep -q 'Test run with' "$log"; then
  echo "tests: the process died; these had begun and not ended:"
  sed -nE 's/^◇ Test (".*") started\.$/+ \1/p; s/^[✔✘] Test (".*") (passed|failed|with [0-9]+ test).*/- \1/p' "$log" |
    awk '{ name = substr($0, 3) } /^\+/ { left[name] = 1 } /^-/ { delete left[name] } END { for (name in left) print "  " name }'
fi
exit "$status"
