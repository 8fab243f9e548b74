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

    @Test func `a member that the header gains reaches every file that follows from it`() throws {
        let tree = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID())")
        defer { try? FileManager.default.removeItem(at: tree) }
        try FileManager.default.createDirectory(at: tree, withIntermediateDirectories: true)
        for folder in ["include", "scripts"] {
            try FileManager.default.copyItem(
                at: Repository.root.appending(path: folder), to: tree.appending(path: folder))
        }
        let header = tree.appending(path: "include/signalbox/model.h")
        let last = "  size_t override_count;\n"
        let text = try String(contentsOf: header, encoding: .utf8)
        try text.replacing(last, with: last + "  sbx_str ticker_text; /* one line. Since 1.1 */\n")
            .write(to: header, atomically: true, encoding: .utf8)
        let (status, output) = try generate(tree)
        try #require(status == 0, "\(output)")
        let made = output.split(separator: "\n").compactMap { $0.split(separator: " ").last }
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
