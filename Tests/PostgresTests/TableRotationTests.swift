import PluginRig
import SignalboxCore
import SignalboxThreads
import Synchronization
import Testing

@testable import SignalboxPostgres

/// Tables stay small, and lose nothing when their rotation change.
@Suite struct TableRotationTests {
    private final class Load: Sendable {
        let hasEnded = Atomic(false)
    }

    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    /// Changes the rotation of all tables, and empties the former ones.
    private func turn(_ session: Session, times: Int = 2) throws {
        let clock = SystemClock.unixMs
        for _ in 0..<times {
            try TableRotation(bytesMax: -1).tidy(session, nowUnixMs: Int64(clamping: clock))
        }
    }

    private func bytes(_ table: String) async throws -> Int {
        try await rig.number(
            """
            SELECT pg_relation_size('signalbox.\(table)_0') + pg_relation_size('signalbox.\(table)_1')
            """)
    }

    @Test func `space is free again although somebody keeps an old snapshot`() async throws {
        let store = try await rig.open()
        let reader = try rig.link()
        _ = try reader.run(
            Statement("", "BEGIN ISOLATION LEVEL REPEATABLE READ"), byNs: rig.soon)
        _ = try reader.run(Statement("", "SELECT count(*) FROM pg_class"), byNs: rig.soon)
        for id in 1...20 as ClosedRange<UInt64> {
            try await rig.append(store, id, key: "key \(id)", isTaken: true)
            #expect(try await rig.settle(store, [.delivered(id)]).lost.isEmpty)
        }
        try await rig.database.run("VACUUM signalbox.block")
        #expect(try await bytes("block") > 0)
        let session = try rig.session(store)
        try turn(session)
        #expect(try await bytes("block") == 0)
        #expect(try await rig.number("SELECT count(*) FROM signalbox.seen") == 20)
        // It is still open: nothing else could have made room.
        _ = try reader.run(Statement("", "SELECT 1"), byNs: rig.soon)
        try await rig.end()
    }

    @Test func `what lives moves to the other half`() async throws {
        let store = try await rig.open()
        for id in 1...5 as ClosedRange<UInt64> {
            try await rig.append(store, id, key: "key \(id)")
        }
        try await rig.append(store, 6, key: "key 6", isTaken: true)
        let session = try rig.session(store)
        for _ in 0..<3 {
            try turn(session)
            for id in 1...6 as ClosedRange<UInt64> {
                #expect(try await rig.append(store, id + 10, key: "key \(id)").isEmpty == false)
            }
        }
        // Held before, settled after the moves.
        #expect(try await rig.settle(store, [.delivered(6)]).lost.isEmpty)
        #expect(try await rig.lease(store).map(\.id).sorted() == Array(1...5))
        try turn(session)
        let ends = (1...5).map { id -> LeaseEnd in
            let attempt = Attempt(number: 1, unixMs: 1, reason: "busy", code: 503, detail: "")
            return .retry(UInt64(id), afterMs: 0, attempt, isFree: false)
        }
        #expect(try await rig.settle(store, ends).lost.isEmpty)
        try turn(session)
        #expect(try await rig.lease(store).map(\.attempt) == [2, 2, 2, 2, 2])
        try await rig.end()
    }

    @Test func `a key is new once while the rotation change`() async throws {
        let stores = [try await rig.open(), try await rig.open("two")]
        let load = Load()
        let taken = try await withThrowingTaskGroup(of: Int.self) { group in
            for store in stores {
                group.addTask {
                    var taken = 0
                    for id in 1...300 as ClosedRange<UInt64> {
                        let found = try await rig.append(store, id, key: "key \(id)")
                        taken += found.isEmpty ? 1 : 0
                    }
                    return taken
                }
            }
            let turns = Task {
                try await Tool.aside {
                    let session = try rig.session(stores[0])
                    while !load.hasEnded.load(ordering: .relaxed) { try turn(session, times: 1) }
                }
            }
            let sum = try await group.reduce(0, +)
            load.hasEnded.store(true, ordering: .relaxed)
            try await turns.value
            return sum
        }
        #expect(taken == 300)
        #expect(try await rig.number("SELECT count(*) FROM signalbox.seen") == 300)
        try await rig.end()
    }

    @Test func `a dump makes a half wait, and nobody else`() async throws {
        let store = try await rig.open()
        let session = try rig.session(store)
        try await rig.append(store, 1)
        try turn(session, times: 1)
        let dump = try rig.link()
        _ = try dump.run(Statement("", "BEGIN"), byNs: rig.soon)
        _ = try dump.run(Statement("", "SELECT count(*) FROM signalbox.block_0"), byNs: rig.soon)
        try turn(session)
        #expect(try await rig.append(store, 2).isEmpty)
        #expect(try await rig.number("SELECT pg_relation_size('signalbox.block_0')") > 0)
        _ = try dump.run(Statement("", "COMMIT"), byNs: rig.soon)
        try turn(session, times: 1)
        #expect(try await rig.number("SELECT pg_relation_size('signalbox.block_0')") == 0)
        #expect(try await rig.lease(store).map(\.id).sorted() == [1, 2])
        try await rig.end()
    }

    @Test func `a commit's mark and the claim for another one move, too`() async throws {
        let store = try await rig.open()
        let session = try rig.session(store)
        let lost = PostgresFault(kind: .lost, message: "lost")
        try await rig.database.run(
            "INSERT INTO signalbox.mark (life, channel, n) VALUES (\(store.life.number), 9, 7000)")
        for _ in 0..<3 {
            #expect(try session.wasCommitted(7_000, lost))
            #expect(try !session.wasCommitted(8_000, lost))
            try turn(session)
        }
        try await rig.end()
    }

    @Test func `outcomes keep their order when the rotation change`() async throws {
        let store = try await rig.open()
        let session = try rig.session(store)
        _ = try await store.setOutcomeReceivers(["r"])
        for number in 1...6 as ClosedRange<UInt64> {
            var pack = OutcomePack()
            pack.add(
                opened: OpenMark(eventID: number, route: "r"), user: "u", app: "", unixMs: number)
            try await store.append(pack)
            #expect(store.nextOutcome == number + 1)
            try turn(session, times: 1)
        }
        #expect(try await store.outcomes(from: 1).rows.map(\.first) == Array(1...6))
        try await store.outcomesTaken(by: "r", next: 7)
        try turn(session)
        #expect(try await store.setOutcomeReceivers(["r"]) == ["r": 7])
        #expect(store.nextOutcome == 7)
        try await rig.end()
    }

    @Test func `a half of which most is alive stays`() async throws {
        let store = try await rig.open()
        let session = try rig.session(store)
        for id in 1...50 as ClosedRange<UInt64> { try await rig.append(store, id, key: "\(id)") }
        let size = try await rig.number("SELECT pg_total_relation_size('signalbox.seen_0')")
        try TableRotation(bytesMax: Int64(size)).tidy(
            session, nowUnixMs: Int64(clamping: SystemClock.unixMs))
        #expect(
            try await rig.number("SELECT value FROM signalbox.meta WHERE name = 'seen_part'") == 0)
        try await rig.end()
    }
}
