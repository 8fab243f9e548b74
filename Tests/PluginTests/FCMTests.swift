import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct FCMTests {
    static let key = Result { try ThrowAway.rsaKey() }
    let now = UInt64(Date().timeIntervalSince1970 * 1000)

    static func account() throws -> String {
        let key = String(decoding: try Self.key.get().privateKeyPEM(), as: UTF8.self)
        return JSONValue.object([
            .init("project_id", .string("demo-1")), .init("client_email", .string("a@b")),
            .init("private_key_id", .string("kid1")), .init("private_key", .string(key)),
            .init("token_uri", .string("https://oauth.example/token")),
        ]).text
    }

    func rig(
        _ more: [JSONValue.Member] = [], account: String? = nil,
        server: @escaping RigServices.Server = { _ in FCMTests.granted("at-1") }
    ) async throws -> SendRig {
        let config = JSONValue.object(
            [.init("service_account", .string(try account ?? Self.account()))] + more)
        return try await SendRig(
            "FCM", config: config.text, services: RigServices(server: server))
    }

    static func granted(_ token: String) -> Result<PluginHTTPAnswer, PluginFault> {
        let body = #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3599}"#
        return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
    }

    @Test func `the assertion is signed and names who asks for what`() async throws {
        let rig = try await rig()
        _ = try await rig.render(platform: "android") { $0.body = "b" }
        let call = try #require(rig.services.calls.first)
        #expect(rig.services.calls.count == 1)
        #expect(call.method == "POST" && call.url == "https://oauth.example/token")
        let body = String(decoding: call.body, as: UTF8.self)
        let mark = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(body.hasPrefix(mark))
        let parts = body.dropFirst(mark.count).split(separator: ".").map { String($0) }
        try #require(parts.count == 3)
        let claims = try JSONValue.parse(try #require(Base64.decode(parts[1])))
        #expect(claims["iss"]?.string == "a@b")
        #expect(claims["aud"]?.string == "https://oauth.example/token")
        #expect(
            claims["scope"]?.string == "https://www.googleapis.com/auth/firebase.messaging")
        let issued = try #require(claims["iat"]?.integer)
        #expect((Int64(now / 1000)...Int64(now / 1000) + 600).contains(issued))
        #expect(claims["exp"]?.integer == issued + 3600)
        let header = try JSONValue.parse(try #require(Base64.decode(parts[0])))
        #expect(header["kid"]?.string == "kid1" && header["alg"]?.string == "RS256")
        let verifier = try VerifyingKey(pem: Self.key.get().publicKeyPEM())
        #expect(
            verifier.verifyRS256(
                try #require(Base64.decode(parts[2])), data: Array("\(parts[0]).\(parts[1])".utf8)))
        await rig.end()
    }

    @Test(arguments: ["android", "ios", "web"], [false, true])
    func `a text that is too long is shortened, as it is sent`(
        platform: String, isDataOnly: Bool
    ) async throws {
        let rig = try await rig()
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render(platform: platform) {
            $0.title = "T"
            $0.body = body
            $0.isDataOnly = isDataOnly
            $0.data = #"{"id":"5"}"#
        }
        let message = try #require(request.body["message"])
        let shown = message.at(isDataOnly ? "data" : "notification", "body")
        #expect(shown.hasSuffix("…") && body.hasPrefix(shown.dropLast()))
        #expect(message.at("data", "id") == "5")
        // Uses the available space; on iOS the text appears twice, and data shows nothing.
        #expect(shown.utf8.count > (platform == "ios" && isDataOnly ? 1_700 : 3_700))
        #expect(rig.services.shortenedFields == ["body"])
        await rig.end()
    }

    @Test func `pairs that an override puts in their place count, and those it removes do not`()
        async throws
    {
        let rig = try await rig()
        let text = String(repeating: "x", count: 3_000)
        let note: (String) -> String = { message in
            let own = JSONValue.object([.init("message", .string(message))]).text
            let pairs: JSONValue = [
                "body": .null, "message": .string(message), "sendbird": .string(own),
            ]
            return JSONValue.object([.init("data", pairs)]).text
        }
        let fits = try await rig.render(platform: "android") {
            $0.isDataOnly = true
            $0.body = text
            $0.overrides = [PayloadOverride(family: "fcm", json: note("short"))]
        }
        #expect(fits.body["message"]?.at("data", "message") == "short")
        #expect(rig.services.shortenedFields == [])
        let cut = try await rig.render(platform: "android") {
            $0.isDataOnly = true
            $0.body = "b"
            $0.overrides = [
                PayloadOverride(family: "fcm", json: note(text)),
                PayloadOverride(
                    family: "shorten", json: #"{"places":["/message","/sendbird/message"]}"#),
            ]
        }
        let data = try #require(cut.body["message"]?["data"])
        let inner = try JSONValue.parse(data.at("sendbird"))
        #expect(data.at("message").utf8.count > 2_000 && inner.at("message").utf8.count > 2_000)
        #expect(rig.services.shortenedFields == ["data"])
        await rig.end()
    }

    @Test func `a refused assertion says so and is not repeated for ever`() async throws {
        let rig = try await rig(server: { _ in
            .success(PluginHTTPAnswer(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8)))
        })
        let note = SendRig.note { $0.body = "b" }
        for _ in 0..<3 {
            let fault = await #expect(throws: PluginFault.self) {
                try await rig.prepare([SendRig.delivery(1, note)])
            }
            // Not `again`: only a new key helps, so the sender is held and nobody is asked.
            #expect(fault?.kind == .auth)
        }
        // Written by the thread that had the answer, maybe a moment later.
        func isWritten() -> Bool { rig.services.lines.contains { $0.contains("invalid_grant") } }
        await rig.services.waitFor(isWritten)
        #expect(isWritten())
        #expect(rig.services.calls.count == 1)
        await rig.end()
    }
}
