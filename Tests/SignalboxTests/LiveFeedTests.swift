import SignalboxCore
import SignalboxHTTP
import SignalboxThreads
import Synchronization
import Testing

@testable import Signalbox
@testable import SignalboxAdmin

/// What open admin pages cost.
@Suite struct LiveFeedTests {
    private static func look(_ text: String, ns: UInt64 = 0) -> LiveLook {
        LiveLook(
            takenNs: ns, unixMs: 7, metrics: MetricsSample(text),
            readiness: ["status": "ready"], waiting: 3)
    }

    private static let page = """
        signalbox_events_total{source="a",result="accepted"} 10
        signalbox_deliveries_total{route="r",sender="s",result="delivered",reason="ok"} 4
        signalbox_provider_seconds_bucket{sender="s",le="0.005"} 3
        signalbox_provider_seconds_bucket{sender="s",le="0.01"} 4
        signalbox_provider_seconds_bucket{sender="s",le="+Inf"} 4
        """

    @Test func `rates and latency are those between two looks`() {
        let later = Self.page.replacing("10", with: "30").replacing("} 4", with: "} 8")
        let change = LiveChange(
            Self.look(later, ns: 2_000_000_000), since: Self.look(Self.page, ns: 0))
        let sample = change.sample
        #expect(sample["sources"]?["a"]?["events"]?.integer == 10)
        #expect(sample["routes"]?["r"]?["delivered"]?.integer == 2)
        #expect(sample["senders"]?["s"]?["p50"]?.scalarText == "0.01")
        #expect(sample["total"]?["waiting"]?.integer == 3)
        #expect(sample["total"]?["failed"]?.integer == 0)
        // After a restart the counters are smaller.
        let less = LiveChange(
            Self.look(Self.page, ns: 2_000_000_000), since: Self.look(later, ns: 0))
        #expect(less.sample["sources"]?["a"]?["events"]?.integer == 0)
        #expect(LiveChange(Self.look(Self.page), since: nil).point["events"]?.integer == 0)
    }

    @Test func `a lane has rates of its own, and one without any attempt is left out`() {
        func page(_ one: Int) -> String {
            """
            signalbox_lane_deliveries_total{sender="s",app="one",result="delivered"} \(one)
            signalbox_lane_deliveries_total{sender="s",app="two",result="delivered"} 5
            signalbox_lane_deliveries_total{sender="s",app="",result="retried"} \(one)
            """
        }
        let change = LiveChange(
            Self.look(page(9), ns: 2_000_000_000), since: Self.look(page(5), ns: 0))
        let lanes = change.sample["lanes"]?["s"]
        #expect(lanes?["one"]?.text == #"{"delivered":2,"retried":0,"failed":0}"#)
        #expect(lanes?[""]?["retried"]?.integer == 2)
        #expect(lanes?["two"] == nil)
    }

    @Test func `nothing is looked at for nobody, and only so many may look`() {
        let alarms = AlarmClock()
        defer { alarms.stop() }
        let looks = Mutex(0)
        let feed = LiveFeed(alarms, greeting: { ["gateway": "g"] }) { _ in
            looks.withLock { $0 += 1 }
            return Self.look("")
        }
        #expect(looks.withLock { $0 } == 0)
        let answers = (0..<LiveFeed.readersMax).map { _ in feed.open() }
        #expect(answers.allSatisfy { $0.status == 200 && $0.stream != nil })
        let text = String(decoding: answers.first?.body ?? [], as: UTF8.self)
        #expect(text == "event: hello\ndata: {\"gateway\":\"g\"}\n\nevent: history\ndata: []\n\n")
        let refused = feed.open()
        #expect(refused.status == 503 && refused.stream == nil)
        #expect(feed.readerCount == LiveFeed.readersMax)
    }
}
