internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP

/// `GET /trace` on the admin listener.
struct TraceAdmin: Sendable {
    let context: DispatchContext
    let lanes: LaneTable

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        guard context.live.now.keepsHistory else {
            return Problem(404, "gateway.history is false: nothing is kept for traces").answer
        }
        let query: TraceQuery
        do throws(TraceFault) {
            query = try TraceQuery(query: request.query)
        } catch {
            return Problem(400, error.description).answer
        }
        do {
            let trace = try await TraceSearch.run(query, in: context.store)
            return .json(trace.json(query).merging(now))
        } catch {
            return Problem(503, "\(error)").answer
        }
    }

    /// Why deliveries wait: the senders that are held, and the sources' other routes.
    private var now: JSONValue {
        let held = lanes.all.sorted { $0.key < $1.key }.compactMap { lane -> JSONValue? in
            guard let hold = lane.hold else { return nil }
            return .object([
                .init("sender", .string(lane.key.name)), .init("app", .string(lane.key.app)),
                .init("cause", .string(hold.cause.rawValue)),
                .init("reason", .string(hold.reason)),
                .init("since_unix_ms", .integer(Int64(clamping: hold.sinceUnixMs))),
            ])
        }
        let routes = context.live.now.router.routes.map { route in
            JSONValue.object([
                .init("route", .string(route.name)),
                .init("sources", .array(route.sources.map { .string($0) })),
            ])
        }
        return .object([.init("held", .array(held)), .init("routes", .array(routes))])
    }
}
