public import SignalboxCore

/// What the shell does for a lane, after it has let go of the lock.
public struct LaneTodo: Sendable {
    /// Run turns on a worker until one is empty.
    public var isTurn = false
    /// To be recorded, and settled in the store.
    public var endings: [LaneEnding] = []
    /// Deliveries that came too late for this lane: they go back to the disk, for its successor.
    public var returned: LaneReturn?
    /// The breaker opened or closed.
    public var holds: [LaneHoldChange] = []
    /// Lines for the log.
    public var lines: [LaneLine] = []
    /// Ask the store for this.
    public var wish: LeaseWish?
    /// Ask the store to make leases last longer.
    public var `extension`: LeaseExtension?
    /// Deliveries in memory that somebody else has by now, or soon may have.
    public var leasesLost = 0
    /// Run a turn after so many milliseconds; replaces the previous wait.
    public var wakeInMs: UInt64?
    /// How many deliveries came into memory; below zero: they left it.
    public var arrived = 0
    /// The carrier gives back what it has not sent.
    public var isWithdrawal = false
    /// What waits for no fault of its own is due at once.
    public var isHaste = false
    /// Something waits on disk for the lane that comes after this one.
    public var isForSuccessor = false

    init() {}

    /// The shell has no work.
    public var isEmpty: Bool {
        !isTurn && endings.isEmpty && returned == nil && holds.isEmpty && lines.isEmpty
            && wish == nil && `extension` == nil && leasesLost == 0 && wakeInMs == nil
            && arrived == 0 && !isWithdrawal && !isHaste && !isForSuccessor
    }

    /// Adds what another step asks for.
    public mutating func add(_ other: LaneTodo) {
        isTurn = isTurn || other.isTurn
        if endings.isEmpty { endings = other.endings } else { endings += other.endings }
        assert(returned == nil || other.returned == nil, "deliveries that nobody gives back")
        returned = returned ?? other.returned
        holds += other.holds
        lines += other.lines
        // The lane asks for nothing before it has the answer, so there is one of each at most.
        assert(wish == nil || other.wish == nil, "a lease that nobody asks the store for")
        wish = wish ?? other.wish
        `extension` = `extension` ?? other.extension
        leasesLost += other.leasesLost
        // A turn too early finds nothing to do; a turn too late would leave a delivery waiting.
        if let wait = other.wakeInMs { wakeInMs = min(wakeInMs ?? .max, wait) }
        arrived += other.arrived
        isWithdrawal = isWithdrawal || other.isWithdrawal
        isHaste = isHaste || other.isHaste
        isForSuccessor = isForSuccessor || other.isForSuccessor
    }
}

/// Leases that are to last longer.
public struct LeaseExtension: Sendable {
    /// Of these deliveries.
    public var ids: [UInt64]
    /// Under which they are held.
    public var token: LeaseToken
    /// How long, in milliseconds.
    public var forMs: UInt64
    /// When the lane asked, on the steady clock.
    public var askedMs: UInt64
}

/// Deliveries that a lane has no use for.
public struct LaneReturn: Sendable {
    /// Which.
    public var ids: [UInt64]
    /// Under which they are held.
    public var token: LeaseToken
    /// Until then they surely are, on the steady clock.
    public var endMs: UInt64

    /// What the store is told.
    public var ends: [LeaseEnd] { ids.map { .released($0) } }
}

/// How a delivery ended its stay in a lane.
public struct LaneEnding: Sendable {
    /// What becomes of it.
    public enum Kind: Sendable, Equatable {
        /// It is done.
        case delivered
        /// Again at this time, in Unix milliseconds; `isFree`: the attempt counts as none.
        case retry(atUnixMs: UInt64, isFree: Bool)
        /// Nothing was done with it: due again at once.
        case released
        /// Nothing was done with it, since its route is paused: due again at this time, or when the route is resumed.
        case aside(untilUnixMs: UInt64)
        /// It must not be sent any more: it is over, and no dead letter.
        case cancelled
        /// It must not be sent, or not again, since a newer one was accepted or withdraws it: it is over, and no dead letter.
        case superseded(reason: String)
        /// It is over, for this reason; `wasSent`: the attempt that it is at went out.
        case failed(reason: String, wasSent: Bool)
    }

    /// Which delivery.
    public let delivery: Delivery
    /// What becomes of it.
    public let kind: Kind
    /// What brought it about.
    public internal(set) var outcome: Outcome
    /// When that was known, in Unix milliseconds.
    public let unixMs: UInt64
    /// False: it waited on disk when the answer to an earlier attempt came.
    public let wasInMemory: Bool
    /// How long operators had paused it, in milliseconds.
    public internal(set) var pausedMs: UInt64 = 0
    /// What it makes obsolete, if it was accepted.
    public let supersedes: Supersession?

    /// Makes one.
    public init(
        _ delivery: Delivery, _ kind: Kind, _ outcome: Outcome, unixMs: UInt64,
        wasInMemory: Bool = true, supersedes: Supersession? = nil
    ) {
        self.delivery = delivery
        self.kind = kind
        self.outcome = outcome
        self.unixMs = unixMs
        self.wasInMemory = wasInMemory
        self.supersedes = supersedes
    }

    /// What the store is told.
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
    /// What kind of reason.
    public var cause: Breaker.Cause
    /// Since when, in Unix milliseconds.
    public var sinceUnixMs: UInt64
    /// Since when, on the steady clock.
    var sinceMs: UInt64
    /// The reason of the outcome that did it; may be empty.
    public var reason: String
    /// The provider's code of it; 0 if there was no answer.
    public var code: UInt32 = 0
    /// Words of the provider or the connection; may be empty.
    public var detail = ""

    /// What the provider or the connection said: `code 503, try again later`.
    public var said: String {
        [code == 0 ? "" : "code \(code)", detail].filter { !$0.isEmpty }.joined(separator: ", ")
    }
}

/// A lane is held from now on, or is no longer.
public enum LaneHoldChange: Sendable {
    /// It sends one delivery at a time. `why`: the outcome that did it, if it is known.
    case held(Breaker.Cause, why: Outcome?)
    /// The provider takes deliveries again, after so many milliseconds.
    case back(Breaker.Cause, afterMs: UInt64)
    /// Nothing waits any more, so nothing can try.
    case forgotten(Breaker.Cause)
}

extension LaneEnding {
    /// What is kept of it for traces; nil: nothing happened.
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
