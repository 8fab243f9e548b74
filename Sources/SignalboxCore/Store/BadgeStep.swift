/// A change of a user's badge counter by an event: an increment, or the number that its source gave.
///
/// The store applies it in the transaction that stores the event's deliveries, so that neither happens
/// without the other, and returns the new numbers.
public struct BadgeStep: Sendable {
    /// The user whose counter changes; a user without devices has none.
    public var user: UserKey
    /// The source's number; nil to increment the counter.
    public var number: Int32?
    /// Indexes, in the item, of the deliveries that carry the number.
    public var places: [Int]

    /// Makes a step.
    public init(user: UserKey, number: Int32? = nil, places: [Int] = []) {
        self.user = user
        self.number = number
        self.places = places
    }
}

/// Collects the changes of badge counters by an event.
public struct BadgeSteps: Sendable {
    /// One per user, in the order of their first recipient.
    public private(set) var steps: [BadgeStep] = []
    private var indexes: [UserKey: Int] = [:]

    /// Starts with the numbers that the source gave: the attribute `badge` of a recipient.
    public init(recipients: [Recipient]) {
        for recipient in recipients {
            let said = recipient.attributes.first { $0.key == "badge" }
            guard let user = Self.user(of: recipient.device),
                let number = said.flatMap({ Int32($0.value) }), number >= 0
            else { continue }
            change(user) { $0.number = number }
        }
    }

    /// Counts the deliveries of a route; their indexes in the event's item begin at `first`.
    ///
    /// Deliveries that show nothing on the device, or that have their own number, do not count.
    public mutating func count(_ deliveries: some Collection<Delivery>, from first: Int) {
        for (offset, delivery) in deliveries.enumerated() where delivery.badge == nil {
            let note = delivery.content.notification
            guard !note.isSilent, !note.isDryRun, let user = Self.user(of: delivery.device) else {
                continue
            }
            change(user) { $0.places.append(first + offset) }
        }
    }

    private static func user(of device: Device) -> UserKey? {
        device.user.isEmpty ? nil : UserKey(app: device.app, user: device.user)
    }

    private mutating func change(_ user: UserKey, _ body: (inout BadgeStep) -> Void) {
        let index = indexes[user] ?? steps.count
        if index == steps.count {
            steps.append(BadgeStep(user: user))
            indexes[user] = index
        }
        body(&steps[index])
    }
}

extension Delivery {
    /// The delivery with its badge number, if there is one.
    public func with(badges: [UInt64: Int32]) -> Delivery {
        guard let number = badges[id] else { return self }
        var out = self
        out.badge = number
        return out
    }
}
