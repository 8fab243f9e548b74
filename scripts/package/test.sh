#!/usr/bin/env bash
# Installs package and tarball into a clean Debian, boots its systemd, and runs the service there: without Swift, without
# network. Needs root. The clean Debian is made once, in .build/package/debian.
#   scripts/package/test.sh [DEB TARBALL]
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() { printf 'package-test: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "only root may make a clean Debian and boot it"
command -v debootstrap >/dev/null || fail "debootstrap is not installed; run scripts/setup.sh package"

out=$PWD/.build/package
deb=${1:-$(ls -t "$out"/signalbox_*.deb | head -n 1)}
tarball=${2:-$(ls -t "$out"/signalbox-*.tar.gz | head -n 1)}
. /etc/os-release
base=$out/debian-$VERSION_CODENAME
if [ ! -e "$base.ready" ]; then
  rm -rf "$base"
  # What the service needs beside itself, and what the test looks with.
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,curl,sqlite3,procps \
    "$VERSION_CODENAME" "$base" "$(sed -n 's/^URIs: //p;s/^deb \(http[^ ]*\).*/\1/p' \
      /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -n 1)" \
    > "$out/debootstrap.log" 2>&1 || fail "debootstrap failed; see $out/debootstrap.log"
  touch "$base.ready"
fi

root=$out/root
rm -rf "$root"
cp -a "$base" "$root"
mkdir "$root/package"
cp "$deb" "$tarball" scripts/package/inside.sh "$root/package/"
cp /etc/resolv.conf "$root/etc/resolv.conf"

# The package brings its dependencies from the distribution.
unshare --mount --propagation private sh -ec '
  mount -t proc proc "$1/proc"
  exec chroot "$1" sh -ec "
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends /package/'"$(basename "$deb")"'"' sh "$root" \
  > "$out/install.log" 2>&1 || { tail -n 20 "$out/install.log" >&2; fail "the package cannot be installed"; }

# systemd as the first process of namespaces of its own: without network, and with cgroups below a new one.
cgroups=/sys/fs/cgroup
[ -e $cgroups/cgroup.procs ] || cgroups=$cgroups/unified
group=$cgroups/signalbox-package-$$
mkdir "$group"
(
  echo "$BASHPID" > "$group/cgroup.procs"
  exec unshare --mount --pid --fork --uts --ipc --net --cgroup --propagation private --kill-child \
    scripts/package/boot.sh "$root"
) > "$out/boot.log" 2>&1 &
booted=$!
finish() {
  kill -KILL "$booted" 2>/dev/null || true
  wait "$booted" 2>/dev/null || true
  for _ in $(seq 100); do
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
    sleep 0.1
  done
}
trap finish EXIT

inside() {
  local init
  init=$(cat "/proc/$booted/task/$booted/children" 2>/dev/null) && [ -n "$init" ] || return 1
  nsenter --target "${init%% *}" --all --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
for _ in $(seq 300); do
  case $(inside systemctl is-system-running 2>/dev/null) in running | degraded) up=yes; break ;; esac
  sleep 0.1
done
[ -n "${up:-}" ] || fail "systemd does not start; see $out/boot.log"
inside bash /package/inside.sh || fail "see above"
printf 'package-test: passed\n'
