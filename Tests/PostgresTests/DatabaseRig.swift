import PluginRig
import SignalboxCore
import SignalboxThreads
import Synchronization
import Testing

@testable import SignalboxPostgres

/// Stores on a database of their own, and short ways to use them.
final class DatabaseRig: Sendable {
    let database: PostgresDatabase
    private let stores = Mutex<[PostgresStore]>([])
    private let heard = Mutex<[PostgresNotice]>([])

    var notices: [PostgresNotice] { heard.withLock { $0 } }
    var soon: UInt64 { SystemClock.monotonicNs + 60_000_000_000 }

    init() async throws { database = try await PostgresServer.shared().database() }

    func options(_ owner: String = "one", address: String? = nil) throws -> PostgresOptions {
        var options = PostgresOptions(
            address: try PostgresAddress(address ?? database.address), owner: owner,
            onNotice: { notice in self.heard.withLock { $0.append(notice) } })
        options.patienceMs = 60_000
        return options
    }

    func open(_ owner: String = "one", address: String? = nil) async throws -> PostgresStore {
        let options = try options(owner, address: address)
        let store = try await Tool.aside { try PostgresStore.open(options) }
        stores.withLock { $0.append(store) }
        return store
    }

    func end() async throws {
        for store in stores.withLock({ $0 }) { await store.close() }
        try await database.remove()
    }

    func link() throws -> PostgresLink { try PostgresLink(PostgresAddress(database.address)) }

    /// A session of a store's life, for the test's own transactions.
    func session(_ store: PostgresStore) throws -> Session {
        Session(
            try PostgresAddress(database.address), usesNames: true, store.life, channel: 9,
            DatabaseClock(offsetMs: { 0 }))
    }

    func number(_ sql: String) async throws -> Int { try await database.number(sql) }

    func delivery(_ id: UInt64) -> Delivery {
        Delivery(
            id: id, eventID: id, source: "s", subject: "", route: "r", sender: "apns",
            stableID: "stable-\(id)", deadlineUnixMs: 0,
            content: SharedNotification(PushNotification(), receivedUnixMs: 0),
            device: Device(token: "t\(id)"))
    }

    /// Commits an event. Returns what of it was a duplicate.
    @discardableResult
    func append(
        _ store: PostgresStore, _ id: UInt64, key: String = "", isTaken: Bool = false
    ) async throws -> Set<Int> {
        let item = StoreEntry.Item(
            event: Event(id: id, source: "s", type: "t", dedupe: key), deliveries: [delivery(id)],
            taken: isTaken ? [id] : [])
        return try await append(store, item)
    }

    @discardableResult
    func append(_ store: PostgresStore, _ item: StoreEntry.Item) async throws -> Set<Int> {
        let entry = StoreEntry(items: [item], receivedUnixMs: 1, dedupeMs: 3_600_000)
        let answer = await withCheckedContinuation { continuation in
            store.append(entry) { continuation.resume(returning: $0) }
        }
        guard case .committed(let commit) = answer else {
            Issue.record("the entry was refused: \(answer)")
            return []
        }
        return commit.duplicates
    }

    func lease(_ store: PostgresStore, max: Int = 100) async throws -> [Delivery] {
        try await withCheckedThrowingContinuation { continuation in
            store.lease(LaneKey(sender: "apns", app: ""), LeaseWish(max: max, forMs: 60_000)) {
                continuation.resume(with: $0)
            }
        }.deliveries
    }

    func settle(_ store: PostgresStore, _ ends: [LeaseEnd]) async throws -> LeaseRefusal {
        try await withCheckedThrowingContinuation { continuation in
            store.settle(ends, under: store.token, outcomes: OutcomePack()) {
                continuation.resume(with: $0)
            }
        }
    }
}
