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
    static let message = """
        {"category":"group_channel:message_send","app_id":"APP","type":"MESG",
        "sender":{"user_id":"sendbird_desk_agent_id_1","nickname":"Cindy"},
        "members":[{"user_id":"sendbird_desk_agent_id_1"},{"user_id":"sendbird_desk_agent_id_2"},
         {"user_id":"customer","nickname":"Kim","total_unread_message_count":3}],
        "payload":{"message_id":40620745,"custom_type":"","message":"text","data":"",
         "created_at":1700000000123},
        "channel":{"channel_url":"desk_1","name":"Ticket","custom_type":"SENDBIRD_DESK_CHANNEL_CUSTOM_TYPE"}}
        """

    static func build(_ rig: RoleRig, _ body: String) throws -> BuildResult {
        try rig.build(
            Event(type: "desk.message.sent", data: body),
            [
                Recipient(
                    device: Device(platform: "ios", token: "t", user: "customer"),
                    attributes: [Attribute("name", "Kim"), Attribute("unread", "3")])
            ])
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
            let body = Self.message.replacing(
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
}
