internal import Logging
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Makes sure that everything on disk has a lane that will wake for it.
///
/// Lanes set their own alarms. The sweep finds what no lane knows of: deliveries of a plugin that a reload brought
/// back, and a lane that missed its alarm, which would be a bug and is reported as one.
final class LaneSweep: Sendable {
    private static let pauseMs: UInt64 = 10_000
    private static let sharedPauseMs: UInt64 = 1_000

    private let context: DispatchContext
    private let lanes: LaneTable
    /// Lanes of plugins that are not configured; each is named once per configuration.
    private let orphans = Mutex<Set<LaneKey>>([])

    init(context: DispatchContext, lanes: LaneTable) {
        self.context = context
        self.lanes = lanes
    }

    /// Lanes with deliveries of plugins that are not configured.
    var waitingOrphans: Set<LaneKey> { orphans.withLock { $0 } }

    /// Wakes every lane that has something on disk, and keeps looking for lanes that sleep too long.
    func start() {
        context.store.watch { [weak self] keys in
            guard let self else { return }
            for key in keys where isServed(key) { lanes.backlog(key) }
        }
        wakeAll()
        context.alarms.after(ms: Self.pauseMs) { [weak self] in self?.round() }
        tend()
    }

    /// Often enough that a lease is extended long before its lane gives it up.
    private func tend() {
        for lane in lanes.all {
            // A lane that was being made has not heard of a pause that began meanwhile.
            lane.pause(context.pauses.order(for: lane.key))
            lane.tend()
        }
        let ms = min(Self.pauseMs, context.limits.leaseMs / 20)
        context.alarms.after(ms: ms) { [weak self] in self?.tend() }
    }

    /// Wakes every lane that has something on disk: the instances have changed.
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

    /// Several gateways: nobody tells of leases that have ended, so each looks often. A lane that sleeps is no fault then.
    private func round() {
        let isShared = context.store.isShared
        let ms = isShared ? Self.sharedPauseMs : Self.pauseMs
        context.store.waitingLanes(dueForMs: isShared ? 0 : Self.pauseMs) { result in
            // After a failure the next round looks again.
            guard case .success(let keys) = result else { return }
            for key in keys where self.isServed(key) { self.look(at: key, isShared: isShared) }
        }
        context.alarms.after(ms: ms) { [weak self] in self?.round() }
    }

    private func look(at key: LaneKey, isShared: Bool) {
        // A lane that could not be made has a retry of its own.
        guard lanes.refusals[key] == nil, !lanes.isMaking(key), lanes.lane(key)?.isAsleep ?? true
        else { return }
        guard !isShared else { return lanes.backlog(key) }
        context.metrics.stranded[key.name].add()
        context.logger.warning(
            "woke a lane that slept although deliveries were due",
            metadata: ["plugin.instance": "\(key.name)", "app": "\(key.app)"])
        lanes.backlog(key)
    }

    private func isServed(_ key: LaneKey) -> Bool {
        if context.live.now.instances.serves(key) { return true }
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
    func serves(_ key: LaneKey) -> Bool {
        switch key.kind {
        case .push: senders[key.sender] != nil
        case .report: reportRoles[key.sender] != nil
        }
    }
}
