package import SignalboxCore

/// The way of one request's events and device changes to the store, as a value: each answer gives the next step.
///
/// Performs nothing: its owner asks the store, the plugins and the lanes, and tells people the `notices`. Without
/// threads or time, so that unit tests and the simulation take it.
package struct EventIntake: Sendable {
    /// What to do next.
    package enum Step: Sendable {
        /// Look up the devices of users, then call `found`.
        case lookUp([UserKey])
        /// Call `route`, on a worker.
        case route
        /// Store changes of devices, then call `changed`. They come first: they can be repeated if the events are
        /// refused and the request is resent.
        case change([DeviceChange])
        /// Store events with their deliveries: all of the request or none.
        case append(StoreEntry)
        /// Answer the source; nothing, or the changes alone, were stored.
        case refuse(StoreAnswer)
    }

    /// Something that people are told.
    package enum Notice: Sendable {
        /// No recipient of the event can be used.
        case unusable(Event, Recipient.Fault)
        /// The event exceeds a limit.
        case excess(Event, EventExcess)
        /// Large events come faster than they are stored.
        case busy(devices: Int)
        /// No route took the event, or its routes have notices.
        case routed(RoutedEvent)
        /// A filter or builder cannot answer, so the source resends the event.
        case unavailable(RoutedEvent, StageFailure)
    }

    private var events: [Event]
    private var changes: [DeviceChange]
    private let source: String
    private let receivedUnixMs: UInt64
    private let leavesOut: Bool
    private var users: NamedUsers?
    private var devices: [[RegisteredDevice]] = []
    private var entry: StoreEntry
    private(set) var notices: [Notice] = []
    /// Metric labels of the entry's items, as `RoutedEvent.result`.
    package private(set) var results: [String?] = []

    /// Takes a request. With `leavesOut`, events with too many devices are skipped and the rest is kept: such a source
    /// would otherwise resend the whole batch forever.
    package init(
        _ events: [Event], changes: [DeviceChange] = [], from source: String,
        receivedUnixMs: UInt64, leavesOut: Bool = false
    ) {
        self.events = events
        self.changes = changes
        self.source = source
        self.receivedUnixMs = receivedUnixMs
        self.leavesOut = leavesOut
        entry = StoreEntry(items: [], receivedUnixMs: receivedUnixMs, dedupeMs: 0)
    }

    /// The notices since the last call.
    package mutating func takeNotices() -> [Notice] {
        guard !notices.isEmpty else { return [] }
        defer { notices = [] }
        return notices
    }

    // MARK: Steps

    /// The first step.
    package mutating func begin(_ rules: some IntakeRules) -> Step {
        mendRecipients()
        if !leavesOut, changes.isEmpty, let fault = areUnusable() {
            return .refuse(.unprocessable("no recipient can be used: \(fault.words)"))
        }
        for index in changes.indices {
            changes[index].device.spell()
            changes[index].isShared = rules.sharesTokens(source)
            let device = changes[index].device
            if !device.platform.isEmpty { changes[index].platforms = rules.platforms(of: device) }
        }
        let users = NamedUsers(in: events, changes)
        if users.keys.isEmpty { return .route }
        self.users = users
        return .lookUp(users.keys)
    }

    /// The devices of each user; `room` admits them, and the caller returns them with `leave` at the end.
    package mutating func found(
        _ answer: Result<[[RegisteredDevice]], StoreFailure>, _ rules: some IntakeRules,
        room: LargeEvents
    ) -> (next: Step, admitted: Int) {
        guard case .success(let found) = answer, let users, found.count == users.keys.count
        else {
            // Without its devices an event would reach nobody, or others, so its source must resend it.
            return (.refuse(.failed("the devices could not be looked up")), 0)
        }
        let count = users.recipientCount(of: events, found)
        // A batch may name the same users repeatedly.
        let most = max(LargeEvents.devicesMax, rules.devicesPerEvent)
        guard leavesOut || events.count < 2 || count <= most else {
            let words = "the events go to \(count) devices; at most \(most) together"
            return (.refuse(.tooLarge(words)), 0)
        }
        guard room.enter(count) else {
            notices.append(.busy(devices: count))
            return (.refuse(.unavailable("too many devices of large events are being stored")), 0)
        }
        devices = found
        return (.route, count)
    }

    /// Routes, builds and fans out all events; `onID` hears the id of each before it is routed.
    package mutating func route(
        _ rules: some IntakeRules, _ ports: inout some IntakePorts,
        onID: ((UInt64) -> Void)? = nil
    ) -> Step {
        users?.resolve(&events, &changes, devices)
        devices = []
        // With `leavesOut` it is kept: its source would emit the same event forever, and nothing else meanwhile.
        let isAlone = events.count == 1 && changes.isEmpty && !leavesOut
        if let answer = boundEvents(rules) { return .refuse(answer) }
        entry.dedupeMs = rules.dedupeMs
        do throws(EventRefusal) {
            for index in events.indices {
                if events[index].id == 0 {
                    guard let id = ports.takeEventID() else { throw .noIDs }
                    events[index].id = id
                }
                onID?(events[index].id)
                try route(events[index], rules, &ports, isAlone: isAlone)
            }
        } catch {
            // The source resends the whole request.
            return .refuse(error.answer)
        }
        events = []
        return changes.isEmpty ? append() : .change(changes)
    }

    /// The changes are stored, or could not be.
    package mutating func changed(_ answer: Result<Void, StoreFailure>) -> Step {
        switch answer {
        case .success: append()
        case .failure(let fault): .refuse(.failed(fault.message))
        }
    }

    // MARK: Parts

    /// Gives the entry away, so that its items are in one place alone and can be changed without a copy.
    private mutating func append() -> Step {
        assert(entry.items.count == results.count, "a result for each event")
        let whole = entry
        entry.items = []
        return .append(whole)
    }

    /// Normalises recipients. Most need no change, and then nothing is copied.
    private mutating func mendRecipients() {
        for index in events.indices where events[index].needsMending {
            events[index].mendRecipients()
        }
    }

    /// Whether no event has a usable recipient and there is nothing else to store: its source must learn of it. Among
    /// other events, such an event is kept, and its trace shows the skipped recipients.
    private mutating func areUnusable() -> Recipient.Fault? {
        guard let fault = events.first?.recipientFault,
            events.allSatisfy({ $0.recipientFault != nil })
        else { return nil }
        for event in events { notices.append(.unusable(event, fault)) }
        return fault
    }

    /// Leaves out the events that exceed a limit; returns an answer if the whole request is refused.
    private mutating func boundEvents(_ rules: some IntakeRules) -> StoreAnswer? {
        var left: Set<Int> = []
        for index in events.indices {
            guard let excess = EventExcess(of: events[index], devicesMax: rules.devicesPerEvent)
            else { continue }
            notices.append(.excess(events[index], excess))
            guard leavesOut else { return .tooLarge(excess.words) }
            left.insert(index)
        }
        if !left.isEmpty {
            events = events.indices.filter { !left.contains($0) }.map { events[$0] }
        }
        return nil
    }

    private mutating func route(
        _ event: Event, _ rules: some IntakeRules, _ ports: inout some IntakePorts, isAlone: Bool
    ) throws(EventRefusal) {
        var routed = RoutedEvent(
            event, router: rules.router, receivedUnixMs: receivedUnixMs,
            keepsHistory: rules.keepsHistory)
        guard routed.isRouted || rules.hasSource(source) else { throw .removed(source: source) }
        defer { note(routed) }
        do throws(EventRefusal) {
            try routed.ask(&ports)
        } catch {
            if case .unavailable(let end) = error { notices.append(.unavailable(routed, end)) }
            throw error
        }
        if isAlone, routed.isLost, let who = routed.failure {
            throw .lost(who: who, always: routed.failsAlways)
        }
        entry.items.append(routed.item(dedupeMs: rules.dedupeMs(of: event)))
        results.append(routed.result)
    }

    private mutating func note(_ routed: RoutedEvent) {
        if !routed.isRouted || !routed.notices.isEmpty { notices.append(.routed(routed)) }
    }
}
