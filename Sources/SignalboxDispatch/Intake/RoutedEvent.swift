public import SignalboxCore

/// One event on its routes: whom to ask next, the deliveries so far, and what people are told of them.
///
/// Calls no plugin and makes no ids: `ask` does, outside of any lock, and passes in what filters and builders made.
public struct RoutedEvent: Sendable {
    /// A question for a route's filters and builder.
    public struct Question: Sendable {
        /// Place of the route in the router.
        public let route: Int
        /// The recipients the route can send to; never empty.
        public fileprivate(set) var recipients: [Recipient]
        /// The event, with its data as changed by the filters.
        public fileprivate(set) var fields: EventFields
        /// When the pushes may be sent, in Unix milliseconds; 0 for at once.
        public fileprivate(set) var notBeforeUnixMs: UInt64 = 0
        /// Indexes of the recipients in the event.
        fileprivate var places: [Int]

        /// The questions left after a filter, one per part, and the recipients it dropped.
        func filtered(_ made: Filtered) -> (next: [Question], drops: [FanOut.Skip]) {
            var rest = Set(recipients.indices)
            for part in made.parts { rest.subtract(part.recipients) }
            rest.subtract(made.drops.map(\.recipient))
            var parts = made.parts.filter { !$0.recipients.isEmpty }
            if !rest.isEmpty { parts.append(Filtered.Part(recipients: rest.sorted())) }
            return (parts.map(of), made.drops)
        }

        /// Skips of the event's recipients: filters and builders see the question's alone.
        fileprivate func inEvent(_ skips: [FanOut.Skip]) -> [FanOut.Skip] {
            skips.map { FanOut.Skip(recipient: places[$0.recipient], reason: $0.reason) }
        }

        private func of(_ part: Filtered.Part) -> Question {
            var out = self
            if part.recipients.count < recipients.count {
                out.recipients = part.recipients.map { recipients[$0] }
                out.places = part.recipients.map { places[$0] }
            }
            if let data = part.data, let parsed = data.parsed {
                var event = fields.event
                event.data = data.text
                event.parsed = parsed
                out.fields = EventFields(event: event, data: parsed)
            }
            // A later filter cannot shorten the wait of an earlier one.
            out.notBeforeUnixMs = max(notBeforeUnixMs, part.notBeforeUnixMs)
            return out
        }
    }

    /// The event with its data.
    public let fields: EventFields
    /// The filter or builder that failed, so that deliveries are missing: `filter NAME`.
    public private(set) var failure: String?
    /// Whether it would fail the same way if sent again.
    public private(set) var failsAlways = false
    /// What people are told, in order.
    package private(set) var notices: [RouteNotice] = []
    package let router: Router
    private let receivedUnixMs: UInt64
    private let routes: [Int]
    private var asked = 0
    private var fanOut = FanOut()
    private var badges: BadgeSteps?
    private var notes: RouteNotes?
    private var waitsMs: [UInt64: UInt64] = [:]

    /// Finds the routes of an event that has an id. `keepsHistory`: its routing is stored, too.
    public init(
        _ event: Event, router: Router, receivedUnixMs: UInt64, keepsHistory: Bool = false
    ) {
        fields = EventFields(event: event, data: event.parsed ?? JSONValue.object([]))
        self.router = router
        self.receivedUnixMs = receivedUnixMs
        if keepsHistory {
            let notes = RouteNotes(fields, router, receivedUnixMs: receivedUnixMs)
            routes = notes.matches
            self.notes = notes
        } else {
            routes = router.matches(fields)
        }
        if router.countsBadges { badges = BadgeSteps(recipients: event.recipients) }
    }

    /// At least one route takes it.
    public var isRouted: Bool { !routes.isEmpty }

    /// A filter or builder failed, and no other route made a delivery.
    public var isLost: Bool { failure != nil && fanOut.deliveries.isEmpty }

    /// The next question; nil when all routes are done.
    mutating func next() -> Question? {
        while asked < routes.count {
            let route = routes[asked]
            asked += 1
            let recipients = fields.event.recipients
            let places = fanOut.selectRecipients(of: router.routes[route].fields, from: recipients)
            leaveOut(fanOut.takeSkips(), route)
            guard !places.isEmpty else { continue }
            let isEverybody = places.count == recipients.count
            return Question(
                route: route,
                recipients: isEverybody ? recipients : places.map { recipients[$0] },
                fields: fields, places: places)
        }
        return nil
    }

    /// Adds the contents a builder made; `ids` has one id per target.
    mutating func built(
        _ contents: [BuiltContent], for question: Question, ids: inout DeliveryIDs
    ) {
        let first = fanOut.deliveries.count
        let notBefore = max(question.notBeforeUnixMs, receivedUnixMs)
        fanOut.add(
            contents, route: router.routes[question.route].fields, fields: question.fields,
            recipients: question.recipients, receivedUnixMs: receivedUnixMs,
            fromUnixMs: notBefore, ids: &ids)
        let made = fanOut.deliveries[first...]
        let waitMs = notBefore - receivedUnixMs
        if waitMs > 0 { for delivery in made { waitsMs[delivery.id] = waitMs } }
        notes?.add(made, route: question.route, notBeforeUnixMs: waitMs > 0 ? notBefore : 0)
        if router.routes[question.route].fields.set.countsBadge {
            badges?.count(fanOut.deliveries[first...], from: first)
        }
        leaveOut(question.inEvent(fanOut.takeSkips()), question.route)
    }

    /// The gateway skips recipients; the indexes are the event's.
    private mutating func leaveOut(_ skips: [FanOut.Skip], _ route: Int) {
        guard !skips.isEmpty else { return }
        let recipients = fields.event.recipients
        notes?.add(skips, route: route, recipients)
        notices.append(.leftOut(skips, route: route))
    }

    /// A filter or builder skipped recipients of a question.
    mutating func dropped(_ given: [FanOut.Skip], of question: Question) {
        guard !given.isEmpty else { return }
        let (skips, recipients) = (question.inEvent(given), fields.event.recipients)
        notes?.add(skips, route: question.route, recipients)
        notices.append(.dropped(skips, route: question.route))
    }

    /// A filter or builder failed for good.
    mutating func failed(_ end: StageFailure) {
        failure = end.who
        failsAlways = end.fault.remedy == .giveUpForGood
        notes?.failed("\(end)", route: end.route)
        notices.append(.failed(end))
    }

    /// The item to store.
    public func item(dedupeMs: UInt64) -> StoreEntry.Item {
        var item = StoreEntry.Item(event: fields.event, deliveries: fanOut.deliveries)
        // No dedupe key: sent again, it may have a builder, a route or a device, and must not count as a duplicate.
        if failure != nil || fanOut.deliveries.isEmpty { item.event.dedupe = "" }
        item.dedupeMs = dedupeMs
        item.badges = badges?.steps ?? []
        item.waitsMs = waitsMs
        item.shown = shown
        if let notes { item.history = notes.pack(of: fields.event) }
        return item
    }

    /// The pushes that carry an open mark, once per user.
    private var shown: [OpenClaim] {
        var marking: Set<String> = []
        for route in routes where router.routes[route].fields.marksOpens {
            marking.insert(router.routes[route].fields.name)
        }
        guard !marking.isEmpty else { return [] }
        let marked = fanOut.deliveries.lazy.filter { marking.contains($0.route) }
        return Array(Set(marked.map { OpenClaim($0) }))
    }

    /// How it ended, as a metric label; nil if it was counted as a failure.
    public var result: String? {
        if isLost { return nil }
        if !isRouted { return "unrouted" }
        return fanOut.deliveries.isEmpty ? "unreached" : "accepted"
    }
}
