# For scripts that serve a process: waits until it has ended, or until the script is told to end.
#
# What waits must not outlive the script: it has inherited the script's pipes, and whoever started the script waits until
# they are closed.
until_ended() { # PROCESS
  exec 1>/dev/null 2>&1
  tail --pid="$1" -f /dev/null &
  trap "kill $! 2>/dev/null; exit 143" TERM INT HUP
  wait $! || true
}
