internal import CSignalbox
internal import SignalboxCore

/// The observe role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class ObserveRole: @unchecked Sendable {
    /// Most observations per call; nil if the host chooses.
    public let maxBatch: Int?
    private let instance: PluginInstance
    private let table: sbx_observe

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_OBSERVE, sbx_observe.self) else { return nil }
        self.instance = instance
        table = Tables.observe(given)
        maxBatch = table.max_batch == 0 ? nil : Int(table.max_batch)
    }

    /// Hands over a batch.
    ///
    /// Thread: worker.
    public func observe(
        _ batch: [Observation], done: @escaping @Sendable (ObserveVerdict) -> Void
    ) {
        guard let last = batch.last?.sequence else { return done(.taken) }
        let context = instance.context
        let number = context.observer.begin(last: last, done: done)
        context.services.onWorker(afterMs: ObserverBatch.patienceMs) { [weak context] in
            guard let context, context.observer.isLate(number) else { return }
            context.misbehaved("did not answer a batch of outcomes for 60 s")
        }
        let called = instance.work(PluginCalls.observe) { raw, arena -> sbx_status in
            let list = arena.array(sbx_observation.self, count: batch.count)
            for (index, one) in batch.enumerated() {
                list[index].struct_size = UInt32(MemoryLayout<sbx_observation>.size)
                list[index].sequence = one.sequence
                list[index].json = arena.bytes(one.json)
            }
            var error = sbx_error.fresh
            let status = table.observe(
                raw, list, batch.count, MemoryLayout<sbx_observation>.stride, &error)
            if status != SBX_OK {
                context.services.log(
                    instance: context.name, level: .warn, message: "outcomes were not taken",
                    fields: [Attribute("error", error.words(for: status))])
            }
            return status
        }
        let status = called ?? instance.absence.kind.rawValue
        if status != SBX_OK {
            context.observer.done(last, ObserveVerdict(status, retryAfterMs: 0))
        }
    }
}
