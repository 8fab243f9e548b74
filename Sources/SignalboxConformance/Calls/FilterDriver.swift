internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// Calls the filter role.
///
/// `@unchecked Sendable`: the table is only read.
struct FilterDriver: @unchecked Sendable {
    /// What a filter made of one event.
    struct Answer: Sendable {
        var result: CallResult
        var made: Filtered
        var refusals: [String]
        /// The services that were called.
        var services: Set<String>

        /// Equal fingerprints mean equal outputs.
        var fingerprint: String {
            let parts = made.parts.map {
                "\($0.recipients) \($0.data?.text ?? "-") \($0.notBeforeUnixMs)"
            }
            let drops = made.drops.map { "\($0.recipient) \($0.reason)" }
            return "\(result.status) \(result.words) \(parts) \(drops)"
        }
    }

    let subject: Subject
    let table: sbx_filter
    /// The filter's options in a route.
    let options: String
    let nowUnixMs: UInt64

    func filter(_ event: Event, _ recipients: [Recipient], shape: Shape = .plain) -> Answer {
        let sink = FilterSink(
            recipientCount: recipients.count, nowUnixMs: nowUnixMs,
            structs: subject.probe.bare.structs)
        _ = subject.probe.takeUsed()
        var probe: SinkProbe<sbx_filter_sink>?
        let result = subject.call(.worker, "filter()") { arena, error in
            let input = arena.make(sbx_filter_input.self)
            input.pointee.struct_size = UInt32(MemoryLayout<sbx_filter_input>.size)
            input.pointee.event = arena.event(event)
            input.pointee.route = arena.text("check")
            input.pointee.instance = arena.text(event.source)
            input.pointee.options = arena.text(options)
            input.pointee.recipients = arena.recipients(recipients)
            input.pointee.recipient_count = recipients.count
            input.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
            input.pointee.now_unix_ms = nowUnixMs
            let made = SinkProbe(sink.table(in: arena), place: "filter()")
            probe = made
            let shaper = Shaper(shape)
            let shaped = shaper.input(input)
            return withExtendedLifetime((shaper, sink)) {
                table.filter(subject.raw, shaped, made.raw, error)
            }
        }
        probe?.close()
        return Answer(
            result: result, made: sink.made, refusals: probe?.refusals ?? [],
            services: subject.probe.takeUsed())
    }
}
