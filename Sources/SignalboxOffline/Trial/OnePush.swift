internal import SignalboxConfig
package import SignalboxCore
package import SignalboxGateway
internal import SignalboxJSON

/// A push that an operator sends: the sender, the recipient and the content.
package struct OnePush: Sendable {
    private static let keys = ["via", "token", "platform", "user", "app", "notification"]
    private static let noteKeys = [
        "title", "subtitle", "body", "sound", "badge", "collapse", "data", "silent", "dry_run",
    ]

    /// The sender's instance.
    package var via = ""
    /// The device's token; empty for all of the user's devices.
    package var token = ""
    /// The device's platform; empty for the one that routes give to the sender.
    package var platform = ""
    /// The user whose devices get it, if there is no token.
    package var user = ""
    /// Bundle id or project; empty for the sender's default.
    package var app = ""
    package var notification = PushNotification()

    /// An empty push.
    package init() {}

    /// Sets the texts that the phone shows.
    package mutating func setTexts(title: String, subtitle: String, body: String) {
        notification.title = title
        notification.subtitle = subtitle
        notification.body = body
    }

    /// Sets the rest; `data` must be a JSON object.
    package mutating func setRest(
        badge: Int32?, sound: String, data: String, isSilent: Bool
    ) throws(TrialFault) {
        notification.badge = badge
        notification.sound = sound
        notification.isSilent = isSilent
        notification.quieten(hasData: !data.isEmpty, hasBadge: false, isSoundMeant: true)
        guard !data.isEmpty else { return }
        guard let json = try? JSONValue.parse(data), case .object = json else {
            throw TrialFault(message: "data must be a JSON object")
        }
        notification.data = json.text
    }

    package init(json: JSONValue) throws(TrialFault) {
        try Self.check(json, "the request", Self.keys)
        for key in Self.keys.dropLast() where json[key] != nil && json[key]?.string == nil {
            // Ignoring a malformed token would send the push to all of the user's devices.
            throw TrialFault(message: "\"\(key)\" must be a text")
        }
        via = json["via"]?.string ?? ""
        token = json["token"]?.string ?? ""
        platform = json["platform"]?.string ?? ""
        user = json["user"]?.string ?? ""
        app = json["app"]?.string ?? ""
        guard let note = json["notification"] else { return }
        try Self.check(note, "notification", Self.noteKeys)
        setTexts(
            title: note["title"]?.string ?? "", subtitle: note["subtitle"]?.string ?? "",
            body: note["body"]?.string ?? "")
        try setRest(
            badge: note["badge"]?.integer.map { Int32(clamping: $0) },
            sound: note["sound"]?.string ?? "", data: note["data"]?.text ?? "",
            isSilent: note["silent"] == .bool(true))
        notification.collapse = note["collapse"]?.string ?? ""
        notification.isDryRun = note["dry_run"] == .bool(true)
    }

    package var json: JSONValue {
        var note: [JSONValue.Member] = [
            .init("title", .string(notification.title)),
            .init("subtitle", .string(notification.subtitle)),
            .init("body", .string(notification.body)), .init("sound", .string(notification.sound)),
            .init("silent", .bool(notification.isSilent)),
        ]
        if let badge = notification.badge { note.append(.init("badge", .integer(Int64(badge)))) }
        if let data = try? JSONValue.parse(notification.data) { note.append(.init("data", data)) }
        return [
            "via": .string(via), "token": .string(token), "platform": .string(platform),
            "user": .string(user), "app": .string(app), "notification": .object(note),
        ]
    }

    private static func check(
        _ json: JSONValue, _ owner: String, _ known: [String]
    ) throws(TrialFault) {
        guard case .object(let members) = json else {
            throw TrialFault(message: "\(owner) must be an object")
        }
        for member in members where !known.contains(member.key) {
            throw TrialFault(
                message: "\(owner) has the unknown key \"\(member.key)\""
                    + "\(Suggestion.hint(for: member.key, among: known)); known: "
                    + known.joined(separator: ", "))
        }
    }

    // MARK: Devices

    /// Platforms that routes send through the sender.
    private func platforms(_ plan: GatewayPlan) -> [String] {
        Set(plan.routes.flatMap(\.senders).filter { $0.value == via }.map(\.key)).sorted()
    }

    /// The device with the token.
    package func device(_ plan: GatewayPlan) throws(TrialFault) -> Device {
        let names = platforms(plan)
        let platform = platform.isEmpty ? names.first ?? "" : platform
        guard !platform.isEmpty else {
            throw TrialFault(message: "no route names \(via): give the platform")
        }
        var device = Device(app: app, platform: platform, token: token, user: user)
        device.spell()
        return device
    }

    /// The user's devices that the sender handles.
    package func chosen(_ devices: [RegisteredDevice], _ plan: GatewayPlan) throws(TrialFault)
        -> [Device]
    {
        let names = platform.isEmpty ? platforms(plan) : [platform]
        let chosen = devices.map(\.device).filter { device in
            (names.isEmpty || names.contains(device.platform))
                && (app.isEmpty || device.app == app)
        }
        guard chosen.isEmpty else { return chosen }
        throw TrialFault(
            message: devices.isEmpty
                ? "the user \(user) has no device"
                : "none of the \(devices.count) devices of \(user) is for \(via)")
    }

    /// A delivery that is never queued.
    package func delivery(to device: Device, number: UInt64, nowUnixMs: UInt64) -> Delivery {
        let seed = (UInt64.random(in: .min ... .max), number)
        var ids = StableIDs(seed: seed)
        var note = notification
        if note.priority == nil { note.priority = .high }
        return Delivery(
            id: number, eventID: 0, route: "", sender: via, stableID: ids.next(),
            deadlineUnixMs: nowUnixMs + 3_600_000,
            content: SharedNotification(note, receivedUnixMs: nowUnixMs),
            device: device)
    }
}
