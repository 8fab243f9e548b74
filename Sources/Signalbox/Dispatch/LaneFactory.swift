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
                context.logger.error(
                    "no way to send for this app",
                    metadata: [
                        "plugin.instance": "\(key.sender)", "app": "\(key.app)",
                        "error": "\(error)",
                    ])
                if let fault = error as? PluginFault, fault.kind == .again {
                    // Its process is being started again: its deliveries wait.
                    context.alarms.after(ms: 1_000) { [weak table] in table?.backlog(key) }
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
        if Feedback.isReport(key) {
            let name = String(key.sender.dropLast(Feedback.suffix.count))
            guard let registrar = instances.registrars[name] else {
                throw PluginFault(.unsupported, "the instance takes no reports")
            }
            let endpoint = try await registrar.role.endpoint(app: key.app)
            return try SenderLane(
                number: number, instance: registrar.instance, role: registrar.role, key: key,
                endpoint: endpoint, context: context, rest: rest, onReleased: onReleased)
        }
        let sender = instances.senders[key.sender]
        if let sender, let role = sender.http {
            let endpoint = try await role.endpoint(app: key.app)
            return try SenderLane(
                number: number, instance: sender.instance, role: role, key: key,
                endpoint: endpoint, context: context, onReleased: onReleased)
        }
        guard let sender, let own = sender.own else {
            throw PluginFault(.unsupported, "the instance does not send")
        }
        return SenderLane(
            number: number, instance: sender.instance, role: own, key: key, context: context,
            onReleased: onReleased)
    }
}
