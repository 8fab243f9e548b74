package import SignalboxCore
internal import SignalboxGateway

/// Selects dead letters.
package struct DeadSelection: Sendable {
    /// Only these ids.
    package var ids: [UInt64] = []
    /// The sender's plugin instance.
    package var sender: String?
    /// The route's name.
    package var route: String?
    /// The reason.
    package var reason: String?
    /// The user of the device.
    package var user: String?
    /// The app of the device.
    package var app: String?
    /// Only those that died before this time, in Unix milliseconds.
    package var beforeUnixMs: UInt64?
    /// Only those that died at this time or later, in Unix milliseconds.
    package var sinceUnixMs: UInt64?
    /// All of them, which must be explicit.
    package var isAll = false
    var fromID: UInt64 = 0

    /// Selects nothing yet.
    package init() {}

    package init(_ body: AdminBody) {
        ids = body.ids("ids")
        sender = body.text("sender")
        route = body.text("route")
        reason = body.text("reason")
        user = body.text("user")
        app = body.text("app")
        beforeUnixMs = body.number("before")
        sinceUnixMs = body.number("since")
        isAll = body.flag("all")
        fromID = body.number("from") ?? 0
    }

    /// From a query, which is read only.
    package init(json: JSONValue) {
        if case .array(let items) = json["ids"] {
            ids = items.compactMap { $0.integer.map { UInt64(clamping: $0) } }
        }
        sender = json["sender"]?.scalarText
        route = json["route"]?.scalarText
        reason = json["reason"]?.scalarText
        user = json["user"]?.scalarText
        app = json["app"]?.scalarText
        beforeUnixMs = json["before"]?.integer.map { UInt64(clamping: $0) }
        sinceUnixMs = json["since"]?.integer.map { UInt64(clamping: $0) }
        isAll = json["all"] == .bool(true)
        fromID = UInt64(clamping: json["from"]?.integer ?? 0)
    }

    /// Whether anything was selected: a mistake must not empty the table.
    package var isMeant: Bool {
        isAll || !ids.isEmpty || sender != nil || route != nil || reason != nil
            || user != nil || app != nil || beforeUnixMs != nil || sinceUnixMs != nil
    }

    var filter: DeadFilter {
        var filter = DeadFilter()
        filter.ids = ids
        filter.sender = sender
        filter.route = route
        filter.reason = reason
        filter.user = user
        filter.app = app
        filter.beforeUnixMs = beforeUnixMs
        filter.sinceUnixMs = sinceUnixMs
        return filter
    }

    func json(fromID: UInt64, limit: Int) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("from", .integer(Int64(clamping: fromID))),
            .init("limit", .integer(Int64(limit))),
        ]
        if isAll { members.append(.init("all", .bool(true))) }
        if !ids.isEmpty {
            members.append(.init("ids", .array(ids.map { .integer(Int64(clamping: $0)) })))
        }
        let texts = [
            ("sender", sender), ("route", route), ("reason", reason), ("user", user), ("app", app),
        ]
        for (key, text) in texts {
            if let text { members.append(.init(key, .string(text))) }
        }
        for (key, ms) in [("before", beforeUnixMs), ("since", sinceUnixMs)] {
            if let ms { members.append(.init(key, .integer(Int64(clamping: ms)))) }
        }
        return .object(members)
    }

    package func query(fromID: UInt64, limit: Int) -> String {
        guard case .object(let members) = json(fromID: fromID, limit: limit) else { return "" }
        return members.compactMap { member in
            member.value.scalarText.map { "\(member.key)=\(PercentEncoding.encode($0))" }
        }.joined(separator: "&")
    }
}
