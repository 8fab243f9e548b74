#!/usr/bin/env bash
# Builds the plugins written in Rust, and puts them beside those written in Swift.
#   scripts/rust-plugins.sh debug|release [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'rust-plugins: %s\n' "$*" >&2; exit 1; }

profile=${1:-}
case $profile in
  debug) flags=() ;;
  # A library for others must not contain folder names of the build machine.
  release) flags=(--release --config "build.rustflags=['--remap-path-prefix=$PWD=.']") ;;
  *) fail "usage: $0 debug|release [FOLDER]" ;;
esac
command -v cargo >/dev/null 2>&1 || fail "there is no cargo: run scripts/setup.sh"

folder=${2:-.build/$profile}
# SwiftPM makes this a link, which a folder in its place would prevent.
if [ ! -d "$folder" ]; then
  [ $# -lt 2 ] || fail "there is no folder $folder"
  folder=$(swift build -c "$profile" --show-bin-path)
  mkdir -p "$folder"
fi

for manifest in Plugins/*/Cargo.toml; do
  name=$(basename "$(dirname "$manifest")")
  cargo build --offline --locked --quiet "${flags[@]}" \
    --manifest-path "$manifest" --target-dir .build/cargo || fail "$name cannot be built"
  built=.build/cargo/$profile/lib$name.so
  # A gateway may have the old file open, so it is replaced, never written to.
  if ! cmp -s "$built" "$folder/lib$name.so"; then
    install -m 755 "$built" "$folder/lib$name.so.new"
    mv -f "$folder/lib$name.so.new" "$folder/lib$name.so"
  fi
done
