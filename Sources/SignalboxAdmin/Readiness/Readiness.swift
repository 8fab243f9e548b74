internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxPluginHost

/// Whether webhooks are accepted, and the state of each sender and receiver.
///
/// Ready as long as webhooks are accepted. A provider that is down or refuses a key is only reported as `degraded`,
/// since pushes wait on disk.
struct Readiness {
    let context: DispatchContext
    let lanes: LaneTable
    let sweep: LaneSweep
    let sources: SourceRunner
    let isStopping: Bool

    /// A plugin call that hangs for this long is listed, in milliseconds.
    private static let stuckMs: UInt64 = 30_000

    private static func members(_ key: LaneKey, _ state: String) -> [JSONValue.Member] {
        [
            .init("sender", .string(key.name)), .init("app", .string(key.app)),
            .init("state", .string(state)),
        ]
    }

    /// The body of `/readyz`, and whether webhooks are accepted.
    func report() async -> (body: JSONValue, isReady: Bool) {
        let store = context.store
        let (isDiskFull, isFileGone, isFailing) = (
            store.isDiskFull, store.isFileGone, store.isFailing
        )
        let stop = store.stop
        // Asked once, so that the status and the list agree.
        let sources = sources.readiness
        var senders: [JSONValue] = []
        var isDegraded = lanes.queuedCount > 0 || sources.isFailing || isFailing
        for lane in lanes.all.sorted(by: { $0.key < $1.key }) {
            let row = await row(of: lane)
            senders.append(row.json)
            if row.isDegraded { isDegraded = true }
        }
        let absent = absentLanes
        let outages = context.current.generation.instances.instances.compactMap { instance in
            instance.outage.map { (instance.name, $0) }
        }
        let receivers = context.outcomes.senders
        if !absent.isEmpty || !outages.isEmpty || receivers.contains(where: { $0.hold != nil }) {
            isDegraded = true
        }
        let status =
            if isStopping {
                "stopping"
            } else if isFileGone {
                "database_gone"
            } else if let stop {
                stop.rawValue
            } else if isDiskFull {
                "disk_full"
            } else {
                isDegraded ? "degraded" : "ready"
            }
        let shown = ShownSenders(senders + absent)
        var members: [JSONValue.Member] = [.init("status", .string(status))]
        members += reason(isDiskFull: isDiskFull, isFailing: isFailing)
        members.append(.init("gateway", .string(context.runtime.name)))
        members.append(.init("waiting", .integer(Int64(store.waitingCount))))
        members += disk
        members.append(.init("senders", .array(shown.rows)))
        members += shown.counts + queued
        members.append(.init("paused", .array(context.pauses.all.map(\.json))))
        members.append(.init("outcomes", .array(receivers.map(\.readiness))))
        members.append(.init("sources", .array(sources.rows)))
        members.append(.init("plugins", .array(outages.map(Self.plugin))))
        let isReady = !isStopping && !isFileGone && !isDiskFull && stop == nil
        return (.object(members), isReady)
    }

    /// The state of a lane, and whether it is degraded.
    private func row(of lane: Lane) async -> (json: JSONValue, isDegraded: Bool) {
        let status = await lane.carrier.connections()
        let held = lane.hold
        let isFailing = status.isFailing || held?.cause == .down
        let turnMs = lane.turnMs
        let isStuck = turnMs >= Self.stuckMs
        let pause = context.pauses.entry(of: lane.key)
        let calm =
            status.readyCount > 0
            ? "connected" : status.connectingCount > 0 ? "connecting" : "idle"
        let state =
            isStuck
            ? "stuck"
            : pause != nil ? "paused" : isFailing ? "failing" : held?.cause.rawValue ?? calm
        var members = Self.members(lane.key, state)
        if isStuck {
            members.append(
                .init("reason", .string("its plugin has not returned for \(turnMs / 1_000) s")))
        } else if let note = pause?.note {
            members.append(.init("reason", .string(note.words)))
            members.append(
                .init("paused_since_unix_ms", .integer(Int64(clamping: note.sinceUnixMs))))
        } else if let held {
            members.append(.init("reason", .string(held.reason)))
            let said = held.said.isEmpty ? status.failure : held.said
            if !said.isEmpty { members.append(.init("detail", .string(said))) }
            members.append(
                .init("held_since_unix_ms", .integer(Int64(clamping: held.sinceUnixMs))))
        } else if isFailing {
            // Nothing waits for it, so no connect was tried since.
            members.append(
                .init("reason", .string("its last connect failed, a delivery tries again")))
            members.append(.init("detail", .string(status.failure)))
        }
        members.append(.init("credentials", .string(Self.credentials(held))))
        members.append(.init("connections", .integer(Int64(status.readyCount))))
        if !status.proxy.isEmpty { members.append(.init("proxy", .string(status.proxy))) }
        members.append(.init("in_memory", .integer(Int64(lane.count))))
        // A pause is intended, so it does not count as degraded.
        let isDegraded = isStuck || pause == nil && (isFailing || held != nil)
        return (.object(members), isDegraded)
    }

    /// Senders with waiting deliveries that cannot start or are not configured.
    private var absentLanes: [JSONValue] {
        let instances = context.current.generation.instances
        let refusals = lanes.refusals
        // A plugin that a reload removed cannot start either, but that is intended.
        let refused = refusals.sorted { $0.key < $1.key }.filter { instances.serves($0.key) }
        let orphans = sweep.waitingOrphans.union(refusals.keys.filter { !instances.serves($0) })
        return refused.map { key, reason in
            .object(Self.members(key, "cannot_start") + [.init("reason", .string(reason))])
        } + orphans.sorted().map { .object(Self.members($0, "not_configured")) }
    }

    /// An isolated plugin whose process is not running.
    private static func plugin(_ name: String, _ outage: String) -> JSONValue {
        ["plugin": .string(name), "state": "restarting", "reason": .string(outage)]
    }

    private var queued: [JSONValue.Member] {
        let count = lanes.queuedCount
        return count > 0 ? [.init("senders_queued", .integer(Int64(count)))] : []
    }

    private func reason(isDiskFull: Bool, isFailing: Bool) -> [JSONValue.Member] {
        let store = context.store
        var words: String?
        if isDiskFull {
            words =
                "the disk has less than its reserve left; events are stored when it has room again"
        }
        if isFailing {
            words =
                store.trouble
                ?? "writes to the database fail: the log says why (store failed to write)"
        }
        return words.map { [.init("reason", .string($0))] } ?? []
    }

    /// The disk space, if the store has a disk of its own.
    private var disk: [JSONValue.Member] {
        let figures = context.store.figures
        func figure(_ name: String) -> Int64? { figures.first { $0.name == name }?.value }
        guard let free = figure("signalbox_disk_free_bytes"),
            let reserve = figure("signalbox_disk_reserve_bytes")
        else { return [] }
        return [
            .init(
                "disk",
                ["free_bytes": .integer(free), "reserve_bytes": .integer(reserve)])
        ]
    }

    /// The state of the sender's credentials, as far as the gateway knows.
    private static func credentials(_ hold: LaneHold?) -> String {
        switch hold {
        case .some(let hold) where hold.cause == .misconfigured: "refused"
        case .some(let hold) where hold.reason == LaneState.noCredential: "missing"
        default: "ok"
        }
    }
}
