package import SignalboxCore

/// How the stream of outcomes reaches one receiver, as a value: times and answers go in, steps come out.
///
/// Times are milliseconds of a steady clock.
package struct OutcomeSendState: Sendable {
    /// What comes next.
    package enum Step: Sendable, Equatable {
        case stop
        /// Wait this long, or until `wake` or `tryNow` ends the wait.
        case wait(ms: UInt64)
        /// Ask the store for the claim to send, for `ClaimTerm.lastsMs`.
        case claim
        /// Read a batch from a sequence number on.
        case read(from: UInt64, countMax: Int)
    }

    /// What becomes of a batch that was read.
    package enum Reading: Sendable, Equatable {
        case post
        /// The receiver wants none of it.
        case skip
        case nothing
    }

    /// Why nothing gets through, and since when.
    package struct Hold: Sendable, Equatable {
        package var cause: Breaker.Cause
        package var reason: String
        package var sinceUnixMs: UInt64
    }

    /// Longest wait for new outcomes; a commit ends it at once.
    static let idleMs: UInt64 = 60_000
    /// The least time between batches that are not full.
    static let paceMs: UInt64 = 1_000
    /// The breaker's id for the batch that probes.
    private static let probe: UInt64 = 1

    /// The next sequence number to send.
    package private(set) var next: UInt64
    package private(set) var claim = ClaimTerm()
    package private(set) var hold: Hold?
    private var breaker = Breaker()
    /// Reduced after a 413.
    private var countMax = OutcomeBatch.countMax
    /// Whether the stream has grown since it was read.
    private var isWoken = false
    private var isStopped = false
    /// Whether the last batch was full.
    private var isBehind = false
    /// When the last batch was posted or skipped.
    private var lastMs: UInt64 = 0
    private var restUntilMs: UInt64 = 0
    /// Whether new outcomes end the rest.
    private var isRestWakeable = false

    package init(from next: UInt64) { self.next = next }

    package mutating func step(nowMs: UInt64) -> Step {
        if isStopped { return .stop }
        if case .none(let until) = breaker.permission(nowMs: nowMs) {
            return .wait(ms: until - nowMs)
        }
        if nowMs < restUntilMs, !(isRestWakeable && isWoken) {
            return .wait(ms: restUntilMs - nowMs)
        }
        isRestWakeable = false
        if !isBehind, nowMs < lastMs + Self.paceMs {
            return .wait(ms: lastMs + Self.paceMs - nowMs)
        }
        guard claim.isEnough(nowMs: nowMs) else { return .claim }
        (isWoken, restUntilMs) = (false, 0)
        return .read(from: next, countMax: countMax)
    }

    // MARK: What happens

    /// Outcomes were appended. Returns whether a wait ends.
    package mutating func wake() -> Bool {
        isWoken = true
        return isRestWakeable
    }

    /// The cause of a hold may be fixed. Returns whether a wait ends.
    package mutating func tryNow() -> Bool {
        breaker.tryNow()
        return breaker.isOpen
    }

    package mutating func stop() { isStopped = true }
    package var isOver: Bool { isStopped }

    /// The store's answer to a claim made at `askedMs`; nil if another gateway sends.
    package mutating func claimed(_ answer: OutcomeClaim?, askedMs: UInt64, nowMs: UInt64) {
        claim.take(answer, askedMs: askedMs)
        // Batches already taken must not be sent again, even if the position could not be stored.
        next = max(next, answer?.next ?? 0)
        if answer == nil { rest(ClaimTerm.lookMs, nowMs) }
    }

    /// Asks again later. Meanwhile another gateway, whose store answers, may take over.
    package mutating func claimFailed(nowMs: UInt64) { rest(ClaimTerm.lookMs, nowMs) }

    package mutating func readFailed(nowMs: UInt64) { rest(Self.paceMs, nowMs) }

    /// `hasMore`: the batch is full.
    package mutating func read(_ batch: OutcomeBatch, hasMore: Bool, nowMs: UInt64) -> Reading {
        isBehind = hasMore
        if batch.count > 0 {
            lastMs = nowMs
            breaker.probe(Self.probe, nowMs: nowMs)
            return .post
        }
        if batch.next > next {
            lastMs = nowMs
            next = batch.next
            return .skip
        }
        if !hasMore {
            // Appends by other gateways are not signalled, so they are polled for.
            rest(claim.isShared ? Self.paceMs : Self.idleMs, nowMs, isWakeable: true)
        }
        return .nothing
    }

    /// The receiver's answer to a batch; `random` is 0..<1. Returns the causes of the hold before and after.
    package mutating func answered(
        _ verdict: OutcomeVerdict, to batch: OutcomeBatch, nowMs: UInt64, unixMs: UInt64,
        random: Double
    ) -> (before: Breaker.Cause?, after: Breaker.Cause?) {
        let before = breaker.cause
        breaker.take(verdict.breakers, of: Self.probe, nowMs: nowMs, random: random)
        if verdict == .tooLarge { countMax = max(1, batch.count / 2) }
        if verdict == .taken { next = batch.next }
        hold = breaker.cause.map {
            Hold(cause: $0, reason: verdict.reason, sinceUnixMs: hold?.sinceUnixMs ?? unixMs)
        }
        return (before, breaker.cause)
    }

    private mutating func rest(_ ms: UInt64, _ nowMs: UInt64, isWakeable: Bool = false) {
        restUntilMs = nowMs + ms
        isRestWakeable = isWakeable
    }
}
