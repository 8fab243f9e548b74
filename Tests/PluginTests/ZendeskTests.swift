import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct ZendeskTests {
    func ingest(_ body: String) async throws -> IngestResult {
        let rig = try await RoleRig("Zendesk", config: #"{"path":"/in/z"}"#)
        let result = await rig.handle(body, path: "/in/z")
        #expect(await rig.end() == [])
        return result
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
                    [["identifier": "t", "type": "ios"]]),
                .init(
                    "notification",
                    ["ticket_id": "5", "title": .string(title)]),
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
}
