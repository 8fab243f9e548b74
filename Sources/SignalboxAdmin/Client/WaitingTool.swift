internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway

/// `signalbox waiting`: what waits to be sent, and orders to cancel it.
package struct WaitingTool: Sendable {
    /// What to cancel: deliveries that match every given field.
    package struct Selection: Sendable {
        /// The sender.
        package var sender: String?
        /// The route.
        package var route: String?
        /// The user.
        package var user: String?
        /// The event's id.
        package var event: UInt64?
        /// At least this old, in milliseconds.
        package var olderThanMs: UInt64?
        /// Whether the sender or route is one that a reload removed.
        package var isGone = false
        /// Whether everything that waits is meant.
        package var isAll = false

        /// Selects nothing yet.
        package init() {}

        /// Whether anything was selected.
        package var isMeant: Bool {
            sender != nil || route != nil || user != nil || event != nil || olderThanMs != nil
                || isAll
        }
    }

    /// For scripts.
    package let json: String
    /// For people.
    package let text: String

    /// What waits, by sender and app, and the cancel orders.
    package static func list(_ options: GatewayOptions) async throws -> WaitingTool {
        let fleet = try await AdminClient.ask(options, "GET", "/fleet")
        let orders = try await AdminClient.ask(options, "GET", "/waiting/cancelled")
        let lanes = fleet.items("lanes")
        var lines = lanes.map { lane in
            "\(lane["sender"]?.string ?? "") \(lane["app"]?.string ?? "")  "
                + "waiting \(lane["waiting"]?.integer ?? 0)  held \(lane["leased"]?.integer ?? 0)  "
                + "lag_ms \(lane["lag_ms"]?.integer ?? 0)"
        }
        lines += fleet.pauses.map(\.text)
        lines += orders.items("orders").map { "cancelled: \($0.text)" }
        let json = JSONValue.object([
            .init("lanes", .array(lanes)), .init("cancelled", .array(orders.items("orders"))),
        ])
        return WaitingTool(
            json: json.text,
            text: lines.isEmpty ? "nothing waits" : lines.joined(separator: "\n"))
    }

    /// Cancels what waits.
    package static func cancel(
        _ selection: Selection, _ options: GatewayOptions
    ) async throws -> WaitingTool {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue?) {
            if let value { members.append(.init(name, value)) }
        }
        add("sender", selection.sender.map { .string($0) })
        add("route", selection.route.map { .string($0) })
        add("user", selection.user.map { .string($0) })
        add("event", selection.event.map { .integer(Int64(clamping: $0)) })
        add("older_than_ms", selection.olderThanMs.map { .integer(Int64(clamping: $0)) })
        if selection.isGone { add("gone", .bool(true)) }
        if selection.isAll { add("all", .bool(true)) }
        add("by", .string(options.operatorName))
        let answer = try await AdminClient.ask(
            options, "POST", "/waiting/cancel", JSONValue.object(members).text)
        let count = answer["in_flight"]?.integer ?? 0
        let late =
            count == 0 ? "" : "; \(count) were on their way, and those that had left may arrive"
        return WaitingTool(json: answer.text, text: "cancelled\(late)")
    }
}
