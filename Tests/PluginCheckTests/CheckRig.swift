import Foundation
import PluginRig
import SignalboxConformance
import Testing

/// Runs the conformance suite with the program built beside the tests.
enum CheckRig {
    static let bad = PluginRig.root.appending(path: "Tests/PluginCheckTests/Bad")

    /// Compiles a file into a library in its own folder.
    static func compile(_ file: URL) async throws -> String {
        let folder = try Workshop.folder()
        let library = folder.appending(path: "libplugin.so").path
        return try await PluginRig.compile(file: file.path, to: library)
    }

    /// Compiles lines of C, followed by base.h, into a library in its own folder.
    static func compile(source: String, flags: [String] = []) async throws -> String {
        let folder = try Workshop.folder()
        let library = folder.appending(path: "libplugin.so").path
        let file = folder.appending(path: "plugin.c")
        try "\(source)\n#include \"\(bad.path)/base.h\"\n".write(
            to: file, atomically: true, encoding: .utf8)
        return try await PluginRig.compile(file: file.path, to: library, flags: flags)
    }

    /// The program, beside the bundled plugins.
    static func program() throws -> String {
        let library = URL(filePath: try PluginRig.bundled("APNs"))
        return library.deletingLastPathComponent().appending(path: "signalbox").path
    }

    static func check(
        _ library: String, config: String? = nil, samples: String? = nil,
        only: [String] = [], checksMemory: Bool = false,
        secrets: [(name: String, value: [UInt8])] = []
    ) async throws -> CheckReport {
        var options = PluginCheckOptions(file: library)
        options.config = config
        options.samples = samples
        options.secrets = secrets
        options.only = only
        options.checksMemory = checksMemory
        let (given, program) = (options, try program())
        return try await Tool.aside {
            try PluginCheck.run(given, command: [program, "plugins", "examine"])
        }
    }

    /// The failures with their messages.
    static func failures(_ report: CheckReport) -> [String] {
        report.lines.filter { $0.verdict == .fail }.flatMap { line in
            line.words.map { "\(line.rule.rawValue): \($0)" }
        }
    }

    /// What could not be checked, and was not left out on purpose.
    static func unchecked(_ report: CheckReport) -> [String] {
        report.lines.filter { $0.verdict == .unchecked }.map(\.rule.rawValue)
    }
}
