/// Something that a store keeps, in a form that every engine reads and writes.
///
/// Times are in Unix milliseconds.
public enum StoredRecord: Sendable {
    /// What the store counts; the first record of a copy.
    case numbers(StoredNumbers)
    /// A device of the registry.
    case device(StoredDevice)
    /// A user's badge counter.
    case badge(UserKey, Int32)
    /// A plugin's value; `untilUnixMs` is nil if it does not expire.
    case value(instance: String, key: String, bytes: [UInt8], untilUnixMs: UInt64?)
    /// The hash of a dedupe key.
    case seen(SeenKey, untilUnixMs: UInt64)
    /// A delivery that waits, or a dead letter.
    case delivery(StoredDelivery)
    /// A report in the outbox.
    case report(OutboxEntry)
    /// A receiver of outcomes and the number of its next outcome.
    case receiver(String, next: UInt64)
    /// Outcomes that a receiver has not taken.
    case outcomes(OutcomeRow, unixMs: UInt64)
}

/// Kinds of records, in the order in which they are copied.
public enum StoredKind: String, Sendable, CaseIterable {
    /// What the store counts.
    case numbers
    /// The registry.
    case devices
    /// Badge counters.
    case badges
    /// Values of plugins.
    case values
    /// Hashes of dedupe keys.
    case seen
    /// Deliveries that wait; leased ones count as waiting.
    case waiting
    /// Dead letters.
    case dead
    /// The outbox.
    case reports
    /// Receivers of outcomes.
    case receivers
    /// Outcomes that a receiver has not taken.
    case outcomes

    /// The kind that is copied next.
    public var next: StoredKind? {
        let all = Self.allCases
        return all.firstIndex(of: self).flatMap { all.dropFirst($0 + 1).first }
    }
}

/// What a store counts, and the key of its hashes.
public struct StoredNumbers: Sendable, Equatable {
    /// The key of `SeenKey`.
    public var seed: (UInt64, UInt64)
    /// No id above this one was given out.
    public var lastID: UInt64
    /// The id of the newest entry that the outbox ever had.
    public var lastReport: UInt64
    /// The number of the next outcome.
    public var nextOutcome: UInt64
    /// No registration had a higher number.
    public var lastRegistration: UInt64

    /// Makes numbers.
    public init(
        seed: (UInt64, UInt64), lastID: UInt64, lastReport: UInt64, nextOutcome: UInt64,
        lastRegistration: UInt64 = 0
    ) {
        self.seed = seed
        self.lastID = lastID
        self.lastReport = lastReport
        self.nextOutcome = nextOutcome
        self.lastRegistration = lastRegistration
    }

    /// Whether all are equal.
    public static func == (a: StoredNumbers, b: StoredNumbers) -> Bool {
        a.seed == b.seed
            && (a.lastID, a.lastReport, a.nextOutcome, a.lastRegistration)
                == (b.lastID, b.lastReport, b.nextOutcome, b.lastRegistration)
    }
}

/// A device of the registry.
public struct StoredDevice: Sendable, Hashable {
    /// The device.
    public var device: Device
    /// Until when its app is in front of its user; 0: it is not.
    public var onlineUntilUnixMs: UInt64
    /// Which registration it is.
    public var number: UInt64 { device.registration }

    /// Makes a device.
    public init(_ device: Device, onlineUntilUnixMs: UInt64, number: UInt64) {
        self.device = device
        self.device.registration = number
        self.onlineUntilUnixMs = onlineUntilUnixMs
    }
}

/// A delivery with all that a store knows of it.
public struct StoredDelivery: Sendable {
    /// The delivery.
    public var delivery: Delivery
    /// When its event was received.
    public var receivedUnixMs: UInt64
    /// What was tried.
    public var attempts: [Attempt]
    /// When it may be leased; 0: at once.
    public var dueUnixMs: UInt64
    /// Why it is a dead letter, and since when; nil if it is waiting.
    public var death: Death?
    /// What of it a newer delivery has made obsolete.
    public var stale: Staleness

    /// The end of a delivery that failed for good.
    public struct Death: Sendable, Hashable {
        /// From a closed list.
        public var reason: String
        /// When it died.
        public var unixMs: UInt64
        /// Its content was damaged and is lost, so it cannot be sent again.
        public var isDamaged: Bool

        /// Makes an end.
        public init(_ reason: String, unixMs: UInt64, isDamaged: Bool) {
            self.reason = reason
            self.unixMs = unixMs
            self.isDamaged = isDamaged
        }
    }

    /// Makes a stored delivery.
    public init(
        _ delivery: Delivery, receivedUnixMs: UInt64, attempts: [Attempt] = [],
        dueUnixMs: UInt64 = 0, death: Death? = nil, stale: Staleness = []
    ) {
        self.delivery = delivery
        self.receivedUnixMs = receivedUnixMs
        self.attempts = attempts
        self.dueUnixMs = dueUnixMs
        self.death = death
        self.stale = stale
    }

    /// What a store keeps of its event.
    public var event: Event {
        Event(
            id: delivery.eventID, source: delivery.source, type: delivery.content.eventType,
            subject: delivery.subject)
    }

    /// Whether it must be kept on its own: it was tried, waits for a time, is a replay, or a newer one may replace it.
    public var isSingle: Bool {
        delivery.kind == .report || delivery.attempt > 1 || !attempts.isEmpty || dueUnixMs > 0
            || !stale.isEmpty || delivery.acceptedUnixMs != receivedUnixMs
    }
}
