internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Applies new configurations to a running gateway, one at a time.
package final class Reloader: Sendable {
    private struct State {
        /// The last reload, which the next one waits for, and how many are not finished.
        var last: Task<Void, Never>?
        var count = 0
        var isClosed = false
        var ports: Set<Int> = []
    }

    private let options: GatewayOptions
    private let engine: Engine
    /// TLS of the public listener.
    private let tls: ListenerTLS
    private let files: ReadFiles
    private let watch = FileWatch()
    private let state = Mutex(State())

    /// `files`: where `options.environment` records what it reads.
    package init(
        _ options: GatewayOptions, _ engine: Engine, _ tls: ListenerTLS, _ files: ReadFiles
    ) {
        self.options = options
        self.engine = engine
        self.tls = tls
        self.files = files
    }

    /// The gateway listens on these ports; from now on changed files trigger reloads.
    package func start(ports: [Int]) {
        state.withLock { $0.ports = Set(ports) }
        let (current, logger) = (engine.context.current, engine.logger)
        watch.start(
            files, intervalMs: options.watchIntervalMs,
            isOn: { current.generation.plan.config.gateway.watch },
            reload: { [weak self] in
                logger.notice("files of the configuration have changed, reloading")
                // Faults are logged.
                _ = try? await self?.reload(by: "watch")
            })
    }

    /// Accepts no further reload.
    package func refuse() {
        watch.stop()
        state.withLock { $0.isClosed = true }
    }

    /// Accepts no further reload, and waits for the last one.
    package func close() async {
        refuse()
        await state.withLock { $0.last }?.value
    }

    /// Applies the current file, or `text` if given, and records who asked for it.
    package func reload(text: String? = nil, by caller: String) async throws -> ReloadReport {
        let result: Result<ReloadReport, any Error>
        do {
            result = .success(try await reload(text: text))
        } catch {
            result = .failure(error)
        }
        let status = if case .success = result { 200 } else { 422 }
        engine.context.record(
            Audit.Record(action: "reload", caller: caller, address: "", status: status))
        return try result.get()
    }

    /// The same for a request that is already recorded; `isCheck`: only reports what a reload would change.
    package func reload(text: String? = nil, isCheck: Bool = false) async throws -> ReloadReport {
        let task = state.withLock { state -> Task<ReloadReport, any Error> in
            let before = state.last
            if state.count > 0 { engine.logger.notice("reload waits for the previous reload") }
            let task = Task { () async throws -> ReloadReport in
                await before?.value
                defer { self.state.withLock { $0.count -= 1 } }
                guard !self.state.withLock({ $0.isClosed }) else {
                    throw SubmitError(kind: .stopping, message: "the gateway is stopping")
                }
                return isCheck ? try await self.check(text) : try await self.apply(text)
            }
            state.count += 1
            state.last = Task { _ = try? await task.value }
            return task
        }
        return try await task.value
    }

    /// The plan of the current file, checked without its plugins' own rules.
    private func plan(_ text: String?) async throws -> GatewayPlan {
        files.begin()
        // Loading libraries may take long, so it runs on its own thread.
        let given = options.with(text: text)
        let plan = try await SystemThread.value { Result { try GatewayPlan.make(given) } }.get()
        let next = NextStart(
            started: engine.startSettings, ports: state.withLock { $0.ports })
        var faults = next.faults(plan)
        // A new address needs a restart, so the rule is also checked for the current one.
        if let finding = engine.startSettings.admin.flatMap({
            CheckRule.adminFault($0, plan.config)
        }) {
            faults.append(Diagnostic("admin-needs-token", at: finding.position, finding.message))
        }
        guard faults.isEmpty else { throw ConfigurationError(diagnostics: faults.inOrder) }
        return plan
    }

    private func check(_ text: String?) async throws -> ReloadReport {
        try await engine.check(try await plan(text))
    }

    private func apply(_ text: String?) async throws -> ReloadReport {
        let logger = engine.logger
        options.supervisor?.isReloading()
        var status = "Running; the last reload failed"
        defer { options.supervisor?.isReady(status) }
        do {
            let plan = try await plan(text)
            let report = try await engine.reload(plan) { self.tls.replace(with: plan.tls) }
            // Keeps a level set at run time, unless the file's level has changed.
            if report.settings.contains("log.level"), options.programLog?.level == nil,
                let level = Logger.Level(rawValue: plan.config.gateway.logLevel)
            {
                engine.runtime.logLevel?.level = level
            }
            plan.logWarnings(logger)
            Self.write(report, logger)
            if let changes = report.changes {
                engine.context.record(
                    Audit.Record(
                        action: "configuration changed", caller: "gateway", address: "",
                        status: 200, detail: changes))
            }
            status = "Running"
            return report
        } catch let error as ConfigurationError {
            for fault in error.diagnostics {
                logger.error("configuration fault", metadata: ["fault": "\(fault)"])
            }
            engine.context.metrics.reloaded(isTaken: false, unixMs: engine.context.clock())
            logger.error("reload rejected, keeping the current configuration")
            let first = error.diagnostics.first.map { "\($0)" } ?? ""
            status = "Running; reload rejected, keeping the previous configuration: \(first)"
            throw error
        }
    }

    private static func write(_ report: ReloadReport, _ logger: Logger) {
        let (routes, plugins) = (report.routes, report.plugins)
        logger.notice(
            "configuration reloaded",
            metadata: [
                "changed": "\(report.changed.joined(separator: ", "))",
                "routes": "\(routes.added.count + routes.changed.count + routes.kept.count)",
                "routes.changed": "\((routes.added + routes.changed).joined(separator: ", "))",
                "plugins.kept": "\(plugins.kept.count)",
                "settings": "\(report.settings.joined(separator: ", "))",
            ])
        if !report.removed.isEmpty {
            logger.warning(
                "the new configuration lacks what the previous one had",
                metadata: [
                    "removed": "\(report.removed.joined(separator: ", "))",
                    "count": "\(report.removed.count)",
                ])
        }
        for key in report.needRestart {
            logger.warning(
                "changed setting needs a restart", metadata: ["key": "gateway.\(key)"])
        }
    }
}
