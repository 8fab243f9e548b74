import Foundation
import PluginRig
import SignalboxHTTP
import SignalboxSimulators
import Synchronization
import Testing

/// Restarts of the real program that refuse no webhook.
@Suite struct RestartTests {
    private static func yaml(_ simulators: Simulators, delay: String) -> String {
        GatewayRig.yaml(simulators)
            .replacing("drain: 5s", with: "drain: 2m, shutdown_delay: \(delay)")
    }

    private static func start(
        _ file: String, _ socket: HeldSocket
    ) throws -> (process: Program, pipe: Pipe) {
        try ProgramTests.start(["run", "--config", file], sockets: [socket.descriptor])
    }

    /// Reads a log until a word comes, and drops the rest, so that the program never waits for us.
    private static func await(
        _ word: String, _ running: (process: Program, pipe: Pipe), isLast: Bool = true
    ) async throws {
        _ = try await Tool.read(running.pipe, until: word)
        guard isLast else { return }
        running.pipe.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    private static func end(_ running: (process: Program, pipe: Pipe)) async throws {
        running.process.terminate()
        #expect(try await Tool.end(running.process) == 0)
        running.pipe.fileHandleForReading.readabilityHandler = nil
    }

    @Test func `a restart under socket activation refuses no webhook, and each is pushed once`()
        async throws
    {
        let simulators = try await Simulators.start()
        // A client that keeps its connection has this time to hear that it should leave.
        let file = try ProgramTests.temporary(
            "gateway.yaml", Self.yaml(simulators, delay: "2s"))
        let socket = try HeldSocket()
        let tally = Tally()
        var running = try Self.start(file, socket)
        try await Self.await("gateway is up", running)
        try await withThrowingTaskGroup { group in
            for number in 0..<4 {
                let poster = Poster(port: socket.port, keepsAlive: number % 2 == 0, tally: tally)
                group.addTask { await poster.run() }
            }
            for _ in 0..<2 {
                try await tally.wait(forMore: 40)
                try await Self.end(running)
                running = try Self.start(file, socket)
                try await Self.await("gateway is up", running)
            }
            try await tally.wait(forMore: 40)
            tally.end()
            try await group.waitForAll()
        }
        #expect(tally.faults.isEmpty)
        // What is under way is sent before the end.
        try await Self.end(running)
        let pushes = simulators.apns.received
        #expect(pushes.allSatisfy { $0.status == 200 })
        #expect(pushes.map(\.token).sorted() == tally.tokens.sorted())
        await simulators.shutdown()
    }

    @Test
    func `a gateway that is started early waits for the data folder, and its clients with it`()
        async throws
    {
        let simulators = try await Simulators.start()
        let file = try ProgramTests.temporary(
            "gateway.yaml", Self.yaml(simulators, delay: "0s"))
        let socket = try HeldSocket()
        let first = try Self.start(file, socket)
        try await Self.await("gateway is up", first)
        let second = try Self.start(file, socket)
        try await Self.await(
            "waiting for the gateway that uses the data folder", second, isLast: false)
        try await Self.end(first)
        // It arrives when nobody accepts connections yet, or no longer.
        let client = try RawClient(port: socket.port)
        client.send(Poster.request("early", keepsAlive: false))
        #expect(await client.read().hasPrefix("HTTP/1.1 200"))
        try await Self.await("gateway is up", second)
        #expect(await simulators.apns.wait(for: 1).map(\.token) == ["early"])
        try await Self.end(second)
        await simulators.shutdown()
    }
}

/// A listening socket that the test holds while gateways come and go, as systemd does.
final class HeldSocket: Sendable {
    let descriptor: Int32
    let port: Int

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, length) = (descriptor, size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 128) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else {
            throw PluginRig.Failure(description: "no socket: \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }
}
