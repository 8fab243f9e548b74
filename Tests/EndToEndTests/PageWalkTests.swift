import Foundation
import PluginRig
import SignalboxCore
import SignalboxSimulators
import Testing

/// The plugins in docs/writing-a-plugin-zig.md and -go.md: taken out of their pages, built and checked with the pages' commands
/// on an installed prefix, and run in a gateway.
@Suite(.timeLimit(.minutes(10))) struct PageWalkTests {
    /// The blocks of a kind in a page.
    private static func blocks(_ kind: String, in page: String) throws -> [String] {
        let text = try String(
            contentsOf: PluginRig.root.appending(path: "docs/\(page)"), encoding: .utf8)
        return text.components(separatedBy: "```\(kind)\n").dropFirst().map {
            $0.components(separatedBy: "\n```")[0] + "\n"
        }
    }

    /// Writes a page's files, and runs its commands. Returns what they said, and the library.
    private static func walk(
        _ page: String, _ files: [(name: String, kind: String)], path more: String = ""
    ) async throws -> (said: Tool.Ended, library: String) {
        let folder = Workshop.place()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, kind) in files {
            let found = try blocks(kind, in: page)
            try #require(found.count == 1)
            try found[0].write(
                to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let commands = try blocks("sh", in: page)
        try #require(commands.count == 1)
        let prefix = try await EmbeddingTests.installed.value
        let path = [
            prefix.appending(path: "bin").path, more,
            ProcessInfo.processInfo.environment["PATH"] ?? "",
        ].filter { !$0.isEmpty }.joined(separator: ":")
        let ended = try await Tool.run(
            ["bash", "-c", "set -eu\n" + commands[0]], at: folder, environment: ["PATH": path])
        #expect(ended.status == 0, "\(ended.text)")
        return (ended, folder.appending(path: "libText.so").path)
    }

    /// Sends an event through a gateway whose builder is this plugin.
    private static func push(_ library: String, isolation: String) async throws {
        let rig = try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators).replacingOccurrences(
                of: "drain: 5s", with: "drain: 5s, sources: [shop]") + """

                      text: { library: \(library), isolation: \(isolation) }

                    routes:
                      - name: all
                        from: shop
                        build: { with: text }
                        send: { ios: apns }

                    """
        })
        let titles = ["Grüße 📦", "and <more>"]
        let events = titles.enumerated().map { index, title in
            var event = Event(
                type: "t", data: #"{"title":"\#(title)","text":"It is \"here\""}"#)
            event.recipients = [Recipient(device: Device(platform: "ios", token: "t\(index)"))]
            return event
        }
        _ = try await rig.gateway.submit(events, from: "shop")
        let pushes = await rig.simulators.apns.wait(for: 2).sorted { $0.token < $1.token }
        try #require(pushes.count == 2)
        for (push, title) in zip(pushes, titles) {
            let alert = push.body["aps"]?["alert"]
            #expect(alert?["title"]?.string == title)
            #expect(alert?["body"]?.string == #"It is "here""#)
        }
        await rig.end()
    }

    @Test func `a plugin in Zig passes every rule, and builds pushes`() async throws {
        let tools = Workshop.place()
        try FileManager.default.createDirectory(at: tools, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: tools.appending(path: "zig").path,
            withDestinationPath: PluginRig.root.appending(path: "Tests/PluginRig/zig.sh").path)
        let (said, library) = try await Self.walk(
            "writing-a-plugin-zig.md", [("plugin.zig", "zig")], path: tools.path)
        #expect(said.text.contains(" 0 failed"), "\(said.text)")
        for isolation in ["none", "process"] { try await Self.push(library, isolation: isolation) }
    }

    @Test func `a plugin in Go breaks the rules that its page names, and builds pushes`()
        async throws
    {
        let (said, library) = try await Self.walk(
            "writing-a-plugin-go.md", [("table.c", "c"), ("plugin.go", "go")])
        let failed = said.text.split(separator: "\n").filter { $0.contains("FAIL") }
        let named = try Self.blocks("", in: "writing-a-plugin-go.md").first {
            $0.hasPrefix("FAIL")
        }
        let rules = failed.compactMap { $0.split(separator: " ").dropFirst().first }
        // Go starts its threads when it likes, so not each run finds them.
        #expect(rules.contains("life.process"), "\(said.text)")
        for rule in rules { #expect(named?.contains(rule) == true) }
        try await Self.push(library, isolation: "process")
    }
}
