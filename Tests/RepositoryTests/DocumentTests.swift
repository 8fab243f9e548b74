import Foundation
import Testing

/// The pages in docs/ that list parts of the code: they miss nothing and list nothing else.
@Suite struct DocumentTests {
    static let documents =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        + ["docs", "Plugins", "Tests"].flatMap { Repository.files(under: $0, endings: [".md"]) }
    static let gateway = [
        "Signalbox", "SignalboxConfig", "SignalboxCore", "SignalboxHTTP", "SignalboxObservability",
        "SignalboxPluginHost", "SignalboxStore", "SignalboxPostgres",
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
        let code = #/"([a-z]+(?:-[a-z]+)*)"/#
        var used: Set<String> = []
        var literals: Set<String> = []
        for file in Self.gateway {
            let text = try Repository.text(file)
            for match in text.matches(of: maker) {
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

    @Test func `every metric is explained, and every explained metric is there`() throws {
        let name = #/"(signalbox_[a-z_]*[a-z])[ "{\\]/#
        var used: Set<String> = []
        for file in Self.gateway {
            for match in try Repository.text(file).matches(of: name) {
                used.insert(String(match.output.1))
            }
        }
        // A key of a push's data, not a metric.
        used.remove("signalbox_event")
        // `signalbox_plugin_` followed by the plugin's own name; the host's own
        // for isolated plugins.
        used.formUnion([
            "signalbox_plugin_NAME", "signalbox_plugin_up", "signalbox_plugin_restarts_total",
        ])
        #expect(used.count > 20)
        #expect(used == (try firstCells(of: "docs/metrics.md", under: ["name"])))
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
