internal import Logging
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Makes the lane of a sender and app, with the instances of now.
struct LaneFactory: Sendable {
    let context: DispatchContext
    let rest: RESTClient

    /// An empty table that makes its lanes here.
    func table() -> LaneTable {
        let burial = Burial(context: context)
        return LaneTable(
            make: { key, number, table in try await lane(key, number, table) },
            onRefused: { key, error, table in
                // A reload has removed its plugin: its deliveries stay, another may bring it back.
                guard context.live.now.instances.serves(key) else { return }
                let fault = error as? PluginFault
                let isForGood = fault?.kind == .notFound || fault?.kind == .unsupported
                context.logger.error(
                    isForGood
                        ? "no sender handles this app" : "sender cannot start, it is tried again",
                    metadata: [
                        "plugin.instance": "\(key.sender)", "app": "\(key.app)",
                        "error": "\(error)",
                    ])
                guard isForGood else {
                    context.metrics.held(key, .down)
                    // Its process is being started again, descriptors ran out, a certificate is
                    // missing: none of that is the deliveries' fault, so they wait.
                    let pauseMs: UInt64 = fault?.kind == .again ? 1_000 : 5_000
                    context.alarms.after(ms: pauseMs) { [weak table] in table?.backlog(key) }
                    return
                }
                burial.buryDue(key, reason: "no_endpoint", detail: "\(error)")
            })
    }

    private func lane(
        _ key: LaneKey, _ number: Int, _ table: LaneTable
    ) async throws -> SenderLane {
        let instances = context.live.now.instances
        let onReleased: @Sendable () -> Void = { [weak table] in table?.backlog(key) }
        let siblings: @Sendable () -> [SenderLane] = { [weak table] in
            table?.all.filter { $0.key.sender == key.sender && $0.number != number } ?? []
        }
        // A new lane knows of no outage: its connection, key or settings may be new.
        defer {
            context.store.hasten(key)
            context.metrics.held(key, nil)
        }
        if Feedback.isReport(key) {
            let name = String(key.sender.dropLast(Feedback.suffix.count))
            guard let registrar = instances.registrars[name] else {
                throw PluginFault(.unsupported, "the instance takes no reports")
            }
            let endpoint = try await registrar.role.endpoint(app: key.app)
            return try SenderLane(
                number: number, instance: registrar.instance, role: registrar.role, key: key,
                endpoint: endpoint, context: context, rest: rest, siblings: siblings,
                onReleased: onReleased)
        }
        let sender = instances.senders[key.sender]
        if let sender, let role = sender.http {
            let endpoint = try await role.endpoint(app: key.app)
            return try SenderLane(
                number: number, instance: sender.instance, role: role, key: key,
                endpoint: endpoint, context: context, siblings: siblings, onReleased: onReleased)
        }
        guard let sender, let own = sender.own else {
            throw PluginFault(.unsupported, "the instance does not send")
        }
        return SenderLane(
            number: number, instance: sender.instance, role: own, key: key, context: context,
            siblings: siblings, onReleased: onReleased)
    }
}
