public import SignalboxCore

/// The effects of a step, which the shell performs after releasing the lock.
public struct LaneEffects: Sendable {
    /// Run turns on a worker until one is empty.
    public var isTurn = false
    /// To be recorded, and settled in the store.
    public var endings: [LaneEnding] = []
    /// Deliveries leased too late for this lane: they are released for its successor.
    public var returned: LaneReturn?
    /// The breaker opened or closed.
    public var holds: [LaneHoldChange] = []
    /// Lines for the log.
    public var lines: [LaneLine] = []
    /// Ask the store for this.
    public var wish: LeaseWish?
    /// Ask the store to make leases last longer.
    public var `extension`: LeaseExtension?
    /// Deliveries in memory that another gateway holds or may soon hold.
    public var leasesLost = 0
    /// Run a turn after this many milliseconds; replaces the previous wait.
    public var wakeInMs: UInt64?
    /// How many deliveries entered memory; negative if they left it.
    public var arrived = 0
    /// Recall what the carrier has not sent.
    public var isWithdrawal = false
    /// Make deliveries due that wait only for the provider or a pause.
    public var isHaste = false
    /// Deliveries wait on disk for the lane's successor.
    public var isForSuccessor = false

    init() {}

    /// Whether there is nothing to do.
    public var isEmpty: Bool {
        !isTurn && endings.isEmpty && returned == nil && holds.isEmpty && lines.isEmpty
            && wish == nil && `extension` == nil && leasesLost == 0 && wakeInMs == nil
            && arrived == 0 && !isWithdrawal && !isHaste && !isForSuccessor
    }

    /// Adds the effects of another step.
    public mutating func add(_ other: LaneEffects) {
        isTurn = isTurn || other.isTurn
        if endings.isEmpty { endings = other.endings } else { endings += other.endings }
        assert(returned == nil || other.returned == nil, "deliveries that nobody gives back")
        returned = returned ?? other.returned
        holds += other.holds
        lines += other.lines
        // The lane has at most one request of each kind open.
        assert(wish == nil || other.wish == nil, "a lease that nobody asks the store for")
        wish = wish ?? other.wish
        `extension` = `extension` ?? other.extension
        leasesLost += other.leasesLost
        // An early turn finds nothing to do; a late one would leave a delivery waiting.
        if let wait = other.wakeInMs { wakeInMs = min(wakeInMs ?? .max, wait) }
        arrived += other.arrived
        isWithdrawal = isWithdrawal || other.isWithdrawal
        isHaste = isHaste || other.isHaste
        isForSuccessor = isForSuccessor || other.isForSuccessor
    }
}

/// A request to extend leases.
public struct LeaseExtension: Sendable {
    /// The deliveries.
    public var ids: [UInt64]
    /// The token of their leases.
    public var token: LeaseToken
    /// How long, in milliseconds.
    public var forMs: UInt64
    /// When the lane asked, on the steady clock.
    public var askedMs: UInt64
}

/// Deliveries leased after the lane began to stop; they are released.
public struct LaneReturn: Sendable {
    /// The deliveries.
    public var ids: [UInt64]
    /// The token of their leases.
    public var token: LeaseToken
    /// Until when the leases are guaranteed, on the steady clock.
    public var endMs: UInt64

    /// The endings to store.
    public var ends: [LeaseEnd] { ids.map { .released($0) } }
}

/// How a delivery left a lane.
public struct LaneEnding: Sendable {
    /// What becomes of it.
    public enum Kind: Sendable, Equatable {
        /// It was accepted.
        case delivered
        /// Retry at this time, in Unix milliseconds; `isFree`: the attempt does not count.
        case retry(atUnixMs: UInt64, isFree: Bool)
        /// It was not sent: due again at once.
        case released
        /// Not sent, since its route is paused: due again at this time, or when the route is resumed.
        case aside(untilUnixMs: UInt64)
        /// It must not be sent: it is over, without a dead letter.
        case cancelled
        /// A newer one was accepted or withdraws it, so it must not be sent (again): it is over, without a dead letter.
        case superseded(reason: String)
        /// It failed for good, for this reason; `wasSent`: its current attempt was sent.
        case failed(reason: String, wasSent: Bool)
    }

    /// Which delivery.
    public let delivery: Delivery
    /// What becomes of it.
    public let kind: Kind
    /// The outcome that caused it.
    public internal(set) var outcome: Outcome
    /// When the outcome was known, in Unix milliseconds.
    public let unixMs: UInt64
    /// How long operators had paused it, in milliseconds.
    public internal(set) var pausedMs: UInt64 = 0
    /// What its acceptance makes obsolete.
    public let supersedes: Supersession?

    /// Makes one.
    public init(
        _ delivery: Delivery, _ kind: Kind, _ outcome: Outcome, unixMs: UInt64,
        supersedes: Supersession? = nil
    ) {
        self.delivery = delivery
        self.kind = kind
        self.outcome = outcome
        self.unixMs = unixMs
        self.supersedes = supersedes
    }

    /// The ending to store.
    public var end: LeaseEnd {
        switch kind {
        case .delivered: .delivered(delivery.id, supersedes)
        case .cancelled, .superseded: .delivered(delivery.id)
        case .released: .released(delivery.id)
        case .retry(let at, let isFree):
            .retry(
                delivery.id, afterMs: at - min(at, unixMs), attempt, isFree: isFree)
        case .aside(let until):
            .retry(delivery.id, afterMs: until - min(until, unixMs), attempt, isFree: true)
        case .failed(let reason, _): .dead(delivery.id, reason: reason, attempt)
        }
    }

    private var attempt: Attempt {
        Attempt(
            number: delivery.attempt, unixMs: unixMs, reason: outcome.reason,
            code: outcome.providerCode, detail: outcome.detail)
    }
}

/// Why a lane sends one delivery at a time.
public struct LaneHold: Sendable, Equatable {
    /// The kind of reason.
    public var cause: Breaker.Cause
    /// Since when, in Unix milliseconds.
    public var sinceUnixMs: UInt64
    /// Since when, on the steady clock.
    var sinceMs: UInt64
    /// The reason of the outcome that caused it; may be empty.
    public var reason: String
    /// The provider's code; 0 if there was no answer.
    public var code: UInt32 = 0
    /// The provider's or the connection's message; may be empty.
    public var detail = ""

    /// What the provider or the connection said: `code 503, try again later`.
    public var said: String {
        [code == 0 ? "" : "code \(code)", detail].filter { !$0.isEmpty }.joined(separator: ", ")
    }
}

/// A lane was held, or its hold is over.
public enum LaneHoldChange: Sendable {
    /// It sends one delivery at a time. `why`: the outcome that caused it, if known.
    case held(Breaker.Cause, why: Outcome?)
    /// The provider accepts deliveries again, after this many milliseconds.
    case back(Breaker.Cause, afterMs: UInt64)
    /// No delivery is left to probe with.
    case forgotten(Breaker.Cause)
}

extension LaneEnding {
    /// The step to keep for traces; nil if it was only put back.
    public var step: HistoryStep? {
        var step: HistoryStep
        switch kind {
        case .released, .aside: return nil
        case .cancelled:
            step = HistoryStep(
                .cancelled, eventID: delivery.eventID, delivery: delivery.id, unixMs: unixMs)
            step.reason = outcome.reason
        case .superseded(let reason):
            step = HistoryStep(
                .superseded, eventID: delivery.eventID, delivery: delivery.id, unixMs: unixMs)
            step.reason = reason
        case .delivered:
            step = HistoryStep(
                .delivered, eventID: delivery.eventID, delivery: delivery.id, unixMs: unixMs)
            step.attempt = delivery.attempt
            step.reason = outcome.reason
        case .retry(let at, _):
            step = HistoryStep(
                .retried, eventID: delivery.eventID, delivery: delivery.id, unixMs: unixMs)
            step.attempt = delivery.attempt
            step.reason = outcome.reason
            step.nextUnixMs = at
        case .failed(let reason, let wasSent):
            step = HistoryStep(
                .failed, eventID: delivery.eventID, delivery: delivery.id, unixMs: unixMs)
            step.attempt = wasSent ? delivery.attempt : 0
            step.reason = reason
        }
        step.code = outcome.providerCode
        step.detail = outcome.detail
        if !outcome.shortened.isEmpty {
            let cut = "shortened or left out: \(outcome.shortened.fields.joined(separator: ", "))"
            step.detail += step.detail.isEmpty ? cut : "; \(cut)"
        }
        step.providerID = outcome.providerID
        return step
    }
}
