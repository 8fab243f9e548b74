import SignalboxCore
import Testing

@testable import Signalbox

@Suite struct TopTests {
    private static func sample(_ delivered: Int, _ fast: Int, at ns: UInt64) -> TopTool.Sample {
        let metrics = """
            # HELP signalbox_events_total events
            signalbox_events_total{source="z",result="accepted"} \(delivered)
            signalbox_deliveries_total{route="r",sender="apns",result="delivered",reason=""} \(delivered)
            signalbox_deliveries_total{route="a \\"b\\", {c}",sender="apns",result="failed",reason="x\\\\y"} 1
            signalbox_provider_seconds_bucket{sender="apns",le="0.01"} \(fast)
            signalbox_provider_seconds_bucket{sender="apns",le="0.1"} \(delivered)
            signalbox_provider_seconds_bucket{sender="apns",le="+Inf"} \(delivered)
            signalbox_broken{
            signalbox_plain 2.5e3
            """
        let ready = JSONValue.object([
            .init("status", .string("degraded")), .init("gateway", .string("g-1")),
            .init("waiting", .integer(7)),
            .init(
                "senders",
                .array([
                    .object([
                        .init("sender", .string("apns")), .init("app", .string("")),
                        .init("state", .string("credentials")),
                        .init("reason", .string("InvalidProviderToken")),
                        .init("connections", .integer(2)), .init("in_memory", .integer(3)),
                    ])
                ])),
        ])
        return TopTool.Sample(
            takenNs: ns, metrics: MetricsSample(metrics), readiness: ready)
    }

    @Test func `rates and latencies are those between two looks`() {
        let table = TopTable(
            Self.sample(120, 60, at: 3_000_000_000), since: Self.sample(100, 50, at: 1_000_000_000))
        #expect(
            table.lines.prefix(4) == [
                "g-1  degraded  7 waiting",
                "events/s    accepted 10.0  duplicate 0.0  unrouted 0.0  unreached 0.0  build_failed 0.0",
                "requests    p50 -  p99 -", "",
            ])
        #expect(table.lines[4].hasPrefix("SENDER  APP  STATE"))
        #expect(table.lines[5].contains("≤10 ms") && table.lines[5].hasSuffix("≤100 ms"))
        #expect(
            table.lines[5].contains(
                "credentials: InvalidProviderToken  2            3          10.0"))
    }

    @Test func `a gateway that was started again has no negative rates`() {
        let table = TopTable(
            Self.sample(1, 1, at: 3_000_000_000), since: Self.sample(100, 50, at: 1_000_000_000))
        #expect(table.lines[1].contains("accepted 0.0"))
        #expect(table.lines[5].hasSuffix("-"))
    }

    @Test func `labels are read with their escapes, and broken lines are left out`() {
        let metrics = Self.sample(1, 1, at: 0).metrics
        #expect(metrics.sum("signalbox_plain") == 2_500)
        #expect(metrics.series("signalbox_broken").isEmpty)
        let odd = metrics.series("signalbox_deliveries_total", ["result": "failed"]).first
        #expect(odd?.labels["route"] == "a \"b\", {c}")
        #expect(odd?.labels["reason"] == #"x\y"#)
    }
}
