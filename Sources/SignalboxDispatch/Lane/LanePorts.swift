public import SignalboxCore

/// What all lanes of a gateway share.
public struct LaneWorld: Sendable {
    let clock: any LaneClock
    let store: any LaneStore
    let outcomeSink: any OutcomeSink

    /// Puts a world together.
    public init(clock: any LaneClock, store: any LaneStore, outcomeSink: any OutcomeSink) {
        self.clock = clock
        self.store = store
        self.outcomeSink = outcomeSink
    }
}

/// Clock, randomness and worker threads of a lane.
public protocol LaneClock: Sendable {
    /// The current time.
    var now: LaneTime { get }
    /// 0..<1.
    func random() -> Double
    /// Runs a job on a worker soon. Bounded to one job per lane.
    func run(_ job: @escaping @Sendable () -> Void)
    /// Calls `ring` once in `ms` milliseconds; replaces the lane's previous alarm.
    func wake(lane: Int, inMs ms: UInt64, _ ring: @escaping @Sendable () -> Void)
    /// Calls `ring` once in `ms` milliseconds.
    func after(ms: UInt64, _ ring: @escaping @Sendable () -> Void)
    /// Deliveries that entered memory (positive) or left it (negative).
    func adjust(inMemory delta: Int)
}

/// Where a lane's deliveries wait.
///
/// `done` is called once, on any thread, and must return soon.
public protocol LaneStore: Sendable {
    /// Whether other gateways use it at the moment.
    var isShared: Bool { get }
    /// Leases deliveries of a lane; nil if the store failed.
    func lease(_ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease?) -> Void)
    /// Ends leases, and appends to the outcome stream in the same commit; nil if the store failed and nothing changed.
    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (LeaseRefusal?) -> Void)
    /// Extends leases to `forMs` milliseconds from now; nil if the store failed.
    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (LeaseRefusal?) -> Void)
    /// Makes deliveries due that wait only for their provider to recover.
    func hasten(_ lane: LaneKey)
}

/// What is recorded about a lane's deliveries.
public protocol OutcomeSink: Sendable {
    /// The retry policy of a delivery.
    func policy(of delivery: Delivery) -> RetryPolicy
    /// Deliveries are handed to the carrier.
    func offered(_ batch: [Delivery], unixMs: UInt64)
    /// Records deliveries that left memory; returns what the outcome receivers are told.
    func record(_ endings: [LaneEnding]) -> OutcomePack
    /// Whether a delivery that failed for good is kept as a dead letter.
    func keepsLetter(of ending: LaneEnding) -> Bool
    /// Another gateway holds, or may soon hold, what this lane had leased.
    func leasesLost(_ lane: LaneKey, count: Int)
    /// A lane was held, or its hold is over.
    func held(_ lane: LaneKey, _ change: LaneHoldChange)
    /// A line for the log.
    func write(_ line: LaneLine, of lane: LaneKey)
}

extension OutcomeSink {
    /// What the store is told about deliveries.
    func ends(of endings: [LaneEnding]) -> [LeaseEnd] {
        endings.indices.map { index in
            guard case .failed = endings[index].kind, !keepsLetter(of: endings[index]) else {
                return endings[index].end
            }
            return .delivered(endings[index].delivery.id)
        }
    }
}

/// What takes a lane's deliveries to their provider: a plugin with its transport, or with the gateway's.
///
/// `offer` and `classify` are called on the worker that runs the lane, one call at a time.
public protocol LaneCarrier: Sendable {
    /// The carrier's properties that the lane needs.
    var traits: LaneTraits { get }
    /// Most deliveries per call; nil leaves it to the lane. It may change: after a crash a plugin gets one at a time.
    var batchMax: Int? { get }
    /// Hands deliveries over. Results go to the lane's `answered`.
    func offer(_ batch: [Delivery]) -> LaneOffer
    /// Classifies answers. Follow-up requests they call for have been started when it returns.
    func classify(_ responses: [HTTPResponse]) -> [Outcome]
    /// Returns unsent deliveries.
    func withdraw()
    /// Sends nothing more over a connection.
    func leave(connection: UInt64)
    /// The provider refused this credential.
    func credentialRefused(_ name: String)
    /// The plugin's secrets have changed: new connections use the new ones.
    func renew() async throws
    /// The connections at this moment, for readiness.
    func connections() async -> LaneConnections
    /// Closes its connections; when this returns, every request has its result.
    func shutdown(deadlineMs: Int) async
}

/// A carrier's connections at one moment.
public struct LaneConnections: Sendable {
    /// Connections that take requests.
    public var readyCount = 0
    /// Connections that are being made.
    public var connectingCount = 0
    /// Whether the last connect failed and none has succeeded since.
    public var isFailing: Bool { !failure.isEmpty }
    /// Why the last connect failed; empty if none has failed since the last success.
    public var failure = ""
    /// The proxy they use; empty if none.
    public var proxy = ""

    /// None.
    public init() {}
}

/// What a lane knows of its carrier.
public struct LaneTraits: Sendable {
    /// A push whose fate is unknown must not be sent again.
    public var isAtMostOnce = false
    /// Deliveries with the same stable id are sent one after the other: a later one corrects an earlier one.
    public var keepsOrder = false
    /// How long a delivery that timed out waits, at least, for a late answer.
    public var lateAnswerMs: UInt64 = 0
    /// Its capacity is unknown, so the lane starts with few requests.
    public var startsSlowly = true

    /// The defaults.
    public init() {}
}

/// What a carrier did with a batch.
public enum LaneOffer: Sendable {
    /// It took all of them; `settled`: outcomes already known.
    case taken(settled: [Outcome])
    /// It cannot take those from this index on until it says so.
    case held(from: Int)
    /// It cannot take any until it has a credential.
    case uncredentialed
    /// It failed; `isCredential`: because it cannot get a credential.
    case failed(words: String, isCredential: Bool)

    /// The outcome of a delivery on which the plugin failed.
    public static func failure(
        of delivery: Delivery, words: String, isCredential: Bool
    ) -> Outcome {
        var outcome = Outcome(item: delivery.id, kind: .retry, reason: "plugin_failed")
        if isCredential {
            // Nothing of this sender can be sent until an operator fixes that.
            outcome = Outcome(item: delivery.id, kind: .config, reason: "credential_refused")
            outcome.scope = .instance
        }
        outcome.detail = words
        return outcome
    }
}
