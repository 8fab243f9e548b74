internal import Logging
internal import SignalboxConfig
package import SignalboxCore
package import SignalboxDispatch
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
    private struct State {
        var steps: OutcomeSendState
        /// The suspended task, and the number of its pause.
        var waiter: CheckedContinuation<Void, Never>?
        var pause = 0
        /// Whether something happened that the next step must know before a pause.
        var isDisturbed = false
    }

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
        state = Mutex(State(steps: OutcomeSendState(from: next)))
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
    package var hold: OutcomeSendState.Hold? { state.withLock { $0.steps.hold } }

    /// Whether another gateway sends.
    private var isStandby: Bool { state.withLock { $0.steps.claim.isStandby } }

    /// How many outcomes are pending, including unwanted ones; 0 if another gateway sends.
    package var waitingCount: UInt64 {
        guard !isStandby else { return 0 }
        let (next, end) = (state.withLock { $0.steps.next }, store.nextOutcome)
        return end - min(end, next)
    }

    func start() {
        Task { await self.run() }
    }

    func wake() { end { $0.wake() } }

    /// The cause may be fixed.
    func tryNow() { end { $0.tryNow() } }

    func stop() {
        end {
            $0.stop()
            return true
        }
    }

    /// Lets another gateway send at once.
    func release() async {
        guard state.withLock({ $0.steps.claim.isWorthReleasing }) else { return }
        // If that fails, the claim expires.
        _ = try? await store.claimOutcomes(for: name, forMs: 0)
    }

    // MARK: Waiting

    /// Ends a pause, if `change` says so.
    private func end(_ change: (inout OutcomeSendState) -> Bool) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard change(&state.steps) else { return nil }
            state.isDisturbed = true
            return Self.taken(&state.waiter)
        }
        waiter?.resume()
    }

    private static func taken(
        _ waiter: inout CheckedContinuation<Void, Never>?
    ) -> CheckedContinuation<Void, Never>? {
        defer { waiter = nil }
        return waiter
    }

    private func pause(ms: UInt64) async {
        await withCheckedContinuation { continuation in
            let number = state.withLock { state -> Int? in
                if state.isDisturbed { return nil }
                state.pause += 1
                state.waiter = continuation
                return state.pause
            }
            guard let number else { return continuation.resume() }
            alarms.after(ms: ms) { [weak self] in
                self?.state.withLock { state in
                    state.pause == number ? Self.taken(&state.waiter) : nil
                }?.resume()
            }
        }
    }

    private static var nowMs: UInt64 { SystemClock.sinceBootNs / 1_000_000 }

    // MARK: Work

    private func run() async {
        while true {
            let step = state.withLock { state in
                state.isDisturbed = false
                return state.steps.step(nowMs: Self.nowMs)
            }
            switch step {
            case .stop: return
            case .wait(let ms): await pause(ms: ms)
            case .claim: await claim()
            case .read(let next, let countMax): await send(from: next, countMax)
            }
        }
    }

    /// Claims the receiver, or extends the claim.
    private func claim() async {
        let asked = Self.nowMs
        do {
            let claim = try await store.claimOutcomes(for: name, forMs: ClaimTerm.lastsMs)
            state.withLock { $0.steps.claimed(claim, askedMs: asked, nowMs: Self.nowMs) }
        } catch {
            failedToRead(error)
            state.withLock { $0.steps.claimFailed(nowMs: Self.nowMs) }
        }
    }

    private func send(from next: UInt64, _ countMax: Int) async {
        guard let (batch, hasMore) = await read(from: next, countMax) else {
            return state.withLock { $0.steps.readFailed(nowMs: Self.nowMs) }
        }
        switch state.withLock({ $0.steps.read(batch, hasMore: hasMore, nowMs: Self.nowMs) }) {
        case .post: await post(batch)
        case .skip: await keep(batch.next)
        case .nothing: break
        }
    }

    private func failedToRead(_ error: any Error) {
        guard !state.withLock({ $0.steps.isOver }) else { return }
        logger.error("failed to read outcomes", metadata: fields(["error": "\(error)"]))
    }

    /// The next batch, and whether more follows; nil if the store cannot be read.
    private func read(
        from next: UInt64, _ countMax: Int
    ) async -> (OutcomeBatch, hasMore: Bool)? {
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
        underWay.adjust(by: 1)
        defer { underWay.adjust(by: -1) }
        guard let verdict = await transport.send(batch, to: receiver, unixMs: clock()) else {
            return stop()
        }
        metrics.outcomeRequests[name, verdict.name].add()
        let causes = state.withLock { state in
            state.steps.answered(
                verdict, to: batch, nowMs: Self.nowMs, unixMs: clock(),
                random: Double.random(in: 0..<1))
        }
        report(verdict, causes.before, causes.after)
        guard verdict == .taken else { return }
        metrics.outcomesSent[name].add(Int64(batch.count))
        await keep(batch.next)
    }

    private func report(
        _ verdict: OutcomeVerdict, _ before: Breaker.Cause?, _ after: Breaker.Cause?
    ) {
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

    /// Stores the receiver's position. If that fails, the receiver may get the last batch again after a restart.
    private func keep(_ next: UInt64) async {
        do {
            try await store.outcomesTaken(by: name, next: next)
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
