import Foundation
import Testing

/// The files generated from the contract's headers are committed and current.
@Suite struct GeneratedTests {
    /// Runs a tree's generator. Returns its exit status and output.
    private func generate(
        _ root: URL, _ arguments: String...
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [root.appending(path: "scripts/generate.sh").path] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// The sizes of a notification by minor, oldest first, as generated in a tree.
    private func sizes(_ root: URL) throws -> [Int] {
        let text = try String(
            contentsOf: root.appending(
                path: "Sources/SignalboxPluginHost/Memory/StructSizes+generated.swift"),
            encoding: .utf8)
        let match = try #require(
            text.firstMatch(of: #/"sbx_notification" \}\n.*-> Int \{ (.*) \}/#))
        return match.output.1.split { "?:".contains($0) }.compactMap {
            Int($0.trimmingCharacters(in: .whitespaces))
        }
    }

    @Test func `generated files are what the headers say`() throws {
        let (status, output) = try generate(Repository.root, "--check")
        #expect(status == 0, "\(output)")
    }

    /// Generates in a copy of this tree in which a header has `more` behind its line `last`. Returns the copy, which
    /// is the caller's to remove, and the files that were written.
    private func tree(
        header: String, behind last: String, _ more: String
    ) throws -> (root: URL, made: [String.SubSequence]) {
        let tree = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID())")
        try FileManager.default.createDirectory(at: tree, withIntermediateDirectories: true)
        for folder in ["include", "scripts"] {
            try FileManager.default.copyItem(
                at: Repository.root.appending(path: folder), to: tree.appending(path: folder))
        }
        let file = tree.appending(path: "include/signalbox/\(header)")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing(last, with: last + more)
            .write(to: file, atomically: true, encoding: .utf8)
        let (status, output) = try generate(tree)
        try #require(status == 0, "\(output)")
        return (tree, output.split(separator: "\n").compactMap { $0.split(separator: " ").last })
    }

    @Test func `a function that a service gains reaches the Rust kit and the probe`() throws {
        let (tree, made) = try tree(
            header: "service/clock.h", behind: "int32_t *seconds);\n",
            """
              /* Thread: [control]. Since 1.1. */
              sbx_status (*set_zone)(const struct sbx_host *host, sbx_str zone_name);

            """)
        defer { try? FileManager.default.removeItem(at: tree) }
        let written = try made.map {
            try String(contentsOf: tree.appending(path: $0), encoding: .utf8)
        }
        let probe = #"pass(host, "set_zone", .control) { $0.set_zone(host, zoneName) }"#
        #expect(written.contains { $0.contains(probe) })
        let rust = #"set_zone: Option<unsafe extern "C" fn(*const sbx_host, sbx_str) -> "#
        #expect(written.contains { $0.contains(rust) })
    }

    @Test func `a member that the header gains reaches every file that follows from it`() throws {
        let (tree, made) = try tree(
            header: "model.h", behind: "  size_t override_count;\n",
            "  sbx_str ticker_text; /* one line. Since 1.1 */\n")
        defer { try? FileManager.default.removeItem(at: tree) }
        let changed = try made.filter {
            try String(contentsOf: tree.appending(path: $0), encoding: .utf8)
                .contains(#/ticker_?[tT]ext/#)
        }
        // The struct in the core and in both kits, the conversions, the record, the layout in Rust,
        // and the conformance suite's layout.
        #expect(changed.count == 7, "\(changed)")
        // A text has 16 bytes; plugins of the first contract do not have it.
        let (before, after) = (try sizes(Repository.root), try sizes(tree))
        #expect(after.first == before.first && before.first == 216)
        #expect(after.last == before.last.map { $0 + 16 })
        let again = try generate(Repository.root, "--check")
        #expect(again.status == 0, "\(again.output)")
    }
}
