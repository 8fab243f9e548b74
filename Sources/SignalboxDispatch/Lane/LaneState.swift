public import SignalboxCore

/// One lane as a value: the deliveries of one sender and app on their way.
///
/// Each function is one event, with its time, and returns what to do about it. It calls nothing, so that every
/// transition can be tested, and so can any order of events (see LaneSimulationTests). `Lane` drives it.
///
/// - **Life**: open, then *draining* (leases nothing, sends what it has) or *leaving* (gives back what it has not
///   sent, for its successor), then *stopping* (reads what has come back), then *stopped*.
/// - **Hold**: the breaker opens, everything that was not sent goes back to the disk, and one delivery at a time
///   tries. When one gets through, the lane starts slowly again. With nothing left to try, the hold is forgotten.
/// - **Pause**: the plugin said "again"; nothing is offered until it says so, or a second later. When it has waited
///   for a credential for seconds, the lane is held instead.
/// - **Leases**: held or given up, see LaneState+leases.
/// - **Disk**: something waits there or not, a lease is being asked for or not, and the next delivery is due at a
///   known time or never.
public struct LaneState: Sendable {
    enum Life: Int, Sendable { case open, draining, leaving, stopping, stopped }

    /// What waits on disk, as far as the lane knows.
    struct Disk: Sendable {
        /// More waits and is due.
        var hasBacklog = false
        var isLeasing = false
        /// When a lease was last asked for, on the steady clock.
        var askedMs: UInt64 = 0
        /// Something was stored while a lease was being asked for, which may not have seen it.
        var hasNews = false
        /// When the next delivery is due, by the steady clock.
        var nextDueMs: UInt64?
        /// The store failed: nothing is asked of it before this steady time.
        var retryMs: UInt64 = 0
        /// Settlements that the store could not take yet.
        var unsettledCount = 0
    }

    /// The plugin said "again".
    struct Pause: Sendable {
        /// Nothing is offered before this steady time; nil: all is offered.
        var untilMs: UInt64?
        /// How often the plugin said that what it waits for is there.
        var endings = 0
        /// Since when it has waited for a credential, and when it last said so; steady times.
        var credential: (sinceMs: UInt64, lastMs: UInt64)?
    }

    /// Deliveries of paused routes.
    struct Aside: Sendable {
        /// Put aside, and not in the store yet.
        var unstoredCount = 0
        /// A route was resumed while there were such.
        var isOver = false
    }

    /// What came back from the carrier and was not looked at yet.
    struct Inbox: Sendable {
        var results: [PushResult] = []
        var outcomes: [Outcome] = []
        var isEmpty: Bool { results.isEmpty && outcomes.isEmpty }
    }

    static let pauseMs: UInt64 = 1_000
    /// How long after a failure outcomes are stored again: soon enough that a store which fails most of the time has
    /// them before the leases are over.
    static let settlePauseMs: UInt64 = 200
    /// So long a credential may be on its way before the lane is held.
    static let credentialMs: UInt64 = 5_000
    /// Longest time without a look: a store's clock that was set makes deliveries due that were not.
    static let lookMs: UInt64 = 30_000

    let rules: LaneRules
    var window: LaneWindow
    var health: LaneHealth
    var newest = NewestAccepted()
    /// Outlives the lane, if it ends for want of work.
    var doubt = DeathDoubt()
    /// When and why its deliveries had to wait.
    var delays = LaneDelays()
    /// Of deliveries whose requests named one, until they are settled.
    var origins: [UInt64: String] = [:]
    var inbox = Inbox()
    /// Deliveries whose last attempt timed out, whose answer may still come.
    var overdue: [UInt64: Delivery] = [:]
    /// Ended by a late answer while they waited on disk: a lease that is on its way may still bring them.
    var ended: Set<UInt64> = []
    var life = Life.open
    /// Under which it holds what is in memory.
    var token: LeaseToken?
    /// How long it surely does.
    var term = LeaseTerm()
    /// How much of the lane it takes while there are other gateways.
    var share: LaneShare
    var pause = Pause()
    /// What operators have paused.
    var paused: LanePause
    var aside = Aside()
    var disk = Disk()
    var lines = LaneLines()
    /// A worker runs the lane, or will soon.
    var isScheduled = false
    /// When deliveries last came, or it last had something to do; steady time, 0: it was not looked at yet.
    var usedMs: UInt64 = 0
    /// Why it sends one delivery at a time; nil: it sends all.
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

    /// Nothing is in memory, and nothing is on its way here.
    public var isIdle: Bool {
        window.isEmpty && !disk.isLeasing && !isScheduled && inbox.isEmpty
    }

    /// It has ended.
    public var isStopped: Bool { life == .stopped }

    /// It neither works nor waits for anything, or has missed its time.
    public func isAsleep(_ now: LaneTime) -> Bool {
        guard isIdle, life == .open, !paused.isWhole, pause.untilMs == nil,
            disk.retryMs <= now.steadyMs,
            disk.unsettledCount == 0
        else { return false }
        if case .none = health.breaker.permission(nowMs: now.steadyMs) { return false }
        return (disk.nextDueMs ?? 0) <= now.steadyMs
    }

    /// How long it has had nothing to do; nil: it has. Whether something of it waits on disk for its time, the store
    /// knows.
    public func restedMs(_ now: LaneTime) -> UInt64? {
        guard isIdle, life == .open, hold == nil, pause.untilMs == nil, !paused.isWhole,
            !disk.hasBacklog, !disk.hasNews, disk.unsettledCount == 0, window.isSettled,
            overdue.isEmpty, usedMs > 0
        else { return nil }
        return now.steadyMs - min(now.steadyMs, usedMs)
    }

    /// It has ended, and the store knows how its deliveries did.
    var isOver: Bool { isStopped && window.isSettled }

    /// A turn on a worker, unless one is to come anyway.
    mutating func turnSoon() -> LaneTodo {
        var todo = LaneTodo()
        guard !isScheduled, life != .stopped else { return todo }
        isScheduled = true
        todo.isTurn = true
        return todo
    }
}

/// The bounds of a lane.
public struct LaneRules: Sendable {
    /// Most deliveries in memory.
    public var inMemoryMax = 4_096
    /// Most deliveries per call of the carrier.
    public var batchMax: Int
    /// How long a lease lasts, in milliseconds.
    public var leaseMs: UInt64 = 120_000
    /// What it knows of its carrier.
    public var traits: LaneTraits

    /// The shipped bounds.
    public init(_ traits: LaneTraits, batchMax: Int = 512) {
        self.traits = traits
        self.batchMax = batchMax
    }
}

/// What a turn of a lane works on.
public struct LaneTurn: Sendable {
    /// Answers to classify.
    public var responses: [HTTPResponse] = []
    /// Answers that came after their request had timed out.
    public var late: [HTTPResponse] = []
    /// Outcomes that need no classifying.
    public var outcomes: [Outcome] = []
    /// Deliveries to offer to the carrier.
    public var batch: [Delivery] = []
    /// For `LaneState.heldBack`.
    public var pauseEndings = 0
    /// What else is to be done.
    public var todo = LaneTodo()
    /// Nothing was left to do: the lane rests.
    public var isLast = false
}
