import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// Plugins/WebPush: requests, their encryption, and answers.
@Suite struct WebPushTests {
    private static let token = "https://updates.push.example.org/wpush/v2/gAAAA-b_1?x=1"

    private struct Rig {
        let rig: SendRig
        let key: SigningKey
        let browser: PushSubscription
        let services = RigServices(nowUnixMs: 1_800_000_000_000)

        init() async throws {
            key = try ThrowAway.p256Key()
            browser = try PushSubscription()
            let pem = String(decoding: try key.privateKeyPEM(), as: UTF8.self)
            let config: JSONValue = ["key": .string(pem), "subject": "mailto:ops@example.org"]
            rig = try await SendRig("WebPush", config: config.text, services: services)
        }

        func delivery(
            _ content: SharedNotification, token: String = WebPushTests.token,
            attributes: [Attribute]? = nil, deadlineUnixMs: UInt64 = 0
        ) -> SignalboxCore.Delivery {
            var device = Device(platform: "web", token: token)
            device.attributes = attributes ?? browser.attributes
            return Delivery(
                id: 7, eventID: 1, route: "r", sender: "s",
                stableID: "123e4567-e89b-42d3-a456-426614174000", deadlineUnixMs: deadlineUnixMs,
                content: content, device: device)
        }

        /// The request of a delivery, and where it goes.
        func prepare(
            _ delivery: SignalboxCore.Delivery
        ) throws -> (request: RenderedRequest?, origin: String, body: [UInt8], Outcome?) {
            guard
                case .ready(let batch, let settled) = rig.role.prepare(
                    app: "", deliveries: [delivery])
            else { throw PluginRig.Failure(description: "it is not ready") }
            guard let request = batch.requests.first else { return (nil, "", [], settled.first) }
            return (
                RenderedRequest(request, in: batch), batch.text(request.origin),
                Array(batch[request.body]), nil
            )
        }
    }

    @Test func `the message is encrypted for its browser, and nobody else reads it`() async throws {
        let rig = try await Rig()
        let note = SendRig.note {
            $0.title = "Order 5"
            $0.subtitle = "Shipped"
            $0.body = "On its way 📦 \u{202e}right to left"
            $0.link = "https://shop.example.org/o/5"
            $0.collapse = "order-5"
            $0.data = #"{"order":5}"#
            $0.badge = 2
        }
        let (request, origin, body, _) = try rig.prepare(rig.delivery(note))
        #expect(origin == "https://updates.push.example.org")
        #expect(request?.path == "/wpush/v2/gAAAA-b_1?x=1" && request?.method == "POST")
        #expect(request?.headers["content-encoding"] == "aes128gcm")
        #expect(request?.headers["topic"] == "order-5" && request?.headers["ttl"] == "2419200")
        let plain = try #require(try rig.browser.open(body))
        let message = try JSONValue.parse(plain)
        #expect(
            message["title"]?.string == "Order 5 · Shipped" && message["tag"]?.string == "order-5")
        #expect(message["body"]?.string == "On its way 📦 \u{202e}right to left")
        #expect(message["badge"]?.integer == 2 && message["data"]?["order"]?.integer == 5)
        #expect(message["id"]?.string == "123e4567-e89b-42d3-a456-426614174000")
        #expect(try PushSubscription().open(body) == nil)
        // Another salt and key each time.
        let again = try rig.prepare(rig.delivery(note)).body
        #expect(again.prefix(16) != body.prefix(16) && again[21..<86] != body[21..<86])
        await rig.rig.end()
    }

    @Test func `the token for a push service is signed, and names it`() async throws {
        let rig = try await Rig()
        let header = try #require(
            try rig.prepare(rig.delivery(SendRig.note { $0.title = "T" })).request?
                .headers["authorization"])
        let parts = try #require(header.wholeMatch(of: /vapid t=(.+)\.(.+)\.(.+), k=(.+)/)?.output)
        func decoded(_ text: Substring) throws -> [UInt8] {
            let plain = String(text).replacing("-", with: "+").replacing("_", with: "/")
            let padded = plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)
            return Array(try #require(Data(base64Encoded: padded)))
        }
        let claims = try JSONValue.parse(try decoded(parts.2))
        #expect(claims["aud"]?.string == "https://updates.push.example.org")
        #expect(claims["sub"]?.string == "mailto:ops@example.org")
        let now = Int64(rig.services.nowUnixMs / 1_000)
        #expect((now...now + 86_400).contains(claims["exp"]?.integer ?? 0))
        #expect(try decoded(parts.4) == rig.key.publicKeyRaw)
        let verifier = try VerifyingKey(anyPEM: try rig.key.privateKeyPEM())
        let signed = Array("\(parts.1).\(parts.2)".utf8)
        #expect(verifier.verifyES256(try decoded(parts.3), data: signed))
        // The same for some minutes, and another one for another service.
        let same = try rig.prepare(rig.delivery(SendRig.note { $0.title = "U" })).request
        #expect(same?.headers["authorization"] == header)
        let other = try rig.prepare(
            rig.delivery(SendRig.note { $0.title = "T" }, token: "https://fcm.example.com/x"))
        #expect(other.request?.headers["authorization"] != header)
        rig.services.advance(ms: 700_000)
        let later = try rig.prepare(rig.delivery(SendRig.note { $0.title = "T" })).request
        #expect(later?.headers["authorization"] != header)
        await rig.rig.end()
    }

    @Test func `long texts are cut to what push services take`() async throws {
        let rig = try await Rig()
        for text in ["ü", "📦", "x\n\"", "漢"] {
            let note = SendRig.note {
                $0.title = "T"
                $0.body = String(repeating: text, count: 8_000)
                $0.data = #"{"order":5}"#
            }
            let body = try rig.prepare(rig.delivery(note)).body
            #expect(body.count <= 4_096 && body.count > 4_000, "\(text) \(body.count)")
            let message = try JSONValue.parse(try #require(try rig.browser.open(body)))
            #expect(message["body"]?.string?.hasSuffix("…") == true)
            #expect(message["data"]?["order"]?.integer == 5)
        }
        let data = SendRig.note {
            $0.data = #"{"x":"\#(String(repeating: "x", count: 4_200))"}"#
        }
        #expect(try rig.prepare(rig.delivery(data)).3?.reason == "payload_too_large")
        await rig.rig.end()
    }

    @Test func `urgency, time to live and topic follow the notification`() async throws {
        let rig = try await Rig()
        let now = rig.services.nowUnixMs
        let note = SendRig.note {
            $0.title = "T"
            $0.priority = .high
            $0.collapse = "a long key with spaces and ümlauts, longer than a topic may be"
        }
        let headers = try rig.prepare(
            rig.delivery(note, deadlineUnixMs: now + 60_500)
        ).request?.headers
        #expect(headers?["urgency"] == "high" && headers?["ttl"] == "61")
        #expect(headers?["topic"]?.wholeMatch(of: /[A-Za-z0-9_-]{32}/) != nil)
        let gone = try rig.prepare(rig.delivery(note, deadlineUnixMs: now - 5)).request
        #expect(gone?.headers["ttl"] == "0")
        await rig.rig.end()
    }

    @Test func `what is no subscription is refused`() async throws {
        let rig = try await Rig()
        let note = SendRig.note { $0.title = "T" }
        let good = rig.browser.attributes
        let offCurve = Data([4] + [UInt8](repeating: 1, count: 64)).base64EncodedString()
        for (token, attributes) in [
            ("http://a/b", good), ("https://", good), ("https:///x", good), ("plain", good),
            ("https://user@a/b", good), ("https://a:/b", good), ("https://a/b c", good),
            ("https://a/b#c", good), (Self.token, []),
            (Self.token, [good[0]]), (Self.token, [good[1]]),
            (Self.token, [Attribute("p256dh", "AAAA"), good[1]]),
            (Self.token, [good[0], Attribute("auth", "x")]),
            (Self.token, [Attribute("p256dh", offCurve), good[1]]),
        ] {
            let made = try rig.prepare(rig.delivery(note, token: token, attributes: attributes))
            #expect(made.request == nil && made.3?.reason == "malformed_subscription", "\(token)")
        }
        await rig.rig.end()
    }
}
