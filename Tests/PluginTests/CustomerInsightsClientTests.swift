import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// Forwarding to a real organisation.
@Suite struct CustomerInsightsClientTests {
    static func rig(
        _ more: String = "", services: RigServices = RigServices(nowUnixMs: 1_000_000)
    ) async throws -> RoleRig {
        try await RoleRig(
            "CustomerInsights",
            config: """
                {"client":{"endpoint":"https://public-eur.mkt.dynamics.com/","org":"ORG 1",
                "apps":[{"mobile_app_id":"M","api_token":"ci-api-token","app":"a"}]\(more)}}
                """, services: services)
    }

    static func change(
        _ token: String, _ kind: DeviceChange.Kind = .registered, platform: String = "ios",
        user: String = "u", app: String = "a"
    ) -> DeviceChange {
        DeviceChange(
            kind: kind,
            device: Device(app: app, platform: platform, token: token, user: user))
    }

    static let root = "/api/v1.0/orgs/ORG%201/pushdeviceregistration/devices"

    @Test func `many failures in a row are the credentials' fault, not the tokens'`() async throws {
        let rig = try await Self.rig()
        let changes = (1...6).map { Self.change("t\($0)") }
        _ = try rig.prepare(app: "a", changes)
        let ids = (1...6).map { #"{"RegistrationRequestId":"r\#($0)"}"# }.joined(separator: ",")
        _ = try rig.classify(app: "a", 202, "[\(ids)]", items: Array(1...6))
        _ = try rig.prepare(app: "a", changes)
        let failed = #"{"Status":"Failed","FailureReason":"DryRunSendingFailed"}"#
        let (settled, _) = try rig.classify(
            app: "a", 200, "[\(Array(repeating: failed, count: 6).joined(separator: ","))]",
            items: Array(1...6))
        #expect(
            settled.map(\.kind)
                == Array(repeating: .unregistered, count: 4) + [.rejected, .rejected])
        #expect(rig.services.lines.contains { $0.contains("credentials in Customer Insights") })
        #expect(await rig.end() == [])
    }

    @Test func `what is pending for ever is given up`() async throws {
        let rig = try await Self.rig(#","pending_limit_ms":100"#, services: RigServices())
        _ = try rig.prepare(app: "a", [Self.change("t")])
        _ = try rig.classify(app: "a", 202, #"[{"RegistrationRequestId":"r"}]"#)
        let start = Date()
        var last: [String] = ["pending"]
        while last == ["pending"], Date().timeIntervalSince(start) < 60 {
            _ = try rig.prepare(app: "a", [Self.change("t")])
            last = try rig.classify(app: "a", 200, #"[{"Status":"Pending"}]"#).settled.map(
                \.reason)
        }
        #expect(last == ["pending_for_ever"])
        #expect(await rig.end() == [])
    }

    @Test func `a callback that overtakes the answer uses its nonce up`() async throws {
        let rig = try await Self.rig(Self.callback)
        let (requests, _) = try rig.prepare(app: "a", [Self.change("t1")])
        let url = try #require(requests.first?.headers["x-ms-callback-url"])
        let nonce = String(url.split(separator: "/").last ?? "")
        let signature = Hex.encode(
            HMACDigest.sha256(key: Array("ci-api-token".utf8), data: Array(url.utf8)))
        let body = #"{"Status":"Success","Signature":"\#(signature)"}"#
        #expect(await Self.tell(rig, nonce, body).answer?.status == 202)
        _ = try rig.classify(app: "a", 202, #"{"RegistrationRequestId":"r1"}"#)
        let forged = body.replacing("Success", with: "Failed")
        #expect(await Self.tell(rig, nonce, forged).fault?.kind == .invalid)
        let (_, settled) = try rig.prepare(app: "a", [Self.change("t1")])
        #expect(settled.map(\.kind) == [.delivered])
        #expect(await rig.end() == [])
    }

    // MARK: Callbacks

    static let callback =
        #","callback_url":"https://gw.example/ci/cb/","callback_path":"/ci/cb""#

    static func tell(
        _ rig: RoleRig, _ nonce: String, _ body: String
    ) async -> IngestResult {
        await rig.handle(
            body, path: "/ci/cb/\(nonce)", pattern: "/ci/cb/{nonce}",
            params: [Attribute("nonce", nonce)])
    }

    @Test(arguments: ["hex", "HEX", "base64"])
    func `a callback with a fitting signature settles the registration`(form: String) async throws {
        let rig = try await Self.rig(Self.callback)
        let changes = [Self.change("t1"), Self.change("t2")]
        let (requests, _) = try rig.prepare(app: "a", changes)
        #expect(requests.map(\.path) == [Self.root, Self.root])
        let urls = requests.compactMap { $0.headers["x-ms-callback-url"] }
        #expect(Set(urls).count == 2)
        #expect(requests.map { $0.headers["x-ms-status-callback-url"] ?? "" } == urls)
        #expect(urls.allSatisfy { $0.hasPrefix("https://gw.example/ci/cb/") })
        let nonce = String(try #require(urls.first?.split(separator: "/").last))
        #expect(nonce.count == 32)
        for item in [1, 2] as [UInt64] {
            _ = try rig.classify(
                app: "a", 202, #"{"RegistrationRequestId":"r\#(item)"}"#, items: [item])
        }
        let digest = HMACDigest.sha256(
            key: Array("ci-api-token".utf8), data: Array(urls[0].utf8))
        let signature =
            switch form {
            case "hex": Hex.encode(digest)
            case "HEX": Hex.encode(digest).uppercased()
            default: Base64.encode(digest)
            }
        let body = #"{"Status":"Success","Signature":"\#(signature)","FailureReason":""}"#
        let taken = await Self.tell(rig, nonce, body)
        #expect(taken.answer?.status == 202 && taken.answer?.body == [])
        // The nonce is used up.
        #expect(await Self.tell(rig, nonce, body).fault?.kind == .invalid)
        let (polls, settled) = try rig.prepare(app: "a", changes)
        #expect(settled.map(\.item) == [1] && settled.map(\.kind) == [.delivered])
        // The other one is still polled: its callback may be lost.
        #expect(polls.map(\.items) == [[2]])
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        #"{"Status":"Success","Signature":"00"}"#, #"{"Status":"Success","Signature":""}"#,
        #"{"Status":"Success"}"#, #"{"Signature":7,"Status":"Success"}"#,
        #"{"Status":"Success","Signature":"BSxPaVFmPNEOnW1OXXaN1sFuTbBkoZvs1UWCXhK9mvA="}"#,
    ])
    func `a forged callback is refused`(body: String) async throws {
        let rig = try await Self.rig(Self.callback)
        let (requests, _) = try rig.prepare(app: "a", [Self.change("t1")])
        let url = try #require(requests.first?.headers["x-ms-callback-url"])
        let nonce = String(url.split(separator: "/").last ?? "")
        #expect(await Self.tell(rig, nonce, body).fault?.kind == .auth)
        #expect(await Self.tell(rig, "0123", body).fault?.kind == .invalid)
        #expect(await rig.end() == [])
    }

    @Test func `hostile callbacks`() async throws {
        let rig = try await Self.rig(Self.callback)
        let (requests, _) = try rig.prepare(app: "a", [Self.change("t1")])
        let url = try #require(requests.first?.headers["x-ms-callback-url"])
        let nonce = String(url.split(separator: "/").last ?? "")
        for (name, bytes) in HostileBodies.all {
            let result = await rig.handle(
                bytes, path: "/ci/cb/\(nonce)", pattern: "/ci/cb/{nonce}",
                params: [Attribute("nonce", nonce)])
            #expect(result.fault?.kind == .invalid || result.fault?.kind == .auth, "\(name)")
        }
        #expect(await rig.end() == [])
    }
}
