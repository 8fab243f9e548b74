/// Names a lane: the deliveries of one sender and app.
public struct LaneKey: Sendable, Hashable {
    /// The sender's plugin instance.
    public var sender: String
    /// Bundle id or project; empty: the default app.
    public var app: String

    /// Names a lane.
    public init(sender: String, app: String) {
        self.sender = sender
        self.app = app
    }

    /// The lane of a delivery.
    public init(_ delivery: Delivery) {
        self.init(sender: delivery.sender, app: delivery.device.app)
    }
}

extension LaneKey {
    /// The deliveries of each lane, in their order; most events have a lane or two.
    public static func parts(
        of deliveries: [Delivery]
    ) -> [(key: LaneKey, deliveries: [Delivery])] {
        guard let first = deliveries.first else { return [] }
        let only = LaneKey(first)
        if deliveries.allSatisfy({ only.isLane(of: $0) }) { return [(only, deliveries)] }
        var parts: [(key: LaneKey, deliveries: [Delivery])] = []
        var places: [LaneKey: Int] = [:]
        var last = 0
        for delivery in deliveries {
            if last < parts.count, parts[last].key.isLane(of: delivery) {
                parts[last].deliveries.append(delivery)
                continue
            }
            let key = LaneKey(delivery)
            if let known = places[key] {
                last = known
                parts[last].deliveries.append(delivery)
            } else {
                last = parts.count
                places[key] = last
                parts.append((key, [delivery]))
            }
        }
        return parts
    }

    private func isLane(of delivery: Delivery) -> Bool {
        sender == delivery.sender && app == delivery.device.app
    }
}

/// What one inbound request leaves behind: all of it is committed, or nothing.
public struct StoreEntry: Sendable {
    /// An event with its deliveries.
    public struct Item: Sendable {
        /// The event.
        public var event: Event
        /// Its deliveries; none if no route takes it.
        public var deliveries: [Delivery]
        /// Ids of deliveries that their lanes take over at once, as if they had leased them.
        public var taken: Set<UInt64>
        /// How long the event's dedupe key is remembered, in milliseconds; nil: as long as the entry says.
        public var dedupeMs: UInt64?
        /// What it does to badge counters, unless it is a duplicate.
        public var badges: [BadgeStep] = []

        /// Makes an item.
        public init(event: Event, deliveries: [Delivery], taken: Set<UInt64> = []) {
            self.event = event
            self.deliveries = deliveries
            self.taken = taken
        }
    }
    /// The events.
    public var items: [Item]
    /// Devices that came or went with them.
    public var changes: [DeviceChange]
    /// When the request came in, in Unix milliseconds.
    public var receivedUnixMs: UInt64
    /// How long an event's dedupe key is remembered, in milliseconds.
    public var dedupeMs: UInt64

    /// Makes an entry.
    public init(
        items: [Item], changes: [DeviceChange] = [], receivedUnixMs: UInt64, dedupeMs: UInt64
    ) {
        self.items = items
        self.changes = changes
        self.receivedUnixMs = receivedUnixMs
        self.dedupeMs = dedupeMs
    }
}

/// What became of an entry.
public enum StoreAnswer: Sendable, Equatable {
    /// It is on disk; events at these indexes were there before and were left out. The numbers of the others'
    /// badge steps, by index; nil: the user has no device any more.
    case committed(duplicates: Set<Int>, badges: [Int: [Int32?]] = [:])
    /// As many deliveries wait as may.
    case full
    /// The disk has no room left but its reserve, which only outcomes may use.
    case diskFull
    /// The store failed; nothing was kept.
    case failed(String)
}

extension StoreAnswer {
    /// What to tell who asked; empty: all is well.
    public var words: String {
        switch self {
        case .committed: ""
        case .full: "too many deliveries are waiting"
        case .diskFull: "the gateway's disk is full"
        case .failed(let words): words
        }
    }
}

/// What an attempt came to, for the record.
public struct Attempt: Sendable, Hashable {
    /// 1, 2, ...
    public var number: UInt32
    /// When the outcome was known, in Unix milliseconds.
    public var unixMs: UInt64
    /// From a closed list.
    public var reason: String
    /// HTTP status or the provider's own number; 0: there was no answer.
    public var code: UInt32
    /// For people; no token, secret or body.
    public var detail: String

    /// Makes an attempt.
    public init(number: UInt32, unixMs: UInt64, reason: String, code: UInt32, detail: String) {
        self.number = number
        self.unixMs = unixMs
        self.reason = reason
        self.code = code
        self.detail = detail
    }
}

/// How a leased delivery ends its lease.
public enum StoreChange: Sendable {
    /// It is done.
    case delivered(UInt64)
    /// Again at this time, after this attempt; `isFree`: the attempt counts as none.
    case retry(UInt64, atUnixMs: UInt64, Attempt, isFree: Bool)
    /// It is over; kept as a dead letter.
    case dead(UInt64, reason: String, Attempt)
    /// Nothing was done with it: due again at once.
    case released(UInt64)

    /// The delivery.
    public var id: UInt64 {
        switch self {
        case .delivered(let id), .retry(let id, _, _, _), .dead(let id, _, _), .released(let id):
            id
        }
    }
}

/// What is to be lent.
public struct LeaseWish: Sendable {
    /// Most deliveries.
    public var max: Int
    /// The time, in Unix milliseconds: what is due later stays.
    public var nowUnixMs: UInt64
    /// When the lease ends, in Unix milliseconds.
    public var untilUnixMs: UInt64
    /// For the one delivery that tries whether its provider is back: it need not be due, and one that
    /// was never tried comes first, since one that was may be what the provider fails on.
    public var isProbe: Bool

    /// Makes a wish.
    public init(max: Int, nowUnixMs: UInt64, untilUnixMs: UInt64, isProbe: Bool = false) {
        self.max = max
        self.nowUnixMs = nowUnixMs
        self.untilUnixMs = untilUnixMs
        self.isProbe = isProbe
    }
}

/// What a lease gave.
public struct StoreLease: Sendable {
    /// Lent until the time that was asked for; high priority first, then the longest due.
    public var deliveries: [Delivery] = []
    /// More are due now.
    public var hasMore = false
    /// When the next one of the lane is due; nil: none waits.
    public var nextDueUnixMs: UInt64?

    /// Nothing.
    public init() {}
}

/// Where deliveries wait, durable or not.
///
/// One engine per gateway. `done` is called once, on a thread of the store, and must return soon.
/// Deliveries have ids that the store's owner makes, larger than `lastID`.
public protocol DeliveryStore: Sendable {
    /// The largest id that was ever used for a delivery or an event.
    var lastID: UInt64 { get }
    /// Deliveries that were committed and are not settled.
    var waitingCount: Int { get }
    /// The disk has no room left but its reserve: nothing is appended.
    var isDiskFull: Bool { get }
    /// Its file was removed or replaced: what is committed now is lost when the process ends.
    var isFileGone: Bool { get }

    /// Commits an entry.
    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void)
    /// Lends deliveries of a lane.
    func lease(_ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease) -> Void)
    /// Makes deliveries of a lane due that wait only for their provider to be back.
    func hasten(_ lane: LaneKey, nowUnixMs: UInt64)
    /// Lanes with deliveries that nobody has leased; `dueUnixMs`: only those that were due by then.
    func waitingLanes(dueUnixMs: UInt64?, done: @escaping @Sendable ([LaneKey]) -> Void)
    /// Ends leases, and appends to the stream of outcomes in the same commit; a delivery that is not there any
    /// more is left alone.
    func settle(
        _ changes: [StoreChange], outcomes: OutcomePack, done: @escaping @Sendable () -> Void)
    /// Ends the store once everything that was asked for is done.
    func close() async
}

extension DeliveryStore {
    /// Ends leases that nobody is told of.
    public func settle(_ changes: [StoreChange], done: @escaping @Sendable () -> Void) {
        settle(changes, outcomes: OutcomePack(), done: done)
    }
}
