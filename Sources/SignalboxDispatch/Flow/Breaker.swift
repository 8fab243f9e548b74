public import SignalboxCore

/// A lane's circuit breaker: stops sending to a provider that cannot accept anything.
///
/// It opens after failures in a row, or at once on an outcome that concerns the whole lane, and then lets one probe
/// through after each wait. A pure value: the caller supplies time and randomness.
public struct Breaker: Sendable, Equatable {
    /// What the lane may do.
    public enum Permission: Sendable, Equatable {
        /// Send without restriction.
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
        /// Credentials or settings are wrong: nothing can succeed until an operator fixes them.
        case misconfigured
        /// The provider asks the whole lane to slow down.
        case throttled

        var waitFirstMs: UInt64 { self == .misconfigured ? 30_000 : 1_000 }
        /// Longest wait if the provider gave no hint.
        var waitMaxMs: UInt64 { self == .misconfigured ? 900_000 : 30_000 }
    }

    /// Failures in a row that open it.
    public static let failuresMax = 10
    /// A probe without an outcome for this long is given up, so that another one can follow.
    public static let probeMsMax: UInt64 = 300_000

    /// Why it is open; nil while it is closed.
    public private(set) var cause: Cause?
    private var failures = 0
    private var openings = 0
    private var waitMs: UInt64 = 0
    private var untilMs: UInt64 = 0
    /// The current probe, and when it was sent.
    private var probing: Probe?

    private struct Probe: Sendable, Equatable {
        var id: UInt64
        var sinceMs: UInt64
        /// It was sent before the reason to wait may have gone: its failure says nothing of what is true now.
        var isOutdated = false
    }

    /// Makes a closed one.
    public init() {}

    /// Whether it is open.
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

    /// Records the delivery that is sent as the probe.
    public mutating func probe(_ id: UInt64, nowMs: UInt64) {
        if isOpen { probing = Probe(id: id, sinceMs: nowMs) }
    }

    /// The probe was not sent: the next one may follow at once.
    public mutating func probeReturned() { probing = nil }

    /// If the probe is one of these, its outcome is lost: the next one may follow at once.
    mutating func probesDropped(_ ids: [UInt64]) {
        if let probing, ids.contains(probing.id) { probeReturned() }
    }

    /// The reason to wait may be gone: the next delivery may try at once.
    public mutating func tryNow() {
        guard isOpen else { return }
        untilMs = 0
        probing?.isOutdated = true
    }

    /// The provider works: the count of failures in a row restarts.
    mutating func forgetFailures() { failures = 0 }

    /// Updates the breaker with what one outcome says.
    ///
    /// `random` is 0..<1 and adds jitter, so that lanes do not all probe at the same moment.
    public mutating func take(
        _ verdict: Verdict, of id: UInt64, nowMs: UInt64, random: Double
    ) {
        let isProbe = probing?.id == id
        let isOutdated = isProbe && probing?.isOutdated == true
        if isProbe { probing = nil }
        if isOutdated, verdict.isAbout(cause) { return }
        switch verdict {
        case .up:
            // During an outage any answer proves that it is over. With a revoked key or a used-up quota, answers to
            // requests sent before that prove nothing.
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
            // Outcomes of requests sent before it opened must not lengthen the wait.
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
        // A quota's hint says when there is room again. The end of an outage is unknown, so its hint only raises the
        // longest wait.
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
        /// The provider may be down; `failuresMax` of these in a row count as an outage.
        case failure(weight: Int, hintMs: UInt64)
        /// The lane can send nothing for now.
        case closed(Cause, hintMs: UInt64)

        /// Whether it tells nothing but that an earlier cause lasts.
        fileprivate func isAbout(_ cause: Cause?) -> Bool {
            switch self {
            case .up: false
            case .silent: true
            case .failure: cause == .down
            case .closed(let other, _): cause == other
            }
        }
    }

    /// Reads an outcome. `isFirst`: it is of the delivery's first attempt.
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
            // A first refusal may mean a credential that has just expired, and the retry uses a new one.
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
            // The pool had the whole request time-out to connect, so few of these suffice.
            case .unreachable: return .failure(weight: (failuresMax + 2) / 3, hintMs: 0)
            // A peer that keeps resetting one delivery says nothing about the others.
            case .reset where !isFirst: return .silent
            case .timeout, .timeoutUnsent, .lost, .reset:
                return .failure(weight: 1, hintMs: 0)
            }
        }
    }
}

extension Outcome {
    /// For a retry: whether the provider, or a redirecting proxy in front of it, accepts nothing for now. That is not
    /// the delivery's fault.
    var isProvidersFault: Bool {
        scope != .item || providerCode >= 500 || (300...399).contains(providerCode)
    }
}
