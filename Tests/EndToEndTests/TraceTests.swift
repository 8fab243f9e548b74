import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

@testable import Signalbox
@testable import SignalboxAdmin

/// What `GET /trace` and `signalbox trace` say of events.
@Suite struct TraceTests {
    private static func trace(_ rig: GatewayRig, _ query: String) async throws -> JSONValue {
        try await rig.json("/trace?\(query)")
    }

    /// The events of a trace, once `isWhole` is content: steps are stored after their push has arrived.
    private static func events(
        _ rig: GatewayRig, _ query: String, until isWhole: ([JSONValue]) -> Bool
    ) async throws -> [JSONValue] {
        var found: [JSONValue] = []
        for _ in 0..<2_400 {
            if case .array(let items)? = try await trace(rig, query)["events"] { found = items }
            if isWhole(found) { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        return found
    }

    private static func state(_ event: JSONValue, _ place: Int = 0) -> String? {
        event["recipients"]?[place]?["state"]?.string
    }

    @Test func `the answer to a webhook names its event, and the trace tells its whole way`()
        async throws
    {
        let rig = try await GatewayRig()
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: 503, reason: "ServiceUnavailable", times: 1))
        let answer = try await rig.post(
            GatewayRig.webhook([("ios", "aaaaaaaaaaaa"), ("android", "b")]))
        let id = try #require(answer.headers.first { $0.key == "signalbox-event" }?.value)
        #expect(UInt64(id) != nil)
        let events = try await Self.events(rig, "event=\(id)") { events in
            events.first.map { Self.state($0) == "delivered" && Self.state($0, 1) == "delivered" }
                ?? false
        }
        let event = try #require(events.first)
        #expect(events.count == 1 && event["result"]?.string == "accepted")
        #expect(event["source"]?.string == "z" && event["subject"]?.string == "ticket/5")
        #expect(event["routes"]?.text == #"[{"route":"replies","matches":true}]"#)
        let push = try #require(event["recipients"]?[0])
        #expect(push["sender"]?.string == "apns" && push["token"]?.string == "…aaaa")
        let steps = try #require(push["steps"])
        #expect(steps[0]?["what"]?.string == "retried" && steps[0]?["code"]?.integer == 503)
        #expect(steps[0]?["next_unix_ms"] != nil && steps[0]?["attempt"]?.integer == 1)
        #expect(steps[1]?["what"]?.string == "delivered" && steps[1]?["attempt"]?.integer == 2)
        #expect(steps[1]?["provider_id"]?.string?.isEmpty == false)
        // The token finds it, too, and shows that device alone.
        let byToken = try #require(
            try await Self.events(rig, "device=AAAAAAAAAAAA") { !$0.isEmpty }.first)
        #expect(byToken["recipients"]?[0]?["token"]?.string == "…aaaa")
        #expect(byToken["recipients"]?[1] == nil && byToken["recipients_count"]?.integer == 2)
        let text = AdminReport(try await Self.trace(rig, "event=\(id)"), TraceQuery(.event(1))).text
        #expect(text.contains("route replies takes it"))
        #expect(text.contains("attempt 1: retried, ServiceUnavailable"))
        #expect(text.contains("attempt 2: delivered"))
        #expect(!text.contains("secret-body"))
        await rig.end()
    }

    @Test func `duplicates, unknown users and events of other types are there with the reason`()
        async throws
    {
        let flow = try await RegistryRig()
        try await flow.register("kim", "aa")
        try await flow.notify(["kim"], dedupe: "k1")
        try await flow.notify(["kim"], dedupe: "k1")
        try await flow.notify(["nobody"])
        let events = try await Self.events(flow.rig, "user=kim") { events in
            events.count == 2 && Self.state(events[1]) == "delivered"
        }
        #expect(events.map { $0["result"]?.string } == ["duplicate", "accepted"])
        #expect(events[0]["duplicate_of"] == events[1]["event"])
        let bySource = try await Self.events(flow.rig, "source_id=k1") { $0.count == 2 }
        #expect(Self.state(bySource[1]) == "delivered")
        let missed = try #require(
            try await Self.events(flow.rig, "user=nobody") { !$0.isEmpty }.first)
        #expect(missed["result"]?.string == "unreached")
        #expect(missed["recipients"]?[0]?["reason"]?.string == "unknown_user")
        let text = AdminReport(
            try await Self.trace(flow.rig, "user=nobody"), TraceQuery(.user("nobody"))
        ).text
        #expect(text.contains("nobody (com.example.app) on hello: skipped, unknown_user"))
        #expect(try await Self.trace(flow.rig, "user=nobody&limit=1")["is_cut"] == .bool(false))
        #expect(try await Self.trace(flow.rig, "user=kim&limit=1")["is_cut"] == .bool(true))
        await flow.rig.end()
    }

    @Test func `a route whose condition is not met says which part of it`() async throws {
        let rig = try await GatewayRig(config: {
            GatewayRig.yaml($0).replacing(
                "when: { type: ticket.replied }",
                with: "when: { type: ticket.replied, ticket_id: \"6\" }")
        })
        try await rig.post(GatewayRig.webhook([("ios", "a")]))
        let event = try #require(
            try await Self.events(rig, "subject=ticket/5") { !$0.isEmpty }.first)
        #expect(event["result"]?.string == "unrouted")
        #expect(event["routes"]?[0]?["unmet"]?.string == #"not true: ticket_id is "6""#)
        #expect(event["recipients"]?[0]?["reason"]?.string == "unrouted")
        await rig.end()
    }

    @Test func `without history nothing is kept, and the listener says why`() async throws {
        let rig = try await GatewayRig(config: {
            GatewayRig.yaml($0)
                .replacing("drain: 5s", with: "drain: 5s, history: false")
        })
        let answer = try await rig.post(GatewayRig.webhook([("ios", "a")]))
        #expect(answer.headers.contains { $0.key == "signalbox-event" })
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["a"])
        let refused = try await rig.admin("/trace?user=a")
        #expect(refused.status == 404)
        #expect(String(decoding: refused.body, as: UTF8.self).contains("gateway.history is false"))
        await rig.end()
    }
}
