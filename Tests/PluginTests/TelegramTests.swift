import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// Plugins/Telegram: what it sends, and what it makes of answers.
@Suite struct TelegramTests {
    private static let token = "123456789:AAE-a_token_of_a_bot"

    private static func rig(_ more: String = "") async throws -> SendRig {
        let config = #"{"bot_token":"\#(token)"\#(more)}"#
        return try await SendRig("Telegram", config: config, services: RigServices())
    }

    private static func text(_ body: JSONValue, bold: Bool = true) throws -> String {
        let text = try #require(body["text"]?.string)
        guard bold else { return text }
        let entity = try #require(body["entities"]?[0])
        #expect(entity["type"]?.string == "bold" && entity["offset"]?.integer == 0)
        #expect(Int(entity["length"]?.integer ?? -1) <= text.utf16.count)
        return text
    }

    @Test func `a notification becomes a text with a bold title, a button and a preview`()
        async throws
    {
        let rig = try await Self.rig(#","button":"Öffnen","protect_content":true"#)
        let request = try await rig.render(platform: "telegram", token: "-1001234567890:42") {
            $0.title = "Bestellung <5> 📦"
            $0.subtitle = "*Versandt*"
            $0.body = "وصل طلبك\nสวัสดี"
            $0.link = "https://shop.example.com/o/5"
            $0.imageURL = "https://shop.example.com/5.jpg"
            $0.priority = .low
        }
        #expect(request.path == "/bot\(Self.token)/sendMessage" && request.method == "POST")
        #expect(request.headers["content-type"] == "application/json")
        let body = request.body
        #expect(body["chat_id"]?.integer == -1_001_234_567_890)
        #expect(body["message_thread_id"]?.integer == 42)
        #expect(
            try Self.text(body) == "Bestellung <5> 📦\n*Versandt*\nوصل طلبك\nสวัสดี")
        // Telegram counts UTF-16 code units: the parcel has two.
        #expect(body["entities"]?[0]?["length"]?.integer == 17)
        #expect(body["parse_mode"] == nil)
        let button = body["reply_markup"]?["inline_keyboard"]?[0]?[0]
        #expect(button?["text"]?.string == "Öffnen")
        #expect(button?["url"]?.string == "https://shop.example.com/o/5")
        let preview = body["link_preview_options"]
        #expect(preview?["url"]?.string == "https://shop.example.com/5.jpg")
        #expect(body["disable_notification"] == .bool(true))
        #expect(body["protect_content"] == .bool(true))
        await rig.end()
    }

    @Test func `a link of an app is no button, and no picture is no preview`() async throws {
        let rig = try await Self.rig()
        let body = try await rig.render(token: "@news_channel") {
            $0.body = "b"
            $0.link = "shop://orders/5"
        }.body
        #expect(body["chat_id"]?.string == "@news_channel" && body["message_thread_id"] == nil)
        #expect(body["reply_markup"] == nil && body["entities"] == nil)
        #expect(body["link_preview_options"]?["is_disabled"] == .bool(true))
        #expect(body["disable_notification"] == nil)
        await rig.end()
    }

    @Test(arguments: ["x", "é", "📦", "👩‍👩‍👧‍👦", "ก็"])
    func `a text that is too long is cut between characters`(piece: String) async throws {
        let rig = try await Self.rig()
        let long = String(repeating: piece, count: 5_000)
        let body = try await rig.render(token: "5") {
            $0.title = long
            $0.subtitle = long
            $0.body = long
        }.body
        let text = try Self.text(body)
        #expect((4_050...4_096).contains(text.utf16.count), "\(text.utf16.count)")
        let lines = text.split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { $0.hasSuffix("…") })
        #expect(lines.allSatisfy { $0.dropLast().allSatisfy { String($0) == piece } })
        await rig.end()
    }

    @Test func `overrides are merged, and never choose the chat`() async throws {
        let rig = try await Self.rig()
        let body = try await rig.render(token: "5") {
            $0.title = "T"
            $0.body = "B"
            $0.overrides = [
                PayloadOverride(
                    family: "telegram",
                    json: #"{"parse_mode":"HTML","entities":null,"text":"<b>T</b>"}"#)
            ]
        }.body
        #expect(try Self.text(body, bold: false) == "<b>T</b>" && body["entities"] == nil)
        #expect(body["parse_mode"]?.string == "HTML")
        let stray = SendRig.note {
            $0.body = "B"
            $0.overrides = [PayloadOverride(family: "telegram", json: #"{"chat_id":7}"#)]
        }
        let (requests, settled) = try await rig.prepare([
            SendRig.delivery(7, token: "5", stray)
        ])
        #expect(requests.isEmpty && settled.first?.reason == "malformed_data")
        await rig.end()
    }

    @Test func `what is no chat, and what shows nothing, is not sent`() async throws {
        let rig = try await Self.rig()
        let note = SendRig.note { $0.body = "b" }
        let wrong = [
            "", "0", "007", "+5", "5:6", "-5:", "-5:0", "-5:x", "-5:1:2", "@abc", "@a b cd",
            "-5,\"text\":\"x\"", "99999999999999999999", "abc",
        ]
        for token in wrong {
            let (requests, settled) = try await rig.prepare([
                SendRig.delivery(7, token: token, note)
            ])
            #expect(requests.isEmpty && settled.first?.reason == "malformed_token", "\(token)")
        }
        for (note, reason) in [
            (SendRig.note { $0.isSilent = true }, "nothing_to_show"),
            (SendRig.note { $0.body = " \n" }, "nothing_to_show"),
            (SendRig.note { $0.isWithdrawn = true }, "nothing_to_take_back"),
            (SendRig.note { $0.isDryRun = true }, "no_dry_run"),
        ] {
            let (requests, settled) = try await rig.prepare([
                SendRig.delivery(7, token: "5", note)
            ])
            #expect(requests.isEmpty && settled.first?.reason == reason)
        }
        await rig.end()
    }

    @Test(arguments: [
        (400, "Bad Request: chat not found", Outcome.Kind.rejected, "chat_not_found"),
        (400, "Bad Request: PEER_ID_INVALID", .rejected, "chat_not_found"),
        (400, "Bad Request: message thread not found", .unregistered, "topic_not_found"),
        (400, "Bad Request: TOPIC_CLOSED", .rejected, "topic_closed"),
        (400, "Bad Request: message is too long", .rejected, "payload_too_large"),
        (
            400, "Bad Request: not enough rights to send text messages to the chat", .rejected,
            "no_rights"
        ),
        (400, "Bad Request: inline keyboard button URL 'x' is invalid", .rejected, "invalid_link"),
        (400, "Bad Request: something new", .rejected, "bad_request"),
        (403, "Forbidden: bot was blocked by the user", .unregistered, "blocked"),
        (403, "Forbidden: user is deactivated", .unregistered, "deactivated"),
        (403, "Forbidden: bot was kicked from the group chat", .unregistered, "kicked"),
        (403, "Forbidden: bot is not a member of the channel chat", .rejected, "not_a_member"),
        (
            403, "Forbidden: bot can't initiate conversation with a user", .rejected, "not_started"
        ),
        (403, "Forbidden: bot can't send messages to bots", .rejected, "chat_is_a_bot"),
        (403, "Forbidden: something new", .rejected, "forbidden"),
        (401, "Unauthorized", .config, "unauthorized"), (404, "Not Found", .config, "unauthorized"),
        (413, "", .rejected, "payload_too_large"), (502, "Bad Gateway", .retry, "server_error"),
        (302, "", .retry, "http_3xx"),
    ])
    func `every answer has its class`(
        status: Int, words: String, kind: Outcome.Kind, reason: String
    ) async throws {
        let rig = try await Self.rig()
        let body = #"{"ok":false,"error_code":\#(status),"description":"\#(words)"}"#
        let outcome = try rig.outcome(UInt32(status), body)
        #expect(outcome.kind == kind && outcome.reason == reason)
        #expect(outcome.scope == (kind == .config ? .instance : .item))
        // What another bot's chats are answered, too.
        let isOfChat = ["chat_not_found", "not_a_member", "not_started"].contains(reason)
        #expect(outcome.suspectsToken == isOfChat)
        await rig.end()
    }

    @Test func `a message that was taken has its id, whatever else is said`() async throws {
        let rig = try await Self.rig()
        let taken = try rig.outcome(200, #"{"ok":true,"result":{"message_id":77}}"#)
        #expect(taken.kind == .delivered && taken.providerID == "77")
        #expect(try rig.outcome(200, #"{"ok":tr"#).kind == .delivered)
        await rig.end()
    }

    @Test func `a group's limit is its own, and the bot's is everybody's`() async throws {
        let rig = try await Self.rig()
        let body = #"{"ok":false,"error_code":429,"parameters":{"retry_after":14}}"#
        func outcome(_ chat: String) throws -> Outcome {
            var response = HTTPResponse(
                status: 429, headers: [], body: Array(body.utf8), items: [9])
            response.context = Array(chat.utf8)
            return try #require(rig.role.classify(app: "", responses: [response]).0.first)
        }
        for (chat, scope) in [("5", Outcome.Scope.instance), ("-5", .item), ("@news", .item)] {
            let outcome = try outcome(chat)
            #expect(outcome.kind == .throttled && outcome.scope == scope)
            #expect(outcome.retryAfterMs == 14_000)
        }
        await rig.end()
    }

    @Test func `a group that has moved is followed`() async throws {
        let rig = try await Self.rig()
        let note = SendRig.note { $0.body = "b" }
        let answer =
            #"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a "#
            + #"supergroup chat","parameters":{"migrate_to_chat_id":-1007}}"#
        var response = HTTPResponse(
            status: 400, headers: [], body: Array(answer.utf8), items: [9])
        response.context = Array("-5".utf8)
        let moved = try #require(rig.role.classify(app: "", responses: [response]).0.first)
        #expect(moved.kind == .retry && moved.reason == "chat_moved" && moved.newToken == "-1007")
        let (requests, _) = try await rig.prepare([
            SendRig.delivery(1, token: "-5", note), SendRig.delivery(2, token: "-6", note),
        ])
        #expect(requests.map { $0.body["chat_id"]?.integer } == [-1_007, -6])
        await rig.end()
    }

    @Test(arguments: [
        "1:AAE-a_token/of_a_bot", "1:AAE-a token", "1:AAE-%61", "1:AAE?x", "1:AÄE",
    ])
    func `a token that could leave its path is named at the start, and not shown`(
        token: String
    ) async throws {
        await #expect {
            _ = try await SendRig(
                "Telegram", config: #"{"bot_token":"\#(token)"}"#, services: RigServices())
        } throws: { error in
            let words = "\(error)"
            return words.contains("bot_token") && !words.contains(token)
        }
    }
}
