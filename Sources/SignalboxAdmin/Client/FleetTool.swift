internal import SignalboxConfig
package import SignalboxCore
package import SignalboxGateway
internal import SignalboxOffline
internal import SignalboxPostgres
internal import SignalboxStore
internal import SignalboxThreads

/// What `signalbox fleet` shows, from the admin listener of a running gateway or else from its store.
package struct FleetTool: Sendable {
    /// For scripts.
    package let json: String
    /// For people.
    package let text: String

    /// Reads the fleet of the gateway with that configuration.
    package static func read(_ options: GatewayOptions) async throws -> FleetTool {
        let config = try options.readableConfig()
        // Without a gateway at this listener, another one may still run.
        if let json = try await AdminClient.askIfRunning(config, options, "/fleet") {
            return FleetTool(json)
        }
        return FleetTool(try await stored(config, options).json)
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
        let store = try options.existingStore(config)
        do {
            let fleet = try await store.fleet()
            await store.close()
            return fleet
        } catch {
            await store.close()
            throw error
        }
    }

    package init(_ fleet: JSONValue) {
        json = fleet.text
        text = FleetText(fleet).text
    }
}
