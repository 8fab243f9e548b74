import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Synchronization
import Testing

/// Webhooks of the Conversations API, version 2.
@Suite struct ZendeskMessagingTests {
    static let path = "/in/zm"
    static let secret = [("x-api-key", "hook-secret")]

    static func rig(_ more: String = "", services: RigServices) async throws -> RoleRig {
        try await RoleRig(
            "ZendeskMessaging",
            config: #"""
                {"path":"/in/zm","webhook_secret":"hook-secret","app":"com.example.app",
                "api":{"subdomain":"d3v","key_id":"key","key_secret":"key-secret"}\#(more)}
                """#, services: services)
    }

    /// Answers with the participants of every conversation.
    static func services(_ participants: String? = nil, status: UInt32 = 200) throws
        -> RigServices
    {
        let body = try participants ?? PluginRig.fixture("ZendeskMessaging/participants.json")
        return RigServices(nowUnixMs: 1_772_042_797_547) { _ in
            .success(PluginHTTPAnswer(status: status, body: Array(body.utf8)))
        }
    }

    static let anna = #"{"participants":[{"userId":"1","userExternalId":"anna"}]}"#

    static func message() throws -> String {
        try PluginRig.fixture("ZendeskMessaging/message.json")
    }

    /// A webhook with these events.
    static func webhook(_ events: [String]) -> String {
        let list = events.joined(separator: ",")
        return #"{"app":{"id":"APP"},"webhook":{"id":"W","version":"v2"},"events":[\#(list)]}"#
    }

    static func event(
        _ id: String, conversation: String = "C", content: String = #"{"type":"text","text":"Hi"}"#
    ) -> String {
        #"""
        {"id":"\#(id)","type":"conversation:message","payload":{"conversation":{"id":"\#(conversation)"},
        "message":{"id":"m-\#(id)","content":\#(content),"author":{"type":"business","displayName":"Al"}}}}
        """#
    }

    static func post(
        _ rig: RoleRig, _ body: String, headers: [(String, String)] = secret
    ) async -> IngestResult { await rig.handle(body, path: path, headers: headers) }

    @Test func `a message of the business is an event for the users of its conversation`()
        async throws
    {
        let rig = try await Self.rig(services: Self.services())
        let result = await Self.post(rig, try Self.message())
        #expect(result.answer?.status == 200)
        let event = try #require(result.events.first)
        #expect(event.type == "conversation.message")
        #expect(event.subject == "conversation/13f32c6cf7d0d38e6e0eba93")
        #expect(event.dedupe == "5698edbf2a43bd081be982f1 0ca7d56ba7b2e081e479fe9e")
        #expect(event.dedupeWindowMs == 3_600_000)
        #expect(event.timeUnixMs == 1_772_042_797_000)
        #expect(event.recipients.map(\.device.user) == ["anna"])
        #expect(event.recipients.first?.device.app == "com.example.app")
        let data = try JSONValue.parse(event.data)
        #expect(data["text"]?.string == "Your parcel is on its way")
        #expect(data["app_id"]?.string == "5698edbf2a43bd081be982f1")
        #expect(data["conversation"]?["brandId"]?.string == "360004166971")
        let integration = data["conversation"]?["activeSwitchboardIntegration"]
        #expect(integration?["integrationType"]?.string == "zd:agentWorkspace")
        #expect(data["message"]?["source"]?["type"]?.string == "zd:agentWorkspace")
        let call = try #require(rig.services.calls.first)
        #expect(
            call.url == "https://d3v.zendesk.com/sc/v2/apps/5698edbf2a43bd081be982f1/conversations/"
                + "13f32c6cf7d0d38e6e0eba93/participants?page%5Bsize%5D=100")
        #expect(call.method == "GET")
        #expect(call.headers.contains(Attribute("authorization", "Basic a2V5OmtleS1zZWNyZXQ=")))
        let note = try #require(
            try rig.build(event, event.recipients).contents.first?.notification)
        #expect(note.title == "Alice Agent" && note.body == "Your parcel is on its way")
        #expect(note.thread == "13f32c6cf7d0d38e6e0eba93" && note.priority == .high)
        #expect(!note.isDataOnly && note.sound == "default")
        #expect(
            note.data == #"{"conversation_id":"13f32c6cf7d0d38e6e0eba93","#
                + #""app_id":"5698edbf2a43bd081be982f1","message_id":"5e55622dac66fb73a3c01877"}"#)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [nil, "wrong", "", "hook-secret "] as [String?])
    func `a wrong secret is refused before anything is parsed`(given: String?) async throws {
        let rig = try await Self.rig(services: Self.services())
        for body in ["{{{", try Self.message()] {
            let result = await Self.post(
                rig, body, headers: given.map { [("x-api-key", $0)] } ?? [])
            #expect(result.fault?.kind == .auth && result.events.isEmpty)
        }
        #expect(rig.services.calls.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `what a user writes, and every other event, is no push and counted`() async throws {
        let rig = try await Self.rig(services: Self.services())
        let written = try Self.message().replacing(#""type": "business""#, with: #""type": "user""#)
        let read = #"{"id":"1","type":"conversation:read","payload":{}}"#
        let new = #"{"id":"2","type":"conversation:new-thing"}"#
        for body in [written, Self.webhook([read, new]), Self.webhook([])] {
            let result = await Self.post(rig, body)
            #expect(result.answer?.status == 200 && result.fault == nil)
            #expect(result.events.isEmpty && result.rejects.isEmpty)
        }
        #expect(rig.services.counts["events_total"] == 3 && rig.services.calls.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#"{"type":"text","text":"Hi"}"#, "Hi"), (#"{"type":"text","text":42}"#, "42"),
        (#"{"type":"text","text":"","actions":[]}"#, "Message"), ("null", "Message"),
        ("7", "Message"),
        (#"{"type":"image","mediaUrl":"https://m.example/1.png"}"#, "Image"),
        (#"{"type":"image","altText":"A red shoe"}"#, "A red shoe"),
        (#"{"type":"file","text":"The bill","mediaUrl":"https://m.example/1.pdf"}"#, "The bill"),
        (#"{"type":"file"}"#, "File"), (#"{"type":"form","fields":[]}"#, "Form"),
        (#"{"type":"carousel","items":[{"title":"Shoes"},{"title":"Hats"}]}"#, "Shoes"),
        (#"{"type":"list","items":[]}"#, "List"),
        (#"{"type":"location","location":{"name":"Main shop"}}"#, "Main shop"),
        (#"{"type":"hologram"}"#, "Message"),
    ])
    func `every kind of content has a text`(content: String, text: String) async throws {
        let rig = try await Self.rig(services: Self.services())
        let result = await Self.post(rig, Self.webhook([Self.event("1", content: content)]))
        let event = try #require(result.events.first)
        let note = try #require(
            try rig.build(event, event.recipients).contents.first?.notification)
        #expect(note.body == text && note.title == "Al")
        #expect(await rig.end() == [])
    }

    @Test func `one bad event harms no other`() async throws {
        let rig = try await Self.rig(
            services: RigServices { call in
                .success(
                    PluginHTTPAnswer(
                        status: call.url.contains("/gone/") ? 404 : 200,
                        body: Array(Self.anna.utf8)))
            })
        let bad = [
            "7", "null", "{}", #"{"type":7}"#, #"{"type":"conversation:message"}"#,
            #"{"type":"conversation:message","payload":{"message":{"author":{"type":"business"}}}}"#,
            Self.event("9", conversation: "gone"),
        ]
        let result = await Self.post(rig, Self.webhook(bad + [Self.event("1")]))
        #expect(result.answer?.status == 200 && result.fault == nil)
        #expect(result.events.map(\.dedupe) == ["APP 1"])
        #expect(
            result.rejects.map(\.reason) == Array(repeating: "malformed_event", count: 5)
                + ["no_conversation", "unknown_conversation"])
        #expect(await rig.end() == [])
    }

    @Test func `a conversation's users are asked for once in ten minutes`() async throws {
        let rig = try await Self.rig(services: Self.services())
        let both = Self.webhook([
            Self.event("1"), Self.event("2"), Self.event("3", conversation: "D"),
        ])
        #expect(await Self.post(rig, both).events.count == 3)
        #expect(rig.services.calls.count == 2)
        #expect(await Self.post(rig, both).events.map(\.dedupe) == ["APP 1", "APP 2", "APP 3"])
        #expect(rig.services.calls.count == 2)
        rig.services.advance(ms: 600_000)
        #expect(await Self.post(rig, Self.webhook([Self.event("4")])).events.count == 1)
        #expect(rig.services.calls.count == 3)
        #expect(await rig.end() == [])
    }

    @Test func `while the API cannot be asked the webhook comes again, and what is known goes on`()
        async throws
    {
        let isDown = Mutex(false)
        let rig = try await Self.rig(
            services: RigServices { _ in
                .success(
                    PluginHTTPAnswer(
                        status: isDown.withLock { $0 } ? 500 : 200,
                        body: Array(Self.anna.utf8)))
            })
        #expect(await Self.post(rig, Self.webhook([Self.event("1")])).events.count == 1)
        isDown.withLock { $0 = true }
        let mixed = Self.webhook([
            Self.event("2", conversation: "D"), Self.event("3"), Self.event("4", conversation: "E"),
        ])
        let result = await Self.post(rig, mixed)
        #expect(result.fault == nil && result.answer?.status == 503)
        #expect(result.events.map(\.dedupe) == ["APP 3"])
        #expect(
            result.rejects.map(\.reason) == [
                "participants_unavailable", "participants_unavailable",
            ])
        // One failed call is enough.
        #expect(rig.services.calls.count == 2)
        isDown.withLock { $0 = false }
        let again = await Self.post(rig, mixed)
        #expect(again.answer?.status == 200)
        #expect(again.events.map(\.dedupe) == ["APP 2", "APP 3", "APP 4"])
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("", #"{"userId":"1","userExternalId":"anna"},{"userExternalId":null}"#, ["anna"]),
        (#","users":"id""#, #"{"userId":"1","userExternalId":"a"},{"userId":"2"}"#, ["1", "2"]),
        ("", #"{"userId":"2","userExternalId":null},7,{}"#, []),
    ])
    func `devices are known by the app's id or by Zendesk's`(
        config: String, participants: String, users: [String]
    ) async throws {
        let rig = try await Self.rig(
            config, services: Self.services(#"{"participants":[\#(participants)]}"#))
        let result = await Self.post(rig, Self.webhook([Self.event("1")]))
        #expect(result.answer?.status == 200)
        #expect(result.events.flatMap(\.recipients).map(\.device.user) == users)
        #expect(result.rejects.map(\.reason) == (users.isEmpty ? ["no_user"] : []))
        // A user without an id may log in at any time.
        _ = await Self.post(rig, Self.webhook([Self.event("1")]))
        #expect(rig.services.calls.count == (users.isEmpty ? 2 : 1))
        #expect(await rig.end() == [])
    }

    @Test func `a user that the webhook names is not asked for`() async throws {
        let rig = try await Self.rig(services: Self.services())
        let body = Self.event("1").replacing(
            #""payload":{"#,
            with: #""payload":{"user":{"id":"1","externalId":"ben","profile":{"a":"b"}},"#)
        let event = try #require(await Self.post(rig, Self.webhook([body])).events.first)
        #expect(event.recipients.map(\.device.user) == ["ben"] && rig.services.calls.isEmpty)
        #expect(!event.data.contains("profile"))
        #expect(await rig.end() == [])
    }

    @Test func `webhooks of another app are answered and left out`() async throws {
        let rig = try await Self.rig(#","app_id":"OTHER""#, services: Self.services())
        let result = await Self.post(rig, Self.webhook([Self.event("1")]))
        #expect(result.answer?.status == 200 && result.events.isEmpty)
        #expect(result.rejects.map(\.reason) == ["other_app"] && rig.services.calls.isEmpty)
        #expect(await rig.end() == [])
    }

    @Test func `hostile bodies are refused with a reason`() async throws {
        let rig = try await Self.rig(services: Self.services())
        for (name, bytes) in HostileBodies.all {
            let result = await rig.handle(bytes, path: Self.path, headers: Self.secret)
            #expect(result.fault?.kind == .invalid, "\(name)")
        }
        for value in HostileBodies.values {
            for body in [
                #"{"events":\#(value)}"#, Self.webhook([value]),
                Self.webhook([#"{"type":"conversation:message","payload":\#(value)}"#]),
                Self.webhook([Self.event("1", content: value)]),
                Self.webhook([Self.event("1").replacing(#""C""#, with: value)]),
                Self.webhook([Self.event("1").replacing(#""1""#, with: value)]),
                Self.webhook([Self.event("1").replacing(#""Al""#, with: value)]),
            ] {
                let result = await Self.post(rig, body)
                if let fault = result.fault { #expect(fault.kind == .invalid) }
                for event in result.events { _ = try rig.build(event, event.recipients) }
            }
        }
        #expect(await rig.end() == [])
    }
}
