internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads

extension Engine {
    /// Replaces the current configuration with a new one.
    ///
    /// Unchanged instances keep running, with their connections and credentials. Changed ones are made and started
    /// beside the old ones; nothing is switched until all of them run, so a faulty configuration changes nothing. Then
    /// requests, events and deliveries go to the new instances, including those an old one has not sent yet. An old
    /// instance stops after its last answer.
    ///
    /// `onSwitch` is called once the reload can no longer fail.
    package func reload(
        _ plan: GatewayPlan, onSwitch: () -> Void
    ) async throws(ConfigurationError) -> ReloadReport {
        let current = context.current
        let old = current.generation
        let change = PlanChange(from: old.plan, to: plan, started: startSettings)
        let next = try await make(
            plan, kept: old.instances.instances.filter { change.kept.contains($0.name) })

        // From here on nothing can fail. Events that a source has emitted are stored before its routes go.
        await sources.pause(allBut: next.instances.sources)
        current.replace(with: next)
        onSwitch()
        KnownSeries(metrics: context.metrics).show(next)
        context.metrics.reloaded(isTaken: true, unixMs: context.clock())
        context.store.setConfiguration(plan.digest)
        context.store.keepHistory(plan.config.gateway.history)
        context.spans.replace(with: plan.config.gateway.tracing)
        wire(next.instances, except: change.kept)
        let retired = lanes.remove { change.retires($0) }
        for lane in retired { lane.leave() }
        do throws(ConfigurationError) {
            try await openLanes(plan)
        } catch {
            // Retried with the sender's next delivery.
            logger.error("a sender has no endpoint yet", metadata: ["error": "\(error)"])
        }
        sweep.wakeAll()
        await context.outcomes.replace(with: plan.config.outcomeReceivers)
        await sources.run(next.instances.sources)
        // The reload may follow a fix at a provider.
        for instance in next.instances.instances { instance.fetchCredentials() }
        for lane in lanes.all { lane.tryNow() }
        if !retired.isEmpty {
            logger.notice(
                "new configuration is in effect, replaced instances are draining",
                metadata: [
                    "changed": "\(ReloadReport(change, plan).changed.joined(separator: ", "))"
                ])
        }
        await retire(retired, withinMs: plan.config.gateway.drainMs)
        var leftBehind: [String] = []
        for instance in old.instances.instances where !change.kept.contains(instance.name) {
            if await !instance.stop(deadlineMs: 5_000) { leftBehind.append(instance.name) }
        }
        var report = ReloadReport(change, plan)
        report.leftBehind = leftBehind
        return report
    }

    /// What a reload would change; throws what it would throw, as far as that shows without starting an instance.
    package func check(_ plan: GatewayPlan) async throws(ConfigurationError) -> ReloadReport {
        let change = PlanChange(
            from: context.current.generation.plan, to: plan, started: startSettings)
        let new = plan.plugins.filter { !change.kept.contains($0.name) }
        let (set, faults) = await InstanceSet.create(
            new, program: program, services: services(for:))
        await set.stop(deadlineMs: 1_000)
        guard faults.isEmpty else { throw ConfigurationError(diagnostics: faults.inOrder) }
        var report = ReloadReport(change, plan)
        report.isCheck = true
        return report
    }

    /// Waits for the outcomes of requests in flight, then ends the lanes.
    private func retire(_ lanes: [Lane], withinMs ms: UInt64) async {
        let deadline = SystemClock.monotonicNs + ms * 1_000_000
        for lane in lanes {
            let now = SystemClock.monotonicNs
            await lane.idle(deadlineMs: (deadline - min(deadline, now)) / 1_000_000)
            await lane.stop()
        }
        self.lanes.forgetEnded()
    }
}
