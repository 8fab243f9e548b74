public import SignalboxCore

/// The users that a request names in place of devices, and how their devices take their place.
///
/// Valid for the events and changes it was made of, as long as their recipients do not change.
public struct NamedUsers: Sendable {
    /// Each user once, in the order in which they are named: neighbours in a list are often neighbours in the store.
    public private(set) var keys: [UserKey] = []
    /// The place in `keys` of each recipient that names a user, then of each change that does.
    private var mentions: [Int] = []
    private var mentionsOfEvents = 0

    /// Finds the users whose devices must be looked up.
    public init(in events: [Event], _ changes: [DeviceChange]) {
        // A few users are compared one by one; more need a dictionary.
        var places: [UserKey: Int] = [:]
        // By index: a loop over events would copy each.
        for index in events.indices {
            for recipient in events[index].recipients {
                if let key = Self.key(recipient) { note(key, &places) }
            }
        }
        mentionsOfEvents = mentions.count
        for change in changes { if let key = Self.key(change) { note(key, &places) } }
    }

    private mutating func note(_ key: UserKey, _ places: inout [UserKey: Int]) {
        var place: Int?
        if keys.count < 16 {
            place = keys.firstIndex(of: key)
        } else {
            if places.isEmpty { for index in keys.indices { places[keys[index]] = index } }
            place = places.updateValue(keys.count, forKey: key)
            if let place { places[key] = place }
        }
        mentions.append(place ?? keys.count)
        if place == nil { keys.append(key) }
    }

    /// The user that a recipient without a token names.
    private static func key(_ recipient: Recipient) -> UserKey? {
        guard recipient.device.token.isEmpty, !recipient.device.user.isEmpty else { return nil }
        return UserKey(app: recipient.device.app, user: recipient.device.user)
    }

    /// The user whose devices are all unregistered.
    private static func key(_ change: DeviceChange) -> UserKey? {
        guard change.kind == .unregistered, !change.device.user.isEmpty else { return nil }
        return UserKey(app: change.device.app, user: change.device.user)
    }

    // MARK: Their devices, of each key in the order of `keys`

    /// How many recipients the events will have once resolved.
    public func recipientCount(of events: [Event], _ devices: [[RegisteredDevice]]) -> Int {
        var count = -mentionsOfEvents
        for index in events.indices { count += events[index].recipients.count }
        return mentions.prefix(mentionsOfEvents)
            .reduce(count) { $0 + max(1, devices[$1].count) }
    }

    /// Replaces users by their devices. Each inherits the attributes the source gave the user.
    public func resolve(
        _ events: inout [Event], _ changes: inout [DeviceChange], _ devices: [[RegisteredDevice]]
    ) {
        if keys.isEmpty { return }
        var rest = mentions[...]
        for index in events.indices {
            var out: [Recipient] = []
            out.reserveCapacity(events[index].recipients.count)
            for recipient in events[index].recipients {
                if Self.key(recipient) == nil {
                    out.append(recipient)
                } else {
                    Self.add(devices[rest.removeFirst()], of: recipient, to: &out)
                }
            }
            events[index].recipients = out
        }
        changes = changes.flatMap { change in
            Self.key(change) == nil
                ? [change] : Self.changes(of: devices[rest.removeFirst()], by: change)
        }
    }

    private static func add(
        _ all: [RegisteredDevice], of recipient: Recipient, to out: inout [Recipient]
    ) {
        // A recipient with a platform means the user's devices on that platform only.
        let platform = recipient.device.platform
        let isAnyOnline = all.contains(where: \.isOnline)
        let before = out.count
        for entry in all where platform.isEmpty || entry.device.platform == platform {
            let attributes = attributes(
                recipient.attributes, isOnline: entry.isOnline, isAnyOnline: isAnyOnline)
            out.append(Recipient(device: entry.device, attributes: attributes))
        }
        // Kept without devices, so that the route that takes the event reports whom it skipped.
        if out.count == before { out.append(recipient) }
    }

    /// One change per device; tokens that are not the user's are ignored.
    private static func changes(
        of devices: [RegisteredDevice], by change: DeviceChange
    ) -> [DeviceChange] {
        let token = change.device.token
        return devices.map(\.device)
            .filter {
                token.isEmpty
                    || change.covers(platform: $0.platform)
                        && DeviceToken.isSame($0.token, named: token)
            }
            .map { device in
                var out = change
                out.device = device
                out.platforms = []
                return out
            }
    }

    /// The user's presence; attributes from the source take precedence.
    private static func attributes(
        _ said: [Attribute], isOnline: Bool, isAnyOnline: Bool
    ) -> [Attribute] {
        let known = isOnline ? online : isAnyOnline ? onlineElsewhere : offline
        if said.isEmpty { return known }
        return said + known.filter { own in !said.contains { $0.key == own.key } }
    }

    private static let online = presence("true", "true")
    private static let onlineElsewhere = presence("false", "true")
    private static let offline = presence("false", "false")

    /// `user_online` covers all devices of the user, including those this route does not send to.
    private static func presence(_ device: String, _ user: String) -> [Attribute] {
        [Attribute("online", device), Attribute("user_online", user)]
    }
}
