import PluginRig
import SignalboxCore
import Synchronization

@testable import SignalboxPostgres

/// A store for a test, and what it noticed.
struct StoreRig: Sendable {
    let store: PostgresStore
    let notices: Notices

    /// The notices of a store, in their order.
    final class Notices: Sendable {
        private let all = Mutex<[PostgresNotice]>([])

        func add(_ notice: PostgresNotice) { all.withLock { $0.append(notice) } }

        var texts: [String] { all.withLock { $0.map { "\($0)" } } }
    }

    static func open(
        _ address: String, _ owner: String = "one", patienceMs: UInt64 = 60_000,
        _ change: (inout PostgresOptions) -> Void = { _ in }
    ) async throws -> StoreRig {
        let notices = Notices()
        var options = PostgresOptions(
            address: try PostgresAddress(address), owner: owner, onNotice: { notices.add($0) })
        options.patienceMs = patienceMs
        change(&options)
        let made = options
        return StoreRig(
            store: try await Tool.aside { try PostgresStore.open(made) }, notices: notices)
    }

    /// Appends one event with one delivery.
    func append(_ id: UInt64, key: String = "", isTaken: Bool = false) async -> StoreAnswer {
        let delivery = Delivery(
            id: id, eventID: id, source: "s", subject: "", route: "r", sender: "apns",
            stableID: "stable-\(id)", deadlineUnixMs: 0,
            content: SharedNotification(PushNotification(), receivedUnixMs: 0),
            device: Device(token: "t\(id)"))
        let item = StoreEntry.Item(
            event: Event(id: id, source: "s", type: "t", dedupe: key), deliveries: [delivery],
            taken: isTaken ? [id] : [])
        let entry = StoreEntry(items: [item], receivedUnixMs: 1, dedupeMs: 60_000)
        return await withCheckedContinuation { continuation in
            store.append(entry) { continuation.resume(returning: $0) }
        }
    }

    /// Ends deliveries; tries until the store has them.
    func settle(_ ids: [UInt64]) async throws -> LeaseRefusal {
        while true {
            let result = await withCheckedContinuation { continuation in
                store.settle(
                    ids.map { .delivered($0) }, under: store.token, outcomes: OutcomePack()
                ) { continuation.resume(returning: $0) }
            }
            if case .success(let refusal) = result { return refusal }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Appends until the store takes it again.
    func appendUntilTaken(_ id: UInt64, key: String = "") async throws {
        while true {
            if case .committed = await append(id, key: key) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

/// Waits until something is so.
func until(_ isSo: () async throws -> Bool) async throws {
    while try await !isSo() { try await Task.sleep(for: .milliseconds(20)) }
}

extension PostgresDatabase {
    /// The only number that a query finds.
    func number(_ sql: String) async throws -> Int {
        Int(try await run(sql).trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
    }

    /// Deliveries in blocks.
    func blocked() async throws -> Int {
        try await number("SELECT coalesce(sum(n), 0) FROM signalbox.block")
    }
}
