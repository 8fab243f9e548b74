internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// A running gateway.
public final class Gateway: Sendable {
    /// The program's version.
    public static let version = "0.1.0"

    /// The port of the public listener.
    public let port: Int
    /// The port of the admin listener; nil: there is none.
    public let adminPort: Int?
    private let parts: GatewayParts
    private let servers: (ingest: HTTPServer, admin: HTTPServer?)
    private let adminService: AdminService
    private let drainMs: UInt64
    private let isStopped = Atomic<Bool>(false)

    /// Checks a configuration with its plugins without running anything; throws with every fault.
    public static func check(_ options: GatewayOptions) async throws(ConfigurationError) {
        let plan = try GatewayPlan.make(
            options.configPath, environment: options.environment, searchPath: options.searchPath)
        var quiet = options
        quiet.logger = Logger(label: "signalbox.check") { _ in SwiftLogNoOpLogHandler() }
        let parts = try GatewayParts(plan, options: quiet)
        do throws(ConfigurationError) {
            let set = try await InstanceSet.create(
                plan, version: version, services: parts.services)
            await set.stop(deadlineMs: 1_000)
        } catch {
            await parts.shutdown()
            throw error
        }
        await parts.shutdown()
    }

    /// Starts a gateway: everything runs when this returns, or nothing does when it throws.
    public static func start(_ options: GatewayOptions) async throws -> Gateway {
        let plan = try GatewayPlan.make(
            options.configPath, environment: options.environment, searchPath: options.searchPath)
        let parts = try GatewayParts(plan, options: options)
        do {
            return try await Gateway(plan, parts, options)
        } catch {
            await parts.shutdown()
            throw error
        }
    }

    private init(_ plan: GatewayPlan, _ parts: GatewayParts, _ options: GatewayOptions) async throws
    {
        let settings = plan.config.gateway
        try await parts.open(plan, version: Self.version)
        let (pipeline, lanes) = (parts.pipeline, parts.lanes)
        guard let pipeline, let lanes, let context = parts.context else {
            throw ConfigurationError(diagnostics: [])
        }
        let ingest = IngestService(
            paths: parts.instances.paths, context: context, pipeline: pipeline,
            devices: DevicesService(
                clients: plan.config.deviceClients,
                users: try parts.userAuthenticator(plan.config.deviceUsers, context),
                registry: context.store,
                feedback: context.feedback, clock: context.clock))
        let admin = AdminService(
            lanes: lanes, metrics: parts.metrics, store: context.store, clock: context.clock)
        adminService = admin
        self.parts = parts
        drainMs = settings.drainMs
        let publicServer = try await Self.listen(
            options.listen ?? settings.listen, "gateway.listen", parts.logger, ingest,
            tls: settings.tls)
        var adminServer: HTTPServer?
        if let address = options.admin ?? settings.admin {
            do {
                adminServer = try await Self.listen(address, "gateway.admin", parts.logger, admin)
            } catch {
                await publicServer.shutdown()
                throw error
            }
        }
        servers = (publicServer, adminServer)
        port = publicServer.port
        adminPort = adminServer?.port
        parts.logger.info(
            "gateway is up",
            metadata: [
                "listen.port": "\(publicServer.port)", "admin.port": "\(adminServer?.port ?? 0)",
                "plugins": "\(plan.plugins.count)", "routes": "\(plan.routes.count)",
            ])
    }

    /// Stops: takes nothing more in, lets what is in memory be sent within the drain time, leaves the
    /// rest on disk.
    ///
    /// Returns how many deliveries wait there for the next start.
    @discardableResult
    public func stop() async -> Int {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return 0 }
        adminService.stopping()
        await servers.ingest.shutdown()
        let deadline = Clock.monotonicNs + drainMs * 1_000_000
        let left = await parts.drain(deadlineNs: deadline)
        if left > 0 {
            parts.logger.notice(
                "deliveries wait on disk for the next start", metadata: ["count": "\(left)"])
        }
        await servers.admin?.shutdown()
        await parts.shutdown()
        parts.logger.info("gateway has stopped")
        return left
    }

    private static func listen(
        _ address: ListenAddress, _ what: String, _ logger: Logger,
        _ handler: any HTTPServerHandler, tls: TLSSettings? = nil
    ) async throws -> HTTPServer {
        do {
            var quiet = logger
            quiet.logLevel = max(logger.logLevel, .notice)
            var options = HTTPServerOptions(host: address.host, port: address.port)
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

/// An address that cannot be had.
public struct ListenError: Error, Sendable, CustomStringConvertible {
    let message: String

    /// Names the address and the reason.
    public var description: String { message }
}
