internal import CSignalbox
public import SignalboxCore

/// The filter role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class FilterRole: @unchecked Sendable {
    private let instance: PluginInstance
    private let table: sbx_filter

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_FILTER, sbx_filter.self) else { return nil }
        self.instance = instance
        table = Tables.filter(given)
    }

    /// Filters an event on a route.
    ///
    /// Thread: worker.
    public func filter(
        _ event: Event, recipients: [Recipient], route: String, options: JSONText,
        nowUnixMs: UInt64
    ) -> Result<Filtered, PluginFault> {
        let sink = FilterSink(
            recipientCount: recipients.count, nowUnixMs: nowUnixMs,
            structs: instance.context.structs)
        if let fault = instance.fullness { return .failure(fault) }
        let fault = instance.work(PluginCalls.filter) { raw, arena -> PluginFault? in
            let input = arena.make(sbx_filter_input.self)
            input.pointee.struct_size = UInt32(MemoryLayout<sbx_filter_input>.size)
            input.pointee.event = arena.event(event)
            input.pointee.route = arena.text(route)
            input.pointee.instance = arena.text(event.source)
            input.pointee.options = arena.text(options.text)
            if let parsed = options.parsed {
                arena.given.add(input.pointee.options, .parsed(parsed))
            }
            input.pointee.recipients = arena.recipients(recipients)
            input.pointee.recipient_count = recipients.count
            input.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
            input.pointee.now_unix_ms = nowUnixMs
            var error = sbx_error.fresh
            let status = sink.lent(to: instance.context) { table.filter(raw, input, $0, &error) }
            guard status == SBX_OK else { return PluginFault(status: status, error: error) }
            guard let refusal = sink.refusal else { return nil }
            instance.context.misbehaved("filter() returned OK although \(refusal)")
            return PluginFault(.internal, "it did not notice that a call was refused: \(refusal)")
        }
        switch fault {
        case .none: return .failure(instance.absence)
        case .some(.some(let fault)): return .failure(fault)
        case .some(.none): return .success(sink.made)
        }
    }
}
