internal import Logging
internal import SignalboxConfig
internal import SignalboxThreads
internal import Synchronization

/// What a reload came to.
public struct ReloadReport: Sendable {
    /// Plugin instances that were replaced, added or removed.
    public let changed: [String]
    /// Keys of `gateway:` that have changed and that only a restart takes over.
    public let needRestart: [String]
    /// Previous instances that did not stop in time.
    public let leftBehind: [String]
}

extension Gateway {
    /// Takes the configuration over as it is now; `text` instead of the file, if given.
    ///
    /// Unchanged parts keep running. With a fault this throws, and nothing changes.
    /// One reload at a time; it returns when what was replaced has ended.
    @discardableResult
    public func reload(text: String? = nil) async throws -> ReloadReport {
        let task = reloads.withLock { reloads -> Task<ReloadReport, any Error> in
            let before = reloads.last
            if reloads.count > 0 {
                parts.logger.notice("reload waits for the previous reload")
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
        let logger = parts.logger
        do {
            // Libraries are loaded on a thread of their own: it may take its time.
            let given = options
            let plan = try await SystemThread.value { Result { try GatewayPlan.make(given) } }.get()
            // A new address needs a restart, so the rule holds for the current one, too.
            if let fault = GatewayPlan.adminFault(adminAddress, plan.config) {
                throw ConfigurationError(diagnostics: [fault])
            }
            let reload = Reload(
                parts: parts, ingest: ingestService, admin: adminService,
                adminAddress: adminAddress)
            let result = try await reload.run(plan)
            plan.logWarnings(logger)
            logger.notice(
                "configuration reloaded",
                metadata: [
                    "changed": "\(result.changed.joined(separator: ", "))",
                    "routes": "\(plan.routes.count)",
                ])
            for key in result.needRestart {
                logger.warning(
                    "changed setting needs a restart", metadata: ["key": "gateway.\(key)"])
            }
            return ReloadReport(
                changed: result.changed, needRestart: result.needRestart,
                leftBehind: result.leftBehind)
        } catch let error as ConfigurationError {
            for fault in error.diagnostics {
                logger.error("configuration fault", metadata: ["fault": "\(fault)"])
            }
            logger.error("reload rejected, keeping the current configuration")
            throw error
        }
    }
}
