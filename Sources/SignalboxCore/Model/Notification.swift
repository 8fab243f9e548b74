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
