package import SignalboxCore

/// Finds waiting pushes whose device has logged out or changed its user.
///
/// Devices are looked up when their event arrives, and most pushes leave within a second. Those that wait longer,
/// through an outage, a pause or retries, are checked whenever a lane leases them: the phone may have a new owner by
/// then.
package enum DepartedDevices {
    /// Deliveries accepted within this time are not checked again; replays always are.
    static let recentMs = Replay.ageMs

    /// The users whose devices must be looked up again for these deliveries. A token that came with its event is not in
    /// the registry, so nothing is known about its logout.
    package static func users(of deliveries: [Delivery], nowUnixMs: UInt64) -> [UserKey] {
        var users: [UserKey] = []
        var known: Set<UserKey> = []
        for delivery in deliveries {
            let device = delivery.device
            guard delivery.kind == .push, device.registeredUnixMs > 0, !device.user.isEmpty,
                !isRecent(delivery.content.receivedUnixMs, nowUnixMs)
            else { continue }
            if known.insert(key(device)).inserted { users.append(key(device)) }
        }
        return users
    }

    /// The deliveries whose users no longer have the device; `found`: the devices of each of `users`.
    package static func departed(
        _ deliveries: [Delivery], users: [UserKey], _ found: [[RegisteredDevice]]
    ) -> Set<UInt64> {
        let known = Dictionary(uniqueKeysWithValues: zip(users, found))
        var out: Set<UInt64> = []
        for delivery in deliveries where delivery.kind == .push {
            let device = delivery.device
            guard device.registeredUnixMs > 0, let own = known[key(device)] else { continue }
            // A provider may have issued a new token for the same registration.
            let isThere = own.contains { known in
                known.device.token == device.token
                    || known.device.registration == device.registration
            }
            if !isThere { out.insert(delivery.id) }
        }
        return out
    }

    /// A time in the future means the clock was set back, so the age is unknown and the delivery is checked.
    private static func isRecent(_ receivedUnixMs: UInt64, _ nowUnixMs: UInt64) -> Bool {
        receivedUnixMs <= nowUnixMs && nowUnixMs - receivedUnixMs < recentMs
    }

    private static func key(_ device: Device) -> UserKey {
        UserKey(app: device.app, user: device.user)
    }
}
