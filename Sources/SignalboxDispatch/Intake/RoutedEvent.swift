public import SignalboxCore

/// One event on its routes: which builder to ask next, and the deliveries so far.
///
/// A value that calls no plugin and makes no ids: whoever drives it asks the builders, outside of any lock, and
/// brings what they made.
public struct RoutedEvent: Sendable {
    /// What the filters and the builder of a route are asked.
    public struct Question: Sendable {
        /// Place of the route in the router.
        public let route: Int
        /// Those that the route can send to; never empty.
        public fileprivate(set) var recipients: [Recipient]
        /// The event, with the data that the filters made of it.
        public fileprivate(set) var fields: EventFields
        /// When the pushes may be sent, in Unix milliseconds; 0: at once.
        public fileprivate(set) var notBeforeUnixMs: UInt64 = 0
        /// Places of the recipients in the event.
        fileprivate var places: [Int]

        /// What is left to ask after a filter, once for each part, and whom it leaves out.
        public func filtered(_ made: Filtered) -> (next: [Question], drops: [FanOut.Skip]) {
            var rest = Set(recipients.indices)
            for part in made.parts { rest.subtract(part.recipients) }
            rest.subtract(made.drops.map(\.recipient))
            var parts = made.parts.filter { !$0.recipients.isEmpty }
            if !rest.isEmpty { parts.append(Filtered.Part(recipients: rest.sorted())) }
            return (parts.map(of), made.drops)
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
    /// The filter or builder that failed on it, so that something is missing: `filter NAME`.
    public private(set) var failure: String?
    /// Sent again, it would fail the same way.
    public private(set) var failsAlways = false
    private let router: Router
    private let receivedUnixMs: UInt64
    private let routes: [Int]
    private var asked = 0
    private var fanOut = FanOut()
    private var badges: BadgeSteps?
    private var notes: RouteNotes?
    private var waitsMs: [UInt64: UInt64] = [:]

    /// Finds the routes of an event that has its id. `keepsHistory`: what is stored says how it went.
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

    /// Some route takes it.
    public var isRouted: Bool { !routes.isEmpty }

    /// Nothing is left of it: one of them failed, and no other route has a delivery.
    public var isLost: Bool { failure != nil && fanOut.deliveries.isEmpty }

    /// What to ask next; nil: all routes are done.
    ///
    /// `onSkips` hears whom a route leaves out, also if nobody is left to ask about.
    public mutating func next(onSkips: (_ route: Int, [FanOut.Skip]) -> Void) -> Question? {
        while asked < routes.count {
            let route = routes[asked]
            asked += 1
            let recipients = fields.event.recipients
            let places = fanOut.selectRecipients(of: router.routes[route], from: recipients)
            let skips = fanOut.takeSkips()
            if !skips.isEmpty {
                notes?.add(skips, route: route, recipients)
                onSkips(route, skips)
            }
            guard !places.isEmpty else { continue }
            let isEverybody = places.count == recipients.count
            return Question(
                route: route,
                recipients: isEverybody ? recipients : places.map { recipients[$0] },
                fields: fields, places: places)
        }
        return nil
    }

    /// A builder made contents; `ids` has one for each target. Returns whom it leaves out after all.
    public mutating func built(
        _ contents: [BuiltContent], for question: Question, ids: inout DeliveryIDs
    ) -> [FanOut.Skip] {
        let first = fanOut.deliveries.count
        let route = router.routes[question.route]
        let notBefore = max(question.notBeforeUnixMs, receivedUnixMs)
        fanOut.add(
            contents, route: route, fields: question.fields, recipients: question.recipients,
            receivedUnixMs: receivedUnixMs, fromUnixMs: notBefore, ids: &ids)
        let made = fanOut.deliveries[first...]
        let waitMs = notBefore - receivedUnixMs
        if waitMs > 0 { for delivery in made { waitsMs[delivery.id] = waitMs } }
        notes?.add(made, route: question.route, notBeforeUnixMs: waitMs > 0 ? notBefore : 0)
        if route.set.countsBadge { badges?.count(fanOut.deliveries[first...], from: first) }
        // The builder saw only the chosen ones: their places in the event are others.
        let skips = fanOut.takeSkips().map {
            FanOut.Skip(recipient: question.places[$0.recipient], reason: $0.reason)
        }
        let recipients = fields.event.recipients
        notes?.add(skips, route: question.route, recipients)
        return skips
    }

    /// A filter or builder left recipients out.
    public mutating func skipped(_ skips: [FanOut.Skip], for question: Question) {
        notes?.add(skips, route: question.route, question.recipients)
    }

    /// A filter or builder failed for good; `who`: `builder NAME`. `always`: it does so each time.
    public mutating func failed(
        _ who: String, _ words: String, always: Bool = false, for question: Question
    ) {
        failure = who
        failsAlways = always
        notes?.failed("\(who): \(words)", route: question.route)
    }

    /// What to store of it.
    public func item(dedupeMs: UInt64) -> StoreEntry.Item {
        var item = StoreEntry.Item(event: fields.event, deliveries: fanOut.deliveries)
        // Sent again, it may be built by then, or have a route or a device, and must not be taken for a duplicate.
        if failure != nil || fanOut.deliveries.isEmpty { item.event.dedupe = "" }
        item.dedupeMs = dedupeMs
        item.badges = badges?.steps ?? []
        item.waitsMs = waitsMs
        item.shown = shown
        if let notes { item.history = notes.pack(of: fields.event) }
        return item
    }

    /// The pushes that carry a mark, for each user once.
    private var shown: [OpenClaim] {
        let marking = Set(routes.lazy.map { router.routes[$0] }.filter(\.marksOpens).map(\.name))
        guard !marking.isEmpty else { return [] }
        let marked = fanOut.deliveries.lazy.filter { marking.contains($0.route) }
        return Array(Set(marked.map { OpenClaim($0) }))
    }

    /// How it ends if it is kept, as a label of the metrics; nil: its failure was counted.
    public var result: String? {
        if isLost { return nil }
        if !isRouted { return "unrouted" }
        return fanOut.deliveries.isEmpty ? "unreached" : "accepted"
    }
}
