internal import SignalboxCore
internal import SignalboxHTTP

/// Apps report opened notifications; receivers of outcomes get them.
extension DevicesService {
    private static let opensMax = 100

    func opened(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        guard case .array(let items) = try object(request, caller)["opens"], !items.isEmpty,
            items.count <= Self.opensMax
        else {
            throw Refusal(
                detail: "\"opens\" must be a list of 1 to \(Self.opensMax) objects with \"event\"")
        }
        let now = clock()
        let wish = outcomes.wish
        var pack = OutcomePack()
        for item in items {
            guard case .object = item else {
                throw Refusal(detail: "each of \"opens\" must be an object with \"event\"")
            }
            let event = try text(item, "event")
            let given = try text(item, "user", required: false)
            let user = caller.user == nil && given.isEmpty ? "" : try self.user(given, caller)
            let time = item["opened_unix_ms"]
            guard time == nil || time?.integer ?? -1 >= 0 else {
                throw Refusal(detail: "\"opened_unix_ms\" must be milliseconds since 1970")
            }
            // Opens of unknown pushes, and opens that no receiver wants, are left out: an app would only repeat
            // them after a refusal.
            guard let mark = OpenMark(event), access.routes.contains(mark.route),
                wish?.takes(.opened, route: mark.route) == true
            else { continue }
            // A device's clock may be fast.
            let unixMs = min(now, UInt64(clamping: time?.integer ?? Int64(clamping: now)))
            pack.add(opened: mark, user: user, app: caller.app, unixMs: unixMs)
            if access.keepsHistory {
                var step = HistoryStep(.opened, eventID: mark.eventID, unixMs: unixMs)
                step.who = user
                pack.history.add(step, user: user)
            }
        }
        try await outcomes.append(pack)
        return Self.json([
            .init("accepted", .integer(Int64(pack.count))),
            .init("ignored", .integer(Int64(items.count - pack.count))),
        ])
    }
}
