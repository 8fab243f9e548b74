#!/usr/bin/env bash
# Zig, which the first call installs from PyPI into .build/zig (80 MB).
#   zig.sh install
#   zig.sh ARGUMENTS OF ZIG...
set -euo pipefail
version=0.13.0
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
home=$root/.build/zig

install() {
  mkdir -p "$root/.build"
  exec 9>"$home.lock"
  flock 9
  [ "$(cat "$home/installed" 2>/dev/null || true)" = "$version" ] && return
  rm -rf "$home"
  python3 -m venv "$home" || { echo "python3-venv is missing: run scripts/setup.sh"; exit 1; }
  "$home/bin/pip" install --quiet --disable-pip-version-check "ziglang==$version" >&2 ||
    { echo "Zig $version could not be installed from PyPI: is the network up?"; exit 1; }
  echo "$version" >"$home/installed"
}
install
exec 9>&-
[ "$1" = install ] && exit 0
exec "$home/bin/python" -m ziglang "$@"
