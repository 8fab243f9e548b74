public import SignalboxCore

/// What all lanes of a gateway share.
public struct LaneWorld: Sendable {
    let clock: any LaneClock
    let store: any LaneStore
    let ledger: any LaneLedger

    /// Puts a world together.
    public init(clock: any LaneClock, store: any LaneStore, ledger: any LaneLedger) {
        self.clock = clock
        self.store = store
        self.ledger = ledger
    }
}

/// Time, chance and threads of a lane.
public protocol LaneClock: Sendable {
    /// The current time.
    var now: LaneTime { get }
    /// 0..<1.
    func random() -> Double
    /// Runs a job on a worker soon. Bounded: one job per lane.
    func run(_ job: @escaping @Sendable () -> Void)
    /// Rings once in `ms` milliseconds; replaces the alarm that the lane has set before.
    func wake(lane: Int, inMs ms: UInt64, _ ring: @escaping @Sendable () -> Void)
    /// Rings once in `ms` milliseconds.
    func after(ms: UInt64, _ ring: @escaping @Sendable () -> Void)
    /// Deliveries that came into memory, or left it.
    func adjust(inMemory delta: Int)
}

/// Where a lane's deliveries wait.
///
/// `done` is called once, on any thread, and must return soon.
public protocol LaneStore: Sendable {
    /// Whether other gateways use it at present.
    var isShared: Bool { get }
    /// Lends deliveries of a lane; nil: the store failed.
    func lease(_ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease?) -> Void)
    /// Ends leases, and appends to the stream of outcomes in the same commit; nil: the store failed, and nothing
    /// has changed.
    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (LeaseRefusal?) -> Void)
    /// Makes leases last so many milliseconds from now; nil: the store failed.
    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (LeaseRefusal?) -> Void)
    /// Makes deliveries due that wait only for their provider to be back.
    func hasten(_ lane: LaneKey)
}

/// What is written down about a lane's deliveries.
public protocol LaneLedger: Sendable {
    /// How often a delivery is tried, and when.
    func policy(of delivery: Delivery) -> RetryPolicy
    /// Deliveries are handed to the carrier.
    func offered(_ batch: [Delivery], unixMs: UInt64)
    /// Deliveries ended their stay in memory; what receivers of outcomes are told of it.
    func record(_ endings: [LaneEnding]) -> OutcomePack
    /// Whether a delivery that failed for good is kept as a dead letter.
    func keepsLetter(of ending: LaneEnding) -> Bool
    /// Somebody else has, or soon may have, what a lane thought it held.
    func leasesLost(_ lane: LaneKey, count: Int)
    /// A lane is held, or is no longer.
    func held(_ lane: LaneKey, _ change: LaneHoldChange)
    /// A line for the log.
    func write(_ line: LaneLine, of lane: LaneKey)
}

extension LaneLedger {
    /// What the store is told about deliveries.
    func ends(of endings: [LaneEnding]) -> [LeaseEnd] {
        endings.map { ending in
            guard case .failed = ending.kind, !keepsLetter(of: ending) else { return ending.end }
            return .delivered(ending.delivery.id)
        }
    }
}

/// What takes a lane's deliveries to their provider: a plugin with its transport, or with the gateway's.
///
/// `offer` and `classify` are called on the worker that runs the lane, one call at a time.
public protocol LaneCarrier: Sendable {
    /// What the lane has to know of it.
    var traits: LaneTraits { get }
    /// Most deliveries per call; nil: the lane's choice. It may change: after a crash a plugin gets one at a time.
    var batchMax: Int? { get }
    /// Hands deliveries over. What comes of them is told to the lane's `answered`.
    func offer(_ batch: [Delivery]) -> LaneOffer
    /// Reads answers; further requests that they ask for are on their way when it returns.
    func classify(_ responses: [HTTPResponse]) -> [Outcome]
    /// Gives back what was not sent yet.
    func withdraw()
    /// Takes nothing more to a connection.
    func leave(connection: UInt64)
    /// The provider has refused this credential.
    func credentialRefused(_ name: String)
    /// The plugin's secrets have changed: connections to come use the new ones.
    func renew() async throws
    /// The connections at this moment, for readiness.
    func connections() async -> LaneConnections
    /// Gives its connections up; each request has its result when this returns.
    func shutdown(deadlineMs: Int) async
}

/// A carrier's connections at one moment.
public struct LaneConnections: Sendable {
    /// Connections that take requests.
    public var readyCount = 0
    /// Connections that are being made.
    public var connectingCount = 0
    /// The last connect failed and none has succeeded since.
    public var isFailing: Bool { !failure.isEmpty }
    /// Why the last connect failed; empty: it did not, or one has succeeded since.
    public var failure = ""
    /// The proxy that they go through; empty: none.
    public var proxy = ""

    /// None.
    public init() {}
}

/// What a lane knows of its carrier.
public struct LaneTraits: Sendable {
    /// A push whose fate is unknown must not be sent again.
    public var isAtMostOnce = false
    /// Deliveries with one stable id go out one after the other: a later one says what is so now.
    public var keepsOrder = false
    /// How long a delivery whose request timed out waits at least for its late answer.
    public var lateAnswerMs: UInt64 = 0
    /// It does not say how much it takes, so the lane begins with a little.
    public var startsSlowly = true

    /// A carrier that takes as much as it likes.
    public init() {}
}

/// What a carrier did with a batch.
public enum LaneOffer: Sendable {
    /// It has all of them; of these the outcome is known already.
    case taken(settled: [Outcome])
    /// It has no use for those from this index on, until it says so.
    case held(from: Int)
    /// It has no use for any of them until it has a credential.
    case uncredentialed
    /// It failed; `isCredential`: no credential can be had.
    case failed(words: String, isCredential: Bool)

    /// What becomes of a delivery on which the plugin failed.
    public static func failure(
        of delivery: Delivery, words: String, isCredential: Bool
    ) -> Outcome {
        var outcome = Outcome(item: delivery.id, kind: .retry, reason: "plugin_failed")
        if isCredential {
            // Nothing of this sender can be sent until somebody mends that.
            outcome = Outcome(item: delivery.id, kind: .config, reason: "credential_refused")
            outcome.scope = .instance
        }
        outcome.detail = words
        return outcome
    }
}
