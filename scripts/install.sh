#!/usr/bin/env bash
# Installs a build into a prefix: program, library, headers, pkg-config file, plugins, and the Swift
# runtime that they need. The prefix can be moved to another place or machine.
#   scripts/install.sh PREFIX [BUILD_FOLDER]     KEEP_NAMES=1: nothing is stripped
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { printf 'install: %s\n' "$*" >&2; exit 1; }

prefix=${1:?install: name the prefix: scripts/install.sh PREFIX}
build=${2:-.build/release}
[ -x "$build/signalbox" ] || fail "$build/signalbox is not there; run make build first"
command -v patchelf >/dev/null || fail "patchelf is not installed; run scripts/setup.sh"
version=$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/SignalboxGateway/Options/Release.swift)
[ -n "$version" ] || fail "the version is not in Sources/SignalboxGateway/Options/Release.swift"

lib=$prefix/lib
plugins=$lib/signalbox
runtime=$plugins/runtime
mkdir -p "$prefix/bin" "$runtime" "$prefix/include/signalbox" "$lib/pkgconfig" "$prefix/share/signalbox"

# place SOURCE TARGET RPATH: replaces TARGET with an atomic rename, so that running
# programs are not disturbed.
place() {
  cp "$1" "$2.new"
  chmod u+w "$2.new"
  [ -n "${KEEP_NAMES:-}" ] || strip --strip-unneeded "$2.new" 2>/dev/null || strip -g "$2.new"
  patchelf --set-rpath "$3" "$2.new"
  mv -f "$2.new" "$2"
}

place "$build/signalbox" "$prefix/bin/signalbox" '$ORIGIN/../lib/signalbox/runtime'
place "$build/libSignalboxLibrary.so" "$lib/libsignalbox.so.1" '$ORIGIN/signalbox/runtime'
patchelf --set-soname libsignalbox.so.1 "$lib/libsignalbox.so.1"
ln -sf libsignalbox.so.1 "$lib/libsignalbox.so"

# Installs every plugin of the build: the libraries that export the entry.
for file in "$build"/lib*.so; do
  nm -D --defined-only --extern-only "$file" | grep -q ' sbx_plugin_entry_v1$' || continue
  place "$file" "$plugins/$(basename "$file")" '$ORIGIN/runtime'
done

# The parts of the Swift runtime that these files need, directly or indirectly.
swift_libs=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')/linux
[ -f "$swift_libs/libswiftCore.so" ] || fail "the Swift runtime is not in $swift_libs"
needed() { patchelf --print-needed "$1"; }
queue=("$prefix/bin/signalbox" "$lib/libsignalbox.so.1" "$plugins"/lib*.so)
while [ "${#queue[@]}" -gt 0 ]; do
  file=${queue[0]}
  queue=("${queue[@]:1}")
  for name in $(needed "$file"); do
    [ -f "$swift_libs/$name" ] && [ ! -f "$runtime/$name" ] || continue
    place "$swift_libs/$name" "$runtime/$name" '$ORIGIN'
    queue+=("$runtime/$name")
  done
done

cp -R include/signalbox include/module.modulemap "$prefix/include/"
cat > "$lib/pkgconfig/signalbox.pc" <<PC
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib
plugindir=\${libdir}/signalbox

Name: signalbox
Description: Notification gateway: events in, push notifications out
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lsignalbox
PC
[ -x scripts/sdk.sh ] && scripts/sdk.sh "$prefix/share/signalbox/sdk"

# The manual and the completions say what the program itself declares.
share=$prefix/share
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
  "$share/fish/vendor_completions.d" "$share/doc/signalbox"
"$build/signalbox" --experimental-dump-help | scripts/package/manual.py "$version" > "$share/man/man1/signalbox.1"
"$build/signalbox" --generate-completion-script bash > "$share/bash-completion/completions/signalbox"
"$build/signalbox" --generate-completion-script zsh > "$share/zsh/site-functions/_signalbox"
"$build/signalbox" --generate-completion-script fish > "$share/fish/vendor_completions.d/signalbox.fish"
# Whole, and in the places that the pages' links name.
doc=$share/doc/signalbox
rm -rf "$doc/docs" "$doc/Plugins" "$doc/Examples"
cp -r docs "$doc/docs"
cp README.md SECURITY.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE "$doc/"
for file in Plugins/*/README.md; do
  mkdir -p "$doc/$(dirname "$file")"
  cp "$file" "$doc/$file"
done
(find Examples \( -name target -o -name node_modules -o -name .build -o -name secrets \) -prune -o -path Examples/templates -prune -o -type f -print
 echo Plugins/HelloC/hello.c; echo Tests/Fixtures/Source/spool.c) |
  while IFS= read -r file; do
    mkdir -p "$doc/$(dirname "$file")"
    cp "$file" "$doc/$file"
  done
ln -sfn ../../signalbox/deploy "$doc/deploy"
ln -sfn ../../../include "$doc/include"

# Units, load balancers, manifests and a first configuration.
rm -rf "$share/signalbox/deploy"
cp -R deploy "$share/signalbox/deploy"
cp gateway.yaml Tests/Fixtures/Zendesk/reply.json "$share/signalbox/"
printf 'install: signalbox %s is in %s\n' "$version" "$prefix"
