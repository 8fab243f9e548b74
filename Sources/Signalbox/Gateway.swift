internal import Logging
internal import SignalboxAdmin
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// A running gateway.
public final class Gateway: Sendable {
    /// The program's version.
    public static var version: String { Release.version }

    /// The port of the public listener; 0 without one.
    public let port: Int
    /// The port of the admin listener; nil without one.
    public let adminPort: Int?
    /// The port of the device registry's own listener; nil without one.
    public let devicesPort: Int?
    let options: GatewayOptions
    let engine: Engine
    let adminService: AdminService
    let ingestService: IngestService
    let reloader: Reloader
    private let listeners: Listeners
    private let watchdog: Watchdog?
    private let isClosed = Atomic<Bool>(false)
    private let isStopped = Atomic<Bool>(false)

    /// Whether requests and events are accepted.
    var isTaking: Bool { !isClosed.load(ordering: .acquiring) }

    /// On a crash, names the plugin at fault on standard error; for programs that only run a gateway.
    public static func reportCrashes() { CrashReport.install() }

    /// Raises the process's file descriptor limit as far as allowed; for programs that only run a gateway.
    public static func raiseDescriptors() { ProcessRoom.raiseDescriptors() }

    /// Starts a gateway: everything runs when this returns; if it throws, nothing does.
    public static func start(_ options: GatewayOptions) async throws -> Gateway {
        let files = ReadFiles()
        // Gets the original options, so that its reads are not recorded for the file watch.
        let config = ConfigAdmin(options)
        var options = options
        options.environment = files.noting(options.environment)
        let plan = try GatewayPlan.make(options)
        let engine = try await Engine.start(plan, options)
        do {
            return try await Gateway(plan, engine, options, files, config)
        } catch {
            await engine.shutdown()
            throw error
        }
    }

    private init(
        _ plan: GatewayPlan, _ engine: Engine, _ options: GatewayOptions, _ files: ReadFiles,
        _ config: ConfigAdmin
    ) async throws {
        let ingest = IngestService(
            context: engine.context, pipeline: engine.pipeline, deviceReports: engine.deviceReports)
        ingestService = ingest
        let tls = ListenerTLS(plan.tls)
        let reloader = Reloader(options, engine, tls, files)
        self.reloader = reloader
        let admin = AdminService(
            context: engine.context, address: engine.startSettings.admin, lanes: engine.lanes,
            sweep: engine.sweep,
            sources: engine.sources, reloader: reloader, program: engine.program, config: config,
            deviceReports: engine.deviceReports)
        adminService = admin
        self.engine = engine
        self.options = options
        listeners = try await Listeners.open(
            engine, .init(ingest: ingest, admin: admin, tls: tls, sockets: options.sockets))
        port = listeners.port("listen") ?? 0
        adminPort = listeners.port("admin")
        devicesPort = listeners.port("devices")
        if adminPort != nil { admin.feed.start() }
        reloader.start(ports: listeners.all.map(\.server.port))
        watchdog = Watchdog(
            options.supervisor, engine.logger,
            engine.runtime.watched
                + listeners.all.map { port in
                    .init(name: "sbx-listener of port \(port.server.port)", ask: port.server.turn)
                })
        plan.logWarnings(engine.logger)
        engine.logger.info(
            "gateway is up",
            metadata: [
                "gateway.name": "\(engine.runtime.name)",
                "listen.port": "\(port)", "admin.port": "\(adminPort ?? 0)",
                "devices.port": "\(devicesPort.map { "\($0)" } ?? "")",
                "plugins": "\(plan.plugins.count)", "routes": "\(plan.routes.count)",
                "descriptors.max": "\(listeners.descriptorsMax)",
            ])
        options.supervisor?.isReady("Running")
    }

    /// Stops: sends what is in memory within the drain time and leaves the rest on disk.
    ///
    /// Webhooks are accepted until everything else has ended, to keep the gap before the next process short; their
    /// deliveries wait on disk for it. Returns how many deliveries wait there.
    @discardableResult
    public func stop() async -> Int {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return 0 }
        let settings = engine.context.current.generation.plan.config.gateway
        options.supervisor?.isStopping(
            withinMs: settings.shutdownDelayMs + settings.drainMs + 30_000)
        if isTaking {
            adminService.stopping()
            await engine.sources.stop()
            await listeners.announceEnd()
            await pause(ms: settings.shutdownDelayMs)
            _ = await engine.drain(deadlineNs: Self.deadlineNs(settings.drainMs))
        }
        await engine.stopSending()
        watchdog?.stop()
        // What the lanes gave back counts once the store has it.
        let left = await drain(timeoutMs: 1_000)
        await reloader.close()
        if left > 0 {
            engine.logger.notice(
                settings.store == nil
                    ? "deliveries wait on disk for the next startup"
                    : "deliveries wait in the database for any gateway",
                metadata: ["count": "\(left)"])
        }
        await listeners.closeAdmin()
        ingestService.refusals.flush()
        engine.context.audit.flush()
        await engine.shutdown()
        engine.logger.info("gateway stopped")
        // Writes pending log lines before the program ends.
        _ = await SystemThread.value { LogWriter.standardError.flush(withinMs: 1_000) }
        return left
    }

    /// Gives load balancers and clients time to notice that the gateway stops.
    private func pause(ms: UInt64) async {
        guard ms > 0 else { return }
        engine.logger.notice(
            "stopping, still accepting requests", metadata: ["shutdown_delay.ms": "\(ms)"])
        try? await Task.sleep(for: .milliseconds(ms))
    }

    private static func deadlineNs(_ ms: UInt64) -> UInt64 {
        SystemClock.monotonicNs + ms * 1_000_000
    }

    /// Accepts nothing more, and waits up to the timeout until deliveries in memory are sent.
    ///
    /// Returns how many deliveries stay on disk for the next start.
    @discardableResult
    public func drain(timeoutMs: UInt64) async -> Int {
        adminService.stopping()
        isClosed.store(true, ordering: .releasing)
        reloader.refuse()
        await engine.sources.stop()
        await listeners.closePublic()
        return await engine.drain(deadlineNs: Self.deadlineNs(timeoutMs))
    }
}
