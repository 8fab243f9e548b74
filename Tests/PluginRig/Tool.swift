import Foundation

/// Programs that the tests run: compilers, cargo, nm, the gateway itself.
///
/// Every wait has its own thread: a test that blocks would hold one of the few threads that all
/// tests share, and tests with deadlines would miss them.
package enum Tool {
    /// How a program ended.
    package struct Ended: Error, Sendable {
        package var output: String
        package var errors = ""
        /// The exit status, or a signal's number, negated.
        package var status: Int32

        package init(output: String, errors: String = "", status: Int32) {
            self.output = output
            self.errors = errors
            self.status = status
        }

        /// Output and errors.
        package var text: String { output + errors }
        package var lines: [String] { output.split(separator: "\n").map { String($0) } }
    }

    /// Runs a program to its end; `environment` is merged into the process's own.
    ///
    /// `waits`: it may wait for what a test does, so it must not keep others from running.
    package static func run(
        _ command: [String], at folder: URL = PluginRig.root,
        environment: [String: String] = [:], waits: Bool = false
    ) async throws -> Ended {
        if !waits { await slots.take() }
        let ended = await withCheckedContinuation { done in
            Thread.detachNewThread {
                done.resume(returning: Result { try runHere(command, folder, environment) })
            }
        }
        if !waits { await slots.give() }
        return try ended.get()
    }

    /// The output of a program that must succeed; a failure contains all of its output.
    @discardableResult
    package static func output(
        _ command: [String], at folder: URL = PluginRig.root, waits: Bool = false
    ) async throws -> String {
        let ended = try await run(command, at: folder, waits: waits)
        guard ended.status == 0 else {
            throw PluginRig.Failure(
                description: "\(command.joined(separator: " ")) ended with \(ended.status): "
                    + ended.errors + ended.output)
        }
        return ended.output
    }

    /// Runs blocking code on its own thread.
    package static func aside<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// The next data from a pipe; empty at its end.
    package static func next(_ pipe: Pipe) async throws -> String {
        let handle = pipe.fileHandleForReading
        return try await aside { String(decoding: handle.availableData, as: UTF8.self) }
    }

    /// What comes from a pipe until all these words have come.
    package static func read(_ pipe: Pipe, until words: String...) async throws -> String {
        var text = ""
        while !words.allSatisfy(text.contains) {
            let more = try await next(pipe)
            guard !more.isEmpty else { throw PluginRig.Failure(description: "it ended: \(text)") }
            text += more
        }
        return text
    }

    /// The remaining data from a pipe.
    package static func rest(_ pipe: Pipe) async throws -> String {
        let handle = pipe.fileHandleForReading
        return try await aside {
            String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
        }
    }

    /// Waits for the end of a program. Returns its status.
    @discardableResult
    package static func end(_ program: Program) async throws -> Int32 {
        try await aside { program.wait() }
    }

    /// Limits how many programs run at once.
    private static let slots = Slots(2)

    private static func runHere(
        _ command: [String], _ folder: URL, _ environment: [String: String]
    ) throws -> Ended {
        let (output, errors) = (Pipe(), Pipe())
        let program = try Program(
            command, at: folder, environment: environment, output: output, errors: errors)
        // Both at once: a program that fills one pipe blocks until somebody reads it.
        nonisolated(unsafe) var complaints = Data()
        let reader = DispatchGroup()
        let handle = errors.fileHandleForReading
        reader.enter()
        Thread.detachNewThread {
            complaints = handle.readDataToEndOfFile()
            reader.leave()
        }
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        reader.wait()
        return Ended(
            output: String(decoding: printed, as: UTF8.self),
            errors: String(decoding: complaints, as: UTF8.self), status: program.wait())
    }
}

/// Lets a limited number through at a time.
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
