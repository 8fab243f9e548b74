internal import Logging
internal import SignalboxConfig
package import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Posts the stream to one receiver, batch by batch, from the receiver's position.
///
/// A batch not answered 2xx is retried, with the waits of a held sender, for as long as the stream keeps it.
///
/// Of several gateways only one sends to the receiver: the one that holds its claim in the store. The others wait for
/// the end of the claim.
package final class OutcomeSender: Sendable {
    /// Why nothing gets through, and since when.
    package struct Hold: Sendable {
        var cause: Breaker.Cause
        var reason: String
        var sinceUnixMs: UInt64
    }

    private struct State {
        /// The next sequence number to send.
        var next: UInt64
        var claim = ClaimTerm()
        var breaker = Breaker()
        var hold: Hold?
        /// Reduced after a 413.
        var countMax = OutcomeBatch.countMax
        /// Whether the stream has grown since it was read.
        var isWoken = false
        var isStopped = false
        /// The suspended task, the number of its pause, and whether new outcomes end it.
        var waiter: CheckedContinuation<Void, Never>?
        var pause = 0
        var isWakeable = false
    }

    /// Longest wait for new outcomes; a commit ends it at once.
    private static let idleMs: UInt64 = 60_000
    /// The least time between batches that are not full.
    private static let paceMs: UInt64 = 1_000

    let receiver: OutcomeReceiver
    private let store: any GatewayStore
    private let transport: OutcomeTransport
    private let alarms: AlarmClock
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let clock: @Sendable () -> UInt64
    private let underWay: UnderWay
    private let state: Mutex<State>

    init(
        _ receiver: OutcomeReceiver, from next: UInt64, store: any GatewayStore,
        transport: OutcomeTransport,
        alarms: AlarmClock, logger: Logger, metrics: GatewayMetrics,
        clock: @escaping @Sendable () -> UInt64, underWay: UnderWay
    ) {
        self.receiver = receiver
        self.store = store
        self.transport = transport
        self.alarms = alarms
        self.logger = logger
        self.metrics = metrics
        self.clock = clock
        self.underWay = underWay
        state = Mutex(State(next: next))
    }

    /// The receiver's name.
    package var name: String { receiver.name }

    /// For `/readyz`.
    package var readiness: JSONValue {
        let hold = hold
        let idle = isStandby ? "standby" : "ready"
        let state = hold.map { $0.cause == .down ? "failing" : $0.cause.rawValue } ?? idle
        var members: [JSONValue.Member] = [
            .init("receiver", .string(name)), .init("state", .string(state)),
        ]
        if let hold {
            members.append(.init("reason", .string(hold.reason)))
            members.append(
                .init("held_since_unix_ms", .integer(Int64(clamping: hold.sinceUnixMs))))
        }
        members.append(.init("waiting", .integer(Int64(clamping: waitingCount))))
        return .object(members)
    }

    /// Why it is held, or nil.
    package var hold: Hold? { state.withLock { $0.hold } }

    /// Whether another gateway sends.
    private var isStandby: Bool { state.withLock { $0.claim.isStandby } }

    /// How many outcomes are pending, including unwanted ones; 0 if another gateway sends.
    package var waitingCount: UInt64 {
        guard !isStandby else { return 0 }
        let (next, end) = (state.withLock { $0.next }, store.nextOutcome)
        return end - min(end, next)
    }

    func start() {
        Task { await self.run() }
    }

    func wake() {
        end {
            $0.isWoken = true; return $0.isWakeable
        }
    }

    /// The cause may be fixed.
    func tryNow() {
        end { state in
            state.breaker.tryNow()
            return state.breaker.isOpen
        }
    }

    func stop() {
        end {
            $0.isStopped = true; return true
        }
    }

    /// Lets another gateway send at once.
    func release() async {
        guard state.withLock({ $0.claim.isWorthReleasing }) else { return }
        // If that fails, the claim expires.
        _ = try? await store.claimOutcomes(for: name, forMs: 0)
    }

    // MARK: Waiting

    /// Ends a pause, if `change` says so.
    private func end(_ change: (inout State) -> Bool) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard change(&state) else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits this long or, if `wakeable`, until outcomes are appended.
    private func pause(ms: UInt64, wakeable: Bool = false) async {
        await withCheckedContinuation { continuation in
            let number = state.withLock { state -> Int? in
                if state.isStopped || wakeable && state.isWoken { return nil }
                state.pause += 1
                state.waiter = continuation
                state.isWakeable = wakeable
                return state.pause
            }
            guard let number else { return continuation.resume() }
            alarms.after(ms: ms) { [weak self] in self?.end { $0.pause == number } }
        }
    }

    private static var nowMs: UInt64 { SystemClock.sinceBootNs / 1_000_000 }

    // MARK: Work

    private func run() async {
        var lastMs: UInt64 = 0
        var isBehind = false
        while !state.withLock({ $0.isStopped }) {
            let now = Self.nowMs
            if case .none(let until) = state.withLock({ $0.breaker.permission(nowMs: now) }) {
                await pause(ms: until - now)
                continue
            }
            if !isBehind, now < lastMs + Self.paceMs {
                await pause(ms: lastMs + Self.paceMs - now)
                continue
            }
            guard await hasClaim() else {
                await pause(ms: ClaimTerm.lookMs)
                continue
            }
            guard let (batch, hasMore) = await read() else {
                await pause(ms: Self.paceMs)
                continue
            }
            isBehind = hasMore
            if batch.count > 0 {
                lastMs = Self.nowMs
                await post(batch)
            } else if batch.next > state.withLock({ $0.next }) {
                // The receiver wanted none of it.
                lastMs = Self.nowMs
                await taken(batch)
            } else if !hasMore {
                // Appends by other gateways are not signalled, so they are polled for.
                let isShared = state.withLock { $0.claim.isShared }
                await pause(ms: isShared ? Self.paceMs : Self.idleMs, wakeable: true)
            }
        }
    }

    /// Whether this gateway may send a batch now; claims the receiver or extends the claim.
    private func hasClaim() async -> Bool {
        let now = Self.nowMs
        if state.withLock({ $0.claim.isEnough(nowMs: now) }) { return true }
        do {
            let claim = try await store.claimOutcomes(for: name, forMs: ClaimTerm.lastsMs)
            state.withLock { state in
                state.claim.take(claim, askedMs: now)
                // Batches already taken must not be sent again, even if the position could not be stored.
                state.next = max(state.next, claim?.next ?? 0)
            }
            return claim != nil
        } catch {
            failedToRead(error)
            // A gateway that has lost its store must not block the others.
            return false
        }
    }

    private func failedToRead(_ error: any Error) {
        guard !state.withLock({ $0.isStopped }) else { return }
        logger.error("failed to read outcomes", metadata: fields(["error": "\(error)"]))
    }

    /// The next batch, and whether more follows; nil if the store cannot be read.
    private func read() async -> (OutcomeBatch, hasMore: Bool)? {
        let (next, countMax) = state.withLock { state in
            state.isWoken = false
            return (state.next, state.countMax)
        }
        let most = min(countMax, transport.countMax(of: receiver))
        var batch = OutcomeBatch(from: next, wish: receiver.wish, countMax: most)
        do {
            while true {
                let (rows, hasMore) = try await store.outcomes(from: batch.next)
                for row in rows { batch.add(row) }
                guard hasMore, !batch.isFull else { return (batch, batch.isFull) }
            }
        } catch {
            failedToRead(error)
            return nil
        }
    }

    private func post(_ batch: OutcomeBatch) async {
        state.withLock { $0.breaker.probe(Self.probe, nowMs: Self.nowMs) }
        underWay.adjust(by: 1)
        defer { underWay.adjust(by: -1) }
        guard let verdict = await transport.send(batch, to: receiver, unixMs: clock()) else {
            return stop()
        }
        metrics.outcomeRequests[name, verdict.name].add()
        take(verdict, of: batch)
        guard case .taken = verdict else { return }
        metrics.outcomesSent[name].add(Int64(batch.count))
        await taken(batch)
    }

    /// The breaker's id for the batch that probes.
    private static let probe: UInt64 = 1

    private func take(_ verdict: OutcomeVerdict, of batch: OutcomeBatch) {
        let (before, after) = state.withLock { state in
            let before = state.breaker.cause
            state.breaker.take(
                verdict.breakers, of: Self.probe, nowMs: Self.nowMs,
                random: Double.random(in: 0..<1))
            if case .tooLarge = verdict { state.countMax = max(1, batch.count / 2) }
            let cause = state.breaker.cause
            if let cause {
                state.hold = Hold(
                    cause: cause, reason: verdict.reason,
                    sinceUnixMs: state.hold?.sinceUnixMs ?? clock())
            } else {
                state.hold = nil
            }
            return (before, cause)
        }
        guard before != after else { return }
        guard let after else {
            logger.notice("receiver of outcomes is back", metadata: fields())
            return
        }
        logger.error(
            "\(Self.words(after))",
            metadata: fields([
                "cause": "\(after.rawValue)", "reason": "\(verdict.reason)",
                "detail": "\(verdict.detail)",
            ]))
    }

    private static func words(_ cause: Breaker.Cause) -> String {
        switch cause {
        case .down: "receiver of outcomes seems to be down, they wait"
        case .misconfigured: "receiver rejects outcomes, they wait until it is fixed"
        case .throttled: "receiver of outcomes asks for less, they wait"
        }
    }

    /// Moves the receiver's position behind this batch. If that cannot be stored, the receiver may get the batch again
    /// after a restart.
    private func taken(_ batch: OutcomeBatch) async {
        state.withLock { $0.next = batch.next }
        do {
            try await store.outcomesTaken(by: name, next: batch.next)
        } catch {
            logger.warning(
                "failed to store a receiver's position in the outcomes",
                metadata: fields(["error": "\(error)"]))
        }
    }

    private func fields(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        more.merging(["outcomes.receiver": "\(name)"]) { $1 }
    }
}
