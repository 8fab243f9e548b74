import Testing

/// The arrows of ARCHITECTURE.md: what each module may import, beside the Swift standard modules.
@Suite struct ImportTests {
    static let standard: Set = ["Swift", "Synchronization", "Glibc", "FoundationEssentials"]

    static let allowed: [String: Set<String>] = [
        "Sources/SignalboxPattern": ["CRE2"],
        "Sources/SignalboxCore": ["SignalboxPattern"],
        "Sources/SignalboxThreads": [],
        "Sources/SignalboxJSON": ["SignalboxCore", "CSimdjson"],
        "Sources/SignalboxConfig": ["SignalboxCore", "CYaml"],
        "Sources/SignalboxPluginHost": [
            "SignalboxCore", "SignalboxJSON", "SignalboxPattern", "SignalboxThreads",
            "CSignalbox", "CLinux",
        ],
        "Sources/SignalboxPluginKit": ["CSignalbox"],
        "Sources/SignalboxCrypto": ["SignalboxCore", "COpenSSL"],
        "Sources/SignalboxHTTP": [
            "SignalboxCore", "SignalboxThreads", "DequeModule", "CNghttp2", "CCurl", "NIOCore",
            "NIOPosix", "NIOSSL",
            "NIOTLS", "NIOHTTP1", "NIOConcurrencyHelpers", "Logging",
        ],
        "Sources/SignalboxStore": [
            "SignalboxCore", "SignalboxJSON", "SignalboxThreads", "GRDB", "GRDBSQLite",
            "Foundation",
        ],
        "Sources/SignalboxObservability": ["SignalboxCore", "Logging"],
        "Sources/Signalbox": [
            "SignalboxCore", "SignalboxJSON", "SignalboxConfig", "SignalboxPluginHost",
            "SignalboxHTTP", "SignalboxCrypto", "SignalboxObservability", "SignalboxStore",
            "SignalboxThreads",
            "Logging",
            // Services/TimeZones.swift: the time zone database, of which GRDB brings a copy anyway.
            "Foundation",
        ],
        "Sources/SignalboxTestKit": [
            "Signalbox", "SignalboxCore", "SignalboxJSON", "SignalboxHTTP", "SignalboxCrypto",
            "SignalboxStore", "SignalboxThreads", "SignalboxPluginHost", "CSignalbox", "Logging",
        ],
        "Sources/SignalboxLibrary": [
            "Signalbox", "SignalboxCore", "SignalboxPluginHost",
            "SignalboxThreads", "CSignalbox", "Logging",
        ],
        "Sources/SignalboxCLI": [
            "Signalbox", "SignalboxTestKit", "ArgumentParser", "Dispatch", "CAllocator",
        ],
        "Plugins/APNs": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/CustomerInsights": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/AppLinks": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/FCM": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/LivePerson": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/Sendbird": ["SignalboxPluginKit", "CSignalbox", "SendbirdPush"],
        "Plugins/SendbirdDesk": ["SignalboxPluginKit", "CSignalbox", "SendbirdPush"],
        "Plugins/SendbirdPush": ["SignalboxPluginKit"],
        "Plugins/Texts": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/Zendesk": ["SignalboxPluginKit", "CSignalbox"],
        "Plugins/ZendeskMessaging": ["SignalboxPluginKit", "CSignalbox"],
    ]

    @Test(arguments: allowed.keys.sorted())
    func `a module imports only what the arrows allow`(folder: String) throws {
        let allowed = try #require(Self.allowed[folder]).union(Self.standard)
        let files = Repository.files(under: folder, endings: [".swift"])
        #expect(!files.isEmpty)
        for file in files {
            for module in try imports(of: file) where !allowed.contains(module) {
                Issue.record("\(file) imports \(module), which \(folder) may not")
            }
        }
    }

    @Test func `every module has its arrows written down`() throws {
        let folders = Set(
            (Repository.files(under: "Sources", endings: [".swift"])
                + Repository.files(under: "Plugins", endings: [".swift"]))
                .map { $0.split(separator: "/").prefix(2).joined(separator: "/") })
        #expect(folders == Set(Self.allowed.keys))
    }

    @Test func `dlopen is called in the plugin host alone`() throws {
        for file in Repository.files(under: "Sources", endings: [".swift"])
        where !file.hasPrefix("Sources/SignalboxPluginHost/") {
            let text = try Repository.text(file)
            #expect(!text.contains("dlopen("), "\(file)")
        }
    }

    private func imports(of file: String) throws -> [String] {
        let keywords: Set = [
            "public", "internal", "private", "fileprivate", "package", "@preconcurrency",
            "@testable", "@_exported", "struct", "class", "enum", "func",
        ]
        return try Repository.text(file).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").drop { keywords.contains(String($0)) }
            guard words.first == "import" else { return nil }
            let module = words.dropFirst().drop { keywords.contains(String($0)) }.first
            return module.map { String($0.prefix { $0 != "." && $0 != ";" }) }
        }
    }
}
