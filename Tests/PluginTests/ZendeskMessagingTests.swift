import PluginRig
import SignalboxPluginHost
import Synchronization
import Testing

/// Webhooks of the Conversations API, version 2.
@Suite struct ZendeskMessagingTests {
    static func rig(services: RigServices) async throws -> RoleRig {
        try await RoleRig(
            "ZendeskMessaging",
            config: #"""
                {"path":"/in/zm","webhook_secret":"hook-secret","app":"com.example.app",
                "api":{"subdomain":"d3v","key_id":"key","key_secret":"key-secret"}}
                """#, services: services)
    }

    static let anna = #"{"participants":[{"userId":"1","userExternalId":"anna"}]}"#

    /// A webhook with these events.
    static func webhook(_ events: [String]) -> String {
        let list = events.joined(separator: ",")
        return #"{"app":{"id":"APP"},"webhook":{"id":"W","version":"v2"},"events":[\#(list)]}"#
    }

    static func event(_ id: String, conversation: String = "C") -> String {
        #"""
        {"id":"\#(id)","type":"conversation:message","payload":{"conversation":{"id":"\#(conversation)"},
        "message":{"id":"m-\#(id)","content":{"type":"text","text":"Hi"},"author":{"type":"business","displayName":"Al"}}}}
        """#
    }

    static func post(_ rig: RoleRig, _ body: String) async -> IngestResult {
        await rig.handle(body, path: "/in/zm", headers: [("x-api-key", "hook-secret")])
    }

    @Test func `a conversation's users are asked for once in ten minutes`() async throws {
        let rig = try await Self.rig(
            services: RigServices(nowUnixMs: 1_772_042_797_547) { _ in
                .success(PluginHTTPAnswer(status: 200, body: Array(Self.anna.utf8)))
            })
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
}
