import Foundation
import PluginRig
import SignalboxConformance
import Testing

/// docs/plugin-check.md.
@Suite struct CheckDocumentTests {
    @Test func `the table of rules is that of the program`() throws {
        let file = PluginRig.root.appending(path: "docs/plugin-check.md")
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter {
            $0.hasPrefix("| `") && $0.contains(".") && !$0.contains("--")
        }
        let known = CheckRule.allCases.map { "| `\($0.rawValue)` | \($0.text) |" }
        #expect(rows.map(String.init) == known)
    }
}
