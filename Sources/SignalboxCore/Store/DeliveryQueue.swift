/// Where deliveries wait, durable or not.
///
/// Whatever is due or lasts is measured by the store's clock: callers say how long, never until when. A
/// gateway's clock may differ from it, and from those of other gateways on the same store.
///
/// Every call can fail. `done` is called once, on a thread of the store, and must return soon. A failure
/// means that nothing of the call was done, unless the call says otherwise.
public protocol DeliveryQueue: Sendable {
    /// Deliveries that were committed and are not settled, as far as is known without asking.
    var waitingCount: Int { get }
    /// The disk has no room left but its reserve: nothing is appended.
    var isDiskFull: Bool { get }
    /// Its file was removed or replaced: what is committed now is lost when the process ends.
    var isFileGone: Bool { get }

    /// Gives ids for deliveries and events, which nobody was given before and nobody is given again.
    ///
    /// Ask for many at once: it may cost a commit. Nothing may be read from an id, not even an order.
    func reserveIDs(
        _ count: Int, done: @escaping @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void)

    /// Commits an entry; its deliveries have ids that the store gave.
    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void)

    /// Leases deliveries of a lane.
    func lease(
        _ lane: LaneKey, _ wish: LeaseWish,
        done: @escaping @Sendable (Result<StoreLease, StoreFailure>) -> Void)

    /// Makes leases last so many milliseconds from now; also one that ran out, if nobody took it.
    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)

    /// Ends leases, and appends to the stream of outcomes in the same commit.
    ///
    /// A delivery that waits and that nobody holds can be settled, too: a late answer may end it. Outcomes
    /// are told also of deliveries that were lost, unless the token is outdated. A store that is short of
    /// room may leave an attempt unrecorded and a dead letter for later, but not a delivery that is done.
    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)

    /// Makes deliveries of a lane due that wait only for their provider to be back.
    ///
    /// If it fails they are due at their own times.
    func hasten(_ lane: LaneKey)

    /// Lanes with deliveries that nobody holds; `dueForMs`: only those that have been due for so long. What was
    /// never tried may count as due for ever.
    func waitingLanes(
        dueForMs: UInt64?, done: @escaping @Sendable (Result<[LaneKey], StoreFailure>) -> Void)

    /// Tells of lanes that were given work by somebody else than an `append` of this store: another gateway,
    /// or a replay.
    ///
    /// Once per commit and lane, on a thread of the store; a notice can be lost with its connection, so look at
    /// `waitingLanes` now and then. A second watcher takes the place of the first.
    func watch(_ onWork: @escaping @Sendable ([LaneKey]) -> Void)

    /// Ends the store once everything that was asked for is done.
    func close() async
}

/// Everything that a gateway asks of its store.
public typealias GatewayStore = DeliveryQueue & DeadLetterStore & DeviceRegistry & Outbox
    & KeyValueStore & OutcomeStore
