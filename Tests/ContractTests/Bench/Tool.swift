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

    /// Runs a program at the root of the repository, and waits for its end by suspending: tests that run at
    /// the same time have deadlines.
    static func run(
        _ arguments: [String], at folder: URL = PluginBench.root
    ) async throws -> Result {
        await slots.take()
        let result = await withCheckedContinuation { done in
            queue.async {
                done.resume(returning: Swift.Result { try wait(for: arguments, at: folder) })
            }
        }
        await slots.give()
        return try result.get()
    }

    private static let queue = DispatchQueue(label: "tools", attributes: .concurrent)
    /// The machine has other things to do as well.
    private static let slots = Slots(2)

    private static func wait(for arguments: [String], at folder: URL) throws -> Result {
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
    static func output(
        _ arguments: [String], at folder: URL = PluginBench.root
    ) async throws -> String {
        let result = try await run(arguments, at: folder)
        guard result.status == 0 else {
            throw Failure(
                description: "\(arguments.joined(separator: " ")) ended with \(result.status): "
                    + result.errors + result.output)
        }
        return result.output
    }
}

/// Lets so many through at a time.
private actor Slots {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func give() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
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
