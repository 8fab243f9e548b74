internal import SignalboxCore
internal import SignalboxThreads

/// Finds the event that crashes the process of a builder or filter, or the request that crashes an ingest plugin's,
/// so that it does not block all others.
///
/// After a crash, the events in flight are suspects, and each is retried alone. One that crashes the process twice
/// while alone is not retried for ten minutes: its route fails on it, as if the plugin had rejected it. Sources send
/// an event again with another id, so it is identified by its content.
final class EventTrial: Sendable {
    private struct State {
        var poison = PoisonTracker()
        /// Proven events, and until when they are not retried.
        var guilty: [UInt64: UInt64] = [:]
        /// Calls under way while there are suspects.
        var openCount = 0
        var hasSuspect = false
        /// PoisonTracker that wait for the open calls to end; no other call begins meanwhile.
        var waitingCount = 0
        /// Threads that wait for their turn.
        var threadCount = 0
    }

    private enum Turn { case mayCall(isSuspect: Bool), guilty, late }

    /// Most threads that wait for their turn; further events are refused, and their source sends them again.
    private static let threadsMax = 16

    private static let guiltyMs: UInt64 = 600_000
    private static let guiltyMax = 1_024

    private let state = Gate(State())
    private let waitMs: UInt64
    private let clock: @Sendable () -> UInt64
    private let onFound: @Sendable () -> Void

    /// `waitMs`: how long a suspect waits for the others; `clock` is monotonic, in milliseconds. `onFound`: an event is
    /// proven to have crashed the process.
    init(
        waitMs: UInt64,
        clock: @escaping @Sendable () -> UInt64 = { SystemClock.monotonicNs / 1_000_000 },
        onFound: @escaping @Sendable () -> Void = {}
    ) {
        self.waitMs = waitMs
        self.clock = clock
        self.onFound = onFound
    }

    /// PoisonTracker that wait until no other call is open.
    var waitingCount: Int { state.update { $0.waitingCount } }

    /// Calls the plugin with an event. Thread: worker, which a suspect blocks.
    func ask<Answer>(
        _ event: Event, route: String, _ call: () -> Result<Answer, WorkEnd>
    ) -> Result<Answer, WorkEnd> {
        ask(Self.key(event, route), call)
    }

    /// The same for a request. Its headers do not count: a source may sign each attempt anew.
    func ask<Answer>(
        _ request: IngestRequest, _ call: () -> Result<Answer, WorkEnd>
    ) -> Result<Answer, WorkEnd> {
        ask(Self.key(request), call)
    }

    private func ask<Answer>(
        _ key: @autoclosure () -> UInt64, _ call: () -> Result<Answer, WorkEnd>
    ) -> Result<Answer, WorkEnd> {
        let now = clock()
        let isOn = state.update { state in
            if !state.guilty.isEmpty, state.guilty.values.allSatisfy({ $0 <= now }) {
                state.guilty = [:]
            }
            return state.poison.isOn(nowMs: now) || !state.guilty.isEmpty
        }
        guard isOn else {
            let result = call()
            if case .failure(.lost(let isAlone)) = result {
                return crashed(key(), isAlone: isAlone) ?? result
            }
            return result
        }
        return askInTurn(key(), call)
    }

    private func askInTurn<Answer>(
        _ key: UInt64, _ call: () -> Result<Answer, WorkEnd>
    ) -> Result<Answer, WorkEnd> {
        let start = clock()
        let deadlineNs = SystemClock.monotonicNs + waitMs * 1_000_000
        var isWaiting = false
        var hasThread = false
        let turn: Turn = state.wait(until: { state in
            func end(_ turn: Turn) -> (Turn?, UInt64?) {
                if isWaiting { state.waitingCount -= 1 }
                if hasThread { state.threadCount -= 1 }
                return (turn, nil)
            }
            if let until = state.guilty[key] {
                guard until <= start else { return end(.guilty) }
                state.guilty[key] = nil
            }
            let isSuspect = state.poison.has(key, nowMs: start)
            if !state.hasSuspect, isSuspect ? state.openCount == 0 : state.waitingCount == 0 {
                state.openCount += 1
                state.hasSuspect = isSuspect
                return end(.mayCall(isSuspect: isSuspect))
            }
            guard SystemClock.monotonicNs < deadlineNs,
                hasThread || state.threadCount < Self.threadsMax
            else { return end(.late) }
            if !hasThread {
                hasThread = true
                state.threadCount += 1
            }
            if isSuspect, !isWaiting {
                isWaiting = true
                state.waitingCount += 1
            }
            return (nil, deadlineNs)
        })
        if case .late = turn { state.updateAll { _ in } }
        switch turn {
        case .guilty: return .failure(.guilty)
        case .late: return .failure(.busy)
        case .mayCall(let isSuspect):
            let result = call()
            let didCrash: Bool? =
                switch result {
                case .failure(.lost(let isAlone)): isAlone
                case .success, .failure: nil
                }
            var ended: Result<Answer, WorkEnd>?
            if let isAlone = didCrash { ended = crashed(key, isAlone: isAlone) }
            state.updateAll { state in
                state.openCount -= 1
                if isSuspect { state.hasSuspect = false }
                if case .success = result { state.poison.cleared(CollectionOfOne(key)) }
            }
            return ended ?? result
        }
    }

    /// The process ended in this call; nil unless this event is proven to be the cause.
    private func crashed<Answer>(_ key: UInt64, isAlone: Bool) -> Result<Answer, WorkEnd>? {
        let now = clock()
        let isProven = state.update { state -> Bool in
            guard state.poison.crashed([key], isAlone: isAlone, nowMs: now) else { return false }
            if state.guilty.count >= Self.guiltyMax { state.guilty = [:] }
            state.guilty[key] = now + Self.guiltyMs
            return true
        }
        guard isProven else { return nil }
        onFound()
        return .failure(.guilty)
    }

    private static func key(_ request: IngestRequest) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(request.method)
        hasher.combine(request.path)
        hasher.combine(request.query)
        hasher.combine(request.body)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Identifies an event, however often it is sent.
    private static func key(_ event: Event, _ route: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(route)
        hasher.combine(event.source)
        hasher.combine(event.type)
        hasher.combine(event.subject)
        hasher.combine(event.dedupe)
        hasher.combine(event.data)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
