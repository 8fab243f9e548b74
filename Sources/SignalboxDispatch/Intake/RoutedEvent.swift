public import SignalboxCore

/// One event on its routes: which builder to ask next, and the deliveries so far.
///
/// A value that calls no plugin and makes no ids: whoever drives it asks the builders, outside of any lock, and
/// brings what they made.
public struct RoutedEvent: Sendable {
    /// What the builder of a route is asked.
    public struct Question: Sendable {
        /// Place of the route in the router.
        public let route: Int
        /// Those that the route can send to; never empty.
        public let recipients: [Recipient]
        /// Their places in the event.
        fileprivate let places: [Int]
    }

    /// The event with its data.
    public let fields: EventFields
    /// A builder failed on it, so that something is missing.
    public private(set) var hasFailed = false
    private let router: Router
    private let receivedUnixMs: UInt64
    private let routes: [Int]
    private var asked = 0
    private var fanOut = FanOut()
    private var badges: BadgeSteps?
    private var notes: RouteNotes?

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

    /// Nothing is left of it: a builder failed, and no other route has a delivery.
    public var isLost: Bool { hasFailed && fanOut.deliveries.isEmpty }

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
                places: places)
        }
        return nil
    }

    /// A builder made contents; `ids` has one for each target. Returns whom it leaves out after all.
    public mutating func built(
        _ contents: [BuiltContent], for question: Question, ids: inout DeliveryIDs
    ) -> [FanOut.Skip] {
        let first = fanOut.deliveries.count
        let route = router.routes[question.route]
        fanOut.add(
            contents, route: route, fields: fields, recipients: question.recipients,
            receivedUnixMs: receivedUnixMs, ids: &ids)
        notes?.add(fanOut.deliveries[first...], route: question.route)
        if route.set.countsBadge { badges?.count(fanOut.deliveries[first...], from: first) }
        // The builder saw only the chosen ones: their places in the event are others.
        let skips = fanOut.takeSkips().map {
            FanOut.Skip(recipient: question.places[$0.recipient], reason: $0.reason)
        }
        let recipients = fields.event.recipients
        notes?.add(skips, route: question.route, recipients)
        return skips
    }

    /// A builder left recipients out.
    public mutating func skipped(_ skips: [FanOut.Skip], for question: Question) {
        notes?.add(skips, route: question.route, question.recipients)
    }

    /// A builder failed for good, for this reason.
    public mutating func failed(_ words: String, for question: Question) {
        hasFailed = true
        notes?.failed(words, route: question.route)
    }

    /// What to store of it.
    public func item(dedupeMs: UInt64) -> StoreEntry.Item {
        var item = StoreEntry.Item(event: fields.event, deliveries: fanOut.deliveries)
        // Sent again, it may be built by then, or have a route or a device, and must not be taken for a duplicate.
        if hasFailed || fanOut.deliveries.isEmpty { item.event.dedupe = "" }
        item.dedupeMs = dedupeMs
        item.badges = badges?.steps ?? []
        if let notes { item.history = notes.pack(of: fields.event) }
        return item
    }

    /// How it ends if it is kept, as a label of the metrics; nil: its failure was counted.
    public var result: String? {
        if isLost { return nil }
        if !isRouted { return "unrouted" }
        return fanOut.deliveries.isEmpty ? "unreached" : "accepted"
    }
}
