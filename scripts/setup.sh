#!/usr/bin/env bash
# Prepares a fresh Debian or Ubuntu machine: checks Swift, installs missing packages.
#   scripts/setup.sh run      what `make run` builds: libraries with their headers, and a linker
#   scripts/setup.sh build    and all plugins, and what installs them
#   scripts/setup.sh [test]   and the servers, compilers and the browser that tests start
#   scripts/setup.sh bench|fleet|wire    and what that target of the Makefile starts
#   scripts/setup.sh package             as build, and what makes and tries the Debian package
set -euo pipefail
purpose=${1:-test}

packages=(
  libssl-dev libcurl4-openssl-dev libyaml-dev libnghttp2-dev libsimdjson-dev libsqlite3-dev libjemalloc-dev libre2-dev libpq-dev
  pkg-config gcc g++ binutils
)
# The plugins NATS and Kafka, and those in Rust (below); patchelf and python3 are for scripts.
[ "$purpose" = run ] || packages+=(libnats-dev librdkafka-dev patchelf python3)

for_tests() {
  packages+=(curl openssl tzdata abigail-tools valgrind)
  # The stacks of a test process that hangs.
  packages+=(gdb)
  # A server for the tests; they start it themselves.
  command -v psql >/dev/null 2>&1 && ls -d /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages+=(postgresql)
  command -v pgbouncer >/dev/null 2>&1 || [ -x /usr/sbin/pgbouncer ] || packages+=(pgbouncer)
  # The repair of a database that docs/operations.md describes.
  packages+=(sqlite3)
  # Load balancers for the tests, which start them themselves.
  packages+=(haproxy nginx)
  # A proxy for the tests, which start it themselves; the package tinyproxy would start one on port 8888.
  packages+=(tinyproxy-bin)
  # A bus for the tests, which start it themselves.
  packages+=(nats-server)
  # Prometheus and its promtool (96 MB), which read /metrics in the tests.
  packages+=(prometheus)
  # Go (81 MB to download, 450 MB on the disk) and Node, for the tests of programs that embed the gateway.
  command -v go >/dev/null 2>&1 || packages+=(golang-go)
  command -v node >/dev/null 2>&1 || packages+=(nodejs)
  [ -e "$(node -p "require('path').resolve(process.execPath, '../../include/node/node_api.h')" 2>/dev/null)" ] ||
    packages+=(libnode-dev)
  # For Synapse, a Matrix homeserver, and Zig, which the tests install from PyPI into .build.
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
  # A browser for the tests of the admin page.
  packages+=(chromium)
}

case $purpose in
  run | build) ;;
  test) for_tests ;;
  # Servers to measure against.
  bench) for_tests && packages+=(nghttp2-client util-linux) ;;
  # Failover, for chaos-fleet and soak.
  fleet) for_tests && packages+=(etcd-server patroni) ;;
  # Servers of others, and a network of its own, for chaos-wire.
  wire) for_tests && packages+=(nghttp2-server h2o iproute2) ;;
  # The Debian package, and a clean Debian to try it in.
  package) packages+=(dpkg-dev debootstrap iproute2 openssl curl) ;;
  *) printf 'setup: there is no "%s"; see the head of scripts/setup.sh\n' "$purpose" >&2 && exit 2 ;;
esac

fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# SwiftPM adds to Package.resolved where it has fetched the packages from, which is no change (.gitattributes).
root=$(cd "$(dirname "$0")/.." && pwd)
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 && git -C "$root" config filter.pins.clean scripts/pins.sh || true

command -v swift >/dev/null 2>&1 ||
  fail "Swift is not installed. Install Swift 6.3 or later from https://www.swift.org/install/linux and put it on PATH."
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
major=${version%%.*}
minor=${version#*.}
if [ -z "$version" ] || [ "$major" -lt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -lt 3 ]; }; then
  fail "Swift ${version:-of an unknown version} is too old; Signalbox needs Swift 6.3 or later."
fi

# C in the packages is compiled by the clang that comes with Swift; the contract tests read layouts with it.
command -v clang >/dev/null 2>&1 ||
  fail "clang is not on PATH. Swift's toolchain brings one: put the folder of swift itself on PATH."
# Plugins in Rust build with Debian 12's compiler and with any newer one.
if [ "$purpose" = run ]; then
  :
elif command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1; then
  version=$(rustc --version 2>/dev/null | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 63 ] || fail "$(command -v rustc) is older than Rust 1.63; update it."
else
  packages+=(cargo rustc)
fi

command -v dpkg-query >/dev/null 2>&1 ||
  fail "this script knows Debian and Ubuntu only. Install the equivalents of: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null 2>&1; then
  as_root=(sudo)
else
  fail "these packages are missing, and neither root nor sudo is at hand: ${missing[*]}"
fi

printf 'setup: installing %s\n' "${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq || fail "apt-get update failed; is the network up?"
case " ${missing[*]} " in
  *" postgresql "*)
    # Without a cluster that would run as a service.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-common &&
      "${as_root[@]}" sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' \
        /etc/postgresql-common/createcluster.conf || fail "apt-get could not install: postgresql-common" ;;
esac
# Debian starts a server when it installs one: what comes with this installation serves the tests alone.
policy=/usr/sbin/policy-rc.d
made=
if [ ! -e "$policy" ]; then
  made=yes
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi
ok=yes
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" || ok=
[ -z "$made" ] || "${as_root[@]}" rm -f "$policy"
[ -n "$ok" ] || fail "apt-get could not install: ${missing[*]}"
for server in haproxy nginx prometheus h2o; do
  case " ${missing[*]} " in
    *" $server "*) ! command -v systemctl >/dev/null 2>&1 || "${as_root[@]}" systemctl -q disable "$server" 2>/dev/null || true ;;
  esac
done
