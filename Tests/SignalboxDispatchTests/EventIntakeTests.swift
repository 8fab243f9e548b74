import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Every step of a request's events to the store, without plugins, stores and threads.
@Suite struct EventIntakeTests {
    private func event(_ dedupe: String = "", _ devices: Device...) -> Event {
        Event(
            source: "chat", type: "message", dedupe: dedupe,
            recipients: devices.map { Recipient(device: $0) })
    }

    private func phone(_ token: String, app: String = "a") -> Device {
        Device(app: app, platform: "ios", token: token)
    }

    private func intake(
        _ events: [Event], changes: [DeviceChange] = [], leavesOut: Bool = false
    ) -> EventIntake {
        EventIntake(
            events, changes: changes, from: "chat", receivedUnixMs: 1_000, leavesOut: leavesOut)
    }

    private func entry(_ step: EventIntake.Step) throws -> StoreEntry {
        guard case .append(let entry) = step else {
            throw Unexpected(step: "\(step)")
        }
        return entry
    }

    private func refusal(_ step: EventIntake.Step) throws -> StoreAnswer {
        guard case .refuse(let answer) = step else { throw Unexpected(step: "\(step)") }
        return answer
    }

    private struct Unexpected: Error { let step: String }

    /// Begins and routes; no user has to be looked up.
    private func route(
        _ intake: inout EventIntake, _ ports: inout RigPorts, _ rules: RigRules = RigRules()
    ) -> EventIntake.Step {
        guard case .route = intake.begin(rules) else {
            Issue.record("it does not begin with the routes")
            return .route
        }
        return intake.route(rules, &ports)
    }

    @Test func `events with tokens need no look-up and are stored together`() throws {
        var ports = RigPorts()
        var intake = intake([event("k1", phone("t1"), phone("t2")), event("k2", phone("t3"))])
        let entry = try entry(route(&intake, &ports))
        #expect(entry.items.map { $0.deliveries.map(\.device.token) } == [["t1", "t2"], ["t3"]])
        #expect(entry.items.map(\.event.id) == [1, 4])
        #expect(entry.items.map(\.event.dedupe) == ["k1", "k2"])
        #expect(entry.receivedUnixMs == 1_000 && entry.dedupeMs == RigRules().dedupeMs)
        #expect(intake.results == ["accepted", "accepted"])
        #expect(intake.takeNotices().isEmpty)
    }

    @Test func `each event's id is told before its plugins are asked`() throws {
        var (ports, ids) = (RigPorts(), [UInt64]())
        let rules = RigRules()
        var intake = intake([event("", phone("t1")), event("", phone("t2"))])
        _ = intake.begin(rules)
        _ = intake.route(rules, &ports) { ids.append($0) }
        #expect(ids == [1, 3])
    }

    @Test func `users become their devices, and a change of a user one of each device`() throws {
        let (rules, room) = (RigRules(), LargeEvents())
        let user = UserKey(app: "a", user: "ann")
        var ports = RigPorts()
        let gone = DeviceChange(kind: .unregistered, device: Device(app: "a", user: "ann"))
        var intake = intake([event("", Device(app: "a", user: "ann"))], changes: [gone])
        guard case .lookUp([user]) = intake.begin(rules) else {
            Issue.record("the user is not looked up")
            return
        }
        let devices = ["t1", "t2"].map { token in
            var device = phone(token)
            device.user = "ann"
            return RegisteredDevice(device: device)
        }
        let (next, admitted) = intake.found(.success([devices]), rules, room: room)
        guard case .route = next else {
            Issue.record("the events are not routed: \(next)")
            return
        }
        #expect(admitted == 2)
        guard case .change(let changes) = intake.route(rules, &ports) else {
            Issue.record("the changes are not stored first")
            return
        }
        #expect(changes.map(\.device.token) == ["t1", "t2"])
        let entry = try entry(intake.changed(.success(())))
        #expect(entry.items[0].deliveries.map(\.device.token) == ["t1", "t2"])
    }

    @Test func `a change gets its platforms and whether it shares the token from the rules`() throws
    {
        var rules = RigRules()
        rules.sharing = ["chat"]
        var ports = RigPorts()
        let change = DeviceChange(kind: .registered, device: phone("t1"))
        var intake = intake([], changes: [change])
        guard case .change(let changes) = route(&intake, &ports, rules) else {
            Issue.record("the change is not stored")
            return
        }
        #expect(changes[0].isShared && changes[0].platforms == ["ios", "ipados"])
        let refused = try refusal(intake.changed(.failure(.full)))
        #expect(refused == .failed(StoreFailure.full.message))
    }

    @Test func `a look-up that fails refuses the request and holds no room`() throws {
        let (rules, room) = (RigRules(), LargeEvents(devicesMin: 0, devicesMax: 1))
        var intake = intake([event("", Device(app: "a", user: "ann"))])
        _ = intake.begin(rules)
        let failed = intake.found(.failure(StoreFailure(message: "gone")), rules, room: room)
        #expect(try refusal(failed.next) == .failed("the devices could not be looked up"))
        // Users are found by place, so an answer for fewer could give one user's devices to another.
        let short = intake.found(.success([]), rules, room: room)
        #expect(try refusal(short.next) == .failed("the devices could not be looked up"))
        #expect(failed.admitted == 0 && short.admitted == 0 && room.enter(1))
    }

    @Test func `large events wait for room`() throws {
        let (rules, room) = (RigRules(), LargeEvents(devicesMin: 0, devicesMax: 1))
        #expect(room.enter(1))
        var intake = intake([event("", Device(app: "a", user: "ann"))])
        _ = intake.begin(rules)
        let busy = intake.found(.success([[]]), rules, room: room)
        guard case .unavailable = try refusal(busy.next),
            case .busy(devices: 1)? = intake.notices.first
        else {
            Issue.record("not busy: \(busy.next) \(intake.notices)")
            return
        }
        room.leave(1)
        #expect(intake.found(.success([[]]), rules, room: room).admitted == 1)
    }

    @Test func `a batch that names a user too often is too large as a whole, from a bus it is not`()
        throws
    {
        let user = UserKey(app: "a", user: "ann")
        let devices = (0..<100_001).map { RegisteredDevice(device: phone("t\($0)")) }
        let events = (0..<2).map { _ in event("", Device(app: "a", user: "ann")) }
        var webhook = intake(events)
        _ = webhook.begin(RigRules())
        let refused = webhook.found(.success([devices]), RigRules(), room: LargeEvents())
        guard case .tooLarge = try refusal(refused.next) else {
            Issue.record("\(refused.next)")
            return
        }
        var bus = intake(events, leavesOut: true)
        _ = bus.begin(RigRules())
        let taken = bus.found(.success([devices]), RigRules(), room: LargeEvents())
        #expect(taken.admitted == 200_002)
    }

    @Test func `an event with too many devices refuses a webhook, and a bus loses it alone`() throws
    {
        var rules = RigRules()
        rules.devicesPerEvent = 1
        var ports = RigPorts()
        let events = [event("k1", phone("t1"), phone("t2")), event("k2", phone("t3"))]
        var webhook = intake(events)
        let refused = try refusal(route(&webhook, &ports, rules))
        #expect(refused == .tooLarge("the event goes to 2 devices; at most 1"))
        #expect(ports.asked.isEmpty)
        var bus = intake(events, leavesOut: true)
        let entry = try entry(route(&bus, &ports, rules))
        #expect(entry.items.map(\.event.dedupe) == ["k2"])
        guard case .excess(let left, _)? = bus.takeNotices().first else {
            Issue.record("nobody is told")
            return
        }
        #expect(left.dedupe == "k1")
    }

    @Test func `an event reaches at most 100 apps`() throws {
        var rules = RigRules()
        rules.devicesPerEvent = 1_000
        for (count, isTaken) in [(100, true), (101, false)] {
            var ports = RigPorts()
            let devices = (0..<count).flatMap { number in
                [0, 1].map { phone("t\(number)-\($0)", app: "a\(number)") }
            }
            var event = event("")
            event.recipients = devices.map { Recipient(device: $0) }
            var intake = intake([event])
            let step = route(&intake, &ports, rules)
            if case .append = step { #expect(isTaken) } else { #expect(!isTaken) }
        }
    }

    @Test func `a webhook whose recipients are all unusable is refused, and a bus is not`() throws {
        let unusable = event("", Device(user: "\u{1}"))
        var (webhook, bus) = (intake([unusable]), intake([unusable], leavesOut: true))
        guard case .refuse(.unprocessable) = webhook.begin(RigRules()),
            case .unusable? = webhook.takeNotices().first
        else {
            Issue.record("it is not refused")
            return
        }
        var ports = RigPorts()
        #expect(try entry(route(&bus, &ports)).items.count == 1)
        #expect(bus.results == ["unreached"])
    }

    @Test(arguments: ["f", "b-r"]) func `what is unavailable refuses the whole request`(
        _ name: String
    ) throws {
        let rules = RigRules([RigRules.route("r", filters: ["f"])])
        var ports = RigPorts()
        ports.faults[name] = StageFault("starting", .resend)
        var intake = intake([event("k1", phone("t1")), event("k2", phone("t2"))])
        let role = name == "f" ? "filter f" : "builder b-r"
        let refused = try refusal(route(&intake, &ports, rules))
        #expect(refused == .unavailable("\(role) is unavailable"))
        guard case .unavailable(_, let end)? = intake.takeNotices().first else {
            Issue.record("nobody is told")
            return
        }
        #expect(end.who == role && end.fault.description == "starting")
    }

    @Test func `a builder that fails refuses an event that came alone`() throws {
        for (remedy, isForGood) in [(StageFault.Remedy.giveUp, false), (.giveUpForGood, true)] {
            var ports = RigPorts()
            ports.faults["b-r"] = StageFault("no template", remedy)
            var alone = intake([event("k", phone("t"))])
            let words = "builder b-r failed on this event"
            let refused = try refusal(route(&alone, &ports))
            #expect(refused == (isForGood ? .unprocessable(words) : .unavailable(words)))
            // Among others, and from a bus that would emit it forever, it is kept without key and deliveries.
            var batch = intake([event("k", phone("t")), event("k2", phone("t"))])
            #expect(try entry(route(&batch, &ports)).items.map(\.event.dedupe) == ["", ""])
            var bus = intake([event("k", phone("t"))], leavesOut: true)
            #expect(try entry(route(&bus, &ports)).items[0].deliveries.isEmpty)
            #expect(bus.results == [nil])
        }
    }

    @Test func `a builder that fails on one route leaves the other route's push`() throws {
        let rules = RigRules([RigRules.route("one"), RigRules.route("two")])
        var ports = RigPorts()
        ports.faults["b-one"] = StageFault("no template", .giveUp)
        var intake = intake([event("k", phone("t"))])
        let item = try #require(try entry(route(&intake, &ports, rules)).items.first)
        #expect(item.deliveries.map(\.route) == ["two"] && item.event.dedupe.isEmpty)
    }

    @Test func `whom a filter drops is named by the place in the event`() throws {
        let rules = RigRules([RigRules.route("r", filters: ["f"])])
        var ports = RigPorts()
        ports.drops = [FanOut.Skip(recipient: 0, reason: "muted")]
        let android = Device(app: "a", platform: "android", token: "t0")
        var intake = intake([event("", android, phone("t1"), phone("t2"))])
        let item = try #require(try entry(route(&intake, &ports, rules)).items.first)
        #expect(item.deliveries.map(\.device.token) == ["t2"])
        guard case .routed(let routed)? = intake.takeNotices().first,
            case .leftOut(let left, route: 0)? = routed.notices.first,
            case .dropped(let dropped, route: 0)? = routed.notices.last
        else {
            Issue.record("nobody is told")
            return
        }
        #expect(left == [FanOut.Skip(recipient: 0, reason: "no_sender")])
        #expect(dropped == [FanOut.Skip(recipient: 1, reason: "muted")])
    }

    @Test func `without ids nothing is stored, and the source resends`() throws {
        var ports = RigPorts()
        ports.hasIDs = false
        var intake = intake([event("k", phone("t"))])
        #expect(try refusal(route(&intake, &ports)) == EventRefusal.noIDs.answer)
    }

    @Test func `an event that no route takes is kept, unless a reload removed its source`() throws {
        var ports = RigPorts()
        var kept = intake([event("k", phone("t"))])
        #expect(try entry(route(&kept, &ports, RigRules([]))).items.count == 1)
        #expect(kept.results == ["unrouted"] && kept.takeNotices().count == 1)
        var refused = intake([event("k", phone("t"))])
        #expect(
            try refusal(route(&refused, &ports, RigRules([], sources: [])))
                == .unavailable("plugin chat was removed"))
    }
}
