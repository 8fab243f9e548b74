internal import Logging
internal import SignalboxConfig
internal import SignalboxThreads
internal import Synchronization

extension Gateway {
    /// Applies the current configuration file, or `text` if given.
    ///
    /// Unchanged parts keep running. With a fault this throws, and nothing changes.
    /// Reloads run one at a time; each returns when the replaced instances have ended.
    @discardableResult
    public func reload(text: String? = nil) async throws -> ReloadReport {
        let task = reloads.withLock { reloads -> Task<ReloadReport, any Error> in
            let before = reloads.last
            if reloads.count > 0 {
                engine.logger.notice("reload waits for the previous reload")
            }
            let task = Task { () async throws -> ReloadReport in
                await before?.value
                defer { self.reloads.withLock { $0.count -= 1 } }
                return try await self.reloadNow(text)
            }
            reloads.count += 1
            reloads.last = Task { _ = try? await task.value }
            return task
        }
        return try await task.value
    }

    private func reloadNow(_ text: String?) async throws -> ReloadReport {
        guard isTaking else {
            throw SubmitError(kind: .stopping, message: "the gateway is stopping")
        }
        var options = options
        if let text { options.setConfig(text: text, folder: options.configFolder) }
        let logger = engine.logger
        do {
            // Loading libraries may take long, so it has a thread of its own.
            let given = options
            let plan = try await SystemThread.value { Result { try GatewayPlan.make(given) } }.get()
            // A new address needs a restart, so the rule holds for the current one, too.
            if let fault = GatewayPlan.adminFault(engine.adminAddress, plan.config) {
                throw ConfigurationError(diagnostics: [fault])
            }
            let report = try await engine.reload(plan)
            plan.logWarnings(logger)
            logger.notice(
                "configuration reloaded",
                metadata: [
                    "changed": "\(report.changed.joined(separator: ", "))",
                    "routes": "\(plan.routes.count)",
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
            return report
        } catch let error as ConfigurationError {
            for fault in error.diagnostics {
                logger.error("configuration fault", metadata: ["fault": "\(fault)"])
            }
            logger.error("reload rejected, keeping the current configuration")
            throw error
        }
    }
}
