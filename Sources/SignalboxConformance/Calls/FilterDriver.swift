internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// Calls the filter role.
///
/// `@unchecked Sendable`: the table is only read.
struct FilterDriver: PureDriver, @unchecked Sendable {
    static let name = "filter()"
    let subject: Subject
    let table: sbx_filter
    /// The filter's options in a route.
    let options: String
    let nowUnixMs: UInt64

    func run(
        _ event: Event, _ recipients: [Recipient], shape: Shape
    ) -> PureAnswer<Filtered> {
        let sink = FilterSink(
            recipientCount: recipients.count, nowUnixMs: nowUnixMs,
            structs: subject.probe.bare.structs)
        _ = subject.probe.takeUsed()
        var probe: SinkProbe<sbx_filter_sink>?
        let result = subject.call(.worker, Self.name) { arena, error in
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
            let made = SinkProbe(sink.table(in: arena), place: Self.name)
            probe = made
            let shaper = Shaper(shape)
            let shaped = shaper.input(input)
            return withExtendedLifetime((shaper, sink)) {
                table.filter(subject.raw, shaped, made.raw, error)
            }
        }
        probe?.close()
        let parts = sink.made.parts.map {
            "\($0.recipients) \($0.data?.text ?? "-") \($0.notBeforeUnixMs)"
        }
        let drops = sink.made.drops.map { "\($0.recipient) \($0.reason)" }
        return PureAnswer(
            result: result, made: sink.made, refusals: probe?.refusals ?? [],
            services: subject.probe.takeUsed(), words: "\(parts) \(drops)",
            reasons: sink.made.drops.map(\.reason))
    }
}
