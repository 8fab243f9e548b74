#!/usr/bin/env bash
# Prints what CHANGELOG.md says about a release. Fails if the tag is not the program's version, or the changelog lacks it.
#   scripts/package/notes.sh v1.0.0
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() { printf 'notes: %s\n' "$*" >&2; exit 1; }
tag=${1:?the tag of the release}
version=$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/SignalboxGateway/Options/Release.swift)
[ "$tag" = "v$version" ] || fail "the tag is $tag, and Release.swift says $version"
notes=$(awk -v heading="## $version" '$0 == heading { inside = 1; next } /^## / { inside = 0 } inside' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || fail "CHANGELOG.md has no section $version"
printf '%s\n' "$notes"
