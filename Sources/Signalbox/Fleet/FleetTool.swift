internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPostgres
internal import SignalboxStore
internal import SignalboxThreads

/// What `signalbox fleet` shows: asked through the admin listener of a running gateway, or else of its store.
public struct FleetTool: Sendable {
    /// For scripts.
    public let json: String
    /// For people.
    public let text: String

    /// Reads the fleet of the gateway with that configuration.
    public static func read(_ options: GatewayOptions) async throws -> FleetTool {
        let config = try options.readableConfig()
        if options.admin ?? config.gateway.admin != nil {
            let client = try AdminClient(config, options)
            let answer: Result<JSONValue, any Error>
            do {
                answer = .success(try await client.ask("GET", "/fleet"))
            } catch {
                answer = .failure(error)
            }
            await client.close()
            // Another gateway may run, or none.
            if (answer.fault as? RESTFault)?.kind != .unreachable {
                return FleetTool(try answer.get())
            }
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
        let store = try SQLiteStore.open(
            SQLiteStore.Options(
                folder: options.dataFolder ?? config.dataPath, nowUnixMs: { SystemClock.unixMs },
                onNotice: { _ in }))
        do {
            let fleet = try await store.fleet()
            await store.close()
            return fleet
        } catch {
            await store.close()
            throw error
        }
    }

    init(_ fleet: JSONValue) {
        json = fleet.text
        text = FleetText(fleet).text
    }
}

extension Result {
    fileprivate var fault: Failure? {
        if case .failure(let fault) = self { fault } else { nil }
    }
}
