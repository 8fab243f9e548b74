public import SignalboxCore

/// How much a lane may have on its way: its breaker, and a slow start behind every opening.
///
/// A lane that has just begun, or whose provider has just come back, does not know what the provider
/// takes. It begins with a few requests and doubles with every round of good answers, so that a
/// revoked key or a used-up quota costs a handful of requests and not all that waits.
public struct LaneHealth: Sendable {
    /// Deliveries in flight at the beginning.
    public static let inFlightFirst = 32
    /// Deliveries in flight when the breaker has closed again.
    public static let inFlightAfterOutage = 4

    /// The circuit breaker.
    public private(set) var breaker = Breaker()
    private let inFlightMax: Int
    private var ramp: Int
    /// The provider has taken a push since it last refused the credentials.
    private var isTrusted = false
    /// What the breaker was opened for may be mended, and nothing has tried since.
    private(set) var mayBeMended = false

    /// `inFlightMax`: the most that is ever allowed.
    public init(inFlightMax: Int, startsSlowly: Bool) {
        self.inFlightMax = inFlightMax
        ramp = startsSlowly ? min(inFlightMax, Self.inFlightFirst) : inFlightMax
    }

    /// How many more may be sent.
    public func room(inFlight: Int) -> Int { max(0, ramp - inFlight) }

    /// Its requests go to origins that they name: each has bounds of its own, and one that is slow must not use up what
    /// the others may have.
    mutating func spread() { ramp = inFlightMax }

    /// Takes an outcome in; `isFirst`: of the delivery's first attempt.
    public mutating func take(
        _ outcome: Outcome, isFirst: Bool, nowMs: UInt64, random: @autoclosure () -> Double
    ) {
        let verdict = Breaker.verdict(outcome, isFirst: isFirst)
        if outcome.kind == .delivered {
            isTrusted = true
        } else if case .closed(.misconfigured, _) = verdict, outcome.providerCode > 0 {
            // Providers refuse a single push with good credentials now and then: it is tried once more. The second
            // refusal in a row is believed.
            defer { isTrusted = false }
            if isTrusted, !breaker.isOpen { return }
        }
        if case .up = verdict, !breaker.isOpen {
            if ramp < inFlightMax { ramp += 1 }
            // Failures in a row have an end here.
            breaker.forgetFailures()
            return
        }
        if outcome.reason == TransportFault.timeoutUnsent.rawValue {
            // More was handed over than the provider answers in time.
            ramp = max(min(inFlightMax, Self.inFlightAfterOutage), ramp - ramp / 8)
        }
        take(verdict, of: outcome.item, nowMs: nowMs, random: random())
    }

    /// Something else than an outcome says this: another lane of the same instance or, of the delivery `id`, the
    /// plugin.
    public mutating func hear(
        _ verdict: Breaker.Verdict, of id: UInt64 = 0, nowMs: UInt64, random: Double
    ) {
        take(verdict, of: id, nowMs: nowMs, random: random)
    }

    private mutating func take(
        _ verdict: Breaker.Verdict, of id: UInt64, nowMs: UInt64, random: Double
    ) {
        let wasOpen = breaker.isOpen
        breaker.take(verdict, of: id, nowMs: nowMs, random: random)
        if wasOpen, !breaker.isOpen { ramp = min(inFlightMax, Self.inFlightAfterOutage) }
    }

    /// Nothing is left to try with: it begins anew, carefully.
    public mutating func forget() {
        breaker = Breaker()
        mayBeMended = false
        ramp = min(inFlightMax, Self.inFlightAfterOutage)
    }

    /// A delivery tries.
    public mutating func probe(_ id: UInt64, nowMs: UInt64) {
        mayBeMended = false
        breaker.probe(id, nowMs: nowMs)
    }
    /// The delivery that should try was not sent.
    public mutating func probeReturned() { breaker.probeReturned() }
    /// The lane has forgotten these deliveries.
    mutating func probesDropped(_ ids: [UInt64]) { breaker.probesDropped(ids) }
    /// The reason to wait may be gone.
    public mutating func tryNow() {
        mayBeMended = breaker.isOpen
        breaker.tryNow()
    }
}
