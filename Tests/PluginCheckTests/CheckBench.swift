import Foundation
import PluginBench
import SignalboxTestKit
import Testing

/// Runs of the conformance suite with the program that was built beside the tests.
enum CheckBench {
    static let bad = PluginBench.root.appending(path: "Tests/PluginCheckTests/Bad")

    /// Runs something that blocks for long on a thread of its own, so that other tests go on.
    static func aside<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Compiles C with further flags into a library in a folder of its own.
    static func compile(_ file: URL, flags: [String] = []) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let library = folder.appending(path: "libplugin.so").path
        let result = try await run(
            [
                "cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I",
                PluginBench.root.appending(path: "include").path, "-o", library,
            ] + flags + [file.path])
        guard result.status == 0 else {
            throw PluginBench.Failure(description: result.output)
        }
        return library
    }

    /// Runs a program; both its streams together.
    static func run(
        _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]
    ) async throws -> (output: String, status: Int32) {
        try await aside { try runHere(arguments, in: folder, environment: environment) }
    }

    private static func runHere(
        _ arguments: [String], in folder: URL?, environment: [String: String]
    ) throws -> (output: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: output, as: UTF8.self), process.terminationStatus)
    }

    /// The program, beside the bundled plugins.
    static func program() throws -> String {
        let library = URL(filePath: try PluginBench.bundled("APNs"))
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
        return try await aside {
            try PluginCheck.run(given, command: [program, "plugins", "examine"])
        }
    }

    /// What failed, with its words.
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
