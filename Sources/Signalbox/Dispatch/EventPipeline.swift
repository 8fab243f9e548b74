internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads

/// From events to deliveries on disk: route, build, fan out, commit.
final class EventPipeline: Sendable {
    private let context: DispatchContext
    private let lanes: LaneTable
    private let feedback: Feedback

    init(context: DispatchContext, lanes: LaneTable, feedback: Feedback) {
        self.context = context
        self.lanes = lanes
        self.feedback = feedback
    }

    /// Commits the deliveries of all events of one request, or nothing.
    ///
    /// Thread: worker. `done` is called when they are on disk, on the store's thread.
    func accept(
        _ events: [Event], changes: [DeviceChange] = [], from source: String,
        receivedUnixMs: UInt64, done: @escaping @Sendable (StoreAnswer) -> Void
    ) {
        let events = Self.spelled(events)
        var changes = changes
        for index in changes.indices { changes[index].device.spellToken() }
        let namesUsers =
            events.contains { $0.recipients.contains { Self.userKey($0) != nil } }
            || changes.contains { Self.userKey($0) != nil }
        guard namesUsers else {
            commit(events, changes, source, receivedUnixMs: receivedUnixMs, done: done)
            return
        }
        let users = Set(
            events.flatMap(\.recipients).compactMap(Self.userKey) + changes.compactMap(Self.userKey)
        )
        context.store.devices(of: Array(users)) { [changes] found in
            guard case .success(let known) = found else {
                // Without its devices an event would reach nobody: its source sends it again.
                done(.failed("the devices could not be looked up"))
                return
            }
            // Builders are called on a worker, never on the store's thread.
            self.context.workers.submitBounded {
                let resolved = events.map { self.resolved($0, known) }
                let each = changes.flatMap { Self.resolved($0, known) }
                self.commit(resolved, each, source, receivedUnixMs: receivedUnixMs, done: done)
            }
        }
    }

    /// Most tokens are as they should be, and nothing is copied then.
    private static func spelled(_ events: [Event]) -> [Event] {
        guard events.contains(where: { $0.recipients.contains(where: \.device.isTokenMisspelled) })
        else { return events }
        return events.map { event in
            var event = event
            for index in event.recipients.indices { event.recipients[index].device.spellToken() }
            return event
        }
    }

    /// An id for an event that its giver wants to know.
    func nextEventID() -> UInt64? { context.ids.next()?.id }

    /// The user all of whose devices go.
    private static func userKey(_ change: DeviceChange) -> UserKey? {
        guard change.kind == .unregistered, !change.device.user.isEmpty else { return nil }
        return UserKey(app: change.device.app, user: change.device.user)
    }

    /// One change per device; a token that is not the user's is left alone.
    private static func resolved(
        _ change: DeviceChange, _ known: [UserKey: [RegisteredDevice]]
    ) -> [DeviceChange] {
        guard let key = userKey(change) else { return [change] }
        return (known[key] ?? []).map(\.device)
            .filter {
                let token = change.device.token
                return token.isEmpty || DeviceToken.isSame($0.token, named: token)
            }
            .map { device in
                var out = change
                out.device = device
                return out
            }
    }

    /// The user that a recipient without a token names.
    private static func userKey(_ recipient: Recipient) -> UserKey? {
        guard recipient.device.token.isEmpty, !recipient.device.user.isEmpty else { return nil }
        return UserKey(app: recipient.device.app, user: recipient.device.user)
    }

    /// The event with its users replaced by their devices; what the source knows of a user goes with
    /// each of them.
    private func resolved(
        _ event: Event, _ known: [UserKey: [RegisteredDevice]]
    ) -> Event {
        var out = event
        out.recipients = event.recipients.flatMap { recipient -> [Recipient] in
            guard let key = Self.userKey(recipient) else { return [recipient] }
            let devices = known[key] ?? []
            // A user without devices stays: whichever route takes the event says who was left out.
            if devices.isEmpty { return [recipient] }
            let isAnyOnline = devices.contains(where: \.isOnline)
            return devices.map { entry in
                Recipient(
                    device: entry.device,
                    attributes: Self.attributes(
                        recipient, isOnline: entry.isOnline,
                        isAnyOnline: isAnyOnline))
            }
        }
        return out
    }

    /// What is known of a user's presence, beside what the source says itself.
    private static func attributes(
        _ recipient: Recipient, isOnline: Bool, isAnyOnline: Bool
    ) -> [Attribute] {
        let known = isOnline ? online : isAnyOnline ? onlineElsewhere : offline
        let said = recipient.attributes
        if said.isEmpty { return known }
        return said + known.filter { own in !said.contains { $0.key == own.key } }
    }

    private static let online = presence("true", "true")
    private static let onlineElsewhere = presence("false", "true")
    private static let offline = presence("false", "false")

    /// `user_online` is of the user on any device, also on those that this route does not send to.
    private static func presence(_ device: String, _ user: String) -> [Attribute] {
        [Attribute("online", device), Attribute("user_online", user)]
    }

    private func commit(
        _ events: [Event], _ changes: [DeviceChange], _ source: String, receivedUnixMs: UInt64,
        done: @escaping @Sendable (StoreAnswer) -> Void
    ) {
        let generation = context.live.now
        var items: [StoreEntry.Item] = []
        var (unbuilt, unrouted): (Set<Int>, Set<Int>) = ([], [])
        for event in events {
            var event = event
            if event.id == 0 {
                guard let id = nextEventID() else {
                    done(.failed(Self.noIDs))
                    return
                }
                event.id = id
            }
            do throws(Unavailable) {
                let made = try self.deliveries(
                    of: event, generation, receivedUnixMs: receivedUnixMs)
                if made.hasFailed {
                    if made.deliveries.isEmpty, events.count == 1, changes.isEmpty {
                        // Nothing would be left of it: its source must know.
                        done(.failed("the builder failed on this event"))
                        return
                    }
                    // Sent again, it may be built by then, and must not be taken for a duplicate.
                    event.dedupe = ""
                    unbuilt.insert(items.count)
                }
                if !made.isRouted { unrouted.insert(items.count) }
                var item = StoreEntry.Item(event: event, deliveries: made.deliveries)
                item.dedupeMs = generation.dedupeMs(of: event)
                item.badges = made.badges
                items.append(item)
            } catch {
                // All of the request comes again.
                done(.failed(error.words))
                return
            }
        }
        let marks = Marks(unbuilt: unbuilt, unrouted: unrouted)
        let dedupeMs = generation.plan.config.gateway.dedupeMs
        guard !changes.isEmpty else {
            append(&items, marks, receivedUnixMs: receivedUnixMs, dedupeMs: dedupeMs, done: done)
            return
        }
        // First, since they can be done again: a request whose events are refused then is sent again.
        let reports = feedback.reports(of: changes, from: source)
        context.store.change(changes, reports: reports) { [items] result in
            switch result {
            case .success:
                var items = items
                self.append(
                    &items, marks, receivedUnixMs: receivedUnixMs, dedupeMs: dedupeMs, done: done)
            case .failure(let fault): done(.failed(fault.message))
            }
        }
    }

    /// Which of a request's events no route takes, and on which a builder failed.
    private struct Marks: Sendable {
        var unbuilt: Set<Int>
        var unrouted: Set<Int>
    }

    private func append(
        _ items: inout [StoreEntry.Item], _ marks: Marks, receivedUnixMs: UInt64, dedupeMs: UInt64,
        done: @escaping @Sendable (StoreAnswer) -> Void
    ) {
        let parts = reserve(&items)
        let entry = StoreEntry(items: items, receivedUnixMs: receivedUnixMs, dedupeMs: dedupeMs)
        context.store.append(entry) { answer in
            self.finish(items: entry.items, parts, marks, answer)
            done(answer)
        }
    }

    private static let noIDs = "the store gives no ids"

    /// The deliveries of an event that share a lane.
    private struct Part: Sendable {
        var key: LaneKey
        /// The lane that was asked; it is told what came of it, also when another one has taken its place in the
        /// meantime.
        var lane: Lane?
        /// Those that it takes over at once.
        var taken: [Delivery]
        /// There are others.
        var isMoreOnDisk: Bool
    }

    /// Asks the lanes which deliveries they can take over at once; the parts of each item.
    private func reserve(_ items: inout [StoreEntry.Item]) -> [[Part]] {
        items.indices.map { index in
            LaneKey.parts(of: items[index].deliveries).map { key, deliveries in
                guard let lane = lanes.lane(key) else {
                    return Part(key: key, lane: nil, taken: [], isMoreOnDisk: true)
                }
                let ids = lane.reserve(deliveries)
                if items[index].taken.isEmpty {
                    items[index].taken = ids
                } else {
                    items[index].taken.formUnion(ids)
                }
                let isWhole = ids.count == deliveries.count
                let taken = isWhole ? deliveries : deliveries.filter { ids.contains($0.id) }
                return Part(key: key, lane: lane, taken: taken, isMoreOnDisk: !isWhole)
            }
        }
    }

    private func finish(
        items: [StoreEntry.Item], _ parts: [[Part]], _ marks: Marks, _ answer: StoreAnswer
    ) {
        for (index, item) in items.enumerated() {
            var isKept = false
            var numbers: [UInt64: Int32] = [:]
            var token: LeaseToken?
            if case .committed(let commit) = answer {
                token = commit.token
                isKept = !commit.duplicates.contains(index)
                if let given = commit.badges[index] { numbers = item.badgeNumbers(given) }
            }
            if isKept, !(item.deliveries.isEmpty && marks.unbuilt.contains(index)) {
                let result =
                    marks.unrouted.contains(index)
                    ? "unrouted" : item.deliveries.isEmpty ? "unreached" : "accepted"
                context.metrics.event(source: item.event.source, result: result)
            } else if !isKept, case .committed = answer {
                context.metrics.event(source: item.event.source, result: "duplicate")
                tell(duplicate: item)
            }
            for part in parts[index] {
                guard isKept, let token else {
                    part.lane?.cancelled(part.taken.count)
                    continue
                }
                let taken =
                    numbers.isEmpty ? part.taken : part.taken.map { $0.with(badges: numbers) }
                let isLaneThere =
                    part.lane?.committed(taken, under: token, isMoreOnDisk: part.isMoreOnDisk)
                    ?? false
                if !isLaneThere, part.isMoreOnDisk { lanes.backlog(part.key) }
            }
        }
    }

    private func tell(duplicate item: StoreEntry.Item) {
        let window = DurationText.of(ms: item.dedupeMs ?? 0)
        context.logger.info(
            "left out as a duplicate of one within \(window)",
            metadata: [
                "plugin.instance": "\(item.event.source)", "event.type": "\(item.event.type)",
                "event.subject": "\(item.event.subject)",
            ])
    }

    /// What became of an event.
    private struct Made {
        var deliveries: [Delivery] = []
        var badges: [BadgeStep] = []
        /// A route takes it.
        var isRouted = true
        /// A builder failed on it.
        var hasFailed = false
    }

    private func deliveries(
        of event: Event, _ generation: Generation, receivedUnixMs: UInt64
    ) throws(Unavailable) -> Made {
        let fields = EventFields(event: event, data: event.parsed ?? JSONValue.object([]))
        let routes = generation.router.matches(fields)
        if routes.isEmpty {
            context.logger.notice(
                "no route takes this event",
                metadata: [
                    "event.id": "\(event.id)", "event.type": "\(event.type)",
                    "plugin.instance": "\(event.source)",
                ])
        }
        var out = Made(isRouted: !routes.isEmpty)
        var badges =
            generation.router.countsBadges ? BadgeSteps(recipients: event.recipients) : nil
        for index in routes {
            let made = try deliveries(
                of: fields, route: generation.router.routes[index], generation,
                receivedUnixMs: receivedUnixMs)
            if generation.router.routes[index].set.countsBadge {
                badges?.count(made.deliveries, from: out.deliveries.count)
            }
            out.deliveries += made.deliveries
            out.hasFailed = out.hasFailed || made.hasFailed
        }
        out.badges = badges?.steps ?? []
        return out
    }

    private func deliveries(
        of fields: EventFields, route: Route, _ generation: Generation, receivedUnixMs: UInt64
    ) throws(Unavailable) -> Made {
        let event = fields.event
        var fanOut = FanOut()
        let chosen = fanOut.selectRecipients(of: route, from: event.recipients)
        let recipients = chosen.map { event.recipients[$0] }
        SkipReport(context: context).write(fanOut.skips, of: event, on: route)
        let skipped = fanOut.skips.count
        guard !recipients.isEmpty else { return Made() }
        switch build(event, recipients: recipients, route: route, generation) {
        case .success(let built):
            for skip in built.skips {
                context.metrics.skipped(route: route.name, reason: skip.reason)
            }
            let count = built.contents.reduce(0) { $0 + $1.targets.count }
            guard var own = context.ids.take(count) else { throw Unavailable(words: Self.noIDs) }
            fanOut.add(
                built.contents, route: route, fields: fields, recipients: recipients,
                receivedUnixMs: receivedUnixMs, ids: &own)
            let late = Array(fanOut.skips.dropFirst(skipped))
            SkipReport(context: context).write(late, of: event, on: route)
        case .failure(let fault) where fault.kind == .again || fault.kind == .stopping:
            context.logger.warning(
                "event rejected: builder is unavailable",
                metadata: [
                    "event.id": "\(event.id)", "route.name": "\(route.name)",
                    "plugin.instance": "\(route.builder)", "error": "\(fault.message)",
                ])
            throw Unavailable(words: "builder \(route.builder) is unavailable")
        case .failure(let fault):
            context.metrics.event(source: event.source, result: "build_failed")
            context.logger.error(
                "builder failed on an event",
                metadata: [
                    "event.id": "\(event.id)", "route.name": "\(route.name)",
                    "plugin.instance": "\(route.builder)", "error": "\(fault.message)",
                ])
            return Made(hasFailed: true)
        }
        return Made(deliveries: fanOut.deliveries)
    }

    private func build(
        _ event: Event, recipients: [Recipient], route: Route, _ generation: Generation
    ) -> Result<BuildResult, PluginFault> {
        var builder = generation.instances.builders[route.builder]
        while let asked = builder {
            let built = asked.build(
                event, recipients: recipients, route: route.name, options: route.builderOptions)
            guard case .failure(let fault) = built, fault.kind == .stopping else { return built }
            // It was replaced in this moment: its successor builds the same.
            let next = context.live.now.instances.builders[route.builder]
            if next == nil || next === asked { return built }
            builder = next
        }
        return .failure(PluginFault(.unsupported, "the instance has no build role"))
    }
}

/// A builder that cannot be asked now, or whose answer was lost, or a store that gives no ids: the event is not
/// taken, so that its source sends it again.
private struct Unavailable: Error {
    let words: String
}
