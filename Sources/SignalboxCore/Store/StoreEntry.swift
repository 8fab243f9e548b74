/// Everything to store for one inbound request, committed as a whole or not at all.
public struct StoreEntry: Sendable {
    /// An event with its deliveries.
    public struct Item: Sendable {
        /// The event.
        public var event: Event
        /// Its deliveries; none if no route takes it.
        public var deliveries: [Delivery]
        /// Ids of deliveries that their lanes take over at commit, as if they had leased them.
        public var taken: Set<UInt64>
        /// How long the event's dedupe key is remembered, in milliseconds; nil for the entry's `dedupeMs`.
        public var dedupeMs: UInt64?
        /// Deliveries that are not due at once, with how long they wait, in milliseconds from the commit. Nothing leases
        /// one earlier, not even a probe.
        public var waitsMs: [UInt64: UInt64] = [:]
        /// Its changes of badge counters; skipped for a duplicate.
        public var badges: [BadgeStep] = []
        /// What is kept of it for traces: one `HistoryEvent`, or nothing. A duplicate is marked as such.
        public var history = HistoryPack()
        /// Pushes that their users may open, remembered for `OpenClaim.lifeMs`.
        public var shown: [OpenClaim] = []

        /// Makes an item.
        public init(event: Event, deliveries: [Delivery], taken: Set<UInt64> = []) {
            self.event = event
            self.deliveries = deliveries
            self.taken = taken
        }
    }
    /// The events.
    public var items: [Item]
    /// When the request arrived, in Unix milliseconds. Stored with its events, given back with the content of their
    /// deliveries (`SharedNotification.receivedUnixMs`), and never compared by the store.
    public var receivedUnixMs: UInt64
    /// How long an event's dedupe key is remembered, in milliseconds.
    public var dedupeMs: UInt64
    /// Its deliveries come from the outbox, where they already counted, so they are accepted even if the limit of
    /// waiting deliveries is reached.
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
    /// Badge numbers by delivery id; `given` are the numbers of the item's steps.
    public func badgeNumbers(_ given: [Int32?]) -> [UInt64: Int32] {
        var out: [UInt64: Int32] = [:]
        for (step, number) in zip(badges, given) {
            for place in step.places { out[deliveries[place].id] = number }
        }
        return out
    }
}

/// The result of committing an entry.
public struct StoreCommit: Sendable, Equatable {
    /// Indexes of events that were duplicates and were left out.
    public var duplicates: Set<Int>
    /// Numbers of the other events' badge steps, by index; nil if the user no longer has a device.
    public var badges: [Int: [Int32?]]
    /// The token under which deliveries that were taken over at commit are held.
    public var token: LeaseToken

    /// Makes a result.
    public init(
        token: LeaseToken, duplicates: Set<Int> = [], badges: [Int: [Int32?]] = [:]
    ) {
        self.token = token
        self.duplicates = duplicates
        self.badges = badges
    }
}

/// The store's answer to an entry.
public enum StoreAnswer: Sendable, Equatable {
    /// It is on disk.
    case committed(StoreCommit)
    /// The limit of waiting deliveries is reached.
    case full
    /// Only the disk's reserve is left, which only outcomes may use; says whose disk.
    case diskFull(String)
    /// The store failed; nothing was stored.
    case failed(String)
    /// What the entry needs is missing; nothing was stored. Unlike `failed`, the words are fit for the client.
    case unavailable(String)
    /// It would become more than may be stored at once, now and later; the words are fit for the client.
    case tooLarge(String)
    /// It can never be stored; the words are fit for the client.
    case unprocessable(String)
}

extension StoreAnswer {
    /// Error message for the client; empty on success.
    public var words: String {
        switch self {
        case .committed: ""
        case .full: "too many deliveries are waiting to be sent"
        case .diskFull(let words), .failed(let words), .unavailable(let words),
            .tooLarge(let words), .unprocessable(let words):
            words
        }
    }
}
