import Foundation
import PluginRig
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// The level of the log changes while the program runs.
@Suite struct LogLevelTests {
    @Test func `the command changes the level of the running program's log`() async throws {
        let simulators = try await Simulators.start()
        let port = try OwnPort.take()
        let file = try ProgramTests.temporary(
            "gateway.yaml", AdminTests.config(simulators, "", "127.0.0.1:\(port)"))
        let (process, pipe, begin) = try await ProgramTests.serve(file)
        func run(_ arguments: String...) async throws -> Tool.Ended {
            try await ProgramTests.run(["log-level", "--config", file] + arguments)
        }
        #expect(try await run().output == "info\n")
        let unknown = try await run("debgu")
        #expect(unknown.status == 1 && unknown.errors.contains("debug"), "\(unknown.text)")
        #expect(try await run("notice").output == "notice\n")
        #expect(try await run("error").output == "error\n")
        // A pause is told of at a lower level, so nothing of it is there.
        _ = try await ProgramTests.run(["pause", "--config", file, "--sender", "apns"])
        #expect(try await run("debug").output == "debug\n")
        _ = try await ProgramTests.run(["resume", "--config", file, "--sender", "apns"])
        process.terminate()
        let log = try await begin + Tool.rest(pipe)
        #expect(try await Tool.end(process) == 0)
        #expect(log.components(separatedBy: "NOTICE log level changed").count == 4, "\(log)")
        #expect(!log.contains("paused, its deliveries wait") && log.contains("resumed"))
        await simulators.shutdown()
    }
}
