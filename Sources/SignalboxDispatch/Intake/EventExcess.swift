package import SignalboxCore

/// A limit that an event exceeds.
package enum EventExcess {
    case devices(Int, most: Int)
    /// Apps are limited, since each app of a sender has connections of its own.
    case apps

    /// Most apps one event may reach.
    static let appsMax = 100

    /// The first limit exceeded, once the event's users were looked up.
    package init?(of event: Event, devicesMax: Int) {
        let recipients = event.recipients
        guard recipients.count <= devicesMax else {
            self = .devices(recipients.count, most: devicesMax)
            return
        }
        guard recipients.count > Self.appsMax else { return nil }
        var apps: Set<String> = []
        // By index: a loop over recipients would copy each. Those of one app follow each other.
        for index in recipients.indices
        where index == 0 || recipients[index].device.app != recipients[index - 1].device.app {
            apps.insert(recipients[index].device.app)
            guard apps.count <= Self.appsMax else {
                self = .apps
                return
            }
        }
        return nil
    }

    /// A label of the metrics.
    package var result: String {
        switch self {
        case .devices: "too_many_devices"
        case .apps: "too_many_apps"
        }
    }

    /// What the log says.
    package var notice: String {
        switch self {
        case .devices: "event has more devices than gateway.limits.devices_per_event, refused"
        case .apps: "event has devices of more than \(Self.appsMax) apps, refused"
        }
    }

    /// The message for its source.
    package var words: String {
        switch self {
        case .devices(let count, let most): "the event goes to \(count) devices; at most \(most)"
        case .apps: "the event goes to devices of over \(Self.appsMax) apps"
        }
    }
}
