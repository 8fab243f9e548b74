public import SignalboxCore

/// How much a lane may have in flight: its circuit breaker, and a slow start each time it closes.
///
/// A lane that has just started, or whose provider has just recovered, does not know the provider's capacity. It starts
/// with a few requests and doubles with every round of successes, so a revoked key or a used-up quota costs a handful
/// of requests, not the whole backlog.
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
    /// The cause for which the breaker opened may be fixed, and no probe has been sent since.
    private(set) var mayBeMended = false

    /// `inFlightMax`: the most that is ever allowed.
    public init(inFlightMax: Int, startsSlowly: Bool) {
        self.inFlightMax = inFlightMax
        ramp = startsSlowly ? min(inFlightMax, Self.inFlightFirst) : inFlightMax
    }

    /// How many more may be sent.
    public func room(inFlight: Int) -> Int { max(0, ramp - inFlight) }

    /// Requests go to origins that they name. Each origin has limits of its own, so a slow one must not use up the
    /// lane's room for the others.
    mutating func spread() { ramp = inFlightMax }

    /// Takes an outcome in; `isFirst`: of the delivery's first attempt.
    public mutating func take(
        _ outcome: Outcome, isFirst: Bool, nowMs: UInt64, random: @autoclosure () -> Double
    ) {
        let verdict = Breaker.verdict(outcome, isFirst: isFirst)
        if outcome.kind == .delivered {
            isTrusted = true
        } else if case .closed(.misconfigured, _) = verdict, outcome.providerCode > 0 {
            // Providers occasionally refuse one push although the credentials are good, so it is retried. A second
            // refusal in a row is believed.
            defer { isTrusted = false }
            if isTrusted, !breaker.isOpen { return }
        }
        if case .up = verdict, !breaker.isOpen {
            if ramp < inFlightMax { ramp += 1 }
            // A success ends the run of failures.
            breaker.forgetFailures()
            return
        }
        if outcome.reason == TransportFault.timeoutUnsent.rawValue {
            // More requests are in flight than the provider answers in time.
            ramp = max(min(inFlightMax, Self.inFlightAfterOutage), ramp - ramp / 8)
        }
        take(verdict, of: outcome.item, nowMs: nowMs, random: random())
    }

    /// A verdict from elsewhere: from another lane of the same instance or, for the delivery `id`, from the plugin.
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

    /// No delivery is left to probe with: starts over, with few in flight.
    public mutating func forget() {
        breaker = Breaker()
        mayBeMended = false
        ramp = min(inFlightMax, Self.inFlightAfterOutage)
    }

    /// A delivery is sent as the probe.
    public mutating func probe(_ id: UInt64, nowMs: UInt64) {
        mayBeMended = false
        breaker.probe(id, nowMs: nowMs)
    }
    /// The probe was not sent.
    public mutating func probeReturned() { breaker.probeReturned() }
    /// The lane has forgotten these deliveries.
    mutating func probesDropped(_ ids: [UInt64]) { breaker.probesDropped(ids) }
    /// The cause may be fixed: the next probe need not wait.
    public mutating func tryNow() {
        mayBeMended = breaker.isOpen
        breaker.tryNow()
    }
}
