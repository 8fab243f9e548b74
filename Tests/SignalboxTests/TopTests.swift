import SignalboxCore
import SignalboxJSON
import Testing

@testable import Signalbox
@testable import SignalboxAdmin
@testable import SignalboxGateway

@Suite struct TopTests {
    private static func sample(_ delivered: Int, _ fast: Int, at ns: UInt64) -> TopTool.Sample {
        let metrics = """
            # HELP signalbox_events_total events
            signalbox_events_total{source="z",result="accepted"} \(delivered)
            signalbox_deliveries_total{route="r",sender="apns",result="delivered",reason=""} \(delivered)
            signalbox_deliveries_total{route="a \\"b\\", {c}",sender="apns",result="failed",reason="x\\\\y"} 1
            signalbox_lane_deliveries_total{sender="apns",app="",result="delivered"} \(delivered)
            signalbox_lane_deliveries_total{sender="apns",app="other",result="delivered"} 7
            signalbox_provider_seconds_bucket{sender="apns",le="0.01"} \(fast)
            signalbox_provider_seconds_bucket{sender="apns",le="0.1"} \(delivered)
            signalbox_provider_seconds_bucket{sender="apns",le="+Inf"} \(delivered)
            signalbox_broken{
            signalbox_plain 2.5e3
            """
        let ready: JSONValue = [
            "status": "degraded", "gateway": "g-1", "waiting": 7,
            "senders": [
                [
                    "sender": "apns", "app": "", "state": "credentials",
                    "reason": "InvalidProviderToken", "connections": 2, "in_memory": 3,
                ]
            ],
        ]
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

    @Test func `each row says why its sender does not send, and a paused route has a line`() throws
    {
        var now = Self.sample(1, 1, at: 3)
        now.readiness = try JSONValue.parse(
            #"""
            {"senders":[
              {"sender":"apns","app":"","state":"paused","reason":"by anna (10.0.0.7): wrong text","paused_since_unix_ms":1},
              {"sender":"fcm","app":"","state":"failing","reason":"unreachable","detail":"fcm:443: the certificate has expired","held_since_unix_ms":1}],
             "paused":[{"sender":"apns","by":"anna","address":"10.0.0.7","reason":"wrong text","since_unix_ms":1},
              {"route":"r","by":"ben","address":"","reason":"","since_unix_ms":1}]}
            """#)
        let lines = TopTable(now, since: now).lines
        let time = TimeText.local(1)
        #expect(lines[5].hasPrefix("apns         paused                "))
        #expect(lines[5].hasSuffix("  by anna (10.0.0.7): wrong text, since \(time)"))
        #expect(lines[6].hasPrefix("fcm          failing: unreachable  "))
        #expect(lines[6].hasSuffix("  fcm:443: the certificate has expired, since \(time)"))
        #expect(lines.last == "route r is paused since \(time) by ben")
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

    @Test func `a row has the rates of its app`() {
        func sample(_ one: Int, _ two: Int, _ ns: UInt64) -> TopTool.Sample {
            let name = "signalbox_lane_deliveries_total"
            let rows = ["one", "two"].map { app in
                JSONValue.object([
                    .init("sender", .string("apns")), .init("app", .string(app)),
                    .init("state", .string("connected")),
                ])
            }
            let metrics = """
                \(name){sender="apns",app="one",result="delivered"} \(one)
                \(name){sender="apns",app="two",result="delivered"} \(two)
                """
            return TopTool.Sample(
                takenNs: ns, metrics: MetricsSample(metrics),
                readiness: ["senders": .array(rows)])
        }
        let table = TopTable(sample(30, 9, 1_000_000_000), since: sample(10, 8, 0))
        let cells = table.lines.suffix(2).map { $0.split(separator: " ") }
        #expect(cells.map { String($0[5]) } == ["20.0", "1.0"], "\(table.lines)")
    }

    @Test func `those in trouble are listed first, and those that are not listed are counted`() {
        let states = (0..<300).map { number -> JSONValue in
            let state = number % 100 == 99 ? "failing" : number % 100 == 98 ? "paused" : "idle"
            return ["sender": .string("s\(number)"), "state": .string(state)]
        }
        let shown = ShownSenders(states)
        let names = shown.rows.compactMap { $0["sender"]?.string }
        #expect(names.prefix(7) == ["s99", "s199", "s299", "s98", "s198", "s298", "s0"])
        #expect(names.count == 200)
        let counts = JSONValue.object(shown.counts)
        #expect(counts.text == #"{"senders_troubled":3,"senders_omitted":100}"#)
        let note = "200 of 300 senders and apps, 3 in trouble come first"
        #expect(ShownSenders.note(counts) == note)
        let few = JSONValue.object(ShownSenders([states[0]]).counts)
        #expect(few.text == #"{"senders_troubled":0}"#)
    }
}
