import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// HMS with a service account: API v3, for HarmonyOS 5 and later.
@Suite struct HMSScenarioTests {
    static let key = Result { try ThrowAway.rsaKey() }
    let now = UInt64(Date().timeIntervalSince1970 * 1000)

    static func account() throws -> String {
        let key = String(decoding: try Self.key.get().privateKeyPEM(), as: UTF8.self)
        return JSONValue.object([
            .init("project_id", .string("p-9")), .init("key_id", .string("kid1")),
            .init("sub_account", .string("sub1")), .init("private_key", .string(key)),
        ]).text
    }

    func rig(_ more: [JSONValue.Member] = []) async throws -> SendRig {
        let config = JSONValue.object(
            [.init("service_account", .string(try Self.account()))] + more)
        return try await SendRig("HMS", config: config.text, services: RigServices())
    }

    @Test func `the token is signed by the service account, and nobody is asked`() async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "huawei") { $0.body = "b" }
        #expect(rig.services.calls.isEmpty)
        #expect(request.path == "/v3/p-9/messages:send")
        let bearer = try #require(request.headers["authorization"])
        #expect(bearer.hasPrefix("Bearer "))
        let parts = bearer.dropFirst(7).split(separator: ".").map { String($0) }
        try #require(parts.count == 3)
        let header = try JSONValue.parse(try #require(Base64.decode(parts[0])))
        #expect(header["kid"]?.string == "kid1" && header["alg"]?.string == "PS256")
        let claims = try JSONValue.parse(try #require(Base64.decode(parts[1])))
        #expect(claims["iss"]?.string == "sub1")
        #expect(
            claims["aud"]?.string == "https://oauth-login.cloud.huawei.com/oauth2/v3/token")
        let issued = try #require(claims["iat"]?.integer)
        #expect((Int64(now / 1000)...Int64(now / 1000) + 600).contains(issued))
        #expect(claims["exp"]?.integer == issued + 3600)
        let verifier = try VerifyingKey(pem: Self.key.get().publicKeyPEM())
        #expect(
            verifier.verifyPS256(
                try #require(Base64.decode(parts[2])), data: Array("\(parts[0]).\(parts[1])".utf8)))
        await rig.end()
    }

    @Test func `a notification has a category, a tap and its data`() async throws {
        let rig = try await rig([.init("collapse_key", .bool(true))])
        let request = try await rig.render(
            platform: "huawei", token: "to\"k", deadlineUnixMs: now + 900_000
        ) {
            // The system starts no app for data, so it is shown.
            $0.isDataOnly = true
            $0.title = "T"
            $0.body = "B"
            $0.badge = 140
            $0.link = "app://x"
            $0.collapse = "ticket-5"
            $0.sound = "ding.mp3"
            $0.data = #"{"n":7}"#
        }
        #expect(request.headers["push-type"] == "0")
        let options = try #require(request.body["pushOptions"])
        let ttl = try #require(options["ttl"]?.integer)
        #expect((1...900).contains(ttl))
        let group = try #require(options["collapseKey"]?.integer)
        #expect((1...100).contains(group))
        #expect(request.body["target"]?.text == #"{"token":["to\"k"]}"#)
        let notification = try #require(request.body["payload"]?["notification"])
        let id = try #require(notification["notifyId"]?.integer)
        #expect((0..<2_147_483_647).contains(id))
        #expect(
            notification.text
                == #"{"category":"MARKETING","title":"T","body":"B","clickAction":{"actionType":1,"uri":"app://x","data":{"n":"7","link":"app://x"}},"notifyId":\#(id),"sound":"ding.mp3","badge":{"setNum":99}}"#
        )
        let approved = try await self.rig([.init("category", .string("IM"))])
        let plain = try await approved.render(platform: "huawei") { $0.body = "B" }
        #expect(
            plain.body["payload"]?["notification"]?.text
                == #"{"category":"IM","title":"B","body":"B","clickAction":{"actionType":0}}"#)
        await approved.end()
        await rig.end()
    }

    @Test func `what shows nothing is a background message`() async throws {
        let rig = try await rig()
        for change: @Sendable (inout PushNotification) -> Void in [
            { $0.isSilent = true }, { $0.isDryRun = true },
            {
                $0.isWithdrawn = true
                $0.collapse = "key"
            },
        ] {
            let request = try await rig.render(platform: "huawei") {
                $0.title = "T"
                change(&$0)
            }
            #expect(request.headers["push-type"] == "6")
            let data = try JSONValue.parse(
                try #require(request.body["payload"]).at("extraData"))
            #expect(data.text == "{}" || data.text == #"{"signalbox_withdraw":"key"}"#)
        }
        await rig.end()
    }

    @Test func `a text that is too long is shortened, and data that is too long refused`()
        async throws
    {
        let rig = try await rig()
        let request = try await rig.render(platform: "huawei") {
            $0.title = "T"
            $0.body = String(repeating: "안녕하세요 ", count: 2_000)
            $0.data = #"{"id":"5"}"#
        }
        #expect(request.text.utf8.count <= 4_100 && request.text.utf8.count > 3_900)
        let notification = try #require(request.body["payload"]?["notification"])
        #expect(notification.at("body").hasSuffix("…"))
        #expect(notification.at("clickAction", "data", "id") == "5")
        let large = SendRig.note { $0.data = #"{"id":"\#(String(repeating: "x", count: 4_097))"}"# }
        let (_, settled) = try await rig.prepare([SendRig.delivery(1, large)])
        #expect(settled.first?.reason == "payload_too_large")
        await rig.end()
    }
}
