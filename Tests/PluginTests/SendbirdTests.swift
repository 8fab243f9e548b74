import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Synchronization
import Testing

@Suite struct SendbirdTests {
    static let config = #""path":"/in/sb","app_id":"APP-1","api_token":"master-api-token""#

    static func rig(
        _ more: String = "", services: RigServices = RigServices()
    ) async throws -> RoleRig {
        try await RoleRig("Sendbird", config: "{\(config)\(more)}", services: services)
    }

    static func signature(_ body: [UInt8], _ token: String = "master-api-token") -> String {
        Hex.encode(HMACDigest.sha256(key: Array(token.utf8), data: body))
    }

    static func post(_ rig: RoleRig, _ body: [UInt8]) async -> IngestResult {
        await rig.handle(
            body, path: "/in/sb", headers: [("x-sendbird-signature", signature(body))])
    }

    static func post(_ rig: RoleRig, _ body: String) async -> IngestResult {
        await post(rig, Array(body.utf8))
    }

    // MARK: Signature

    @Test func `the signature vector of the fact sheet fits`() async throws {
        let body = Array(#"{"category":"group_channel:message_send","app_id":"APP"}"#.utf8)
        let value = "7a28a9867a4077bc4b90dd73d7bffdc4fb325b75329c77b3bbace93d75a007a7"
        let rig = try await RoleRig(
            "Sendbird",
            config: #"{"path":"/in/sb","app_id":"APP","api_token":"master-api-token"}"#)
        let result = await rig.handle(
            body, path: "/in/sb", headers: [("x-sendbird-signature", value)])
        #expect(result.fault?.kind == .invalid)
        #expect(result.fault?.message == "payload.message_id: is required")
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        nil, "", "zz", "00", String(repeating: "0", count: 64),
        "7A28A9867A4077BC4B90DD73D7BFFDC4FB325B75329C77B3BBACE93D75A007",
    ])
    func `a wrong signature is refused before anything is parsed`(value: String?) async throws {
        let rig = try await Self.rig()
        let headers = value.map { [("x-sendbird-signature", $0)] } ?? []
        for body in ["{}", "not JSON at all {{{"] {
            let result = await rig.handle(body, path: "/in/sb", headers: headers)
            #expect(result.fault?.kind == .auth)
        }
        #expect(rig.services.counts.filter { $0.key == "webhooks_total" && $0.value > 0 } == [:])
        #expect(await rig.end() == [])
    }

    @Test func `while tokens are changed both sign`() async throws {
        let rig = try await Self.rig(#","webhook_tokens":["next-token","old-token"]"#)
        let body = Array(#"{"category":"user:block"}"#.utf8)
        for token in ["master-api-token", "next-token", "old-token"] {
            let result = await rig.handle(
                body, path: "/in/sb",
                headers: [("x-sendbird-signature", Self.signature(body, token))])
            #expect(result.answer?.status == 200, "\(token)")
        }
        let other = await rig.handle(
            body, path: "/in/sb",
            headers: [("x-sendbird-signature", Self.signature(body, "other"))])
        #expect(other.fault?.kind == .auth)
        #expect(await rig.end() == [])
    }

    @Test func `hostile bodies are refused with a reason`() async throws {
        let rig = try await Self.rig()
        for (name, bytes) in HostileBodies.all {
            let result = await Self.post(rig, bytes)
            #expect(result.fault?.kind == .invalid, "\(name)")
            #expect(result.events.isEmpty, "\(name)")
        }
        #expect(await rig.end() == [])
    }

    @Test func `a wrong type anywhere harms nobody, and is named by its path`() async throws {
        let rig = try await Self.rig()
        let good = try JSONValue.parse(PluginRig.fixture("Sendbird/message-send.json"))
        guard case .object(let members) = good else { return }
        for member in members {
            for value in HostileBodies.values {
                let text = members.map {
                    JSONValue.string($0.key).text + ":"
                        + ($0.key == member.key ? value : $0.value.text)
                }.joined(separator: ",")
                let result = await Self.post(rig, "{\(text)}")
                if let fault = result.fault {
                    #expect(fault.kind == .invalid)
                    #expect(fault.message.contains(member.key) || fault.message.contains("JSON"))
                }
            }
        }
        for (path, from, to) in [
            ("payload.message_id", "9007199254740993", "\"x\""),
            ("payload.created_at", "1700000000123", "[1]"),
            ("channel.channel_url", "\"sendbird_group_channel_1\"", "7"),
            (
                "sender.user_id",
                "\"user_id\":\"alice\",\"nickname\":\"Alice\",\"profile_url\":\"https",
                "\"user_id\":{},\"profile_url\":\"https"
            ),
        ] {
            let body = good.text.replacing(from, with: to)
            let fault = try #require(await Self.post(rig, body).fault)
            #expect(fault.message.hasPrefix("\(path): must be"), "\(fault.message)")
        }
        #expect(await rig.end() == [])
    }

    // MARK: Members

    /// One member besides the sender, with these fields changed.
    static func message(_ member: String, more: String = "", sender: String = "alice") -> String {
        """
        {"category":"group_channel:message_send","app_id":"APP-1","type":"MESG","sender":{"user_id":"\(sender)",
        "nickname":"A"},"mention_type":"users","mentioned_users":[{"user_id":"carol"}]\(more),
        "members":[{"user_id":"alice"},{"user_id":"bob"\(member)}],
        "payload":{"message_id":1,"message":"m","created_at":1},"channel":{"channel_url":"c","name":"C"}}
        """
    }

    @Test(arguments: [
        ("", "", true), (#","state":"invited""#, "", false), (#","state":"joined""#, "", true),
        (#","push_enabled":false"#, "", false), (#","do_not_disturb":true"#, "", false),
        (#","is_blocking_sender":true"#, "", false), (#","is_blocked_by_sender":true"#, "", true),
        (#","push_trigger_option":"off""#, "", false),
        (#","push_trigger_option":"all""#, "", true),
        (#","push_trigger_option":"default""#, "", true),
        (#","push_trigger_option":"mention_only""#, "", false),
        (#","push_trigger_option":"mention_only""#, #","mention_type":"channel""#, false),
        ("", #","silent":true"#, false), (#","is_online":true"#, "", true),
        (#","future_field":{"a":1}"#, #","future":[1]"#, true),
        (#","push_enabled":"false""#, "", false), (#","push_enabled":"true""#, "", true),
        (#","do_not_disturb":"true""#, "", false), (#","do_not_disturb":"0""#, "", true),
        (#","is_blocking_sender":"TRUE""#, "", false), (#","is_blocking_sender":1"#, "", false),
        ("", #","silent":"true""#, false), ("", #","silent":"false""#, true),
    ])
    func `members are filtered as the documentation says`(
        member: String, more: String, isChosen: Bool
    ) async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, Self.message(member, more: more))
        #expect(result.fault == nil)
        #expect(result.answer?.status == 200)
        let users = result.events.first?.recipients.map(\.device.user) ?? []
        #expect(users == (isChosen ? ["bob"] : []))
        #expect(await rig.end() == [])
    }

    @Test func `who is mentioned gets it with mention_only`() async throws {
        let rig = try await Self.rig()
        let mentioned = Self.message(#","push_trigger_option":"mention_only""#).replacing(
            #""user_id":"carol""#, with: #""user_id":"bob""#)
        let result = await Self.post(rig, mentioned)
        #expect(result.events.first?.recipients.map(\.device.user) == ["bob"])
        let channel = Self.message(#","push_trigger_option":"mention_only""#).replacing(
            #""mention_type":"users""#, with: #""mention_type":"channel""#)
        let all = await Self.post(rig, channel)
        #expect(all.events.first?.recipients.map(\.device.user) == ["bob"])
        #expect(await rig.end() == [])
    }

    @Test func `one malformed member harms no other`() async throws {
        let rig = try await Self.rig()
        let body = Self.message("").replacing(
            #"{"user_id":"alice"}"#, with: #"{"user_id":7},null,"x",{"user_id":"alice"}"#)
        let result = await Self.post(rig, body)
        #expect(result.events.first?.recipients.map(\.device.user) == ["bob"])
        #expect(result.rejects.map(\.reason) == Array(repeating: "malformed_member", count: 3))
        #expect(result.rejects.first?.detail == "members.0.user_id must be text")
        #expect(await rig.end() == [])
    }

    @Test func `the event has subject, key, time and the webhook's data without members`()
        async throws
    {
        let rig = try await Self.rig()
        let result = await Self.post(rig, try PluginRig.fixture("Sendbird/message-send.json"))
        let event = try #require(result.events.first)
        #expect(event.type == "message.sent")
        #expect(event.subject == "channel/sendbird_group_channel_1")
        #expect(event.dedupe == "APP-1 message_send 9007199254740993")
        #expect(event.dedupeWindowMs == 600_000)
        #expect(event.timeUnixMs == 1_700_000_000_123)
        let data = try JSONValue.parse(event.data)
        #expect(data["members"] == nil && data["sender_ip_addr"] == nil)
        #expect(data["channel"]?["name"]?.string == "Team")
        let bob = try #require(event.recipients.first)
        #expect(bob.attributes.contains(Attribute("unread", "4")))
        #expect(bob.attributes.contains(Attribute("mentioned", "true")))
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("", "message"), (#","parent_message_id":7"#, "reply"),
        (#","announcement_id":"a-1""#, "announcement"),
        (#","announcement":{"id":1}"#, "announcement"),
        (#","is_announcement":false"#, "message"), (#","kind":"x","channel_type":"y""#, "message"),
        (#","channel":{"channel_url":"c","is_chat_notification":true}"#, "notification"),
        (#","channel":{"channel_url":"c","is_feed":true}"#, "notification"),
        (#","channel":{"channel_url":"c","channel_type":"notification_feed"}"#, "notification"),
        (
            #","channel":{"channel_url":"c","custom_type":"SENDBIRD_NOTIFICATION_CHANNEL_X"}"#,
            "notification"
        ),
    ])
    func `what a message is, is a field that routes choose by`(more: String, kind: String)
        async throws
    {
        let rig = try await Self.rig()
        var body = Self.message("", more: more)
        if more.contains("channel_url") {
            body = body.replacing(#","channel":{"channel_url":"c","name":"C"}"#, with: "")
        }
        let event = try #require(await Self.post(rig, body).events.first)
        let data = try JSONValue.parse(event.data)
        #expect(data["kind"]?.string == kind)
        #expect(data["channel_type"]?.string == "group_messaging")
        #expect(await rig.end() == [])
    }

    @Test func `texts that repeat the message may be shortened, and a switch wakes the extension`()
        async throws
    {
        for (more, isMutable) in [("", false), (#","mutable_content":true"#, true)] {
            let rig = try await Self.rig(more)
            let built = try rig.build(try Self.event(), [Self.device("ios", Self.bobsAttributes)])
            let note = try #require(built.contents.first).notification
            #expect(note.isMutable == isMutable)
            #expect(
                note.overrides.first { $0.family == "shorten" }?.json.hasPrefix(
                    #"{"places":["/sendbird/push_alert","/sendbird/message","/sendbird/translations","/sendbird/push_title","/sendbird/channel/name","/sendbird/sender/name","/message"],"omit":["/sendbird/files/*/thumbnails","/sendbird/files/*","#
                ) == true)
            #expect(await rig.end() == [])
            // The same switch in Desk, which shares the code.
            let desk = try await SendbirdDeskTests.rig(more)
            let other = try SendbirdDeskTests.build(desk, SendbirdDeskTests.message())
            #expect(other.contents.first?.notification.isMutable == isMutable)
            #expect(await desk.end() == [])
        }
    }

    @Test(arguments: [
        "group_channel:create", "user:block", "open_channel:message_send", "some_day:new_thing",
    ])
    func `every other category is answered 200 and counted`(category: String) async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, #"{"category":"\#(category)","x":[1]}"#)
        #expect(result.answer?.status == 200)
        #expect(result.events.isEmpty)
        #expect(rig.services.counts["webhooks_total"] == 1)
        #expect(await rig.end() == [])
    }

    @Test func `another application's webhook is left out`() async throws {
        let rig = try await Self.rig()
        let result = await Self.post(
            rig, #"{"category":"group_channel:message_send","app_id":"OTHER"}"#)
        #expect(result.answer?.status == 200)
        #expect(result.rejects.map(\.reason) == ["other_app"])
        #expect(await rig.end() == [])
    }

    static let noMembers = """
        {"category":"group_channel:message_send","app_id":"APP-1","sender":{"user_id":"alice"},
        "payload":{"message_id":1,"message":"m"},"channel":{"channel_url":"c/1","is_super":false}}
        """

    @Test func `without members the reason is clear`() async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, Self.noMembers)
        #expect(result.answer?.status == 200)
        #expect(result.rejects.map(\.reason) == ["no_members"])
        #expect(result.rejects.first?.detail.contains("members: fetch") == true)
        #expect(await rig.end() == [])
    }

    @Test func `members are fetched page by page, if that is wanted`() async throws {
        let services = RigServices { call in
            if call.headers.first?.value != "master-api-token" {
                return .success(PluginHTTPAnswer(status: 403))
            }
            guard
                call.url.hasPrefix("https://api-APP-1.sendbird.com/v3/group_channels/c%2F1/members")
            else { return .success(PluginHTTPAnswer(status: 404)) }
            let isSecond = call.url.contains("&token=page%202")
            let body =
                isSecond
                ? #"{"members":[{"user_id":"carol","state":"joined"}],"next":""}"#
                : #"{"members":[{"user_id":"alice"},{"user_id":"bob","state":"invited"}],"next":"page 2"}"#
            return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
        }
        let rig = try await Self.rig(#","members":"fetch""#, services: services)
        let result = await Self.post(rig, Self.noMembers)
        #expect(result.fault == nil)
        #expect(result.answer?.status == 200)
        #expect(result.events.first?.recipients.map(\.device.user) == ["carol"])
        #expect(services.calls.filter { $0.url.contains("/members") }.count == 2)
        #expect(await rig.end() == [])
    }

    /// A Platform API with one member and these counts; "": no count.
    static func counting(_ total: String, _ channel: String) -> RigServices {
        RigServices { call in
            let path = call.url.replacing("https://api-APP-1.sendbird.com/v3", with: "")
            let body =
                if path.hasPrefix("/group_channels/c%2F1/members") {
                    #"{"members":[{"user_id":"bo b","state":"joined"}],"next":""}"#
                } else if path == "/users/bo%20b/unread_message_count" {
                    total
                } else if path == "/group_channels/c%2F1/messages/unread_count?user_ids=bo%20b" {
                    channel
                } else {
                    ""
                }
            return .success(
                PluginHTTPAnswer(status: body.isEmpty ? 500 : 200, body: Array(body.utf8)))
        }
    }

    @Test(arguments: [
        (#"{"unread_count":5}"#, #"{"unread":{"bo b":2}}"#, "5", "2"),
        (#"{"unread_count":"5"}"#, #"{"unread":{"bo b":"2"}}"#, "5", "2"),
        (#"{"unread_count":5}"#, "", "5", nil), ("", #"{"unread":{"bo b":2}}"#, nil, "2"),
        ("", "", nil, nil), ("[]", #"{"unread":[]}"#, nil, nil),
    ])
    func `fetched members come with their counts`(
        total: String, channel: String, unread: String?, channelUnread: String?
    ) async throws {
        let rig = try await Self.rig(
            #","members":"fetch""#, services: Self.counting(total, channel))
        let result = await Self.post(rig, Self.noMembers)
        #expect(result.answer?.status == 200)
        let bob = try #require(result.events.first?.recipients.first)
        #expect(bob.attributes.first { $0.key == "unread" }?.value == unread)
        #expect(bob.attributes.first { $0.key == "channel_unread" }?.value == channelUnread)
        let unknown = [unread, channelUnread].filter { $0 == nil }.count
        #expect(rig.services.counts["counts_unavailable_total"] ?? 0 == Int64(unknown))
        #expect(await rig.end() == [])
    }

    @Test func `members with counts are not asked about again`() async throws {
        let services = RigServices { _ in
            let body = """
                {"members":[{"user_id":"bob","total_unread_message_count":"4","channel_unread_message_count":0}]}
                """
            return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
        }
        let rig = try await Self.rig(#","members":"fetch""#, services: services)
        let result = await Self.post(rig, Self.noMembers)
        let bob = try #require(result.events.first?.recipients.first)
        #expect(bob.attributes.contains(Attribute("unread", "4")))
        #expect(bob.attributes.contains(Attribute("channel_unread", "0")))
        #expect(services.calls.count == 1)
        #expect(await rig.end() == [])
    }

    @Test func `a count written as text is a count`() async throws {
        let rig = try await Self.rig()
        let body = Self.message(
            #","total_unread_message_count":"3","channel_unread_message_count":"1""#)
        let bob = try #require(await Self.post(rig, body).events.first?.recipients.first)
        #expect(bob.attributes.contains(Attribute("unread", "3")))
        #expect(bob.attributes.contains(Attribute("channel_unread", "1")))
        let read = """
            {"category":"group_channel:message_read","channel":{"channel_url":"c"},
            "read_updates":[{"user_id":"bob","total_unread_message_count":"3"}]}
            """
        let event = try #require(await Self.post(rig, read).events.first)
        let counts = [Attribute("unread", "3"), Attribute("badge", "3")]
        #expect(event.recipients.first?.attributes == counts)
        #expect(await rig.end() == [])
    }

    @Test(
        arguments: [
            .success(PluginHTTPAnswer(status: 500)),
            .success(PluginHTTPAnswer(status: 200, body: Array("{}".utf8))),
            .success(PluginHTTPAnswer(status: 200, body: Array("<html>".utf8))),
            .failure(PluginFault(.tooLarge, "the answer is too large")),
        ] as [Result<PluginHTTPAnswer, PluginFault>])
    func `members that cannot be had make the sender come again`(
        answer: Result<PluginHTTPAnswer, PluginFault>
    ) async throws {
        let rig = try await Self.rig(
            #","members":"fetch""#, services: RigServices { _ in answer })
        let result = await Self.post(rig, Self.noMembers)
        #expect(result.fault?.kind == .again)
        #expect(await rig.end() == [])
    }

    // MARK: Preferences

    /// 2023-11-14T22:13:20Z: 23:13 in Vienna, 07:13 of the next day in Tokyo.
    static let now: UInt64 = 1_700_000_000_000

    @Test(arguments: [
        (#""push_trigger_option":"all""#, true), (#""push_trigger_option":"off""#, false),
        (#""push_trigger_option":"mention_only""#, false),
        (#""do_not_disturb":true,"start_hour":22,"end_hour":7,"timezone":"Europe/Vienna""#, false),
        (#""do_not_disturb":true,"start_hour":22,"end_hour":7,"timezone":"Asia/Tokyo""#, true),
        (
            #""do_not_disturb":true,"start_hour":7,"start_min":13,"end_hour":8,"timezone":"Asia/Tokyo""#,
            false
        ),
        (
            #""do_not_disturb":true,"start_hour":7,"start_min":14,"end_hour":8,"timezone":"Asia/Tokyo""#,
            true
        ),
        (
            #""do_not_disturb":true,"start_hour":23,"end_hour":23,"end_min":13,"timezone":"Europe/Vienna""#,
            true
        ),
        (#""do_not_disturb":true,"start_hour":22,"end_hour":22,"timezone":"No/Where""#, false),
        (#""do_not_disturb":false,"start_hour":22,"end_hour":7,"timezone":"Europe/Vienna""#, true),
        (
            #""snooze_enabled":true,"snooze_start_ts":1699999999000,"snooze_end_ts":1700000001000"#,
            false
        ),
        (#""snooze_enabled":true,"snooze_start_ts":1,"snooze_end_ts":2"#, true),
        (
            #""do_not_disturb":"true","start_hour":"22","end_hour":"7","timezone":"Europe/Vienna""#,
            false
        ),
        (#""do_not_disturb":"false","start_hour":22,"end_hour":22,"timezone":"UTC""#, true),
        (#""push_blocked_bot_ids":["alice"]"#, false), ("", true),
    ])
    func `preferences and quiet hours are honoured in the user's zone`(
        preference: String, isChosen: Bool
    ) async throws {
        let services = RigServices(nowUnixMs: Self.now) { call in
            guard call.url == "https://api-APP-1.sendbird.com/v3/users/bob/push_preference" else {
                return .success(PluginHTTPAnswer(status: 404))
            }
            return .success(PluginHTTPAnswer(status: 200, body: Array("{\(preference)}".utf8)))
        }
        let rig = try await Self.rig(#","preferences":"fetch""#, services: services)
        for _ in 0..<2 {
            let result = await Self.post(rig, Self.message(""))
            #expect(result.fault == nil)
            #expect((result.events.first?.recipients.count ?? 0) == (isChosen ? 1 : 0))
        }
        // The second answers came from the cache; templates are asked for of those who are left.
        #expect(services.calls.count == (isChosen ? 2 : 1))
        #expect(await rig.end() == [])
    }

    @Test func `a preference that cannot be had is not a no`() async throws {
        let rig = try await Self.rig(
            #","preferences":"fetch""#,
            services: RigServices { _ in .failure(PluginFault(.unreachable, "down")) })
        let result = await Self.post(rig, Self.message(""))
        #expect(result.events.first?.recipients.map(\.device.user) == ["bob"])
        #expect(rig.services.counts["preferences_unavailable_total"] == 1)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (200 as UInt32, #"{"name":"alternative"}"#, true), (200, #"{"name":"default"}"#, false),
        (200, "{}", false), (400, #"{"error":true,"code":400201}"#, false), (500, "", true),
        (429, "", true),
    ])
    func `who has chosen the alternative template sees nothing of the text`(
        status: UInt32, answer: String, isHidden: Bool
    ) async throws {
        let services = RigServices(nowUnixMs: Self.now) { call in
            call.url == "https://api-APP-1.sendbird.com/v3/users/bob/push/template"
                ? .success(PluginHTTPAnswer(status: status, body: Array(answer.utf8)))
                : .success(PluginHTTPAnswer(status: 200, body: Array("{}".utf8)))
        }
        let rig = try await Self.rig(#","preferences":"fetch""#, services: services)
        let result = await Self.post(rig, Self.message(""))
        let event = try #require(result.events.first)
        var bob = try #require(event.recipients.first)
        bob.device.platform = "ios"
        let note = try #require(try rig.build(event, [bob]).contents.first).notification
        #expect(note.body == (isHidden ? "New message" : "A: m"))
        #expect(note.data.contains(#""message":"m""#) == !isHidden)
        let unknown = rig.services.counts["templates_unavailable_total"] ?? 0
        #expect(unknown == (status == 500 || status == 429 ? 1 : 0))
        #expect(await rig.end() == [])
    }

    // MARK: Supergroups

    /// A Platform API whose channel has so many members besides the sender.
    private static func channel(members count: Int) -> RigServices {
        RigServices(nowUnixMs: now) { call in
            guard call.url.contains("/members") else {
                return .success(PluginHTTPAnswer(status: 500))
            }
            let isSecond = call.url.contains("&token=2")
            let range = isSecond ? 100..<max(100, count) : 0..<min(100, count)
            let members = range.map { #"{"user_id":"m\#($0)","state":"joined"}"# }
            let body =
                #"{"members":[\#(members.joined(separator: ","))],"next":"\#(count > 100 && !isSecond ? "2" : "")"}"#
            return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
        }
    }

    private static func toSuperGroup(_ id: Int, _ category: String = "message_send") -> String {
        noMembers.replacing(#""is_super":false"#, with: #""is_super":"true""#)
            .replacing(#""message_id":1"#, with: #""message_id":\#(id)"#)
            .replacing("message_send", with: category)
    }

    @Test(arguments: [(99, true), (100, false), (150, false)])
    func `a supergroup gets every message below 100 members, above one in ten minutes`(
        count: Int, everyMessage: Bool
    ) async throws {
        let services = Self.channel(members: count)
        let rig = try await Self.rig(#","members":"fetch""#, services: services)
        func pushed(_ body: String) async -> Int {
            let result = await Self.post(rig, body)
            #expect(result.answer?.status == 200 && result.rejects.isEmpty)
            return result.events.first?.recipients.count ?? 0
        }
        #expect(await pushed(Self.toSuperGroup(1)) == count)
        #expect(await pushed(Self.toSuperGroup(2)) == (everyMessage ? count : 0))
        // Sendbird sends the first again: its answer was lost.
        #expect(await pushed(Self.toSuperGroup(1)) == count)
        #expect(
            services.counts["members_skipped_total"] ?? 0 == (everyMessage ? 0 : 1))
        // A deletion is for everybody, at once.
        #expect(await pushed(Self.toSuperGroup(1, "message_delete")) == count)
        #expect(await rig.end() == [])
    }

    @Test func `without fetch a supergroup's message says what is missing`() async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, Self.toSuperGroup(1))
        #expect(result.answer?.status == 200 && result.events.isEmpty)
        #expect(result.rejects.map(\.reason) == ["super_group"])
        #expect(result.rejects.first?.detail.contains("members: fetch") == true)
        #expect(await rig.end() == [])
    }

    // MARK: Order

    @Test func `a message that comes after its deletion gives no push`() async throws {
        let rig = try await Self.rig()
        let sent = Self.message("")
        let deleted = await Self.post(
            rig, sent.replacing("message_send", with: "message_delete"))
        #expect(deleted.events.map(\.type) == ["message.deleted"])
        let late = await Self.post(rig, sent)
        #expect(late.answer?.status == 200 && late.events.isEmpty)
        #expect(rig.services.counts["members_skipped_total"] == 1)
        let other = await Self.post(
            rig, sent.replacing(#""message_id":1"#, with: #""message_id":2"#))
        #expect(other.events.map(\.type) == ["message.sent"])
        #expect(await rig.end() == [])
    }

    // MARK: Build

    static func device(
        _ platform: String = "ios", user: String = "bob", locale: String = "",
        _ attributes: [(String, String)] = []
    ) -> Recipient {
        Recipient(
            device: Device(platform: platform, token: "t", user: user, locale: locale),
            attributes: attributes.map { Attribute($0.0, $0.1) })
    }

    static let bobsAttributes = [("name", "Bob"), ("unread", "4"), ("channel_unread", "2")]

    static func event(_ fixture: String = "message-send") throws -> Event {
        var json = try JSONValue.parse(PluginRig.fixture("Sendbird/\(fixture).json"))
        if case .object(let members) = json {
            json = .object(members.filter { $0.key != "members" && $0.key != "sender_ip_addr" })
        }
        return Event(type: "message.sent", data: json.text)
    }

    @Test func `the sendbird object is that of the documentation, byte for byte`() async throws {
        let rig = try await Self.rig()
        let built = try rig.build(
            try Self.event(), [Self.device("ios", Self.bobsAttributes)])
        let content = try #require(built.contents.first)
        let wanted = try PluginRig.fixture("Sendbird/push-object.json")
        #expect(content.notification.data == #"{"sendbird":\#(wanted)}"#)
        #expect(content.notification.title == "")
        #expect(content.notification.body == #"Alice: Hello "Bob""#)
        #expect(content.notification.sound == "default")
        #expect(content.notification.isDataOnly)
        #expect(content.targets.first?.badge == 4)
        #expect(await rig.end() == [])
    }

    @Test func `switches of the dashboard`() async throws {
        let rig = try await Self.rig(
            #"""
            ,"unread_badge":false,"channel_unread_count":false,"mentioned_users":"list",
            "title":"{channel_name} ({unknown})","body":"{sender_name} says {message}","sound":"ping.caf",
            "audience_type":"members"
            """#)
        let built = try rig.build(
            try Self.event(), [Self.device("ios", Self.bobsAttributes)],
            options: #"{"alert":"string"}"#)
        let note = try #require(built.contents.first?.notification)
        #expect(built.contents.first?.targets.first?.badge == nil)
        #expect(note.title == "Team ({unknown})")
        #expect(note.body == #"Alice says Hello "Bob""#)
        let object = try #require(try JSONValue.parse(note.data)["sendbird"])
        #expect(object["channel"]?["channel_unread_count"] == nil)
        #expect(object["push_title"]?.string == "Team ({unknown})")
        #expect(object["push_sound"]?.string == "ping.caf")
        #expect(object["audience_type"]?.string == "members")
        #expect(object["mentioned_users"]?[0]?["user_id"]?.string == "bob")
        let apns = try #require(note.overrides.first { $0.family == "apns" })
        #expect(apns.json == #"{"aps":{"alert":"Alice says Hello \"Bob\""}}"#)
        #expect(await rig.end() == [])
    }

    @Test func `the alternative template shows nothing of the message`() async throws {
        let rig = try await Self.rig()
        for fixture in ["message-send", "file-send"] {
            let built = try rig.build(
                try Self.event(fixture), [Self.device("ios", Self.bobsAttributes)],
                options: #"{"template":"alternative"}"#)
            let note = try #require(built.contents.first?.notification)
            #expect(note.body == "New message")
            let all = note.data + note.overrides.map(\.json).joined() + note.title + note.body
            for secret in ["Hello", "Hallo", "Oi", "report.pdf", "file.example"] {
                #expect(!all.contains(secret), "\(secret)")
            }
        }
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("de", "Hallo"), ("de-AT", "Hallo"), ("de_DE", "Hallo"), ("pt-BR", "Oi"), ("pt", "Hello"),
        ("PT-br", "Oi"), ("fr", "Hello"), ("", "Hello"),
    ])
    func `a device reads the message in its own language`(
        locale: String, word: String
    ) async throws {
        let rig = try await Self.rig()
        let built = try rig.build(
            try Self.event(), [Self.device(locale: locale, Self.bobsAttributes)])
        let note = try #require(built.contents.first).notification
        #expect(note.body == #"Alice: \#(word) "Bob""#)
        // The sender's text is unchanged.
        let object = try #require(try JSONValue.parse(note.data)["sendbird"])
        #expect(object["message"]?.string == #"Hello "Bob""#)
        #expect(object["push_alert"]?.string == note.body)
        let fcm = try JSONValue.parse(
            try #require(note.overrides.first { $0.family == "fcm" }).json)
        #expect(fcm["data"]?["message"]?.string == #"Hello "Bob""#)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#""is_distinct":true"#, "messaging"), (#""is_distinct":false"#, "group_messaging"),
        (#""is_distinct":false,"is_public":true"#, "chat"),
        (#""is_distinct":false,"is_super":true"#, "chat"),
        (#""is_distinct":"true""#, "messaging"),
        (#""is_distinct":"false","is_public":"true""#, "chat"),
    ])
    func `channel_type follows the channel`(flags: String, type: String) async throws {
        let rig = try await Self.rig()
        let data = """
            {"type":"MESG","payload":{"message_id":"12","message":"m"},"channel":{"channel_url":"c",\(flags)}}
            """
        let built = try rig.build(
            Event(type: "message.sent", data: data), [Self.device()])
        let object = try JSONValue.parse(try #require(built.contents.first).notification.data)
        #expect(object["sendbird"]?["channel_type"]?.string == type)
        #expect(object["sendbird"]?["message_id"]?.integer == 12)
        #expect(await rig.end() == [])
    }

    @Test func `a file goes with its fields, and an admin message without a sender`() async throws {
        let rig = try await Self.rig()
        let file = try rig.build(try Self.event("file-send"), [Self.device()])
        let content = try #require(file.contents.first)
        let object = try #require(try JSONValue.parse(content.notification.data)["sendbird"])
        #expect(
            object["files"]?.text
                == #"[{"name":"report.pdf","url":"https://file.example/report.pdf","type":"application/pdf","size":1234}]"#
        )
        #expect(file.contents.first?.notification.body == "Alice: report.pdf")
        let admin = try rig.build(
            Event(
                type: "message.sent",
                data:
                    #"{"type":"ADMM","payload":{"message_id":1,"message":"Welcome"},"channel":{}}"#),
            [Self.device()])
        #expect(admin.contents.first?.notification.body == "Welcome")
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("image/jpeg", "Image"), ("video/mp4", "Video"), ("AUDIO/aac", "Audio"),
        ("application/pdf", "File"), ("", "File"),
    ])
    func `the dashboard's variables are filled in`(type: String, word: String) async throws {
        let rig = try await Self.rig(
            #","file_body":"{sender_name}: {file_type_friendly} {filename} in {channel_name}""#
                + #","alternative_body":"{file_type_friendly}""#)
        let event = Event(
            type: "message.sent",
            data: """
                {"type":"FILE","sender":{"nickname":"A"},"channel":{"name":"C"},
                "payload":{"message_id":1,"filename":"f","type":"\(type)"}}
                """)
        let shown = try rig.build(event, [Self.device()])
        #expect(shown.contents.first?.notification.body == "A: \(word) f in C")
        let hidden = try rig.build(event, [Self.device()], options: #"{"template":"alternative"}"#)
        #expect(hidden.contents.first?.notification.body == word)
        #expect(await rig.end() == [])
    }

    @Test func `devices of one user share a content, users do not`() async throws {
        let rig = try await Self.rig()
        let built = try rig.build(
            try Self.event(),
            [
                Self.device("ios", Self.bobsAttributes),
                Self.device("android", Self.bobsAttributes),
                Self.device("ios", user: "carol", [("unread", "9")]),
            ])
        #expect(built.contents.map { $0.targets.map(\.recipient) } == [[0, 1], [2]])
        #expect(built.contents.last?.targets.first?.badge == 9)
        #expect(await rig.end() == [])
    }

    /// "Enable multi-device support": rule, who is online (o) and offline (-), who gets it.
    @Test(arguments: [
        ("all_offline", "-", "1"), ("all_offline", "o", "0"), ("any_offline", "-", "1"),
        ("any_offline", "o", "0"), ("all_offline", "--", "11"), ("all_offline", "o-", "00"),
        ("all_offline", "-o", "00"), ("all_offline", "oo", "00"), ("any_offline", "--", "11"),
        ("any_offline", "o-", "01"), ("any_offline", "-o", "10"), ("any_offline", "oo", "00"),
        ("all_offline", "--o", "000"), ("any_offline", "-o-", "101"), ("always", "o-", "11"),
    ])
    func `several devices, as the table says`(
        rule: String, devices: String, pushes: String
    ) async throws {
        let rig = try await Self.rig(#","multi_device":"\#(rule)""#)
        let isAny = devices.contains("o")
        let recipients = devices.map { state in
            Self.device(
                "ios",
                Self.bobsAttributes + [
                    ("online", state == "o" ? "true" : "false"),
                    ("user_online", isAny ? "true" : "false"),
                ])
        }
        let built = try rig.build(try Self.event(), recipients)
        let chosen = Set(built.contents.flatMap(\.targets).map(\.recipient))
        let shown = devices.indices.enumerated().map { chosen.contains($0.offset) ? "1" : "0" }
        #expect(shown.joined() == pushes)
        #expect(built.skips.allSatisfy { $0.reason == "online" })
        #expect(await rig.end() == [])
    }

    @Test func `who is online at Sendbird counts as online everywhere`() async throws {
        let rig = try await Self.rig()
        let built = try rig.build(
            try Self.event(),
            [Self.device("ios", [("member_online", "true"), ("online", "false")])])
        #expect(built.contents.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `messages of Desk never leave through this builder`() async throws {
        let rig = try await Self.rig()
        for (type, custom, data) in [
            ("desk", "SENDBIRD_DESK_CHANNEL_CUSTOM_TYPE", ""),
            ("chat", "", #"{\"type\":\"SYSTEM_MESSAGE_TICKET_ASSIGNED_BY_SYSTEM\"}"#),
        ] {
            let body = Self.message("").replacing(
                #""name":"C""#, with: #""name":"C","custom_type":"\#(custom)""#
            ).replacing(#""message":"m""#, with: #""message":"m","data":"\#(data)""#)
            let event = try #require(await Self.post(rig, body).events.first, "\(type)")
            #expect(event.type == "desk.message.sent")
            let built = try rig.build(event, [Self.device()])
            #expect(built.contents.isEmpty)
            #expect(built.skips.map(\.reason) == ["desk_message"])
        }
        #expect(await rig.end() == [])
    }

    @Test func `a ticket's fields are there for routes`() async throws {
        let rig = try await Self.rig()
        let ticket = #"""
            {\"ticket\":{\"id\":7,\"channelName\":\"Lamp\",\"channelUrl\":\"u\",\"priority\":\"HIGH\",\"customFields\":[{\"key\":\"product\",\"value\":\"desk\"}],\"relatedChannels\":[]}}
            """#
        let body = Self.message("").replacing(
            #""name":"C""#, with: #""name":"C","custom_type":"SENDBIRD_DESK_CHANNEL_CUSTOM_TYPE""#
        ).replacing(#""message":"m""#, with: #""message":"m","data":"\#(ticket)""#)
        let event = try #require(await Self.post(rig, body).events.first)
        let found = try #require(try JSONValue.parse(event.data)["ticket"])
        #expect(found["title"]?.string == "Lamp" && found["channel_url"]?.string == "u")
        #expect(found["priority"]?.string == "high")
        #expect(found["custom_fields"]?["product"]?.string == "desk")
        #expect(found["related_channels"]?.text == "[]" && found["id"]?.string == "7")
        #expect(await rig.end() == [])
    }

    @Test func `reading brings the badge up to date`() async throws {
        let rig = try await Self.rig()
        let result = await Self.post(rig, try PluginRig.fixture("Sendbird/message-read.json"))
        let event = try #require(result.events.first)
        #expect(event.type == "message.read")
        #expect(event.recipients.map(\.device.user) == ["bob"])
        #expect(result.rejects.map(\.reason) == ["malformed_update"])
        let built = try rig.build(
            event,
            [Self.device("ios", [("unread", "3")]), Self.device("android", [("unread", "3")])])
        let content = try #require(built.contents.first)
        #expect(content.targets.map(\.recipient) == [0])
        #expect(content.targets.first?.badge == 3)
        #expect(content.notification.body.isEmpty && content.notification.sound.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `a deleted message is taken back from everybody in the channel`() async throws {
        let rig = try await Self.rig(#","preferences":"fetch""#)
        let sent = try PluginRig.fixture("Sendbird/message-send.json")
        let body = sent.replacing(
            "group_channel:message_send", with: "group_channel:message_delete")
        let event = try #require(await Self.post(rig, body).events.first)
        #expect(event.type == "message.deleted")
        #expect(event.dedupe == "APP-1 message_delete 9007199254740993")
        #expect(event.recipients.map(\.device.user) == ["alice", "bob"])
        // Presence does not matter: the notification may have been shown while they were away.
        let built = try rig.build(
            event, [Self.device("ios", [("user_online", "true")]), Self.device("android")])
        let content = try #require(built.contents.first)
        #expect(content.targets.map(\.recipient) == [0, 1])
        let note = content.notification
        #expect(note.isWithdrawn && note.title.isEmpty && note.body.isEmpty && note.data.isEmpty)
        // The message was shown under the same key, without a collapse key for FCM.
        let shown = try #require(
            try rig.build(try Self.event(), [Self.device()]).contents.first
        ).notification
        #expect(note.collapse == "9007199254740993" && shown.collapse == note.collapse)
        for overrides in [note.overrides, shown.overrides] {
            let fcm = try JSONValue.parse(try #require(overrides.first { $0.family == "fcm" }).json)
            #expect(fcm["android"]?["collapse_key"] == .null)
        }
        #expect(await rig.end() == [])
    }

    @Test func `members of a deleted message are fetched, too`() async throws {
        let rig = try await Self.rig(#","members":"fetch""#, services: Self.counting("", ""))
        let body = Self.noMembers.replacing("message_send", with: "message_delete")
        let event = try #require(await Self.post(rig, body).events.first)
        #expect(event.type == "message.deleted")
        #expect(event.recipients.map(\.device.user) == ["bo b"])
        #expect(rig.services.calls.count == 1)
        #expect(await rig.end() == [])
    }

    // MARK: Register

    static func change(
        _ kind: DeviceChange.Kind, _ platform: String, provider: String = "", user: String = "u 1"
    ) -> DeviceChange {
        DeviceChange(
            kind: kind,
            device: Device(
                app: "a", platform: platform, provider: provider, token: "t/1", user: user))
    }

    @Test(arguments: [
        ("ios", "", "apns", "apns_device_token"), ("android", "", "gcm", "gcm_reg_token"),
        ("huawei", "", "huawei", "huawei_device_token"), ("web", "fcm", "gcm", "gcm_reg_token"),
    ])
    func `registrations go to the Platform API`(
        platform: String, provider: String, type: String, field: String
    ) async throws {
        let rig = try await Self.rig(#","register":{"unique":true,"check_limit":false}"#)
        let register = try #require(rig.register)
        let endpoint = try await register.endpoint(app: "")
        #expect(endpoint.origin == "https://api-APP-1.sendbird.com")
        let (requests, _) = try rig.prepare([
            Self.change(.registered, platform, provider: provider)
        ])
        let request = try #require(requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/v3/users/u%201/push/\(type)")
        #expect(request.headers["api-token"] == "master-api-token")
        #expect(request.text == #"{"\#(field)":"t/1","is_unique":true}"#)
        let (settled, _) = try rig.classify(200, #"{"token":"t/1","type":"APNS","user":{}}"#)
        #expect(settled.map(\.kind) == [.delivered])
        #expect(await rig.end() == [])
    }

    @Test func `removals name the user if known`() async throws {
        let rig = try await Self.rig(#","register":{}"#)
        let (requests, settled) = try rig.prepare([
            Self.change(.unregistered, "ios"), Self.change(.invalid, "android", user: ""),
            Self.change(.registered, "web"), Self.change(.registered, "ios", user: ""),
        ])
        #expect(requests.map(\.method) == ["DELETE", "DELETE"])
        #expect(
            requests.map(\.path) == [
                "/v3/users/u%201/push/apns/t%2F1", "/v3/push/device_tokens/gcm/t%2F1",
            ])
        #expect(settled.map(\.reason) == ["ignored", "ignored"])
        let gone = try rig.classify(400, #"{"error":true,"code":400201,"message":"no"}"#)
        #expect(gone.settled.map(\.reason) == ["already_gone"])
        #expect(await rig.end() == [])
    }

    @Test(arguments: [(19, "registered"), (20, "registered_at_limit")])
    func `a full list of tokens is shown`(count: Int, reason: String) async throws {
        let rig = try await Self.rig(#","register":{}"#)
        _ = try rig.prepare([Self.change(.registered, "ios")])
        let (settled, requests) = try rig.classify(200, #"{"token":"t/1"}"#)
        #expect(settled.isEmpty)
        #expect(requests.map(\.path) == ["/v3/users/u%201/push/apns"])
        #expect(requests.map(\.method) == ["GET"])
        let list = Array(repeating: "\"x\"", count: count).joined(separator: ",")
        let counted = try rig.classify(200, #"{"tokens":[\#(list)]}"#)
        #expect(counted.settled.map(\.reason) == [reason])
        #expect(rig.services.counts["users_at_token_limit_total"] == (count == 20 ? 1 : nil))
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (401, "{}", Outcome.Kind.config), (403, "{}", .config), (429, "{}", .throttled),
        (500, "", .retry), (503, "x", .retry), (400, #"{"code":400111}"#, .rejected),
        (404, "{}", .rejected),
    ])
    func `answers of the Platform API`(
        status: UInt32, body: String, kind: Outcome.Kind
    ) async throws {
        let rig = try await Self.rig(#","register":{}"#)
        _ = try rig.prepare([Self.change(.registered, "ios")])
        let (settled, _) = try rig.classify(
            status, body, headers: status == 429 ? [Attribute("retry-after", "7")] : [])
        #expect(settled.first?.kind == kind)
        if status == 429 { #expect(settled.first?.retryAfterMs == 7_000) }
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 9000000000000000000:00:00 GMT",
        "Sun, 06 Nov 1994 23:9000000000000000000:00 GMT",
        "99999999999999999999", "-1", "Sun, 06 Nov 1994 24:00:00 GMT", "",
    ])
    func `a wait that cannot be is no wait`(text: String) async throws {
        let rig = try await Self.rig(#","register":{}"#)
        _ = try rig.prepare([Self.change(.registered, "ios")])
        let (settled, _) = try rig.classify(
            503, "", headers: [Attribute("retry-after", text)])
        #expect(settled.first?.kind == .retry)
        #expect(settled.first?.retryAfterMs == 0)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [(".", "%2E"), ("..", "%2E%2E"), ("...", "..."), ("a/../b", "a%2F..%2Fb")])
    func `a user's name leads to no other path`(user: String, encoded: String) async throws {
        let rig = try await Self.rig(#","register":{}"#)
        let (requests, _) = try rig.prepare([Self.change(.registered, "ios", user: user)])
        #expect(requests.first?.path == "/v3/users/\(encoded)/push/apns")
        #expect(await rig.end() == [])
    }

    @Test func `many preferences are asked for a few at a time`() async throws {
        let running = Mutex((now: 0, most: 0))
        let services = RigServices(nowUnixMs: Self.now) { _ in
            running.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
            usleep(1_000)
            running.withLock { $0.now -= 1 }
            return .success(PluginHTTPAnswer(status: 200, body: Array("{}".utf8)))
        }
        let rig = try await Self.rig(#","preferences":"fetch""#, services: services)
        let members = (0..<100).map { #"{"user_id":"m\#($0)"}"# }.joined(separator: ",")
        let body = Self.message("").replacing(
            #""members":["#, with: #""members":[\#(members),"#)
        let result = await Self.post(rig, body)
        #expect(result.events.first?.recipients.count == 101)
        #expect(running.withLock { $0.most } <= 16)
        #expect(await rig.end() == [])
    }

    @Test func `pages that never end do`() async throws {
        let services = RigServices { _ in
            .success(PluginHTTPAnswer(status: 200, body: Array(#"{"members":[],"next":"x"}"#.utf8)))
        }
        let rig = try await Self.rig(#","members":"fetch""#, services: services)
        let result = await Self.post(rig, Self.noMembers)
        #expect(result.answer?.status == 200)
        #expect(services.calls.count == 20)
        #expect(await rig.end() == [])
    }

    @Test func `a count that nobody said clears no badge`() async throws {
        let rig = try await Self.rig()
        let built = try rig.build(try Self.event(), [Self.device("ios", [("name", "Bob")])])
        let content = try #require(built.contents.first)
        #expect(content.targets.first?.badge == nil && content.notification.badge == nil)
        #expect(!content.notification.data.contains("unread"))
        #expect(await rig.end() == [])
    }

    @Test func `a channel's own setting wins over the user's`() async throws {
        let services = RigServices(nowUnixMs: Self.now) { _ in
            .success(
                PluginHTTPAnswer(
                    status: 200, body: Array(#"{"push_trigger_option":"mention_only"}"#.utf8)))
        }
        let rig = try await Self.rig(#","preferences":"fetch""#, services: services)
        let own = await Self.post(rig, Self.message(#","push_trigger_option":"all""#))
        #expect(own.events.first?.recipients.map(\.device.user) == ["bob"])
        let other = await Self.post(rig, Self.message(#","push_trigger_option":"default""#))
        #expect(other.events.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `without register nothing is forwarded`() async throws {
        let rig = try await Self.rig()
        await #expect(throws: PluginFault.self) {
            _ = try await rig.register?.endpoint(app: "")
        }
        #expect(await rig.end() == [])
    }
}

/// What is in flight when an instance stops.
@Suite struct StopTests {
    @Test func `a stop waits for answers that the plugin waits for`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let services = RigServices(nowUnixMs: SendbirdTests.now) { _ in
            gate.wait()
            return .success(PluginHTTPAnswer(status: 500))
        }
        // On a busy machine the request would time out first.
        services.isVirtual = true
        let rig = try await SendbirdTests.rig(#","members":"fetch""#, services: services)
        async let result = SendbirdTests.post(rig, SendbirdTests.noMembers)
        await services.waitFor { !services.calls.isEmpty }
        // There is no answer yet: the instance must not be destroyed.
        #expect(await rig.instance.stop(deadlineMs: 20) == false)
        gate.signal()
        #expect(await result.fault?.kind == .again)
    }
}
