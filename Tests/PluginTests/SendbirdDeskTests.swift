import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct SendbirdDeskTests {
    static let config = """
        "app_id":"APP","path":"/in/desk","api_token":"desk-api-token","chat_path":"/in/desk-chat",
        "chat_tokens":["chat-token"]
        """

    static func rig(
        _ more: String = "", services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RoleRig("SendbirdDesk", config: "{\(config)\(more)}", services: services)
    }

    static func post(_ rig: RoleRig, desk body: [UInt8]) async -> IngestResult {
        let value = Hex.encode(HMACDigest.sha1(key: Array("desk-api-token".utf8), data: body))
        return await rig.handle(
            body, path: "/in/desk", headers: [("x-hub-signature", "sha1=\(value)")])
    }

    static func post(_ rig: RoleRig, chat body: [UInt8]) async -> IngestResult {
        let value = Hex.encode(HMACDigest.sha256(key: Array("chat-token".utf8), data: body))
        return await rig.handle(
            body, path: "/in/desk-chat", headers: [("x-sendbird-signature", value)])
    }

    /// A Chat webhook of a Desk channel, from an agent to a customer.
    static func message(
        type: String = "MESG", customType: String = "", data: String = "\"\"", more: String = ""
    ) -> String {
        """
        {"category":"group_channel:message_send","app_id":"APP","type":"\(type)",
        "sender":{"user_id":"sendbird_desk_agent_id_1","nickname":"Cindy"},
        "members":[{"user_id":"sendbird_desk_agent_id_1"},{"user_id":"sendbird_desk_agent_id_2"},
         {"user_id":"customer","nickname":"Kim","total_unread_message_count":3}],
        "payload":{"message_id":40620745,"custom_type":"\(customType)","message":"text","data":\(data),
         "created_at":1700000000123},
        "channel":{"channel_url":"desk_1","name":"Ticket","custom_type":"SENDBIRD_DESK_CHANNEL_CUSTOM_TYPE"}\(more)}
        """
    }

    static func build(_ rig: RoleRig, _ body: String, options: String = "{}") throws
        -> BuildResult
    {
        try rig.build(
            Event(type: "desk.message.sent", data: body),
            [
                Recipient(
                    device: Device(platform: "ios", token: "t", user: "customer"),
                    attributes: [Attribute("name", "Kim"), Attribute("unread", "3")])
            ], options: options)
    }

    @Test func `the signature vector of the fact sheet fits`() async throws {
        let rig = try await Self.rig()
        let body = #"{"category":"group_channel:message_send","app_id":"APP"}"#
        let result = await rig.handle(
            body, path: "/in/desk",
            headers: [("x-hub-signature", "sha1=db39cf1859be318dfe9f8d9d3cf18a92a567c939")])
        #expect(result.answer?.status == 200)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        nil, "", "sha1=", "sha1=zz", "db39cf1859be318dfe9f8d9d3cf18a92a567c939",
        "sha1=0000000000000000000000000000000000000000",
        "sha256=db39cf1859be318dfe9f8d9d3cf18a92a567c939",
    ])
    func `a wrong signature is refused before anything is parsed`(value: String?) async throws {
        let rig = try await Self.rig()
        for body in [#"{"category":"group_channel:message_send","app_id":"APP"}"#, "{{{"] {
            let headers = value.map { [("x-hub-signature", $0)] } ?? []
            #expect(
                await rig.handle(body, path: "/in/desk", headers: headers).fault?.kind == .auth)
            let chat = value.map { [("x-sendbird-signature", $0)] } ?? []
            #expect(
                await rig.handle(body, path: "/in/desk-chat", headers: chat).fault?.kind == .auth)
        }
        #expect(await rig.end() == [])
    }

    @Test func `hostile bodies are refused or come to nothing`() async throws {
        let rig = try await Self.rig()
        for (name, bytes) in HostileBodies.all {
            let chat = await Self.post(rig, chat: bytes)
            #expect(chat.events.isEmpty, "\(name)")
            let desk = await Self.post(rig, desk: bytes)
            #expect(desk.events.allSatisfy { $0.type == "desk.event" && $0.recipients.isEmpty })
            if let fault = desk.fault { #expect(fault.kind == .invalid, "\(name)") }
        }
        for value in HostileBodies.values {
            let body = Self.message().replacing(
                "\"payload\":{", with: "\"payload\":\(value),\"x\":{")
            let result = await Self.post(rig, chat: Array(body.utf8))
            #expect(result.events.isEmpty)
            if let fault = result.fault {
                #expect(
                    fault.message.hasPrefix("payload.message_id: must be")
                        || fault.message.hasPrefix("the body is not JSON"))
            }
        }
        #expect(await rig.end() == [])
    }

    /// Kind, custom type, `data`, and the expected result.
    static let kinds: [(type: String, custom: String, data: String, outcome: String)] = [
        ("MESG", "", "\"\"", "message"), ("FILE", "", "\"\"", "message"),
        ("MESG", "some-type", "\"plain words\"", "message"),
        (
            "MESG", "SENDBIRD_DESK_RICH_MESSAGE", "{\"type\":\"SENDBIRD_DESK_URL_PREVIEW\"}",
            "-url_preview"
        ),
        (
            "MESG", "SENDBIRD_DESK_RICH_MESSAGE",
            "{\"type\":\"SENDBIRD_DESK_INQUIRE_TICKET_CLOSURE\",\"body\":{\"state\":\"WAITING\"}}",
            "close_request"
        ),
        (
            "MESG", "SENDBIRD_DESK_RICH_MESSAGE",
            "{\"type\":\"SENDBIRD_DESK_INQUIRE_TICKET_CLOSURE\",\"body\":{\"state\":\"CONFIRMED\"}}",
            "-answered"
        ),
        (
            "MESG", "SENDBIRD_DESK_RICH_MESSAGE",
            "{\"type\":\"SENDBIRD_DESK_INQUIRE_TICKET_CLOSURE\",\"body\":{\"state\":\"DECLINED\"}}",
            "-answered"
        ),
        (
            "MESG", "SENDBIRD_DESK_RICH_MESSAGE",
            "{\"type\":\"SENDBIRD_DESK_CUSTOMER_SATISFACTION\",\"body\":{\"state\":\"WAITING\"}}",
            "satisfaction_request"
        ),
        (
            "MESG", "SENDBIRD_DESK_RICH_MESSAGE",
            "{\"type\":\"SENDBIRD_DESK_CUSTOMER_SATISFACTION\",\"body\":{\"state\":\"CONFIRMED\",\"customerSatisfactionScore\":3}}",
            "-answered"
        ),
        (
            "MESG", "SENDBIRD_DESK_BOT_MESSAGE",
            "{\"type\":\"SENDBIRD_DESK_BOT_MESSAGE_FAQ_ANSWERS\"}", "bot_message"
        ),
        ("ADMM", "", "{\"type\":\"NOTIFICATION_AUTO_CLOSED\"}", "notification"),
        ("ADMM", "", "{\"type\":\"SENDBIRD:AUTO_EVENT_MESSAGE\"}", "notification"),
        (
            "ADMM", "SENDBIRD_DESK_ADMIN_MESSAGE_CUSTOM_TYPE",
            "{\"type\":\"SYSTEM_MESSAGE_TICKET_ASSIGNED_BY_SYSTEM\"}", "-system_message"
        ),
        ("ADMM", "SENDBIRD_DESK_ADMIN_MESSAGE_CUSTOM_TYPE", "\"\"", "-system_message"),
        ("ADMM", "ADMIN_MESSAGE_CUSTOM_TYPE", "{\"type\":\"x\"}", "-system_message"),
        (
            "ADMM", "", "{\"type\":\"SYSTEM_MESSAGE_TICKET_TRANSFERRED_BY_AGENT\",\"transfer\":{}}",
            "-system_message"
        ),
        ("ADMM", "", "{\"type\":\"SYSTEM_MESSAGE_OF_NEXT_YEAR\"}", "-system_message"),
        ("MESG", "", "{\"type\":\"SYSTEM_MESSAGE_X\"}", "-system_message"),
        ("ADMM", "", "{\"type\":\"TICKET_ASSIGN\"}", "-system_message"),
        ("ADMM", "", "{\"type\":\"TICKET_TRANSFER\"}", "-system_message"),
        ("ADMM", "", "{\"type\":\"TICKET_CLOSE\"}", "-system_message"),
        ("ADMM", "", "\"\"", "-undecodable"), ("ADMM", "", "\"%%%\"", "-undecodable"),
        ("ADMM", "", "\"{\\\"type\\\":\"", "-undecodable"), ("ADMM", "", "7", "-undecodable"),
        ("ADMM", "", "null", "-undecodable"), ("ADMM", "", "[]", "-undecodable"),
        ("ADMM", "", "{}", "-undecodable"),
        ("ADMM", "", "{\"type\":\"WELCOME\"}", "-unknown_admin_message"),
    ]

    @Test(arguments: kinds.indices)
    func `who may see a message, in every form of data`(index: Int) async throws {
        let row = Self.kinds[index]
        let rig = try await Self.rig()
        var forms = [row.data]
        if row.data.hasPrefix("{") {
            forms.append(JSONValue.string(row.data).text)
            forms.append(JSONValue.string(Base64.encode(Array(row.data.utf8))).text)
            forms.append(JSONValue.string(Base64.encode(Array(row.data.utf8), url: true)).text)
        }
        for data in forms {
            let body = Self.message(type: row.type, customType: row.custom, data: data)
            let result = await Self.post(rig, chat: Array(body.utf8))
            #expect(result.fault == nil)
            #expect(result.answer?.status == 200)
            let built = try Self.build(rig, body)
            if row.outcome.hasPrefix("-") {
                #expect(result.events.isEmpty, "\(data)")
                #expect(built.contents.isEmpty, "\(data)")
                #expect(built.skips.map(\.reason) == [String(row.outcome.dropFirst())])
            } else {
                let event = try #require(result.events.first)
                #expect(try JSONValue.parse(event.data)["kind"]?.string == row.outcome)
                #expect(event.recipients.map(\.device.user) == ["customer"])
                #expect(built.contents.first?.notification.category == "desk_\(row.outcome)")
            }
        }
        #expect(await rig.end() == [])
    }

    /// An admin message without a mark of Desk: its custom type, its `data`, and whether the switch shows it.
    private static let unmarked: [(custom: String, data: String, isShown: Bool)] = [
        ("", #""""#, true), ("promo", "null", true), ("", #"{"a":1}"#, true),
        ("", #"{"type":"SHOP_CLOSED"}"#, true), ("", #""plain words""#, false),
        ("", #"{"type":"SYSTEM_MESSAGE_NEW"}"#, false), ("", #"{"type":"TICKET_CLOSE"}"#, false),
        ("SENDBIRD_DESK_ADMIN_MESSAGE_CUSTOM_TYPE", #""""#, false),
    ]

    @Test(arguments: unmarked.indices)
    func `an admin message without a system marker is shown if the switch says so`(
        index: Int
    ) async throws {
        let (custom, data, isShown) = Self.unmarked[index]
        let body = Self.message(type: "ADMM", customType: custom, data: data)
        for isOn in [false, true] {
            let rig = try await Self.rig(isOn ? #","admin_messages":"notification""# : "")
            let result = await Self.post(rig, chat: Array(body.utf8))
            #expect(result.events.isEmpty == !(isOn && isShown))
            let built = try Self.build(rig, body)
            #expect(
                built.contents.map(\.notification.category)
                    == (isOn && isShown ? ["desk_notification"] : []))
            #expect(await rig.end() == [])
        }
    }

    @Test func `a message that comes after its deletion gives no push`() async throws {
        let rig = try await Self.rig()
        let sent = Self.message()
        let deleted = await Self.post(
            rig, chat: Array(sent.replacing("message_send", with: "message_delete").utf8))
        #expect(deleted.events.map(\.type) == ["desk.message.deleted"])
        let late = await Self.post(rig, chat: Array(sent.utf8))
        #expect(late.answer?.status == 200 && late.events.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `updates and other categories are no pushes`() async throws {
        let rig = try await Self.rig()
        for category in ["group_channel:message_update", "group_channel:create", "x:y"] {
            let body = Self.message().replacing("group_channel:message_send", with: category)
            let result = await Self.post(rig, chat: Array(body.utf8))
            #expect(result.answer?.status == 200 && result.events.isEmpty)
        }
        #expect(await rig.end() == [])
    }

    @Test func `an ordinary Chat message does not belong here`() async throws {
        let rig = try await Self.rig()
        let body = Self.message().replacing("SENDBIRD_DESK_CHANNEL_CUSTOM_TYPE", with: "team")
        let result = await Self.post(rig, chat: Array(body.utf8))
        #expect(result.answer?.status == 200)
        #expect(result.rejects.map(\.reason) == ["not_desk"])
        #expect(await rig.end() == [])
    }

    static let ticket = """
        {"id":7,"channelUrl":"desk_1","channelName":"Broken lamp","priority":"HIGH","status2":"ACTIVE",
        "customer":{"sendbirdId":"customer"},
        "customFields":[{"key":"product","value":"desk"},{"field":{"key":"line"},"value":14}],
        "relatedChannels":"[{\\"channel_url\\":\\"c1\\",\\"name\\":\\"One\\"},{\\"channelUrl\\":\\"c2\\"},\\"c3\\",\\"c4\\"]"}
        """
    static let wanted = """
        {"id":"7","title":"Broken lamp","channel_url":"desk_1","priority":"high","status":"ACTIVE","customer":"customer",\
        "custom_fields":{"product":"desk","line":"14"},\
        "related_channels":[{"channel_url":"c1","name":"One"},{"channel_url":"c2"},{"channel_url":"c3"}]}
        """

    @Test func `a ticket's fields are there for routes, wherever the webhook has it`() async throws
    {
        let rig = try await Self.rig()
        let encoded = JSONValue.string("{\"ticket\":\(Self.ticket)}").text
        for body in [
            Self.message(more: ",\"ticket\":\(Self.ticket)"), Self.message(data: encoded),
            Self.message().replacing(#""name":"Ticket""#, with: "\"data\":\(encoded)"),
        ] {
            let event = try #require(await Self.post(rig, chat: Array(body.utf8)).events.first)
            #expect(try JSONValue.parse(event.data)["ticket"]?.text == Self.wanted)
            let built = try Self.build(rig, event.data)
            let data = try #require(built.contents.first).notification.data
            #expect(try JSONValue.parse(data)["desk"]?["ticket"]?["title"]?.string == "Broken lamp")
        }
        #expect(await rig.end() == [])
    }

    @Test func `a ticket can be fetched, and keeps no message back if it cannot`() async throws {
        for (status, isThere) in [(200, true), (500, false)] as [(UInt32, Bool)] {
            let services = RigServices { call in
                #expect(
                    call.url
                        == "https://desk-api-APP.sendbird.com/platform/v1/tickets?channel_url=desk_1&limit=1"
                )
                #expect(call.headers == [Attribute("sendbirddeskapitoken", "desk-api-token")])
                let body = "{\"results\":[\(Self.ticket)]}"
                return .success(PluginHTTPAnswer(status: status, body: Array(body.utf8)))
            }
            let rig = try await Self.rig(#","ticket":"fetch""#, services: services)
            let event = try #require(
                await Self.post(rig, chat: Array(Self.message().utf8)).events.first)
            #expect(
                try JSONValue.parse(event.data)["ticket"]?.text == (isThere ? Self.wanted : nil))
            #expect(await rig.end() == [])
        }
    }

    @Test func `Desk's own webhook is handed on with its ticket and customer`() async throws {
        let rig = try await Self.rig()
        let body = #"{"type":"TICKET_CREATED","ticket":\#(Self.ticket),"new":{"x":1}}"#
        let event = try #require(await Self.post(rig, desk: Array(body.utf8)).events.first)
        #expect(event.type == "desk.event")
        #expect(event.subject == "ticket/7")
        #expect(event.recipients.map(\.device.user) == ["customer"])
        let data = try JSONValue.parse(event.data)
        #expect(data["new"]?["x"]?.integer == 1)
        #expect(data["ticket"]?["priority"]?.string == "high")
        // A push without text only if a route asks for it.
        #expect(try Self.build(rig, event.data).skips.map(\.reason) == ["no_message"])
        let asked = try Self.build(rig, event.data, options: #"{"events":true}"#)
        #expect(asked.contents.count == 1)
        #expect(await rig.end() == [])
    }

    @Test func `an agents' message hides in an undocumented body as well`() async throws {
        let rig = try await Self.rig()
        for payload in [
            #"{"id":1,"custom_type":"SENDBIRD_DESK_ADMIN_MESSAGE_CUSTOM_TYPE","message":"internal"}"#,
            #"{"id":1,"type":"ADMM","message":"internal"}"#,
            #"{"id":1,"custom_type":"","data":"{\"type\":\"SYSTEM_MESSAGE_X\"}","message":"internal"}"#,
        ] {
            let body =
                #"{"custom_type":"x","ticket":{"id":7,"customer":{"sendbirdId":"customer"}},"payload":\#(payload)}"#
            #expect(await Self.post(rig, desk: Array(body.utf8)).events.isEmpty)
            #expect(try Self.build(rig, body, options: #"{"events":true}"#).contents.isEmpty)
        }
        // A ticket that is not hidden shows only the route's text.
        let other =
            #"{"ticket":{"id":7,"customer":{"sendbirdId":"customer"}},"payload":{"id":1,"message":"words"}}"#
        let built = try Self.build(rig, other, options: #"{"events":true}"#)
        #expect(built.contents.first?.notification.body == "")
        // An empty inner type does not override the outer one.
        let masked = Self.message(type: "MESG").replacing(
            #""type":"MESG""#,
            with: #""type":"MESG","custom_type":"SENDBIRD_DESK_ADMIN_MESSAGE_CUSTOM_TYPE""#)
        #expect(try Self.build(rig, masked).skips.map(\.reason) == ["system_message"])
        #expect(await rig.end() == [])
    }

    @Test(
        arguments: [
            ("customer", [("member_online", "true")], "online"),
            ("customer", [("user_online", "true")], "online"), ("customer", [], nil),
            ("sendbird_desk_agent_id_2", [], "agent"), ("sendbird_desk_agent_id_1", [], "sender"),
        ] as [(String, [(String, String)], String?)])
    func `agents, the sender and who is online get nothing`(
        user: String, attributes: [(String, String)], reason: String?
    ) async throws {
        let rig = try await Self.rig()
        let built = try rig.build(
            Event(type: "desk.message.sent", data: Self.message()),
            [
                Recipient(
                    device: Device(platform: "ios", token: "t", user: user),
                    attributes: attributes.map { Attribute($0.0, $0.1) })
            ])
        #expect(built.skips.map(\.reason) == (reason.map { [$0] } ?? []))
        #expect(built.contents.count == (reason == nil ? 1 : 0))
        #expect(await rig.end() == [])
    }

    @Test func `the payload opens the channel`() async throws {
        let rig = try await Self.rig()
        let built = try Self.build(rig, Self.message())
        let note = try #require(built.contents.first).notification
        #expect(note.title == "Cindy" && note.body == "text")
        #expect(note.thread == "desk_1")
        #expect(built.contents.first?.targets.first?.badge == 3)
        let data = try JSONValue.parse(note.data)
        #expect(data["sendbird"]?["message_id"]?.integer == 40_620_745)
        #expect(data["sendbird"]?["channel"]?["channel_url"]?.string == "desk_1")
        #expect(data["sendbird"]?["recipient"]?["name"]?.string == "Kim")
        #expect(data["desk"]?["kind"]?.string == "message")
        #expect(await rig.end() == [])
    }

    /// The members in Sendbird's documentation of push payloads, in its order.
    static let documented = [
        "category", "type", "message", "custom_type", "message_id", "created_at", "app_id",
        "unread_message_count", "channel", "channel_type", "sender", "recipient", "files",
        "translations", "push_title", "push_alert", "push_sound", "audience_type",
        "mentioned_users",
    ]

    @Test func `a push of Desk carries the sendbird object of Chat, byte for byte`() async throws {
        let templates = #","title":"","body":"{sender_name}: {message}""#
        let desk = try await Self.rig(templates)
        let chat = try await SendbirdTests.rig()
        let recipient = SendbirdTests.device("ios", SendbirdTests.bobsAttributes)
        let ticket = #"{"type":"x","ticket":{"id":7,"channelName":"Lamp","groupKey":"vip"}}"#
        let body = try PluginRig.fixture("Sendbird/message-send.json").replacing(
            #""data":"""#, with: "\"data\":\(JSONValue.string(ticket).text)")
        let ofDesk = try desk.build(Event(type: "desk.message.sent", data: body), [recipient])
        let ofChat = try chat.build(Event(type: "message.sent", data: body), [recipient])
        let note = try #require(ofDesk.contents.first).notification
        let data = try JSONValue.parse(note.data)
        let object = try #require(data["sendbird"])
        let other = try JSONValue.parse(try #require(ofChat.contents.first).notification.data)
        #expect(object.text == other["sendbird"]?.text)
        guard case .object(let members) = object else { return }
        #expect(members.map(\.key) == Self.documented)
        #expect(object["unread_message_count"]?.integer == 4)
        #expect(object["channel"]?["channel_unread_count"]?.integer == 2)
        #expect(data["desk"]?["group_key"]?.string == "vip")
        #expect(data["desk"]?["ticket"]?["title"]?.string == "Lamp")
        #expect(note.body == #"Alice: Hello "Bob""#)
        // Chat and Desk have the same overrides, which make FCM's envelope.
        #expect(note.overrides == ofChat.contents.first?.notification.overrides)
        #expect(await desk.end() == [])
        #expect(await chat.end() == [])
    }

    @Test func `the alternative template hides Desk's text as well`() async throws {
        let rig = try await Self.rig()
        let note = try #require(
            try Self.build(rig, Self.message(), options: #"{"template":"alternative"}"#)
                .contents.first
        ).notification
        #expect(note.body == "New message" && !note.data.contains("\"text\""))
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        #","ticket":{"id":7,"group_key":"vip"}"#, #","ticket":{"id":7,"groupKey":"vip"}"#,
        #","ticket":{"id":7,"group":{"id":3,"key":"vip"}}"#, #","ticket":{"group":"vip"}"#,
        #","group_key":"vip""#, #","desk":{"group_key":"vip"}"#,
    ])
    func `the team is a field that routes choose by`(more: String) async throws {
        let rig = try await Self.rig()
        let body = Self.message(more: more)
        let event = try #require(await Self.post(rig, chat: Array(body.utf8)).events.first)
        #expect(try JSONValue.parse(event.data)["desk"]?["group_key"]?.string == "vip")
        let built = try Self.build(rig, event.data)
        let data = try JSONValue.parse(try #require(built.contents.first).notification.data)
        #expect(data["desk"]?["group_key"]?.string == "vip")
        // Chat's plugin, which usually gets this webhook, writes the same field.
        let chat = try await SendbirdTests.rig()
        let sent = body.replacing(#""app_id":"APP""#, with: #""app_id":"APP-1""#)
        let other = try #require(await SendbirdTests.post(chat, sent).events.first)
        #expect(try JSONValue.parse(other.data)["desk"]?["group_key"]?.string == "vip")
        #expect(await chat.end() == [])
        #expect(await rig.end() == [])
    }

    @Test func `deleted messages and closed tickets take back what is shown`() async throws {
        let rig = try await Self.rig()
        let body = Self.message().replacing("message_send", with: "message_delete")
        let deleted = try #require(await Self.post(rig, chat: Array(body.utf8)).events.first)
        #expect(deleted.type == "desk.message.deleted")
        #expect(deleted.recipients.map(\.device.user) == ["customer"])
        let own = #"{"type":"TICKET","ticket":\#(Self.ticket)}"#
        #expect(await Self.post(rig, desk: Array(own.utf8)).events.map(\.type) == ["desk.event"])
        let events = await Self.post(
            rig, desk: Array(own.replacing("ACTIVE", with: "CLOSED").utf8)
        ).events
        #expect(events.map(\.type) == ["desk.event", "ticket.closed"])
        #expect(Set(events.map(\.dedupe)).count == 2)
        for (event, key) in [(deleted, "40620745"), (try #require(events.last), "")] {
            let online = Recipient(
                device: Device(platform: "ios", token: "t", user: "customer"),
                attributes: [Attribute("user_online", "true")])
            let note = try #require(try rig.build(event, [online]).contents.first).notification
            #expect(note.isWithdrawn && note.collapse == key && note.data.isEmpty)
        }
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#""path":"/a""#, "path needs api_token"),
        (#""chat_path":"/a""#, "chat_path needs chat_tokens"),
        (#""ticket":"fetch""#, "ticket: fetch needs api_token"),
    ])
    func `a path without its token is refused`(more: String, words: String) async throws {
        let fault = await #expect(throws: PluginFault.self) {
            _ = try await RoleRig("SendbirdDesk", config: #"{"app_id":"APP",\#(more)}"#)
        }
        #expect(fault?.message.contains(words) == true)
    }
}
