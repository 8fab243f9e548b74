import PluginRig
import SignalboxCore
import SignalboxThreads
import Testing

@testable import SignalboxPostgres

/// History on PostgreSQL: partitions that are emptied, and deliveries that change their gateway.
@Suite struct HistoryTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    private func append(_ store: PostgresStore, _ id: UInt64, isTaken: Bool = false) async throws {
        let event = Event(id: id, source: "s", type: "t", subject: "subject")
        var item = StoreEntry.Item(
            event: event, deliveries: [rig.delivery(id)], taken: isTaken ? [id] : [])
        item.history = HistoryPack(
            HistoryEvent(event, receivedUnixMs: 1), tags: [.event(id), .subject("subject")])
        try await rig.append(store, item)
    }

    private func found(
        _ store: PostgresStore, _ tag: HistoryTag = .subject("subject")
    ) async throws -> (events: [UInt64], rows: [HistoryRow]) {
        let page = try await store.history(HistorySearch([tag]))
        return (page.rows.flatMap { $0.read().events.map(\.id) }, page.rows)
    }

    /// As if so much time had passed.
    private func age(byMs ms: UInt64) async throws {
        try await rig.database.run("UPDATE signalbox.history SET at = at - \(ms)")
    }

    @Test func `partitions take turns, and the oldest is emptied`() async throws {
        let store = try await rig.open()
        // Its own sweep has nothing to do.
        store.keepHistory(HistoryLimits())
        let session = try rig.session(store)
        let state = SharedState(waiting: 0, outcomes: 0)
        state.historyLimits = HistoryLimits(keepMs: 7_000)
        let rotation = HistoryRotation(state)
        for id in 1...12 as ClosedRange<UInt64> {
            try await append(store, id)
            try await age(byMs: 1_001)
            try rotation.tidy(session, nowUnixMs: Int64(clamping: SystemClock.unixMs))
        }
        let left = try await found(store).events
        // Seven whole partitions, and the current one, which is empty.
        #expect(left == [12, 11, 10, 9, 8, 7, 6])
        try await age(byMs: 10_000)
        let next = HistoryRotation(state)
        try next.tidy(session, nowUnixMs: Int64(clamping: SystemClock.unixMs))
        #expect(try await found(store).events.isEmpty)
        try await rig.end()
    }

    @Test func `a partition that is too large is followed by the next`() async throws {
        let store = try await rig.open()
        store.keepHistory(HistoryLimits())
        let session = try rig.session(store)
        let state = SharedState(waiting: 0, outcomes: 0)
        state.historyLimits = HistoryLimits(bytesMax: 8 * 16_384)
        for id in 1...200 as ClosedRange<UInt64> { try await append(store, id) }
        try HistoryRotation(state).tidy(session, nowUnixMs: Int64(clamping: SystemClock.unixMs))
        #expect(
            try await rig.number("SELECT value FROM signalbox.meta WHERE name = 'history_part'")
                == 1)
        #expect(try await found(store).events.count == 200)
        try await rig.end()
    }

    @Test func `what was kept goes when nothing is kept any more`() async throws {
        let store = try await rig.open()
        store.keepHistory(HistoryLimits())
        let session = try rig.session(store)
        for id in 1...3 as ClosedRange<UInt64> { try await append(store, id) }
        let state = SharedState(waiting: 0, outcomes: 0)
        let now = Int64(clamping: SystemClock.unixMs)
        try HistoryRotation(state).tidy(session, nowUnixMs: now)
        #expect(
            try await found(store).events.count == 3, "a program that says nothing removes nothing")
        state.historyLimits = HistoryLimits.none
        try HistoryRotation(state).tidy(session, nowUnixMs: now)
        #expect(try await found(store).events.isEmpty)
        try await rig.end()
    }

    @Test func `whoever takes a delivery over from a dead gateway says so`() async throws {
        let one = try await rig.open("one")
        one.keepHistory(HistoryLimits())
        try await append(one, 1, isTaken: true)
        let two = try await rig.open("two")
        two.keepHistory(HistoryLimits())
        try await rig.database.run("UPDATE signalbox.block SET due = 1")
        var taken: [Delivery] = []
        while taken.isEmpty { taken = try await rig.lease(two) }
        let rows = try await found(two, .event(1)).rows
        #expect(rows.map(\.gateway) == ["two", "one"])
        #expect(rows.first?.read().steps.map(\.kind) == [.takenOver])
        try await rig.end()
    }
}
