import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxPluginHost
import SignalboxPluginKit
import Testing

/// What the kit passes on from the contract, seen through a real host.
@Suite struct KitTests {
    let services = RigServices(nowUnixMs: 1_000) { _ in
        .success(PluginHTTPAnswer(status: 200, headers: [], body: []))
    }

    @Test func `a plugin says what it needs, and that it is serial`() throws {
        let library = try Rig.library.get()
        #expect(library.table.needs_minor == 1)
        #expect(library.isSerial)
        #expect(library.descriptor.needs == ["sbx.json/1", "sbx.clock/1", "sbx.sign/1"])
    }

    @Test func `an endpoint carries every timeout and limit`() async throws {
        let (instance, host) = try await Rig.probe(services)
        let endpoint = try await #require(SendHTTPRole(instance)).endpoint(app: "")
        #expect(endpoint.requestTimeoutMs == 1)
        #expect(endpoint.connectTimeoutMs == 2)
        #expect(endpoint.pingIdleMs == 3)
        #expect(endpoint.pingTimeoutMs == 4)
        #expect(endpoint.connectionsMax == 5)
        #expect(endpoint.streamsMax == 6)
        #expect(host.programName == "signalbox" && host.programVersion == "9.8")
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `an outcome names the token that replaces the old one`() async throws {
        let (instance, _) = try await Rig.probe(services)
        let role = try #require(SendHTTPRole(instance))
        let device = SignalboxCore.Device(
            token: "a", user: "u", locale: "de-AT", attributes: [Attribute("muted", "yes")])
        let delivery = SignalboxCore.Delivery(
            id: 7, eventID: 1, route: "r", sender: "s", stableID: "id", deadlineUnixMs: 0,
            content: SharedNotification(PushNotification(), receivedUnixMs: 0), device: device)
        guard case .ready(_, let settled) = role.prepare(app: "", deliveries: [delivery]) else {
            Issue.record("the batch was not rendered")
            return
        }
        #expect(settled.map(\.newToken) == ["new-a"])
        #expect(settled.map(\.detail) == ["u de-AT yes"])
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test(arguments: [(302, true, "http_3xx"), (204, false, "http_2xx"), (418, false, "http_4xx")])
    func `of statuses that nobody documents a redirect alone is tried again`(
        status: Int, isRetried: Bool, reason: String
    ) {
        let outcome = SignalboxPluginKit.Outcome(unknownStatus: status)
        #expect(outcome.kind == (isRetried ? .retry : .rejected))
        #expect(outcome.reason == reason)
    }

    @Test func `a builder reads the event's time, key and source`() async throws {
        let (instance, _) = try await Rig.probe(services)
        let role = try #require(BuildRole(instance))
        let event = SignalboxCore.Event(
            source: "zendesk", type: "a.b", dedupe: "key", timeUnixMs: 5)
        let built = try role.build(
            event, recipients: [SignalboxCore.Recipient(device: SignalboxCore.Device(token: "t"))],
            route: "r", options: "{}"
        ).get()
        #expect(built.contents.map(\.notification.body) == ["zendesk 5 key"])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a host computes with keys, named and derived`() async throws {
        let (instance, host) = try await Rig.probe(services, secrets: ["key": Array("a key".utf8)])
        let (data, key) = (Array("data".utf8), CryptoKey(secret: "key"))
        #expect(
            try host.hmac(key: key, data: data)
                == HMACDigest.sha256(key: Array("a key".utf8), data: data))
        #expect(try host.digest(.sha256, data) == Digest.sha256(data))
        // Two sides agree on a key, and one opens what the other has sealed.
        let ours = CryptoKey(bytes: [UInt8](repeating: 9, count: 32))
        let pair = try SigningKey(p256Scalar: [UInt8](repeating: 9, count: 32))
        let point = try #require(pair.publicKeyRaw)
        let theirs = try host.agree(with: point)
        #expect(theirs.point.count == 65 && theirs.shared.count == 32)
        let own = try host.agree(with: theirs.point, own: ours)
        #expect(own.point == point && own.shared == theirs.shared)
        let salt = try host.random(16)
        let derived = CryptoKey(
            bytes: try host.hkdf(
                key: CryptoKey(bytes: own.shared), salt: salt, info: [1], count: 16))
        let nonce = [UInt8](repeating: 1, count: 12)
        let sealed = try host.seal(data, key: derived, nonce: nonce, added: [1])
        #expect(try host.open(sealed, key: derived, nonce: nonce, added: [1]) == data)
        let fault = #expect(throws: PluginError.self) {
            try host.open(sealed, key: derived, nonce: nonce)
        }
        #expect(fault?.status == .auth)
        #expect(throws: PluginError.self) { try host.publicKey(.raw, key: "key") }
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `a REST call says how many redirects it follows`() async throws {
        let (instance, host) = try await Rig.probe(services)
        var call = HTTPCall("GET", "https://example.org/a")
        call.redirectsMax = 3
        let done = Once<Bool>()
        host.send(call) { _ in done.set(true) }
        #expect(await done.value() == true)
        #expect(services.calls.map(\.redirectsMax) == [3])
        #expect(await instance.stop(deadlineMs: 5_000))
    }
}
