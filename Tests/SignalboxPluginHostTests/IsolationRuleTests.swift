import SignalboxCore
import Testing

@testable import SignalboxPluginHost

/// When a process is restarted, what is blamed for its end, and which of its messages count.
@Suite struct IsolationRuleTests {
    @Test func `the wait doubles, and is short again after a healthy time`() {
        var options = IsolationOptions()
        options.runner = ["x"]
        var wait = BackOff(options)
        let waits = (0..<12).map { _ in wait.ended(afterMs: 5_000) }
        #expect(
            waits == [
                100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000,
            ])
        let later = [59_999, 60_000, 1].map { wait.ended(afterMs: $0) }
        #expect(later == [30_000, 100, 200])
        // What ended one that had answered was one of many calls.
        let working = [1, 1, 1].map { wait.ended(afterMs: $0, hasWorked: true) }
        #expect(working == [400, 500, 500])
        options.waitFirstMs = 0
        var none = BackOff(options)
        let atOnce = (0..<3).map { _ in none.ended(afterMs: 0) }
        #expect(atOnce == [0, 0, 0])
    }

    @Test func `poison go one at a time until the cause has shown twice`() {
        var poison = PoisonTracker()
        #expect(!poison.isOn(nowMs: 0))
        let together = poison.crashed([1, 2, 3], isAlone: true, nowMs: 10)
        #expect(!together && poison.isOn(nowMs: 11))
        poison.cleared([1, 3])
        #expect(poison.isOn(nowMs: 12))
        let alone = poison.crashed([2], isAlone: true, nowMs: 13)
        // Something else was in flight, too, so that proves nothing.
        let unclear = poison.crashed([2], isAlone: false, nowMs: 14)
        let twice = poison.crashed([2], isAlone: true, nowMs: 15)
        #expect(!alone && !unclear && twice)
        #expect(!poison.isOn(nowMs: 16))
    }

    @Test func `after others an item proves to be the cause at its fourth crash`() {
        var poison = PoisonTracker()
        func crashed(isFirst: Bool) -> Bool {
            poison.crashed([1], isAlone: true, isFirst: isFirst, nowMs: 0)
        }
        let after = (1...4).map { _ in crashed(isFirst: false) }
        #expect(after == [false, false, false, true])
        let mixed = [crashed(isFirst: false), crashed(isFirst: true), crashed(isFirst: false)]
        #expect(mixed == [false, false, true])
    }

    @Test func `suspicion ends by itself`() {
        var poison = PoisonTracker()
        _ = poison.crashed([1, 2], isAlone: true, nowMs: 0)
        #expect(poison.isOn(nowMs: 599_999))
        #expect(!poison.isOn(nowMs: 600_000))
        // The record of poison does not grow without limit.
        for round in 0..<100 {
            let first = UInt64(round * 1_000)
            _ = poison.crashed(Array(first..<first + 1_000), isAlone: true, nowMs: 700_000)
        }
        #expect(poison.isOn(nowMs: 700_001))
    }

    static func batch(
        method: String = "POST", path: String = "/p", header: (String, String) = ("a", "b"),
        headerCount: Int = 1, items: [UInt64]
    ) -> RequestBatch {
        var batch = RequestBatch()
        for item in items {
            let method = batch.append(bytes: method.utf8)
            let path = batch.append(bytes: path.utf8)
            let name = batch.append(bytes: header.0.utf8)
            let value = batch.append(bytes: header.1.utf8)
            for _ in 0..<headerCount { batch.append(header: .init(name: name, value: value)) }
            batch.append(item: item)
            batch.appendRequest(method: method, path: path, body: .empty)
        }
        return batch
    }

    @Test func `only sound requests, of what was offered, and each once, are believed`() throws {
        let items: [UInt64] = [5, 6, 7]
        let settled = [Outcome(item: 6, kind: .retry)]
        try RequestRules.check(Self.batch(items: [5, 7]), settled, of: items)
        try RequestRules.check(Self.batch(items: [7, 5]), settled, of: items)
        let wrong: [(RequestBatch, [Outcome])] = [
            (Self.batch(items: [5]), settled), (Self.batch(items: [5, 7, 7]), settled),
            (Self.batch(items: [5, 7, 8]), settled), (Self.batch(items: [5, 6, 7]), settled),
            (Self.batch(items: [5, 7]), settled + settled),
            (Self.batch(path: "p", items: [5, 7]), settled),
            (Self.batch(path: "/a b", items: [5, 7]), settled),
            (Self.batch(header: ("A", "b"), items: [5, 7]), settled),
            (Self.batch(header: ("a", "b\r\nc: d"), items: [5, 7]), settled),
            (Self.batch(header: ("", "b"), items: [5, 7]), settled),
            (Self.batch(method: String(repeating: "X", count: 33), items: [5, 7]), settled),
            (
                Self.batch(path: "/" + String(repeating: "x", count: 1 << 16), items: [5, 7]),
                settled
            ),
            (Self.batch(header: ("a", ""), headerCount: 1_001, items: [5, 7]), settled),
            (
                Self.batch(
                    header: ("a", String(repeating: "x", count: 1_000)), headerCount: 66,
                    items: [5, 7]), settled
            ),
        ]
        for (requests, outcomes) in wrong {
            #expect(throws: WireFault.self) {
                try RequestRules.check(requests, outcomes, of: items)
            }
        }
    }

    @Test func `a batch whose parts reach beyond it is none`() {
        let sound = Self.batch(items: [1])
        let good = sound.requests[0]
        func make(_ change: (inout RequestBatch.Request) -> Void) -> RequestBatch? {
            var request = good
            change(&request)
            return RequestBatch(
                bytes: sound.bytes, headers: sound.headers, items: sound.items,
                requests: [request])
        }
        let changes: [(inout RequestBatch.Request) -> Void] = [
            { $0.path.start = -1 }, { $0.path.count = 1_000 },
            { $0.path = .init(start: .max, count: .max) }, { $0.headers = 0..<2 },
            { $0.items = 0..<2 },
        ]
        let same = make { _ in }
        #expect(same != nil)
        for change in changes {
            let changed = make(change)
            #expect(changed == nil)
        }
        let header = RequestBatch.Header(
            name: .init(start: 0, count: 99), value: .init(start: 0, count: 0))
        #expect(
            RequestBatch(bytes: sound.bytes, headers: [header], items: [], requests: []) == nil)
    }

    @Test func `batches can be joined`() {
        var one = Self.batch(path: "/one", items: [1])
        one.append(contentsOf: Self.batch(path: "/two", header: ("x", "y"), items: [2, 3]))
        #expect(one.requests.map { one.text($0.path) } == ["/one", "/two", "/two"])
        #expect(one.items == [1, 2, 3])
        #expect(one.requests.map { one.items[Int($0.items.lowerBound)] } == [1, 2, 3])
        #expect(one.headers.map { one.text($0.name) } == ["a", "x", "x"])
        #expect(one.requests[2].headers == 2..<3)
    }

    @Test func `results beyond the bounds are not believed`() throws {
        var limits = Limits()
        limits.eventsPerRequestMax = 2
        limits.devicesPerEventMax = 2
        let event = Event(source: "another", type: "x.y", data: "{}")
        var sound = IngestResult()
        sound.events = [event, event]
        try IngestRules.check(&sound, limits, source: "mine")
        #expect(sound.events.map(\.source) == ["mine", "mine"])
        let device = Device(platform: "ios", token: "t")
        let wrong: [(inout IngestResult) -> Void] = [
            { $0.events.append(event) }, { $0.events[0].type = "" },
            { $0.events[0].data = "[1]" }, { $0.events[0].data = "no JSON" },
            { $0.events[0].recipients = .init(repeating: Recipient(device: device), count: 3) },
            { $0.changes = [DeviceChange(kind: .invalid, device: device)] },
            { $0.changes = [DeviceChange(kind: .registered, device: Device(token: "t"))] },
            { $0.answer = .init(status: 99, headers: [], body: []) },
            { $0.fault = PluginFault(.invalid, "and events") },
            { $0.rejects = .init(repeating: .init(reason: "", detail: ""), count: 10_001) },
        ]
        for change in wrong {
            var result = sound
            change(&result)
            #expect(throws: WireFault.self) {
                try IngestRules.check(&result, limits, source: "mine")
            }
        }
    }
}
