public import SignalboxCore

/// A lane's circuit breaker: keeps it from running against a provider that cannot take anything.
///
/// It opens after failures in a row, or at once when an outcome speaks for the whole lane, and then
/// lets one delivery try after each wait. A value: time and chance come from outside.
public struct Breaker: Sendable, Equatable {
    /// What the lane may do.
    public enum Permission: Sendable, Equatable {
        /// Send as it likes.
        case all
        /// Send one, and nothing more until its outcome is known.
        case probe
        /// Send nothing before this time, in milliseconds of a steady clock.
        case none(untilMs: UInt64)
    }

    /// Why it is open.
    public enum Cause: String, Sendable {
        /// The provider is out of reach, or says that it is down.
        case down
        /// Credentials or settings are wrong: nothing can succeed until somebody mends them.
        case misconfigured
        /// The provider asks the whole lane to slow down.
        case throttled

        var waitFirstMs: UInt64 { self == .misconfigured ? 30_000 : 1_000 }
        /// Longest wait without a hint of the provider.
        var waitMaxMs: UInt64 { self == .misconfigured ? 900_000 : 30_000 }
    }

    /// Failures in a row that open it.
    public static let failuresMax = 10
    /// A delivery that tries for so long has no outcome: another one may try.
    public static let probeMsMax: UInt64 = 300_000

    /// Why it is open; nil: it is closed.
    public private(set) var cause: Cause?
    private var failures = 0
    private var openings = 0
    private var waitMs: UInt64 = 0
    private var untilMs: UInt64 = 0
    /// The delivery that tries, and since when.
    private var probing: Probe?

    private struct Probe: Sendable, Equatable {
        var id: UInt64
        var sinceMs: UInt64
    }

    /// Makes a closed one.
    public init() {}

    /// It is not closed.
    public var isOpen: Bool { cause != nil }

    /// What may be done now.
    public func permission(nowMs: UInt64) -> Permission {
        guard isOpen else { return .all }
        if let probing {
            let end = probing.sinceMs + Self.probeMsMax
            return nowMs >= end ? .probe : .none(untilMs: end)
        }
        return nowMs >= untilMs ? .probe : .none(untilMs: untilMs)
    }

    /// A delivery tries.
    public mutating func probe(_ id: UInt64, nowMs: UInt64) {
        if isOpen { probing = Probe(id: id, sinceMs: nowMs) }
    }

    /// The delivery that should try was not sent: another one may try at once.
    public mutating func probeReturned() { probing = nil }

    /// If the delivery that tries is one of these, nobody waits for its outcome: another one may try at once.
    mutating func probesDropped(_ ids: [UInt64]) {
        if let probing, ids.contains(probing.id) { probeReturned() }
    }

    /// The reason to wait may be gone: the next delivery may try at once.
    public mutating func tryNow() { if isOpen { untilMs = 0 } }

    /// The provider works: failures in a row end here.
    mutating func forgetFailures() { failures = 0 }

    /// Takes in what one outcome says.
    ///
    /// `random` is 0..<1 and spreads waits, so that lanes do not all try in the same moment.
    public mutating func take(
        _ verdict: Verdict, of id: UInt64, nowMs: UInt64, random: Double
    ) {
        let isProbe = probing?.id == id
        if isProbe { probing = nil }
        switch verdict {
        case .up:
            // While an outage lasts any answer says that it is over. Answers to requests that left
            // before a key was revoked or a quota was used up say nothing.
            if isProbe || cause == nil || cause == .down { self = Breaker() }
        case .silent:
            if isProbe { untilMs = nowMs + waitMs }
        case .failure(let weight, let hintMs):
            if isOpen {
                if isProbe { open(.down, hintMs, nowMs, random) }
            } else {
                failures += weight
                if failures >= Self.failuresMax { open(.down, hintMs, nowMs, random) }
            }
        case .closed(let cause, let hintMs):
            // Outcomes of requests that left before the opening do not lengthen the wait.
            guard !isOpen || isProbe || cause != self.cause else { return }
            if cause != self.cause { openings = 0 }
            open(cause, hintMs, nowMs, random)
        }
    }

    private mutating func open(
        _ why: Cause, _ hintMs: UInt64, _ nowMs: UInt64, _ random: Double
    ) {
        let doubled = why.waitFirstMs << UInt64(min(openings, 16))
        let hint = min(hintMs, RetryPolicy.hintMsMax)
        // A quota says when there is room again. Of an outage nobody knows the end: there a hint
        // only allows longer waits.
        let wait =
            why == .throttled
            ? max(min(doubled, why.waitMaxMs), hint) : min(doubled, max(why.waitMaxMs, hint))
        waitMs = wait + UInt64(Double(wait) * 0.2 * random)
        cause = why
        openings += 1
        untilMs = nowMs + waitMs
    }
}

extension Breaker {
    /// What an outcome says about the whole lane.
    public enum Verdict: Sendable, Equatable {
        /// The provider works.
        case up
        /// Nothing.
        case silent
        /// The provider may be down; so many failures in a row count as an outage.
        case failure(weight: Int, hintMs: UInt64)
        /// Nothing more can be taken for now.
        case closed(Cause, hintMs: UInt64)
    }

    /// Reads an outcome. `isFirst`: of the delivery's first attempt.
    public static func verdict(_ outcome: Outcome, isFirst: Bool) -> Verdict {
        switch outcome.kind {
        case .delivered, .unregistered, .rejected:
            return outcome.providerCode > 0 ? .up : .silent
        case .throttled:
            return outcome.scope == .item
                ? .silent : .closed(.throttled, hintMs: outcome.retryAfterMs)
        case .config:
            return outcome.scope == .item
                ? .silent : .closed(.misconfigured, hintMs: outcome.retryAfterMs)
        case .auth:
            // The first time it may be a credential that has just expired; then there is a new one.
            return outcome.scope == .item && isFirst
                ? .silent : .closed(.misconfigured, hintMs: outcome.retryAfterMs)
        case .retry:
            if outcome.isProvidersFault {
                return .failure(weight: 1, hintMs: outcome.retryAfterMs)
            }
            switch TransportFault(rawValue: outcome.reason) {
            case nil, .stopping, .withdrawn, .originUnreachable, .originPrivate, .originInvalid,
                .originLost:
                return .silent
            // The pool has tried to connect for the whole time of a request.
            case .unreachable: return .failure(weight: (failuresMax + 2) / 3, hintMs: 0)
            // A peer that refuses one delivery again and again says nothing about the others.
            case .reset where !isFirst: return .silent
            case .timeout, .timeoutUnsent, .lost, .reset:
                return .failure(weight: 1, hintMs: 0)
            }
        }
    }
}

extension Outcome {
    /// Of a retry: whether the provider, or what stands in its place and redirects, can take nothing for now. That is
    /// not the delivery's fault.
    var isProvidersFault: Bool {
        scope != .item || providerCode >= 500 || (300...399).contains(providerCode)
    }
}
