import SignalboxCore
import SignalboxDispatch
import Testing

@Suite struct LaneWindowTests {
    func high(_ id: UInt64) -> Delivery {
        var note = PushNotification()
        note.priority = .high
        var made = delivery(id)
        made.content = SharedNotification(note, receivedUnixMs: 0)
        return made
    }

    func expect(
        _ window: inout LaneWindow, _ count: Int, _ wanted: [UInt64],
        at place: SourceLocation = #_sourceLocation
    ) {
        let taken = window.next(max: count, nowUnixMs: 0).batch.map(\.id)
        #expect(taken == wanted, sourceLocation: place)
    }

    @Test func `takes in order, high priority first`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2), high(3)])
        expect(&window, 2, [3, 1])
        window.arrive([high(4)])
        expect(&window, 9, [4, 2])
        let (first, second) = (window.settle(2), window.settle(2))
        #expect(first?.id == 2)
        #expect(second == nil)
        #expect(window.count == 3 && window.inFlightCount == 3)
    }

    @Test func `what is given back comes first, unchanged`() {
        var window = LaneWindow(countMax: 100)
        window.arrive((1...3).map { delivery($0) })
        let batch = window.next(max: 2, nowUnixMs: 0).batch
        window.giveBack(batch)
        expect(&window, 9, [1, 2, 3])
    }

    @Test func `a delivery that is there is not taken in twice`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2)])
        _ = window.next(max: 1, nowUnixMs: 0)
        let new = window.arrive([delivery(1), delivery(2), delivery(3)])
        #expect(new == 1)
        #expect(window.count == 3)
        // Settled, but the store does not know it yet.
        _ = window.settle(1)
        let early = window.arrive([delivery(1)])
        #expect(early == 0)
        window.committed([1])
        let late = window.arrive([delivery(1)])
        #expect(late == 1)
    }

    @Test func `what is ready can be given back to the store, and is not taken in before that`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2), high(3)])
        _ = window.next(max: 1, nowUnixMs: 0)
        #expect(window.takeReady().map(\.id) == [1, 2])
        #expect(window.count == 1 && window.readyCount == 0)
        let early = window.arrive([delivery(1)])
        #expect(early == 0)
        window.committed([1, 2])
        let late = window.arrive([delivery(1), delivery(2)])
        #expect(late == 2)
        expect(&window, 9, [1, 2])
    }

    @Test func `a delivery that is settled while it is ready is not sent`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2), delivery(3)])
        let settled = [2, 2, 9].map { window.withdraw($0) }
        #expect(settled == [true, false, false])
        #expect(window.count == 2)
        expect(&window, 9, [1, 3])
        let isSent = !window.withdraw(1)
        #expect(isSent)
        #expect(window.readyCount == 0 && window.inFlightCount == 2)
    }

    @Test func `room is kept while deliveries are committed, the last of it for high priority`() {
        var window = LaneWindow(countMax: 16)
        let normal = window.reserve((1...20).map { delivery($0) })
        #expect(normal.count == 14)
        #expect(window.reserve([high(30), high(31), high(32)]).count == 2)
        #expect(window.room == 0)
        window.release(reserved: 16)
        #expect(window.room == 16)
    }

    @Test func `what is past its deadline is handed out as expired`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1, deadline: 100), delivery(2)])
        let taken = window.next(max: 9, nowUnixMs: 100)
        #expect(taken.expired.map(\.id) == [1])
        #expect(taken.batch.map(\.id) == [2])
        #expect(window.count == 1)
    }

    @Test(arguments: [UInt64(1), 7, 1234])
    func `nothing is lost and nothing doubled, whatever happens`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var window = LaneWindow(countMax: 64)
        var waiting = (UInt64(1)...3_000).map { $0 % 3 == 0 ? high($0) : delivery($0) }[...]
        var out: Set<UInt64> = []
        var taken: [Delivery] = []
        var unstored: [UInt64] = []
        while out.count < 3_000 {
            if random.next() % 8 == 0 {
                window.committed(unstored)
                unstored = []
            }
            let part = waiting.prefix(min(window.room, Int(random.next() % 9)))
            waiting = waiting.dropFirst(part.count)
            window.arrive(part)
            #expect(window.count <= 64)
            taken += window.next(max: Int(random.next() % 5) + 1, nowUnixMs: 0).batch
            guard let pick = taken.indices.randomElement(using: &random) else { continue }
            let one = taken.remove(at: pick)
            if random.next() % 3 == 0 {
                window.giveBack([one])
            } else if let settled = window.settle(one.id) {
                #expect(out.insert(settled.id).inserted, "seed \(seed)")
                unstored.append(settled.id)
            }
        }
        #expect(window.count == 0)
    }
}
