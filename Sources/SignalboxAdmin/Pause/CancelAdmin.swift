internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP

/// `POST /waiting/cancel` and `GET /waiting/cancelled` on the admin listener.
struct CancelAdmin: Sendable {
    let context: DispatchContext
    let lanes: LaneTable

    var paths: [AdminPath] {
        [
            .show("/waiting/cancelled") { _ in
                .json(.object([.init("orders", .array(context.pauses.cancelled.map(\.json)))]))
            },
            .change("/waiting/cancel") { request in
                await AdminBody.answer { try await cancel(request) }
            },
        ]
    }

    private func cancel(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        let body = try AdminBody(
            request.body,
            [
                "sender": .name, "route": .name, "user": .name, "event": .number,
                "older_than_ms": .number, "all": .flag, "gone": .flag, "by": .text,
            ])
        let now = context.clock()
        let age = body.number("older_than_ms")
        // Includes what was received in this millisecond.
        var order = CancelOrder(beforeUnixMs: now - min(now, age ?? 0) + (age == nil ? 1 : 0))
        order.sender = body.text("sender")
        order.route = body.text("route")
        order.user = body.text("user")
        order.eventID = body.number("event")
        let isNamed =
            order.sender != nil || order.route != nil || order.user != nil || order.eventID != nil
        guard isNamed || age != nil || body.flag("all") else {
            return Problem(
                400, "give sender, route, user, event or older_than_ms, or \"all\": true"
            ).answer
        }
        let names = KnownNames(context.current.generation)
        if !body.flag("gone"), let fault = names.fault(sender: order.sender, route: order.route) {
            return Problem(
                404,
                "\(fault); for one that a reload took away, add \"gone\": true (--gone)"
            ).answer
        }
        let by = body.text("by") ?? ""
        let entry = CancelEntry(
            id: "\(now)-\(UInt32.random(in: .min ... .max))", order: order,
            by: by.isEmpty ? "admin" : String(by.filter { !$0.isNewline }.prefix(200)))
        guard try await context.pauses.cancel(entry) else {
            return Problem(
                409, "there are \(CancelEntry.countMax) orders to cancel; each ends after 31 days"
            ).answer
        }
        let inFlight = lanes.all.reduce(0) { $0 + $1.inFlight(coveredBy: order) }
        lanes.applyPauses(context.pauses)
        return .json(
            .object([
                .init("order", entry.json), .init("in_flight", .integer(Int64(inFlight))),
            ]))
    }
}
