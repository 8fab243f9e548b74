import Foundation
import Testing

/// The pages in docs/ that list parts of the code: they miss nothing and list nothing else.
@Suite struct DocumentTests {
    static let documents =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        + ["docs", "Plugins", "Tests"].flatMap { Repository.files(under: $0, endings: [".md"]) }
    static let gateway = [
        "Signalbox", "SignalboxGateway", "SignalboxOffline", "SignalboxAdmin", "SignalboxConfig",
        "SignalboxCore", "SignalboxHTTP", "SignalboxObservability",
        "SignalboxPluginHost", "SignalboxStore", "SignalboxPostgres", "SignalboxTables",
    ].flatMap { Repository.files(under: "Sources/\($0)", endings: [".swift"]) }

    @Test(arguments: documents)
    func `a table can be scanned: no cell shows more than 120 characters`(document: String) throws {
        for (number, line) in try Repository.text(document).split(
            separator: "\n", omittingEmptySubsequences: false
        ).enumerated() where line.hasPrefix("| ") {
            for cell in line.split(separator: "|") {
                let shown = cell.replacing(#/\]\([^)]*\)/#, with: "").replacing("[", with: "")
                    .trimmingCharacters(in: .whitespaces)
                #expect(shown.count <= 120, "\(document):\(number + 1): \(shown)")
            }
        }
    }

    @Test func `every code of a fault is explained, and every explained code is used`() throws {
        // The first argument of functions that make a fault.
        let maker = #/(?:Diagnostic|StoreError|LoadFault|report|stop|refuse)\(\s*([^,()]*),/#
        let rule = #/CheckRule\(\.\w+,\s*([^,()]*)\)/#
        let code = #/"([a-z]+(?:-[a-z]+)*)"/#
        var used: Set<String> = []
        var literals: Set<String> = []
        for file in Self.gateway {
            let text = try Repository.text(file)
            for match in text.matches(of: maker) + text.matches(of: rule) {
                for word in match.output.1.matches(of: code) { used.insert(String(word.output.1)) }
            }
            for word in text.matches(of: code) { literals.insert(String(word.output.1)) }
        }
        let explained = try firstCells(of: "docs/errors.md", under: ["code", "warning"])
        #expect(used.count > 40)
        #expect(used.subtracting(explained).sorted() == [])
        // Includes codes that a helper passes on.
        #expect(explained.filter { !literals.contains($0) && !isBuilt($0) }.sorted() == [])
    }

    /// `unknown-route` and others are composed: `"unknown-\(what)"`.
    private func isBuilt(_ code: String) -> Bool { code.hasPrefix("unknown-") }

    @Test func `every field of the log is explained, and every explained field is there`() throws {
        // In a literal of metadata, and set in one.
        let inside = #/"([a-z][a-z0-9_.]*)": ?"/#
        let set = #/(?:fields|metadata|error)\["([a-z0-9_.]+)"\] = |metadataKey: "([a-z.]+)"/#
        var used: Set<String> = []
        for file in Self.gateway {
            let text = try Repository.text(file)
            if file.contains("PluginHost/"), text.contains("ervices.log(") {
                for match in text.matches(of: #/Attribute\("([a-z_.]+)"/#) {
                    used.insert(String(match.output.1))
                }
            }
            guard text.contains("import Logging") else { continue }
            for match in text.matches(of: inside) { used.insert(String(match.output.1)) }
            for match in text.matches(of: set) {
                if let field = match.output.1 ?? match.output.2 { used.insert(String(field)) }
            }
        }
        let explained = try firstCells(of: "docs/logging.md", under: ["field"])
        #expect(used.count > 30)
        #expect(used.subtracting(explained).sorted() == [])
        #expect(explained.subtracting(used).sorted() == [])
    }

    /// The text in backticks in the first cells of all tables with such a header.
    private func firstCells(of document: String, under headers: [String]) throws -> Set<String> {
        var cells: Set<String> = []
        var isInside = false
        for line in try Repository.text(document).split(separator: "\n") {
            let first = line.dropFirst().prefix { $0 != "|" }.trimmingCharacters(in: .whitespaces)
            guard line.hasPrefix("|") else {
                isInside = false
                continue
            }
            if headers.contains(first) { isInside = true }
            guard isInside else { continue }
            for match in first.matches(of: #/`([^`]+)`/#) { cells.insert(String(match.output.1)) }
        }
        return cells
    }
}
