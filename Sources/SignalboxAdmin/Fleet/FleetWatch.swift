internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxThreads
internal import Synchronization

/// The fleet as stored a few seconds ago, cached so that concurrent requests cost one query.
final class FleetWatch: Sendable {
    private struct State {
        var known: Fleet?
        /// Until when the cached result is used.
        var untilMs: UInt64 = 0
        var reading: Task<Fleet, any Error>?
    }

    /// The least time between queries, which count all that waits; they also take at most a tenth of the time.
    private static let ageMs: UInt64 = 1_000
    /// How long a scrape waits for the store.
    private static let patienceMs: UInt64 = 1_000

    private let context: DispatchContext
    private let lanes: LaneTable
    private let startedUnixMs: UInt64
    private let state = Mutex(State())

    init(_ context: DispatchContext, _ lanes: LaneTable) {
        self.context = context
        self.lanes = lanes
        startedUnixMs = context.clock()
    }

    /// The fleet, at most a few seconds old.
    func fleet() async throws -> Fleet {
        let nowMs = SystemClock.monotonicNs / 1_000_000
        let reading = state.withLock { state -> Task<Fleet, any Error>? in
            if state.known != nil, nowMs < state.untilMs { return nil }
            if let reading = state.reading { return reading }
            let reading = Task { try await self.read() }
            state.reading = reading
            return reading
        }
        if let reading { return try await reading.value }
        return state.withLock { $0.known } ?? Fleet(nowUnixMs: context.clock())
    }

    private func read() async throws -> Fleet {
        let startMs = SystemClock.monotonicNs / 1_000_000
        do {
            let fleet = complete(try await context.store.fleet())
            state.withLock { state in
                state.reading = nil
                state.known = fleet
                let nowMs = SystemClock.monotonicNs / 1_000_000
                state.untilMs = nowMs + max(Self.ageMs, (nowMs - startMs) * 10)
            }
            MetricScrape.set(fleet, in: context.metrics)
            return fleet
        } catch {
            state.withLock { $0.reading = nil }
            throw error
        }
    }

    /// Updates the fleet metrics; a slow store cannot delay a scrape for long.
    func updateMetrics() async {
        await withCheckedContinuation { continuation in
            let waiter = Waiter(continuation)
            Task {
                // An unreachable store is reported by other metrics.
                _ = try? await self.fleet()
                waiter.resume()
            }
            context.alarms.after(ms: Self.patienceMs) { waiter.resume() }
        }
    }

    /// Adds what only this process knows, if it alone uses its store.
    private func complete(_ fleet: Fleet) -> Fleet {
        guard fleet.members.isEmpty else { return fleet }
        var out = fleet
        var leased = 0
        for index in out.backlogs.indices {
            guard let lane = lanes.lane(out.backlogs[index].lane) else { continue }
            let count = min(lane.count, out.backlogs[index].waiting)
            leased += count
            out.backlogs[index].leased = count
            out.backlogs[index].waiting -= count
            if out.backlogs[index].waiting == 0 { out.backlogs[index].oldestDueUnixMs = nil }
        }
        out.members = [
            Fleet.Member(
                name: context.runtime.name, version: Release.version,
                configuration: context.current.generation.plan.digest,
                startedUnixMs: startedUnixMs, heartbeatUnixMs: fleet.nowUnixMs, leased: leased)
        ]
        return out
    }
}

/// A task waiting for the first of two events.
private final class Waiter: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume() {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume()
    }
}
