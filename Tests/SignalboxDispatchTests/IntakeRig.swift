import SignalboxCore

@testable import SignalboxDispatch

/// A configuration of one source, `chat`, whose routes send to `s0`.
struct RigRules: IntakeRules {
    var router: Router
    var keepsHistory = false
    var devicesPerEvent = 100
    var dedupeMs: UInt64 = 24 * 3_600_000
    var sources: Set<String>
    var sharing: Set<String> = []

    init(_ routes: [Route] = [RigRules.route("r")], sources: Set<String> = ["chat"]) {
        (router, self.sources) = (Router(routes: routes), sources)
    }

    static func route(_ name: String, filters: [String] = []) -> Route {
        var route = Route(
            name: name, sources: ["chat"], builder: "b-\(name)", senders: ["ios": "s0"])
        route.filters = filters.map { Route.Filter($0) }
        return route
    }

    func dedupeMs(of event: Event) -> UInt64 { dedupeMs }
    func hasSource(_ name: String) -> Bool { sources.contains(name) }
    func sharesTokens(_ source: String) -> Bool { sharing.contains(source) }
    func platforms(of device: Device) -> Set<String> { [device.platform, "ipados"] }
}

/// Filters and builders that pass everything on unless a fault is set for their name.
struct RigPorts: IntakePorts {
    var faults: [String: StageFault] = [:]
    var drops: [FanOut.Skip] = []
    var lastID: UInt64 = 0
    var hasIDs = true
    var asked: [String] = []

    mutating func takeEventID() -> UInt64? {
        guard hasIDs else { return nil }
        lastID += 1
        return lastID
    }

    mutating func takeIDs(_ count: Int) -> DeliveryIDs? {
        guard hasIDs else { return nil }
        defer { lastID += UInt64(count) }
        return DeliveryIDs(last: lastID, stableIDs: StableIDs(seed: (1, lastID)))
    }

    mutating func filter(
        _ question: RoutedEvent.Question, with filter: Route.Filter, on route: Route
    ) -> Result<Filtered, StageFault> {
        asked.append(filter.instance)
        if let fault = faults[filter.instance] { return .failure(fault) }
        var out = Filtered()
        out.drops = drops
        return .success(out)
    }

    mutating func build(
        _ question: RoutedEvent.Question, on route: Route
    ) -> Result<BuildResult, StageFault> {
        asked.append(route.builder)
        if let fault = faults[route.builder] { return .failure(fault) }
        var out = BuildResult()
        let targets = question.recipients.indices.map { BuiltContent.Target(recipient: $0) }
        var note = PushNotification()
        note.title = "hello"
        out.contents = [BuiltContent(notification: note, targets: targets)]
        return .success(out)
    }
}
