/// How urgent a notification is.
///
/// The numbers are APNs' and the contract's.
public enum Priority: UInt32, Sendable, Hashable {
    /// Never wakes the device.
    case low = 1
    /// Delivered with regard to power.
    case normal = 5
    /// Delivered at once.
    case high = 10
}

/// JSON laid over a sender's payload at the end, for one family of senders.
public struct PayloadOverride: Sendable, Hashable {
    /// `apns`, `fcm`, ...
    public var family: String
    /// A JSON object.
    public var json: String

    /// Makes an override.
    public init(family: String, json: String) {
        self.family = family
        self.json = json
    }
}

/// Neutral content, known to every sender.
///
/// Mirrors `sbx_notification`; empty text: not given.
public struct Notification: Sendable, Hashable {
    /// Wake the app, show nothing.
    public var isSilent = false
    /// Where the provider can leave display to the app, let it.
    public var isDataOnly = false
    /// The app may change the notification before it is shown.
    public var isMutable = false
    /// Prove that the device can be reached, and show nothing.
    public var isDryRun = false
    /// Takes back what is shown under `collapse`, and shows nothing.
    public var isWithdrawn = false
    /// Number on the app's icon; nil: leave alone, 0: clear.
    public var badge: Int32?
    /// nil: as the route says.
    public var priority: Priority?
    /// Worthless after this, in Unix milliseconds; 0: as the route says.
    public var expiresUnixMs: UInt64 = 0
    /// First line.
    public var title = ""
    /// Second line (iOS).
    public var subtitle = ""
    /// Text.
    public var body = ""
    /// Name of a sound, `default` for the system's.
    public var sound = ""
    /// Groups notifications on the device.
    public var thread = ""
    /// Names the app's set of actions.
    public var category = ""
    /// A newer one with the same key replaces the shown one.
    public var collapse = ""
    /// Picture to show.
    public var imageURL = ""
    /// What a tap opens.
    public var link = ""
    /// The provider's word for the kind of push; empty: follows from the content.
    public var pushType = ""
    /// A JSON object or empty; its members become the payload's custom keys.
    public var data = ""
    /// Laid over the payload by the sender of that family.
    public var overrides: [PayloadOverride] = []

    /// Makes an empty notification.
    public init() {}
}

extension Notification {
    /// Turns it into one that takes back what is shown under its collapse key.
    ///
    /// Nothing is left of what it would show: a background push must not carry it.
    mutating func withdraw() {
        var out = Notification()
        out.isWithdrawn = true
        out.collapse = collapse
        out.priority = priority
        out.expiresUnixMs = expiresUnixMs
        self = out
    }
}
