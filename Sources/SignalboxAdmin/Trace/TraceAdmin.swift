internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP

/// `GET /trace` on the admin listener.
struct TraceAdmin: Sendable {
    let store: any HistoryStore
    let current: CurrentGeneration
    let pauses: PauseOrders
    let lanes: LaneTable

    var paths: [AdminPath] { [AdminPath(.trace) { input, _ in try await answer(input) }] }

    private func answer(_ input: AdminInput) async throws -> HTTPServerAnswer {
        guard current.generation.keepsHistory else {
            throw Problem(404, "gateway.history is false: nothing is kept for traces")
        }
        let query = try TraceQuery(input)
        let trace = try await TraceSearch.run(query, in: store)
        return .json(trace.json(query, holds: holds).merging(.object([routes])))
    }

    /// Why deliveries wait. For a paused sender it is unknown whether its provider is down.
    private var holds: [TraceHold] {
        let paused = pauses.all.map { TraceHold($0) }
        let held = lanes.all.sorted { $0.key < $1.key }.compactMap { lane -> TraceHold? in
            guard pauses.entry(of: lane.key) == nil else { return nil }
            return lane.hold.map { TraceHold(lane.key, $0) }
        }
        return paused + held
    }

    /// The other routes of the events' sources.
    private var routes: JSONValue.Member {
        let routes = current.generation.router.routes.map(\.fields).map { route in
            JSONValue.object([
                .init("route", .string(route.name)),
                .init("sources", .array(route.sources.map { .string($0) })),
            ])
        }
        return .init("routes", .array(routes))
    }
}
