internal import SignalboxCore
internal import SignalboxGateway

/// Everything the store has about a user, as JSON with readable times.
///
/// Tokens are shown in full: it is the person's own data.
struct PersonExport: Sendable {
    /// Most events of history; a longer export is marked as truncated.
    private static let eventsMax = 10_000
    let store: any GatewayStore
    let pauses: PauseOrders
    let clock: @Sendable () -> UInt64

    func json(_ user: UserKey) async throws -> JSONValue {
        let search = PersonSearch(user, in: store, pauses)
        let devices = try await search.devices()
        let badges = try await store.badges(of: user)
        let waiting = try await search.waiting()
        let letters = try await search.deadLetters()
        var query = TraceQuery(.user(user.user))
        query.limit = Self.eventsMax
        let trace = try await TraceSearch.run(query, in: store).json(query, holds: [])
        let events = trace.items("events").compactMap { event(of: $0, user) }
        return JSONValue.object([
            .init("user", .string(user.user)), .init("app", .string(user.app)),
            .init("exported_unix_ms", .integer(Int64(clamping: clock()))),
            .init("devices", .array(devices.map(Self.json))),
            .init(
                "badges",
                .array(
                    badges.sorted { $0.key.app < $1.key.app }.map { key, number in
                        ["app": .string(key.app), "number": .integer(Int64(number))]
                    })),
            .init("waiting", .array(waiting.map(Self.json))),
            .init(
                "dead_letters",
                .array(letters.map { $0.json.replacing("token", .string($0.device.token)) })),
            .init("events", .array(events)),
            .init("is_cut", trace["is_cut"] ?? .bool(false)),
        ]).withTimes
    }

    /// An event without recipients of other apps; nil if no recipient is left.
    private func event(of event: JSONValue, _ user: UserKey) -> JSONValue? {
        let shown = event.items("recipients").filter {
            user.app.isEmpty || $0["app"]?.string == user.app
        }
        return shown.isEmpty ? nil : event.replacing("recipients", .array(shown))
    }

    private static func json(_ entry: RegisteredDevice) -> JSONValue {
        let device = entry.device
        let texts = [
            ("app", device.app), ("platform", device.platform), ("provider", device.provider),
            ("token", device.token), ("source_token", device.sourceToken),
            ("locale", device.locale),
        ]
        return .object(
            texts.map { .init($0.0, .string($0.1)) } + [
                .init("registered_unix_ms", .integer(Int64(clamping: device.registeredUnixMs))),
                .init("online", .bool(entry.isOnline)),
                .init(
                    "attributes",
                    .object(device.attributes.map { .init($0.key, .string($0.value)) })),
            ])
    }

    private static func json(_ stored: StoredDelivery) -> JSONValue {
        let delivery = stored.delivery
        let note = delivery.content.notification
        return [
            "id": .integer(Int64(clamping: delivery.id)),
            "event_id": .integer(Int64(clamping: delivery.eventID)),
            "received_unix_ms": .integer(Int64(clamping: stored.receivedUnixMs)),
            "source": .string(delivery.source), "type": .string(delivery.content.eventType),
            "subject": .string(delivery.subject), "route": .string(delivery.route),
            "sender": .string(delivery.sender), "app": .string(delivery.device.app),
            "platform": .string(delivery.device.platform), "token": .string(delivery.device.token),
            "title": .string(note.title), "subtitle": .string(note.subtitle),
            "body": .string(note.body), "data": .string(note.data),
        ]
    }
}

extension JSONValue {
    /// A copy of an object with a new value for a member.
    fileprivate func replacing(_ key: String, _ value: JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.key == key ? .init(key, value) : $0 })
    }
}
