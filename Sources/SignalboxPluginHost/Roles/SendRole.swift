internal import CSignalbox
public import SignalboxCore

/// The send role of an instance: deliveries over a transport of the plugin's own.
///
/// `@unchecked Sendable`: the table is only read.
public final class SendRole: Sending, @unchecked Sendable {
    /// Most deliveries per call; nil if the host chooses.
    public let maxBatch: Int?
    private let instance: PluginInstance
    private let table: sbx_send

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_SEND, sbx_send.self) else { return nil }
        self.instance = instance
        table = Tables.send(given)
        maxBatch = table.max_batch == 0 ? nil : Int(table.max_batch)
    }

    /// Sets a function to call when the plugin has room again after it took less than was offered.
    public func whenRoom(_ body: @escaping @Sendable () -> Void) {
        instance.context.flights.whenRoom(body)
    }

    /// Offers deliveries. Returns how many the plugin took, counted from the first.
    ///
    /// Thread: worker.
    public func submit(
        app: String, deliveries: [Delivery],
        onOutcomes: @escaping @Sendable ([Outcome]) -> Void
    ) -> Result<Int, PluginFault> {
        let context = instance.context
        // Deliveries that the plugin takes must outlive the call.
        let memory = CArena()
        let batch = memory.deliveries(deliveries)
        let flight = context.flights.begin(
            deliveries.map(\.id), memory: memory, onOutcomes: onOutcomes)
        let called = instance.work(PluginCalls.submit) {
            raw, arena -> (status: sbx_status, taken: Int, sbx_error) in
            arena.given.add(memory.given)
            var taken = 0
            var error = sbx_error.fresh
            let status = table.submit(
                raw, arena.text(app), batch, deliveries.count, MemoryLayout<sbx_delivery>.stride,
                &taken, &error)
            return (status, taken, error)
        }
        guard let (status, given, error) = called else {
            context.flights.submitted(flight, taken: 0, context)
            let fault = instance.absence
            return fault.kind == .again ? .success(0) : .failure(fault)
        }
        var taken = given
        if taken > deliveries.count {
            context.misbehaved("took \(taken) of \(deliveries.count) deliveries")
            taken = deliveries.count
        }
        if status != SBX_OK, taken > 0 {
            context.misbehaved("took a part of a batch and failed")
        }
        context.flights.submitted(flight, taken: taken, context)
        guard status == SBX_OK || status == SBX_E_AGAIN || taken > 0 else {
            return .failure(PluginFault(status: status, error: error))
        }
        return .success(taken)
    }
}
