import SignalboxCore
import Synchronization

@testable import SignalboxDispatch

/// One life of a gateway as the way of events to the store sees it: a slow store, and plugins that fail at times.
struct SimIntake: IntakeWorld {
    static let devicesMax = 12
    static var room: LargeEvents { LargeEvents(devicesMin: 2, devicesMax: devicesMax) }

    let gateway: SimGateway
    let process: SimProcess

    var rules: any IntakeRules { gateway.rules }

    var stages: (any IntakeRules, any IntakePorts) {
        (gateway.rules, SimPorts(clock: gateway.clock, store: gateway.store))
    }

    func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void
    ) {
        gateway.store.devices(of: users, of: process) { done(Self.result($0)) }
    }

    func change(
        _ changes: [DeviceChange], from source: String,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        gateway.store.change(changes, of: process) { [gateway] answer in
            if answer != nil { gateway.reportsWritten() }
            done(Self.result(answer).map { _ in })
        }
    }

    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        gateway.store.append(entry, of: process) { done($0 ?? .failed("as the test wants")) }
    }

    func onWorker(_ job: @escaping @Sendable () -> Void) { process.run(job) }

    func lane(_ key: LaneKey) -> Lane? { gateway.lane(key) }
    func backlog(_ key: LaneKey) { gateway.lane(key)?.backlog() }

    func tell(_ notices: [EventIntake.Notice], from source: String) {}
    func tell(_ items: [StoreEntry.Item], _ results: [String?], duplicates: Set<Int>) {}

    fileprivate static func result<Value>(_ answer: Value?) -> Result<Value, StoreFailure> {
        answer.map { .success($0) } ?? .failure(StoreFailure(message: "as the test wants"))
    }
}

/// One life of a gateway as reports on their way to the queue see it.
struct SimOutbox: OutboxWorld {
    let gateway: SimGateway
    let process: SimProcess

    private var store: SimStore { gateway.store }

    var nowUnixMs: UInt64 { process.now.unixMs }
    func after(ms: UInt64, _ job: @escaping @Sendable () -> Void) { process.later(ms: ms, job) }
    func takeIDs(_ count: Int) -> DeliveryIDs? {
        SimPorts(clock: gateway.clock, store: store).takeIDs(count)
    }
    func name(of device: Device) -> String { device.token }
    func content(of change: DeviceChange, receivedUnixMs: UInt64) -> SharedNotification {
        SharedNotification(PushNotification(), receivedUnixMs: receivedUnixMs)
    }

    func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) { store.outbox(max: max, of: process) { done(SimIntake.result($0)) } }

    func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        store.removeFromOutbox(through: id, of: process) {
            done(SimIntake.result($0).map { _ in })
        }
    }

    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        store.append(entry, of: process) { done($0 ?? .failed("as the test wants")) }
    }

    func backlog(_ key: LaneKey) { gateway.lane(key)?.backlog() }
    func tell(_ entries: [OutboxEntry], done: @escaping @Sendable (Bool) -> Void) { done(true) }
}

/// A builder that renders each recipient a content of its own.
private struct SimPorts: IntakePorts {
    let clock: SimClock
    let store: SimStore

    func takeEventID() -> UInt64? { clock.chance(0.02) ? nil : store.takeIDs(1) }

    func takeIDs(_ count: Int) -> DeliveryIDs? {
        guard !clock.chance(0.02) else { return nil }
        let first = store.takeIDs(UInt64(count))
        return DeliveryIDs(last: first - 1, stableIDs: StableIDs(seed: (first, 1)))
    }

    func filter(
        _ question: RoutedEvent.Question, with filter: Route.Filter, on route: Route
    ) -> Result<Filtered, StageFault> {
        clock.chance(0.02)
            ? .failure(StageFault("it is just replaced", .resend)) : .success(Filtered())
    }

    func build(
        _ question: RoutedEvent.Question, on route: Route
    ) -> Result<BuildResult, StageFault> {
        guard question.fields.event.type != "poison" else {
            return .failure(StageFault("it crashes on this event", .giveUpForGood))
        }
        guard !clock.chance(0.05) else {
            return .failure(StageFault("it is just replaced", .resend))
        }
        var built = BuildResult()
        built.contents = question.recipients.indices.map { index in
            var note = PushNotification()
            note.title = "hello"
            note.priority = [.high, .normal, .low][Int(clock.dice(3))]
            if question.recipients[index].device.token == "t" {
                note.collapse = "k\(clock.dice(3))"
            }
            return BuiltContent(notification: note, targets: [.init(recipient: index)])
        }
        return .success(built)
    }
}
