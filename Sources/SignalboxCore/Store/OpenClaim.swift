/// Allows the recipient of an event's push to report once that it was opened.
public struct OpenClaim: Sendable, Hashable {
    /// Whose it is.
    public enum Owner: Sendable, Hashable {
        /// A user of an app; an empty app is the sender's default.
        case user(UserKey)
        /// Whoever has the device: its event named no user.
        case token(String)
    }

    /// How long a push can be opened, in milliseconds.
    public static let lifeMs: UInt64 = 7 * 86_400_000
    /// No instance has such names, so keys of events are never these.
    package static let shown = "#shown"
    private static let opened = "#opened"

    /// What the push carries.
    public var mark: OpenMark
    /// Whose it is.
    public var owner: Owner

    /// Makes a claim.
    public init(_ mark: OpenMark, of owner: Owner) {
        self.mark = mark
        self.owner = owner
    }

    /// The claim of a delivery's owner.
    package init(_ delivery: Delivery) {
        let device = delivery.device
        self.init(
            OpenMark(eventID: delivery.eventID, route: delivery.route),
            of: device.user.isEmpty
                ? .token(device.token) : .user(UserKey(app: device.app, user: device.user)))
    }

    /// What a store remembers of it, as of the keys of events.
    package var key: String {
        switch owner {
        case .user(let key): "\(mark.text)\u{1}\(key.app)\u{1}\(key.user)"
        case .token(let token): "\(mark.text)\u{2}\(token)"
        }
    }

    /// An event without deliveries that has this claim's key: the first commit of it uses the claim.
    public var use: StoreEntry.Item {
        StoreEntry.Item(
            event: Event(source: Self.opened, type: "opened", dedupe: key), deliveries: [])
    }
}
