import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// The registration API that replaces Customer Insights.
@Suite struct CustomerInsightsServerTests {
    static let app = "00000000-0000-0000-0000-000000000001"
    static let user = "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"
    static let root = "/api/v1.0/orgs/{org}/pushdeviceregistration/devices"

    static func rig(
        _ more: String = "", services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RoleRig(
            "CustomerInsights",
            config: """
                {"server":{"org":"ORG","apps":[{"mobile_app_id":"\(app)","api_token":"ci-api-token",
                "app":"com.example.app"}]\(more)}}
                """, services: services)
    }

    static func post(
        _ rig: RoleRig, _ path: String, _ body: String, org: String = "ORG",
        headers: [(String, String)] = []
    ) async -> IngestResult {
        await post(rig, path, Array(body.utf8), org: org, headers: headers)
    }

    static func post(
        _ rig: RoleRig, _ path: String, _ body: [UInt8], org: String = "ORG",
        headers: [(String, String)] = []
    ) async -> IngestResult {
        let pattern = path.hasPrefix("/") && !path.hasPrefix("/api") ? "\(root)\(path)" : path
        return await rig.handle(
            body, path: pattern.replacing("{org}", with: org),
            pattern: path.isEmpty ? root : pattern, params: [Attribute("org", org)],
            headers: headers)
    }

    static func fixture(_ name: String) throws -> String {
        try PluginRig.fixture("CustomerInsights/\(name).json")
    }

    static func text(_ result: IngestResult) -> String {
        String(decoding: result.answer?.body ?? [], as: UTF8.self)
    }

    /// The status of one registration.
    static func status(_ rig: RoleRig, _ id: String) async throws -> String {
        let body = try fixture("status").replacing("%REG_REQUEST_ID%", with: id)
        let result = await post(rig, "/status/", body)
        #expect(result.answer?.status == 200)
        return text(result)
    }

    /// Registers with tracking; the id of each registration in the answer.
    static func register(
        _ rig: RoleRig, _ body: String, path: String = ""
    ) async throws -> (result: IngestResult, ids: [String]) {
        let result = await post(
            rig, path, body, headers: [("x-ms-track-registration", "true")])
        #expect(result.answer?.status == 202)
        let json = try JSONValue.parse(text(result))
        let list = if case .array(let items) = json { items } else { [json] }
        return (result, list.compactMap { $0["RegistrationRequestId"]?.string })
    }

    /// The status of one registration, once it is settled.
    static func settled(_ rig: RoleRig, _ id: String) async throws -> String {
        for _ in 0..<1_000 where try await status(rig, id).contains("Pending") {}
        return try await status(rig, id)
    }

    @Test func `a tracked registration has an id, a batch one for each in its order`()
        async throws
    {
        let rig = try await Self.rig()
        let track = [("x-ms-track-registration", "True")]
        let one = await Self.post(rig, "", try Self.fixture("registration-ios"), headers: track)
        let id = try #require(
            try JSONValue.parse(Self.text(one))["RegistrationRequestId"]?.string)
        #expect(id.count == 36)
        #expect(one.events.first?.subject == "registration/\(id)")
        #expect(
            one.answer?.headers.contains(Attribute("content-type", "application/json")) == true)
        let batch = await Self.post(rig, "/batch", try Self.fixture("batch"), headers: track)
        #expect(batch.answer?.status == 202)
        let list = try JSONValue.parse(Self.text(batch))
        for (index, event) in batch.events.enumerated() {
            let id = try #require(list[index]?["RegistrationRequestId"]?.string)
            #expect(event.subject == "registration/\(id)")
        }
        #expect(batch.events.map { $0.recipients[0].device.platform } == ["ios", "android"])
        #expect(await rig.end() == [])
    }

    @Test func `a wrong ApiToken is answered 202, stays pending and stores nothing`() async throws {
        let rig = try await Self.rig()
        let body = try Self.fixture("registration-ios").replacing("ci-api-token", with: "wrong")
        let (result, ids) = try await Self.register(rig, body)
        #expect(result.events.isEmpty && result.changes.isEmpty)
        #expect(try await Self.status(rig, ids[0]) == #"[{"Status":"Pending"}]"#)
        #expect(rig.services.counts["wrong_api_tokens_total"] == 1)
        #expect(rig.services.devices.isEmpty)
        #expect(await rig.end() == [])
    }

    /// Reports the end of a dry run, as the gateway does.
    static func end(
        _ rig: RoleRig, _ event: Event, _ kind: DeviceChange.Kind, reason: String = ""
    ) throws {
        let change = DeviceChange(
            kind: kind, device: event.recipients[0].device, timeUnixMs: 1, reason: reason,
            subject: event.subject)
        let (requests, settled) = try rig.prepare(app: "com.example.app", [change])
        #expect(requests.isEmpty)
        #expect(settled.map(\.reason) == ["recorded"])
    }

    @Test func `a dry run that arrives stores the device, and says Success`() async throws {
        let rig = try await Self.rig()
        let (first, ids) = try await Self.register(rig, try Self.fixture("registration-ios"))
        #expect(try await Self.status(rig, ids[0]) == #"[{"Status":"Pending"}]"#)
        try Self.end(rig, try #require(first.events.first), .proven)
        await rig.services.waitFor { rig.services.counts["registrations_total"] == 1 }
        #expect(rig.services.devices.map(\.token) == ["0a1b2c"])
        #expect(rig.services.devices.first?.attributes == [Attribute("mobile_app_id", Self.app)])
        #expect(try await Self.settled(rig, ids[0]) == #"[{"Status":"Success"}]"#)

        // The same registration again is known, so nothing is sent.
        let (again, more) = try await Self.register(rig, try Self.fixture("registration-ios"))
        #expect(again.events.isEmpty)
        #expect(
            try await Self.status(rig, more[0])
                == #"[{"Status":"Failed","FailureReason":"DuplicateExists"}]"#)
        #expect(await rig.end() == [])
    }

    @Test func `a dry run that fails says so, and stores nothing`() async throws {
        let rig = try await Self.rig()
        let (result, ids) = try await Self.register(rig, try Self.fixture("registration-ios"))
        try Self.end(
            rig, try #require(result.events.first), .unproven, reason: "BadDeviceToken")
        #expect(
            try await Self.settled(rig, ids[0])
                == #"[{"Status":"Failed","FailureReason":"DryRunSendingFailed"}]"#)
        #expect(rig.services.devices.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test(arguments: ["ApnsDeviceToken", "FcmDeviceToken"])
    func `a token that is too long fails for itself, and its batch goes on`(
        key: String
    ) async throws {
        let rig = try await Self.rig()
        let long = String(repeating: "a", count: 5_000)
        let body = """
            [{"MobileAppId":"\(Self.app)","UserId":"u1","ApiToken":"ci-api-token","\(key)":"\(long)"},
            {"MobileAppId":"\(Self.app)","UserId":"u2","ApiToken":"ci-api-token","\(key)":"0a1b"}]
            """
        let (result, ids) = try await Self.register(rig, body, path: "/batch")
        #expect(result.events.map { $0.recipients[0].device.user } == ["u2"])
        #expect(
            try await Self.status(rig, ids[0])
                == #"[{"Status":"Failed","FailureReason":"DeviceTokenTooLong"}]"#)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [DeviceChange.Kind.proven, .unproven])
    func `a device that is registered twice has one dry run, and both registrations its result`(
        kind: DeviceChange.Kind
    ) async throws {
        let rig = try await Self.rig()
        let one = try Self.fixture("registration-ios")
        let batch = try await Self.register(rig, "[\(one),\(one)]", path: "/batch")
        let single = try await Self.register(rig, one)
        let other = try await Self.register(rig, one.replacing(Self.user, with: "other"))
        let events = batch.result.events + single.result.events
        // The gateway accepts the first of equal keys.
        #expect(events.count == 3 && Set(events.map(\.dedupe)).count == 1)
        #expect(events.allSatisfy { $0.dedupeWindowMs == 7 * 86_400_000 })
        #expect(other.result.events.first?.dedupe != events[0].dedupe)
        try Self.end(rig, events[0], kind)
        let word = kind == .proven ? "Success" : "DryRunSendingFailed"
        for id in batch.ids + single.ids {
            #expect(try await Self.settled(rig, id).contains(word))
        }
        await rig.services.waitFor { rig.services.counts["registrations_total"] == 3 }
        // An event that was accepted after all has its result already; the other user still waits.
        try Self.end(rig, events[1], kind)
        #expect(rig.services.counts["registrations_total"] == 3)
        #expect(try await Self.status(rig, other.ids[0]).contains("Pending"))
        if kind == .unproven {
            // The next registration starts a new attempt.
            let (next, _) = try await Self.register(rig, one)
            #expect(try #require(next.events.first).dedupe != events[0].dedupe)
        }
        #expect(await rig.end() == [])
    }

    @Test(arguments: [true, false])
    func `a cleanup during the dry run is not overtaken by its end`(namesToken: Bool) async throws {
        let rig = try await Self.rig(services: RigServices(nowUnixMs: 1_000_000))
        func post() async throws -> (Event, id: String) {
            let (result, ids) = try await Self.register(rig, try Self.fixture("registration-ios"))
            return (try #require(result.events.first), ids[0])
        }
        let (first, id) = try await post()
        rig.services.setWall(unixMs: 1_000_001)
        let token = namesToken ? #","DeviceToken":"0A1B2C""# : ""
        let cleanup = await Self.post(
            rig, "/cleanup",
            #"{"MobileAppId":"\#(Self.app)","ApiToken":"ci-api-token","UserId":"\#(Self.user)"\#(token)}"#
        )
        #expect(cleanup.answer?.status == 202 && !cleanup.changes.isEmpty)
        try Self.end(rig, first, .proven)
        #expect(try await Self.settled(rig, id).contains("Success"))
        #expect(rig.services.devices.isEmpty)
        // One that is registered after the cleanup counts, also if it shares the dry run of one before.
        rig.services.setWall(unixMs: 1_000_002)
        let (second, again) = try await post()
        rig.services.setWall(unixMs: 1_000_003)
        _ = await Self.post(
            rig, "/cleanup",
            #"{"MobileAppId":"\#(Self.app)","ApiToken":"ci-api-token","UserId":"\#(Self.user)"}"#)
        rig.services.setWall(unixMs: 1_000_004)
        let (third, _) = try await post()
        #expect(third.dedupe == second.dedupe)
        try Self.end(rig, second, .proven)
        #expect(try await Self.settled(rig, again).contains("Success"))
        #expect(rig.services.devices.map(\.user) == [Self.user])
        #expect(await rig.end() == [])
    }

    @Test func `a user that cannot be used fails for itself, and its batch goes on`() async throws {
        let rig = try await Self.rig()
        let good = try Self.fixture("registration-ios")
        for bad in [#"u\u001b[2J"#, String(repeating: "u", count: 257)] {
            let unusable = good.replacing(Self.user, with: bad)
            let (batch, ids) = try await Self.register(
                rig, "[\(unusable),\(good)]", path: "/batch")
            #expect(batch.events.map { $0.recipients[0].device.user } == [Self.user])
            #expect(try await Self.status(rig, ids[0]).contains("FailedToStoreDevice"))
            for body in [unusable, "[\(unusable)]"] {
                let alone = await Self.post(rig, body.hasPrefix("[") ? "/batch" : "", body)
                #expect(alone.fault?.message.contains("UserId has control characters") == true)
            }
            let cleanup = try Self.fixture("cleanup")
            let cleaned = await Self.post(
                rig, "/cleanup/batch", "[\(cleanup.replacing(Self.user, with: bad)),\(cleanup)]")
            #expect(cleaned.changes.map(\.device.user) == [Self.user])
            #expect(cleaned.rejects.map(\.reason) == ["bad_user"])
        }
        #expect(await rig.end() == [])
    }

    // MARK: Callback

    @Test(arguments: [
        (
            "hex", "x-ms-callback-url",
            "052c4f6951663cd10e9d6d4e5d768dd6c16e4db064a19becd545825e12bd9af0"
        ),
        ("base64", "x-ms-status-callback-url", "BSxPaVFmPNEOnW1OXXaN1sFuTbBkoZvs1UWCXhK9mvA="),
    ])
    func `the callback is signed as the vector says, and bears the headers`(
        encoding: String, header: String, signature: String
    ) async throws {
        let rig = try await Self.rig(
            #","signature":"\#(encoding)""#,
            services: RigServices { _ in .success(PluginHTTPAnswer(status: 202)) })
        let result = await Self.post(
            rig, "", try Self.fixture("registration-ios"),
            headers: [
                (header, "https://gw.example/ci/cb/8c1f"),
                ("x-ms-callback-url-headers", #"{"x-key":"v 1","Authorization":"Bearer t"}"#),
            ])
        try Self.end(rig, try #require(result.events.first), .unproven)
        await rig.services.waitFor { !rig.services.calls.isEmpty }
        let call = try #require(rig.services.calls.first)
        #expect(call.method == "POST" && call.url == "https://gw.example/ci/cb/8c1f")
        #expect(call.refusesPrivateAddresses && call.redirectsMax == 0)
        #expect(call.headers.contains(Attribute("x-key", "v 1")))
        #expect(call.headers.contains(Attribute("Authorization", "Bearer t")))
        let body = try JSONValue.parse(call.body)
        #expect(
            body.text
                == #"{"Status":"Failed","Signature":"\#(signature)","FailureReason":"DryRunSendingFailed"}"#
        )
        await rig.services.waitFor { rig.services.counts["callbacks_total"] == 1 }
        // A single attempt, whatever its result.
        #expect(rig.services.calls.count == 1)
        #expect(await rig.end() == [])
    }

    // MARK: Bad input

    @Test(arguments: [0, 1, 100, 101])
    func `a batch has 1 to 100 registrations`(count: Int) async throws {
        let rig = try await Self.rig()
        let one = try Self.fixture("registration-android")
        let list = (0..<count).map { one.replacing("Token-1", with: "Token-\($0)") }
        let result = await Self.post(rig, "/batch", "[\(list.joined(separator: ","))]")
        if (1...100).contains(count) {
            #expect(result.answer?.status == 202)
            #expect(result.events.count == count)
        } else {
            #expect(result.fault?.kind == .invalid)
        }
        #expect(await rig.end() == [])
    }

    // MARK: Status and cleanup

    @Test func `statuses come in the order of the ids`() async throws {
        let rig = try await Self.rig(#","apns_token_max":64"#)
        let long = try Self.fixture("registration-ios").replacing(
            "0A1B2C", with: String(repeating: "a", count: 65))
        let (result, ids) = try await Self.register(rig, long)
        // A token that is too long for the app is no dry run.
        #expect(result.events.isEmpty)
        let body = try Self.fixture("status").replacing(
            "\"%REG_REQUEST_ID%\"", with: "\"a\",\"\(ids[0].uppercased())\",\"b\"")
        let answer = await Self.post(rig, "/status", body)
        #expect(
            Self.text(answer)
                == #"[{"Status":"Pending"},{"Status":"Failed","FailureReason":"DeviceTokenTooLong"},{"Status":"Pending"}]"#
        )
        let wrong = await Self.post(
            rig, "/status/", body.replacing("ci-api-token", with: "wrong"))
        #expect(wrong.fault?.kind == .invalid)
        #expect(await rig.end() == [])
    }
}
