import Foundation
import PluginBench

/// Programs that the tests run: compilers, abidiff, nm, scripts/abi, hosts in C.
enum Tool {
    struct Result: Sendable {
        var output: String
        var errors: String
        /// The exit status; the signal's number, negative, if one ended it.
        var status: Int32

        var lines: [String] {
            output.split(separator: "\n").map { String($0) }
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program at the root of the repository and waits for its end.
    static func run(
        _ arguments: [String], at folder: URL = PluginBench.root
    ) throws -> Result {
        let errors = try Workshop.folder("errors").appending(path: "text")
        try Data().write(to: errors)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let status = process.terminationStatus
        return Result(
            output: String(decoding: output, as: UTF8.self),
            errors: try String(contentsOf: errors, encoding: .utf8),
            status: process.terminationReason == .uncaughtSignal ? -status : status)
    }

    /// What a program prints that must succeed. A missing one is a failure with its name.
    static func output(_ arguments: [String], at folder: URL = PluginBench.root) throws -> String {
        let result = try run(arguments, at: folder)
        guard result.status == 0 else {
            throw Failure(
                description: "\(arguments.joined(separator: " ")) ended with \(result.status): "
                    + result.errors + result.output)
        }
        return result.output
    }
}

/// Where tests put what they make; it goes away with the process.
enum Workshop {
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Workshop.root) }
        return FileManager.default.temporaryDirectory.appending(
            path: "signalbox-contract-\(UUID().uuidString)")
    }()

    /// A new folder.
    static func folder(_ name: String) throws -> URL {
        let folder = root.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
