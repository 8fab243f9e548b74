internal import SignalboxCore

extension Trace {
    /// As the admin API returns it. `query` selects the recipients shown of a large event; `holds` are the current
    /// reasons to wait.
    func json(_ query: TraceQuery, holds: [TraceHold]) -> JSONValue {
        [
            "events": .array(entries.map { $0.json(query, holds) }), "is_cut": .bool(isCut),
            "held": .array(holds.map(\.json)),
        ]
    }
}

extension Trace.Entry {
    fileprivate func json(_ query: TraceQuery, _ holds: [TraceHold]) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("event", .integer(Int64(clamping: event.id))),
            .init("received_unix_ms", .integer(Int64(clamping: event.receivedUnixMs))),
            .init("result", .string(result)), .init("source", .string(event.source)),
            .init("type", .string(event.type)),
        ]
        members.put("source_id", event.sourceID)
        members.put("subject", event.subject)
        members.put("gateway", gateway)
        if let original {
            members.append(.init("duplicate_of", .integer(Int64(clamping: original))))
        }
        members.append(.init("routes", .array(event.routes.map(\.json))))
        let shown = event.targets.filter { query.takes($0) }
        members.append(.init("recipients_count", .integer(Int64(event.targets.count))))
        members.append(.init("recipients", .array(shown.map { json($0, holds) })))
        let opens = steps.filter { $0.step.kind == .opened }
        if !opens.isEmpty { members.append(.init("opens", .array(opens.map(Self.json)))) }
        return .object(members)
    }

    /// `accepted`, `duplicate`, `unrouted` or `unreached`, as in the metrics.
    private var result: String {
        if event.isDuplicate { return "duplicate" }
        if event.targets.contains(where: { $0.delivery != 0 }) { return "accepted" }
        return event.routes.contains { $0.unmet.isEmpty } ? "unreached" : "unrouted"
    }

    private func json(_ target: HistoryTarget, _ holds: [TraceHold]) -> JSONValue {
        var members: [JSONValue.Member] = []
        var name = ""
        if let route = target.route, event.routes.indices.contains(route) {
            name = event.routes[route].name
        }
        members.put("route", name)
        members.put("user", target.user)
        members.put("app", target.app)
        members.put("platform", target.platform)
        members.put("token", target.token)
        members.put("sender", target.sender)
        let own = target.delivery == 0 ? [] : steps.filter { $0.step.delivery == target.delivery }
        let state = state(target, own)
        members.put("state", state)
        members.put("reason", target.skipped.isEmpty ? own.last?.step.reason ?? "" : target.skipped)
        if target.notBeforeUnixMs != 0 {
            let notBefore = Int64(clamping: target.notBeforeUnixMs)
            members.append(.init("not_before_unix_ms", .integer(notBefore)))
        }
        if target.delivery != 0 {
            members.append(.init("delivery", .integer(Int64(clamping: target.delivery))))
        }
        if !own.isEmpty { members.append(.init("steps", .array(own.map(Self.json)))) }
        let waitsFor = state == "waiting" ? holds.filter { $0.covers(target, on: name) } : []
        if !waitsFor.isEmpty { members.append(.init("held", .array(waitsFor.map(\.json)))) }
        return .object(members)
    }

    /// `skipped`, `waiting`, `delivered`, `dead`, `cancelled` or `superseded`; empty for a duplicate.
    private func state(_ target: HistoryTarget, _ own: [Trace.Step]) -> String {
        if event.isDuplicate { return "" }
        if target.delivery == 0 { return "skipped" }
        return switch own.last?.step.kind {
        case .delivered, .opened: "delivered"
        case .failed: "dead"
        case .cancelled: "cancelled"
        case .superseded: "superseded"
        case .retried, .takenOver, nil: "waiting"
        }
    }

    private static func json(_ step: Trace.Step) -> JSONValue {
        let (step, gateway) = step
        var members: [JSONValue.Member] = [
            .init("what", .string(step.kind.name)),
            .init("unix_ms", .integer(Int64(clamping: step.unixMs))),
        ]
        if step.attempt > 0 { members.append(.init("attempt", .integer(Int64(step.attempt)))) }
        members.put("reason", step.reason)
        if step.code != 0 { members.append(.init("code", .integer(Int64(step.code)))) }
        members.put("detail", step.detail)
        members.put("provider_id", step.providerID)
        if step.nextUnixMs != 0 {
            members.append(.init("next_unix_ms", .integer(Int64(clamping: step.nextUnixMs))))
        }
        members.put("who", step.who)
        members.put("gateway", gateway)
        return .object(members)
    }
}

extension HistoryRoute {
    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("route", .string(name)), .init("matches", .bool(unmet.isEmpty)),
        ]
        members.put("unmet", unmet)
        members.put("fault", fault)
        return .object(members)
    }
}

extension [JSONValue.Member] {
    /// Adds a text unless it is empty.
    fileprivate mutating func put(_ key: String, _ text: String) {
        if !text.isEmpty { append(.init(key, .string(text))) }
    }
}
