// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "@NAME@",
    products: [.library(name: "@NAME@", type: .dynamic, targets: ["@NAME@"])],
    dependencies: [.package(name: "SignalboxPluginKit", path: "@SDK@/swift")],
    targets: [
        .target(
            name: "@NAME@",
            dependencies: [
                .product(name: "SignalboxPluginKit", package: "SignalboxPluginKit"),
            ],
            // One exported symbol, and a Swift runtime of its own, so that it runs in every host.
            linkerSettings: [
                .unsafeFlags([
                    "-static-stdlib", "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
                    "-Xlinker", "--version-script=\(Context.packageDirectory)/exports.map",
                ])
            ])
    ])
