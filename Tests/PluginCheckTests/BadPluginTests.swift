import Foundation
import PluginRig
import SignalboxConformance
import Testing

/// Plugins in C that break one rule each: the sections of Bad/plugins.txt.
@Suite(.serialized) struct BadPluginTests {
    struct Bad: Sendable, CustomTestStringConvertible {
        var rule: String
        var name: String
        var flags: [String]
        var words: String
        var source: String

        var testDescription: String { name }
    }

    static let all: [Bad] = {
        let file = CheckRig.bad.appending(path: "plugins.txt")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n=== ").dropFirst().map { section in
            let lines = section.split(separator: "\n")
            let head = lines[0].split(separator: " ").map(String.init)
            return Bad(
                rule: head[0], name: head[1], flags: Array(head.dropFirst(2)),
                words: String(lines[1]), source: lines.dropFirst(2).joined(separator: "\n"))
        }
    }()

    /// Compiles the plugin of a section.
    static func compile(_ name: String, flags: [String] = []) async throws -> String {
        let bad = try #require(all.first { $0.name == name })
        return try await CheckRig.compile(source: bad.source, flags: bad.flags + flags)
    }

    static let samples = """
        {"requests":[{"path":"/in/base","body":{"token":"t1","text":"hi"}}],
         "events":[{"type":"base.text","data":{"text":"hi"}}]}
        """

    @Test(arguments: all)
    func `a plugin that breaks a rule is found out`(bad: Bad) async throws {
        let rule = try #require(CheckRule(rawValue: bad.rule))
        let library = try await CheckRig.compile(source: bad.source, flags: bad.flags)
        // Rules that any step can break need every step.
        let isLocal = !["threads", "payloads", "secrets"].contains(rule.section)
        let report = try await CheckRig.check(
            library, samples: Self.samples, only: isLocal ? [rule.section] : [],
            checksMemory: rule.section == "memory")
        #expect(!report.isClean)
        let line = try #require(report.lines.first { $0.rule == rule })
        #expect(line.verdict == .fail)
        #expect(
            line.words.contains { $0.contains(bad.words) },
            "\(line.words), all: \(CheckRig.failures(report))")
    }

    @Test func `outcomes that never come are waited for once`() async throws {
        let library = try await Self.compile("unended")
        let report = try await CheckRig.check(library, samples: Self.samples, only: ["send"])
        #expect(CheckRig.failures(report).count == 1, "\(CheckRig.failures(report))")
        #expect(CheckRig.unchecked(report).contains("send.threads"))
    }

    @Test func `every rule is broken by one of them`() {
        // Broken below, by the file's mode.
        let covered = Set(Self.all.map(\.rule)).union([CheckRule.fileMode.rawValue])
        #expect(covered == Set(CheckRule.allCases.map(\.rawValue)))
    }

    @Test func `a file that anybody may replace is not loaded`() async throws {
        let library = try await CheckRig.compile(source: "")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: library)
        let report = try await CheckRig.check(library)
        #expect(CheckRig.failures(report).count == 1)
        #expect(CheckRig.failures(report)[0].contains("file.mode: "))
        #expect(CheckRig.failures(report)[0].contains("chmod o-w"))
    }

    @Test func `a plugin with every role that keeps every rule passes`() async throws {
        let library = try await CheckRig.compile(source: "")
        let report = try await CheckRig.check(library, samples: Self.samples, checksMemory: true)
        #expect(CheckRig.failures(report) == [])
        #expect(CheckRig.unchecked(report) == [])
        // The plugin defines no credential.
        #expect(report.count(.notApplicable) == 1)
    }

    /// Children of a bomb write into a file, and end soon where nobody ends them.
    private static func bomb(_ file: URL) -> String {
        """
        #include <fcntl.h>
        #include <stdlib.h>
        #define GLOBALS static int bomb(void) { for (int k = 0; k < 16; k++) if (fork() == 0) { alarm(5); \
          int file = open("\(file.path)", O_WRONLY | O_CREAT | O_APPEND, 0600); \
          if (write(file, "x", 1) == 1) for (;;) pause(); _exit(1); } \
          return system("echo y >> \(file.path)"); }
        #define ON_ENTRY if (bomb() == 0) return NULL;
        """
    }

    @Test func `a plugin that forks starts nothing, whoever checks it`() async throws {
        let file = try Workshop.folder().appending(path: "children")
        let library = try await CheckRig.compile(source: Self.bomb(file))
        let report = try await CheckRig.check(library, only: ["entry"], checksMemory: false)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(
            CheckRig.failures(report) == [
                "life.process: it starts a process, which is refused with EAGAIN"
            ])
    }

    @Test func `nor does one that is only described`() async throws {
        let file = try Workshop.folder().appending(path: "children")
        let library = try await CheckRig.compile(source: Self.bomb(file))
        let program = try CheckRig.program()
        let output = try await Tool.output([program, "plugins", "inspect", "--trust", library])
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(output.contains("org.example.base 1.0.0"))
    }

    @Test func `roles of other authors and drafts are noted and break no rule`() async throws {
        let source = """
            #define ROLES SBX_ROLE_BUILD, "com.example.queue/1", "draft/queue/2"
            #define ROLE static const void *role(const char *id) { \
              static const uint64_t own[2] = {16, 0}; \
              if (!strncmp(id, "com.example.", 12) || !strncmp(id, "draft/queue/", 12)) return own; \
              (void)ingest, (void)send_http, (void)registrar, (void)sender; \
              return strcmp(id, SBX_ROLE_BUILD) ? NULL : (const void *)&build; }
            """
        let report = try await CheckRig.check(
            try await CheckRig.compile(source: source), samples: Self.samples, only: ["descriptor"])
        #expect(CheckRig.failures(report) == [])
        #expect(
            report.notes == [
                "the role com.example.queue/1 is not of this contract: it is not checked",
                "the role draft/queue/2 is not of this contract: it is not checked",
            ])
        #expect(report.text[1].hasPrefix("note: "))
    }

    @Test func `a needed service of another author is noted, and nothing is created`() async throws
    {
        let source = "#define NEEDS SBX_SVC_JSON, \"com.example.lookup/1\""
        let report = try await CheckRig.check(try await CheckRig.compile(source: source))
        #expect(CheckRig.failures(report) == [])
        #expect(
            report.notes == [
                "the service com.example.lookup/1 is not of this contract: it is not offered here"
            ])
        let create = report.lines.first { $0.rule == .lifeCreate }
        #expect(create?.verdict == .unchecked)
        #expect(
            create?.words == ["it needs com.example.lookup/1, which this check does not offer"])
    }

    @Test(arguments: ["send-http", "register", "structs"])
    func `a good plugin may put the time into its requests`(section: String) async throws {
        // Hundredths of a second, and calls long enough that the time changes between them.
        let source = """
            #define GLOBALS \\
              static char *the_time(const sbx_host *h, char *room, size_t size) { \\
                const sbx_clock *clock = h->service(h, SBX_SVC_CLOCK); \\
                unsigned long long now = (unsigned long long)clock->unix_ms(h) / 10; \\
                usleep(100); \\
                for (size_t k = size - 1; k-- > 0; now /= 10) room[k] = (char)('0' + now % 10); \\
                room[size - 1] = 0; \\
                return room; \\
              }
            #define ON_REQUEST char room[20]; body[1] = TEXT(the_time(i->host, room, sizeof room));
            #define ON_CHANGES char room[20]; body[1] = TEXT(the_time(i->host, room, sizeof room));
            """
        let report = try await CheckRig.check(
            try await CheckRig.compile(source: source), samples: Self.samples, only: [section])
        #expect(CheckRig.failures(report) == [])
        #expect(!CheckRig.unchecked(report).contains("\(section).threads"))
    }

    @Test func `samples stop the clock and name a user`() async throws {
        let source = """
            #define GLOBALS static const sbx_clock *the_clock(const sbx_host *h) { return h->service(h, SBX_SVC_CLOCK); }
            #define ON_REQUEST if (the_clock(i->host)->unix_ms(i->host) != 1767225600000ull) abort(); \
              if (one->device->user.len && memcmp(one->device->user.ptr, "u-f", 3)) abort();
            """
        let samples = """
            {"now_unix_ms":1767225600000,"device":{"user":"u-{n}"},
             "requests":[{"path":"/in/base","body":{"token":"t1","text":"hi"}}]}
            """
        let report = try await CheckRig.check(
            try await CheckRig.compile(source: source), samples: samples, only: ["send-http"])
        #expect(CheckRig.failures(report) == [])
    }

    @Test(arguments: [(nil, nil), ("overflow", "memory.faults"), ("lost", "memory.leaks")])
    func `AddressSanitizer's findings are part of the report`(
        name: String?, rule: String?
    ) async throws {
        let flags = ["-g", "-fsanitize=address"]
        let library =
            if let name {
                try await Self.compile(name, flags: flags)
            } else {
                try await CheckRig.compile(source: "", flags: flags)
            }
        let report = try await CheckRig.check(library, samples: Self.samples, checksMemory: true)
        let memory = report.lines.filter { $0.rule.section == "memory" }
        #expect(
            memory.filter { $0.verdict == .fail }.map(\.rule.rawValue) == (rule.map { [$0] } ?? []))
        #expect(memory.allSatisfy { $0.verdict == .pass || $0.rule.rawValue == rule })
        if rule == nil { #expect(CheckRig.failures(report) == []) }
    }

    @Test func `a check of some sections leaves out the others`() async throws {
        let library = try await Self.compile("forgets")
        let report = try await CheckRig.check(library, only: ["life", "build"])
        #expect(report.isClean)
        let passed = Set(report.lines.filter { $0.verdict == .pass }.map(\.rule.section))
        #expect(passed.isSuperset(of: ["file", "entry", "life", "build"]))
        #expect(!passed.contains("send-http"))
        await #expect(throws: PluginCheckFault.self) {
            try await CheckRig.check(library, only: ["lives"])
        }
    }

    @Test func `no file, and a file that is no library`() async throws {
        await #expect(throws: PluginCheckFault.self) {
            try await CheckRig.check("/of/another/time.so")
        }
        let report = try await CheckRig.check(CheckRig.bad.appending(path: "base.h").path)
        #expect(CheckRig.failures(report).count == 1)
        #expect(CheckRig.failures(report)[0].contains("is not a shared library"))
    }
}
