// swift-tools-version: 6.2
import PackageDescription

// Measures a built `signalbox` from outside, so it needs nothing of the package above, and nothing else either.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    targets: [
        // Both ends of what is measured: a load generator and a sink.
        .executableTarget(
            name: "wire",
            cSettings: [
                .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
            ],
            linkerSettings: [
                .linkedLibrary("nghttp2"), .linkedLibrary("ssl"), .linkedLibrary("crypto"),
            ]),
        // Runs them, one figure after the other.
        .executableTarget(
            name: "bench", swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    cLanguageStandard: .gnu11
)
