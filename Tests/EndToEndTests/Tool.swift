import Foundation

/// Runs programs on threads of their own: a test that blocks would hold one of the few that tests have.
enum Tool {
    struct Output: Sendable {
        var status: Int32
        /// Standard output and error.
        var text: String
    }

    /// Runs a program; `environment` is laid over the process's own.
    static func run(
        _ command: [String], environment: [String: String] = [:]
    ) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try runNow(command, environment) })
            }
        }
    }

    private static func runNow(
        _ command: [String], _ environment: [String: String]
    ) throws -> Output {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Output(status: process.terminationStatus, text: text)
    }
}
