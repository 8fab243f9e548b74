import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct GorushTests {
    static func post(
        _ rig: RoleRig, _ body: String, headers: [(String, String)] = []
    ) async -> IngestResult {
        await rig.handle(body, path: "/api/push", headers: headers)
    }

    /// A request with one notification.
    static func one(_ fields: String) -> String {
        #"{"notifications":[{"tokens":["0a"],\#(fields)}]}"#
    }

    static func json(_ result: IngestResult) throws -> JSONValue {
        try JSONValue.parse(try #require(result.answer).body)
    }

    /// The notification that a request with one becomes.
    static func built(_ body: String) async throws -> PushNotification {
        let rig = try await RoleRig("Gorush", config: "{}")
        let event = try #require(await post(rig, body).events.first)
        let note = try #require(try rig.build(event, event.recipients).contents.first).notification
        #expect(await rig.end() == [])
        return note
    }

    @Test func `notif_id names the event, and a repeat of it is the same event`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        func event(_ fields: String) async throws -> Event {
            try #require(await Self.post(rig, Self.one(fields)).events.first)
        }
        let first = try await event(#""platform":1,"notif_id":"n-1","message":"m""#)
        #expect(first.subject == "n-1" && first.dedupeWindowMs == 600_000)
        let again = try await event(#""platform":1,"notif_id":"n-1","message":"m""#)
        #expect(first.dedupe == again.dedupe && !first.dedupe.isEmpty)
        for other in [
            #""platform":2,"notif_id":"n-1","message":"m""#,
            #""platform":1,"notif_id":"n-1","message":"n""#,
            #""platform":1,"notif_id":"n-2","message":"m""#,
        ] {
            #expect(try await event(other).dedupe != first.dedupe)
        }
        #expect(await rig.end() == [])
    }

    @Test func `credentials of requests and tokens are no part of the event`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        for name in ["android", "huawei"] {
            let result = await Self.post(rig, try PluginRig.fixture("Gorush/\(name).json"))
            let data = try #require(result.events.first).data
            for secret in ["key-of-the-former-api", "secret-of-the-app", "fcm:", "hms-1"] {
                #expect(!data.contains(secret))
            }
        }
        #expect(await rig.end() == [])
    }

    @Test func `gorush's other paths are answered, or say where the answer is`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        _ = await Self.post(rig, try PluginRig.fixture("Gorush/simple.json"))
        let health = await rig.handle("", path: "/healthz", method: "GET")
        #expect(health.answer?.status == 200 && health.answer?.body == [])
        let counts = try Self.json(await rig.handle("", path: "/api/stat/app", method: "GET"))
        #expect(counts["total_count"]?.integer == 4)
        #expect(counts["ios"]?["push_accepted"]?.integer == 2)
        #expect(counts["ios"]?["push_success"] == nil)
        let version = try Self.json(await rig.handle("", path: "/version", method: "GET"))
        #expect(version["version"]?.string?.isEmpty == false)
        for path in ["/api/stat/go", "/api/config", "/sys/stats", "/metrics"] {
            let result = await rig.handle("", path: path, method: "GET")
            #expect(result.answer?.status == 404)
            #expect(try Self.json(result)["message"]?.string?.contains("admin listener") == true)
        }
        let bare = try await RoleRig("Gorush", config: #"{"status":false,"path":"/push"}"#)
        #expect(bare.ingest?.paths == [IngestPath(pattern: "/push", methods: ["POST"])])
        #expect(await bare.end() == [])
        #expect(await rig.end() == [])
    }
}
