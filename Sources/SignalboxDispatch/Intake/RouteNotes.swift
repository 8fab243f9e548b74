internal import SignalboxCore

/// The history of an event's routing, kept for traces.
struct RouteNotes: Sendable {
    private static let wordsMax = 200

    /// Indexes of the routes that take the event, in the file's order.
    let matches: [Int]
    private var event: HistoryEvent
    /// Places among the event's routes, by index in the router.
    private var places: [Int: Int] = [:]

    init(_ fields: EventFields, _ router: Router, receivedUnixMs: UInt64) {
        event = HistoryEvent(fields.event, receivedUnixMs: receivedUnixMs)
        var matches: [Int] = []
        for index in router.candidates(fields) {
            let unmet = router.routes[index].fields.condition.unmet(by: fields)
            if unmet == nil { matches.append(index) }
            places[index] = event.routes.count
            event.routes.append(
                HistoryRoute(router.routes[index].fields.name, unmet: Self.cut(unmet ?? "")))
        }
        self.matches = matches
    }

    mutating func add(_ skips: [FanOut.Skip], route: Int, _ recipients: [Recipient]) {
        for skip in skips where recipients.indices.contains(skip.recipient) {
            event.targets.append(
                HistoryTarget(
                    recipients[skip.recipient].device, route: places[route], skipped: skip.reason))
        }
    }

    mutating func add(
        _ deliveries: ArraySlice<Delivery>, route: Int, notBeforeUnixMs: UInt64
    ) {
        guard let place = places[route] else { return }
        for delivery in deliveries {
            event.targets.append(HistoryTarget(delivery, route: place))
            if notBeforeUnixMs > 0 {
                event.targets[event.targets.count - 1].notBeforeUnixMs = notBeforeUnixMs
            }
        }
    }

    mutating func failed(_ words: String, route: Int) {
        guard let place = places[route] else { return }
        event.routes[place].fault = Self.cut(words)
    }

    private static func cut(_ words: String) -> String { String(words.prefix(wordsMax)) }

    /// Ready to be stored.
    func pack(of given: Event) -> HistoryPack {
        var event = event
        if matches.isEmpty {
            event.targets = given.recipients.map {
                HistoryTarget($0.device, route: nil, skipped: "unrouted")
            }
        }
        var tags = [HistoryTag.event(given.id)]
        if !given.subject.isEmpty { tags.append(.subject(given.subject)) }
        if !given.dedupe.isEmpty { tags.append(.sourceID(given.dedupe)) }
        var lastUser = ""
        for recipient in given.recipients {
            let device = recipient.device
            // Devices of one user are adjacent.
            if !device.user.isEmpty, !device.user.hasSameBytes(as: lastUser) {
                tags.append(.user(device.user))
                lastUser = device.user
            }
            if !device.token.isEmpty { tags.append(.token(device.token)) }
        }
        return HistoryPack(event, tags: tags)
    }
}
