import Foundation
import Testing

/// The arrows of ARCHITECTURE.md, and the external libraries that each room may import.
@Suite struct ImportTests {
    static let standard: Set = ["Swift", "Synchronization", "Glibc", "FoundationEssentials"]

    static let libraries: [String: Set<String>] = [
        "SignalboxPattern": ["CRE2"],
        "SignalboxThreads": ["CLinux", "DequeModule", "HeapModule"],
        "SignalboxJSON": ["CSimdjson"],
        "SignalboxConfig": ["CYaml"],
        "SignalboxPluginHost": ["CLinux"],
        "SignalboxCrypto": ["COpenSSL"],
        "SignalboxHTTP": [
            "DequeModule", "CNghttp2", "CCurl", "COpenSSL", "NIOCore", "NIOPosix",
            "NIOHTTP1",
            "NIOConcurrencyHelpers", "Logging", "Dispatch",
        ],
        "SignalboxStore": ["GRDB", "GRDBSQLite", "Foundation"],
        "SignalboxPostgres": ["CPostgres"],
        "SignalboxObservability": ["Logging"],
        // Foundation for time zones and local times; GRDB links it anyway.
        "SignalboxGateway": ["Logging", "Foundation"],
        "SignalboxOffline": ["Logging", "Foundation"],
        "SignalboxAdmin": ["Logging"],
        "Signalbox": ["Logging"],
        "SignalboxSimulators": [
            "CNghttp2", "NIOCore", "NIOPosix", "NIOConcurrencyHelpers", "Logging",
        ],
        "SignalboxDevTools": ["Logging"],
        "SignalboxBench": ["ArgumentParser", "CAllocator"],
        "SignalboxLibrary": ["Logging"],
        "SignalboxCLI": ["ArgumentParser", "Dispatch", "CAllocator"],
    ]

    /// Every folder with Swift sources.
    static let folders: [String] = Set(
        (Repository.files(under: "Sources", endings: [".swift"])
            + Repository.files(under: "Plugins", endings: [".swift"]))
            .map { $0.split(separator: "/").prefix(2).joined(separator: "/") }
    ).sorted()

    /// The imports allowed to each room by `A & B --> C & D` in the diagram.
    static func arrows() throws -> [String: Set<String>] {
        let text = try Repository.text("ARCHITECTURE.md")
        let diagram = try #require(text.split(separator: "```mermaid\n").dropFirst().first)
        var arrows: [String: Set<String>] = [:]
        for line in diagram.prefix(
            upTo: diagram.firstRange(of: "```")?.lowerBound ?? diagram.endIndex
        )
        .split(separator: "\n") where line.contains("-->") {
            let ends = line.split(separator: "-->").map { side in
                side.split(separator: "&").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            #expect(ends.count == 2, "one arrow per line: \(line)")
            for from in ends.first ?? [] { arrows[from, default: []].formUnion(ends.last ?? []) }
        }
        return arrows
    }

    /// A struct that Swift's Glibc has, too, would belong to either module, and optimised builds with `-enable-testing`, as
    /// `make fuzz` makes them, would not compile.
    @Test func `the module of Linux calls has no header that Swift's Glibc has`() throws {
        let header = try Repository.text("Sources/CLibraries/CLinux/include/CLinux.h")
        let included = header.split(separator: "\n").filter { $0.hasPrefix("#include") }
        #expect(
            included == ["#include <elf.h>", "#include <stddef.h>", "#include <stdint.h>"])
    }

    @Test(arguments: folders)
    func `a room imports only what the arrows of the architecture allow`(folder: String) throws {
        let arrows = try Self.arrows()
        let room = String(folder.split(separator: "/")[1])
        let isPlugin = folder.hasPrefix("Plugins/")
        let allowed = (arrows[room] ?? []).union(isPlugin ? arrows["Plugins"] ?? [] : [])
            .union(Self.libraries[room] ?? []).union(Self.standard)
        for file in Repository.files(under: folder, endings: [".swift"]) {
            for module in try imports(of: file) where !allowed.contains(module) {
                Issue.record("\(file) imports \(module), which \(room) may not")
            }
        }
    }

    @Test func `every arrow starts at a room, and is used`() throws {
        for (room, targets) in try Self.arrows() {
            let folders =
                room == "Plugins"
                ? ["Plugins"] : Self.folders.filter { $0.hasSuffix("/\(room)") }
            #expect(!folders.isEmpty, "the diagram has \(room), which is no folder")
            let files = folders.flatMap { Repository.files(under: $0, endings: [".swift"]) }
            let used = Set(try files.flatMap { try imports(of: $0) })
            #expect(
                targets.isSubset(of: used), "\(room) does not import \(targets.subtracting(used))")
        }
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
