// swift-tools-version: 6.2
import PackageDescription

// Fuzzes the parsers of the package above. `make fuzz` builds it with `-sanitize=fuzzer,address` for
// every module and with `-enable-testing`, so that targets may call what is internal.

/// Loaded by the targets `ingest` and `classify`.
let plugins = [
    "Airship", "APNs", "FCM", "Gorush", "HMS", "LivePerson", "Sendbird", "SendbirdDesk",
    "Telegram", "Webhook", "Zendesk", "ZendeskMessaging",
]

let package = Package(
    name: "fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "signalbox", path: ".."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // The entry point of libFuzzer.
        .target(name: "CFuzzer"),
        // One program; its first argument names the target.
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + plugins.map { .product(name: $0, package: "signalbox") },
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error),
            ]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
