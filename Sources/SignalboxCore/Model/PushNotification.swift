/// How urgent a notification is.
///
/// The numbers are those of APNs and of the plugin contract.
public enum Priority: UInt32, Sendable, Hashable {
    /// Never wakes the device.
    case low = 1
    /// May be delayed to save power.
    case normal = 5
    /// Delivered at once.
    case high = 10
}

/// JSON that is merged into the payload last, for one family of senders.
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

extension PushNotification {
    /// Turns it into one that withdraws the notification shown under its collapse key.
    ///
    /// Removes everything visible: a background push must not carry it.
    mutating func withdraw() {
        var out = PushNotification()
        out.isWithdrawn = true
        out.collapse = collapse
        out.priority = priority
        out.expiresUnixMs = expiresUnixMs
        self = out
    }
}
