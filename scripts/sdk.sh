#!/usr/bin/env bash
# Assembles what plugins are built with: headers, the kits for Swift and Rust, and the project
# templates of `signalbox plugins new`.
#   scripts/sdk.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
sdk=${1:?sdk: name the folder: scripts/sdk.sh FOLDER}
rm -rf "$sdk.new"
mkdir -p "$sdk.new/swift/Sources" "$sdk.new/templates"
cp -R include "$sdk.new/include"
cp -R Sources/SignalboxPluginKit "$sdk.new/swift/Sources/"
cp -R include "$sdk.new/swift/Sources/CSignalbox"
cp LICENSE "$sdk.new/"
cat > "$sdk.new/swift/Package.swift" <<'SWIFT'
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "SignalboxPluginKit",
    products: [.library(name: "SignalboxPluginKit", targets: ["SignalboxPluginKit", "CSignalbox"])],
    targets: [
        .target(name: "CSignalbox", publicHeadersPath: "."),
        .target(
            name: "SignalboxPluginKit", dependencies: ["CSignalbox"],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableExperimentalFeature("Lifetimes"),
            ]),
    ],
    swiftLanguageModes: [.v6])
SWIFT
mkdir -p "$sdk.new/rust"
cp -R Sources/RustPluginKit/Cargo.toml Sources/RustPluginKit/Cargo.lock Sources/RustPluginKit/src "$sdk.new/rust/"
cp -R Examples/templates/c Examples/templates/swift Examples/templates/all Examples/templates/role "$sdk.new/templates/"
cp -R Sources/RustPluginKit/templates "$sdk.new/templates/rust"
mkdir "$sdk.new/templates/rust/common"
cp Examples/templates/rust.mk "$sdk.new/templates/rust/common/Makefile"
rm -rf "$sdk"
mkdir -p "$(dirname "$sdk")"
mv "$sdk.new" "$sdk"
