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

    @Test func `a template has its placeholders filled, and values of data keep their kind`()
        async throws
    {
        let template =
            #"{"text":"{{title}}: {{ body }}","order":"{{ data.order }}","id":"#
            + #""no {{ data.order.id }}","none":"{{ data.x.y }}","list":["{{ user }}",1.0,null,true]}"#
        let rig = try await Self.rig(#","body":\#(template)"#)
        let request = try await Self.post(rig)
        #expect(
            request.text
                == #"{"text":"Order <5>: On its way \"today\" 📦","order":{"id":5,"total":1.5,"tags":["a"]},"#
                + #""id":"no 5","none":null,"list":["",1.0,null,true]}"#)
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

    @Test func `Teams gets an adaptive card`() async throws {
        let rig = try await Self.rig(#","format":"teams""#)
        let body = try await Self.post(rig).body
        let card = body["attachments"]?[0]?["content"]
        #expect(body["type"]?.string == "message" && card?["type"]?.string == "AdaptiveCard")
        #expect(card?["body"]?[0]?["text"]?.string == "Order <5>")
        #expect(card?["body"]?[2]?["text"]?.string == "On its way \"today\" 📦")
        #expect(card?["actions"]?[0]?["url"]?.string == "https://shop.example.org/o/5")
        let marked = try await Self.post(
            rig,
            SendRig.note {
                $0.title = "[pay](https://evil.example) *now*"
                $0.body = "# no heading\n - no list, a-b\n`c` \\d"
            }
        ).body["attachments"]?[0]?["content"]?["body"]
        #expect(marked?[0]?["text"]?.string == #"\[pay\](https://evil.example) \*now\*"#)
        #expect(
            marked?[1]?["text"]?.string == "\\# no heading\n \\- no list, a-b\n\\`c\\` \\\\d")
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

    @Test func `a method and headers of its own`() async throws {
        let more = #","method":"PUT","headers":[{"name":"X-API-Key","value":"a key"}]"#
        let rig = try await Self.rig(more)
        let request = try await Self.post(rig)
        #expect(request.method == "PUT" && request.headers["x-api-key"] == "a key")
        #expect(request.unindexed.contains("x-api-key"))
        await rig.end()
    }

    @Test(arguments: [
        (
            404, #"{"message":"Unknown Webhook","code":10015}"#, Outcome.Kind.unregistered,
            "unknown_webhook", 0
        ),
        (
            401, #"{"message":"Invalid Webhook Token","code":50027}"#, .unregistered,
            "invalid_webhook_token", 0
        ),
        (
            400, #"{"message":"Cannot send an empty message","code":50006}"#, .rejected, "http_4xx",
            0
        ),
        (
            429, #"{"message":"You are being rate limited.","retry_after":0.3,"global":false}"#,
            .throttled, "too_many_requests", 300
        ),
        (429, #"{"retry_after":"soon"}"#, .throttled, "too_many_requests", 30_000),
        (204, "", .delivered, "ok", 0),
    ])
    func `Discord says in codes what is gone`(
        status: UInt32, body: String, kind: Outcome.Kind, reason: String, retryAfterMs: UInt64
    ) async throws {
        let rig = try await Self.rig(
            #","format":"discord""#, url: "https://discord.com/api/webhooks/{{ token }}")
        let outcome = try rig.outcome(status, body)
        #expect(outcome.kind == kind && outcome.reason == reason)
        #expect(outcome.retryAfterMs == retryAfterMs && outcome.scope == .item)
        await rig.end()
    }

    @Test func `a token in the path is encoded, and none leaves it`() async throws {
        let rig = try await Self.rig(url: "https://hooks.slack.com/services/{{ token }}?a=1")
        #expect(try await Self.post(rig).path == "/services/T1/B2/xyz?a=1")
        #expect(try await Self.post(rig, token: "a b/ü%").path == "/services/a%20b/%C3%BC%25?a=1")
        for token in ["../x", "a//b", "/a", "a/./b", "a/"] {
            let (requests, settled) = try await rig.prepare([
                SendRig.delivery(7, token: token, Self.note)
            ])
            #expect(requests.isEmpty && settled.first?.reason == "malformed_token", "\(token)")
        }
        await rig.end()
    }

    @Test func `what nobody could read is not posted to a chat`() async throws {
        let rig = try await Self.rig(#","format":"slack""#)
        for (note, reason) in [
            (SendRig.note { $0.isSilent = true }, "nothing_to_show"),
            (SendRig.note { _ in }, "nothing_to_show"),
            (SendRig.note { $0.isDryRun = true }, "no_dry_run"),
            (SendRig.note { $0.isWithdrawn = true }, "nothing_to_take_back"),
        ] {
            let (requests, settled) = try await rig.prepare([SendRig.delivery(7, note)])
            #expect(requests.isEmpty && settled.first?.reason == reason)
        }
        await rig.end()
    }

    @Test(arguments: [
        (200, "ok", Outcome.Kind.delivered, "ok", false), (202, "", .delivered, "ok", false),
        (404, "no_service", .config, "no_service", true),
        (403, "action_prohibited", .config, "forbidden", true),
        (410, "channel_is_archived", .config, "channel_is_archived", true),
        (404, "", .config, "not_found", true), (401, "", .config, "unauthorized", true),
        (400, "invalid_payload", .rejected, "http_4xx", false),
        (413, "", .rejected, "payload_too_large", false),
        (429, "", .throttled, "too_many_requests", true),
        (408, "", .retry, "timeout", false), (503, "", .retry, "server_error", false),
        (302, "", .retry, "http_3xx", false),
    ])
    func `an answer becomes an outcome, of one device if the URL is its own`(
        status: UInt32, body: String, kind: Outcome.Kind, reason: String, isWide: Bool
    ) async throws {
        let rig = try await Self.rig()
        let all = try rig.outcome(status, body)
        #expect(all.kind == kind && all.reason == reason)
        #expect((all.scope == .instance) == isWide)
        await rig.end()
        let own = try await Self.rig(url: "https://hooks.example.org/{{ token }}")
        let one = try own.outcome(status, body)
        #expect(one.scope == .item && one.reason == reason)
        let isGone = status == 410 || reason == "no_service"
        #expect((one.kind == .unregistered) == isGone)
        #expect(one.suspectsToken == (reason == "not_found"))
        #expect(one.kind != .config)
        // A retry would count as a fault of the receiver, and hold everybody's pushes.
        #expect(status != 302 || one.kind == .rejected)
        await own.end()
    }

    @Test(arguments: [
        (#"{"url":"http://a"}"#, "must begin with https://"),
        (#"{"url":"https:///x"}"#, "has no host"),
        (#"{"url":"https://a/{{ tokn }}"}"#, "another placeholder"),
        (#"{"url":"https://a/b c"}"#, "percent-encoded"),
        (#"{"url":"https://a","body":{"a":["{{ titel }}"]}}"#, "titel"),
        (#"{"url":"https://a","format":"slack","body":{}}"#, "remove one of them"),
        (#"{"url":"https://a","secret":"short"}"#, "secret"),
        (
            #"{"url":"https://a","headers":[{"name":"Host","value":"b"}]}"#,
            "config.headers[0] is host"
        ),
        (
            #"{"url":"https://a","headers":[{"name":"Authorization","value":"b"}]}"#,
            "use config.authorization"
        ),
        (
            #"{"url":"https://a","headers":[{"name":"x","value":"b\u0000c"}]}"#,
            "headers.0.value has a control character"
        ),
    ])
    func `a configuration that cannot work is refused without its URL`(
        config: String, words: String
    ) async throws {
        await #expect {
            _ = try await SendRig("Webhook", config: config, services: RigServices())
        } throws: {
            "\($0)".contains(words)
        }
    }
}
