import Foundation
import Logging
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import Testing

/// TLS over sockets, with misbehaving peers.
@Suite struct TLSServerTests {
    /// A listener that nobody serves: the system accepts connections, and nothing is ever sent.
    private final class SilentPeer {
        private let listener: LoopbackListener
        var port: Int { listener.port }

        init() throws { listener = try LoopbackListener(backlog: 64) }

        deinit { close(listener.descriptor) }
    }

    private func failure(of port: Int, connectTimeoutMs: Int = 30_000) async throws -> String? {
        let rig = try await PushRig {
            $0.port = port
            $0.connectTimeoutMs = connectTimeoutMs
        }
        rig.submit(1...1)
        #expect(await rig.settle { $0.isFailing })
        let event = rig.events.first { $0.kind == .connectFailed }
        await rig.end()
        return event?.text
    }

    @Test func `a peer that never shakes hands is given up`() async throws {
        let peer = try SilentPeer()
        let text = try await failure(of: peer.port, connectTimeoutMs: 300)
        #expect(text?.contains("did not finish TLS") == true)
    }

    @Test func `a peer that speaks plain HTTP is named as such`() async throws {
        let web = try await WebRig()
        #expect(
            try await failure(of: web.server.port)?
                .hasSuffix("TLS handshake failed: the peer does not speak TLS") == true)
        await web.end()
    }

    @Test func `a peer that speaks HTTP/1.1 alone is named as such`() async throws {
        let identity = try ThrowAway.serverIdentity(authority: PushRig.authority.get())
        let server = try await listener(identity: identity)
        #expect(try await failure(of: server.port)?.contains("did not offer h2") == true)
        await server.shutdown()
    }

    // MARK: The listener

    private func listener(
        idleSeconds: Int = 60, identity: ThrowAway.Identity? = nil,
        _ handler: any HTTPServerHandler = WebRig.Echo(gate: nil)
    ) async throws -> HTTPServer {
        let identity = try identity ?? TLSRig.identity.get()
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.idleSeconds = idleSeconds
        options.tls = ListenerTLS(
            try HTTPServerTLS(
                certificateChainPEM: identity.certificatePEM,
                privateKeyPEM: identity.privateKeyPEM))
        return try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: handler)
    }

    @Test func `a client that never shakes hands is closed`() async throws {
        let server = try await listener(idleSeconds: 1)
        let client = try RawClient(port: server.port)
        // The beginning of a ClientHello.
        client.send("\u{16}\u{3}\u{1}\u{2}")
        #expect(await client.read().isEmpty)
        await server.shutdown()
    }

    @Test func `a client that speaks plain HTTP is closed`() async throws {
        let server = try await listener()
        let client = try RawClient(port: server.port)
        client.send("GET /known HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(await client.read().contains("HTTP") == false)
        await server.shutdown()
    }

    /// Answers once a number of requests has arrived.
    private actor Crowd: AsyncHTTPServerHandler {
        private var missing: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(_ count: Int) { missing = count }

        nonisolated func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }

        func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
            missing -= 1
            if missing == 0 {
                for one in waiting { one.resume() }
            } else if missing > 0 {
                await withCheckedContinuation { waiting.append($0) }
            }
            return HTTPServerAnswer(status: 200, body: request.body)
        }
    }

    @Test func `a hundred connections at once each get their answer`() async throws {
        let count = 100
        let server = try await listener(Crowd(count))
        let client = try RESTClient(callsMax: count)
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(TLSRig.authority.get().certificatePEM).write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let answers = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for number in 0..<count {
                group.addTask {
                    var call = RESTCall(
                        method: "POST", url: "https://127.0.0.1:\(server.port)/",
                        body: [UInt8](repeating: UInt8(number), count: 40_000))
                    call.caFile = folder.path
                    call.timeoutMs = 120_000
                    return (number, try await client.answer(call).body)
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        #expect(answers.count == count)
        for (number, body) in answers {
            #expect(body.count == 40_000 && body.allSatisfy { $0 == UInt8(number) })
        }
        client.shutdown()
        await server.shutdown()
    }
}
