#!/usr/bin/env bash
# Saves the headers of include/ and their layout as those of a version: freeze.sh 1.0
# Tests compare every later contract with the saved one. A tagged version never changes.
set -euo pipefail

fail() { printf 'freeze.sh: %s\n' "$*" >&2; exit 1; }

root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$#" -eq 1 ] || fail "usage: freeze.sh MAJOR.MINOR"
version=$1
constant() { sed -n "s/^#define SBX_ABI_$1 \([0-9]*\)u\$/\1/p" "$root/include/signalbox/types.h"; }
current="$(constant MAJOR).$(constant MINOR)"
[ "$version" = "$current" ] || fail "include/ is contract $current, not $version"
tag="contract-$version"
if git -C "$root" rev-parse --quiet --verify "refs/tags/$tag" >/dev/null 2>&1; then
  fail "contract $version is tagged ($tag) and stays as it is: raise SBX_ABI_MINOR"
fi

# The layout comes first: if it fails, nothing is changed.
layout=$("$root/scripts/abi/layout.sh" "$root/include")
release="$root/Tests/ContractTests/Releases/$version"
rm -rf "$release"
mkdir -p "$release"
cp -R "$root/include" "$release/include"
rm "$release/include/signalbox/kit.h"
printf '%s\n' "$layout" >"$release/layout.txt"
printf 'freeze.sh: wrote %s\n' "${release#"$root"/}"
