internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Puts a new configuration in the place of the one that runs.
///
/// Unchanged parts keep running: same instance, same connections, same credentials. What did
/// is made and started beside the old one first; only when all of it runs is anything switched. From
/// then on requests, events and deliveries go to the new instances, those included that an old one has not
/// sent yet; it is stopped after its last answer. A configuration with a fault changes nothing.
struct Reload {
    let parts: GatewayParts
    let ingest: IngestService
    let admin: AdminService
    /// Where the admin listener is; a new address needs a restart.
    let adminAddress: ListenAddress?

    /// What a reload came to.
    struct Result: Sendable {
        /// Names of instances that were replaced, added or removed.
        var changed: [String] = []
        /// Keys of `gateway:` that only a restart takes over.
        var needRestart: [String] = []
        /// Instances that did not stop in time and are left behind.
        var leftBehind: [String] = []
    }

    func run(_ plan: GatewayPlan) async throws(ConfigurationError) -> Result {
        guard let live = parts.live, let context = parts.context, let lanes = parts.lanes else {
            throw ConfigurationError(diagnostics: [])
        }
        let old = live.now
        let kept = Self.kept(old, plan)
        let next = try await make(plan, kept: kept)
        let devices: DevicesService
        let generation: Generation
        do throws(ConfigurationError) {
            devices = try parts.devicesService(plan, context)
            generation = Generation(
                plan, instances: next, reporters: await GatewayParts.reporters(next))
        } catch {
            await next.stop(except: kept, deadlineMs: 1_000)
            throw error
        }
        var result = Result()
        result.needRestart = Self.needRestart(old.plan.config.gateway, plan.config.gateway)
        let keptNames = Set(kept.map(\.name))
        result.changed = Set(
            old.instances.instances.map(\.name) + next.instances.map(\.name)
        ).subtracting(keptNames).sorted()

        // From here on nothing fails: what runs is switched.
        live.replace(with: generation)
        ingest.replace(devices: devices)
        admin.replace(access: AdminAccess(adminAddress, plan.config.gateway))
        parts.wire(next.senders.filter { !keptNames.contains($0.key) }, lanes)
        let retired = lanes.remove { key in
            let name =
                Feedback.isReport(key)
                ? String(key.sender.dropLast(Feedback.suffix.count)) : key.sender
            return !keptNames.contains(name)
        }
        for lane in retired { lane.leave() }
        do throws(ConfigurationError) {
            try await parts.openLanes(lanes, plan)
        } catch {
            // Asked again for the next delivery of that sender.
            parts.logger.error("a sender has no endpoint yet", metadata: ["error": "\(error)"])
        }
        parts.sweep?.wakeAll()
        await parts.outcomes?.replace(with: plan.config.outcomeReceivers)
        // A reload may follow a fix at a provider.
        for lane in lanes.all { lane.tryNow() }
        if !retired.isEmpty {
            parts.logger.notice(
                "new configuration is in effect, replaced instances are draining",
                metadata: ["changed": "\(result.changed.joined(separator: ", "))"])
        }
        await retire(retired, generation)
        for instance in old.instances.instances where !keptNames.contains(instance.name) {
            if await !instance.stop(deadlineMs: 5_000) { result.leftBehind.append(instance.name) }
        }
        return result
    }

    /// Instances whose library, config and secrets are as before.
    private static func kept(
        _ old: Generation, _ plan: GatewayPlan
    ) -> [any HostedInstance] {
        old.instances.instances.filter { instance in
            guard let before = old.plan.plugins.first(where: { $0.name == instance.name }),
                let now = plan.plugins.first(where: { $0.name == instance.name })
            else { return false }
            return now.isSame(as: before)
        }
    }

    private func make(
        _ plan: GatewayPlan, kept: [any HostedInstance]
    ) async throws(ConfigurationError) -> InstanceSet {
        let new = plan.plugins.filter { plugin in !kept.contains { $0.name == plugin.name } }
        var set = try await InstanceSet.create(
            new, program: parts.program, services: parts.services)
        do throws(ConfigurationError) {
            try await set.start(plan.plugins, kept: kept, limits: parts.limits)
        } catch {
            await set.stop(except: kept, deadlineMs: 1_000)
            throw error
        }
        return set
    }

    /// Waits until what is in flight has its outcome, and ends the lanes.
    private func retire(_ lanes: [Lane], _ generation: Generation) async {
        let deadline =
            SystemClock.monotonicNs + generation.plan.config.gateway.drainMs * 1_000_000
        for lane in lanes {
            let now = SystemClock.monotonicNs
            await lane.idle(deadlineMs: (deadline - min(deadline, now)) / 1_000_000)
            await lane.stop()
        }
    }

    private static func needRestart(_ old: GatewaySettings, _ new: GatewaySettings) -> [String] {
        var keys: [String] = []
        if old.listen != new.listen { keys.append("listen") }
        if old.admin != new.admin { keys.append("admin") }
        if old.tls?.certificate != new.tls?.certificate || old.tls?.key != new.tls?.key
            || old.tls?.clientRoots != new.tls?.clientRoots
        {
            keys.append("tls")
        }
        if old.dataFolder != new.dataFolder { keys.append("data") }
        if old.logLevel != new.logLevel || old.logFormat != new.logFormat
            || old.logUsers != new.logUsers
        {
            keys.append("log")
        }
        return keys
    }
}
