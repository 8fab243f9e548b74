internal import Logging
internal import SignalboxConfig
public import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// A running gateway.
public final class Gateway: Sendable {
    /// The program's version.
    public static var version: String { Release.version }

    /// The port of the public listener; 0: there is none.
    public let port: Int
    /// The port of the admin listener; nil: there is none.
    public let adminPort: Int?
    let options: GatewayOptions
    let engine: Engine
    let adminService: AdminService
    let ingestService: IngestService
    /// The last reload, for which the next one waits, and how many have not ended.
    let reloads = Mutex<(last: Task<Void, Never>?, count: Int)>((nil, 0))
    private let servers: (ingest: HTTPServer?, admin: HTTPServer?)
    private let isClosed = Atomic<Bool>(false)
    private let isStopped = Atomic<Bool>(false)

    /// Requests and events are taken.
    var isTaking: Bool { !isClosed.load(ordering: .acquiring) }

    /// Raises the process's limit of file descriptors as far as allowed; for programs that only run a gateway.
    public static func raiseDescriptors() { ProcessRoom.raiseDescriptors() }

    /// Checks a configuration with its plugins without running anything; throws with every fault.
    ///
    /// Returns warnings about settings that are probably a mistake.
    @discardableResult
    public static func check(
        _ options: GatewayOptions
    ) async throws(ConfigurationError) -> [Diagnostic] {
        let plan = try GatewayPlan.make(options)
        var quiet = options
        quiet.logger = Logger(label: "signalbox.check") { _ in SwiftLogNoOpLogHandler() }
        let machinery = try Machinery(plan, quiet)
        do throws(ConfigurationError) {
            let set = try await InstanceSet.create(
                plan.plugins, program: InstanceSet.Program(options),
                services: GatewayServices(machinery))
            await set.stop(deadlineMs: 1_000)
        } catch {
            await machinery.shutdown()
            throw error
        }
        await machinery.shutdown()
        return plan.warnings
    }

    /// Starts a gateway: everything runs when this returns, or nothing does when it throws.
    public static func start(_ options: GatewayOptions) async throws -> Gateway {
        let plan = try GatewayPlan.make(options)
        let engine = try await Engine.start(plan, options)
        do {
            return try await Gateway(plan, engine, options)
        } catch {
            await engine.shutdown()
            throw error
        }
    }

    private init(_ plan: GatewayPlan, _ engine: Engine, _ options: GatewayOptions) async throws {
        let settings = plan.config.gateway
        let ingest = IngestService(
            context: engine.context, pipeline: engine.pipeline, deviceReports: engine.deviceReports)
        ingestService = ingest
        let admin = AdminService(
            context: engine.context, lanes: engine.lanes, sweep: engine.sweep)
        adminService = admin
        self.engine = engine
        self.options = options
        // A full public listener leaves descriptors for providers, the database and the admin
        // listener.
        let descriptors = ProcessRoom.descriptorsMax
        var publicServer: HTTPServer?
        if let address = options.listen ?? settings.listen {
            publicServer = try await Self.listen(
                address, "gateway.listen", engine.logger, ingest, tls: settings.tls,
                socket: options.sockets.listen,
                connectionsMax: max(16, min(10_000, descriptors / 2)))
        }
        var adminServer: HTTPServer?
        if let address = engine.adminAddress {
            do {
                adminServer = try await Self.listen(
                    address, "gateway.admin", engine.logger, admin,
                    socket: options.sockets.admin,
                    connectionsMax: max(8, min(256, descriptors / 8)))
            } catch {
                await publicServer?.shutdown()
                throw error
            }
        }
        servers = (publicServer, adminServer)
        port = publicServer?.port ?? 0
        adminPort = adminServer?.port
        plan.logWarnings(engine.logger)
        engine.logger.info(
            "gateway is up",
            metadata: [
                "gateway.name": "\(engine.machinery.name)",
                "listen.port": "\(publicServer?.port ?? 0)",
                "admin.port": "\(adminServer?.port ?? 0)",
                "plugins": "\(plan.plugins.count)", "routes": "\(plan.routes.count)",
                "descriptors.max": "\(descriptors)",
            ])
    }

    /// Stops: sends what is in memory within the drain time, and leaves the rest on disk.
    ///
    /// Until everything else has ended, webhooks are accepted, so that the next process is missed as briefly as
    /// possible; their deliveries wait on disk for it. Returns how many deliveries wait there.
    @discardableResult
    public func stop() async -> Int {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return 0 }
        let settings = engine.context.live.now.plan.config.gateway
        if isTaking {
            adminService.stopping()
            await servers.ingest?.announceEnd()
            await pause(ms: settings.shutdownDelayMs)
            _ = await engine.drain(deadlineNs: Self.deadlineNs(settings.drainMs))
        }
        await engine.stopSending()
        let left = await drain(timeoutMs: 0)
        await reloads.withLock { $0.last }?.value
        if left > 0 {
            engine.logger.notice(
                settings.store == nil
                    ? "deliveries wait on disk for the next startup"
                    : "deliveries wait in the database for any gateway",
                metadata: ["count": "\(left)"])
        }
        await servers.admin?.shutdown()
        await engine.shutdown()
        engine.logger.info("gateway stopped")
        return left
    }

    /// While load balancers and clients notice that the gateway stops.
    private func pause(ms: UInt64) async {
        guard ms > 0 else { return }
        engine.logger.notice(
            "stopping, still accepting requests", metadata: ["shutdown_delay.ms": "\(ms)"])
        try? await Task.sleep(for: .milliseconds(ms))
    }

    private static func deadlineNs(_ ms: UInt64) -> UInt64 {
        SystemClock.monotonicNs + ms * 1_000_000
    }

    /// Accepts nothing more and waits, up to the timeout, until deliveries in memory are sent.
    ///
    /// Returns how many deliveries stay on disk for the next start.
    @discardableResult
    public func drain(timeoutMs: UInt64) async -> Int {
        adminService.stopping()
        isClosed.store(true, ordering: .releasing)
        await servers.ingest?.shutdown()
        return await engine.drain(deadlineNs: Self.deadlineNs(timeoutMs))
    }

    private static func listen(
        _ address: ListenAddress, _ what: String, _ logger: Logger,
        _ handler: any HTTPServerHandler, tls: TLSSettings? = nil, socket: ListeningSocket?,
        connectionsMax: Int
    ) async throws -> HTTPServer {
        do {
            var quiet = logger
            quiet.logLevel = max(logger.logLevel, .notice)
            var options = HTTPServerOptions(host: address.host, port: address.port)
            options.socket = socket
            options.connectionsMax = connectionsMax
            options.tls = tls.map {
                HTTPServerTLS(
                    certificateChainPEM: $0.certificate, privateKeyPEM: $0.key,
                    clientRootsPEM: $0.clientRoots)
            }
            return try await HTTPServer.start(options, logger: quiet, handler: handler)
        } catch {
            throw ListenError(
                message: "\(what): cannot listen on \(address.host):\(address.port): \(error)")
        }
    }
}
