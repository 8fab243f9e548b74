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
    /// When the request came in, in Unix milliseconds; kept with its events, and compared with nothing.
    public var receivedUnixMs: UInt64
    /// How long an event's dedupe key is remembered, in milliseconds.
    public var dedupeMs: UInt64
    /// Its deliveries come out of the outbox, where they had their place: they are taken even if as many wait
    /// as may.
    public var isFromOutbox = false

    /// Makes an entry.
    public init(
        items: [Item], receivedUnixMs: UInt64, dedupeMs: UInt64
    ) {
        self.items = items
        self.receivedUnixMs = receivedUnixMs
        self.dedupeMs = dedupeMs
    }
}

extension StoreEntry.Item {
    /// The numbers of its deliveries, by their ids; `given` are those of its steps.
    public func badgeNumbers(_ given: [Int32?]) -> [UInt64: Int32] {
        var out: [UInt64: Int32] = [:]
        for (step, number) in zip(badges, given) {
            for place in step.places { out[deliveries[place].id] = number }
        }
        return out
    }
}

/// What the commit of an entry came to.
public struct StoreCommit: Sendable, Equatable {
    /// Events at these indexes were seen before and were left out.
    public var duplicates: Set<Int>
    /// The numbers of the other events' badge steps, by index; nil: the user has no device any more.
    public var badges: [Int: [Int32?]]
    /// Under which the deliveries that were taken over at once are held.
    public var token: LeaseToken

    /// Makes an account.
    public init(
        token: LeaseToken, duplicates: Set<Int> = [], badges: [Int: [Int32?]] = [:]
    ) {
        self.token = token
        self.duplicates = duplicates
        self.badges = badges
    }
}

/// What became of an entry.
public enum StoreAnswer: Sendable, Equatable {
    /// It is on disk.
    case committed(StoreCommit)
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
