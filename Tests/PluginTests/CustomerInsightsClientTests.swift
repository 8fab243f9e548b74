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

    @Test func `registrations go in one batch, and outcomes are asked for`() async throws {
        let rig = try await Self.rig(#","poll_ms":7000"#)
        let register = try #require(rig.register)
        #expect(
            try await register.endpoint(app: "a").origin == "https://public-eur.mkt.dynamics.com")
        let changes = [
            Self.change("t1"), Self.change("t2", platform: "android"),
            Self.change("t3", platform: "web"), Self.change("t4", user: ""),
        ]
        let (requests, settled) = try rig.prepare(app: "a", changes)
        let request = try #require(requests.first)
        #expect(request.path == "\(Self.root)/batch")
        #expect(request.items == [1, 2])
        #expect(request.headers["x-ms-track-registration"] == "true")
        #expect(request.headers["x-ms-callback-url"] == nil)
        #expect(
            request.text
                == #"[{"MobileAppId":"M","UserId":"u","ApiToken":"ci-api-token","ApnsDeviceToken":"t1"},{"MobileAppId":"M","UserId":"u","ApiToken":"ci-api-token","FcmDeviceToken":"t2"}]"#
        )
        #expect(settled.map(\.reason) == ["ignored", "ignored"])

        let accepted = try rig.classify(
            app: "a", 202,
            #"[{"RegistrationRequestId":"r1"},{"RegistrationRequestId":"r2"}]"#, items: [1, 2])
        #expect(accepted.settled.map(\.reason) == ["pending", "pending"])
        #expect(accepted.settled.allSatisfy { $0.kind == .retry && $0.retryAfterMs == 7_000 })

        let (polls, _) = try rig.prepare(app: "a", Array(changes.prefix(2)))
        #expect(polls.map(\.path) == ["\(Self.root)/status/"])
        #expect(
            polls.first?.text
                == #"{"RegistrationRequestIds":["r1","r2"],"MobileAppId":"M","ApiToken":"ci-api-token"}"#
        )
        let known = try rig.classify(
            app: "a", 200,
            #"[{"Status":" Success "},{"Status":"Failed","FailureReason":" dryrunsendingfailed "}]"#,
            items: [1, 2])
        #expect(known.settled.map(\.kind) == [.delivered, .unregistered])
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("Success", "", Outcome.Kind.delivered, "registered"),
        ("Failed", "DuplicateExists", .delivered, "DuplicateExists"),
        ("Failed", "DryRunSendingFailed", .unregistered, "DryRunSendingFailed"),
        ("Failed", "DeviceTokenTooLong", .rejected, "DeviceTokenTooLong"),
        ("Failed", "FailedToStoreDevice", .retry, "FailedToStoreDevice"),
        ("Failed", "ApiTokenNotValid", .config, "ApiTokenNotValid"),
        ("Failed", "SomethingNew", .rejected, "other_failure"),
        ("Pending", "", .retry, "pending"), ("pending", "x", .retry, "pending"),
    ])
    func `every outcome has its consequence`(
        status: String, reason: String, kind: Outcome.Kind, word: String
    ) async throws {
        let rig = try await Self.rig()
        _ = try rig.prepare(app: "a", [Self.change("t")])
        _ = try rig.classify(app: "a", 202, #"[{"RegistrationRequestId":"r"}]"#)
        _ = try rig.prepare(app: "a", [Self.change("t")])
        let (settled, _) = try rig.classify(
            app: "a", 200, #"[{"Status":"\#(status)","FailureReason":"\#(reason)"}]"#)
        #expect(settled.map(\.kind) == [kind])
        #expect(settled.map(\.reason) == [word])
        #expect(await rig.end() == [])
    }

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

    @Test func `one bad registration of a batch keeps no other out`() async throws {
        let rig = try await Self.rig()
        let changes = [Self.change("t1"), Self.change("t2")]
        _ = try rig.prepare(app: "a", changes)
        let refused = try rig.classify(app: "a", 400, "", items: [1, 2])
        #expect(refused.settled.map(\.kind) == [.retry, .retry])
        let (alone, _) = try rig.prepare(app: "a", changes)
        #expect(alone.map(\.path) == [Self.root, Self.root])
        #expect(alone.map(\.items) == [[1], [2]])
        let bad = try rig.classify(app: "a", 400, "", items: [2])
        #expect(bad.settled.map(\.kind) == [.rejected])
        let good = try rig.classify(
            app: "a", 202, #"{"RegistrationRequestId":"r1"}"#, items: [1])
        #expect(good.settled.map(\.reason) == ["pending"])
        #expect(await rig.end() == [])
    }

    @Test func `one bad cleanup or status keeps no other back`() async throws {
        let rig = try await Self.rig()
        let gone = [Self.change("t1", .unregistered), Self.change("t2", .unregistered)]
        _ = try rig.prepare(app: "a", gone)
        let refused = try rig.classify(app: "a", 400, "", items: [1, 2])
        #expect(refused.settled.map(\.kind) == [.retry, .retry])
        let (cleanups, _) = try rig.prepare(app: "a", gone)
        #expect(cleanups.map(\.items) == [[1], [2]])
        for item in [1, 2] as [UInt64] {
            _ = try rig.classify(app: "a", 202, "", items: [item])
        }

        let come = [Self.change("t1"), Self.change("t2")]
        _ = try rig.prepare(app: "a", come)
        _ = try rig.classify(
            app: "a", 202, #"[{"RegistrationRequestId":"r1"},{"RegistrationRequestId":"r2"}]"#,
            items: [1, 2])
        _ = try rig.prepare(app: "a", come)
        let unknown = try rig.classify(app: "a", 400, "", items: [1, 2])
        #expect(unknown.settled.map(\.kind) == [.retry, .retry])
        let (polls, _) = try rig.prepare(app: "a", come)
        #expect(polls.map(\.items) == [[1], [2]])
        #expect(polls.allSatisfy { $0.path.hasSuffix("/status/") })
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

    @Test(arguments: [("array", 1), ("object", 2)])
    func `dead and logged-out devices are cleaned up, each with its token`(
        shape: String, count: Int
    ) async throws {
        let rig = try await Self.rig(#","cleanup":"\#(shape)""#)
        let (requests, _) = try rig.prepare(
            app: "a", [Self.change("t1", .invalid), Self.change("t2", .unregistered)])
        #expect(requests.count == count)
        let one = #"{"MobileAppId":"M","ApiToken":"ci-api-token","UserId":"u","DeviceToken":"t1"}"#
        #expect(
            requests.first?.path == "\(Self.root)/cleanup" + (shape == "array" ? "/batch" : ""))
        #expect(
            requests.first?.text
                == (shape == "array" ? "[\(one),\(one.replacing("t1", with: "t2"))]" : one))
        let (settled, _) = try rig.classify(
            app: "a", 202, "", items: requests.first?.items ?? [])
        #expect(settled.allSatisfy { $0.kind == .delivered })
        #expect(await rig.end() == [])
    }

    @Test(
        arguments: [
            (429, Outcome.Kind.throttled), (500, .retry), (503, .retry), (401, .config),
            (403, .config), (400, .rejected), (404, .rejected),
        ] as [(UInt32, Outcome.Kind)])
    func `other answers`(status: UInt32, kind: Outcome.Kind) async throws {
        let rig = try await Self.rig()
        _ = try rig.prepare(app: "a", [Self.change("t")])
        #expect(try rig.classify(app: "a", status, "").settled.map(\.kind) == [kind])
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

    // MARK: Interactions

    static func interaction(_ rig: RoleRig, _ body: String) async -> IngestResult {
        let path = "/api/v1.0/orgs/{org}/pushdatareceiver/events"
        return await rig.handle(
            body, path: path, pattern: path, params: [Attribute("org", "ORG")])
    }

    static func both(_ services: RigServices) async throws -> RoleRig {
        try await RoleRig(
            "CustomerInsights",
            config: """
                {"server":{"org":"ORG","apps":[{"mobile_app_id":"M","api_token":"ci-api-token"}]},
                "client":{"endpoint":"https://e.example/x","org":"O","apps":[{"mobile_app_id":"M","api_token":"t"}]}}
                """, services: services)
    }

    @Test(
        arguments: [(202, nil), (400, .invalid), (500, .again), (429, .again)]
            as [(UInt32, PluginFault.Kind?)])
    func `interactions are passed on, and so is the answer`(
        status: UInt32, fault: PluginFault.Kind?
    ) async throws {
        let services = RigServices { _ in .success(PluginHTTPAnswer(status: status)) }
        let rig = try await Self.both(services)
        let result = await Self.interaction(
            rig, #"{"TrackingId":"t-1","DeviceToken":"d","PushNotificationStatus":"1"}"#)
        #expect(result.fault?.kind == fault)
        if fault == nil { #expect(result.answer?.status == 202) }
        let call = try #require(services.calls.first)
        #expect(call.url == "https://e.example/x/api/v1.0/orgs/O/pushdatareceiver/events")
        #expect(
            String(decoding: call.body, as: UTF8.self)
                == #"{"TrackingId":"t-1","DeviceToken":"d","PushNotificationStatus":1}"#)
        #expect(await rig.end() == [])
    }

    @Test(arguments: ["", "00000000-0000-0000-0000-000000000000"])
    func `test sends are not passed on`(id: String) async throws {
        let rig = try await Self.both(RigServices())
        let result = await Self.interaction(
            rig, #"{"TrackingId":"\#(id)","DeviceToken":"d","PushNotificationStatus":1}"#)
        #expect(result.answer?.status == 202)
        #expect(rig.services.calls.isEmpty)
        let wrong = await Self.interaction(rig, #"{"TrackingId":"x"}"#)
        #expect(wrong.fault?.message == "PushNotificationStatus: must be a number")
        #expect(await rig.end() == [])
    }
}
