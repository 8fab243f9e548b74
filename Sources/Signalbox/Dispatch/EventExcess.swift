internal import SignalboxCore

/// What an event has too much of.
enum EventExcess {
    case devices(Int, most: Int)
    /// Each app of a sender has connections of its own.
    case apps
    case name(bytes: Int)
    /// Of a name: it would be shown on terminals.
    case controlCharacter

    /// Most apps whose devices one event goes to.
    static let appsMax = 100
    /// Longest name of an app, platform or provider.
    static let nameBytesMax = 256

    /// Its first excess, once its users were looked up.
    init?(of event: Event, devicesMax: Int) {
        guard event.recipients.count <= devicesMax else {
            self = .devices(event.recipients.count, most: devicesMax)
            return
        }
        var apps: Set<String> = []
        let countsApps = event.recipients.count > Self.appsMax
        // By index: a loop over recipients would copy each.
        for index in event.recipients.indices {
            let bytes = event.recipients[index].device.longestNameBytes
            guard bytes <= Self.nameBytesMax else {
                self = .name(bytes: bytes)
                return
            }
            guard event.recipients[index].device.hasPlainNames else {
                self = .controlCharacter
                return
            }
            guard countsApps else { continue }
            apps.insert(event.recipients[index].device.app)
            guard apps.count <= Self.appsMax else {
                self = .apps
                return
            }
        }
        return nil
    }

    /// A label of the metrics.
    var result: String {
        switch self {
        case .devices: "too_many_devices"
        case .apps: "too_many_apps"
        case .name: "name_too_long"
        case .controlCharacter: "control_character"
        }
    }

    /// What the log says.
    var notice: String {
        switch self {
        case .devices: "event has more devices than gateway.limits.devices_per_event, refused"
        case .apps: "event has devices of more than \(Self.appsMax) apps, refused"
        case .name:
            "event names an app, platform or provider of over \(Self.nameBytesMax) bytes, refused"
        case .controlCharacter:
            "event names a user, app, platform or provider with a control character, refused"
        }
    }

    /// What its source is told.
    var words: String {
        switch self {
        case .devices(let count, let most): "the event goes to \(count) devices; at most \(most)"
        case .apps: "the event goes to devices of over \(Self.appsMax) apps"
        case .name(let bytes):
            "the event names an app, platform or provider of \(bytes) bytes; at most \(Self.nameBytesMax)"
        case .controlCharacter:
            "the event names a user, app, platform or provider with a control character"
        }
    }

    /// The answer to its source.
    var answer: StoreAnswer {
        if case .controlCharacter = self { .unprocessable(words) } else { .tooLarge(words) }
    }
}

extension Device {
    fileprivate var longestNameBytes: Int {
        max(app.utf8.count, platform.utf8.count, provider.utf8.count)
    }

    fileprivate var hasPlainNames: Bool {
        // Without an array: this is asked for each recipient.
        DevicesService.isPlain(app) && DevicesService.isPlain(platform)
            && DevicesService.isPlain(provider) && DevicesService.isPlain(user)
    }
}
