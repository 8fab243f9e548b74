public import SignalboxCore

/// Replaces users by their devices, in events and in device changes.
public struct UserDevices: Sendable {
    private let known: [UserKey: [RegisteredDevice]]

    /// `known`: the devices of the users that `named` found.
    public init(_ known: [UserKey: [RegisteredDevice]]) { self.known = known }

    /// The users whose devices must be looked up first.
    public static func named(in events: [Event], _ changes: [DeviceChange]) -> Set<UserKey> {
        var out: Set<UserKey> = []
        // By index: a loop over events would copy each.
        for index in events.indices {
            for recipient in events[index].recipients {
                if let key = key(recipient) { out.insert(key) }
            }
        }
        for change in changes { if let key = key(change) { out.insert(key) } }
        return out
    }

    /// How many recipients the events will have once resolved.
    public func deviceCount(of events: [Event]) -> Int {
        var count = 0
        // By index: a loop over events would copy each.
        for index in events.indices {
            for recipient in events[index].recipients {
                count += Self.key(recipient).map { max(1, known[$0]?.count ?? 0) } ?? 1
            }
        }
        return count
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

    /// The event with devices as recipients; each inherits the attributes the source gave the user.
    public func resolved(_ event: Event) -> Event {
        var out = event
        out.recipients = event.recipients.flatMap { recipient -> [Recipient] in
            guard let key = Self.key(recipient) else { return [recipient] }
            let all = known[key] ?? []
            // A recipient with a platform means the user's devices on that platform only.
            let platform = recipient.device.platform
            let devices =
                platform.isEmpty ? all : all.filter { $0.device.platform == platform }
            // Kept without devices, so that the route that takes the event reports whom it skipped.
            if devices.isEmpty { return [recipient] }
            let isAnyOnline = all.contains(where: \.isOnline)
            return devices.map { entry in
                Recipient(
                    device: entry.device,
                    attributes: Self.attributes(
                        recipient.attributes, isOnline: entry.isOnline, isAnyOnline: isAnyOnline))
            }
        }
        return out
    }

    /// One change per device; tokens that are not the user's are ignored.
    public func resolved(_ change: DeviceChange) -> [DeviceChange] {
        guard let key = Self.key(change) else { return [change] }
        let token = change.device.token
        return (known[key] ?? []).map(\.device)
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
