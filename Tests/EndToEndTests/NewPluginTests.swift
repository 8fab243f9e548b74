import Foundation
import PluginRig
import Testing

/// `signalbox plugins new`: every language and role is generated, built and checked.
@Suite(.serialized) struct NewPluginTests {
    private static let program = Result {
        URL(filePath: try PluginRig.bundled("Zendesk")).deletingLastPathComponent()
            .appending(path: "signalbox").path
    }

    /// A folder with an SDK and space for projects.
    private static let room = Task { () throws -> URL in
        let folder = Workshop.place()
        let script = PluginRig.root.appending(path: "scripts/sdk.sh").path
        let made = try await Tool.run([script, folder.appending(path: "sdk").path])
        guard made.status == 0 else { throw PluginRig.Failure(description: made.text) }
        return folder
    }

    private func new(_ name: String, _ language: String, _ role: String) async throws -> (
        Tool.Ended, folder: URL
    ) {
        let room = try await Self.room.value
        let folder = room.appending(path: "\(name)-\(language)-\(role)")
        let output = try await Tool.run([
            try Self.program.get(), "plugins", "new", name, "--language", language, "--role", role,
            "--folder", folder.path, "--sdk", room.appending(path: "sdk").path,
        ])
        return (output, folder)
    }

    @Test(
        arguments: ["c", "rust", "swift"],
        ["ingest", "filter", "build", "send-http", "send", "register", "source", "observe"])
    func `a new project builds, passes the conformance suite, and is short`(
        language: String, role: String
    ) async throws {
        let (output, folder) = try await new("Probe", language, role)
        #expect(output.status == 0, "\(output.text)")
        let listed = output.text.split(separator: "\n").dropLast().map(String.init)
        for part in ["/check/", "/README.md", "/gateway.yaml", "/try.sh"] {
            #expect(listed.contains { $0.contains(part) }, "\(part)")
        }
        let sources = listed.filter { [".c", ".rs", ".swift"].contains(where: $0.hasSuffix) }
        let lines = try sources.reduce(0) { sum, file in
            sum + (try String(contentsOfFile: file, encoding: .utf8)).count { $0 == "\n" }
        }
        // Senders in C show headers and a secret. A source keeps what is not stored yet.
        let isLonger =
            language == "c" && ["send-http", "register"].contains(role) || role == "source"
        #expect(lines > 0 && lines < (isLonger ? 120 : 100), "\(lines)")
        // Projects of a language share what they are built with.
        let shared = try await Self.room.value.appending(path: "build-\(language)").path
        let built = try await Tool.run(["make", "-C", folder.path, "BUILD=\(shared)"])
        #expect(built.status == 0, "\(built.text)")
        #expect(!built.text.contains("warning:"), "\(built.text)")
        let library = folder.appending(path: "libProbe.so").path
        let symbols = try await Tool.run(["nm", "-D", "--defined-only", "--extern-only", library])
        #expect(symbols.text.split(separator: " ").last == "sbx_plugin_entry_v1\n")
        let checked = try await Tool.run(
            ["make", "-C", folder.path, "BUILD=\(shared)", "check"],
            environment: ["SIGNALBOX": try Self.program.get()])
        #expect(checked.status == 0, "\(checked.text)")
        #expect(checked.text.contains(" 0 failed"), "\(checked.text)")
        try await tryOut(folder, role, ["BUILD=\(shared)"])
    }

    /// What README.md of a project says: `make run`, and `make try` beside it.
    private func tryOut(_ folder: URL, _ role: String, _ build: [String]) async throws {
        let pipe = Pipe()
        let make = try Program(
            ["make", "-C", folder.path, "run", "RUN=--listen 127.0.0.1:0 --admin 127.0.0.1:0"]
                + build,
            at: folder, environment: ["SIGNALBOX": try Self.program.get()], output: pipe,
            errors: pipe)
        var text = ""
        func wait(for words: String...) async throws {
            while !words.allSatisfy(text.contains) {
                let more = try await Tool.next(pipe)
                guard !more.isEmpty else { throw PluginRig.Failure(description: text) }
                text += more
            }
        }
        try await wait(for: "gateway     http://", "\n")
        func place(_ pattern: Regex<(Substring, Substring)>) throws -> String {
            String(try #require(text.firstMatch(of: pattern)).1)
        }
        let (gateway, control) = (
            try place(#/gateway +(http:\S+:\d+)/#), try place(#/control (http:\S+:\d+)/#)
        )
        let tried = try await Tool.run(["sh", "try.sh", gateway, control], at: folder, waits: true)
        #expect(tried.status == 0, "\(tried.text)")
        switch role {
        case "send-http", "register": try await wait(for: "provider    received, answered 200\n")
        case "send": try await wait(for: " delivered")
        default: try await wait(for: "FCM         received, answered 200\n")
        }
        make.terminate()
        while case let more = try await Tool.next(pipe), !more.isEmpty { text += more }
        try await Tool.end(make)
        #expect(!text.contains(" ERROR "), "\(text)")
        guard let file = ["send": "pushes.txt", "observe": "outcomes.txt"][role] else { return }
        let written = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        #expect(written.contains(role == "send" ? "It is on its way." : "delivered"))
    }

    @Test func `make check gives the plugin the author's configuration and samples`() async throws {
        let (output, folder) = try await new("Sampled", "c", "ingest")
        #expect(output.status == 0, "\(output.text)")
        func check(_ file: String, _ change: (String) -> String) async throws -> String {
            let place = folder.appending(path: file)
            let text = try String(contentsOf: place, encoding: .utf8)
            try change(text).write(to: place, atomically: true, encoding: .utf8)
            let checked = try await Tool.run(
                ["make", "-C", folder.path, "check"],
                environment: ["SIGNALBOX": try Self.program.get()])
            #expect(checked.status != 0)
            try text.write(to: place, atomically: true, encoding: .utf8)
            return checked.text
        }
        let sampled = try await check("check/samples.json") {
            $0.replacingOccurrences(of: "\"user\"", with: "\"usr\"")
        }
        #expect(sampled.contains("ingest.samples"), "\(sampled)")
        let configured = try await check("check/config.json") {
            $0.replacingOccurrences(of: "path", with: "pth")
        }
        #expect(configured.contains("pth"), "\(configured)")
    }

    @Test func `a Rust project with vendored crates needs no network`() async throws {
        let (output, folder) = try await new("Vendored", "rust", "filter")
        #expect(output.status == 0, "\(output.text)")
        func write(_ file: String, _ text: String) throws {
            let place = folder.appending(path: file)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: place, atomically: true, encoding: .utf8)
        }
        func change(_ file: String, _ old: String, _ new: String) throws {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            #expect(text.contains(old))
            try write(file, text.replacingOccurrences(of: old, with: new))
        }
        // As `cargo vendor` leaves a crate.
        try write("vendor/words/Cargo.toml", "[package]\nname = \"words\"\nversion = \"1.2.3\"\n")
        try write(
            "vendor/words/src/lib.rs", "pub fn is_true(text: &str) -> bool { text == \"true\" }\n")
        try write("vendor/words/.cargo-checksum.json", #"{"files":{},"package":null}"#)
        try write(
            ".cargo/config.toml",
            """
            [source.crates-io]
            replace-with = "vendored-sources"
            [source.vendored-sources]
            directory = "vendor"

            """)
        try change("Cargo.toml", "[dependencies]\n", "[dependencies]\nwords = \"1\"\n")
        try change(
            "src/lib.rs", "Some(\"true\") =>", "Some(text) if words::is_true(text) =>")
        let built = try await Tool.run(["make", "-C", folder.path])
        #expect(built.status == 0, "\(built.text)")
        #expect(built.text.contains("words"))
    }

    @Test func `what is asked for is checked, and nothing is overwritten`() async throws {
        let (bad, _) = try await new("my-plugin", "c", "send")
        #expect(bad.status != 0 && bad.text.contains("how about myplugin?"))
        let (language, _) = try await new("Probe", "rest", "send")
        #expect(language.text.contains("known: c, swift, rust"))
        let (role, _) = try await new("Probe", "c", "sender")
        #expect(role.text.contains("did you mean \"send\""))
        let (first, _) = try await new("Twice", "c", "send")
        #expect(first.status == 0)
        let (second, _) = try await new("Twice", "c", "send")
        #expect(second.status != 0 && second.text.contains("exists; nothing was written"))
    }
}
