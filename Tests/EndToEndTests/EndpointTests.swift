import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

/// A sender whose endpoint changes while the gateway runs.
@Suite struct EndpointTests {
    private static let library = Task.detached {
        try await PluginRig.compileFixture("Send/elsewhere.c")
    }

    /// Takes every push; its answers have a trailer.
    private final class Place: HTTP2ServerHandler {
        private let bodies = Mutex<[String]>([])
        var all: [String] { bodies.withLock { $0 } }

        func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
            bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
            stream.respond(
                status: 400, body: Array("{}".utf8), trailers: [Attribute("x-why", "moved_here")])
        }
    }

    @Test(arguments: ["none", "process"])
    func `it is asked for again when the plugin says so`(isolation: String) async throws {
        let authority = try ThrowAway.certificateAuthority(name: "places")
        let identity = try ThrowAway.serverIdentity(authority: authority)
        let roots = try Workshop.folder().appending(path: "roots.pem")
        try Data(authority.certificatePEM).write(to: roots)
        let options = HTTP2ServerOptions(
            certificateChainPEM: identity.certificatePEM, privateKeyPEM: identity.privateKeyPEM)
        let (old, new) = (Place(), Place())
        let servers = [
            try await HTTP2Server.start(options, handler: old),
            try await HTTP2Server.start(options, handler: new),
        ]
        let library = try await Self.library.value
        let rig = try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators) + """

                  e:
                    library: \(library)
                    isolation: \(isolation)
                    config:
                      endpoint: "https://127.0.0.1:\(servers[0].port)"
                      next: "https://127.0.0.1:\(servers[1].port)"
                      ca: \(roots.path)

                """
                + GatewayRig.routes.replacing("ios: apns", with: "ios: e")
        })
        try await rig.post(GatewayRig.webhook([("ios", "before")]))
        while old.all.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        try await rig.post(GatewayRig.webhook([("ios", "move")]))
        var number = 0
        while !new.all.contains(where: { $0.hasPrefix("t") }) {
            number += 1
            try await rig.post(GatewayRig.webhook([("ios", "t\(number)")]))
            try await Task.sleep(for: .milliseconds(20))
        }
        let before = old.all.count
        try await rig.post(GatewayRig.webhook([("ios", "after")], ticket: "9"))
        while !new.all.contains("after") { try await Task.sleep(for: .milliseconds(5)) }
        #expect(old.all.count == before && old.all.first == "before")
        // The trailer of the answer, by which the plugin names its reason.
        var reason: String?
        while reason == nil {
            let trace = try await rig.json("/trace?subject=ticket/9")
            let recipient = trace["events"]?[0]?["recipients"]?[0]
            reason = recipient?["steps"]?[0]?["reason"]?.string
        }
        #expect(reason == "moved_here")
        #expect(rig.log.all.allSatisfy { !$0.contains("are unusable") })
        await rig.end()
        for server in servers { await server.shutdown() }
    }
}
