import Foundation
import PluginRig
import Testing

/// Runs docs/writing-a-plugin.md as a new author would, on an installed prefix.
@Suite(.timeLimit(.minutes(5))) struct WalkTests {
    /// The shell blocks under a heading.
    private func commands(under heading: String, in file: String) throws -> String {
        let text = try String(
            contentsOf: PluginRig.root.appending(path: file), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## \(heading)\n").last)
            .components(separatedBy: "\n## ")[0]
        let blocks = section.components(separatedBy: "```sh\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        try #require(blocks.count == 5, "the walk has other steps than this test knows")
        return blocks.joined()
    }

    @Test func `from nothing to a push, and a change while it runs`() async throws {
        let prefix = try await EmbeddingTests.installed.value
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try OwnPort.take()
        let script = try commands(
            under: "From nothing to a push", in: "docs/writing-a-plugin.md"
        ).replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(port)")
        #expect(script.contains(":\(port)/in/zendesk"))
        let path =
            prefix.appending(path: "bin").path + ":"
            + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        // Job control, as in an author's interactive shell; a failure must not
        // leave a gateway running.
        let walk = "set -eum; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script
        let ended = try await Tool.run(
            ["timeout", "240", "bash", "-c", walk], at: folder, environment: ["PATH": path])
        #expect(ended.status == 0, "\(ended.text)")
        #expect(ended.output.contains(" 0 failed"))
        #expect(ended.output.contains("\nIt is on its way.\n"))
        #expect(ended.output.hasSuffix("-> It is at the door.\n"), "\(ended.text)")
        let log = try String(contentsOf: folder.appending(path: "gateway.log"), encoding: .utf8)
        #expect(log.contains("gateway stopped"))
    }
}
