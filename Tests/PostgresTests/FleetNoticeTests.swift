import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxPostgres

/// What gateways of a fleet find out about each other.
@Suite struct FleetNoticeTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    /// A writer of a store that the test drives by itself.
    private func writer(
        _ store: PostgresStore, _ heard: Notices, passedMs: UInt64 = 0
    ) throws -> (writer: QueueWriter, session: Session, clock: Hand) {
        let hand = Hand(passedMs)
        let clock = DatabaseClock(offsetMs: { hand.ms.withLock { $0 } })
        clock.hear(store.clock.nowUnixMs)
        var options = try rig.options(store.token.owner)
        options.onNotice = { heard.add($0) }
        let writer = QueueWriter(
            store.life, clock, seed: (1, 2), options, store.shared, OutageTracker { _ in })
        let session = Session(
            options.address, usesNames: true, store.life, channel: 9, clock)
        return (writer, session, hand)
    }

    final class Hand: Sendable {
        let ms: Mutex<UInt64>
        init(_ ms: UInt64) { self.ms = Mutex(ms) }
        func advance(ms more: UInt64) { ms.withLock { $0 += more } }
    }

    final class Notices: Sendable {
        private let all = Mutex<[PostgresNotice]>([])
        func add(_ notice: PostgresNotice) { all.withLock { $0.append(notice) } }
        var texts: [String] { all.withLock { $0.map { "\($0)" } } }
    }

    @Test func `a gateway that stops counts as dead at once, and is shown as stopped`() async throws
    {
        let (one, two) = (try await rig.open("one"), try await rig.open("two"))
        let heard = Notices()
        let (writer, session, _) = try writer(one, heard)
        _ = writer.perform([], session)
        #expect(one.isShared)
        await two.close()
        _ = writer.perform([], session)
        #expect(!one.isShared)
        let fleet = try await one.fleet()
        #expect(fleet.members.map { fleet.state(of: $0) } == [.live, .stopped])
        try #require(fleet.members.count == 2)
        #expect(fleet.nowUnixMs - fleet.members[1].heartbeatUnixMs < 600_000)
        // It is live again when it starts.
        let again = try await rig.open("two")
        _ = writer.perform([], session)
        #expect(one.isShared)
        #expect(try await again.fleet().members.allSatisfy { !$0.isStopped })
        try await rig.end()
    }

    @Test func `gateways that keep different configurations for over a minute say so once`()
        async throws
    {
        let (one, two) = (try await rig.open("one"), try await rig.open("two"))
        let heard = Notices()
        let (writer, session, clock) = try writer(one, heard)
        let other = try self.writer(two, Notices())
        func beat() {
            _ = other.writer.perform([], other.session)
            // It reads what its previous one has written.
            for _ in 0..<2 { _ = writer.perform([], session) }
        }
        one.setConfiguration("0a0a0a0a")
        beat()
        #expect(heard.texts.isEmpty, "one that does not say has no other")
        two.setConfiguration("0b0b0b0b")
        beat()
        let fleet = try await one.fleet()
        #expect(fleet.members.map(\.configuration) == ["0a0a0a0a", "0b0b0b0b"])
        #expect(fleet.configurationCount == 2)
        clock.advance(ms: 59_000)
        beat()
        #expect(heard.texts.isEmpty)
        clock.advance(ms: 2_000)
        beat()
        beat()
        #expect(heard.texts == [#"configurationsDiffer("one 0a0a0a0a, two 0b0b0b0b")"#])
        two.setConfiguration("0a0a0a0a")
        beat()
        beat()
        #expect(heard.texts.dropFirst() == ["configurationsAgree"])
        try await rig.end()
    }

    @Test func `a gateway says from which one it took deliveries over, once a minute`() async throws
    {
        let (one, two) = (try await rig.open("one"), try await rig.open("two"))
        for id in 1...3 as ClosedRange<UInt64> { try await rig.append(one, id, isTaken: true) }
        try await rig.append(two, 4)
        let heard = Notices()
        // The leases of the first one have ended.
        let (writer, session, clock) = try writer(two, heard, passedMs: 200_000)
        func lease(_ max: Int) {
            let wish = LeaseWish(max: max, forMs: 600_000)
            let job = QueueJob.lease(LaneKey(sender: "apns", app: ""), wish, done: { _ in })
            _ = writer.perform([job], session)
            _ = writer.perform([], session)
        }
        lease(2)
        lease(3)
        #expect(heard.texts == [#"tookOver(count: 1, from: "one")"#])
        clock.advance(ms: 60_000)
        _ = writer.perform([], session)
        _ = writer.perform([], session)
        #expect(heard.texts.dropFirst() == [#"tookOver(count: 2, from: "one")"#])
        try await rig.end()
    }

    @Test func `a receiver of outcomes stays while some gateway names it`() async throws {
        let (one, two) = (try await rig.open("one"), try await rig.open("two"))
        _ = try await one.setOutcomeReceivers(["crm", "new"])
        for number in 1...3 as ClosedRange<UInt64> {
            var pack = OutcomePack()
            pack.add(
                opened: OpenMark(eventID: number, route: "r"), user: "u", app: "", unixMs: number)
            try await one.append(pack)
        }
        // It was started with the previous file.
        #expect(try await two.setOutcomeReceivers(["crm"]) == ["crm": 1])
        let heard = Notices()
        let (first, second) = (
            ReceiverSweep(one.shared) { _ in }, ReceiverSweep(two.shared) { heard.add($0) }
        )
        let (own, others) = (try rig.session(one), try rig.session(two))
        var now = one.clock.nowUnixMs
        func sweep(_ sweep: ReceiverSweep, _ session: Session) throws {
            now += 10_000
            let unnamed = try session.transaction { transaction throws(TransactionFault) in
                try sweep.look(transaction, nowUnixMs: now)
            }
            try sweep.judge(unnamed, session)
        }
        for _ in 0..<2 * ReceiverSweep.sweepsMax {
            try sweep(first, own)
            try sweep(second, others)
        }
        #expect(heard.texts == [#"receiverUnnamed("new")"#])
        one.shared.receivers = nil
        // Up to two have seen it so already.
        for _ in 2..<ReceiverSweep.sweepsMax { try sweep(second, others) }
        #expect(try await rig.number("SELECT count(*) FROM signalbox.outcome_receiver") == 2)
        for _ in 0..<3 { try sweep(second, others) }
        #expect(heard.texts.dropFirst() == [#"receiverRemoved("new", count: 3)"#])
        #expect(try await rig.number("SELECT count(*) FROM signalbox.outcome_receiver") == 1)
        // A gateway that was away for so long names it again.
        one.shared.receivers = ["crm", "new"]
        try sweep(first, own)
        let next = "SELECT next FROM signalbox.outcome_receiver WHERE name = 'new'"
        #expect(try await rig.number(next) == 4)
        try await rig.end()
    }
}
