public import SignalboxCore

/// One lane as a value: sends the deliveries of one sender and app.
///
/// Each function handles one event, given the time, and returns what to do. It calls nothing, so every transition and
/// any order of events can be tested (see LaneSimulationTests). `Lane` drives it.
///
/// - **Life**: open, then *draining* (leases nothing, sends what it has) or *leaving* (releases unsent deliveries for
///   its successor), then *stopping* (reads pending results), then *stopped*.
/// - **Hold**: the breaker is open, unsent deliveries are back on disk, and one probe at a time is sent. When one
///   succeeds, the lane starts slowly again. With nothing left to probe with, the hold is forgotten.
/// - **Pause**: the plugin said "again": nothing is offered until it says so, or for a second. After seconds without
///   a credential the lane is held instead.
/// - **Leases**: held or given up, see LaneState+leases.
/// - **Disk**: whether deliveries wait there, whether a lease is being requested, and when the next delivery is due,
///   if known.
public struct LaneState: Sendable {
    enum Life: Int, Sendable { case open, draining, leaving, stopping, stopped }

    /// What waits on disk, as far as the lane knows.
    struct Disk: Sendable {
        /// More deliveries wait and are due.
        var hasBacklog = false
        var isLeasing = false
        /// When a lease was last requested, on the steady clock.
        var askedMs: UInt64 = 0
        /// Something was stored while a lease was being requested, which may have missed it.
        var hasNews = false
        /// When the next delivery is due, by the steady clock.
        var nextDueMs: UInt64?
        /// After a failure of the store: no request before this steady time.
        var retryMs: UInt64 = 0
        /// Settlements the store has not taken yet.
        var unsettledCount = 0
    }

    /// The plugin said "again".
    struct Pause: Sendable {
        /// Nothing is offered before this steady time; nil if offers are allowed.
        var untilMs: UInt64?
        /// How often the plugin said that its wait is over.
        var endings = 0
        /// Since when it has lacked a credential, and when it last said so; steady times.
        var credential: (sinceMs: UInt64, lastMs: UInt64)?
    }

    /// Deliveries of paused routes.
    struct Aside: Sendable {
        /// Set aside, and not in the store yet.
        var unstoredCount = 0
        /// A route was resumed while some were not in the store yet.
        var isOver = false
    }

    /// Results from the carrier that no turn has read yet.
    struct Inbox: Sendable {
        var results: [PushResult] = []
        var outcomes: [Outcome] = []
        var isEmpty: Bool { results.isEmpty && outcomes.isEmpty }
    }

    static let pauseMs: UInt64 = 1_000
    /// How long to wait before storing outcomes again: short enough that a store that fails most of the time has them
    /// before the leases end.
    static let settlePauseMs: UInt64 = 200
    /// How long a credential may take before the lane is held.
    static let credentialMs: UInt64 = 5_000
    /// Longest sleep: setting the store's clock forward makes deliveries due early.
    static let lookMs: UInt64 = 30_000

    let rules: LaneRules
    var window: LaneWindow
    var health: LaneHealth
    var newest = NewestAccepted()
    /// Passed on to the next lane of this key when the lane retires.
    var doubt = DeathDoubt()
    /// When and why its deliveries had to wait.
    var delays = LaneDelays()
    /// Origins that requests named, by delivery, until settled.
    var origins: [UInt64: String] = [:]
    var inbox = Inbox()
    /// Deliveries whose last attempt timed out and may still be answered.
    var overdue: [UInt64: Delivery] = [:]
    /// Ended by a late answer while on disk: a lease being requested may still return them.
    var ended: Set<UInt64> = []
    var life = Life.open
    /// The token of the leases in memory.
    var token: LeaseToken?
    /// How long the leases are guaranteed.
    var term = LeaseTerm()
    /// Its share of the deliveries while there are other gateways.
    var share: LaneShare
    var pause = Pause()
    /// What operators have paused.
    var paused: LanePause
    var aside = Aside()
    var disk = Disk()
    var lines = LaneLines()
    /// A worker runs the lane, or will soon.
    var isScheduled = false
    /// When deliveries last arrived or it last had work; steady time, 0 before the first look.
    var usedMs: UInt64 = 0
    /// Why only one delivery is sent at a time; nil if sending is unrestricted.
    public internal(set) var hold: LaneHold?

    /// An open lane with nothing in it.
    public init(_ rules: LaneRules, paused: LanePause = LanePause()) {
        self.rules = rules
        self.paused = paused
        window = LaneWindow(countMax: rules.inMemoryMax)
        share = LaneShare(inMemoryMax: rules.inMemoryMax)
        health = LaneHealth(
            inFlightMax: rules.inMemoryMax, startsSlowly: rules.traits.startsSlowly)
    }

    /// Deliveries in memory.
    public var count: Int { window.count }

    /// Nothing is in memory, and no work is pending.
    public var isIdle: Bool {
        window.isEmpty && !disk.isLeasing && !isScheduled && inbox.isEmpty
    }

    /// It has ended.
    public var isStopped: Bool { life == .stopped }

    /// It has no work and waits for nothing, or has overslept its alarm.
    public func isAsleep(_ now: LaneTime) -> Bool {
        guard isIdle, life == .open, !paused.isWhole, pause.untilMs == nil,
            disk.retryMs <= now.steadyMs,
            disk.unsettledCount == 0
        else { return false }
        if case .none = health.breaker.permission(nowMs: now.steadyMs) { return false }
        return (disk.nextDueMs ?? 0) <= now.steadyMs
    }

    /// How long it has been idle; nil while it has work. Only the store knows whether deliveries wait for a later time.
    public func restedMs(_ now: LaneTime) -> UInt64? {
        guard isIdle, life == .open, hold == nil, pause.untilMs == nil, !paused.isWhole,
            !disk.hasBacklog, !disk.hasNews, disk.unsettledCount == 0, window.isSettled,
            overdue.isEmpty, usedMs > 0
        else { return nil }
        return now.steadyMs - min(now.steadyMs, usedMs)
    }

    /// It has ended, and the store has all its settlements.
    var isOver: Bool { isStopped && window.isSettled }

    /// Schedules a turn on a worker, unless one is scheduled.
    mutating func turnSoon() -> LaneEffects {
        var effects = LaneEffects()
        guard !isScheduled, life != .stopped else { return effects }
        isScheduled = true
        effects.isTurn = true
        return effects
    }
}

/// The limits of a lane.
public struct LaneRules: Sendable {
    /// Most deliveries in memory.
    public var inMemoryMax = 4_096
    /// Most deliveries per call of the carrier.
    public var batchMax: Int
    /// How long a lease lasts, in milliseconds.
    public var leaseMs: UInt64 = 120_000
    /// The properties of its carrier.
    public var traits: LaneTraits

    /// The default limits.
    public init(_ traits: LaneTraits, batchMax: Int = 512) {
        self.traits = traits
        self.batchMax = batchMax
    }
}

/// What a turn of a lane works on.
public struct LaneTurn: Sendable {
    /// Answers to classify.
    public var responses: [HTTPResponse] = []
    /// Answers that arrived after the time-out of their request.
    public var late: [HTTPResponse] = []
    /// Outcomes that need no classifying.
    public var outcomes: [Outcome] = []
    /// Deliveries to offer to the carrier.
    public var batch: [Delivery] = []
    /// For `LaneState.heldBack`.
    public var pauseEndings = 0
    /// Other effects.
    public var effects = LaneEffects()
    /// Nothing was left to do: the lane rests.
    public var isLast = false
}
