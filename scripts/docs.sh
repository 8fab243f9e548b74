#!/usr/bin/env bash
# Writes the documentation of the public Swift libraries into .build/documentation, from a debug build. A warning
# about a link or a parameter is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(Signalbox SignalboxGateway SignalboxOffline SignalboxCore SignalboxPluginKit SignalboxSimulators SignalboxConformance StoreConformance)
build=.build/debug
out=.build/documentation
includes=(-I "$build/Modules" -I include)
for folder in Sources/CLibraries/*/ Sources/CLibraries/*/include/; do includes+=(-I "$folder"); done
for map in "$build"/*.build/module.modulemap .build/checkouts/*/Sources/*/{include/,}module.modulemap; do
  includes+=(-Xcc "-fmodule-map-file=$map")
done

for folder in $(pkg-config --cflags-only-I libpq); do includes+=(-Xcc "$folder"); done

rm -rf "$out"
for module in "${modules[@]}"; do
  mkdir -p "$out/symbols/$module"
  swift-symbolgraph-extract -module-name "$module" "${includes[@]}" -target "$(uname -m)-unknown-linux-gnu" \
    -minimum-access-level public -skip-synthesized-members -output-dir "$out/symbols/$module"
  catalog=Sources/$module/$module.docc
  [ -d "$catalog" ] || catalog=
  # Extensions of other modules' types belong to the pages of these modules.
  docc convert ${catalog:+"$catalog"} --additional-symbol-graph-dir "$out/symbols/$module" --fallback-display-name "$module" \
    --fallback-bundle-identifier "signalbox.$module" --warnings-as-errors --output-path "$out/$module.doccarchive"
done
echo "documentation: ${modules[*]} in $out"
