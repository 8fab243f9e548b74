package import SignalboxCore

/// What the way of events to the store needs from a gateway. All calls are short, and made on any thread.
package protocol IntakeWorld: Sendable {
    /// The current configuration.
    var rules: any IntakeRules { get }
    /// The current configuration with its filters and builders. Thread: worker.
    var stages: (any IntakeRules, any IntakePorts) { get }

    /// Looks up the devices of users.
    func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void)
    /// Stores changes of devices, with the reports that they cause.
    func change(
        _ changes: [DeviceChange], from source: String,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
    /// Stores an entry.
    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void)
    /// Runs a job on a worker: filters and builders run there, never on the store's thread.
    func onWorker(_ job: @escaping @Sendable () -> Void)

    /// The lane of a sender and app, if it is ready.
    func lane(_ key: LaneKey) -> Lane?
    /// Deliveries of a lane wait on disk.
    func backlog(_ key: LaneKey)

    /// Tells people what happened before the commit.
    func tell(_ notices: [EventIntake.Notice], from source: String)
    /// Tells people what was committed; `results` are metric labels, by item.
    func tell(_ items: [StoreEntry.Item], _ results: [String?], duplicates: Set<Int>)
}

/// An event that was committed, or that the commit left out as a duplicate.
package struct CommittedEvent: Sendable {
    package let id: UInt64
    package let deliveryCount: Int
    /// A metric label, as `RoutedEvent.result`; for duplicates, the label a new event would get.
    package let result: String?
}

/// From events to deliveries on disk: performs the steps of `EventIntake`.
package final class EventPipeline: Sendable {
    package typealias Done = @Sendable (StoreAnswer, [CommittedEvent]) -> Void

    /// Whom a request under way comes from, and whom to answer.
    private struct Request: Sendable {
        let source: String
        let onID: (@Sendable (UInt64) -> Void)?
        let done: Done
    }

    private let world: any IntakeWorld
    private let large: LargeEvents

    /// Takes the gateway. `large` bounds the devices of large events under way.
    package init(_ world: any IntakeWorld, large: LargeEvents = LargeEvents()) {
        (self.world, self.large) = (world, large)
    }

    /// Commits the deliveries of all events of a request, or none; `leavesOut` as of `EventIntake`.
    ///
    /// Thread: worker. `onID` hears the id of each event before it is routed. `done` is called on the committing thread
    /// once they are on disk, with the events in order, or without events if they are refused.
    package func accept(
        _ events: [Event], changes: [DeviceChange] = [], from source: String,
        receivedUnixMs: UInt64, leavesOut: Bool = false,
        onID: (@Sendable (UInt64) -> Void)? = nil, done: @escaping Done
    ) {
        var intake = EventIntake(
            events, changes: changes, from: source, receivedUnixMs: receivedUnixMs,
            leavesOut: leavesOut)
        let step = intake.begin(world.rules)
        perform(step, &intake, Request(source: source, onID: onID, done: done))
    }

    private func perform(
        _ first: EventIntake.Step, _ intake: inout EventIntake, _ request: Request
    ) {
        var step = first
        if case .route = step {
            var (rules, ports) = world.stages
            step = intake.route(rules, &ports, onID: request.onID)
        }
        let notices = intake.takeNotices()
        if !notices.isEmpty { world.tell(notices, from: request.source) }
        switch step {
        case .refuse(let answer): request.done(answer, [])
        case .lookUp(let users): lookUp(users, intake, request)
        case .change(let changes):
            world.change(changes, from: request.source) { [self, intake] result in
                var intake = intake
                perform(intake.changed(result), &intake, request)
            }
        case .append(let entry): append(entry, intake.results, request)
        case .route: preconditionFailure("routing never asks to be repeated")
        }
    }

    private func lookUp(_ users: [UserKey], _ intake: EventIntake, _ request: Request) {
        world.devices(of: users) { [self] answer in
            var intake = intake
            // Counted here and not on a worker: requests waiting for one already have their devices in memory.
            let (step, admitted) = intake.found(answer, world.rules, room: large)
            guard case .route = step else { return perform(step, &intake, request) }
            let request = Request(source: request.source, onID: request.onID) {
                [large, done = request.done] answer, committed in
                large.leave(admitted)
                done(answer, committed)
            }
            world.onWorker { [self, intake] in
                var intake = intake
                perform(.route, &intake, request)
            }
        }
    }

    private func append(_ entry: StoreEntry, _ results: [String?], _ request: Request) {
        let reserved = ReservedEntry(entry) { world.lane($0) }
        world.append(reserved.entry) { [world] answer in
            let items = reserved.entry.items
            if case .committed(let commit) = answer {
                world.tell(items, results, duplicates: commit.duplicates)
            }
            reserved.finish(answer) { world.backlog($0) }
            guard case .committed = answer else { return request.done(answer, []) }
            request.done(
                answer,
                items.indices.map { index in
                    CommittedEvent(
                        id: items[index].event.id, deliveryCount: items[index].deliveries.count,
                        result: results[index])
                })
        }
    }
}
