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

    /// A notification without a text makes no sound and shows nothing, unless somebody asked for more: a builder's sound is
    /// meant for its texts.
    ///
    /// `hasData`: there is something for the app; `hasBadge`: devices have badges of their own; `isSoundMeant`: the sound is
    /// the caller's.
    package mutating func quieten(hasData: Bool, hasBadge: Bool, isSoundMeant: Bool) {
        guard title.isEmpty, subtitle.isEmpty, body.isEmpty, imageURL.isEmpty, pushType.isEmpty,
            !isSilent, !isWithdrawn, !isDryRun, sound.isEmpty || !isSoundMeant,
            !overrides.contains(where: \.isShown)
        else { return }
        sound = ""
        // A number on the icon is for the system. Where only the app can set it, it gets data.
        if badge != nil || hasBadge { isDataOnly = true } else { isSilent = hasData }
    }
}

extension PayloadOverride {
    /// Members of payloads that show or sound.
    private static let shown = ["\"alert\"", "\"notification\"", "\"sound\""]

    /// Whether it may give a payload what the notification itself has not.
    fileprivate var isShown: Bool {
        family == "localized"
            || family != "shorten" && Self.shown.contains { json.contains($0) }
    }
}
