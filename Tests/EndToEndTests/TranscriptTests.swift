import Foundation
import PluginRig
import Testing

/// The transcripts in docs/trying.md and docs/operations.md, run with the program.
@Suite struct TranscriptTests {
    /// A command with the lines that the page shows below it.
    struct Step {
        var command: String
        var shown: [String]
    }

    @Test func `docs/trying.md shows what the program prints`() async throws {
        let text = try String(
            contentsOf: PluginRig.root.appending(path: "docs/trying.md"), encoding: .utf8)
        let (files, steps) = Self.read(text)
        #expect(files.count == 2 && steps.count >= 7)
        let folder = try Workshop.folder("trying")
        for (name, content) in files {
            try content.write(
                to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        for name in ["Tests", "gateway.yaml"] {
            try FileManager.default.createSymbolicLink(
                at: folder.appending(path: name),
                withDestinationURL: PluginRig.root.appending(path: name))
        }
        try await Self.run(steps, in: folder)
    }

    @Test func `an event of your own reaches its user, as docs/trying.md says`() async throws {
        let page = try String(
            contentsOf: PluginRig.root.appending(path: "docs/trying.md"), encoding: .utf8)
        let part = try #require(page.firstRange(of: "## An event of your own")).upperBound
        let block = try #require(page[part...].firstMatch(of: #/```sh\n([\s\S]+?)```/#)).output.1
        let folder = try Workshop.folder("readme")
        let example = folder.appending(path: "Examples/cloudevents")
        try FileManager.default.createDirectory(at: example, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: PluginRig.root.appending(path: "Examples/cloudevents/gateway.yaml"),
            to: example.appending(path: "gateway.yaml"))
        let (port, admin) = (try OwnPort.take(), try OwnPort.take())
        // A slow machine gets a minute where people wait for seconds.
        let patient = block.replacing(#/sleep (2|3)\n/#, with: "wait_until $!\n")
            .replacing("sleep 1\n", with: "")
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
        #expect(patient.contains("wait_until"))
        let script = """
            cd '\(folder.path)'; signalbox() { exec '\(try ProgramTests.program().path)' "$@"; }
            trap 'kill $(jobs -p); wait' EXIT
            export SIGNALBOX_LISTEN=127.0.0.1:\(port) SIGNALBOX_ADMIN=127.0.0.1:\(admin)
            wait_until() {
              for _ in $(seq 600); do
                grep -q SIGNALBOX_CA_FILE simulators.env && [ -z "$DEVICES_TOKEN" ] && return
                curl -sf http://127.0.0.1:\(admin)/livez > /dev/null && return
                sleep 0.1
              done
            }
            \(patient.replacing("signalbox trace", with: "for _ in $(seq 600); do ( signalbox trace"))
            ) | tee trace.txt | grep 'attempt 1: delivered' && break; sleep 0.1; done; cat trace.txt
            """
        let ended = try await Tool.run(["bash", "-c", script])
        #expect(ended.text.contains("event 1 accepted"), "\(ended.text)")
        #expect(
            ended.text.contains("u-42 (ios com.example.app …cdef) on orders by apns: delivered"))
    }

    /// One user with two phones: APNs calls a token dead, and nobody answers for FCM.
    @Test func `docs/operations.md answers three questions`() async throws {
        let text = try String(
            contentsOf: PluginRig.root.appending(path: "docs/operations.md"), encoding: .utf8)
        let (files, steps) = Self.read(text)
        #expect(files.isEmpty && steps.count >= 6)
        let registry = try await RegistryRig()
        let rig = registry.rig
        try await registry.register("u-42", "0123456789ab9f3c")
        try await registry.register("u-42", "cdefghijklmn77aa", platform: "android")
        try await rig.simulators.apns.take(
            .fail(tokens: ["0123456789ab9f3c"], status: 410, reason: "Unregistered", times: nil))
        try await rig.simulators.fcm.take(.closeListener(cut: true))
        try await registry.notify(["u-42"], type: "order.shipped")
        try await until("FCM's sender is held") {
            rig.gateway.metricsText.contains(
                #"signalbox_sender_held{sender="fcm",app="com.example.app"} 1"#)
        }
        try await until("APNs has answered") {
            rig.gateway.metricsText.contains(#"result="failed",reason="Unregistered"} 1"#)
        }
        let folder = try Workshop.folder("operations")
        let port = try #require(rig.gateway.adminPort)
        try rig.text
            .replacing(#"admin: "127.0.0.1:0""#, with: "admin: \"127.0.0.1:\(port)\"")
            .write(
                to: folder.appending(path: "gateway.yaml"), atomically: true, encoding: .utf8)
        try await Self.run(steps, in: folder, masks: Self.masks)
        await rig.end()
    }

    /// What differs from run to run.
    private static var masks: [(Regex<AnyRegexOutput>, String)] {
        get throws {
            [
                (try Regex(#"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"#), "TIME"),
                (try Regex(#"event \d+"#), "event N"),
                (try Regex(#"attempt \d+"#), "attempt N"),
                (try Regex(#"≤[0-9.]+ m?s"#), "≤N ms"),
                (try Regex(#"[0-9A-Fa-f]{8}-[-0-9A-Fa-f]{27}"#), "UUID"),
                (try Regex(#"127\.0\.0\.1:\d+"#), "127.0.0.1:8080"),
                (try Regex(#"^\S+  degraded"#), "GATEWAY  degraded"),
                (try Regex(#"failing: unreachable +0 +[01]"#), "failing: unreachable  0  N"),
                // The width of a table's columns.
                (try Regex(" {2,}"), "  "),
            ]
        }
    }

    private static func run(
        _ steps: [Step], in folder: URL, masks: [(Regex<AnyRegexOutput>, String)] = []
    ) async throws {
        func masked(_ line: String) -> String {
            masks.reduce(line) { $0.replacing($1.0, with: $1.1) }
        }
        let program = try ProgramTests.program().path
        for step in steps {
            let script = """
                umask 077
                unset $(env | cut -d= -f1 | grep -E '^(APNS|FCM|SIGNALBOX|ZENDESK|DEVICES)_')
                cd '\(folder.path)'; signalbox() { '\(program)' "$@"; }; \(step.command)
                """
            let ended = try await Tool.run(["bash", "-c", script])
            var lines = ended.text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { String($0) }
            if lines.last == "" { lines.removeLast() }
            if ended.status != 0 { lines.append("[exit \(ended.status)]") }
            #expect(
                matches(lines.map(masked)[...], step.shown.map(masked)[...]),
                "\(step.command)\n\(lines.joined(separator: "\n"))")
        }
    }

    /// Whether the lines are the ones shown; `...` stands for any number of them.
    private static func matches(_ lines: ArraySlice<String>, _ shown: ArraySlice<String>) -> Bool {
        guard let first = shown.first else { return lines.isEmpty }
        if first == "..." {
            return (lines.startIndex...lines.endIndex).contains {
                matches(lines[$0...], shown.dropFirst())
            }
        }
        guard lines.first == first else { return false }
        return matches(lines.dropFirst(), shown.dropFirst())
    }

    private static func read(_ text: String) -> (files: [String: String], steps: [Step]) {
        var files: [String: String] = [:]
        var steps: [Step] = []
        var fence: String?
        var file: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if let found = line.firstMatch(of: /<!-- file: (\S+) -->/) {
                file = String(found.output.1)
            } else if line.hasPrefix("```") {
                fence = fence == nil ? line : nil
                if fence == nil { file = nil }
            } else if fence != nil, let file {
                files[file, default: ""] += line + "\n"
            } else if fence == "```console", line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2)), shown: []))
            } else if fence == "```console", !steps.isEmpty {
                steps[steps.count - 1].shown.append(line)
            }
        }
        return (files, steps)
    }
}
