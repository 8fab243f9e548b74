import SignalboxCore
import SignalboxPostgres
import SignalboxThreads
import Synchronization

/// A steady load on a store on PostgreSQL, as one gateway makes it.
///
/// Half of the deliveries are taken at commit, as by a lane that keeps up; the others wait and are leased. One in a
/// hundred is retried, one in a thousand dies, and a receiver takes the outcomes.
final class FleetLoad: Sendable {
    private static let lane = LaneKey(sender: "apns", app: "")
    private static let receiver = "load"
    private static let leaseMax = 256

    /// Events that were committed, and deliveries that ended.
    struct Report {
        var events = 0
        var settled = 0
        var refused = 0
    }

    private let store: PostgresStore
    private let dedupeMs: UInt64
    private let report = Mutex(Report())
    private let next = Atomic<UInt64>(0)

    private init(_ store: PostgresStore, dedupeMs: UInt64) {
        self.store = store
        self.dedupeMs = dedupeMs
    }

    /// Runs for some seconds at a rate of events per second.
    static func run(
        address: String, rate: Int, seconds: Int, dedupeMs: UInt64
    ) async throws -> Report {
        let options = PostgresOptions(
            address: try PostgresAddress(address), owner: "load", onNotice: { print($0) })
        let store = try PostgresStore.open(options)
        _ = try await store.setOutcomeReceivers([receiver])
        let load = FleetLoad(store, dedupeMs: dedupeMs)
        try await load.run(rate: rate, seconds: seconds)
        await store.close()
        return load.report.withLock { $0 }
    }

    private func run(rate: Int, seconds: Int) async throws {
        let ids = try await withCheckedThrowingContinuation { continuation in
            store.reserveIDs(1) { continuation.resume(with: $0) }
        }
        next.store(ids.lowerBound << 24, ordering: .relaxed)
        let end = SystemClock.monotonicNs + UInt64(seconds) * 1_000_000_000
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.append(rate: rate, untilNs: end) }
            group.addTask { try await self.lease(untilNs: end) }
            group.addTask { try await self.receive(untilNs: end) }
            try await group.waitForAll()
        }
    }

    private func append(rate: Int, untilNs end: UInt64) async throws {
        let start = SystemClock.monotonicNs
        var sent = 0
        while SystemClock.monotonicNs < end {
            let due = Int(Double(SystemClock.monotonicNs - start) / 1e9 * Double(rate))
            while sent < due {
                sent += 1
                append(isTaken: sent.isMultiple(of: 2))
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func append(isTaken: Bool) {
        let first = next.wrappingAdd(4, ordering: .relaxed).oldValue
        let content = SharedNotification(StoreBench.note, receivedUnixMs: 0)
        let ids = [first + 1, first + 2]
        let item = StoreEntry.Item(
            event: StoreBench.event(first),
            deliveries: ids.map { StoreBench.delivery($0, content) },
            taken: isTaken ? Set(ids) : [])
        let entry = StoreEntry(
            items: [item], receivedUnixMs: SystemClock.unixMs, dedupeMs: dedupeMs)
        store.append(entry) { answer in
            guard case .committed(let commit) = answer else {
                self.report.withLock { $0.refused += 1 }
                return
            }
            self.report.withLock { $0.events += 1 }
            if isTaken { self.settle(ids.map { ($0, 1) }, under: commit.token) }
        }
    }

    /// What is tried for the second time is delivered.
    private func settle(_ tries: [(id: UInt64, attempt: UInt32)], under token: LeaseToken) {
        var pack = OutcomePack()
        let now = SystemClock.unixMs
        let ends = tries.map { id, number -> LeaseEnd in
            let attempt = Attempt(
                number: number, unixMs: now, reason: "busy", code: 503, detail: "")
            switch id / 4 % 1_000 {
            case 0: return .dead(id, reason: "busy", attempt)
            case 1...10 where number == 1:
                return .retry(id, afterMs: 30_000, attempt, isFree: false)
            default: return .delivered(id)
            }
        }
        for (id, _) in tries {
            pack.add(opened: OpenMark(eventID: id, route: "r"), user: "user", app: "", unixMs: now)
        }
        store.settle(ends, under: token, outcomes: pack) { result in
            self.report.withLock {
                switch result {
                case .success: $0.settled += tries.count
                case .failure: $0.refused += tries.count
                }
            }
        }
    }

    private func lease(untilNs end: UInt64) async throws {
        while SystemClock.monotonicNs < end {
            let wish = LeaseWish(max: Self.leaseMax, forMs: 20_000)
            let result = await withCheckedContinuation { continuation in
                store.lease(Self.lane, wish) { continuation.resume(returning: $0) }
            }
            // A database that is too slow for a moment is asked again.
            let lease = try? result.get()
            if let lease, !lease.deliveries.isEmpty {
                settle(lease.deliveries.map { ($0.id, $0.attempt) }, under: lease.token)
            }
            if lease?.hasMore != true { try await Task.sleep(for: .milliseconds(50)) }
        }
    }

    private func receive(untilNs end: UInt64) async throws {
        var next = store.nextOutcome
        while SystemClock.monotonicNs < end {
            let found = try? await store.outcomes(from: next)
            if let last = found?.rows.last {
                next = last.first + UInt64(last.count)
                try? await store.outcomesTaken(by: Self.receiver, next: next)
            }
            if found?.hasMore != true { try await Task.sleep(for: .milliseconds(200)) }
        }
    }
}
