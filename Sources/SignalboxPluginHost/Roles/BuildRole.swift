internal import CSignalbox
public import SignalboxCore

/// The build role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class BuildRole: @unchecked Sendable {
    /// The schema of a route's `build.options`; nil if it takes none.
    public let optionsSchema: String?
    private let instance: PluginInstance
    private let table: sbx_build

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_BUILD, sbx_build.self) else { return nil }
        self.instance = instance
        table = Tables.build(given)
        optionsSchema = String(plugin: table.options_schema)
    }

    /// Builds notifications.
    ///
    /// Thread: worker.
    public func build(
        _ event: Event, recipients: [Recipient], route: String, options: JSONText
    ) -> Result<BuildResult, PluginFault> {
        let sink = BuildSink(
            recipientCount: recipients.count, structs: instance.context.structs)
        if let fault = instance.fullness { return .failure(fault) }
        let fault = instance.work(PluginCalls.build) { raw, arena -> PluginFault? in
            let input = arena.make(sbx_build_input.self)
            input.pointee.struct_size = UInt32(MemoryLayout<sbx_build_input>.size)
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
            var error = sbx_error.fresh
            let status = sink.lent(to: instance.context) { table.build(raw, input, $0, &error) }
            return status == SBX_OK
                ? nil : PluginFault(status: status, error: error, otherwise: sink.refusedWords)
        }
        switch fault {
        case .none: return .failure(instance.absence)
        case .some(.some(let fault)): return .failure(fault)
        case .some(.none): return .success(sink.finished())
        }
    }
}
