internal import Logging
package import SignalboxCore
package import SignalboxDispatch
internal import SignalboxObservability
package import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Runs the sources of the current generation, and accepts their batches.
package final class SourceRunner: Sendable {
    /// Most unanswered batches of a source.
    static let batchesMax = 16
    /// When a batch that could not be stored may be sent again.
    static let againMs: UInt64 = 1_000
    /// Longest wait for the events of a paused source to be stored.
    private static let storedNs: UInt64 = 5_000_000_000
    /// Waits between attempts to resume a source.
    private static let waitMs: (first: UInt64, max: UInt64) = (1_000, 60_000)

    private struct Entry {
        let role: any Sourcing
        /// Its batches that are not stored yet.
        let underWay = UnderWay()
        /// Why it does not run; nil if it runs or is being resumed.
        var fault: String?
        /// The source's own reason for receiving no events; nil if it reports none.
        var condition: String?
        var waitMs = SourceRunner.waitMs.first

        /// Why no events come in; nil if they do.
        var reason: String? { fault ?? condition }
    }

    private struct State {
        /// By instance, since a reload keeps the instance but makes a new role.
        var entries: [ObjectIdentifier: Entry] = [:]
        var isStopped = false
    }

    private let runtime: GatewayRuntime
    private let pipeline: EventPipeline
    private let state = Mutex(State())

    package init(_ runtime: GatewayRuntime, _ pipeline: EventPipeline) {
        self.runtime = runtime
        self.pipeline = pipeline
    }

    /// The sources that should run, and whether they do.
    package var running: [(name: String, isRunning: Bool)] {
        state.withLock { $0.entries.values.map { ($0.role.instanceName, $0.reason == nil) } }
    }

    /// For `/readyz`: a row for each, and whether one of them receives nothing.
    package var readiness: (rows: [JSONValue], isFailing: Bool) {
        let entries = state.withLock { Array($0.entries.values) }
        let sorted = entries.sorted { $0.role.instanceName < $1.role.instanceName }
        let rows = sorted.map { entry in
            var members: [JSONValue.Member] = [
                .init("source", .string(entry.role.instanceName)),
                .init("state", .string(entry.reason == nil ? "running" : "failing")),
            ]
            if let fault = entry.reason { members.append(.init("reason", .string(fault))) }
            return JSONValue.object(members)
        }
        return (rows, entries.contains { $0.reason != nil })
    }

    /// Pauses all except `roles`, and waits until their events are stored, by the routes they were emitted for.
    package func pause(allBut roles: [any Sourcing]) async {
        let kept = Set(roles.map(\.instanceID))
        await pause { !kept.contains($0) }
    }

    /// Starts those of `roles` that do not run yet; the others were paused.
    package func run(_ roles: [any Sourcing]) async {
        let fresh = state.withLock { state -> [any Sourcing] in
            guard !state.isStopped else { return [] }
            return roles.filter { role in
                let key = role.instanceID
                guard state.entries[key] == nil else { return false }
                state.entries[key] = Entry(role: role)
                return true
            }
        }
        for role in fresh { await resume(role) }
    }

    /// Pauses all for good. Events already emitted are still stored and confirmed.
    package func stop() async {
        state.withLock { $0.isStopped = true }
        await pause { _ in true }
    }

    private func pause(_ isMeant: (ObjectIdentifier) -> Bool) async {
        let gone = state.withLock { state -> [Entry] in
            let keys = state.entries.keys.filter(isMeant)
            return keys.compactMap { state.entries.removeValue(forKey: $0) }
        }
        for entry in gone {
            await pause(entry.role)
            let (underWay, deadline) = (entry.underWay, SystemClock.monotonicNs + Self.storedNs)
            _ = await SystemThread.value { underWay.waitForNone(deadlineNs: deadline) }
        }
    }

    private func pause(_ role: any Sourcing) async {
        do throws(PluginFault) {
            try await role.pause()
        } catch {
            runtime.logger.warning(
                "source failed to pause",
                metadata: [
                    "plugin.instance": "\(role.instanceName)", "error": "\(error.message)",
                ])
        }
    }

    private func resume(_ role: any Sourcing) async {
        let key = role.instanceID
        guard let underWay = state.withLock({ $0.entries[key]?.underWay }) else { return }
        do throws(PluginFault) {
            try await role.resume(
                batchesMax: Self.batchesMax,
                take: { [weak self] batch in
                    self?.take(batch, from: role.instanceName, underWay) ?? false
                },
                onCondition: { [weak self] in self?.heard($0, of: role) })
        } catch {
            failed(role, error)
            return
        }
        let (isWanted, wasFailing) = state.withLock { state in
            let wasFailing = state.entries[key]?.fault != nil
            state.entries[key]?.fault = nil
            state.entries[key]?.waitMs = Self.waitMs.first
            return (state.entries[key] != nil, wasFailing)
        }
        // It was paused meanwhile.
        guard isWanted else { return await pause(role) }
        if wasFailing {
            runtime.logger.notice(
                "source is back", metadata: ["plugin.instance": "\(role.instanceName)"])
        }
    }

    /// A source reports its condition. Thread: any.
    private func heard(_ fault: PluginFault?, of role: any Sourcing) {
        let key = role.instanceID
        let isNews = state.withLock { state in
            guard let entry = state.entries[key], entry.condition != fault?.message else {
                return false
            }
            state.entries[key]?.condition = fault?.message
            return (entry.condition == nil) != (fault == nil)
        }
        guard isNews else { return }
        guard let fault else {
            runtime.logger.notice(
                "source is back", metadata: ["plugin.instance": "\(role.instanceName)"])
            return
        }
        runtime.logger.error(
            "source takes nothing in",
            metadata: [
                "plugin.instance": "\(role.instanceName)", "error": "\(fault.message)",
            ])
    }

    private func failed(_ role: any Sourcing, _ fault: PluginFault) {
        let key = role.instanceID
        let waitMs = state.withLock { state -> UInt64? in
            guard let entry = state.entries[key] else { return nil }
            state.entries[key]?.fault = fault.message
            state.entries[key]?.waitMs = min(entry.waitMs * 2, Self.waitMs.max)
            return entry.waitMs
        }
        guard let waitMs else { return }
        runtime.logger.error(
            "source cannot run, it is tried again",
            metadata: [
                "plugin.instance": "\(role.instanceName)", "error": "\(fault.message)",
                "source.retry_in_ms": "\(waitMs)",
            ])
        runtime.alarms.after(ms: waitMs) { [weak self] in
            Task { await self?.resume(role) }
        }
    }

    /// Stores a batch. Thread: the plugin's.
    private func take(_ batch: SourceBatch, from name: String, _ underWay: UnderWay) -> Bool {
        underWay.adjust(by: 1)
        let isTaken = runtime.workers.submit { [self] in
            let startNs = SystemClock.monotonicNs
            pipeline.accept(
                batch.events, from: name, receivedUnixMs: batch.receivedUnixMs, leavesOut: true
            ) { [self] answer, taken in
                let verdict = Self.verdict(answer, taken.count)
                runtime.metrics.accepts[name].observe(ns: SystemClock.monotonicNs - startNs)
                runtime.metrics.sourceBatches[name, verdict.name].add()
                batch.done(verdict)
                underWay.adjust(by: -1)
            }
        }
        if !isTaken { underWay.adjust(by: -1) }
        return isTaken
    }

    private static func verdict(_ answer: StoreAnswer, _ count: Int) -> SourceVerdict {
        guard case .committed(let commit) = answer else { return .again(afterMs: againMs) }
        let repeated = commit.duplicates.count
        return .stored(count: count - repeated, repeated: repeated)
    }
}

extension SourceVerdict {
    /// For a metric.
    fileprivate var name: String { if case .stored = self { "stored" } else { "again" } }
}
