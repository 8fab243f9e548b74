// swift-tools-version: 6.2
import PackageDescription

/// Every module is checked the same way; a warning is an error in our own targets only.
let swift: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// Bundled plugins see no pointer: what they touch is checked by the compiler.
let safeSwift = swift + [.strictMemorySafety()]

let tests: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny")
]

/// Plugins in C. Debug builds are not optimised, which the checks of _FORTIFY_SOURCE need.
let c: [CSetting] = [
    .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release)),
    .enableWarning("all"), .enableWarning("extra"), .enableWarning("pedantic"),
    .treatAllWarnings(as: .error),
]

/// What a plugin exports: one symbol.
let pluginExports: [LinkerSetting] = [
    .unsafeFlags([
        "-Xlinker", "--version-script=\(Context.packageDirectory)/scripts/plugin-exports.map",
    ])
]

/// One folder under Plugins/ is one shared library that exports one symbol.
func plugin(
    _ name: String, dependencies: [Target.Dependency] = []
) -> (product: Product, target: Target) {
    (
        .library(name: name, type: .dynamic, targets: [name]),
        .target(
            name: name,
            dependencies: ["SignalboxPluginKit", "CSignalbox"] + dependencies,
            path: "Plugins/\(name)",
            exclude: ["README.md"],
            swiftSettings: safeSwift,
            linkerSettings: pluginExports)
    )
}

/// The same in C: the contract and nothing else of ours.
func cPlugin(
    _ name: String, dependencies: [Target.Dependency] = [], exclude: [String] = [],
    libraries: [String] = []
) -> (product: Product, target: Target) {
    (
        .library(name: name, type: .dynamic, targets: [name]),
        .target(
            name: name,
            dependencies: ["CSignalbox"] + dependencies,
            path: "Plugins/\(name)",
            exclude: exclude,
            publicHeadersPath: ".",
            cSettings: c,
            linkerSettings: pluginExports + libraries.map { .linkedLibrary($0) })
    )
}

let plugins = [
    plugin("Airship"), plugin("APNs"), plugin("AppLinks"), plugin("CustomerInsights"),
    plugin("FCM"), plugin("Gorush"), plugin("HMS"), plugin("LivePerson"), plugin("Matrix"),
    plugin("QuietHours"), plugin("Sendbird", dependencies: ["SendbirdPush"]),
    plugin("SendbirdDesk", dependencies: ["SendbirdPush"]), plugin("Telegram"), plugin("Texts"),
    plugin("Zendesk"), plugin("Webhook"), plugin("WebPush"), plugin("ZendeskMessaging"),
    cPlugin("HelloC"),
    cPlugin("Kafka", dependencies: ["BusEvents"], exclude: ["README.md"], libraries: ["rdkafka"]),
    cPlugin("NATS", dependencies: ["BusEvents"], exclude: ["README.md"], libraries: ["nats"]),
    cPlugin("SMTP", dependencies: ["CCurl", "COpenSSL"], exclude: ["README.md"]),
]

let package = Package(
    name: "signalbox",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "signalbox", targets: ["SignalboxCLI"]),
        .executable(name: "signalbox-bench", targets: ["SignalboxBench"]),
        .library(name: "Signalbox", targets: ["Signalbox", "SignalboxCore"]),
        .library(name: "SignalboxLibrary", type: .dynamic, targets: ["SignalboxLibrary"]),
        .library(name: "SignalboxPluginKit", targets: ["SignalboxPluginKit"]),
        .library(name: "SignalboxSimulators", targets: ["SignalboxSimulators"]),
        .library(name: "SignalboxConformance", targets: ["SignalboxConformance"]),
        .library(name: "StoreConformance", targets: ["StoreConformance", "SignalboxCore"]),
    ] + plugins.map(\.product),
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // The contract.
        .target(name: "CSignalbox", path: "include", publicHeadersPath: "."),

        // System libraries.
        .systemLibrary(
            name: "CNghttp2", path: "Sources/CLibraries/CNghttp2", pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(
            name: "CCurl", path: "Sources/CLibraries/CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/CLibraries/COpenSSL", pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CYaml", path: "Sources/CLibraries/CYaml", pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(
            name: "CPostgres", path: "Sources/CLibraries/CPostgres", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"])]),
        .target(name: "CLinux", path: "Sources/CLibraries/CLinux"),
        .target(
            name: "CSimdjson", path: "Sources/CLibraries/CSimdjson",
            linkerSettings: [.linkedLibrary("simdjson")]),
        .target(
            name: "CRE2", path: "Sources/CLibraries/CRE2",
            linkerSettings: [.linkedLibrary("re2")]),
        .target(
            name: "CAllocator", path: "Sources/CLibraries/CAllocator",
            linkerSettings: [.linkedLibrary("jemalloc")]),

        // The gateway.
        .target(name: "SignalboxPattern", dependencies: ["CRE2"], swiftSettings: swift),
        .target(
            name: "SignalboxCore", dependencies: ["SignalboxPattern"], swiftSettings: safeSwift),
        .target(
            name: "SignalboxThreads",
            dependencies: [
                "CLinux",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ], swiftSettings: swift),
        .target(
            name: "SignalboxDispatch", dependencies: ["SignalboxCore"], swiftSettings: safeSwift),
        .target(
            name: "SignalboxJSON", dependencies: ["SignalboxCore", "CSimdjson"],
            swiftSettings: swift),
        .target(
            name: "SignalboxConfig", dependencies: ["SignalboxCore", "CYaml"],
            swiftSettings: swift),
        .target(
            name: "SignalboxPluginHost",
            dependencies: [
                "SignalboxCore", "SignalboxJSON", "SignalboxPattern", "SignalboxThreads",
                "SignalboxCrypto", "CSignalbox", "CLinux",
            ], swiftSettings: swift),
        .target(
            name: "SignalboxPluginKit", dependencies: ["CSignalbox"],
            // Views of memory that is borrowed for a call say so to the compiler.
            swiftSettings: swift + [.enableExperimentalFeature("Lifetimes")]),
        .target(
            name: "SignalboxCrypto", dependencies: ["COpenSSL"],
            swiftSettings: swift),
        .target(
            name: "SignalboxHTTP",
            dependencies: [
                "SignalboxCore", "SignalboxThreads", "CNghttp2", "CCurl", "COpenSSL",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: swift),
        .target(
            name: "SignalboxTables", dependencies: ["SignalboxCore", "SignalboxJSON"],
            swiftSettings: swift),
        .target(
            name: "SignalboxStore",
            dependencies: [
                "SignalboxCore", "SignalboxTables", "SignalboxThreads",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ], swiftSettings: swift),
        .target(
            name: "SignalboxPostgres",
            dependencies: [
                "SignalboxCore", "SignalboxTables", "SignalboxThreads", "CPostgres",
            ],
            swiftSettings: swift),
        .target(
            name: "StoreConformance", dependencies: ["SignalboxCore"], swiftSettings: swift),
        .target(
            name: "SignalboxObservability",
            dependencies: [
                "SignalboxCore", "SignalboxThreads",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift),
        // The admin page; its files become part of the program.
        .target(
            name: "SignalboxPage", resources: [.embedInCode("Files")], swiftSettings: swift),
        // What runs: configuration and plugins, the way of an event, and a reload.
        .target(
            name: "SignalboxGateway",
            dependencies: [
                "SignalboxCore", "SignalboxJSON", "SignalboxConfig", "SignalboxPluginHost",
                "SignalboxHTTP", "SignalboxCrypto", "SignalboxObservability", "SignalboxStore",
                "SignalboxPostgres", "SignalboxDispatch", "SignalboxThreads",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift),
        // What needs no running gateway: checks, dry runs, the graph, copies of stores.
        .target(
            name: "SignalboxOffline",
            dependencies: [
                "SignalboxGateway", "SignalboxCore", "SignalboxJSON", "SignalboxConfig",
                "SignalboxPluginHost", "SignalboxHTTP", "SignalboxCrypto", "SignalboxStore",
                "SignalboxPostgres", "SignalboxDispatch", "SignalboxThreads",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift),
        // The admin listener, and the client that commands ask it with.
        .target(
            name: "SignalboxAdmin",
            dependencies: [
                "SignalboxGateway", "SignalboxOffline", "SignalboxPage", "SignalboxCore",
                "SignalboxJSON", "SignalboxConfig", "SignalboxPluginHost", "SignalboxHTTP",
                "SignalboxCrypto", "SignalboxObservability", "SignalboxStore",
                "SignalboxPostgres", "SignalboxDispatch", "SignalboxThreads",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift),
        // The gateway as a library for programs in Swift.
        .target(
            name: "Signalbox",
            dependencies: [
                "SignalboxGateway", "SignalboxOffline", "SignalboxAdmin", "SignalboxCore",
                "SignalboxConfig", "SignalboxHTTP", "SignalboxObservability",
                "SignalboxPluginHost", "SignalboxDispatch", "SignalboxThreads",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift),
        // libsignalbox.so: the gateway for programs in other languages.
        .target(
            name: "SignalboxLibrary",
            dependencies: [
                "Signalbox", "SignalboxCore", "SignalboxPluginHost", "SignalboxThreads",
                "CSignalbox", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift,
            linkerSettings: [
                .unsafeFlags([
                    "-Xlinker",
                    "--version-script=\(Context.packageDirectory)/scripts/library-exports.map",
                ])
            ]),
        .executableTarget(
            name: "SignalboxCLI",
            dependencies: [
                "Signalbox", "SignalboxAdmin", "SignalboxOffline", "SignalboxSimulators",
                "SignalboxConformance", "SignalboxDevTools", "SignalboxObservability", "CAllocator",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: swift),
        // APNs, FCM, HMS, Airship and Telegram for tests.
        .target(
            name: "SignalboxSimulators",
            dependencies: [
                "SignalboxCore", "SignalboxJSON", "SignalboxHTTP", "SignalboxCrypto",
                "SignalboxThreads", "CNghttp2", .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: swift),
        // What `signalbox plugins check` runs.
        .target(
            name: "SignalboxConformance",
            dependencies: [
                "Signalbox", "SignalboxCore", "SignalboxJSON", "SignalboxHTTP",
                "SignalboxThreads", "SignalboxPluginHost", "CSignalbox",
            ], swiftSettings: swift),
        // What `signalbox demo` and `signalbox plugins new` do.
        .target(
            name: "SignalboxDevTools",
            dependencies: [
                "Signalbox", "SignalboxCore", "SignalboxHTTP", "SignalboxSimulators",
                "SignalboxThreads", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: swift),
        // What Benchmarks/ measures inside the gateway; not shipped.
        .executableTarget(
            name: "SignalboxBench",
            dependencies: [
                "Signalbox", "SignalboxCore", "SignalboxJSON", "SignalboxCrypto",
                "SignalboxStore", "SignalboxPostgres", "SignalboxThreads", "SignalboxPluginHost",
                "SignalboxConformance", "SignalboxDevTools", "CAllocator",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: swift),

        // What the plugins Sendbird and SendbirdDesk have in common; each has it linked in.
        .target(
            name: "SendbirdPush", dependencies: ["SignalboxPluginKit"],
            path: "Plugins/SendbirdPush", swiftSettings: safeSwift),

        // What the plugins NATS and Kafka have in common; each has it linked in.
        .target(
            name: "BusEvents", dependencies: ["CSignalbox"], path: "Plugins/BusEvents",
            publicHeadersPath: ".", cSettings: c),

        // A program in Swift that embeds the gateway.
        .executableTarget(
            name: "SwiftHost", dependencies: ["Signalbox", "SignalboxCore"],
            path: "Examples/hosts/swift", swiftSettings: tests),

        // Tests.
        // The brokers that Kafka's own library has for tests.
        .systemLibrary(
            name: "CKafka", path: "Tests/CKafka", pkgConfig: "rdkafka",
            providers: [.apt(["librdkafka-dev"])]),
        .testTarget(
            name: "SignalboxPatternTests", dependencies: ["SignalboxPattern"],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxThreadsTests", dependencies: ["SignalboxThreads"],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxObservabilityTests",
            dependencies: [
                "SignalboxObservability", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: tests),
        .testTarget(
            name: "SignalboxTests",
            dependencies: [
                "SignalboxGateway", "SignalboxOffline", "SignalboxAdmin",
                "Signalbox", "SignalboxCore", "SignalboxConfig", "SignalboxHTTP",
                "SignalboxCrypto", "SignalboxJSON", "SignalboxConformance",
                "SignalboxPluginHost", "StoreConformance", "PluginRig",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: tests),
        .testTarget(
            name: "SignalboxCoreTests", dependencies: ["SignalboxCore"], swiftSettings: tests),
        .testTarget(
            name: "SignalboxDispatchTests",
            dependencies: ["SignalboxDispatch", "SignalboxCore", "StoreConformance"],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxJSONTests", dependencies: ["SignalboxJSON", "SignalboxCore"],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxConfigTests", dependencies: ["SignalboxConfig", "SignalboxCore"],
            swiftSettings: tests),
        .target(
            name: "PluginRig",
            dependencies: [
                "SignalboxPluginHost", "SignalboxCore", "SignalboxJSON", "SignalboxCrypto",
                "SignalboxThreads", "CLinux", "COpenSSL",
            ], path: "Tests/PluginRig",
            exclude: ["pooler.sh", "postgres-server.sh", "synapse-server.sh"],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxPluginHostTests",
            dependencies: [
                "SignalboxPluginHost", "SignalboxCore", "SignalboxJSON", "SignalboxThreads",
                "SignalboxCrypto", "CSignalbox", "PluginRig",
            ],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxPluginKitTests",
            dependencies: [
                "SignalboxPluginKit", "CSignalbox", "SignalboxPluginHost", "SignalboxCore",
                "SignalboxJSON", "SignalboxCrypto", "PluginRig",
            ],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxStoreTests",
            dependencies: [
                "SignalboxStore", "SignalboxCore", "StoreConformance", "PluginRig",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: tests),
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "SignalboxPostgres", "SignalboxCore", "SignalboxThreads", "StoreConformance",
                "PluginRig",
            ], swiftSettings: tests),
        .testTarget(
            name: "SignalboxCryptoTests", dependencies: ["SignalboxCrypto"],
            swiftSettings: tests),
        .testTarget(
            name: "SignalboxHTTPTests",
            dependencies: [
                "SignalboxHTTP", "SignalboxSimulators", "SignalboxCore", "SignalboxCrypto",
                "PluginRig", "CNghttp2", "COpenSSL",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: tests),
        .testTarget(
            name: "PluginTests",
            dependencies: [
                "SignalboxPluginHost", "SignalboxCore", "SignalboxCrypto", "SignalboxJSON",
                "SignalboxConfig", "SignalboxConformance", "PluginRig",
            ],
            swiftSettings: tests),
        .testTarget(
            name: "PluginCheckTests",
            dependencies: [
                "SignalboxConformance", "SignalboxCore", "SignalboxCrypto", "SignalboxJSON",
                "PluginRig", "SignalboxCLI", "CAllocator",
            ], exclude: ["Bad"], swiftSettings: tests),
        .testTarget(
            name: "SimulatorTests",
            dependencies: [
                "SignalboxSimulators", "SignalboxHTTP", "SignalboxCore", "SignalboxCrypto",
                "SignalboxJSON",
            ], swiftSettings: tests),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "SignalboxGateway", "SignalboxOffline", "SignalboxAdmin",
                "Signalbox", "SignalboxSimulators", "SignalboxDevTools", "SignalboxHTTP",
                "SignalboxCore", "SignalboxJSON", "SignalboxStore", "SignalboxPostgres",
                "SignalboxDispatch", "SignalboxConfig", "SignalboxPluginHost", "SignalboxCrypto",
                "PluginRig", "CKafka",
                "SignalboxCLI",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: tests),
        .testTarget(name: "RepositoryTests", swiftSettings: tests),
        .testTarget(
            name: "ContractTests",
            dependencies: [
                "SignalboxPluginHost", "SignalboxCore", "SignalboxJSON", "PluginRig",
            ],
            exclude: [
                "Hosts", "Plugins", "README.md", "Releases", "libsignalbox-symbols.txt",
            ],
            swiftSettings: tests),
    ] + plugins.map(\.target),
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11,
    cxxLanguageStandard: .cxx17
)
