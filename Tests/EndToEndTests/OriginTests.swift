import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

@testable import Signalbox

/// Senders over the REST pool, whose requests may name origins of their own.
@Suite struct OriginTests {
    private static let library = Task.detached {
        try await PluginRig.compileFixture("Send/elsewhere.c")
    }
    /// SBX_ENDPOINT_REST and SBX_ENDPOINT_PRIVATE_ORIGINS.
    private static let (rest, privateOrigins) = (8, 16)

    private static func rig(
        _ receiver: Receiver, flags: Int, isolation: String = "none"
    ) async throws -> GatewayRig {
        let (library, roots) = (try await library.value, try Receiver.roots.get())
        return try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators) + """

                  e:
                    library: \(library)
                    isolation: \(isolation)
                    config: { endpoint: "\(receiver.origin)", ca: \(roots), flags: \(flags) }

                """
                + GatewayRig.routes.replacing("ios: apns", with: "ios: e")
        })
    }

    /// The recipient of an event's trace, once it has come that far.
    private static func recipient(
        _ rig: GatewayRig, ticket: String, until isThere: (JSONValue) -> Bool
    ) async throws -> JSONValue {
        while true {
            let trace = try await rig.json("/trace?subject=ticket/\(ticket)")
            if let found = trace["events"]?[0]?["recipients"]?[0], isThere(found) { return found }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func `a request goes to its own origin, and a dead one stops nobody`() async throws {
        let (own, other) = (try await Receiver(), try await Receiver())
        let rig = try await Self.rig(
            own, flags: Self.rest | Self.privateOrigins, isolation: "process")
        func post(_ token: String, ticket: String) async throws {
            try await rig.post(GatewayRig.webhook([("ios", token)], ticket: ticket))
        }
        try await post("https://127.0.0.1:1", ticket: "1")
        let dead = try await Self.recipient(rig, ticket: "1") { $0["steps"]?[2] != nil }
        #expect(dead["steps"]?[0]?["reason"]?.string == "origin_unreachable")
        #expect(dead["state"]?.string == "waiting")
        try await post(other.origin, ticket: "2")
        try await post("plain", ticket: "3")
        #expect(await other.wait(for: 1).first?.path == "/push")
        #expect(await own.wait(for: 1).first?.path == "/push")
        #expect(own.bodies == ["plain"] && other.bodies == [other.origin])
        let sent = try await Self.recipient(rig, ticket: "2") { $0["steps"] != nil }
        // The context of the request.
        #expect(sent["steps"]?[0]?["provider_id"]?.string == "ios")
        let ready = try await rig.json("/readyz")
        #expect(ready["status"]?.string == "ready", "\(ready.text)")
        await rig.end()
        await own.end()
        await other.end()
    }

    @Test func `an origin from data reaches no private network, unless the plugin allows it`()
        async throws
    {
        let (own, other) = (try await Receiver(), try await Receiver())
        let rig = try await Self.rig(own, flags: Self.rest)
        try await rig.post(GatewayRig.webhook([("ios", other.origin)], ticket: "1"))
        // It is said at once, and once: no retry makes the address public.
        let refused = try await Self.recipient(rig, ticket: "1") {
            $0["state"]?.string == "dead"
        }
        #expect(refused["steps"]?[0]?["reason"]?.string == "origin_private")
        #expect(refused["steps"]?[1] == nil)
        #expect(rig.log.all.contains { $0.contains("the host has a private address") })
        try await rig.post(GatewayRig.webhook([("ios", "plain")], ticket: "2"))
        #expect(await own.wait(for: 1).count == 1)
        #expect(other.requests.isEmpty)
        await rig.end()
        await own.end()
        await other.end()
    }

    @Test func `a push whose answer is too long to read is not sent again`() async throws {
        let long = HTTPServerAnswer(
            status: 201, body: [UInt8](repeating: 0x20, count: 3 << 20))
        let own = try await Receiver(answers: [long])
        let rig = try await Self.rig(own, flags: Self.rest)
        try await rig.post(GatewayRig.webhook([("ios", "plain")], ticket: "1"))
        let sent = try await Self.recipient(rig, ticket: "1") { $0["steps"] != nil }
        #expect(sent["state"]?.string == "delivered")
        #expect(own.requests.count == 1)
        await rig.end()
        await own.end()
    }

    @Test func `a malformed origin is refused, and the log says why`() async throws {
        let own = try await Receiver()
        let rig = try await Self.rig(own, flags: Self.rest | Self.privateOrigins)
        let wrong = ["http://a", "https://", "https://u@a", "https://a/b", "https://a:", "ftp://a"]
        for (number, origin) in wrong.enumerated() {
            try await rig.post(
                GatewayRig.webhook([("ios", "bad\(origin)")], ticket: "\(number)"))
        }
        for number in wrong.indices {
            let steps = try await Self.recipient(rig, ticket: "\(number)") { $0["steps"] != nil }
            #expect(steps["steps"]?[0]?["reason"]?.string == "plugin_bad_request")
        }
        #expect(rig.log.all.contains { $0.contains("an origin is not https:// with a host") })
        #expect(own.requests.isEmpty)
        await rig.end()
        await own.end()
    }

    @Test func `a client certificate does not go with the REST pool`() async throws {
        let own = try await Receiver()
        await #expect {
            _ = try await Self.rig(own, flags: Self.rest | 1_024)
        } throws: {
            "\($0)".contains("SBX_ENDPOINT_REST has a client certificate")
        }
        await own.end()
    }

    @Test func `an endpoint over HTTP/2 takes no request for another origin`() async throws {
        let own = try await Receiver()
        let rig = try await Self.rig(own, flags: 0)
        try await rig.post(GatewayRig.webhook([("ios", own.origin)], ticket: "1"))
        try await until { rig.log.all.contains(where: { $0.contains("lacks SBX_ENDPOINT_REST") }) }
        #expect(own.requests.isEmpty)
        await rig.end()
        await own.end()
    }
}
