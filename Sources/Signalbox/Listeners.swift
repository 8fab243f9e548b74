internal import Logging
internal import SignalboxAdmin
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxObservability

/// The gateway's listeners: for webhooks, for the device registry if it has its own, and for operators.
struct Listeners: Sendable {
    /// A listener with its name in metrics and errors.
    struct Port: Sendable {
        let name: String
        let server: HTTPServer
    }

    /// The services behind the listeners, with TLS and passed sockets.
    struct Parts: Sendable {
        let ingest: IngestService
        let admin: AdminService
        let tls: ListenerTLS
        let sockets: HandedSockets
    }

    private(set) var all: [Port] = []
    let descriptorsMax = ProcessRoom.descriptorsMax

    private init() {}

    /// Opens all of them, or none.
    static func open(_ engine: Engine, _ parts: Parts) async throws -> Listeners {
        var out = Listeners()
        do {
            try await out.open(engine, parts)
            return out
        } catch {
            await out.close(where: { _ in true })
            throw error
        }
    }

    private mutating func open(_ engine: Engine, _ parts: Parts) async throws {
        let (settings, descriptors) = (engine.startSettings, descriptorsMax)
        // Keeps descriptors for providers, the database and the admin listener when the public ones are full.
        let most = min(settings.limits.connections ?? 10_000, descriptors / 2)
        let isApart = settings.devicesListen != nil
        if let address = settings.listen {
            let handler: any HTTPServerHandler =
                isApart ? ListenerPart(service: parts.ingest, isDevices: false) : parts.ingest
            try await add("listen", address, engine, handler) { options in
                options.tls = parts.tls
                options.socket = parts.sockets.listen
                options.connectionsMax = max(16, isApart ? most / 2 : most)
            }
        }
        if let address = settings.devicesListen {
            let handler = ListenerPart(service: parts.ingest, isDevices: true)
            try await add("devices", address, engine, handler) { options in
                options.tls = parts.tls
                options.connectionsMax = max(16, most / 2)
            }
        }
        if let address = settings.admin {
            try await add("admin", address, engine, parts.admin) { options in
                options.socket = parts.sockets.admin
                options.connectionsMax = max(8, min(256, descriptors / 8))
                options.clientRate = { 0 }
            }
        }
    }

    private mutating func add(
        _ name: String, _ address: ListenAddress, _ engine: Engine,
        _ handler: any HTTPServerHandler, _ change: (inout HTTPServerOptions) -> Void
    ) async throws {
        let (current, metrics) = (engine.context.current, engine.context.metrics)
        var logger = engine.logger
        logger.logLevel = max(logger.logLevel, .notice)
        logger[metadataKey: "listener"] = "\(name)"
        var options = HTTPServerOptions(host: address.host, port: address.port)
        options.clientRate = { current.generation.plan.config.gateway.limits.clientRate }
        for limit in ListenerLimit.allCases {
            _ = metrics.limitsReached[name, limit.rawValue]
        }
        options.onLimit = { metrics.limitsReached[name, $0.rawValue].add() }
        metrics.connections.set(0, name)
        options.onConnections = { metrics.connections.set(Double($0), name) }
        change(&options)
        do {
            let server = try await HTTPServer.start(options, logger: logger, handler: handler)
            all.append(Port(name: name, server: server))
        } catch {
            let key = name == "devices" ? "devices.listen" : "gateway.\(name)"
            let refusal = ListenRefusal(error)
            throw ListenError(
                message: "\(key): cannot listen on \(address): \(refusal)",
                isTemporary: refusal.isTemporary)
        }
    }

    /// The port of a listener; nil if there is no such listener.
    func port(_ name: String) -> Int? { all.first { $0.name == name }?.server.port }

    /// From now on, asks clients to close their connections.
    func announceEnd() async {
        for port in all where port.name != "admin" { await port.server.announceEnd() }
    }

    /// Closes the listeners for events and devices.
    func closePublic() async { await close { $0 != "admin" } }

    func closeAdmin() async { await close { $0 == "admin" } }

    private func close(where isWanted: (String) -> Bool) async {
        for port in all where isWanted(port.name) { await port.server.shutdown() }
    }
}
