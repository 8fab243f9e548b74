internal import SignalboxCore

/// Finds pushes whose device has logged out, or has got another user, while they waited.
///
/// An event's devices are looked up when it comes, and most of its pushes leave within a second. What waits longer, through
/// an outage, a pause or retries, is looked at again whenever a lane leases it: a phone may have changed hands by then.
enum DepartedDevices {
    /// What has been accepted within this time is not looked up a second time; a replay never has.
    static let recentMs = Replay.ageMs

    /// The users whose devices must be looked up again for these deliveries. A token that came with its event is not the
    /// registry's, and says nothing of logging out.
    static func users(of deliveries: [Delivery], nowUnixMs: UInt64) -> Set<UserKey> {
        var users: Set<UserKey> = []
        for delivery in deliveries {
            let device = delivery.device
            guard delivery.kind == .push, device.registeredUnixMs > 0, !device.user.isEmpty,
                !isRecent(delivery.content.receivedUnixMs, nowUnixMs)
            else { continue }
            users.insert(key(device))
        }
        return users
    }

    /// The deliveries to users in `known` that have lost the device.
    static func departed(
        _ deliveries: [Delivery], _ known: [UserKey: [RegisteredDevice]]
    ) -> Set<UInt64> {
        var out: Set<UInt64> = []
        for delivery in deliveries where delivery.kind == .push {
            let device = delivery.device
            guard device.registeredUnixMs > 0, let own = known[key(device)] else { continue }
            // A provider may have given the same registration another token.
            let isThere = own.contains { known in
                known.device.token == device.token
                    || known.device.registration == device.registration
            }
            if !isThere { out.insert(delivery.id) }
        }
        return out
    }

    /// What seems to come from the future was received before the clock was set back: nobody knows how long ago.
    private static func isRecent(_ receivedUnixMs: UInt64, _ nowUnixMs: UInt64) -> Bool {
        receivedUnixMs <= nowUnixMs && nowUnixMs - receivedUnixMs < recentMs
    }

    private static func key(_ device: Device) -> UserKey {
        UserKey(app: device.app, user: device.user)
    }
}
