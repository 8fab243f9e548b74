import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct ZendeskTests {
    let services = RigServices()

    func ingest(_ body: String, config: String = #"{"path":"/in/z"}"#) async throws -> IngestResult
    {
        let instance = try await PluginRig.bundledInstance(
            "Zendesk", config: config, services: services)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        let once = Once<IngestResult>()
        let request = IngestRequest(
            method: "POST", path: "/in/z", pattern: "/in/z", body: Array(body.utf8),
            receivedUnixMs: 5)
        role.handle(request) { once.set($0) }
        let result = try #require(await once.value())
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
        return result
    }

    @Test func `the documented webhook becomes one event with both devices`() async throws {
        let file = PluginRig.root.appending(path: "Tests/Fixtures/Zendesk/reply.json")
        let result = try await ingest(String(contentsOf: file, encoding: .utf8))
        #expect(result.fault == nil)
        let event = try #require(result.events.first)
        #expect(result.events.count == 1)
        #expect(event.type == "ticket.replied")
        #expect(event.subject == "ticket/5")
        #expect(event.source == "zendesk")
        #expect(event.timeUnixMs == 5)
        #expect(event.dedupeWindowMs == 5_000)
        let data = try JSONValue.parse(event.data)
        #expect(data["ticket_id"]?.string == "5")
        #expect(data["notification"]?["title"]?.string == "Agent replied")
        #expect(event.recipients.map(\.device.platform) == ["ios", "android"])
        #expect(event.recipients.map(\.device.token) == ["oiuytrdsdfghjk", "iuytfrdcvbnmkl"])
        #expect(result.rejects.isEmpty)
    }

    @Test func `its path is claimed for POST`() async throws {
        let instance = try await PluginRig.bundledInstance(
            "Zendesk", config: #"{"path":"/in/zendesk/s"}"#, services: services)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        #expect(role.paths == [IngestPath(pattern: "/in/zendesk/s", methods: ["POST"])])
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test(arguments: [
        ("ios", "<0A1B 2c3d>", "0a1b2c3d"), ("ios", "0A1B", "0a1b"), ("ios", "xY z", "xYz"),
        ("android", "a:B-c_D <x>", "a:B-c_D <x>"),
    ])
    func `tokens are cleaned as the platform needs`(
        type: String, identifier: String, token: String
    ) async throws {
        let body = """
            {"devices":[{"identifier":"\(identifier)","type":"\(type)"}],
             "notification":{"ticket_id":"5"}}
            """
        let device = try #require(try await ingest(body).events.first?.recipients.first?.device)
        #expect(device.token == token)
        #expect(device.sourceToken == identifier)
    }

    @Test func `one bad device harms no other`() async throws {
        let body = """
            {"devices":[{"identifier":"a","type":"windows"},{"type":"ios"},{"identifier":"< >","type":"ios"},
             7,{"identifier":"ok","type":"android"},{"identifier":"ok","type":"android"}],
             "notification":{"ticket_id":7,"title":"t"}}
            """
        let result = try await ingest(body)
        #expect(result.events.first?.recipients.map(\.device.token) == ["ok"])
        #expect(result.events.first?.subject == "ticket/7")
        #expect(
            result.rejects.map(\.reason) == [
                "unknown_device_type", "no_identifier", "empty_token", "no_identifier", "duplicate",
            ])
        #expect(!result.rejects.contains { $0.detail.contains("ok") })
    }

    @Test func `text comes through whatever is in it and wherever it stands`() async throws {
        // Plain runs of all lengths around characters that need escapes, and multi-byte text.
        let special = [
            "\"", "\\", "\n", "\r", "\t", "\u{1}", "\u{1f}", "\u{7f}", "é", "😀", " ", "!", "[", "]",
            "#",
        ]
        for lead in 0..<18 {
            let plain = String(repeating: "a", count: lead)
            let title = special.map { plain + $0 }.joined() + plain
            let body = JSONValue.object([
                .init(
                    "devices",
                    .array([
                        .object([.init("identifier", .string("t")), .init("type", .string("ios"))])
                    ])),
                .init(
                    "notification",
                    .object([.init("ticket_id", .string("5")), .init("title", .string(title))])),
            ]).text
            let event = try #require(try await ingest(body).events.first)
            let data = try JSONValue.parse(event.data)
            #expect(data["notification"]?["title"]?.string == title, "lead \(lead)")
        }
    }

    @Test func `many devices are told apart like a few`() async throws {
        let devices = (0..<40).map {
            #"{"identifier":"t\#($0 % 30)","type":"\#($0 < 20 ? "ios" : "android")"}"#
        }
        let result = try await ingest(
            #"{"devices":[\#(devices.joined(separator: ","))],"notification":{"ticket_id":"5"}}"#)
        // 20 for iOS, 20 for Android: t20...t29 and then t0...t9.
        #expect(result.events.first?.recipients.count == 40 && result.rejects.isEmpty)
        let twice = devices + devices.prefix(3)
        let again = try await ingest(
            #"{"devices":[\#(twice.joined(separator: ","))],"notification":{"ticket_id":"5"}}"#)
        #expect(again.rejects.map(\.reason) == ["duplicate", "duplicate", "duplicate"])
    }

    @Test func `no device is no event and a log line`() async throws {
        let result = try await ingest(#"{"devices":[],"notification":{"ticket_id":"5"}}"#)
        #expect(result.events.isEmpty && result.fault == nil)
        #expect(services.lines.contains { $0.contains("webhook names no usable device") })
    }

    @Test(arguments: [
        ("{", "not JSON"), ("[]", "notification"),
        (#"{"notification":{"ticket_id":"5"}}"#, "devices"),
        (#"{"devices":{},"notification":{"ticket_id":"5"}}"#, "devices"),
    ])
    func `a malformed body is refused with a reason`(body: String, word: String) async throws {
        let fault = try #require(try await ingest(body).fault)
        #expect(fault.kind == .invalid)
        #expect(fault.message.contains(word))
    }

    @Test(arguments: ["{}", #"{"display":"system"}"#])
    func `one content with text keys goes to all`(options: String) async throws {
        let instance = try await PluginRig.bundledInstance(
            "Zendesk", config: #"{"path":"/in/z"}"#, services: services)
        let role = try #require(BuildRole(instance))
        #expect(role.optionsSchema?.contains("display") == true)
        let data = #"{"ticket_id":"5","notification":{"title":"T","body":"B","ticket_id":"5"}}"#
        let recipients = [
            Recipient(device: Device(platform: "ios", token: "a")),
            Recipient(device: Device(platform: "android", token: "b")),
        ]
        let built = try role.build(
            Event(type: "ticket.replied", data: data), recipients: recipients, route: "r",
            options: JSONText(options)
        ).get()
        let content = try #require(built.contents.first)
        #expect(built.contents.count == 1)
        #expect(content.targets.map(\.recipient) == [0, 1])
        #expect(content.notification.title == "T")
        #expect(content.notification.body == "B")
        #expect(content.notification.priority == .high)
        #expect(content.notification.isDataOnly == (options == "{}"))
        let payload = try JSONValue.parse(content.notification.data)
        #expect(payload["zendesk_sdk_request_id"] == .string("5"))
        #expect(payload["tid"] == .string("5"))
        _ = await instance.stop(deadlineMs: 5_000)
    }

    static let signed = #"{"path":"/in/z","signing_secret":"zd-secret"}"#
    /// 2026-01-02T03:04:05Z.
    static let signedMs: UInt64 = 1_767_323_045_000

    @Test(arguments: [0, 299_000, -299_000, 301_000, -301_000] as [Int64])
    func `a general webhook's signature fits the vector, for five minutes`(
        ageMs: Int64
    ) async throws {
        let rig = try await RoleRig(
            "Zendesk", config: Self.signed,
            services: RigServices(nowUnixMs: UInt64(Int64(Self.signedMs) + ageMs)))
        let result = await rig.handle(
            #"{"category":"group_channel:message_send","app_id":"APP"}"#, path: "/in/z",
            headers: [
                ("x-zendesk-webhook-signature", "Dr/2r0T3s/oPaX4n5ruXjLaFJ+w9g1Lrt+F5FUO4rV4="),
                ("x-zendesk-webhook-signature-timestamp", "2026-01-02T03:04:05Z"),
            ])
        if abs(ageMs) < 300_000 {
            // The vector's body is another provider's: its signature is accepted,
            // then it is malformed.
            #expect(result.fault?.kind == .invalid)
        } else {
            #expect(result.fault?.kind == .auth)
            #expect(result.fault?.message.contains("five minutes") == true)
        }
        #expect(await rig.end() == [])
    }

    @Test(arguments: ["", "AAAA", "Er/2r0T3s/oPaX4n5ruXjLaFJ+w9g1Lrt+F5FUO4rV4=", "%%"])
    func `a wrong signature is refused before anything is parsed`(value: String) async throws {
        let rig = try await RoleRig(
            "Zendesk", config: Self.signed, services: RigServices(nowUnixMs: Self.signedMs))
        for body in ["{{{", #"{"category":"group_channel:message_send","app_id":"APP"}"#] {
            let result = await rig.handle(
                body, path: "/in/z",
                headers: [
                    ("x-zendesk-webhook-signature", value),
                    ("x-zendesk-webhook-signature-timestamp", "2026-01-02T03:04:05Z"),
                ])
            #expect(result.fault?.kind == .auth)
        }
        #expect(await rig.end() == [])
    }

    static let one = #""devices":[{"identifier":"t","type":"ios"}]"#

    @Test(arguments: ["", #","ticket_id":null"#, #","ticket_id":"""#, #","ticket_id":[5]"#])
    func `a webhook without a ticket is a push without a deep link`(ticket: String) async throws {
        let rig = try await RoleRig("Zendesk", config: #"{"path":"/in/z"}"#)
        let result = await rig.handle(
            #"{\#(Self.one),"notification":{"title":"T","body":"B"\#(ticket)}}"#, path: "/in/z")
        #expect(result.fault == nil)
        let event = try #require(result.events.first)
        #expect(event.subject == "")
        #expect(event.data == #"{"notification":{"title":"T","body":"B"}}"#)
        let built = try rig.build(event, event.recipients)
        let note = try #require(built.contents.first?.notification)
        #expect(note.title == "T" && note.body == "B" && note.data == "")
        #expect(await rig.end() == [])
    }

    @Test func `numbers and booleans are texts`() async throws {
        let rig = try await RoleRig("Zendesk", config: #"{"path":"/in/z"}"#)
        let result = await rig.handle(
            #"{\#(Self.one),"notification":{"title":42,"body":true,"ticket_id":7}}"#, path: "/in/z")
        let event = try #require(result.events.first)
        let built = try rig.build(event, event.recipients)
        let note = try #require(built.contents.first?.notification)
        #expect(note.title == "42" && note.body == "true")
        #expect(note.data == #"{"zendesk_sdk_request_id":"7","tid":"7"}"#)
        #expect(await rig.end() == [])
    }

    @Test func `a byte order mark in front is skipped`() async throws {
        let rig = try await RoleRig("Zendesk", config: #"{"path":"/in/z"}"#)
        let body = [0xEF, 0xBB, 0xBF] + Array(#"{\#(Self.one),"notification":{"title":"T"}}"#.utf8)
        #expect(await rig.handle(body, path: "/in/z").events.count == 1)
        #expect(await rig.end() == [])
    }

    @Test func `hostile bodies are refused with a reason`() async throws {
        let rig = try await RoleRig("Zendesk", config: #"{"path":"/in/z"}"#)
        for (name, bytes) in HostileBodies.all {
            let result = await rig.handle(bytes, path: "/in/z")
            #expect(result.fault?.kind == .invalid, "\(name)")
            #expect(result.events.isEmpty)
        }
        for value in HostileBodies.values {
            for body in [
                #"{"devices":\#(value),"notification":{"ticket_id":"5"}}"#,
                #"{"devices":[\#(value)],"notification":{"ticket_id":"5"}}"#,
                #"{"devices":[{"identifier":\#(value),"type":"ios"}],"notification":{"ticket_id":"5"}}"#,
                #"{"devices":[{"identifier":"a","type":"ios"}],"notification":\#(value)}"#,
                #"{"devices":[{"identifier":"a","type":"ios"}],"notification":{"ticket_id":\#(value)}}"#,
            ] {
                let result = await rig.handle(body, path: "/in/z")
                if let fault = result.fault { #expect(fault.kind == .invalid) }
                for event in result.events { _ = try rig.build(event, event.recipients) }
            }
        }
        #expect(await rig.end() == [])
    }
}
