import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Synchronization
import Testing

/// Spans of webhooks and attempts, by OTLP/HTTP.
@Suite(.timeLimit(.minutes(5))) struct TracingTests {
    /// A collector, which refuses its first posts with these statuses.
    private static func collector(first statuses: [Int] = []) async throws -> VendorAPI {
        let left = Mutex(statuses)
        return try await VendorAPI.start { _ in
            HTTPServerAnswer(status: left.withLock { $0.isEmpty ? 200 : $0.removeFirst() })
        }
    }

    /// The spans that a collector has accepted, once there are `count` of them.
    private static func spans(
        _ collector: VendorAPI, _ count: Int, refused: Int = 0
    ) async throws -> [JSONValue] {
        func all() -> [JSONValue] {
            collector.requests.dropFirst(refused).flatMap { request in
                let body = try? JSONValue.parse(request.body)
                return body?["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.items ?? []
            }
        }
        try await until("\(count) spans") { all().count >= count }
        return all()
    }

    private static func rig(_ collector: VendorAPI, _ more: String = "") async throws -> GatewayRig
    {
        try await GatewayRig(config: {
            let tracing = "tracing: { endpoint: \"\(collector.origin)/v1/traces\"\(more) }, "
            return GatewayRig.yaml($0)
                .replacing("gateway: { ", with: "gateway: { \(tracing)")
        })
    }

    private static func post(
        _ rig: GatewayRig, _ devices: [(type: String, token: String)], trace: String?,
        ticket: String = "5"
    ) async throws -> RESTAnswer {
        try await rig.post(
            GatewayRig.webhook(devices, ticket: ticket),
            headers: trace.map { [("traceparent", $0)] } ?? [])
    }

    private static func attribute(_ span: JSONValue, _ name: String) -> JSONValue? {
        let found = (span["attributes"]?.items ?? []).first { $0["key"]?.string == name }
        return found?["value"]
    }

    @Test func `a webhook's trace goes on to the provider, retries included`() async throws {
        let collector = try await Self.collector()
        let rig = try await Self.rig(collector, #", headers: { X-Key: "the-key" }, sample: 0"#)
        try await rig.simulators.apns.take(
            .fail(tokens: ["a"], status: 503, reason: "ServiceUnavailable", times: 1))
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        // Not sampled, not valid, and none: none of them is recorded.
        for (index, other) in ["00-\(id)-00f067aa0ba902b7-00", "00-\(id)-xy-01", nil].enumerated() {
            _ = try await Self.post(
                rig, [("ios", "b\(index)")], trace: other, ticket: "\(index)")
        }
        let answer = try await Self.post(
            rig, [("ios", "a"), ("android", "c")], trace: "00-\(id)-00f067aa0ba902b7-01",
            ticket: "9")
        #expect(answer.status == 200)
        let spans = try await Self.spans(collector, 4)
        await rig.gateway.stop()

        #expect(spans.allSatisfy { $0["traceId"]?.string == id } && spans.count == 4)
        let root = try #require(spans.first { $0["kind"]?.integer == 2 })
        #expect(root["name"]?.string == "webhook z")
        #expect(root["parentSpanId"]?.string == "00f067aa0ba902b7")
        #expect(Self.attribute(root, "http.response.status_code")?["intValue"]?.string == "200")
        let sends = spans.filter { $0["kind"]?.integer == 3 }
        #expect(sends.allSatisfy { $0["parentSpanId"]?.string == root["spanId"]?.string })
        #expect(Set(sends.compactMap { $0["spanId"]?.string }).count == 3)
        let failed = try #require(sends.first { $0["status"] != nil })
        #expect(failed["status"]?["code"]?.integer == 2 && failed["name"]?.string == "send apns")
        #expect(
            Self.attribute(failed, "error.type")?["stringValue"]?.string == "ServiceUnavailable")
        #expect(Self.attribute(failed, "http.response.status_code")?["intValue"]?.string == "503")
        let again = try #require(
            sends.first { Self.attribute($0, "signalbox.attempt")?["intValue"]?.string == "2" })
        #expect(again["status"] == nil && again["name"]?.string == "send apns")
        #expect(
            Self.attribute(again, "signalbox.event.id")?["stringValue"]?.string
                == answer.header("signalbox-event"))

        let pushes = rig.simulators.apns.received
        let carried = pushes.filter { $0.token == "a" }.compactMap { $0.header("traceparent") }
        #expect(
            Set(carried)
                == Set([failed, again].map { "00-\(id)-\($0["spanId"]?.string ?? "")-01" }))
        #expect(pushes.allSatisfy { $0.token == "a" || $0.header("traceparent") == nil })
        for post in collector.requests {
            #expect(post.path == "/v1/traces" && post.header("x-key") == "the-key")
            let text = String(decoding: post.body, as: UTF8.self)
            for secret in ["secret-body", "\"a\"", "the-key"] { #expect(!text.contains(secret)) }
        }
        await rig.end()
        await collector.shutdown()
    }

    @Test func `spans wait for a collector that is away, and are dropped if it refuses them`()
        async throws
    {
        let collector = try await Self.collector(first: [400, 503])
        let rig = try await Self.rig(collector)
        _ = try await Self.post(rig, [], trace: nil, ticket: "1")
        try await until("the first is refused") { !collector.requests.isEmpty }
        _ = try await Self.post(rig, [("ios", "a")], trace: nil, ticket: "2")
        let spans = try await Self.spans(collector, 2, refused: 2)
        #expect(Set(spans.compactMap { $0["traceId"]?.string }).count == 1)
        #expect(spans.contains { $0["name"]?.string == "webhook z" && $0["parentSpanId"] == nil })
        #expect(collector.requests.count >= 3)
        let line = try await OutageTests.line(rig, "the receiver of spans takes none")
        #expect(line.contains("error=status 400"))
        try await OutageTests.expectMetric(#"signalbox_spans_total{result="dropped"} 1"#, rig)
        try await OutageTests.expectMetric(#"signalbox_spans_total{result="sent"} 2"#, rig)
        await rig.end()
        await collector.shutdown()
    }
}
