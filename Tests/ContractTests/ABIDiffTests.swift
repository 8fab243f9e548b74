import Foundation
import PluginRig
import Testing

/// Compiled code of two contracts, compared by abidiff without any suppression.
@Suite struct ABIDiffTests {
    /// Reports on a newer minor that somebody has reviewed and accepted: `1.0-to-1.1.txt`.
    static let reviewed = Releases.folder.appending(path: "reviewed")

    /// A library with a variable of every struct, table and function type, compiled with debug information.
    private static func probe(_ headers: Headers, of layout: Layout) async throws -> String {
        var text = try headers.files().map { "#include <\($0)>\n" }.joined()
        func variable(_ type: String, _ name: String) {
            text += "extern \(type) probe_\(name);\n\(type) probe_\(name);\n"
        }
        for name in layout.names { variable(name, name) }
        for type in layout.facts("type") {
            let name = type.split { " *()".contains($0) }.first {
                $0.hasPrefix("sbx_") && type.contains("(*\($0))")
            }
            if let name { variable(String(name), String(name)) }
        }
        for function in layout.facts("function") where function.hasPrefix("- ") {
            let match = try #require(function.firstMatch(of: /(sbx_[a-z0-9_]+)\(/))
            variable("__typeof__(\(match.output.1)) *", String(match.output.1))
        }
        let folder = try Workshop.folder("probe")
        let source = folder.appending(path: "probe.c")
        try text.write(to: source, atomically: true, encoding: .utf8)
        let library = folder.appending(path: "libprobe.so").path
        _ = try await Tool.output([
            "gcc", "-std=c11", "-g", "-shared", "-fPIC", "-I\(headers.folder.path)", "-o", library,
            source.path,
        ])
        return library
    }

    /// The library of the current headers, built once.
    private static let current = Task { try await probe(.current, of: Layout.of(.current)) }

    /// What changes for code compiled against `old`; status 0: nothing.
    private func compare(
        _ old: Headers, _ new: Headers
    ) async throws -> (report: String, status: Int32) {
        let layout = try await Layout.of(old)
        let isCurrent = old.folder == Headers.current.folder
        let before = try await isCurrent ? Self.current.value : Self.probe(old, of: layout)
        // Harmless changes count as well: abidiff's harmless changes can break plugins.
        let result = try await Tool.run([
            "abidiff", "--no-default-suppression", "--harmless", "--no-show-locs", before,
            try await Self.probe(new, of: layout),
        ])
        // Bits 1 and 2: abidiff failed.
        guard result.status >= 0, result.status & 3 == 0 else {
            throw PluginRig.Failure(
                description: "abidiff ended with \(result.status): \(result.errors)")
        }
        return (result.output, result.status)
    }

    /// Describes differences between the compiled code of a release and these headers.
    private func complaint(
        _ version: String, _ headers: Headers, reviewed: URL
    ) async throws -> String? {
        let release = Releases.headers(version)
        let (report, status) = try await compare(release, headers)
        if status == 0 { return nil }
        let current = try headers.version()
        guard current != version else {
            return "abidiff sees another contract \(version) than the frozen one:\n\(report)"
        }
        let file = reviewed.appending(path: "\(version)-to-\(current).txt")
        if (try? String(contentsOf: file, encoding: .utf8)) == report { return nil }
        return "read this report of abidiff; if everything in it is right, it belongs into "
            + "Tests/ContractTests/Releases/reviewed/\(file.lastPathComponent):\n\(report)"
    }

    @Test(arguments: Releases.versions)
    func `compiled code of a release still fits`(version: String) async throws {
        let complaint = try await complaint(version, .current, reviewed: Self.reviewed)
        #expect(complaint == nil, "\(complaint ?? "")")
    }

    @Test(arguments: Mutation.all)
    func `abidiff sees every change that is in compiled code`(mutation: Mutation) async throws {
        let (report, status) = try await compare(.current, mutation.apply())
        #expect((status != 0) == mutation.isCompiled, "\(report)")
    }

    @Test func `a newer minor needs a report that was read`() async throws {
        let version = try #require(Releases.versions.last)
        let next = try await Headers.next.value
        let folder = try Workshop.folder("reviewed")
        let words = try #require(try await complaint(version, next, reviewed: folder))
        #expect(words.contains("'uint64_t next_number'"))
        let name = "\(version)-to-\(try next.version()).txt"
        #expect(words.contains("Releases/reviewed/\(name)"))
        let (report, _) = try await compare(Releases.headers(version), next)
        let file = folder.appending(path: name)
        try report.write(to: file, atomically: true, encoding: .utf8)
        #expect(try await complaint(version, next, reviewed: folder) == nil)
        try (report + "more\n").write(to: file, atomically: true, encoding: .utf8)
        #expect(try await complaint(version, next, reviewed: folder) != nil)
    }

    @Test func `nothing is suppressed`() async throws {
        let files = try await Tool.output([
            "find", ".", "-path", "./.build*", "-prune", "-o", "-name", "*.suppr", "-print", "-o",
            "-name", "*.abignore", "-print",
        ])
        #expect(files == "")
    }
}
