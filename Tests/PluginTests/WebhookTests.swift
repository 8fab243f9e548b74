import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// Plugins/Webhook: what it posts, and what it makes of answers.
@Suite struct WebhookTests {
    private static let key = "0123456789abcdef-key"

    private static func rig(
        _ more: String = "", url: String = "https://hooks.example.org/in"
    ) async throws -> SendRig {
        let services = RigServices()
        return try await SendRig(
            "Webhook", config: #"{"url":"\#(url)"\#(more)}"#, services: services)
    }

    private static let note = SendRig.note {
        $0.title = "Order <5>"
        $0.subtitle = "Shipped & paid"
        $0.body = "On its way \"today\" 📦"
        $0.link = "https://shop.example.org/o/5"
        $0.data = #"{"order":{"id":5,"total":1.50,"tags":["a"]}}"#
        $0.badge = 3
    }

    private static func post(
        _ rig: SendRig, token: String = "T1/B2/xyz", _ content: SharedNotification = note
    ) async throws -> RenderedRequest {
        let (requests, settled) = try await rig.prepare([
            SendRig.delivery(7, token: token, platform: "slack", content)
        ])
        #expect(settled.isEmpty)
        return try #require(requests.first)
    }

    @Test func `all fields are posted, signed as outcomes are`() async throws {
        let rig = try await Self.rig(
            #","secret":"\#(Self.key)","authorization":"Bearer abc""#)
        let request = try await Self.post(rig)
        #expect(request.method == "POST" && request.path == "/in")
        let body = request.body
        #expect(body["title"]?.string == "Order <5>" && body["badge"]?.integer == 3)
        #expect(body["body"]?.string == "On its way \"today\" 📦")
        #expect(body["data"]?["order"]?["total"]?.text == "1.5")
        #expect(body["token"]?.string == "T1/B2/xyz" && body["platform"]?.string == "slack")
        #expect(body["id"]?.string == request.headers["signalbox-id"])
        #expect(request.headers["authorization"] == "Bearer abc")
        let signature = try #require(request.headers["signalbox-signature"])
        let time = signature.dropFirst(2).prefix { $0 != "," }
        let expected = HMACDigest.sha256(
            key: Array(Self.key.utf8), data: Array("\(time).\(request.text)".utf8)
        ).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
        #expect(signature == "t=\(time),v1=\(expected)")
        await rig.end()
    }

    @Test func `Slack gets a section, with its own characters escaped`() async throws {
        let rig = try await Self.rig(#","format":"slack""#)
        let body = try await Self.post(rig).body
        #expect(body["text"]?.string == "Order &lt;5&gt; · Shipped &amp; paid")
        #expect(
            body["blocks"]?[0]?["text"]?["text"]?.string
                == "*Order &lt;5&gt; · Shipped &amp; paid*\nOn its way \"today\" 📦\n"
                + "<https://shop.example.org/o/5|Open>")
        for text in ["&", "ü<", "📦", "x"] {
            let long = SendRig.note {
                $0.title = String(repeating: text, count: 5_000)
                $0.body = $0.title
                $0.link = "https://shop.example.org/o/5"
            }
            let body = try await Self.post(rig, long).body
            let cut = try #require(body["blocks"]?[0]?["text"]?["text"]?.string)
            #expect((2_000...3_000).contains(cut.count) && cut.hasSuffix("|Open>"), "\(cut.count)")
            #expect(cut.contains("…*\n") && !cut.contains("&a…") && !cut.contains("&…"))
        }
        await rig.end()
    }

    @Test func `Discord gets an embed without markdown, and nobody is mentioned`() async throws {
        let rig = try await Self.rig(#","format":"discord""#)
        let note = SendRig.note {
            $0.title = "Order *5* @everyone"
            $0.subtitle = "a_b"
            $0.body = #"[x](y) \ # ok"#
            $0.link = "https://shop.example.org/o/5"
            $0.imageURL = "https://shop.example.org/5.png"
        }
        let body = try await Self.post(rig, note).body
        let embed = body["embeds"]?[0]
        #expect(embed?["title"]?.string == #"Order \*5\* @everyone"#)
        #expect(embed?["description"]?.string == "a\\_b\n\\[x\\]\\(y\\) \\\\ \\# ok")
        #expect(embed?["url"]?.string == "https://shop.example.org/o/5")
        #expect(embed?["image"]?["url"]?.string == "https://shop.example.org/5.png")
        #expect(body["allowed_mentions"]?["parse"]?.text == "[]")
        for text in ["*", "ü", "👩‍👩‍👧‍👦"] {
            let long = SendRig.note {
                $0.title = String(repeating: text, count: 5_000)
                $0.body = $0.title
            }
            let embed = try await Self.post(rig, long).body["embeds"]?[0]
            let (title, description) = (embed?.at("title") ?? "", embed?.at("description") ?? "")
            #expect((240...256).contains(title.utf16.count) && title.hasSuffix("…"))
            #expect((4_080...4_096).contains(description.utf16.count))
            #expect(!title.hasSuffix("\\…"))
        }
        await rig.end()
    }
}
