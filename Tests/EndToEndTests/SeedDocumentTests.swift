import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Each of the five documents, from its inbound call to the push that the device gets.
///
/// The gateway runs the example's configuration.
@Suite(.timeLimit(.minutes(5))) struct SeedDocumentTests {
    // MARK: Sendbird

    static let sendbird = [
        "SENDBIRD_APP_ID": "APP-1", "SENDBIRD_API_TOKEN": "master-api-token",
        "SENDBIRD_DESK_TOKEN": "desk-api-token",
    ]

    static func signed(_ body: String) -> [(String, String)] {
        [("x-sendbird-signature", SendbirdSignature.chat(body, "master-api-token"))]
    }

    @Test
    func `Sendbird Chat: a message is pushed with Sendbird's payload, and nothing is forwarded`()
        async throws
    {
        let api = try await VendorAPI.start { _ in .json(["token": "x"]) }
        var variables = Self.sendbird
        variables["SENDBIRD_ENDPOINT"] = api.origin
        let rig = try await ExampleRig("sendbird", variables: variables)
        try await rig.register("bob", "0a1b", "ios", locale: "de-AT")
        try await rig.register("bob", "fcm:1", "android")
        try await rig.register("bob", "0c0d", "ios")

        // The third device is in front of its user, so any_offline skips it.
        try await rig.expect(
            200, "PUT", "/v1/devices/presence", #"{"user":"bob","token":"0c0d","online":true}"#,
            headers: [("authorization", "Bearer token-of-the-backend")])
        let body = try PluginRig.fixture("Sendbird/message-send.json")
        try await rig.expect(200, "POST", "/in/sendbird", body, headers: Self.signed(body))
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b")
        #expect(apple.body["aps"]?["alert"]?["body"]?.string == #"Alice: Hallo "Bob""#)
        #expect(apple.body["aps"]?["badge"]?.integer == 4)
        #expect(apple.body["sendbird"]?["message_id"]?.integer == 9_007_199_254_740_993)
        #expect(apple.body["sendbird"]?["recipient"]?["id"]?.string == "bob")
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1")
        let data = try #require(google.body["message"]?["data"])
        #expect(data["message"]?.string == #"Hello "Bob""#)
        let object = try PluginRig.fixture("Sendbird/push-object.json")
        #expect(data["sendbird"]?.string == object)
        guard case .object(let members) = data else { return }
        #expect(Set(members.map(\.key)) == ["message", "sendbird"])
        #expect(!rig.simulators.apns.received.contains { $0.token == "0c0d" })

        // The same message sent again is a duplicate.
        try await rig.expect(200, "POST", "/in/sendbird", body, headers: Self.signed(body))

        // A wrong signature; then the badge after reading.
        try await rig.expect(
            401, "POST", "/in/sendbird", body, headers: [("x-sendbird-signature", "00")])
        let read = try PluginRig.fixture("Sendbird/message-read.json")
        _ = try await rig.call("POST", "/in/sendbird", read, headers: Self.signed(read))
        let badge = try await rig.push(rig.simulators.apns, to: "0c0d")
        #expect(badge.body.text == #"{"aps":{"badge":3}}"#)
        #expect(rig.simulators.fcm.received.count == 1)
        #expect(api.requests.isEmpty)
        await rig.end()
        await api.shutdown()
    }

    @Test func `Sendbird Chat: a deleted message is taken back, also where it still waits`()
        async throws
    {
        let rig = try await ExampleRig("sendbird", variables: Self.sendbird)
        try await rig.register("bob", "0a1b", "ios")
        try await rig.register("bob", "fcm:1", "android")
        let sent = try PluginRig.fixture("Sendbird/message-send.json")
        let deleted = sent.replacing("message_send", with: "message_delete")
        // Apple accepts nothing until the deletion is known, however long that takes.
        try await rig.simulators.apns.take(
            .fail(tokens: ["0a1b"], status: 500, reason: "InternalServerError", times: nil))
        _ = try await rig.call("POST", "/in/sendbird", sent, headers: Self.signed(sent))
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1")
        #expect(google.body["message"]?["android"]?["collapse_key"] == nil)
        #expect(try await rig.logs("deliveries will be tried again"))
        try await rig.expect(200, "POST", "/in/sendbird", deleted, headers: Self.signed(deleted))
        #expect(try await rig.logs("reason=taken_back"))
        try await rig.simulators.apns.take(.clear)
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b") { $0.status == 200 }
        #expect(
            apple.body.text
                == #"{"aps":{"content-available":1},"signalbox":{"withdraw":"9007199254740993"}}"#)
        let withdrawn = try await rig.push(rig.simulators.fcm, to: "fcm:1") {
            $0.number > google.number
        }
        #expect(
            withdrawn.body["message"]?["data"]?.text
                == #"{"signalbox_withdraw":"9007199254740993"}"#)
        await rig.end()
    }

    @Test
    func `Sendbird Chat: where Sendbird pushes, devices are forwarded and no message is pushed`()
        async throws
    {
        let api = try await VendorAPI.start { request in
            request.method == "GET"
                ? .json(["tokens": .array([])])
                : .json(["token": "x"])
        }
        var variables = Self.sendbird
        variables["SENDBIRD_ENDPOINT"] = api.origin
        let rig = try await ExampleRig("sendbird-forwarding", variables: variables)
        try await rig.register("bob", "0a1b", "ios", locale: "de-AT")
        try await rig.register("bob", "fcm:1", "android")
        try await rig.register("bob", "0c0d", "ios")
        let posts = await api.wait(for: 6).filter { $0.method == "POST" }
        #expect(posts.count == 3)
        #expect(
            Set(posts.map(\.path)) == ["/v3/users/bob/push/apns", "/v3/users/bob/push/gcm"])
        #expect(posts.allSatisfy { $0.header("api-token") == "master-api-token" })

        // Sendbird pushes messages itself; a dead token is reported.
        let body = try PluginRig.fixture("Sendbird/message-send.json")
        try await rig.expect(200, "POST", "/in/sendbird", body, headers: Self.signed(body))
        let read = try PluginRig.fixture("Sendbird/message-read.json")
        try await rig.simulators.apns.take(
            .fail(tokens: ["0a1b"], status: 400, reason: "BadDeviceToken", times: nil))
        _ = try await rig.call("POST", "/in/sendbird", read, headers: Self.signed(read))
        let badge = try await rig.push(rig.simulators.apns, to: "0c0d")
        #expect(badge.body.text == #"{"aps":{"badge":3}}"#)
        let removal = try #require(await api.first { $0.method == "DELETE" })
        #expect(removal.path == "/v3/users/bob/push/apns/0a1b")
        #expect(rig.simulators.fcm.received.isEmpty)
        #expect(!rig.simulators.apns.received.contains { $0.body["aps"]?["alert"] != nil })
        await rig.end()
        await api.shutdown()
    }

    // MARK: Customer Insights

    static let mobileApp = "00000000-0000-0000-0000-000000000001"
    static let insights = [
        "CIJ_ORG": "ORG", "CIJ_MOBILE_APP_ID": mobileApp, "CIJ_API_TOKEN": "ci-api-token",
        "CIJ_CALLBACKS_TO_PRIVATE": "true",
    ]
    static let devices = "/api/v1.0/orgs/ORG/pushdeviceregistration/devices"

    /// The status of registrations, once none is pending.
    static func statuses(_ rig: ExampleRig, _ ids: [String]) async throws -> [String] {
        let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
        let body =
            #"{"RegistrationRequestIds":[\#(list)],"MobileAppId":"\#(mobileApp)","ApiToken":"ci-api-token"}"#
        for _ in 0..<10_000 {
            let json = try await rig.expect(200, "POST", "\(devices)/status/", body)
            guard case .array(let items) = json else { break }
            let words = items.map {
                ($0["Status"]?.string ?? "") + ($0["FailureReason"]?.string.map { " \($0)" } ?? "")
            }
            if !words.contains("Pending") { return words }
        }
        return []
    }

    /// Registers one device; the status of its registration in the end.
    static func registered(_ rig: ExampleRig, _ body: String) async throws -> String? {
        let (_, json, _) = try await rig.call(
            "POST", devices, body, headers: [("x-ms-track-registration", "true")])
        let id = try #require(json["RegistrationRequestId"]?.string)
        return try await statuses(rig, [id]).first
    }

    @Test func `Customer Insights: registered by dry run, told by callback, pushed to, cleaned up`()
        async throws
    {
        let api = try await VendorAPI.start { _ in HTTPServerAnswer(status: 202) }
        let rig = try await ExampleRig("customer-insights", variables: Self.insights)
        try await rig.simulators.apns.take(
            .fail(tokens: ["dead"], status: 400, reason: "BadDeviceToken", times: nil))
        let url = "\(api.origin)/cb/8c1f"
        let user = "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"
        let dead = try PluginRig.fixture("CustomerInsights/registration-ios.json").replacing(
            "0A1B2C", with: "dead")
        let batch = try PluginRig.fixture("CustomerInsights/batch.json").dropLast() + ",\(dead)]"
        let ids = try await rig.expect(
            202, "POST", "\(Self.devices)/batch", String(batch),
            headers: [
                ("x-ms-track-registration", "true"), ("x-ms-callback-url", url),
                ("x-ms-callback-url-headers", #"{"x-key":"k"}"#),
            ])
        guard case .array(let list) = ids else { return }
        let names = list.compactMap { $0["RegistrationRequestId"]?.string }
        #expect(
            try await Self.statuses(rig, names) == [
                "Success", "Success", "Failed DryRunSendingFailed",
            ])
        // The devices got nothing visible.
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b2c")
        #expect(apple.header("apns-push-type") == "background")
        #expect(apple.body.text == #"{"aps":{"content-available":1}}"#)
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:Token-1")
        #expect(google.body["validate_only"] == .bool(true))
        // Three callbacks, signed over their URL.
        let calls = await api.wait(for: 3)
        #expect(calls.allSatisfy { $0.path == "/cb/8c1f" && $0.header("x-key") == "k" })
        let signature = Hex.encode(
            HMACDigest.sha256(key: Array("ci-api-token".utf8), data: Array(url.utf8)))
        let told = try calls.map { try JSONValue.parse($0.body) }
        #expect(told.allSatisfy { $0["Signature"]?.string == signature })
        #expect(
            told.compactMap { $0["Status"]?.string }.sorted() == ["Failed", "Success", "Success"])

        // A message goes to both devices.
        let message = """
            {"MobileAppId":"\(Self.mobileApp)","ApiToken":"ci-api-token","UserId":"\(user)","Title":"T",
            "Body":"B","Link":"https://l","OriginalLink":"https://o","TrackingId":"t-1","ImageUrl":""}
            """
        rig.simulators.apns.forget()
        rig.simulators.fcm.forget()
        try await rig.expect(202, "POST", "/in/insights/messages", message)
        let shown = try await rig.push(rig.simulators.apns, to: "0a1b2c")
        #expect(
            shown.body["data"]?.text
                == #"{"link":"https://l","originalLink":"https://o","trackingId":"t-1","imageUrl":""}"#
        )
        #expect(shown.body["aps"]?["alert"]?["title"]?.string == "T")
        let data = try await rig.push(rig.simulators.fcm, to: "fcm:Token-1").body["message"]?[
            "data"]
        #expect(data?["originalLink"]?.string == "https://o" && data?["body"]?.string == "B")

        // Registering again is a known registration. After the cleanup only Android is left.
        let again = try PluginRig.fixture("CustomerInsights/registration-ios.json")
        let (_, second, _) = try await rig.call(
            "POST", Self.devices, again, headers: [("x-ms-track-registration", "true")])
        let id = try #require(second["RegistrationRequestId"]?.string)
        #expect(try await Self.statuses(rig, [id]) == ["Failed DuplicateExists"])
        let cleanup = try PluginRig.fixture("CustomerInsights/cleanup.json").replacing(
            "fcm:Token-1", with: "0A1B2C")
        let (cleaned, _, answer) = try await rig.call(
            "POST", "\(Self.devices)/cleanup", cleanup)
        #expect(cleaned == 202 && answer.body.isEmpty)
        rig.simulators.fcm.forget()
        rig.simulators.apns.forget()
        _ = try await rig.call("POST", "/in/insights/messages", message)
        _ = try await rig.push(rig.simulators.fcm, to: "fcm:Token-1")
        #expect(rig.simulators.apns.received.isEmpty)
        #expect(!rig.log.all.contains { $0.contains("ci-api-token") || $0.contains("0a1b2c") })
        await rig.end()
        await api.shutdown()
    }

    @Test func `Customer Insights: a phone of a contact and a profile gets the pushes of both`()
        async throws
    {
        let rig = try await ExampleRig("customer-insights", variables: Self.insights)
        let contact = "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"
        let body = try PluginRig.fixture("CustomerInsights/registration-android.json")
        for user in [contact, "profile-1"] {
            #expect(
                try await Self.registered(rig, body.replacing(contact, with: user)) == "Success")
        }
        for user in [contact, "profile-1"] {
            rig.simulators.fcm.forget()
            let (taken, _, _) = try await rig.call(
                "POST", "/in/insights/messages",
                #"{"MobileAppId":"\#(Self.mobileApp)","ApiToken":"ci-api-token","UserId":"\#(user)","Body":"for \#(user)"}"#
            )
            #expect(taken == 202)
            let push = try await rig.push(rig.simulators.fcm, to: "fcm:Token-1")
            #expect(push.body["message"]?["data"]?["body"]?.string == "for \(user)")
            // Each is still registered.
            #expect(
                try await Self.registered(rig, body.replacing(contact, with: user))
                    == "Failed DuplicateExists")
        }
        await rig.end()
    }

    @Test func `Customer Insights: a callback to a private address is not made`() async throws {
        let api = try await VendorAPI.start { _ in HTTPServerAnswer(status: 202) }
        var variables = Self.insights
        variables["CIJ_CALLBACKS_TO_PRIVATE"] = "false"
        let rig = try await ExampleRig("customer-insights", variables: variables)
        let body = try PluginRig.fixture("CustomerInsights/registration-android.json")
        let (refused, _, _) = try await rig.call(
            "POST", Self.devices, body, headers: [("x-ms-callback-url", "\(api.origin)/cb")])
        #expect(refused == 400)
        for host in ["localhost", "127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1"] {
            let port = api.origin.split(separator: ":").last ?? ""
            let token = "fcm:\(host)"
            try await rig.expect(
                202, "POST", Self.devices, body.replacing("fcm:Token-1", with: token),
                headers: [("x-ms-callback-url", "https://\(host):\(port)/cb")])
        }
        func lost() -> Int {
            rig.log.all.count { $0.contains("callback failed and not retried") }
        }
        for _ in 0..<60_000 where lost() < 5 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(lost() == 5)
        #expect(api.requests.isEmpty)
        await rig.end()
        await api.shutdown()
    }

    @Test func `Customer Insights: devices are forwarded to an organisation and cleaned up there`()
        async throws
    {
        let api = try await VendorAPI.start { request in
            if request.path.hasSuffix("/devices/batch") {
                let count = (try? JSONValue.parse(request.body)).map { json -> Int in
                    if case .array(let items) = json { items.count } else { 0 }
                }
                let ids = (0..<(count ?? 0)).map {
                    JSONValue.object([.init("RegistrationRequestId", .string("r\($0)"))])
                }
                return .json(.array(ids), status: 202)
            }
            if request.path.hasSuffix("/status/") {
                return .json([["Status": "Success"]])
            }
            return HTTPServerAnswer(status: 202)
        }
        let rig = try await ExampleRig(
            "customer-insights-client",
            variables: [
                "CIJ_PUBLIC_ENDPOINT": "\(api.origin)/", "CIJ_ORG": "ORG",
                "CIJ_MOBILE_APP_ID": Self.mobileApp, "CIJ_API_TOKEN": "ci-api-token",
                "CIJ_POLL_MS": "10", "ZENDESK_PATH_SECRET": "s",
            ])
        try await rig.register("u", "fcm:1", "android")
        let status = try #require(await api.first { $0.path.hasSuffix("/status/") })
        #expect(
            String(decoding: status.body, as: UTF8.self).contains(
                #""RegistrationRequestIds":["r0"]"#))
        let registration = try #require(api.requests.first)
        #expect(registration.path == "\(Self.devices)/batch")
        #expect(registration.header("x-ms-track-registration") == "true")

        // The token dies on another push; both the registry and the organisation forget it.
        try await rig.simulators.fcm.take(
            .fail(tokens: ["fcm:1"], status: 404, reason: "UNREGISTERED", times: nil))
        let webhook =
            #"{"devices":[{"identifier":"fcm:1","type":"android"}],"notification":{"ticket_id":"5","title":"t"}}"#
        // The webhook does not know the registry's app: a token is enough.
        _ = try await rig.call("POST", "/in/zendesk/s", webhook)
        let cleanup = try #require(await api.first { $0.path.hasSuffix("/cleanup/batch") })
        #expect(
            String(decoding: cleanup.body, as: UTF8.self)
                == #"[{"MobileAppId":"\#(Self.mobileApp)","ApiToken":"ci-api-token","UserId":"u","DeviceToken":"fcm:1"}]"#
        )
        await rig.end()
        await api.shutdown()
    }
}

/// Signatures in Sendbird's formats.
enum SendbirdSignature {
    static func chat(_ body: String, _ token: String) -> String {
        Hex.encode(HMACDigest.sha256(key: Array(token.utf8), data: Array(body.utf8)))
    }
}
