# For scripts that serve a process: waits until it has ended, or until the script is told to end.
#
# What waits must not outlive the script: it has inherited the script's pipes, and whoever started the script waits until
# they are closed.
until_ended() { # PROCESS
  exec 1>/dev/null 2>&1
  # Set before it starts: a signal in between would end the script alone.
  trap 'kill $(jobs -p) 2>/dev/null; exit 143' TERM INT HUP
  tail --pid="$1" -f /dev/null &
  wait $! || true
}
