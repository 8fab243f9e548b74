internal import Logging
package import SignalboxCore
package import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Ensures that everything on disk has a lane that will wake for it.
///
/// Lanes set their own alarms. The sweep finds what no lane knows of: deliveries of a plugin that a reload restored,
/// and a lane that missed its alarm, which would be a bug and is reported as one.
package final class LaneSweep: Sendable {
    private static let pauseMs: UInt64 = 10_000
    private static let sharedPauseMs: UInt64 = 1_000

    private let context: DispatchContext
    private let lanes: LaneTable
    /// Apps come from events, so their lanes end when idle: after an hour, after seconds if their sender has many
    /// lanes, and at once if others wait for a place.
    private static let rest = (usualMs: UInt64(3_600_000), manyMs: UInt64(10_000), many: 64)
    private static let crowdedMs: UInt64 = 250
    private static let crowdedLineMs: UInt64 = 60_000

    /// Lanes of plugins that are not configured; each is named once per configuration.
    private let orphans = Mutex<Set<LaneKey>>([])
    /// When the log last reported that lanes wait for a place; steady time.
    private let crowdedSaidMs = Mutex<UInt64?>(nil)
    /// Whether an alarm is set that ends idle lanes.
    private let isMakingRoom = Atomic<Bool>(false)

    package init(context: DispatchContext, lanes: LaneTable) {
        self.context = context
        self.lanes = lanes
    }

    /// Lanes with deliveries of plugins that are not configured.
    package var waitingOrphans: Set<LaneKey> { orphans.withLock { $0 } }

    /// Wakes every lane with deliveries on disk, and keeps looking for lanes that overslept.
    package func start() {
        context.store.watch { [weak self] keys in
            guard let self else { return }
            for key in keys where isServed(key) { lanes.backlog(key) }
        }
        wakeAll()
        context.alarms.after(ms: Self.pauseMs) { [weak self] in self?.round() }
        tend()
    }

    /// Often enough to extend leases long before their lanes would give them up.
    private func tend() {
        for lane in lanes.all {
            // A lane that was just being made may have missed a pause.
            lane.pause(context.pauses.order(for: lane.key))
            lane.tend()
        }
        retireRested()
        let ms = min(Self.pauseMs, context.limits.leaseMs / 20)
        context.alarms.after(ms: ms) { [weak self] in self?.tend() }
    }

    /// Ends idle lanes.
    private func retireRested() {
        let all = lanes.all
        let isCrowded = lanes.queuedCount > 0
        if isCrowded { sayCrowded(all.count) }
        var counts: [String: Int] = [:]
        for lane in all { counts[lane.key.name, default: 0] += 1 }
        let rested = all.filter { lane in
            // Opened at startup; the configuration bounds their number.
            guard !lane.key.app.isEmpty, let restedMs = lane.restedMs else { return false }
            let isMany = counts[lane.key.name, default: 0] > Self.rest.many
            return isCrowded || restedMs >= (isMany ? Self.rest.manyMs : Self.rest.usualMs)
        }
        guard !rested.isEmpty || isCrowded else { return }
        context.store.waitingLanes(dueForMs: nil) { result in
            // Delayed deliveries would have no lane to wake for them.
            if case .success(let keys) = result {
                let waiting = Set(keys)
                self.retire(rested.filter { !waiting.contains($0.key) && $0.restedMs != nil })
            }
            guard self.lanes.queuedCount > 0,
                !self.isMakingRoom.exchange(true, ordering: .relaxed)
            else { return }
            self.context.alarms.after(ms: Self.crowdedMs) { [weak self] in
                self?.isMakingRoom.store(false, ordering: .relaxed)
                self?.retireRested()
            }
        }
    }

    private func retire(_ rested: [Lane]) {
        lanes.retire(rested)
        for lane in rested {
            context.metrics.leasesLost.remove(lane.key.name, lane.key.app)
            lane.leave()
            Task { [lanes] in
                // Deliveries may have arrived while it was being removed.
                await lane.idle(deadlineMs: 30_000)
                await lane.stop()
                lanes.forgetEnded()
            }
        }
    }

    private func sayCrowded(_ count: Int) {
        let now = SystemClock.monotonicNs / 1_000_000
        let isDue = crowdedSaidMs.withLock { last in
            if let last, now < last + Self.crowdedLineMs { return false }
            last = now
            return true
        }
        guard isDue else { return }
        context.logger.warning(
            "too many senders and apps at once, the deliveries of some wait",
            metadata: ["lanes": "\(count)", "lanes.waiting": "\(lanes.queuedCount)"])
    }

    /// Wakes every lane with deliveries on disk, since the instances have changed.
    func wakeAll() {
        orphans.withLock { $0 = [] }
        context.store.waitingLanes(dueForMs: nil) { result in
            guard case .success(let keys) = result else {
                self.context.alarms.after(ms: Self.pauseMs) { [weak self] in self?.wakeAll() }
                return
            }
            for key in keys where self.isServed(key) { self.lanes.backlog(key) }
        }
    }

    /// With several gateways nothing signals that leases have ended, so each polls. A sleeping lane is no bug then.
    private func round() {
        let isShared = context.store.isShared
        let ms = isShared ? Self.sharedPauseMs : Self.pauseMs
        context.store.waitingLanes(dueForMs: isShared ? 0 : Self.pauseMs) { result in
            // After a failure the next round retries.
            guard case .success(let keys) = result else { return }
            for key in keys where self.isServed(key) { self.look(at: key, isShared: isShared) }
        }
        context.alarms.after(ms: ms) { [weak self] in self?.round() }
    }

    private func look(at key: LaneKey, isShared: Bool) {
        // A lane that could not be made has its own retry.
        guard !lanes.isRefused(key), !lanes.isMaking(key), !lanes.isQueued(key),
            lanes.lane(key)?.isAsleep ?? true
        else { return }
        // A lane that retired is no bug either.
        guard !isShared, lanes.lane(key) != nil || key.app.isEmpty else {
            return lanes.backlog(key)
        }
        context.metrics.stranded[key.name].add()
        context.logger.warning(
            "woke a lane that slept although deliveries were due",
            metadata: ["plugin.instance": "\(key.name)", "app": "\(key.app)"])
        lanes.backlog(key)
    }

    private func isServed(_ key: LaneKey) -> Bool {
        if context.current.generation.instances.serves(key) { return true }
        let isNew = orphans.withLock { $0.insert(key).inserted }
        if isNew {
            context.logger.warning(
                "deliveries on disk wait for a plugin that is not configured",
                metadata: ["plugin.instance": "\(key.name)", "app": "\(key.app)"])
        }
        return false
    }
}

extension InstanceSet {
    /// Whether an instance takes the deliveries of a lane.
    package func serves(_ key: LaneKey) -> Bool {
        switch key.kind {
        case .push: senders[key.sender] != nil
        case .report: reportRoles[key.sender] != nil
        }
    }
}
