import Foundation
import Logging
import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxHTTP

/// How a server ends without refusing anyone.
@Suite struct ListenerEndTests {
    private func server(on socket: ListeningSocket? = nil) async throws -> HTTPServer {
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.socket = socket
        // However busy the machine is.
        options.lastRequestSeconds = 120
        return try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: WebRig.Echo(gate: nil))
    }

    private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nhost: a\r\n\r\n" }

    @Test func `once its end is announced, requests are answered and clients told to leave`()
        async throws
    {
        let server = try await server()
        let known = try RawClient(port: server.port)
        known.send(get("/known/1"))
        #expect(await known.read(until: "known/1? 0").contains("connection: close") == false)
        await server.announceEnd()
        known.send(get("/known/2"))
        let last = await known.read()
        #expect(last.hasPrefix("HTTP/1.1 200") && last.contains("connection: close"))
        let refused = try RawClient(port: server.port)
        refused.send(get("/other"))
        let problem = await refused.read()
        #expect(problem.hasPrefix("HTTP/1.1 404") && problem.contains("connection: close"))
        // Those that come all at once are answered first.
        let eager = try RawClient(port: server.port)
        eager.send(get("/known/3") + get("/known/4"))
        let both = await eager.read()
        #expect(both.contains("known/3? 0") && both.hasSuffix("known/4? 0 "))
        await server.shutdown()
    }

    @Test func `a connection that has just come when the server ends gets its answer`()
        async throws
    {
        let server = try await server()
        let new = try RawClient(port: server.port)
        // Came later, so the first one was accepted, too.
        let known = try RawClient(port: server.port)
        known.send(get("/known/1"))
        _ = await known.read(until: "known/1? 0")
        async let ended: Void = server.shutdown()
        #expect(await known.read().isEmpty)
        new.send(get("/known/2"))
        let answer = await new.read()
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("connection: close"))
        await ended
    }

    @Test func `what waits in a socket of somebody else is answered by the next server on it`()
        async throws
    {
        let held = try Self.listener()
        defer { close(held) }
        let first = try await server(on: ListeningSocket(descriptor: dup(held)))
        let port = first.port
        let before = try RawClient(port: port)
        before.send(get("/known/1"))
        #expect(await before.read(until: "known/1? 0").hasPrefix("HTTP/1.1 200"))
        await first.shutdown()
        let between = try RawClient(port: port)
        between.send(get("/known/2"))
        let second = try await server(on: ListeningSocket(descriptor: dup(held)))
        #expect(second.port == port)
        #expect(await between.read(until: "known/2? 0").hasPrefix("HTTP/1.1 200"))
        await second.shutdown()
    }

    @Test func `only a TCP socket that listens is taken over, and no child inherits it`() throws {
        let held = try Self.listener()
        let taken = try #require(ListeningSocket(descriptor: held))
        #expect(taken.host == "127.0.0.1" && taken.port > 0)
        #expect(fcntl(held, F_GETFD) & FD_CLOEXEC != 0)
        close(held)
        let connected = try RawClient(port: try Self.openPort())
        #expect(ListeningSocket(descriptor: connected.descriptor) == nil)
        #expect(ListeningSocket(descriptor: 1_000_000) == nil)
    }

    /// A port where something listens until the process ends.
    private static func openPort() throws -> Int {
        ListeningSocket(descriptor: try listener())?.port ?? 0
    }

    private static func listener() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    && listen(descriptor, 128) == 0
            }
        }
        try #require(isBound)
        return descriptor
    }
}
