internal import SignalboxConfig
package import SignalboxCore
package import SignalboxGateway
internal import SignalboxStore

/// What `signalbox trace` shows, from the admin listener of a running gateway or else from its store.
package struct TraceTool: Sendable {
    /// For scripts.
    package let json: String
    /// For people.
    package let text: String
    /// Whether no event was found.
    package let isEmpty: Bool

    /// Finds events of the gateway with that configuration.
    package static func find(
        _ query: TraceQuery, _ options: GatewayOptions
    ) async throws -> TraceTool {
        let config = try options.readableConfig()
        let path = "/trace?\(query.text)"
        // A shared database is accessed through one of its gateways.
        if config.gateway.store != nil {
            return TraceTool(try await AdminClient.ask(options, "GET", path), query)
        }
        if let json = try await AdminClient.askIfRunning(config, options, path) {
            return TraceTool(json, query)
        }
        let store = try options.existingStore(config)
        do {
            let trace = try await TraceSearch.run(query, in: store)
            let paused = try await PauseOrders.entries(in: store)
            await store.close()
            return TraceTool(trace.json(query, holds: paused.map { TraceHold($0) }), query)
        } catch {
            await store.close()
            throw error
        }
    }

    package init(_ trace: JSONValue, _ query: TraceQuery) {
        json = trace.text
        let shown = TraceText(trace, query)
        text = shown.text
        isEmpty = shown.isEmpty
    }
}
