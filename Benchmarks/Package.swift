// swift-tools-version: 6.2
import PackageDescription

// Measures a built `signalbox` from outside, so it depends neither on the package above
// nor on anything else.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    targets: [
        // Both ends of a measurement: a load generator and a sink.
        .executableTarget(
            name: "wire",
            cSettings: [
                .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
            ],
            linkerSettings: [
                .linkedLibrary("nghttp2"), .linkedLibrary("ssl"), .linkedLibrary("crypto"),
            ]),
        // Runs the measurements, one after another.
        .executableTarget(
            name: "bench", swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    cLanguageStandard: .gnu11
)
