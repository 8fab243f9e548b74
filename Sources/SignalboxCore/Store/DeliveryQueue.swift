/// The queue of waiting deliveries, durable or not.
///
/// All times are measured by the store's clock: callers pass durations, never points in time. A
/// gateway's clock may differ from it, and from those of other gateways on the same store.
///
/// Every call can fail. `done` is called once, on a thread of the store, and must return quickly. A failure
/// means that the call changed nothing, unless documented otherwise.
public protocol DeliveryQueue: Sendable {
    /// Deliveries that are committed and not settled, as last known; costs no query.
    ///
    /// With other owners: this one's changes, and theirs as of the last `waitingLanes`.
    var waitingCount: Int { get }
    /// Whether only the disk's reserve is left: nothing is appended.
    var isDiskFull: Bool { get }
    /// Whether the file was removed or replaced: what is committed now is lost when the process ends.
    var isFileGone: Bool { get }
    /// Whether other owners use it at present: then a lane takes no more than it sends soon.
    var isShared: Bool { get }
    /// Whether the last write failed, or outcomes wait that cannot be written.
    var isFailing: Bool { get }

    /// Why it takes nothing at all now; nil by default.
    var stop: StoreStop? { get }
    /// Why the store is failing, if it knows more than that it is.
    var trouble: String? { get }
    /// For the metrics; none by default.
    var figures: [StoreFigure] { get }

    /// Reserves ids for deliveries and events. No id is given out twice.
    ///
    /// Ask for many at once: a call may cost a commit. Ids have no meaning, not even an order.
    func reserveIDs(
        _ count: Int, done: @escaping @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void)

    /// Commits an entry; its deliveries must have ids that the store reserved.
    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void)

    /// Of some pushes, whether events with them were committed (`StoreEntry.Item.shown`).
    func wereShown(
        _ claims: [OpenClaim], done: @escaping @Sendable (Result<[Bool], StoreFailure>) -> Void)

    /// Leases deliveries of a lane.
    func lease(
        _ lane: LaneKey, _ wish: LeaseWish,
        done: @escaping @Sendable (Result<StoreLease, StoreFailure>) -> Void)

    /// Extends leases to this many milliseconds from now, even an expired one if no other owner took it.
    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)

    /// Ends leases, and appends to the stream of outcomes in the same commit.
    ///
    /// A waiting delivery without a lease can be settled too, because a late answer may end it. Outcomes
    /// are appended even for deliveries that were lost, unless the token is outdated. A store that is short of
    /// room may skip recording an attempt and postpone a dead letter, but always removes a finished delivery.
    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)

    /// Makes deliveries of a lane due that wait only for the end of their provider's outage.
    ///
    /// If it fails, they stay due at their own times.
    func hasten(_ lane: LaneKey)

    /// Lanes with deliveries that no owner holds; with `dueForMs` only those due for at least this long.
    /// Deliveries that were never tried may count as due regardless of their age.
    func waitingLanes(
        dueForMs: UInt64?, done: @escaping @Sendable (Result<[LaneKey], StoreFailure>) -> Void)

    /// Calls back with lanes that got work other than by an `append` of this store: from another gateway, also by
    /// what that one released, or from a replay.
    ///
    /// Called once per commit and lane, on a thread of the store. A notice can be lost with its connection, so check
    /// `waitingLanes` now and then. A second watcher replaces the first.
    func watch(_ onWork: @escaping @Sendable ([LaneKey]) -> Void)

    /// Closes the store after all pending work.
    func close() async
}

/// Why a store takes nothing, as `/readyz` names it.
public enum StoreStop: String, Sendable {
    /// Its database cannot be reached.
    case away = "database_away"
    /// Its database refuses all events, or is too slow for them.
    case failing = "database_failing"
    /// Another owner of the same name uses the store.
    case nameTaken = "name_taken"
}

extension DeliveryQueue {
    /// A store of one gateway.
    public var isShared: Bool { false }
    /// Nil.
    public var stop: StoreStop? { nil }
    /// Nothing.
    public var trouble: String? { nil }
    /// None.
    public var figures: [StoreFigure] { [] }
}

/// Everything that a gateway needs from its store.
public typealias GatewayStore = DeliveryQueue & DeadLetterStore & DeviceRegistry & Outbox
    & KeyValueStore & OutcomeStore & FleetStore & HistoryStore & PeopleStore
