internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP

/// `POST /waiting/cancel` and `GET /waiting/cancelled` on the admin listener.
struct CancelAdmin: Sendable {
    let pauses: PauseOrders
    let lanes: LaneTable
    /// The names that operators may give.
    let names: @Sendable () -> KnownNames
    let clock: @Sendable () -> UInt64

    var paths: [AdminPath] {
        [
            AdminPath(.cancelled) { _, _ in
                .json(["orders": .array(pauses.cancelled.map(\.json))])
            },
            AdminPath(.cancel) { input, _ in try await cancel(input) },
        ]
    }

    private func cancel(_ input: AdminInput) async throws -> HTTPServerAnswer {
        let now = clock()
        let age = input.number("older_than_ms")
        // Includes what was received in this millisecond.
        var order = CancelOrder(beforeUnixMs: now - min(now, age ?? 0) + (age == nil ? 1 : 0))
        order.sender = input.text("sender")
        order.route = input.text("route")
        order.user = input.text("user")
        order.eventID = input.number("event")
        let isNamed =
            order.sender != nil || order.route != nil || order.user != nil || order.eventID != nil
        guard isNamed || age != nil || input.flag("all") else {
            throw Problem(400, "give sender, route, user, event or older_than_ms, or \"all\": true")
        }
        if !input.flag("gone"), let fault = names().fault(sender: order.sender, route: order.route)
        {
            throw Problem(
                404, "\(fault); for one that a reload took away, add \"gone\": true (--gone)")
        }
        let by = input.text("by") ?? ""
        let entry = CancelEntry(
            id: "\(now)-\(UInt32.random(in: .min ... .max))", order: order,
            by: by.isEmpty ? "admin" : String(by.filter { !$0.isNewline }.prefix(200)))
        guard try await pauses.cancel(entry) else {
            throw Problem(
                409, "there are \(CancelEntry.countMax) orders to cancel; each ends after 31 days")
        }
        let inFlight = lanes.all.reduce(0) { $0 + $1.inFlight(coveredBy: order) }
        lanes.applyPauses(pauses)
        return .json(
            ["order": entry.json, "in_flight": .integer(Int64(inFlight))])
    }
}
