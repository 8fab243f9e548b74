import SignalboxPluginKit

/// The body of `POST /_matrix/push/v1/notify`.
struct Notify {
    /// As many as one request may have events.
    private static let devicesMax = 1_000

    let notification: JSON
    /// Empty if only the counts changed.
    let eventID: String
    let devices: [JSON]

    private static let texts = [
        "event_id", "room_id", "type", "sender", "sender_display_name", "room_name", "room_alias",
        "membership", "prio",
    ]

    init(_ body: JSON) throws(Fault) {
        guard let notification = body["notification"] else { throw .missing("notification") }
        guard notification.kind == .object else { throw .wrong("notification", "an object") }
        guard let devices = notification["devices"] else { throw .missing("notification.devices") }
        guard devices.kind == .array, devices.count > 0 else {
            throw .wrong("notification.devices", "a list with at least one device")
        }
        guard devices.count <= Self.devicesMax else {
            throw .tooMany(devices.count, limit: Self.devicesMax)
        }
        for name in Self.texts {
            try Self.check(notification, name, "text") { $0.kind == .string }
        }
        try Self.check(notification, "user_is_target", "true or false") { $0.kind == .boolean }
        for name in ["content", "counts"] {
            try Self.check(notification, name, "an object") { $0.kind == .object }
        }
        for name in ["unread", "missed_calls"] {
            guard let count = notification["counts"]?[name], count.kind != .null else { continue }
            guard count.integer != nil else {
                throw .wrong("notification.counts.\(name)", "an integer")
            }
        }
        self.notification = notification
        eventID = notification["event_id"]?.string ?? ""
        self.devices = devices.elements
    }

    /// Throws if a member has the wrong type; null counts as missing.
    private static func check(
        _ notification: JSON, _ name: String, _ what: String, _ fits: (JSON) -> Bool
    ) throws(Fault) {
        guard let value = notification[name], value.kind != .null else { return }
        guard fits(value) else { throw .wrong("notification.\(name)", what) }
    }

    var hasCounts: Bool {
        ["unread", "missed_calls"].contains { notification["counts"]?[$0]?.integer != nil }
    }

    /// The event for one device: the notification, and what the pusher says of itself.
    func event(for target: Target) -> Event {
        var data = JSONWriter()
        data.object { out in
            for member in notification.members
            where member.key != "devices" && member.key != "device" && member.value.kind != .null {
                out.key(member.key)
                out.value(member.value)
            }
            out.key("device")
            out.object { out in
                out.member("app_id", target.appID)
                for (name, value) in [("data", target.data), ("tweaks", target.tweaks)] {
                    guard let value else { continue }
                    out.key(name)
                    out.value(value)
                }
            }
        }
        var event = Event(
            type: eventID.isEmpty ? "counts.changed" : "event.received", data: data.text)
        event.subject = eventID
        if !eventID.isEmpty {
            var print = Fingerprint()
            for text in [eventID, target.appID, target.pushkey] { print.add(text) }
            event.dedupe = print.text
            event.dedupeWindowMs = Self.windowMs
        }
        event.recipients = [Recipient(target.device)]
        return event
    }

    /// Synapse repeats a request for a day.
    private static let windowMs: UInt64 = 86_400_000
}

/// A device that gets the push.
struct Target {
    /// The specification's limit.
    private static let pushkeyBytesMax = 512

    let appID: String
    let pushkey: String
    /// When the pusher was set, in Unix milliseconds; 0 for unknown.
    let pushkeyUnixMs: UInt64
    let device: Device
    let data: JSON?
    let tweaks: JSON?

    /// Why a device cannot be pushed to, and its pushkey if no push can ever reach it.
    struct Refusal: Error {
        let reason: Reject
        var deadKey: String?
    }

    init(_ json: JSON, _ config: Config) throws(Refusal) {
        guard let appID = json["app_id"]?.string, let pushkey = json["pushkey"]?.string,
            !appID.isEmpty, !pushkey.isEmpty
        else { throw Refusal(reason: .noPushkey) }
        guard let app = config.app(appID) else {
            throw Refusal(
                reason: .unknownApp, deadKey: config.rejectsUnknownApps ? pushkey : nil)
        }
        guard pushkey.utf8.count <= Self.pushkeyBytesMax, let token = Self.token(pushkey, app)
        else { throw Refusal(reason: .badPushkey, deadKey: pushkey) }
        let data = json["data"].flatMap { $0.kind == .null ? nil : $0 }
        let tweaks = json["tweaks"].flatMap { $0.kind == .null ? nil : $0 }
        for value in [data, tweaks] {
            guard let value, value.kind != .object else { continue }
            throw Refusal(reason: .wrongType)
        }
        self.appID = appID
        self.pushkey = pushkey
        self.data = data
        self.tweaks = tweaks
        let seconds = json["pushkey_ts"]?.integer ?? 0
        pushkeyUnixMs = UInt64(clamping: min(seconds, 253_402_300_799)) * 1000
        var device = Device(platform: app.platform, token: token)
        device.app = app.app
        device.sourceToken = pushkey
        self.device = device
    }

    private static func token(_ pushkey: String, _ app: Config.App) -> String? {
        guard app.isBase64 else { return pushkey }
        guard let bytes = Base64URL.decode(pushkey), !bytes.isEmpty else { return nil }
        return Hex.encode(bytes)
    }
}
