#!/usr/bin/env bash
# Runs tests of a finished build. Says what fails, and how it ended; all output is in .build/tests.log.
# A test that failed is run once more, alone: if it passes then, that is said, and the run goes on. These tests use
# real sockets, processes and databases, and a machine that stands still for seconds can make one miss its time.
#   scripts/swift-test.sh [OPTIONS OF swift test]     SIGNALBOX_TESTS_ONCE=1: nothing is run again
# A run in which no test begins or ends for TESTS_STALL seconds (420) is stopped, and all of it is run once more. What hung
# is said, and the stacks of its threads are in tests-stacks.log.
# TESTS_OUT=FOLDER has the output instead of .build; TESTS_WIDTH=N tests run at once instead of 12.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# As in the program: a test's own client may write to a connection that the gateway has closed.
trap '' PIPE
out=${TESTS_OUT:-.build}
mkdir -p "$out"
log=$out/tests.log
results=$out/tests.xml
again=$out/tests-again.log
stacks=$out/tests-stacks.log
# ↳ says what was not as expected; with a slash it is a test's own comment.
said='✘|↳ [^/]|error:|Fatal error|Program crashed|Test run with'

# At most a dozen at once: with all of them at once, one that waits for an answer starves on a slow machine.
run() {
  local log=$1 watch status
  shift
  : > "$log"
  watch_for_stall "$log" &
  watch=$!
  swift test --skip-build --experimental-maximum-parallelization-width "${TESTS_WIDTH:-12}" "$@" 2>&1 |
    tee "$log" | grep --line-buffered -E "$said" | grep --line-buffered -vE '^◇|↳ (Testing Library Version|Target Platform):' | cut -c1-600
  status=${PIPESTATUS[0]}
  kill "$watch" 2> /dev/null
  wait "$watch" 2> /dev/null
  return "$status"
}

# The test process of this run: a descendant of this script.
test_process() {
  local next=("$$") pid
  while [ ${#next[@]} -gt 0 ]; do
    pid=$(pgrep -f 'signalboxPackageTests\.xctest' -P "$(IFS=,; echo "${next[*]}")" | head -n 1)
    [ -n "$pid" ] && echo "$pid" && return
    mapfile -t next < <(pgrep -P "$(IFS=,; echo "${next[*]}")")
  done
  return 1
}

# Stops the test process once its log has not grown for a while.
watch_for_stall() {
  local log=$1 size=-1 now quiet=0 pid
  while sleep 10 > /dev/null 2>&1; do
    now=$(stat -c %s "$log" 2> /dev/null || echo 0)
    if [ "$now" != "$size" ]; then size=$now quiet=0 && continue; fi
    quiet=$((quiet + 10))
    if [ "$quiet" -lt "${TESTS_STALL:-420}" ] || ! pid=$(test_process); then continue; fi
    echo "tests: nothing has begun or ended for $quiet s; the stacks of all threads are in $stacks"
    timeout 120 gdb -batch -p "$pid" -ex 'thread apply all bt 30' > "$stacks" 2>&1
    kill -KILL "$pid"
    return
  done
}

# The names of the tests that had begun and not ended.
unfinished() {
  sed -nE 's/^◇ Test (".*") started\.$/+ \1/p; s/^[✔✘] Test (".*") (passed|failed|with [0-9]+ test).*/- \1/p' "$1" |
    awk '{ name = substr($0, 3) } /^\+/ { left[name] = 1 } /^-/ { delete left[name] } END { for (name in left) print "  " name }'
}

# The failed tests of a result file, as patterns of --filter.
failed() {
  python3 - "$1" <<'PYTHON'
import html, re, sys

# Not an XML parser: names of tests may hold bytes that XML does not allow.
text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
for case in text.split("<testcase ")[1:]:
    if "<failure" in case or "<error" in case:
        field = dict(re.findall(r'(classname|name)="([^"]*)"', case))
        name = re.sub(r"\(.*", "", html.unescape(field["name"]), flags=re.S)
        print("^" + re.escape(html.unescape(field["classname"]) + "/" + name) + r"\(")
PYTHON
}

rm -f "$out"/tests*.xml "$stacks"
printf 'tests: %s\n' "$*"
run "$log" --xunit-output "$results" "$@"
status=$?
[ "$status" -eq 0 ] && exit 0

printf '\ntests: swift test ended with %s; its output is in %s\n' "$status" "$log"
if ! grep -q 'Test run with' "$log"; then
  echo "tests: the process died; its last words, and the tests that had begun and not ended:"
  grep -vE '^[◇✔]' "$log" | tail -n 40 | cut -c1-400
  unfinished "$log"
  [ -e "$stacks" ] && [ -z "${SIGNALBOX_TESTS_ONCE:-}" ] || exit "$status"
  run "$again" --xunit-output "$results" "$@" || exit $?
  echo "tests: PASSED ONLY AT THE SECOND RUN, it hung before: look at $log and $stacks"
  exit 0
fi
[ -z "${SIGNALBOX_TESTS_ONCE:-}" ] || exit "$status"
# The options of this run but those that choose tests.
filters=()
while [ $# -gt 0 ]; do
  case $1 in
    --filter | --skip) shift 2 ;;
    *) filters+=("$1") && shift ;;
  esac
done
options=${#filters[@]}
while IFS= read -r pattern; do filters+=(--filter "$pattern"); done < <(failed "${results%.xml}-swift-testing.xml")
# What breaks much is no accident.
count=$(((${#filters[@]} - options) / 2))
[ "$count" -gt 0 ] && [ "$count" -le 10 ] || exit "$status"
echo "tests: once more, alone: ${filters[*]}"
run "$again" --no-parallel "${filters[@]}" || exit $?
grep -qE 'Test run with [1-9]' "$again" || exit "$status"
echo "tests: PASSED ONLY AT THE SECOND RUN, look at $log: ${filters[*]}"
