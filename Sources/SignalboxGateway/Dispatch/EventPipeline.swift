internal import Logging
internal import SignalboxConfig
package import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads

/// An event that was committed, or that the commit left out as a duplicate.
package struct CommittedEvent: Sendable {
    package let id: UInt64
    package let deliveryCount: Int
    /// A metric label, as `RoutedEvent.result`; for duplicates, the label a new event would get.
    package let result: String?
}

/// From events to deliveries on disk: route, build, fan out, commit.
package final class EventPipeline: Sendable {
    package typealias Done = @Sendable (StoreAnswer, [CommittedEvent]) -> Void
    let context: DispatchContext
    private let lanes: LaneTable
    private let deviceReports: DeviceReports
    private let large = LargeEvents()
    let lines = FaultLines()

    init(context: DispatchContext, lanes: LaneTable, deviceReports: DeviceReports) {
        self.context = context
        self.lanes = lanes
        self.deviceReports = deviceReports
    }

    /// Commits the deliveries of all events of a request, or none. With `leavesOut`, events with too many devices are
    /// skipped and the rest is kept: such a source would otherwise resend the whole batch forever.
    ///
    /// Thread: worker. `done` is called on the committing thread once they are on disk, with the events in order, or
    /// without events if they are refused.
    package func accept(
        _ events: [Event], changes: [DeviceChange] = [], from source: String,
        receivedUnixMs: UInt64, span: RequestSpan? = nil, leavesOut: Bool = false,
        done: @escaping Done
    ) {
        let events = Self.mended(events)
        if !leavesOut, changes.isEmpty, areUnusable(events, done) { return }
        var changes = changes
        let isShared = context.current.generation.sharesTokens(source)
        let tokens = context.current.generation.devices.tokens
        for index in changes.indices {
            changes[index].device.spell()
            changes[index].isShared = isShared
            let device = changes[index].device
            if !device.platform.isEmpty { changes[index].platforms = tokens.platforms(of: device) }
        }
        let users = UserDevices.named(in: events, changes)
        guard !users.isEmpty else {
            commit(
                events, changes, source, receivedUnixMs: receivedUnixMs, span: span,
                leavesOut: leavesOut, done: done)
            return
        }
        context.store.devices(of: Array(users)) { [changes] found in
            guard case .success(let known) = found else {
                // Without its devices an event would reach nobody, so its source must resend it.
                done(.failed("the devices could not be looked up"), [])
                return
            }
            // Counted here and not on a worker: requests waiting for one already have their devices in memory.
            let users = UserDevices(known)
            let devices = users.deviceCount(of: events)
            if !leavesOut, events.count > 1, devices > self.devicesPerRequest {
                done(
                    .tooLarge(
                        "the events go to \(devices) devices; at most \(self.devicesPerRequest) together"
                    ),
                    [])
                return
            }
            guard self.large.enter(devices) else {
                self.refuse(devices, source, done)
                return
            }
            let done: Done = { [large = self.large] answer, committed in
                large.leave(devices)
                done(answer, committed)
            }
            // Builders run on a worker, never on the store's thread.
            self.context.workers.submitBounded {
                self.commit(
                    events.map(users.resolved), changes.flatMap(users.resolved), source,
                    receivedUnixMs: receivedUnixMs, span: span, leavesOut: leavesOut, done: done)
            }
        }
    }

    /// Most devices of a request's events; a batch may name the same users repeatedly.
    private var devicesPerRequest: Int {
        max(
            LargeEvents.devicesMax,
            context.current.generation.plan.config.gateway.limits.devicesPerEvent)
    }

    private func refuse(_ devices: Int, _ source: String, _ done: Done) {
        context.logger.warning(
            "large events come faster than they are stored, answering 503",
            metadata: ["plugin.instance": "\(source)", "recipients": "\(devices)"])
        context.metrics.event(source: source, result: "busy")
        done(.unavailable("too many devices of large events are being stored"), [])
    }

    /// The events within the limits; nil if the whole request is refused.
    private func bounded(
        _ events: [Event], _ generation: Generation, leavesOut: Bool, _ done: Done
    ) -> [Event]? {
        let most = generation.plan.config.gateway.limits.devicesPerEvent
        var left: Set<Int> = []
        for index in events.indices {
            guard let excess = EventExcess(of: events[index], devicesMax: most) else { continue }
            let event = events[index]
            var fields = Self.fields(event)
            fields["recipients"] = "\(event.recipients.count)"
            context.logger.warning("\(excess.notice)", metadata: fields)
            context.metrics.event(source: event.source, result: excess.result)
            guard leavesOut else {
                done(.tooLarge(excess.words), [])
                return nil
            }
            left.insert(index)
        }
        guard !left.isEmpty else { return events }
        return events.indices.filter { !left.contains($0) }.map { events[$0] }
    }

    /// Events with normalised recipients. Most need no change, and then nothing is copied.
    private static func mended(_ events: [Event]) -> [Event] {
        guard events.indices.contains(where: { events[$0].needsMending }) else { return events }
        return events.map { event in
            var event = event
            event.mendRecipients()
            return event
        }
    }

    /// Refuses a request if no event has a usable recipient and there is nothing else to store, so that its source
    /// learns of it. Among other events, such an event is kept, and its trace shows the skipped recipients.
    private func areUnusable(_ events: [Event], _ done: Done) -> Bool {
        guard let fault = events.first?.recipientFault,
            events.allSatisfy({ $0.recipientFault != nil })
        else { return false }
        for event in events {
            var fields = Self.fields(event)
            fields["recipients"] = "\(event.recipients.count)"
            fields["reason"] = "\(fault.rawValue)"
            context.logger.warning("event has no recipient that can be used", metadata: fields)
            context.metrics.event(source: event.source, result: fault.rawValue)
        }
        done(.unprocessable("no recipient can be used: \(fault.words)"), [])
        return true
    }

    /// An id for an event whose submitter wants to know it.
    package func nextEventID() -> UInt64? { context.ids.nextID() }

    private func commit(
        _ given: [Event], _ changes: [DeviceChange], _ source: String, receivedUnixMs: UInt64,
        span: RequestSpan?, leavesOut: Bool, done: @escaping Done
    ) {
        let generation = context.current.generation
        guard let events = bounded(given, generation, leavesOut: leavesOut, done) else { return }
        var entry = StoreEntry(
            items: [], receivedUnixMs: receivedUnixMs,
            dedupeMs: generation.plan.config.gateway.dedupeMs)
        var results: [String?] = []
        // With `leavesOut` it is kept: its source would emit the same event forever, and nothing else meanwhile.
        let isAlone = events.count == 1 && changes.isEmpty && !leavesOut
        do throws(EventRefusal) {
            for event in events {
                let routed = try route(
                    event, of: source, generation, receivedUnixMs: receivedUnixMs, span: span)
                if isAlone { try refuseIfLost(routed) }
                entry.items.append(routed.item(dedupeMs: generation.dedupeMs(of: event)))
                results.append(routed.result)
            }
        } catch {
            // The source resends the whole request.
            return done(error.answer, [])
        }
        guard !changes.isEmpty else {
            append(&entry, results, done: done)
            return
        }
        // Changes come first, since they can be repeated if the events are refused and the request is resent.
        let reports = deviceReports.reports(of: changes, from: source)
        context.store.change(changes, reports: reports) { [entry, results] result in
            switch result {
            case .success:
                var entry = entry
                self.append(&entry, results, done: done)
            case .failure(let fault): done(.failed(fault.message), [])
            }
        }
    }

    /// The event with its deliveries.
    func route(
        _ given: Event, of source: String, _ generation: Generation, receivedUnixMs: UInt64,
        span: RequestSpan?
    ) throws(EventRefusal) -> RoutedEvent {
        var event = given
        if event.id == 0 {
            guard let id = nextEventID() else { throw EventRefusal(answer: .failed(Self.noIDs)) }
            event.id = id
        }
        if let span { context.spans.follow(event.id, span) }
        var routed = RoutedEvent(
            event, router: generation.router, receivedUnixMs: receivedUnixMs,
            keepsHistory: generation.keepsHistory)
        guard routed.isRouted || generation.hasSource(source) else {
            // A reload removed its plugin, and thereby its routes, after the event was received.
            throw EventRefusal(answer: .unavailable("plugin \(source) was removed"))
        }
        try fanOut(&routed, generation)
        return routed
    }

    /// Nothing would be stored of it, so the source must learn of the failure.
    private func refuseIfLost(_ routed: RoutedEvent) throws(EventRefusal) {
        guard routed.isLost, let failure = routed.failure else { return }
        let words = "\(failure) failed on this event"
        throw EventRefusal(answer: routed.failsAlways ? .unprocessable(words) : .unavailable(words))
    }

    /// `results` are metric labels, by item.
    private func append(
        _ entry: inout StoreEntry, _ results: [String?], done: @escaping Done
    ) {
        let reserved = entry.items.indices.map { lanes.reserve(&entry.items[$0]) }
        let askedNs = SystemClock.monotonicNs
        context.store.append(entry) { [entry] answer in
            if case .committed = answer {
                self.context.metrics.commitTime.observe(ns: SystemClock.monotonicNs - askedNs)
            }
            self.finish(entry.items, results, reserved, answer)
            if case .committed = answer {
                done(
                    answer,
                    entry.items.indices.map { index in
                        let item = entry.items[index]
                        return CommittedEvent(
                            id: item.event.id, deliveryCount: item.deliveries.count,
                            result: results[index])
                    })
            } else {
                done(answer, [])
            }
        }
    }

    static let noIDs = "the store gives no ids"

    private func finish(
        _ items: [StoreEntry.Item], _ results: [String?], _ reserved: [LaneReservation],
        _ answer: StoreAnswer
    ) {
        guard case .committed(let commit) = answer else {
            for reservation in reserved { reservation.cancelled() }
            return
        }
        for (index, reservation) in reserved.enumerated() {
            let item = items[index]
            if commit.duplicates.contains(index) {
                context.metrics.event(source: item.event.source, result: "duplicate")
                tell(duplicate: item)
                reservation.cancelled()
                continue
            }
            if let result = results[index] {
                context.metrics.event(source: item.event.source, result: result)
                tell(item, result)
            }
            reservation.committed(
                under: commit.token,
                badges: commit.badges[index].map { item.badgeNumbers($0) } ?? [:], in: lanes)
        }
    }

    private func tell(_ item: StoreEntry.Item, _ result: String) {
        guard context.logger.logLevel <= .info else { return }
        var fields = Self.fields(item.event)
        fields["result"] = "\(result)"
        fields["recipients"] = "\(item.event.recipients.count)"
        fields["deliveries"] = "\(item.deliveries.count)"
        context.logger.info("event", metadata: fields)
    }

    static func fields(_ event: Event) -> Logger.Metadata {
        [
            "plugin.instance": "\(event.source)", "event.id": "\(event.id)",
            "event.source_id": "\(event.dedupe)", "event.type": "\(event.type)",
            "event.subject": "\(event.subject)",
        ]
    }

    private func tell(duplicate item: StoreEntry.Item) {
        let window = DurationText.of(ms: item.dedupeMs ?? 0)
        context.logger.info(
            "event is a duplicate within \(window), left out",
            metadata: Self.fields(item.event))
    }

    /// Asks the filters and builders of an event's routes; no lock is held while they render.
}

/// A builder is unavailable, its answer was lost, or the store gives no ids: the event is rejected so that its source
/// resends it.
/// Why nothing of a request is stored.
struct EventRefusal: Error {
    let answer: StoreAnswer
}
