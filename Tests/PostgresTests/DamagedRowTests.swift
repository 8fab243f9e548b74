import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxPostgres

/// Values that no gateway writes, in every column of every table: the process keeps running, and the other rows are delivered.
@Suite struct DamagedRowTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    private static let tables = [
        "lane", "block", "delivery", "dead", "device", "badge", "outbox", "value", "seen",
        "outcome",
        "outcome_receiver", "history", "gateway", "mark",
    ]
    /// Which rows there are once for each database, and say how its tables are used.
    private static let structural: Set = ["lane.id", "gateway.name", "gateway.life"]

    private func fill() async throws {
        let options = try rig.options()
        let store = try await Tool.aside { try PostgresStore.open(options) }
        let device = Device(platform: "ios", token: "t", user: "u")
        let change = DeviceChange(kind: .registered, device: device, timeUnixMs: 1_000)
        _ = try await store.register(
            device, isUnique: false, reports: [DeviceReport(to: "crm", change)])
        _ = try await store.setBadge(3, of: UserKey(app: "", user: "u"))
        try await ask {
            store.set(instance: "i", key: "k", value: [1], forMs: 1_000_000_000, done: $0)
        }
        _ = try await store.setOutcomeReceivers(["bi"])
        for id in 1...3 as ClosedRange<UInt64> { try await rig.append(store, id, key: "k\(id)") }
        _ = try await rig.lease(store)
        let attempt = Attempt(number: 1, unixMs: 1_000, reason: "busy", code: 503, detail: "d")
        _ = try await rig.settle(
            store, [.retry(1, afterMs: 0, attempt, isFree: true), .dead(2, reason: "x", attempt)])
        try await rig.append(store, 4)
        var pack = OutcomePack()
        pack.add(
            .delivered, of: rig.delivery(3), reason: "ok", providerID: "", attempts: 1,
            unixMs: 1_000)
        pack.history.add(
            HistoryStep(.delivered, eventID: 3, delivery: 3, unixMs: 1_000), of: rig.delivery(3))
        try await store.append(pack)
        await store.close()
    }

    @Test func `a damaged value neither ends the process nor stops the others`() async throws {
        try await fill()
        for table in Self.tables {
            let columns = try await rig.database.run(
                """
                SELECT string_agg(column_name || ' ' || data_type, ',') FROM information_schema.columns
                WHERE table_schema = 'signalbox' AND table_name = '\(table)' AND column_name <> 'part'
                """)
            for column in columns.split(separator: ",") {
                let parts = column.split(separator: " ", maxSplits: 1).map { String($0) }
                guard parts.count == 2, !Self.structural.contains("\(table).\(parts[0])") else {
                    continue
                }
                for value in Self.values(parts[1]) { try await check(table, parts[0], value) }
            }
        }
        try await rig.end()
    }

    private static func values(_ type: String) -> [String] {
        switch type.trimmingPrefix(" ") {
        case "bigint": ["-1", "9223372036854775807", "-9223372036854775808"]
        case "bytea": ["'\\x'::bytea", "'\\x00ff'::bytea"]
        case "jsonb": ["'5'::jsonb", "'{}'::jsonb"]
        case "text": ["''", "'other'"]
        default: []
        }
    }

    /// Damages a row, uses the store, and puts the row back.
    private func check(_ table: String, _ column: String, _ value: String) async throws {
        let (whole, what) = ("signalbox.\(table)", "\(table).\(column) = \(value)")
        try await rig.database.run(
            "DROP TABLE IF EXISTS public.kept; CREATE TABLE public.kept AS SELECT * FROM \(whole)")
        let changed = try? await rig.database.run(
            "UPDATE \(whole) SET \(column) = \(value) WHERE ctid = (SELECT ctid FROM \(whole) LIMIT 1)"
        )
        if changed != nil { await use(what) }
        try await rig.database.run(
            "DELETE FROM \(whole); INSERT INTO \(whole) OVERRIDING SYSTEM VALUE SELECT * FROM public.kept"
        )
    }

    private func use(_ what: String) async {
        do {
            let options = try rig.options()
            let store = try await Tool.aside { try PostgresStore.open(options) }
            _ = try await store.fleet()
            for _ in 0..<2 { _ = try await rig.lease(store, max: 1) }
            let leased = try await rig.lease(store)
            _ = try await rig.settle(store, leased.map { .released($0.id) })
            _ = try await store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            _ = try await store.replay(DeadFilter(), fromID: 0, limit: 9)
            _ = try await store.devices(app: "", user: "u")
            _ = try await store.history(HistorySearch([.event(3)]))
            for next in try await store.setOutcomeReceivers(["bi", "new"]).values {
                _ = try await store.outcomes(from: next)
            }
            _ = try await ask { store.outbox(max: 9, done: $0) } as [OutboxEntry]
            _ = try await ask { store.values(instance: "i", done: $0) } as [String: [UInt8]]
            try await rig.append(store, UInt64.random(in: 1_000...1_000_000_000))
            await store.close()
        } catch {
            Issue.record("\(what): \(error)")
        }
    }

    @discardableResult
    private func ask<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StoreFailure>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in call { done.resume(with: $0) } }
    }
}
