internal import SignalboxConfig
package import SignalboxCore
package import SignalboxGateway
internal import SignalboxOffline
internal import SignalboxPostgres
internal import SignalboxStore
internal import SignalboxThreads

/// What a gateway's store also says while the gateway is stopped.
extension AdminReport {
    /// The gateways that share a store, and what waits in it.
    package static func fleet(_ options: GatewayOptions) async throws -> AdminReport {
        let config = try options.readableConfig()
        // Without a gateway at this listener, another one may still run.
        let running = try await AdminClient.askIfRunning(config, options, .fleet)
        let fleet: JSONValue
        if let running { fleet = running } else { fleet = try await stored(config, options).json }
        return AdminReport(fleet, FleetText(fleet).text)
    }

    private static func stored(
        _ config: GatewayConfig, _ options: GatewayOptions
    ) async throws -> Fleet {
        if let settings = config.gateway.store {
            let address = try PostgresAddress(settings.address)
            let fleet = await SystemThread.value {
                Result { () throws(StoreError) in
                    try PostgresStore.fleet(of: address, usesNames: !settings.isPooled)
                }
            }
            return try fleet.mapError { StoreTool.Fault($0) }.get()
        }
        return try await options.reading(config) { try await $0.fleet() }
    }

    /// What became of events.
    package static func trace(
        _ query: TraceQuery, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let config = try options.readableConfig()
        // A shared database is accessed through one of its gateways.
        if config.gateway.store != nil {
            return AdminReport(try await options.ask(.trace, query.input), query)
        }
        let running = try await AdminClient.askIfRunning(config, options, .trace, query.input)
        if let running { return AdminReport(running, query) }
        return AdminReport(
            try await options.reading(config) { store in
                let trace = try await TraceSearch.run(query, in: store)
                let paused = try await PauseOrders.entries(in: store)
                return trace.json(query, holds: paused.map { TraceHold($0) })
            }, query)
    }

    package init(_ trace: JSONValue, _ query: TraceQuery) {
        let shown = TraceText(trace, query)
        self.init(trace, shown.text)
        isEmpty = shown.isEmpty
    }
}

extension GatewayOptions {
    /// Opens the data folder of a stopped gateway, and closes it after a body.
    fileprivate func reading<T: Sendable>(
        _ config: GatewayConfig, _ body: (SQLiteStore) async throws -> T
    ) async throws -> T {
        let store = try existingStore(config)
        let result: Result<T, any Error>
        do { result = .success(try await body(store)) } catch { result = .failure(error) }
        await store.close()
        return try result.get()
    }
}
