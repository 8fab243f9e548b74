#!/usr/bin/env bash
# Packs an installation that can be unpacked anywhere, on machines of this distribution and architecture.
#   scripts/package/tarball.sh [BUILD_FOLDER]
# It is .build/package/signalbox-VERSION-ARCHITECTURE.tar.gz.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-.build/release}
out=.build/package
rm -rf "$out/tarball"
scripts/install.sh "$out/tarball/signalbox" "$build"
version=$(sed -n 's/^Version: //p' "$out/tarball/signalbox/lib/pkgconfig/signalbox.pc")
cp LICENSE CHANGELOG.md "$out/tarball/signalbox/share/doc/signalbox/"
mv "$out/tarball/signalbox" "$out/tarball/signalbox-$version"
tarball=$out/signalbox-$version-$(uname -m).tar.gz
tar -C "$out/tarball" --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" -czf "$tarball" "signalbox-$version"
printf 'tarball: %s\n' "$tarball"
