import Foundation
import PluginRig
import Testing

/// The script that serves PostgreSQL to tests and benchmarks.
@Suite(.timeLimit(.minutes(2))) struct ServerEndTests {
    /// Sets no signal aside, which tests' threads do.
    private static let unblocked = """
        import os, signal, sys
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execv(sys.argv[1], sys.argv[1:])
        """

    /// `Process` of Foundation waits until nobody holds what it gave to a program.
    @Test func `a server that is told to end leaves nobody who holds its pipes`() async throws {
        let folder = "/tmp/sbx-pg-end-\(UUID().uuidString.prefix(8))"
        let script = PluginRig.root.appending(path: "Tests/PluginRig/postgres-server.sh").path
        let (output, held) = (Pipe(), Pipe())
        let server = try Program(
            ["python3", "-c", Self.unblocked, script, folder, "\(getpid())"], at: PluginRig.root,
            sockets: [held.fileHandleForWriting.fileDescriptor], output: output, errors: .init())
        try held.fileHandleForWriting.close()
        #expect(try await Tool.next(output).hasPrefix("ready"))
        server.terminate()
        _ = try await Tool.end(server)
        let rest = try await Tool.rest(held)
        #expect(rest.isEmpty && !FileManager.default.fileExists(atPath: folder))
    }
}
