import Foundation
import PluginRig
import SignalboxObservability
import Testing

@testable import Signalbox
@testable import SignalboxGateway

/// docs/metrics.md lists the gateway's metrics with the labels and the help that the page shows.
@Suite struct MetricDocumentTests {
    private struct Row: Hashable {
        var name: String
        var labels: [String]
        var help: String
    }

    /// Plugins and their hosts make these.
    private static let ofPlugins: Set = [
        "signalbox_plugin_NAME", "signalbox_plugin_up", "signalbox_plugin_restarts_total",
    ]

    @Test func `every metric is explained, and every explained metric is there`() throws {
        let shown = Set(
            GatewayMetrics().families.map {
                Row(name: $0.about.name, labels: $0.about.labels, help: $0.about.help)
            })
        let explained = try Self.rows().filter { !Self.ofPlugins.contains($0.name) }
        #expect(shown.count > 40)
        #expect(shown.subtracting(explained).map(\.name).sorted() == [])
        #expect(Set(explained).subtracting(shown).map(\.name).sorted() == [])
        #expect(explained.count == shown.count)
    }

    @Test func `the stores give figures for metrics that there are`() throws {
        let names = Set(GatewayMetrics().families.map(\.about.name))
        var used: Set<String> = []
        for room in ["SignalboxStore", "SignalboxPostgres"] {
            let folder = PluginRig.root.appending(path: "Sources/\(room)")
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            for case let file as URL in try #require(files) where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: #/"(signalbox_[a-z_]*[a-z])"/#) {
                    used.insert(String(match.output.1))
                }
            }
        }
        #expect(used.count > 5)
        #expect(used.subtracting(names).sorted() == [])
    }

    private static func rows() throws -> [Row] {
        let page = try String(
            contentsOf: PluginRig.root.appending(path: "docs/metrics.md"), encoding: .utf8)
        var rows: [Row] = []
        var isInside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if cells.first == "name" { isInside = true }
            if !line.hasPrefix("|") { isInside = false }
            guard isInside, cells.count == 3, cells[0].hasPrefix("`") else { continue }
            let labels = cells[1].matches(of: #/`([^`]+)`/#).map { String($0.output.1) }
            rows.append(
                Row(name: String(cells[0].dropFirst().dropLast()), labels: labels, help: cells[2]))
        }
        return rows
    }
}
